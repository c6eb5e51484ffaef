"""Clusters, links and events: what the stream has made of the journal, up to a line of it.

One update is one transaction, together with how far it goes. Whoever starts again therefore goes on where the
tables stand, and the tables can be made anew from the journal at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isogloss.exceptions import StoreError
from isogloss.store.database import Session

__all__ = [
    "Changeset",
    "ClusterRow",
    "EventRow",
    "LinkRow",
    "Update",
    "apply_update",
    "clear_projection",
    "delete_prepared",
    "position",
    "statements",
]

KEPT_SNAPSHOTS = 2

PUT_PROGRESS = "INSERT INTO progress VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq"
"""Writes down how far something has come."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster as the tables hold it; times are microseconds since 1970, members numbers of articles.

    ``joined`` are the members that the tables do not have in this cluster yet; all of them where it is None.
    """

    id: int
    lang: str
    event: str
    first: int
    last: int
    members: Sequence[int]
    data: Mapping[str, Any] = field(default_factory=dict)
    joined: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class LinkRow:
    """Two clusters of different languages, how likely they are one event, and why; a text is JSON."""

    a: int
    b: int
    probability: float
    data: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as the tables hold it; ``terms`` are what it can be found by: kind and value.

    ``found_alike`` says that the tables have its languages and terms already.
    """

    id: str
    first: int
    last: int
    size: int
    languages: Sequence[str]
    terms: Sequence[tuple[str, str]] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    found_alike: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """Everything that changed between two lines of the journal.

    Attributes
    ----------
    before, after : int
        The line that the tables stand at, and the one that they will stand at.
    clusters, links, events : sequence
        What is new or changed, whole.
    gone_clusters, gone_events : sequence
        What is no more.
    relinked : sequence of int
        Clusters of which all links are told; those that they had before are no more.
    aliases : sequence of (str, str)
        Ids of events that went into others: old and new.
    kept : sequence of (str, int, bytes)
        Parts of a state of the stream, to start again from: their names, and the line that it is of;
        ``events`` is the name of the last one.
    dropped : sequence of (str, int)
        Names and lines of parts of older states.
    begun : int
        The last line whose article the worker prepares itself; 0 if that is not known.
    tallies : mapping of str to int
        What is added to counts that are kept.
    """

    before: int
    after: int
    clusters: Sequence[ClusterRow] = ()
    links: Sequence[LinkRow] = ()
    events: Sequence[EventRow] = ()
    gone_clusters: Sequence[int] = ()
    relinked: Sequence[int] = ()
    gone_events: Sequence[str] = ()
    aliases: Sequence[tuple[str, str]] = ()
    kept: Sequence[tuple[str, int, bytes]] = ()
    dropped: Sequence[tuple[str, int]] = ()
    begun: int = 0
    tallies: Mapping[str, int] = field(default_factory=dict)


Statement = tuple[str, list[Sequence[Any]]]
"""A statement, and the values of each time that it is run."""


@dataclass(frozen=True, slots=True)
class Changeset:
    """An update as statements, so that the transaction that runs them does nothing else."""

    before: int
    after: int
    statements: Sequence[Statement]


def position(session: Session, name: str = "events") -> int:
    """The line of the journal that the tables stand at."""
    row = session.one("SELECT seq FROM progress WHERE name = ?", [name])
    return int(row[0]) if row else 0


def apply_update(session: Session, update: Update | Changeset) -> None:
    """Write an update; one that does not start where the tables stand is refused."""
    if isinstance(update, Update):
        update = statements(update)
    stands = position(session)
    if stands != update.before:
        raise StoreError(
            f"the update starts at line {update.before} of the journal and the tables stand at {stands}; "
            "another worker has been here: start again from the tables"
        )
    for sql, rows in update.statements:
        session.many(sql, rows)
    delete_prepared(session, update.after)


def delete_prepared(session: Session, line: int) -> None:
    """Delete what was prepared of articles up to a line; rows that somebody has locked go the next time."""
    session.run(
        "DELETE FROM prepared WHERE seq IN "
        f"(SELECT seq FROM prepared WHERE seq <= ? {session.skip_locked('prepared')})",
        [line],
    )


