"""Languages, places and concepts as people call them, and as the store knows them.

The store has codes of languages, numbers of places and ids of concepts. Whoever asks may give these, or
``eng``, *Iceland*, *IS* and *UN*; of several things with one name the one that most events have is meant.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

from isogloss.events.annotate import known_places
from isogloss.store import Store
from isogloss.text import language

__all__ = ["language_codes", "named_terms", "sound"]

_KINDS = ("org", "currency", "region")
"""Concepts whose ids have capital letters."""


def named_terms(
    store: Store, *, lang: Sequence[str] = (), place: Sequence[str] = (), concept: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """What an event must have, as :class:`~isogloss.store.EventQuery` takes it.

    Parameters
    ----------
    store : Store
        Whose events decide between things of one name.
    lang : sequence of str
        Language tags such as ``de``, ``deu`` or ``de-AT``.
    place : sequence of str
        Numbers of places, English names, or codes of countries.
    concept : sequence of str
        Ids of concepts, or what they are called.

    Raises
    ------
    ValueError
        A language is not known.

    Examples
    --------
    >>> store = Store("terms.db")
    >>> named_terms(store, lang=["DEU"], place=["2629691", "iceland"], concept=["org:UN", "EUR"])
    [('lang', 'de'), ('place', '2629691'), ('place', '2629691'), ('concept', 'org:UN'), ('concept', ...)]
    >>> store.close()
    """
    found = [("lang", code) for code in language_codes(lang)]
    found += [("place", _most_used(store, "place", _places(sound(each)))) for each in place]
    found += [("concept", _most_used(store, "concept", _concepts(sound(each)))) for each in concept]
    return found


def language_codes(tags: Sequence[str]) -> list[str]:
    """The codes of languages, each once; ValueError for a tag that is none."""
    return list(dict.fromkeys(language(tag).code for tag in tags))


def sound(text: str) -> str:
    """A text that a database can look for."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _places(name: str) -> list[str]:
    """Numbers that a name may stand for; the name itself where there is none."""
    return _by_name().get(_plain(name), [name]) if not name.isdecimal() else [name]


def _concepts(name: str) -> list[str]:
    """Ids that a name may stand for."""
    if ":" in name:
        return [name]
    places = [f"geo:{each}" for each in _places(name) if each != name]
    capitals = [f"{kind}:{name.upper()}" for kind in _KINDS]
    return [*places, *capitals, f"word:{name.lower()}", f"name:{name.lower()}"]


def _most_used(store: Store, kind: str, terms: Sequence[str]) -> str:
    """The term that most events have; the first where none has any."""
    if len(terms) == 1:
        return terms[0]
    marks = ", ".join("?" * len(terms))
    with store.database.read() as session:
        row = session.one(
            f"SELECT term FROM event_term WHERE kind = ? AND term IN ({marks}) "
            "GROUP BY term ORDER BY count(*) DESC, term LIMIT 1",
            [kind, *terms],
        )
    return str(row[0]) if row else terms[0]


@cache
def _by_name() -> dict[str, list[str]]:
    """Numbers of places by their English names and, for countries, codes; the largest places first."""
    found: dict[str, list[str]] = defaultdict(list)
    for number, place in sorted(known_places().items(), key=lambda one: -one[1].population):
        found[_plain(place.name)].append(number)
        if place.kind == "country":
            found[_plain(place.country)].append(number)
    return dict(found)


def _plain(name: str) -> str:
    """A name without accents and case."""
    letters = unicodedata.normalize("NFKD", name.strip())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
