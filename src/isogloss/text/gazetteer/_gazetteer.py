r"""Places named in text: countries, capitals and large cities, in many languages and scripts.

A stretch of text is a name if it is one of a country in CLDR, or of a city in CLDR or GeoNames, in the script
of the language. Of overlapping names the one that begins first is taken, and of those the longest. Then

* in scripts with capital letters the name begins with one, unless the whole text has none, in which case only
  countries, capitals and cities of a million people are found;
* words of a short list such as *nice* and *reading* in English are no names of cities, and stop words of the
  language are none of cities that are no capitals and have fewer than a million people;
* at the beginning of a sentence, where any word has a capital letter, a city of fewer than a million people
  that is no capital counts only if the text has the name elsewhere too, or another place of the same country;
* so does such a city right before another word with a capital letter: *Nancy Pelosi* is not in Lorraine;
* names of three letters are found for countries, capitals and cities of a million people, and where they are
  main names; up to four letters that are all capitals are names of countries only;
* endings of cases (Slavic and Baltic languages, Greek, Finnish, Estonian, Hungarian), the s of the genitive
  (German, Dutch, Scandinavian languages) and prepositions written together with the word (Arabic, Hebrew) are
  taken off words that are not found otherwise.

A name of several places means the one with the highest

.. math::

    \log_{10} \text{population} + 2\, [\text{main name}] + \tfrac12 [\text{capital}] + 3\, [\text{country}]
    + [\text{another name in the text is of the same country}] + s + e^{-d / 300\,\text{km}},

where :math:`s` is the share of the people of the country who speak the language of the text, if official
there, and :math:`d` is the distance to the nearest of the other cities in the text.
"""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, chain
from math import asin, cos, exp, log10, radians, sin, sqrt
from threading import Lock
from typing import Any, NamedTuple

from isogloss.linalg import check_count
from isogloss.text._languages import Language, language
from isogloss.text._tokens import check_text
from isogloss.text.gazetteer._names import (
    CASED,
    MIN_LARGE_POPULATION,
    NameTable,
    Spot,
    Spotter,
    UnspacedSpotter,
    WordSpotter,
)
from isogloss.text.gazetteer._places import Name, Place, PlaceNames, need_places, scripts_of

_NEAR_KM = 300.0
"""Distance at which another place counts a third of what it would count at no distance."""


class Mention(NamedTuple):
    """A place that a text names.

    Attributes
    ----------
    place : Place
        Which one.
    start, end : int
        Position of the name, in characters of a text or in tokens of a list.
    weight : float
        From 0 to 1, how likely the name means this place rather than another one of the name; half of that
        where it stands next to another word with a capital letter, and may be part of a longer name.
    """

    place: Place
    start: int
    end: int
    weight: float


