"""The strongest content words of a text, and its numbers."""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache, partial
from math import log

from isogloss.events.annotate._memo import Remembered
from isogloss.events.annotate._names import capitalises_nouns, name_key
from isogloss.events.annotate._words import TokenisedText, is_unspaced, stop_words
from isogloss.kernels import strongest_keys

__all__ = ["find_keywords", "find_numbers"]

_KEY_CHARS = 8
_TITLE_WEIGHT = 3
"""How much more a word of the title counts."""

_CACHE_SIZE = 1 << 14
"""Words of a language whose keys are remembered."""

_NUMBER = re.compile(r"\d+(?:[.,'\u2019]\d+)*")
_NOT_DIGITS = re.compile(r"\D+")


def find_keywords(title: TokenisedText, body: TokenisedText, lang: str, most: int) -> dict[str, float]:
    """The words that a text has most often, little words and names aside, with their weights.

    Words are given by the key that spellings in other languages have in common with them (see
    :func:`~isogloss.events.annotate._names.name_key`), so that *Referendum* and *референдума* are one; words of scripts
    without blanks as they are. A weight is one more than the logarithm of the count.

    Examples
    --------
    >>> title, body = TokenisedText.of("A referendum", "en"), TokenisedText.of("The vote in the referendum was a vote.", "en")
    >>> {word: round(weight, 2) for word, weight in find_keywords(title, body, "en", 2).items()}
    {'word:rafarand': 2.39, 'word:vat': 1.69}
    """
    strongest = strongest_keys(title.words, body.words, _keys(lang), _TITLE_WEIGHT, most)
    return {f"word:{word}": 1 + log(count) for word, count in strongest}


def find_numbers(words: TokenisedText) -> frozenset[str]:
    """Numbers of two digits and more by their digits, however they are grouped; years are left out.

    Examples
    --------
    >>> sorted(find_numbers(TokenisedText.of("12,5 Millionen, 1 234 567 oder 12 000 im Jahr 2031, 3", "de")))
    ['12000', '1234567', '125']
    """
    found: list[str] = []
    for place in words.digits:
        if found and _continues_number(words, place):
            found[-1] += words.words[place]
        else:
            found.append(words.words[place])
    numbers = map(_digits, found)
    return frozenset(number for number in numbers if len(number) > 1 and not _is_year(number))


def _continues_number(words: TokenisedText, place: int) -> bool:
    """Whether three digits belong to the number before them."""
    word, before = words.words[place], words.words[place - 1]
    grouped = len(word) == 3 and word.isdecimal() and before.isdecimal() and words.adjoins_previous(place)
    return grouped and len(before) <= 3


@cache
def _keys(lang: str) -> Remembered[str]:
    return Remembered(partial(_key, lang), _CACHE_SIZE)


def _key(lang: str, word: str) -> str:
    """The key of a word, empty for one that is no keyword; equal keys are one object."""
    if word in stop_words(lang) or not word.isalpha():
        return ""
    if is_unspaced(lang):
        return sys.intern(word) if len(word) > 1 else ""
    wanted = len(word) > 3 and (word.islower() or capitalises_nouns(lang))
    return name_key(word, _KEY_CHARS) if wanted else ""


@lru_cache(maxsize=1 << 14)
def _digits(word: str) -> str:
    found = _NUMBER.match(word)
    plain = _NOT_DIGITS.sub("", found[0]) if found else ""
    return (plain if plain.isascii() else "".join(str(int(digit)) for digit in plain)).lstrip("0")


def _is_year(number: str) -> bool:
    return len(number) == 4 and number[:2] in ("18", "19", "20")
