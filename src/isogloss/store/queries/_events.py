"""Queries on the read model: search events page by page, and look up clusters, links and verdicts."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from isogloss.exceptions import StoreError
from isogloss.store.interface import Row, Session
from isogloss.store.queries._importance import MAX_HALF_LIFE_DAYS, importance_order, sparse_half_life_days

SORT_COLUMNS = ("importance", "last", "size", "languages", "changed")
MAX_EVENTS_PER_PAGE = 200
MAX_COUNTED_CHANGES = 1000
_INDEXED_COLUMNS = frozenset({"importance", "last", "changed"})

_COMMON_TERM_EVENTS = 300
"""A term of at least this many events is common: scanning events in page order finds enough of them soon."""

_TERM = "kind = ? AND term = ?"
_EVENT_COLUMNS = "id, first, last, size, languages, changed, sources, importance, created, data"

_NAMES = (
    *("id", "first", "last", "size", "languages_count", "changed"),
    *("sources_count", "importance", "created"),
)
"""Names of the columns but for ``data``, whose fields have some of the columns' names."""


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A search for events: filters, order and page.

    Parameters
    ----------
    since, until : int, optional
        Microseconds since 1970: events with articles in this period.
    terms : sequence of (str, str)
        Kind (``lang``, ``place`` or ``concept``) and value; events must have all of them.
    without : sequence of str
        Languages that events must have no article in.
    min_languages, min_size : int
        Minimum number of languages and articles.
    sources : sequence of str
        Names of sources; events must have an article of each.
    ids : sequence of str, optional
        Only events with these ids.
    changed_after : int, optional
        Only events that are new or changed since this journal line.
    sort : {'importance', 'last', 'size', 'languages', 'changed'}
        The column to sort by, the largest first.
    limit : int
        Maximum number of events per page.
    cursor : str
        The cursor that the previous page returned.
    """

    since: int | None = None
    until: int | None = None
    terms: Sequence[tuple[str, str]] = ()
    without: Sequence[str] = ()
    min_languages: int = 1
    min_size: int = 1
    sources: Sequence[str] = ()
    ids: Sequence[str] | None = None
    changed_after: int | None = None
    sort: str = "last"
    limit: int = 50
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class EventQueryResult:
    """One page of events, and the cursor of the next; an empty cursor on the last page."""

    events: list[dict[str, Any]] = field(default_factory=list)
    cursor: str = ""


def find_events(session: Session, query: EventQuery) -> EventQueryResult:
    """Return one page of the events that match a query.

    A cursor names the last event of its page, so that new events neither repeat nor hide any.
    """
    if query.sort not in SORT_COLUMNS:
        raise StoreError(f"sort is {query.sort!r}; expected one of {', '.join(SORT_COLUMNS)}")
    if not 1 <= query.limit <= MAX_EVENTS_PER_PAGE:
        raise StoreError(f"limit is {query.limit}; expected 1 to {MAX_EVENTS_PER_PAGE}")
    last = _decode_cursor(query) if query.cursor else None
    days = 1
    if query.sort == "importance":
        days = last.half_life_days if last else sparse_half_life_days(session)
    order = importance_order(days) if days > 1 else query.sort
    conditions, values = _conditions(session, query, order, last)
    rows = session.run(
        f"SELECT {order}, {_EVENT_COLUMNS} FROM event WHERE {' AND '.join(conditions)} "
        f"ORDER BY {order} DESC, id DESC LIMIT ?",
        [*values, query.limit + 1],
    )
    shown = rows[: query.limit]
    events = [_event(row[1:]) for row in shown]
    more = len(rows) > query.limit
    return EventQueryResult(events, _encode_cursor(query.sort, shown[-1], days) if more else "")


def _conditions(
    session: Session, query: EventQuery, order: str, last: _Cursor | None
) -> tuple[list[str], list[Any]]:
    conditions = ["languages >= ?", "size >= ?"]
    values: list[Any] = [query.min_languages, query.min_size]
    if query.since is not None:
        conditions.append("last >= ?")
        values.append(query.since)
    if query.until is not None:
        conditions.append("first <= ?")
        values.append(query.until)
    if query.changed_after is not None:
        conditions.append("changed > ?")
        values.append(query.changed_after)
    for term in (*query.terms, *(("source", source) for source in query.sources)):
        conditions.append(_term_condition(session, term, query.sort))
        values += term
    for lang in query.without:
        conditions.append(
            f"NOT EXISTS (SELECT 1 FROM event_term WHERE {_TERM} AND event_term.event = event.id)"
        )
        values += ["lang", lang]
    if query.ids is not None:
        conditions.append(f"id IN ({', '.join('?' * len(query.ids))})" if query.ids else "1 = 0")
        values += query.ids
    if last is not None:
        conditions.append(f"({order} < ? OR ({order} = ? AND id < ?))")
        values += [last.value, last.value, last.id]
    return conditions, values


def _term_condition(session: Session, term: tuple[str, str], column: str) -> str:
    """Return the SQL condition that an event has a term, in the form that is faster for this term."""
    if column in _INDEXED_COLUMNS:
        some = f"SELECT 1 FROM event_term WHERE {_TERM} LIMIT {_COMMON_TERM_EVENTS}"
        if session.run(f"SELECT count(*) FROM ({some}) AS found", term)[0][0] == _COMMON_TERM_EVENTS:
            return f"EXISTS (SELECT 1 FROM event_term WHERE {_TERM} AND event_term.event = event.id)"
    return f"id IN (SELECT event FROM event_term WHERE {_TERM})"


class _Cursor(NamedTuple):
    """The last event of a page: the value that pages are sorted by, and the id."""

    value: int
    id: str
    half_life_days: int = 1
    """The half-life of the importance, which must be that of the first page."""


def _encode_cursor(sort: str, row: Row, half_life_days: int) -> str:
    cursor = _Cursor(row[0], row[1], half_life_days)
    return base64.urlsafe_b64encode(json.dumps([sort, *cursor]).encode()).decode()


def _decode_cursor(query: EventQuery) -> _Cursor:
    try:
        sort, *rest = json.loads(base64.urlsafe_b64decode(query.cursor.encode()))
        found = _Cursor(*rest)
        numbers = (found.value, found.half_life_days)
        if (
            sort == query.sort
            and all(type(number) is int and abs(number) < 1 << 63 for number in numbers)
            and 1 <= found.half_life_days <= MAX_HALF_LIFE_DAYS
            and "\0" not in found.id
        ):
            found.id.encode()
            return found
    except (ValueError, TypeError, AttributeError, binascii.Error):
        pass
    raise StoreError("the cursor is invalid or belongs to another query; start without a cursor")


def _event(row: Row) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(row[-1])
    return data | dict(zip(_NAMES, row[:-1], strict=True))


def count_new_and_changed(session: Session, line: int) -> tuple[int, int]:
    """Count the events that are new since a journal line, and older ones that have changed since then.

    At most :data:`MAX_COUNTED_CHANGES` are counted, those that changed last.
    """
    row = session.one(
        "SELECT count(*), coalesce(sum(CASE WHEN created > ? THEN 1 ELSE 0 END), 0) FROM "
        "(SELECT created FROM event WHERE changed > ? ORDER BY changed DESC, id DESC LIMIT ?) AS found",
        [line, line, MAX_COUNTED_CHANGES],
    )
    found, new = row or (0, 0)
    return int(new), int(found) - int(new)


def frequent_terms(session: Session, kind: str, events: Sequence[str], limit: int) -> dict[str, int]:
    """Return the terms of a kind that most of some events have, with the numbers of these events."""
    if not events:
        return {}
    marks = ", ".join("?" * len(events))
    rows = session.run(
        f"SELECT term, count(*) FROM event_term WHERE event IN ({marks}) AND kind = ? "
        "GROUP BY term ORDER BY count(*) DESC, term LIMIT ?",
        [*events, kind, limit],
    )
    return {str(term): int(count) for term, count in rows}


def read_event(session: Session, name: str) -> dict[str, Any] | None:
    """Return an event by its id, or by the id of an event that was merged into it."""
    alias = session.one("SELECT event FROM alias WHERE id = ?", [name])
    row = session.one(f"SELECT {_EVENT_COLUMNS} FROM event WHERE id = ?", [alias[0] if alias else name])
    return _event(row) if row else None


def event_title(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return the title of an event and its language: English, or the language with the most articles."""
    titles: dict[str, str] = event.get("title") or {"": ""}
    order = ["en", *event.get("languages", ()), *titles]
    lang = next(code for code in order if code in titles)
    return titles[lang], lang