class Gazetteer:
    """Finds the places that a text names.

    Parameters
    ----------
    min_population : int
        Population of the smallest city; capitals and countries are always included. 500 is the minimum and
        slow to load; 15,000 and more load within a second.

    Notes
    -----
    Needs the extra ``isogloss[places]``. Places are read at the first use, and the names of each language at
    the first text in it. Names that do not say which language they are of are in memory once for all
    languages of a script. Objects may be used in several threads.

    Examples
    --------
    >>> gazetteer = Gazetteer.default()
    >>> found = gazetteer.find("Von München nach Österreich", "de")
    >>> [(one.place.name, one.place.kind, one.start, one.end) for one in found]
    [('Munich', 'city', 4, 11), ('Austria', 'country', 17, 27)]
    >>> [m.place.name for m in gazetteer.find("Поезд из Москвы в Берлин", "ru")]
    ['Moscow', 'Berlin']
    >>> [m.place.country for m in gazetteer.find("Birmingham beat Atlanta in the United States", "en")]
    ['US', 'US', 'US']
    """

    def __init__(self, min_population: int = 100_000) -> None:
        self.min_population = check_count(
            min_population, "min_population", 0, 10**9, "people of the smallest city"
        )
        self._lock = Lock()
        self._names: PlaceNames | None = None
        self._spotters: dict[str, Spotter] = {}
        self._tables: dict[tuple[tuple[str, ...], bool], NameTable] = {}

    @classmethod
    def default(cls, min_population: int = 100_000) -> Gazetteer:
        """Return the gazetteer that this process shares, for a minimum population."""
        return _shared(min_population)

    @property
    def places(self) -> tuple[Place, ...]:
        """All places: countries by their codes, then cities by their numbers."""
        with self._lock:
            return self._loaded().places

    def find(
        self, text_or_tokens: str | Sequence[str], lang: str, countries: Collection[str] = ()
    ) -> list[Mention]:
        """Find the places that a text names, in text order.

        Parameters
        ----------
        text_or_tokens : str or sequence of str
            A text, or its words; words keep their capital letters, or all are in lower case.
        lang : str
            The language of the text.
        countries : collection of str, optional
            ISO 3166 codes of countries that the text is known to be about, for instance from demonyms.
        """
        spotter = self._spotter(lang)
        if isinstance(text_or_tokens, (str, bytes)) or text_or_tokens is None:
            check_text(text_or_tokens)
            return _resolve(list(spotter.spot(str(text_or_tokens))), spotter.lang.code, countries)
        tokens = list(text_or_tokens)
        for token in tokens:
            check_text(token)
        ends = list(accumulate(len(token) + 1 for token in tokens))
        found = _resolve(list(spotter.spot(" ".join(tokens))), spotter.lang.code, countries)
        return [
            m._replace(start=bisect_right(ends, m.start), end=bisect_right(ends, m.end - 1) + 1)
            for m in found
        ]

    def _loaded(self) -> PlaceNames:
        if self._names is None:
            self._names = PlaceNames(self.min_population)
        return self._names

    def _spotter(self, lang: str) -> Spotter:
        found = language(lang)
        spotter = self._spotters.get(found.code)
        if spotter is not None:
            return spotter
        with self._lock, _no_garbage_collection():
            if found.code not in self._spotters:
                self._spotters[found.code] = self._make_spotter(found)
            return self._spotters[found.code]

    def _make_spotter(self, lang: Language) -> Spotter:
        names, scripts = self._loaded(), scripts_of(lang)
        own = names.own_names(lang.code)
        if lang.segmenter == "unspaced" or lang.script == "Kore":
            return UnspacedSpotter(lang, chain(own, names.shared_names(scripts)))
        cased = lang.script in CASED
        if (scripts, cased) not in self._tables:
            self._tables[scripts, cased] = NameTable(names.shared_names(scripts), cased)
        return WordSpotter(lang, own, self._tables[scripts, cased])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings only: another process reads the places faster than it would receive them."""
        return _shared, (self.min_population,)

    def __repr__(self) -> str:
        return f"Gazetteer(min_population={self.min_population})"


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector while a hundred thousand objects are made that are all kept."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def _shared(min_population: int) -> Gazetteer:
    return Gazetteer(min_population)


def _resolve(spots: list[Spot], lang: str, countries: Collection[str] = ()) -> list[Mention]:
    """Choose one place for each name, by its own weight and by the other places of the text."""
    if not spots:
        return []
    candidates = {spot.key: spot.names for spot in spots}
    first = {key: max(some, key=_prior).place for key, some in candidates.items()}
    names_of: dict[str, set[str]] = defaultdict(set)
    for key, place in first.items():
        names_of[place.country].add(key)
    for country in countries:
        names_of[country].add("")
    strong = {spot.key for spot in spots if not spot.weak and not spot.in_name}
    chosen = {key: _choose(key, some, names_of, first, lang) for key, some in candidates.items()}
    out = []
    for spot in spots:
        place, weight = chosen[spot.key]
        doubtful = spot.weak or spot.in_name
        if doubtful and spot.key not in strong and not _is_meant(spot.key, place, names_of):
            continue
        out.append(Mention(place, spot.start, spot.end, weight / 2 if spot.beside else weight))
    return out


def _prior(one: Name) -> float:
    bonus = {"country": 3.0, "capital": 0.5, "city": 0.0}[one.place.kind]
    return log10(1 + one.place.population) + 2.0 * one.main + bonus


def _choose(
    key: str, candidates: Sequence[Name], names_of: dict[str, set[str]], first: dict[str, Place], lang: str
) -> tuple[Place, float]:
    """Return the likeliest place of a name, and its share."""
    if len(candidates) == 1:
        return candidates[0].place, 1.0
    others = [place for other, place in first.items() if other != key and place.kind != "country"]
    shares = _speakers(lang)
    scores = [
        _prior(one)
        + _supported(key, one.place, names_of)
        + shares.get(one.place.country, 0.0)
        + max((exp(-_distance(one.place, other) / _NEAR_KM) for other in others), default=0.0)
        for one in candidates
    ]
    best = max(range(len(scores)), key=lambda i: (scores[i], -candidates[i].place.id))
    return candidates[best].place, 1.0 / sum(10.0 ** (score - scores[best]) for score in scores)


def _supported(key: str, place: Place, names_of: dict[str, set[str]]) -> bool:
    """Return whether another name in the text is of the same country."""
    return bool(names_of.get(place.country, set()) - {key})


def _is_meant(key: str, place: Place, names_of: dict[str, set[str]]) -> bool:
    """Return whether a doubtful name is meant: if its place is well known or the text names its country."""
    return (
        place.kind != "city" or place.population >= MIN_LARGE_POPULATION or _supported(key, place, names_of)
    )


def _distance(one: Place, other: Place) -> float:
    """Kilometres between two places."""
    north, south = radians(one.latitude), radians(other.latitude)
    across = radians(one.longitude - other.longitude)
    chord = sin((north - south) / 2) ** 2 + cos(north) * cos(south) * sin(across / 2) ** 2
    return 12742.0 * asin(min(1.0, sqrt(chord)))


@cache
def _speakers(lang: str) -> dict[str, float]:
    """Return the countries where a language is official, and the share of speakers, by CLDR."""
    info = need_places("babel.core").get_global("territory_languages")
    found = {country: spoken[lang] for country, spoken in info.items() if lang in spoken}
    return {
        country: min(1.0, one["population_percent"] / 100)
        for country, one in found.items()
        if one["official_status"]
    }
