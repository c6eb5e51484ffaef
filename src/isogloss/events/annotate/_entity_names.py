"""Names of organisations, continents and currencies in many languages, matched as phrases.

Names are those of Unicode's CLDR (``babel``). The abbreviations that newspapers use for the largest
organisations are in ``organisations.tsv``: the organisation, the abbreviation, and its languages.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cache
from importlib import resources
from typing import Any

from isogloss.events.annotate._words import is_unspaced

_TERRITORIES = {
    "UN": "org:UN",
    "EU": "org:EU",
    "EZ": "org:eurozone",
    "150": "region:europe",
    "002": "region:africa",
    "142": "region:asia",
    "009": "region:oceania",
    "005": "region:south-america",
    "003": "region:north-america",
}


@cache
def abbreviations(lang: str) -> dict[str, str]:
    """Return the organisations that abbreviations in capital letters stand for in a language.

    Examples
    --------
    >>> abbreviations("ru")["НАТО"], abbreviations("fr")["OTAN"], "OTAN" in abbreviations("de")
    ('org:NATO', 'org:NATO', False)
    """
    table = resources.files("isogloss.events.annotate").joinpath("organisations.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in table.splitlines())
    return {short: meaning for meaning, short, langs in rows if langs == "*" or lang in langs.split()}


@cache
def entity_names(lang: str) -> PhraseMatcher:
    """Return a matcher for the lower-case names of organisations, continents and currencies.

    It is empty without ``babel``, for unspaced languages, and for languages that CLDR does not have.

    Examples
    --------
    >>> words = "für die europäische union zehn euro".split()
    >>> [meaning for _, _, meaning in entity_names("de").find(words)]
    ['org:EU', 'currency:EUR']
    """
    locale = _locale(lang)
    if locale is None:
        return PhraseMatcher([])
    names = ((locale.territories.get(code), meaning) for code, meaning in _TERRITORIES.items())
    territories = [(name.lower(), meaning) for name, meaning in names if name]
    return PhraseMatcher(territories + sorted(_currencies(locale)))


def _currencies(locale: Any) -> Iterator[tuple[str, str]]:
    module = importlib.import_module("babel.numbers")
    for code in locale.currencies:
        if code.isalpha() and len(code) == 3 and not code.startswith("X"):
            counts = (None, 1, 2, 5)
            names = {module.get_currency_name(code, count=count, locale=locale) for count in counts}
            yield from ((name.lower(), f"currency:{code}") for name in names if "(" not in name)


def _locale(lang: str) -> Any:
    if is_unspaced(lang):
        return None
    try:
        core = importlib.import_module("babel.core")
    except ModuleNotFoundError:
        return None
    try:
        return core.Locale.parse(lang)
    except (core.UnknownLocaleError, ValueError):
        return None


class PhraseMatcher:
    """Finds phrases in running text; at each word the longest phrase wins.

    Phrases come with their meanings, words separated by blanks; the first meaning of a phrase counts.

    Examples
    --------
    >>> book = PhraseMatcher([("united nations", "org:UN"), ("united", "word:united")])
    >>> list(book.find("the united nations and the united front".split()))
    [(1, 3, 'org:UN'), (5, 6, 'word:united')]
    """

    def __init__(self, phrases: Iterable[tuple[str, str]]) -> None:
        self._meanings: dict[str, str] = {}
        for phrase, meaning in phrases:
            self._meanings.setdefault(" ".join(phrase.split()), meaning)
        self._lengths: dict[str, list[int]] = {}
        for phrase in self._meanings:
            words = phrase.split()
            lengths = self._lengths.setdefault(words[0], [])
            if len(words) not in lengths:
                lengths.append(len(words))
        for lengths in self._lengths.values():
            lengths.sort(reverse=True)
        self._first_words = frozenset(self._lengths)

    def __len__(self) -> int:
        return len(self._meanings)

    def find(
        self, words: Sequence[str], vocabulary: Set[str] | None = None
    ) -> Iterator[tuple[int, int, str]]:
        """Yield the start, end and meaning of each match; matches do not overlap.

        ``vocabulary`` has the distinct words, if the caller knows them.
        """
        lengths, free = self._lengths, 0
        starts = self._first_words.intersection(words if vocabulary is None else vocabulary)
        for place in [place for place, word in enumerate(words) if word in starts] if starts else ():
            if place < free:
                continue
            for length in lengths[words[place]]:
                meaning = self._meanings.get(" ".join(words[place : place + length]))
                if meaning is not None:
                    free = place + length
                    yield place, free, meaning
                    break
