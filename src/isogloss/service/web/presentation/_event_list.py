"""Lists of events on pages: filters in the query string, cards, facets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Self
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.datastructures import QueryParams

from isogloss.service.api.errors import ServiceError
from isogloss.service.web._rendering import language_name
from isogloss.service.web.drawing import sparkline
from isogloss.store import EventQuery, to_micros

LABELS = {
    "lang": "language",
    "without": "not yet in",
    "place": "place",
    "concept": "concept",
    "source": "source",
    "after": "changed since journal line",
    "since": "from",
    "until": "to",
    "min_languages": "minimum languages",
}
"""Labels of filters."""

SORTS = {
    "importance": "importance",
    "last": "newest article",
    "size": "most articles",
    "languages": "most languages",
    "changed": "last change",
}
PAGE_SIZE = 24
END_OF_DAY = "T23:59:59.999999Z"
"""What makes the last moment of a day of it, in parameters of the API."""

DAY_MICROS = 86_400_000_000
MIN_DEVELOPING_ARTICLES = 3
"""Articles of the newest two days without which an event is not developing."""

MIN_REPEATED_WORDS = 3
"""Words of a title that is left out where a summary repeats it before going on."""

MAX_VALUE_CHARS = 300
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Filters:
    """Filters of the list of events; defaults are omitted from the query string.

    Examples
    --------
    >>> chosen = Filters.parse(QueryParams("lang=de&lang=sl&since=2025-03-05&sort=size&min_languages="))
    >>> chosen.lang, chosen.since, chosen.min_languages
    (('de', 'sl'), '2025-03-05', 1)
    >>> chosen.url()
    '/?lang=de&lang=sl&since=2025-03-05&sort=size'
    >>> chosen.url(lang=(), place="geo:2988507")
    '/?place=geo%3A2988507&since=2025-03-05&sort=size'
    """

    lang: tuple[str, ...] = ()
    place: str = ""
    concept: str = ""
    since: str = ""
    until: str = ""
    min_languages: int = 1
    sort: str = "importance"
    cursor: str = ""
    source: str = ""
    after: int = 0
    without: str = ""

    @classmethod
    def parse(cls, params: QueryParams) -> Self:
        """Parse a query string.

        Raises ServiceError if a value is invalid.
        """
        for name, value in params.multi_items():
            if len(value) > MAX_VALUE_CHARS or not value.isprintable():
                raise ServiceError(422, f"{name} has an invalid value; choose one from the page.")
        sort = params.get("sort") or Filters.sort
        if sort not in SORTS:
            raise ServiceError(422, f"sort is {sort!r}; expected one of {', '.join(SORTS)}.")
        return cls(
            lang=tuple(dict.fromkeys(code for code in params.getlist("lang") if code))[:10],
            place=params.get("place", ""),
            concept=params.get("concept", ""),
            since=_parse_day(params.get("since", ""), "since"),
            until=_parse_day(params.get("until", ""), "until"),
            min_languages=_parse_count(params.get("min_languages", "")),
            sort=sort,
            cursor=params.get("cursor", ""),
            source=params.get("source", "").strip(),
            without=params.get("without", ""),
            after=_parse_line(params.get("after", "")),
        )

    def url(self, **changes: Any) -> str:
        """Return the URL of the first page with these filters, some of them changed."""
        return _url(self, tuple(changes.items()))

    def chosen(self) -> list[tuple[str, str, str]]:
        """Return the active filters: name, value, and the URL without it.

        Examples
        --------
        >>> Filters(lang=("de", "sl"), since="2025-03-05").chosen()[:2]
        [('lang', 'de', '/?lang=sl&since=2025-03-05'), ('lang', 'sl', '/?lang=de&since=2025-03-05')]
        """
        languages = [
            ("lang", code, self.url(lang=tuple(other for other in self.lang if other != code)))
            for code in self.lang
        ]
        others = [name for name in LABELS if name != "lang" and getattr(self, name) != getattr(Filters, name)]
        return languages + [
            (name, str(getattr(self, name)), self.url(**{name: getattr(Filters, name)})) for name in others
        ]

    def api_parameters(self) -> list[tuple[str, str]]:
        """Return the filters as parameters of the API; those of the order and of a visit are left out.

        Examples
        --------
        >>> Filters(lang=("de",), until="2025-03-05", sort="size").api_parameters()
        [('lang', 'de'), ('until', '2025-03-05T23:59:59.999999Z')]
        """
        chosen = {"min_languages": str(self.min_languages) if self.min_languages > 1 else ""}
        chosen |= {name: getattr(self, name) for name in ("without", "place", "concept", "source", "since")}
        chosen["until"] = self.until and self.until + END_OF_DAY
        languages = [("lang", code) for code in self.lang]
        return languages + [(name, value) for name, value in chosen.items() if value]

    def query(self) -> EventQuery:
        """Return the query to the store."""
        terms = [("lang", code) for code in self.lang]
        terms += [(kind, value) for kind in ("place", "concept") if (value := getattr(self, kind))]
        return EventQuery(
            since=_midnight(self.since) if self.since else None,
            until=_midnight(self.until, 1) - 1 if self.until else None,
            terms=terms,
            without=[self.without] if self.without else (),
            min_languages=self.min_languages,
            sources=[self.source] if self.source else (),
            changed_after=self.after or None,
            sort=self.sort,
            limit=PAGE_SIZE,
            cursor=self.cursor,
        )


@lru_cache(maxsize=1000)
def _url(filters: Filters, changes: tuple[tuple[str, Any], ...]) -> str:
    other = replace(filters, **({"cursor": ""} | dict(changes)))
    pairs = [("lang", code) for code in other.lang]
    for name in (*LABELS, "sort", "cursor"):
        value = getattr(other, name)
        if name != "lang" and value and value != getattr(Filters, name):
            pairs.append((name, str(value)))
    return "/?" + urlencode(pairs) if pairs else "/"


def _parse_day(text: str, name: str) -> str:
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.min
    if day is None:
        return ""
    if not 1900 <= day.year <= 2999:
        raise ServiceError(422, f"{name} is {text!r}; expected a day such as 2025-03-05.")
    return day.isoformat()


def _parse_count(text: str) -> int:
    if not text:
        return 1
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= 1000):
        raise ServiceError(422, f"min_languages is {text!r}; expected a number from 1 to 1000.")
    return int(text)


def _parse_line(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ServiceError(422, f"after is {text!r}; expected the number of a journal line.")
    return int(text or 0)


def _midnight(day: str, offset: int = 0) -> int:
    """Return the start of a day plus an offset in days, in microseconds."""
    return to_micros(datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(days=offset))


@dataclass(frozen=True)
class Card:
    """Summary of an event for a page."""

    id: str
    """Id of the event."""
    title: str
    lang: str
    summary: str
    """Title and summary in the preferred language of the reader, if there is one."""
    titles: list[tuple[str, str]]
    """Languages and titles of the other languages."""
    languages: list[tuple[str, int]]
    """Languages with their numbers of articles, descending."""
    places: list[dict[str, Any]]
    concepts: list[dict[str, Any]]
    """As in the store."""
    first: int
    last: int
    size: int
    """Times of the first and last article, and the number of articles."""
    days: list[tuple[str, int]]
    """Articles per day."""
    confidence: float | None
    """Confidence that the articles are one event."""
    sources: int
    """Number of sources."""
    created: int
    changed: int
    """Journal lines at which the event was new, and at which it last changed."""

    @classmethod
    def from_event(cls, event: Mapping[str, Any], preferred: Sequence[str] = ()) -> Card:
        """Make the card of a stored event, with the title in the first of the preferred languages.

        Examples
        --------
        >>> event = {"id": "e1", "first": 0, "last": 0, "size": 2, "title": {"de": "Sturm", "sl": "Neurje"}}
        >>> Card.from_event(event, preferred=["en", "sl"]).title
        'Neurje'
        """
        counts: dict[str, int] = event.get("languages") or {}
        languages = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        titles = event.get("title") or {}
        candidates = [*preferred, *(code for code, _ in languages), *titles]
        lang = next((code for code in candidates if titles.get(code)), "")
        return cls(
            id=event["id"],
            title=titles.get(lang) or "Untitled event",
            lang=lang or "en",
            summary=_without_title((event.get("summary") or {}).get(lang, ""), titles.get(lang) or ""),
            titles=[(code, text) for code, text in titles.items() if code != lang and text],
            languages=languages,
            places=[place for place in event.get("places") or [] if place.get("name")],
            concepts=[concept for concept in event.get("concepts") or [] if concept.get("label")],
            first=event["first"],
            last=event["last"],
            size=event["size"],
            days=[(day, count) for day, count in event.get("timeline") or []],
            confidence=event.get("confidence"),
            sources=event.get("sources_count") or 0,
            created=event.get("created") or 0,
            changed=event.get("changed") or 0,
        )

    @property
    def sparkline(self) -> Markup:
        """Articles per day as a small plot."""
        return _sparkline(tuple(self.days))

    def stage(self, newest: int) -> str:
        """Return ``new``, ``developing``, ``fading`` or an empty string.

        The present ends with the newest article of the store, given in microseconds since 1970.

        Notes
        -----
        An event is *new* in the first 24 hours after its first article. After that, its articles of the
        newest two days (UTC) are compared with those of the two days before: it is *developing* if they are
        more, and at least three, and *fading* if they are less than half as many.

        Examples
        --------
        >>> day, about = 86_400_000_000, {"id": "e1", "first": 0, "last": 0, "size": 9}
        >>> card = Card.from_event(about | {"timeline": [["1970-01-01", 4], ["1970-01-03", 9]]})
        >>> [card.stage(n * day) for n in (0.5, 2.5, 4.5, 9)]
        ['new', 'developing', 'fading', '']
        """
        if newest - self.first < DAY_MICROS:
            return "new"
        today = newest // DAY_MICROS
        ages = [(today - _day_number(day), count) for day, count in self.days]
        recent = sum(count for age, count in ages if age < 2)
        before = sum(count for age, count in ages if 2 <= age < 4)
        if recent > before and recent >= MIN_DEVELOPING_ARTICLES:
            return "developing"
        return "fading" if 2 * recent < before else ""

    def unseen(self, line: int) -> str:
        """Return ``unseen`` or ``updated`` for an event that is new or changed since a journal line."""
        return "unseen" if self.created > line else "updated" if self.changed > line else ""


def _without_title(summary: str, title: str) -> str:
    """Return a summary without the title with which the text of many articles begins.

    Examples
    --------
    >>> _without_title("Storm over the coast: Roofs flew.", "Storm over the coast")
    'Roofs flew.'
    >>> _without_title("Storms passed.", "Storm"), _without_title("Storm hits coast?", "Storm hits coast")
    ('Storms passed.', '')
    """
    if not title or not summary.casefold().startswith(title.casefold()):
        return summary
    rest = summary[len(title) :]
    if len(title.split()) < MIN_REPEATED_WORDS and any(map(str.isalnum, rest)):
        return summary
    return summary if rest[:1].isalnum() else rest.lstrip(" \t\n.,:;!?|-\N{EN DASH}\N{EM DASH}")


class Facets:
    """Choices of the filters: all languages, and the most frequent places and concepts of some events."""

    def __init__(
        self, cards: Sequence[Card], languages: Sequence[str], sources: Sequence[str], *, max_values: int = 60
    ) -> None:
        places = [(place["id"], place["name"]) for card in cards for place in card.places]
        concepts = [(each["id"], each["label"]) for card in cards for each in card.concepts]
        self.languages = sorted(languages, key=language_name)
        self.sources = sources
        self.places = sorted(_most_frequent(places, max_values), key=lambda pair: pair[1].casefold())
        self.concepts = sorted(_most_frequent(concepts, max_values), key=lambda pair: pair[1].casefold())

    def label(self, kind: str, value: str) -> str:
        """Return the label of a place or concept, or its id if it has none."""
        return dict(self.places if kind == "place" else self.concepts).get(value, value)


def common_places(cards: Sequence[Card], filters: Filters, limit: int = 40) -> list[dict[str, Any]]:
    """Return the places that most events name: with their number as ``count``, and the URL of their list."""
    counts = Counter(str(place["id"]) for card in cards for place in card.places)
    known = {str(place["id"]): place for card in reversed(cards) for place in card.places}
    return [
        known[id] | {"count": count, "url": filters.url(place=id)}
        for id, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
    ]


def preferred_languages(accept_language: str) -> list[str]:
    """Parse an Accept-Language header: languages by descending quality, then English.

    Examples
    --------
    >>> preferred_languages("de-AT, sl;q=0.5, fr;q=0.9")
    ['de', 'fr', 'sl', 'en']
    """
    weighted = []
    for at, part in enumerate(accept_language.split(",")[:20]):
        code, _, quality = part.strip().partition(";q=")
        weighted.append((-_parse_quality(quality), at, code.partition("-")[0].lower()))
    return list(dict.fromkeys([*(code for _, _, code in sorted(weighted) if code.isalpha()), "en"]))


@lru_cache(maxsize=10_000)
def _day_number(day: str) -> int:
    """Return the number of a day since 1970-01-01."""
    return date.fromisoformat(day).toordinal() - _EPOCH


@lru_cache(maxsize=1000)
def _sparkline(days: tuple[tuple[str, int], ...]) -> Markup:
    return sparkline(days)


def _parse_quality(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0


def _most_frequent(pairs: Sequence[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    """Return values with their labels, most frequent first."""
    counts = Counter(value for value, _ in pairs)
    labels = dict(reversed(pairs))
    best = sorted(counts, key=lambda value: (-counts[value], value))[:limit]
    return [(value, labels[value]) for value in best]
