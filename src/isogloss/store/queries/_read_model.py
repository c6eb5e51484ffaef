"""Writes to the read model (the tables of clusters, links and events) and to checkpoints.

The read model is a projection of the journal up to one line. An update and its line are one transaction, so a
worker that restarts continues where the tables stand, and the tables can be rebuilt from the journal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from isogloss.exceptions import ModelFileError, StoreError
from isogloss.store.interface import Session
from isogloss.store.queries._alerts import FOLLOW_ALIASES, QUEUE_EVENT
from isogloss.store.queries._importance import importance_without_sources, source_statements
from isogloss.store.queries._points import Point
from isogloss.store.queries._texts import DELETE_TEXT, PUT_TEXT, ArticleText, put_text_rows

MAX_CHECKPOINTS = 2
"""Older checkpoints are deleted."""

CHECKPOINT_HEADER = "events"
"""The name of the part of a checkpoint that is written last: its header."""

CHECKPOINT_FORMAT = 1
"""The version of that header."""

LAST_CLUSTER_ID, LAST_EVENT_ID, LINES_READ = "last_cluster", "last_event", "lines"
"""Names of progress: the highest cluster and event ids ever used, and the number of journal lines read."""

REBUILD_PROGRESS = "rebuilt"
"""The name of progress of a rebuild: the line that its tables stand at."""

REBUILD_REQUESTED = "rebuild_wanted"
"""The name of progress that is 1 while a rebuild is to be done."""

LINE_STARTED = "at"
"""The name of progress that holds the line which a worker has started alone."""

GENERATION = "generation"
"""The name of progress that counts deletions on request; a worker with an older generation must restart."""

LAST_COMMIT = "committed"
"""The name of progress that holds the time of the last update, by the database's clock."""

