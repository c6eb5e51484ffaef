"""Keywords and numbers of a text."""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache
from math import log

from isogloss.events.annotate._names import capitalises_nouns, keyword_key
from isogloss.events.annotate._words import TokenisedText, is_unspaced, stop_words
from isogloss.kernels import strongest_keys

TITLE_WEIGHT = 3
"""Occurrences in the body that one in the title is worth."""

_CACHED_KEYS = 1 << 14
"""Words of a language whose keys are cached; at most twice as many are kept."""

_LEADING_NUMBER = re.compile(r"\d+(?:[.,'\u2019]\d+)*")
_NOT_DIGITS = re.compile(r"\D+")


def find_keywords(title: list[str], body: list[str], lang: str, most: int) -> dict[str, float]:
    """Return the most frequent of the words of a title and a body, without stop words and names.

    A word is represented by the key that its cognates in other languages share (see
    :func:`~isogloss.events.annotate._names.keyword_key`), so *Referendum* and *референдума* are one; words of
    unspaced scripts stay as they are. A weight is one more than the logarithm of the count.

    Examples
    --------
    >>> title, body = "A referendum".split(), "The vote in the referendum was a vote".split()
    >>> {word: round(weight, 2) for word, weight in find_keywords(title, body, "en", 2).items()}
    {'word:rafarand': 2.39, 'word:vat': 1.69}
    """
    strongest = strongest_keys(title, body, _keys(lang), TITLE_WEIGHT, most)
    return {f"word:{word}": 1 + log(count) for word, count in strongest}


def find_numbers(words: TokenisedText) -> frozenset[str]:
    """Return the numbers of two or more digits, without separators; years are left out.

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
    """Return whether three digits continue the number before them."""
    word, before = words.words[place], words.words[place - 1]
    grouped = len(word) == 3 and word.isdecimal() and before.isdecimal() and words.adjoins_previous(place)
    return grouped and len(before) <= 3


class _KeyCache(dict[str, str]):
    """Bounded memo cache of the keys of the words of a language.

    It is a dictionary because the kernel that counts keys looks words up in one. When it is full, only the
    words that were asked for since the last time it was full are kept.
    """

    def __init__(self, lang: str) -> None:
        super().__init__()
        self._lang = lang
        self._older: dict[str, str] = {}

    def __missing__(self, word: str) -> str:
        key = self._older[word] if word in self._older else _key(self._lang, word)
        if len(self) >= _CACHED_KEYS:
            self._older = dict(self)
            self.clear()
        self[word] = key
        return key


@cache
def _keys(lang: str) -> _KeyCache:
    return _KeyCache(lang)


def _key(lang: str, word: str) -> str:
    """Return the key of a word, interned; empty for a word that is no keyword."""
    unspaced = is_unspaced(lang)
    if len(word) < (2 if unspaced else 4) or not word.isalpha() or word in stop_words(lang):
        return ""
    if unspaced:
        return sys.intern(word)
    return keyword_key(word) if word.islower() or capitalises_nouns(lang) else ""


@lru_cache(maxsize=1 << 14)
def _digits(word: str) -> str:
    found = _LEADING_NUMBER.match(word)
    plain = _NOT_DIGITS.sub("", found[0]) if found else ""
    return (plain if plain.isascii() else "".join(str(int(digit)) for digit in plain)).lstrip("0")


def _is_year(number: str) -> bool:
    return len(number) == 4 and number[:2] in ("18", "19", "20")