def statements(update: Update) -> Changeset:
    """What an update does, in order; nothing is run for what did not change."""
    found: list[Statement] = [
        *_remove(update),
        *_put_events(update),
        *_put_clusters(update.clusters),
        (
            "INSERT INTO link VALUES (?, ?, ?, ?) ON CONFLICT (a, b) DO UPDATE SET "
            "probability = excluded.probability, data = excluded.data",
            [
                (min(row.a, row.b), max(row.a, row.b), row.probability, _json(row.data))
                for row in update.links
            ],
        ),
        (
            PUT_PROGRESS,
            [("events", update.after), *([("begun", update.begun)] if update.begun else ())],
        ),
        (
            "INSERT INTO tally VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
            "count = tally.count + excluded.count",
            [(name, n) for name, n in sorted(update.tallies.items()) if n],
        ),
        (
            "INSERT INTO snapshot VALUES (?, ?, ?) "
            "ON CONFLICT (name, seq) DO UPDATE SET data = excluded.data",
            list(update.kept),
        ),
        ("DELETE FROM snapshot WHERE name = ? AND seq = ?", list(update.dropped)),
    ]
    return Changeset(update.before, update.after, [(sql, rows) for sql, rows in found if rows])


def clear_projection(session: Session) -> None:
    """Forget clusters, links and events, so that they can be made anew from the journal."""
    for table in ("member", "link", "event_term", "cluster", "event", "alias", "progress", "snapshot"):
        session.run(f"DELETE FROM {table}")


def _remove(update: Update) -> Iterable[Statement]:
    unlinked = [(number,) for number in sorted({*update.gone_clusters, *update.relinked})]
    yield "DELETE FROM link WHERE a = ?", list[Sequence[Any]](unlinked)
    yield "DELETE FROM link WHERE b = ?", list[Sequence[Any]](unlinked)
    yield "DELETE FROM cluster WHERE id = ?", [(number,) for number in update.gone_clusters]
    yield "DELETE FROM event WHERE id = ?", [(each,) for each in update.gone_events]


def _put_events(update: Update) -> Iterable[Statement]:
    yield (
        "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "first = excluded.first, last = excluded.last, size = excluded.size, languages = excluded.languages, "
        "changed = excluded.changed, data = excluded.data",
        [
            (row.id, row.first, row.last, row.size, len(row.languages), update.after, _json(row.data))
            for row in update.events
        ],
    )
    told = [row for row in update.events if not row.found_alike]
    yield "DELETE FROM event_term WHERE event = ?", [(row.id,) for row in told]
    yield "INSERT INTO event_term VALUES (?, ?, ?)", _terms(told)
    yield (
        "INSERT INTO alias VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET event = excluded.event",
        list(update.aliases),
    )
    yield "UPDATE alias SET event = ? WHERE event = ?", [(new, old) for old, new in update.aliases]


def _terms(events: Iterable[EventRow]) -> list[Sequence[Any]]:
    found: list[Sequence[Any]] = []
    for row in events:
        terms = {*row.terms, *(("lang", lang) for lang in row.languages)}
        found += [(row.id, kind, term) for kind, term in sorted(terms)]
    return found


def _put_clusters(clusters: Sequence[ClusterRow]) -> Iterable[Statement]:
    """Clusters and their members; an article that was pruned in the meantime is a member of none."""
    yield (
        "INSERT INTO cluster VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "event = excluded.event, first = excluded.first, last = excluded.last, size = excluded.size, "
        "data = excluded.data",
        [
            (row.id, row.lang, row.event, row.first, row.last, len(row.members), _json(row.data))
            for row in clusters
        ],
    )
    yield (
        "INSERT INTO member SELECT seq, CAST(? AS BIGINT) FROM article WHERE seq = ? "
        "ON CONFLICT (article) DO UPDATE SET cluster = excluded.cluster",
        [
            (row.id, article)
            for row in clusters
            for article in (row.members if row.joined is None else row.joined)
        ],
    )


def read_snapshot(session: Session) -> tuple[int, bytes] | None:
    """The newest state that is whole, with its line of the journal."""
    row = session.one("SELECT seq, data FROM snapshot WHERE name = 'events' ORDER BY seq DESC LIMIT 1")
    if row is None or len(row[1]):
        return (int(row[0]), bytes(row[1])) if row else None
    parts = session.run(
        "SELECT data FROM snapshot WHERE seq = ? AND name <> 'events' ORDER BY name", [row[0]]
    )
    return int(row[0]), b"".join(bytes(data) for (data,) in parts)


def old_parts(session: Session) -> list[tuple[str, int]]:
    """Parts of states that are not among the newest whole ones."""
    rows = session.run(
        "SELECT name, seq FROM snapshot WHERE seq NOT IN "
        "(SELECT seq FROM snapshot WHERE name = 'events' ORDER BY seq DESC LIMIT ?) ORDER BY seq, name",
        [KEPT_SNAPSHOTS],
    )
    return [(str(name), int(seq)) for name, seq in rows]


def _json(value: Mapping[str, Any] | str) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