def current_event_id(session: Session, name: str) -> str | None:
    """Return the id of an event by its current or a former id; None if there is no such event."""
    row = session.one(
        "SELECT id FROM event WHERE id = coalesce((SELECT event FROM alias WHERE id = ?), ?)", [name, name]
    )
    return str(row[0]) if row else None


def event_clusters(session: Session, event: str) -> list[dict[str, Any]]:
    """Return the clusters of an event with the numbers of their articles, the largest first."""
    columns = ("id", "lang", "first", "last", "size")
    rows = session.run(
        f"SELECT {', '.join(columns)}, data FROM cluster WHERE event = ? ORDER BY size DESC, id", [event]
    )
    return [_cluster(session, columns, row) for row in rows]


def read_cluster(session: Session, number: int) -> dict[str, Any] | None:
    """Return a cluster with the numbers of its articles."""
    columns = ("id", "lang", "event", "first", "last", "size")
    row = session.one(f"SELECT {', '.join(columns)}, data FROM cluster WHERE id = ?", [number])
    return _cluster(session, columns, row) if row else None


def _cluster(session: Session, columns: Sequence[str], row: Row) -> dict[str, Any]:
    cluster: dict[str, Any] = json.loads(row[-1]) | dict(zip(columns, row[:-1], strict=True))
    members = session.run("SELECT article FROM member WHERE cluster = ? ORDER BY article", [cluster["id"]])
    cluster["articles"] = [article for (article,) in members]
    return cluster


