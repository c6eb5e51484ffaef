"""Events as the pages show them: what the store holds, with something in place of what it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from isogloss.service.web.drawing import sparkline

__all__ = ["Card", "Facets", "reading_order"]


@dataclass(frozen=True)
class Card:
    """An event in short.

    Attributes
    ----------
    id : str
        Its name in addresses.
    title, lang, summary : str
        A title in a language that the reader knows, if there is one, and a sentence in the same language.
    titles : list of (str, str)
        Languages and titles, the one above left out.
    languages : list of (str, int)
        Languages and their numbers of articles, the most first.
    places, concepts : list of dict
        As the store has them.
    first, last, size : int
        Times of its first and last article, and how many there are.
    days : list of (str, int)
        Articles of each day.
    confidence : float or None
        How sure it is that these articles are one event.
    """

    id: str
    title: str
    lang: str
    summary: str
    titles: list[tuple[str, str]]
    languages: list[tuple[str, int]]
    places: list[dict[str, Any]]
    concepts: list[dict[str, Any]]
    first: int
    last: int
    size: int
    days: list[tuple[str, int]]
    confidence: float | None

    @classmethod
    def of(cls, told: Mapping[str, Any], wanted: Sequence[str] = ()) -> Card:
        """An event of the store.

        Examples
        --------
        >>> told = {"id": "e1", "first": 0, "last": 0, "size": 2, "title": {"de": "Sturm", "sl": "Neurje"}}
        >>> Card.of(told, wanted=["en", "sl"]).title
        'Neurje'
        """
        counted: dict[str, int] = told.get("languages") or {}
        languages = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
        titles = told.get("title") or {}
        lang = _first([*wanted, *(code for code, _ in languages), *titles], titles)
        return cls(
            id=told["id"],
            title=titles.get(lang) or "Event without a title",
            lang=lang or "en",
            summary=(told.get("summary") or {}).get(lang, ""),
            titles=[(code, text) for code, text in titles.items() if code != lang and text],
            languages=languages,
            places=[place for place in told.get("places") or [] if place.get("name")],
            concepts=[concept for concept in told.get("concepts") or [] if concept.get("label")],
            first=told["first"],
            last=told["last"],
            size=told["size"],
            days=[(day, count) for day, count in told.get("timeline") or []],
            confidence=told.get("confidence"),
        )

    @property
    def sparkline(self) -> Markup:
        """Its articles day by day."""
        return _drawn(tuple(self.days))


class Facets:
    """What can be chosen: the languages, places and concepts of some events, the most frequent first.

    Parameters
    ----------
    cards : sequence of Card
        The events.
    most : int
        Places and concepts at most.
    """

    def __init__(self, cards: Sequence[Card], *, most: int = 60) -> None:
        langs = [(code, code) for card in cards for code, _ in card.languages]
        places = [(place["id"], place["name"]) for card in cards for place in card.places]
        concepts = [(each["id"], each["label"]) for card in cards for each in card.concepts]
        self.languages = [code for code, _ in _frequent(langs, len(langs))]
        self.places = sorted(_frequent(places, most), key=lambda pair: pair[1].casefold())
        self.concepts = sorted(_frequent(concepts, most), key=lambda pair: pair[1].casefold())

    def label(self, kind: str, value: str) -> str:
        """What a place or a concept is called; its id where that is not known."""
        return dict(self.places if kind == "place" else self.concepts).get(value, value)


def reading_order(header: str) -> list[str]:
    """Languages that a reader asks for, the best first, then English.

    Examples
    --------
    >>> reading_order("de-AT, sl;q=0.5, fr;q=0.9")
    ['de', 'fr', 'sl', 'en']
    """
    wanted = []
    for at, part in enumerate(header.split(",")[:20]):
        code, _, weight = part.strip().partition(";q=")
        wanted.append((-_weight(weight), at, code.partition("-")[0].lower()))
    return list(dict.fromkeys([*(code for _, _, code in sorted(wanted) if code.isalpha()), "en"]))


@lru_cache(maxsize=1000)
def _drawn(days: tuple[tuple[str, int], ...]) -> Markup:
    """Days as a picture: those of most events on a page are the same few."""
    return sparkline(days)


def _weight(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0


def _first(wanted: Sequence[str], titles: Mapping[str, str]) -> str:
    return next((code for code in wanted if titles.get(code)), "")


def _frequent(pairs: Sequence[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """Values with their labels, the most frequent first."""
    counts: dict[str, int] = {}
    for value, _ in pairs:
        counts[value] = counts.get(value, 0) + 1
    labels = dict(reversed(pairs))
    best = sorted(counts, key=lambda value: (-counts[value], value))[:most]
    return [(value, labels[value]) for value in best]
