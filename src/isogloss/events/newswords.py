"""What frequent words of news mean, in eleven languages, without anything having been learned.

The table ``newswords.tsv``, written for isogloss, has a line for each of some 230 meanings (*earthquake*,
*strike*, *gold*, *quarantine* ...) and a column for each language. A cell lists words; an asterisk stands for
any ending. So *Erdbeben*, *séisme* and *землетрясения* are one concept, and titles in different languages
have something in common beside their names.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["meanings", "news_concepts", "news_languages"]

_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")
_ARABIC_PREFIXES = ("\u0648\u0627\u0644", "\u0628\u0627\u0644", "\u0641\u0627\u0644", "\u0627\u0644")
_ARABIC_LETTERS = ("\u0644\u0644", "\u0648", "\u0628", "\u0644")
_UNSPACED = frozenset({"zh"})
_SHORTEST = 3


class _Table(NamedTuple):
    """Meanings by whole words and by beginnings, and the length of the longest beginning."""

    words: dict[str, tuple[str, ...]]
    beginnings: dict[str, tuple[str, ...]]
    longest: int


def news_concepts(text: str, lang: str) -> Counter[str]:
    """How often each meaning of the table occurs in a text; empty for a language without column.

    Examples
    --------
    >>> sorted(news_concepts("Starkes Erdbeben: zwei Tote, Hunderte evakuiert", "de"))
    ['dead', 'earthquake', 'evacuate']
    >>> sorted(news_concepts("Séisme : deux morts, des centaines d'évacués", "fr"))
    ['dead', 'earthquake']
    >>> news_concepts("Jordskælv", "da")
    Counter()
    """
    if lang not in news_languages():
        return Counter()
    if lang in _UNSPACED:
        found = ((text.count(word), meanings) for word, meanings in _table(lang).words.items())
        return Counter({meaning: n for n, meanings in found if n for meaning in meanings})
    return Counter(meaning for word in _WORD.findall(text.lower()) for meaning in _meanings(word, lang))


@cache
def news_languages() -> frozenset[str]:
    """Languages of the table."""
    return frozenset(_rows()[0][1:])


@cache
def meanings() -> frozenset[str]:
    """The meanings of the table."""
    return frozenset(row[0] for row in _rows()[1:])


@lru_cache(maxsize=1 << 16)
def _meanings(word: str, lang: str) -> tuple[str, ...]:
    table = _table(lang)
    found: set[str] = set()
    for form in _forms(word, lang):
        found.update(table.words.get(form, ()))
        for length in range(min(table.longest, len(form)), 1, -1):
            if form[:length] in table.beginnings:
                found.update(table.beginnings[form[:length]])
                break
    return tuple(sorted(found))


def _forms(word: str, lang: str) -> list[str]:
    """A word, and in Arabic what is left without the article and letters written together with it."""
    if lang != "ar":
        return [word]
    prefixes = [one for one in _ARABIC_PREFIXES + _ARABIC_LETTERS if word.startswith(one)]
    return [word, *(word[len(one) :] for one in prefixes if len(word) - len(one) >= _SHORTEST)]


@cache
def _table(lang: str) -> _Table:
    rows = _rows()
    column = rows[0].index(lang)
    words: dict[str, tuple[str, ...]] = {}
    beginnings: dict[str, tuple[str, ...]] = {}
    for row in rows[1:]:
        for form in row[column].split():
            table = beginnings if form.endswith("*") else words
            key = form.rstrip("*").lower()
            table[key] = (*table.get(key, ()), row[0])
    return _Table(words, beginnings, max(map(len, beginnings), default=0))


@cache
def _rows() -> list[list[str]]:
    text = files("isogloss.events").joinpath("newswords.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]