def clusters_exist(session: Session, *numbers: int) -> bool:
    """Return whether all of these clusters exist."""
    return all(session.one("SELECT 1 FROM cluster WHERE id = ?", [number]) for number in numbers)


def locate_article(session: Session, number: int) -> tuple[int, str] | None:
    """Return the cluster and the event of an article."""
    row = session.one(
        "SELECT c.id, c.event FROM member m JOIN cluster c ON c.id = m.cluster WHERE m.article = ?",
        [number],
    )
    return (int(row[0]), str(row[1])) if row else None


def events_of_articles(session: Session, numbers: Sequence[int]) -> dict[int, str]:
    """Return the event of each article that is in one."""
    if not numbers:
        return {}
    marks = ", ".join("?" * len(numbers))
    rows = session.run(
        "SELECT m.article, c.event FROM member m JOIN cluster c ON c.id = m.cluster "
        f"WHERE c.event <> '' AND m.article IN ({marks})",
        list(numbers),
    )
    return {int(article): str(event) for article, event in rows}


def event_languages(session: Session) -> list[str]:
    """Return the languages of all events."""
    return _distinct(session, "term", "event_term WHERE kind = 'lang'")


def article_sources(session: Session, limit: int) -> list[str]:
    """Return names of sources, the first ones in the order of the database."""
    return _distinct(session, "source", "article WHERE source <> ''", limit)


def _distinct(session: Session, column: str, rows: str, limit: int = 1000) -> list[str]:
    """Return the values of an indexed column, skipping from each to the next."""
    found = session.run(
        f"WITH RECURSIVE value (it) AS (SELECT min({column}) FROM {rows} UNION ALL "
        f"SELECT (SELECT min({column}) FROM {rows} AND {column} > value.it) FROM value "
        f"WHERE value.it IS NOT NULL) SELECT it FROM value WHERE it IS NOT NULL LIMIT ?",
        [limit],
    )
    return sorted(str(row[0]) for row in found)