UPSERT_PROGRESS = "INSERT INTO progress VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq"


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster; times are microseconds since 1970, members are article numbers.

    ``joined`` are the members that the tables do not have in this cluster yet; None means all.
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
    """A link: two clusters of different languages, the probability that they are one event, and why.

    ``data`` may be JSON text.
    """

    a: int
    b: int
    probability: float
    data: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event; ``terms`` (kind and value) are what it can be found by.

    ``terms_unchanged`` means that the tables already have its languages and terms.
    """

    id: str
    first: int
    last: int
    size: int
    languages: Sequence[str]
    terms: Sequence[tuple[str, str]] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    terms_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """The changes of the read model between two journal lines.

    Attributes
    ----------
    before, after : int
        The line that the tables stand at, and the line that they will stand at.
    clusters, links, events : sequence
        New and changed rows, complete.
    removed_clusters, removed_events : sequence
        Ids of removed clusters and events.
    relinked : sequence of int
        Clusters whose links are all given; their other links are removed.
    aliases : sequence of (str, str)
        Old and new ids of events that were merged into others.
    checkpoint_parts : sequence of (str, int, bytes)
        Parts of a checkpoint: name, journal line and data. The last one is :data:`CHECKPOINT_HEADER`.
    stale_parts : sequence of (str, int)
        Names and lines of checkpoint parts to delete.
    points : sequence of Point
        Points of articles in the space of the model ``point_model``, instead of any that they had; an empty
        vector for articles without one.
    point_model : str
        The fingerprint of that model.
    texts : sequence of ArticleText
        Search terms of articles, instead of any that they had.
    text_version : int
        The version of these search terms.
    recovered : sequence of int
        Lines that failed before and succeeded now; their failed attempts are deleted.
    progress : mapping of str to int
        Further progress by name.
    generation : int or None
        The required :data:`GENERATION`, if any.
    """

    before: int
    after: int
    clusters: Sequence[ClusterRow] = ()
    links: Sequence[LinkRow] = ()
    events: Sequence[EventRow] = ()
    removed_clusters: Sequence[int] = ()
    relinked: Sequence[int] = ()
    removed_events: Sequence[str] = ()
    aliases: Sequence[tuple[str, str]] = ()
    checkpoint_parts: Sequence[tuple[str, int, bytes]] = ()
    stale_parts: Sequence[tuple[str, int]] = ()
    points: Sequence[Point] = ()
    point_model: str = ""
    texts: Sequence[ArticleText] = ()
    text_version: int = 0
    recovered: Sequence[int] = ()
    progress: Mapping[str, int] = field(default_factory=dict)
    generation: int | None = None


Statement = tuple[str, Sequence[Sequence[Any]]]
"""A statement and its rows of values."""


@dataclass(frozen=True, slots=True)
class CompiledUpdate:
    """An update as SQL statements, so that the transaction does nothing but run them.

    ``progress_name`` names the progress that it advances from ``before`` to ``after``.
    """

    before: int
    after: int
    statements: Sequence[Statement]
    generation: int | None = None
    progress_name: str = "events"


def read_position(session: Session, name: str = "events") -> int:
    """Return the journal line that the read model stands at, or other progress by its name; 0 if none."""
    row = session.one("SELECT seq FROM progress WHERE name = ?", [name])
    return int(row[0]) if row else 0


def read_work_position(session: Session) -> int:
    """Return the line up to which events are made: those of a rebuild as long as one is to be done."""
    return read_position(session, REBUILD_PROGRESS if read_position(session, REBUILD_REQUESTED) else "events")


def apply_update(session: Session, update: Update | CompiledUpdate) -> None:
    """Write an update; refuse one that does not start where the tables stand."""
    if isinstance(update, Update):
        update = compile_update(update)
    stands = read_position(session, update.progress_name)
    if stands != update.before:
        raise StoreError(
            f"the update starts at journal line {update.before}, but the tables stand at line {stands}: "
            "another worker has written to them; restart from the tables"
        )
    if update.generation is not None and update.generation != read_position(session, GENERATION):
        raise StoreError("articles were deleted while events were made of them; restart from the tables")
    for sql, rows in update.statements:
        session.run_many(sql, rows)
    session.run(
        f"INSERT INTO progress VALUES (?, {session.now_sql}) "
        "ON CONFLICT (name) DO UPDATE SET seq = excluded.seq",
        [LAST_COMMIT],
    )


def compile_update(update: Update, *, rebuilt: bool = False) -> CompiledUpdate:
    """Turn an update into SQL statements, without those that have no rows.

    With ``rebuilt`` they are for the tables of a rebuild, see :mod:`~isogloss.store.queries._rebuild`, which
    have no aliases, and no progress except their line.
    """
    prefix, name = ("rebuilt_", REBUILD_PROGRESS) if rebuilt else ("", "events")
    found: list[Statement] = [
        *_remove(update, prefix),
        *_put_events(update, prefix),
        *(() if rebuilt else (*_put_aliases(update), *_queue_alerts(update))),
        *_put_clusters(update.clusters, prefix),
        *_put_sources(update, prefix),
        (
            f"INSERT INTO {prefix}link VALUES (?, ?, ?, ?) ON CONFLICT (a, b) DO UPDATE SET "
            "probability = excluded.probability, data = excluded.data",
            [
                (min(row.a, row.b), max(row.a, row.b), row.probability, _json(row.data))
                for row in update.links
            ],
        ),
        ("DELETE FROM article_point WHERE article = ?", [(point.article,) for point in update.points]),
        (
            "INSERT INTO article_point (article, model, lang, vector) "
            "SELECT seq, CAST(? AS TEXT), CAST(? AS TEXT), ? FROM article WHERE seq = ?",
            [
                (update.point_model, point.lang, point.vector.astype("<f4").tobytes(), point.article)
                for point in update.points
            ],
        ),
        (DELETE_TEXT, [(text.article,) for text in update.texts]),
        (PUT_TEXT, put_text_rows(update.texts, update.text_version)),
        (UPSERT_PROGRESS, [(name, update.after), *sorted(update.progress.items())]),
        (
            "INSERT INTO snapshot VALUES (?, ?, ?) "
            "ON CONFLICT (name, seq) DO UPDATE SET data = excluded.data",
            list(update.checkpoint_parts),
        ),
        ("DELETE FROM snapshot WHERE name = ? AND seq = ?", list(update.stale_parts)),
        (
            "DELETE FROM attempt WHERE seq = ? AND quarantined = 0",
            [(line,) for line in sorted(update.recovered)],
        ),
    ]
    compiled = [(sql, rows) for sql, rows in found if rows]
    return CompiledUpdate(update.before, update.after, compiled, update.generation, name)


def _remove(update: Update, prefix: str) -> Iterable[Statement]:
    unlinked = [(number,) for number in sorted({*update.removed_clusters, *update.relinked})]
    yield f"DELETE FROM {prefix}link WHERE a = ?", unlinked
    yield f"DELETE FROM {prefix}link WHERE b = ?", unlinked
    clusters = [(number,) for number in update.removed_clusters]
    events = [(each,) for each in update.removed_events]
    if prefix:  # the tables of a rebuild have no foreign keys that would do this
        yield f"DELETE FROM {prefix}member WHERE cluster = ?", clusters
        yield f"DELETE FROM {prefix}event_term WHERE event = ?", events
    yield f"DELETE FROM {prefix}cluster WHERE id = ?", clusters
    yield f"DELETE FROM {prefix}event WHERE id = ?", events


def _put_events(update: Update, prefix: str) -> Iterable[Statement]:
    yield (
        f"INSERT INTO {prefix}event VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "first = excluded.first, last = excluded.last, size = excluded.size, languages = excluded.languages, "
        "changed = excluded.changed, data = excluded.data, importance = excluded.importance",
        [
            (
                *(row.id, row.first, row.last, row.size, len(row.languages), update.after, _json(row.data)),
                *(_importance(row), update.after),
            )
            for row in update.events
        ],
    )
    retermed = [row for row in update.events if not row.terms_unchanged]
    yield (
        f"DELETE FROM {prefix}event_term WHERE event = ? AND kind <> 'source'",
        [(row.id,) for row in retermed],
    )
    yield f"INSERT INTO {prefix}event_term VALUES (?, ?, ?)", _terms(retermed)


def _put_aliases(update: Update) -> Iterable[Statement]:
    yield (
        "INSERT INTO alias VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET event = excluded.event",
        list(update.aliases),
    )
    yield "UPDATE alias SET event = ? WHERE event = ?", [(new, old) for old, new in update.aliases]
    yield FOLLOW_ALIASES, [()] if update.aliases else []


def _queue_alerts(update: Update) -> Iterable[Statement]:
    yield QUEUE_EVENT, [(update.after, row.id) for row in update.events]


def _terms(events: Iterable[EventRow]) -> list[Sequence[Any]]:
    found: list[Sequence[Any]] = []
    for row in events:
        terms = {*row.terms, *(("lang", lang) for lang in row.languages)}
        found += [(row.id, kind, term) for kind, term in sorted(terms)]
    return found


def _importance(row: EventRow) -> int:
    return importance_without_sources(len(row.languages), row.size, row.last, row.data.get("timeline") or ())


def _put_sources(update: Update, prefix: str) -> list[Statement]:
    """Refresh the sources of events whose clusters may have got articles."""
    events = {row.id for row in update.events}
    return source_statements(sorted(events), {row.event for row in update.clusters} - events, prefix)


def _put_clusters(clusters: Sequence[ClusterRow], prefix: str) -> Iterable[Statement]:
    """Upsert clusters and their members; leave out articles that were pruned in the meantime."""
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
        f"INSERT INTO {prefix}member SELECT seq, CAST(? AS BIGINT), source FROM article WHERE seq = ? "
        "ON CONFLICT (article) DO UPDATE SET cluster = excluded.cluster",
        [
            (row.id, article)
            for row in clusters
            for article in (row.members if row.joined is None else row.joined)
        ],
    )


class StoredCheckpoint(NamedTuple):
    """A checkpoint of the stream: its journal line, its data and the number of lines read up to it.

    ``lines`` is None for checkpoints of versions that did not count lines.
    """

    line: int
    data: bytes
    lines: int | None


def checkpoint_header(line: int, lines: int | None, size: int, digest: str) -> bytes:
    """Format the header of a checkpoint, its last part, which makes it complete."""
    header = {"format": CHECKPOINT_FORMAT, "line": line, "lines": lines, "bytes": size, "blake2b": digest}
    return json.dumps(header, sort_keys=True).encode()


def checkpoint_lines(session: Session) -> list[int]:
    """Return the lines of complete checkpoints, the newest first."""
    rows = session.run("SELECT seq FROM snapshot WHERE name = ? ORDER BY seq DESC", [CHECKPOINT_HEADER])
    return [int(row[0]) for row in rows]


def read_checkpoint(session: Session, line: int) -> StoredCheckpoint:
    """Read the checkpoint of a journal line.

    Raises ModelFileError if the checkpoint is damaged, or of another version of isogloss.
    """
    parts: dict[str, bytes] = dict(session.run("SELECT name, data FROM snapshot WHERE seq = ?", [line]))
    last = bytes(parts.pop(CHECKPOINT_HEADER))
    data = b"".join(bytes(parts[name]) for name in sorted(parts))
    if not parts and not last.startswith(b'{"'):  # the first versions wrote neither header nor parts
        return StoredCheckpoint(line, last, None)
    if not last:
        return StoredCheckpoint(line, data, None)
    try:
        header = json.loads(last)
        expected = {name: header[name] for name in ("format", "line", "lines", "bytes", "blake2b")}
    except (ValueError, TypeError, KeyError) as error:
        raise ModelFileError(
            f"the header of the checkpoint of line {line} cannot be read ({error})"
        ) from error
    if expected["format"] != CHECKPOINT_FORMAT:
        raise ModelFileError(
            f"the checkpoint of line {line} has format {expected['format']}; expected {CHECKPOINT_FORMAT}"
        )
    found = {"line": line, "bytes": len(data), "blake2b": hashlib.blake2b(data).hexdigest()}
    wrong = [name for name, value in found.items() if expected[name] != value]
    if wrong:
        raise ModelFileError(
            f"the checkpoint of line {line} is damaged: {', '.join(wrong)} differ from its header"
        )
    return StoredCheckpoint(line, data, expected["lines"])


def stale_checkpoint_parts(session: Session) -> list[tuple[str, int]]:
    """Return the parts of checkpoints that are not among the newest complete ones."""
    rows = session.run(
        "SELECT name, seq FROM snapshot WHERE seq NOT IN "
        "(SELECT seq FROM snapshot WHERE name = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq, name",
        [CHECKPOINT_HEADER, MAX_CHECKPOINTS],
    )
    return [(str(name), int(seq)) for name, seq in rows]


def _json(value: Mapping[str, Any] | str) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
