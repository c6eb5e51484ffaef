"""Resolve the languages, places and concepts of a query to the ids of the store.

The store has language codes, GeoNames numbers of places and ids of concepts. A query may have these, or names
such as ``eng``, *Iceland*, *IS* and *UN*; an ambiguous name means the place or concept of the most events.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

from isogloss.events.annotate import known_places
from isogloss.store import Store
from isogloss.text import language

_UPPERCASE_KINDS = ("org", "currency", "region")
"""Kinds of concepts whose ids are in capital letters."""


def resolve_terms(
    store: Store, *, lang: Sequence[str] = (), place: Sequence[str] = (), concept: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return the terms that an event must have, for :class:`~isogloss.store.EventQuery`.

    Languages are tags such as ``de``, ``deu`` or ``de-AT``, places GeoNames numbers, English names or country
    codes, concepts ids or names; the events of the store decide between things of one name. Raises ValueError
    if a language is unknown.

    Examples
    --------
    >>> store = Store("terms.db")
    >>> resolve_terms(store, lang=["DEU"], place=["2629691", "iceland"], concept=["org:UN", "EUR"])
    [('lang', 'de'), ('place', '2629691'), ('place', '2629691'), ('concept', 'org:UN'), ('concept', ...)]
    >>> store.close()
    """
    found = [("lang", code) for code in language_codes(lang)]
    found += [("place", _most_used(store, "place", _places(clean_query(each)))) for each in place]
    found += [("concept", _most_used(store, "concept", _concepts(clean_query(each)))) for each in concept]
    return found


def language_codes(tags: Sequence[str]) -> list[str]:
    """Return the distinct codes of language tags; raise ValueError for an unknown tag."""
    return list(dict.fromkeys(language(tag).code for tag in tags))


def clean_query(text: str) -> str:
    """Replace characters that a database cannot store: null characters and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _places(name: str) -> list[str]:
    """Return the numbers of places that a name may mean; the name itself if there are none."""
    return _places_by_name().get(_fold_name(name), [name]) if not name.isdecimal() else [name]


def _concepts(name: str) -> list[str]:
    """Return the ids of concepts that a name may mean."""
    if ":" in name:
        return [name]
    places = [f"geo:{each}" for each in _places(name) if each != name]
    capitals = [f"{kind}:{name.upper()}" for kind in _UPPERCASE_KINDS]
    return [*places, *capitals, f"word:{name.lower()}", f"name:{name.lower()}"]


def _most_used(store: Store, kind: str, terms: Sequence[str]) -> str:
    """Return the term that most events have; the first if no event has any."""
    if len(terms) == 1:
        return terms[0]
    placeholders = ", ".join("?" * len(terms))
    with store.database.read() as session:
        row = session.one(
            f"SELECT term FROM event_term WHERE kind = ? AND term IN ({placeholders}) "
            "GROUP BY term ORDER BY count(*) DESC, term LIMIT 1",
            [kind, *terms],
        )
    return str(row[0]) if row else terms[0]


@cache
def _places_by_name() -> dict[str, list[str]]:
    """Map English names of places, and codes of countries, to numbers; the most populous places first."""
    found: dict[str, list[str]] = defaultdict(list)
    for number, place in sorted(known_places().items(), key=lambda one: -one[1].population):
        found[_fold_name(place.name)].append(number)
        if place.kind == "country":
            found[_fold_name(place.country)].append(number)
    return dict(found)


def _fold_name(name: str) -> str:
    """Remove accents and case from a name."""
    letters = unicodedata.normalize("NFKD", name.strip())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