def event_ids(session: Session) -> set[str]:
    """Return the ids of all events."""
    return {str(row[0]) for row in session.run("SELECT id FROM event")}


def count_articles(session: Session, events: Sequence[str]) -> dict[str, int]:
    """Count the articles of events, including reprints, which the ``size`` of an event leaves out."""
    if not events:
        return {}
    marks = ", ".join("?" * len(events))
    rows = session.run(
        f"SELECT event, SUM(size) FROM cluster WHERE event IN ({marks}) GROUP BY event", list(events)
    )
    return dict.fromkeys(events, 0) | {row[0]: int(row[1]) for row in rows}


def cluster_links(session: Session, clusters: Sequence[int]) -> list[dict[str, Any]]:
    """Return the links of clusters, the most probable first."""
    if not clusters:
        return []
    marks = ", ".join("?" * len(clusters))
    rows = session.run(
        f"SELECT a, b, probability, data FROM link WHERE a IN ({marks}) OR b IN ({marks}) "
        "ORDER BY probability DESC, a, b",
        [*clusters, *clusters],
    )
    return [{"a": row[0], "b": row[1], "probability": row[2]} | json.loads(row[3]) for row in rows]


def read_link(session: Session, a: int, b: int) -> dict[str, Any] | None:
    """Return the link of two clusters, given in either order."""
    row = session.one(
        "SELECT a, b, probability, data FROM link WHERE a = ? AND b = ?", [min(a, b), max(a, b)]
    )
    return {**json.loads(row[3]), "a": row[0], "b": row[1], "probability": row[2]} if row else None


def add_verdict(
    session: Session, a: int, b: int, *, same: bool, note: str, received: int
) -> tuple[int, int, int]:
    """Save a user's verdict on a pair of clusters; return its number and an article of each cluster.

    The verdict is about the stories of these articles, because cluster ids may change in a rebuild.
    """
    one, other = min(a, b), max(a, b)
    article = "(SELECT min(article) FROM member WHERE cluster = ?)"
    ((number, first, second),) = session.run(
        "INSERT INTO verdict (a, b, same, note, received, article_a, article_b) "
        f"VALUES (?, ?, ?, ?, ?, {article}, {article}) RETURNING seq, article_a, article_b",
        [one, other, int(same), note.replace("\0", " "), received, one, other],
    )
    return int(number), int(first), int(second)


def read_verdicts(session: Session) -> list[dict[str, Any]]:
    """Return all verdicts with the present clusters of the articles that were judged, the oldest first.

    Each has ``seq``, ``same``, ``received``, ``articles``, ``clusters`` (None where an article is no longer
    stored) and ``features``, those of the link between the clusters (None if they are not linked).
    """
    rows = session.run(
        "SELECT v.seq, v.same, v.received, v.article_a, v.article_b, m.cluster, n.cluster, l.data "
        "FROM verdict v LEFT JOIN member m ON m.article = v.article_a "
        "LEFT JOIN member n ON n.article = v.article_b "
        "LEFT JOIN link l ON (l.a = m.cluster AND l.b = n.cluster) OR (l.a = n.cluster AND l.b = m.cluster) "
        "ORDER BY v.seq"
    )
    return [
        {
            "seq": seq,
            "same": bool(same),
            "received": received,
            "articles": (one, other),
            "clusters": (a, b),
            "features": json.loads(data)["features"] if data else None,
        }
        for seq, same, received, one, other, a, b, data in rows
    ]


def changed_since(session: Session, line: int, limit: int = 100) -> list[dict[str, Any]]:
    """Return the events that changed after a journal line, in the order of their changes."""
    rows = session.run(
        f"SELECT {_EVENT_COLUMNS} FROM event WHERE changed > ? ORDER BY changed, id LIMIT ?", [line, limit]
    )
    return [_event(row) for row in rows]
