"""Clusters, links and events: what the stream has made of the journal, up to a line of it.

One update is one transaction, together with how far it goes. Whoever starts again therefore goes on where the
tables stand, and the tables can be made anew from the journal at any time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from isogloss.exceptions import ModelFileError, StoreError
from isogloss.store.interface import Session

__all__ = [
    "Changeset",
    "ClusterRow",
    "EventRow",
    "LinkRow",
    "SavedState",
    "Update",
    "apply_update",
    "position",
    "read_state",
    "state_header",
    "state_lines",
    "statements",
]

KEPT_SNAPSHOTS = 2

LAST_PART = "events"
"""The name of the part of a saved state that is written last: its header."""

STATE_FORMAT = 1
"""The version of that header."""

LAST_CLUSTER, LAST_EVENT, LINES = "last_cluster", "last_event", "lines"
"""Progress of the worker: the highest ids that were ever given to clusters and events, and how many lines of
the journal it has read."""

REBUILT = "rebuilt"
"""Progress of a rebuild: the line that its tables stand at."""

GENERATION = "generation"
"""Progress that counts how often articles were deleted on request: a worker that read one starts again."""

COMMITTED = "committed"
"""The row of ``progress`` with the time of the last update, by the clock of the database."""

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
    recovered : sequence of int
        Lines that failed before and succeeded now; their failed attempts are forgotten.
    marks : mapping of str to int
        Further progress: how far something has come.
    generation : int or None
        What :data:`GENERATION` must be, if given.
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
    recovered: Sequence[int] = ()
    marks: Mapping[str, int] = field(default_factory=dict)
    generation: int | None = None


Statement = tuple[str, Sequence[Sequence[Any]]]
"""A statement, and the values of each time that it is run."""


@dataclass(frozen=True, slots=True)
class Changeset:
    """An update as statements, so that the transaction that runs them does nothing else."""

    before: int
    after: int
    statements: Sequence[Statement]
    generation: int | None = None
    progress: str = "events"


def position(session: Session, name: str = "events") -> int:
    """The line of the journal that the tables stand at."""
    row = session.one("SELECT seq FROM progress WHERE name = ?", [name])
    return int(row[0]) if row else 0


def apply_update(session: Session, update: Update | Changeset) -> None:
    """Write an update; one that does not start where the tables stand is refused."""
    if isinstance(update, Update):
        update = statements(update)
    stands = position(session, update.progress)
    if stands != update.before:
        raise StoreError(
            f"the update starts at line {update.before} of the journal and the tables stand at {stands}; "
            "another worker has been here: start again from the tables"
        )
    if update.generation is not None and update.generation != position(session, GENERATION):
        raise StoreError("articles were deleted while events were made of them: start again from the tables")
    for sql, rows in update.statements:
        session.many(sql, rows)
    session.run(
        f"INSERT INTO progress VALUES (?, {session.clock}) "
        "ON CONFLICT (name) DO UPDATE SET seq = excluded.seq",
        [COMMITTED],
    )


def statements(update: Update, *, rebuilt: bool = False) -> Changeset:
    """What an update does, in order; nothing is run for what did not change.

    Parameters
    ----------
    update : Update
        The update.
    rebuilt : bool
        Whether to write to the tables of a rebuild, see :mod:`~isogloss.store.queries._rebuild`, which have neither
        aliases nor progress of their own but for the line.
    """
    prefix, name = ("rebuilt_", REBUILT) if rebuilt else ("", "events")
    found: list[Statement] = [
        *_remove(update, prefix),
        *_put_events(update, prefix),
        *(() if rebuilt else _put_aliases(update)),
        *_put_clusters(update.clusters, prefix),
        (
            f"INSERT INTO {prefix}link VALUES (?, ?, ?, ?) ON CONFLICT (a, b) DO UPDATE SET "
            "probability = excluded.probability, data = excluded.data",
            [
                (min(row.a, row.b), max(row.a, row.b), row.probability, _json(row.data))
                for row in update.links
            ],
        ),
        (PUT_PROGRESS, [(name, update.after), *sorted(update.marks.items())]),
        (
            "INSERT INTO snapshot VALUES (?, ?, ?) "
            "ON CONFLICT (name, seq) DO UPDATE SET data = excluded.data",
            list(update.kept),
        ),
        ("DELETE FROM snapshot WHERE name = ? AND seq = ?", list(update.dropped)),
        (
            "DELETE FROM attempt WHERE seq = ? AND quarantined = 0",
            [(line,) for line in sorted(update.recovered)],
        ),
    ]
    told = [(sql, rows) for sql, rows in found if rows]
    return Changeset(update.before, update.after, told, update.generation, name)


def _remove(update: Update, prefix: str) -> Iterable[Statement]:
    unlinked = [(number,) for number in sorted({*update.gone_clusters, *update.relinked})]
    yield f"DELETE FROM {prefix}link WHERE a = ?", unlinked
    yield f"DELETE FROM {prefix}link WHERE b = ?", unlinked
    clusters = [(number,) for number in update.gone_clusters]
    events = [(each,) for each in update.gone_events]
    if prefix:  # the tables of a rebuild have no references, which would do this
        yield f"DELETE FROM {prefix}member WHERE cluster = ?", clusters
        yield f"DELETE FROM {prefix}event_term WHERE event = ?", events
    yield f"DELETE FROM {prefix}cluster WHERE id = ?", clusters
    yield f"DELETE FROM {prefix}event WHERE id = ?", events


def _put_events(update: Update, prefix: str) -> Iterable[Statement]:
    yield (
        f"INSERT INTO {prefix}event VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "first = excluded.first, last = excluded.last, size = excluded.size, languages = excluded.languages, "
        "changed = excluded.changed, data = excluded.data",
        [
            (row.id, row.first, row.last, row.size, len(row.languages), update.after, _json(row.data))
            for row in update.events
        ],
    )
    told = [row for row in update.events if not row.found_alike]
    yield f"DELETE FROM {prefix}event_term WHERE event = ?", [(row.id,) for row in told]
    yield f"INSERT INTO {prefix}event_term VALUES (?, ?, ?)", _terms(told)


def _put_aliases(update: Update) -> Iterable[Statement]:
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


def _put_clusters(clusters: Sequence[ClusterRow], prefix: str) -> Iterable[Statement]:
    """Clusters and their members; an article that was pruned in the meantime is a member of none."""
    yield (
        f"INSERT INTO {prefix}cluster VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "event = excluded.event, first = excluded.first, last = excluded.last, size = excluded.size, "
        "data = excluded.data",
        [
            (row.id, row.lang, row.event, row.first, row.last, len(row.members), _json(row.data))
            for row in clusters
        ],
    )
    yield (
        f"INSERT INTO {prefix}member SELECT seq, CAST(? AS BIGINT) FROM article WHERE seq = ? "
        "ON CONFLICT (article) DO UPDATE SET cluster = excluded.cluster",
        [
            (row.id, article)
            for row in clusters
            for article in (row.members if row.joined is None else row.joined)
        ],
    )


class SavedState(NamedTuple):
    """A saved state of the stream: its bytes, the line of the journal it is of, and how many lines that took.

    ``lines`` is None for states of versions that did not count lines.
    """

    line: int
    data: bytes
    lines: int | None


def state_header(line: int, lines: int | None, size: int, digest: str) -> bytes:
    """Describe a state: the last part of it, which makes it whole."""
    told = {"format": STATE_FORMAT, "line": line, "lines": lines, "bytes": size, "blake2b": digest}
    return json.dumps(told, sort_keys=True).encode()


def state_lines(session: Session) -> list[int]:
    """Return the lines of whole saved states, the newest first."""
    return [
        int(row[0])
        for row in session.run("SELECT seq FROM snapshot WHERE name = ? ORDER BY seq DESC", [LAST_PART])
    ]


def read_state(session: Session, line: int) -> SavedState:
    """Read the saved state of a line.

    Raises
    ------
    ModelFileError
        It is damaged, or of another version of isogloss.
    """
    parts: dict[str, bytes] = dict(session.run("SELECT name, data FROM snapshot WHERE seq = ?", [line]))
    last = bytes(parts.pop(LAST_PART))
    data = b"".join(bytes(parts[name]) for name in sorted(parts))
    if not parts and not last.startswith(b'{"'):  # states of the first versions have neither header nor parts
        return SavedState(line, last, None)
    if not last:
        return SavedState(line, data, None)
    try:
        header = json.loads(last)
        said = {name: header[name] for name in ("format", "line", "lines", "bytes", "blake2b")}
    except (ValueError, TypeError, KeyError) as error:
        raise ModelFileError(f"the header of the state of line {line} cannot be read ({error})") from error
    if said["format"] != STATE_FORMAT:
        raise ModelFileError(f"the state of line {line} has format {said['format']}, expected {STATE_FORMAT}")
    found = {"line": line, "bytes": len(data), "blake2b": hashlib.blake2b(data).hexdigest()}
    wrong = [name for name, value in found.items() if said[name] != value]
    if wrong:
        raise ModelFileError(
            f"the state of line {line} is damaged: {', '.join(wrong)} differ from its header"
        )
    return SavedState(line, data, said["lines"])


def old_parts(session: Session) -> list[tuple[str, int]]:
    """Parts of states that are not among the newest whole ones."""
    rows = session.run(
        "SELECT name, seq FROM snapshot WHERE seq NOT IN "
        "(SELECT seq FROM snapshot WHERE name = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq, name",
        [LAST_PART, KEPT_SNAPSHOTS],
    )
    return [(str(name), int(seq)) for name, seq in rows]


def _json(value: Mapping[str, Any] | str) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
