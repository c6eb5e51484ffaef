"""Questions about events: by time, language, place and concept, page by page."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from isogloss.exceptions import StoreError
from isogloss.store.interface import Row, Session

__all__ = [
    "EventPage",
    "EventQuery",
    "changed_since",
    "cluster_links",
    "count_articles",
    "event_clusters",
    "find_events",
    "read_event",
]

SORTS = {"last": "last", "size": "size", "languages": "languages", "changed": "changed"}
MAX_LIMIT = 200
_INDEXED = frozenset({"last", "changed"})
"""Orders that an index has: the first events of a page are found without looking at all."""

_MANY = 300
"""Events with a term from which on it is looked for in the order of the page."""

_TERM = "kind = ? AND term = ?"
_COLUMNS = "id, first, last, size, languages, changed, data"


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events, in which order.

    Parameters
    ----------
    since, until : int, optional
        Microseconds since 1970: events that have an article in between.
    terms : sequence of (str, str)
        Kind (``lang``, ``place`` or ``concept``) and value: events with all of them.
    min_languages, min_size : int
        Events with at least as many languages and articles.
    ids : sequence of str, optional
        Only these.
    sort : {'last', 'size', 'languages', 'changed'}
        The largest first.
    limit : int
        Events of one page.
    cursor : str
        Where the page before ended.
    """

    since: int | None = None
    until: int | None = None
    terms: Sequence[tuple[str, str]] = ()
    min_languages: int = 1
    min_size: int = 1
    ids: Sequence[str] | None = None
    sort: str = "last"
    limit: int = 50
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, and the cursor of the next page; empty at the end."""

    events: list[dict[str, Any]] = field(default_factory=list)
    cursor: str = ""


def find_events(session: Session, query: EventQuery) -> EventPage:
    """One page of the events that a query asks for.

    A cursor names the last event of its page, so that new events neither repeat nor hide any.
    """
    if query.sort not in SORTS:
        raise StoreError(f"sort is {query.sort!r}; expected one of {', '.join(SORTS)}")
    if not 1 <= query.limit <= MAX_LIMIT:
        raise StoreError(f"limit is {query.limit}; expected 1 to {MAX_LIMIT}")
    column = SORTS[query.sort]
    conditions, values = _conditions(session, query, column)
    rows = session.run(
        f"SELECT {_COLUMNS} FROM event WHERE {' AND '.join(conditions)} "
        f"ORDER BY {column} DESC, id DESC LIMIT ?",
        [*values, query.limit + 1],
    )
    events = [_event(row) for row in rows[: query.limit]]
    more = len(rows) > query.limit
    return EventPage(events, _cursor(query.sort, events[-1]) if more else "")


def _conditions(session: Session, query: EventQuery, column: str) -> tuple[list[str], list[Any]]:
    conditions = ["languages >= ?", "size >= ?"]
    values: list[Any] = [query.min_languages, query.min_size]
    if query.since is not None:
        conditions.append("last >= ?")
        values.append(query.since)
    if query.until is not None:
        conditions.append("first <= ?")
        values.append(query.until)
    for term in query.terms:
        conditions.append(_having(session, term, column))
        values += term
    if query.ids is not None:
        conditions.append(f"id IN ({', '.join('?' * len(query.ids))})" if query.ids else "1 = 0")
        values += query.ids
    if query.cursor:
        at, after = _position(query)
        conditions.append(f"({column} < ? OR ({column} = ? AND id < ?))")
        values += [at, at, after]
    return conditions, values


def _having(session: Session, term: tuple[str, str], column: str) -> str:
    """The condition that an event has a term; whether events with it are few decides where to begin."""
    if column in _INDEXED:
        some = f"SELECT 1 FROM event_term WHERE {_TERM} LIMIT {_MANY}"
        if session.run(f"SELECT count(*) FROM ({some}) AS found", term)[0][0] == _MANY:
            return f"EXISTS (SELECT 1 FROM event_term WHERE {_TERM} AND event_term.event = event.id)"
    return f"id IN (SELECT event FROM event_term WHERE {_TERM})"


def _cursor(sort: str, event: dict[str, Any]) -> str:
    value = event["languages_count"] if sort == "languages" else event[sort]
    return base64.urlsafe_b64encode(json.dumps([sort, value, event["id"]]).encode()).decode()


def _position(query: EventQuery) -> tuple[int, str]:
    try:
        sort, at, after = json.loads(base64.urlsafe_b64decode(query.cursor.encode()))
        if sort == query.sort and type(at) is int and abs(at) < 1 << 63 and "\0" not in after:
            after.encode()
            return at, after
    except (ValueError, TypeError, AttributeError, binascii.Error):
        pass
    raise StoreError("the cursor is not one of this query; begin without a cursor")


def _event(row: Row) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(row[6])
    names = ("id", "first", "last", "size", "languages_count", "changed")
    return told | dict(zip(names, row[:6], strict=True))


def read_event(session: Session, name: str) -> dict[str, Any] | None:
    """An event by its id, or by an id it had before it joined another."""
    alias = session.one("SELECT event FROM alias WHERE id = ?", [name])
    row = session.one(f"SELECT {_COLUMNS} FROM event WHERE id = ?", [alias[0] if alias else name])
    return _event(row) if row else None


def event_clusters(session: Session, event: str) -> list[dict[str, Any]]:
    """The clusters of an event with the numbers of their articles, the largest first."""
    rows = session.run(
        "SELECT id, lang, first, last, size, data FROM cluster WHERE event = ? ORDER BY size DESC, id",
        [event],
    )
    names = ("id", "lang", "first", "last", "size")
    clusters = [json.loads(row[5]) | dict(zip(names, row[:5], strict=True)) for row in rows]
    for cluster in clusters:
        members = session.run(
            "SELECT article FROM member WHERE cluster = ? ORDER BY article", [cluster["id"]]
        )
        cluster["articles"] = [row[0] for row in members]
    return clusters


def count_articles(session: Session, events: Sequence[str]) -> dict[str, int]:
    """How many articles events have, with reprints, which the ``size`` of an event leaves out."""
    if not events:
        return {}
    marks = ", ".join("?" * len(events))
    rows = session.run(
        f"SELECT event, SUM(size) FROM cluster WHERE event IN ({marks}) GROUP BY event", list(events)
    )
    return dict.fromkeys(events, 0) | {row[0]: int(row[1]) for row in rows}


def cluster_links(session: Session, clusters: Sequence[int]) -> list[dict[str, Any]]:
    """Links that have an end among some clusters, the likeliest first."""
    if not clusters:
        return []
    marks = ", ".join("?" * len(clusters))
    rows = session.run(
        f"SELECT a, b, probability, data FROM link WHERE a IN ({marks}) OR b IN ({marks}) "
        "ORDER BY probability DESC, a, b",
        [*clusters, *clusters],
    )
    return [{"a": row[0], "b": row[1], "probability": row[2]} | json.loads(row[3]) for row in rows]


def changed_since(session: Session, line: int, limit: int = 100) -> list[dict[str, Any]]:
    """Events that changed after a line of the journal, in the order in which they did."""
    rows = session.run(
        f"SELECT {_COLUMNS} FROM event WHERE changed > ? ORDER BY changed, id LIMIT ?", [line, limit]
    )
    return [_event(row) for row in rows]
