"""Filters of the events, as they stand in the address of the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Self
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from isogloss.service.schemas import ServiceError
from isogloss.store import EventQuery, to_micros

__all__ = ["LABELS", "SORTS", "Filters"]

LABELS = {
    "lang": "language",
    "place": "place",
    "concept": "concept",
    "since": "from",
    "until": "to",
    "min_languages": "languages at least",
}
"""What filters are called on pages."""

SORTS = {
    "last": "newest article",
    "size": "most articles",
    "languages": "most languages",
    "changed": "last change",
}
PAGE = 24
_LONGEST = 300


@dataclass(frozen=True)
class Filters:
    """What was chosen; what has its default is not in the address.

    Examples
    --------
    >>> chosen = Filters.of(QueryParams("lang=de&lang=sl&since=2025-03-05&sort=size&min_languages="))
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
    sort: str = "last"
    cursor: str = ""

    @classmethod
    def of(cls, params: QueryParams) -> Self:
        """Read the address.

        Raises
        ------
        ServiceError
            A value cannot be; the sentence says which, and what was expected.
        """
        for name, value in params.multi_items():
            if len(value) > _LONGEST or not value.isprintable():
                raise ServiceError(422, f"{name} is not a value of this filter; choose one of the page's.")
        sort = params.get("sort") or "last"
        if sort not in SORTS:
            raise ServiceError(422, f"sort is {sort!r}; expected one of {', '.join(SORTS)}.")
        return cls(
            lang=tuple(dict.fromkeys(code for code in params.getlist("lang") if code))[:10],
            place=params.get("place", ""),
            concept=params.get("concept", ""),
            since=_day(params.get("since", ""), "since"),
            until=_day(params.get("until", ""), "until"),
            min_languages=_count(params.get("min_languages", "")),
            sort=sort,
            cursor=params.get("cursor", ""),
        )

    def url(self, **changes: Any) -> str:
        """The address of the page with these filters, some of them changed; it begins at the first page."""
        return _address(self, tuple(changes.items()))

    def chosen(self) -> list[tuple[str, str, str]]:
        """What is filtered by: name, value, and the address without it.

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

    def query(self) -> EventQuery:
        """The question to the store."""
        terms = [("lang", code) for code in self.lang]
        terms += [(kind, value) for kind in ("place", "concept") if (value := getattr(self, kind))]
        return EventQuery(
            since=_start(self.since) if self.since else None,
            until=_start(self.until, 1) - 1 if self.until else None,
            terms=terms,
            min_languages=self.min_languages,
            sort=self.sort,
            limit=PAGE,
            cursor=self.cursor,
        )


@lru_cache(maxsize=1000)
def _address(filters: Filters, changes: tuple[tuple[str, Any], ...]) -> str:
    other = replace(filters, **({"cursor": ""} | dict(changes)))
    pairs = [("lang", code) for code in other.lang]
    for name in ("place", "concept", "since", "until", "min_languages", "sort", "cursor"):
        value = getattr(other, name)
        if value and value != getattr(Filters, name):
            pairs.append((name, str(value)))
    return "/?" + urlencode(pairs) if pairs else "/"


def _day(text: str, name: str) -> str:
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.min
    if day is None:
        return ""
    if not 1900 <= day.year <= 2999:
        raise ServiceError(422, f"{name} is {text!r}; expected a day such as 2025-03-05.")
    return day.isoformat()


def _count(text: str) -> int:
    if not text:
        return 1
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= 1000):
        raise ServiceError(422, f"min_languages is {text!r}; expected a number from 1 to 1000.")
    return int(text)


def _start(day: str, later: int = 0) -> int:
    """When a day begins, or one some days later."""
    return to_micros(datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(days=later))
