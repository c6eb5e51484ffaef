"""Rebuild the read model from the journal, beside the one that readers see.

A rebuild writes to its own tables, and one transaction swaps them in. Ids survive where a story is the same:
a cluster or event takes over the id of the old one with which it shares most articles. Others get new ids,
above all that were ever used, and old events that were merged into another become aliases of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isogloss.store.interface import Row, Session
from isogloss.store.queries._alerts import FOLLOW_ALIASES
from isogloss.store.queries._read_model import (
    LAST_CLUSTER_ID,
    LAST_EVENT_ID,
    LINE_STARTED,
    LINES_READ,
    REBUILD_PROGRESS,
    REBUILD_REQUESTED,
    UPSERT_PROGRESS,
    CompiledUpdate,
    LinkRow,
    Statement,
    Update,
    read_position,
)

CLUSTER_BASE, EVENT_BASE = "cluster_base", "event_base"
"""Names of progress: the highest ids before the last rebuild."""

READ_MODEL_TABLES = ("cluster", "member", "link", "event", "event_term")
"""The tables of the read model; those of a rebuild have the same names with the prefix ``rebuilt_``."""


@dataclass
class PublicIds:
    """The mapping from the stream's cluster and event numbers to the ids in the tables.

    A stream numbers from 1. The tables never reuse an id: after a rebuild, ids continue above all that were
    ever used, except where a story takes over its old id.

    Parameters
    ----------
    cluster_base, event_base : int
        Offsets that are added to numbers.
    clusters, events : dict of int to int
        Ids that were taken over, by number plus offset.

    Examples
    --------
    >>> ids = PublicIds(event_base=100, events={103: 7})
    >>> ids.cluster(5), ids.event(3), ids.event(4)
    (5, 7, 104)
    """

    cluster_base: int = 0
    event_base: int = 0
    clusters: Mapping[int, int] = field(default_factory=dict)
    events: Mapping[int, int] = field(default_factory=dict)

    def cluster(self, number: int) -> int:
        """Return the id of a cluster."""
        number += self.cluster_base
        return self.clusters.get(number, number)

    def event(self, number: int) -> int:
        """Return the id of an event."""
        number += self.event_base
        return self.events.get(number, number)

    def apply(self, update: Update) -> Update:
        """Replace the numbers in an update with ids."""
        if not (self.cluster_base or self.event_base or self.clusters or self.events):
            return update
        cluster, event = self.cluster, self._event_name
        return replace(
            update,
            clusters=[replace(row, id=cluster(row.id), event=event(row.event)) for row in update.clusters],
            links=[_link(cluster(row.a), cluster(row.b), row) for row in update.links],
            events=[replace(row, id=event(row.id)) for row in update.events],
            removed_clusters=[*map(cluster, update.removed_clusters)],
            relinked=[*map(cluster, update.relinked)],
            removed_events=[*map(event, update.removed_events)],
            aliases=[(event(old), event(new)) for old, new in update.aliases],
        )

    def _event_name(self, name: str) -> str:
        return f"e{self.event(int(name[1:]))}"


@dataclass(frozen=True)
class RebuildResult:
    """The outcome of a rebuild: a stream that has read the whole journal.

    Attributes
    ----------
    line, lines : int
        The last line that it read, and the number of lines.
    last_cluster, last_event : int
        The highest numbers that it used.
    clusters, events : collection of int
        The numbers that it may still change.
    checkpoint_part : (str, int, bytes)
        The header of its checkpoint, see :class:`~isogloss.store.Update`.
    generation : int
        See :class:`~isogloss.store.Update`.
    """

    line: int
    lines: int
    last_cluster: int
    last_event: int
    clusters: Collection[int]
    events: Collection[int]
    checkpoint_part: tuple[str, int, bytes]
    generation: int


def request_rebuild(session: Session) -> None:
    """Have the next worker rebuild the read model."""
    if not rebuild_requested(session):  # a line that was started before is none of the rebuild
        session.run("DELETE FROM progress WHERE name = ?", [LINE_STARTED])
    session.run(UPSERT_PROGRESS, [REBUILD_REQUESTED, 1])


def rebuild_requested(session: Session) -> bool:
    """Return whether the read model is to be rebuilt."""
    return read_position(session, REBUILD_REQUESTED) > 0


def public_ids(session: Session) -> PublicIds:
    """Read the mapping from numbers to ids."""
    taken: dict[str, dict[int, int]] = {"cluster": {}, "event": {}}
    for kind, number, known in session.run("SELECT kind, number, id FROM renamed"):
        taken[kind][number] = known
    bases = read_position(session, CLUSTER_BASE), read_position(session, EVENT_BASE)
    return PublicIds(*bases, taken["cluster"], taken["event"])


def begin_rebuild(session: Session) -> tuple[PublicIds, CompiledUpdate]:
    """Return the ids for a rebuild, and the update that empties its tables."""
    ids = PublicIds(read_position(session, LAST_CLUSTER_ID), read_position(session, LAST_EVENT_ID))
    empty: list[Statement] = [(f"DELETE FROM rebuilt_{table}", [()]) for table in READ_MODEL_TABLES]
    return ids, CompiledUpdate(
        read_position(session, REBUILD_PROGRESS),
        0,
        [*empty, (UPSERT_PROGRESS, [(REBUILD_PROGRESS, 0)])],
        progress_name=REBUILD_PROGRESS,
    )


def finish_rebuild(session: Session, ids: PublicIds, rebuilt: RebuildResult) -> CompiledUpdate:
    """Return the update that replaces the read model with the rebuilt tables; stories keep their ids."""
    clusters = _take_over(session.run(_SHARED_CLUSTERS))
    aliases: dict[str, str] = dict(session.run("SELECT id, event FROM alias"))
    shared = _shared_events(session, aliases)
    events = _take_over(shared)
    renamed = [
        *(("cluster", number, known) for number, known in sorted(clusters.items())),
        *(("event", number, known) for number, known in sorted(events.items())),
    ]
    alive = {
        "cluster": {number + ids.cluster_base for number in rebuilt.clusters},
        "event": {number + ids.event_base for number in rebuilt.events},
    }
    progress = {
        "events": rebuilt.line,
        LINES_READ: rebuilt.lines,
        LAST_CLUSTER_ID: ids.cluster_base + rebuilt.last_cluster,
        LAST_EVENT_ID: ids.event_base + rebuilt.last_event,
        CLUSTER_BASE: ids.cluster_base,
        EVENT_BASE: ids.event_base,
        REBUILD_REQUESTED: 0,
        REBUILD_PROGRESS: 0,
    }
    put_renamed = "INSERT INTO renamed VALUES (?, ?, ?)"
    steps: list[Statement] = [
        ("DELETE FROM renamed", [()]),
        (put_renamed, renamed),
        (_KEEP_CHANGED, [(rebuilt.line,)]),
        (_KEEP_CREATED, [(rebuilt.line,)]),
        *((f"DELETE FROM {table}", [()]) for table in ("member", "link", "event_term", "cluster", "event")),
        *((sql, [()]) for sql in _COPIES),
        ("INSERT INTO link VALUES (?, ?, ?, ?)", _swapped_links(session, clusters)),
        *((sql, [()]) for sql in _TIDY),
        ("DELETE FROM alias", [()]),
        ("INSERT INTO alias VALUES (?, ?)", _aliases(aliases, shared, events)),
        (FOLLOW_ALIASES, [()]),
        ("DELETE FROM renamed", [()]),
        (put_renamed, [row for row in renamed if row[1] in alive[row[0]]]),
        *((f"DELETE FROM rebuilt_{table}", [()]) for table in READ_MODEL_TABLES),
        ("DELETE FROM snapshot WHERE seq <> ?", [(rebuilt.line,)]),
        ("INSERT INTO snapshot VALUES (?, ?, ?)", [rebuilt.checkpoint_part]),
        (UPSERT_PROGRESS, sorted(progress.items())),
    ]
    swap = [(sql, rows) for sql, rows in steps if rows]
    return CompiledUpdate(rebuilt.line, rebuilt.line, swap, rebuilt.generation, REBUILD_PROGRESS)


_SHARED_CLUSTERS = (
    "SELECT m.cluster, n.cluster, count(*) FROM member m JOIN rebuilt_member n ON n.article = m.article "
    "GROUP BY m.cluster, n.cluster"
)
_SHARED_EVENTS = (
    "SELECT c.event, d.event, count(*) FROM member m JOIN cluster c ON c.id = m.cluster "
    "JOIN rebuilt_member n ON n.article = m.article JOIN rebuilt_cluster d ON d.id = n.cluster "
    "GROUP BY c.event, d.event"
)
"""The number of articles that old clusters and events share with new ones."""

_OF_EVENT = "LEFT JOIN renamed e ON e.kind = 'event' AND e.number = CAST(substr({}, 2) AS BIGINT)"
_OF_CLUSTER = "LEFT JOIN renamed {0} ON {0}.kind = 'cluster' AND {0}.number = {1}"

_KEEP_CHANGED = (
    "UPDATE rebuilt_event SET changed = coalesce((SELECT o.changed FROM renamed e "
    "JOIN event o ON o.id = 'e' || e.id "
    "WHERE e.kind = 'event' AND e.number = CAST(substr(rebuilt_event.id, 2) AS BIGINT) "
    "AND o.data = rebuilt_event.data AND o.size = rebuilt_event.size AND o.first = rebuilt_event.first "
    "AND o.last = rebuilt_event.last), CAST(? AS BIGINT))"
)
"""Events that are the same as before keep their line of change, so that followers do not see them again."""

_KEEP_CREATED = (
    "UPDATE rebuilt_event SET created = coalesce((SELECT o.created FROM renamed e "
    "JOIN event o ON o.id = 'e' || e.id "
    "WHERE e.kind = 'event' AND e.number = CAST(substr(rebuilt_event.id, 2) AS BIGINT)), CAST(? AS BIGINT))"
)
"""Events that take over an id are as old as the event that had it."""

_COPIES = (
    "INSERT INTO event SELECT coalesce('e' || e.id, n.id), n.first, n.last, n.size, n.languages, n.changed, "
    f"n.data, n.sources, n.importance, n.created FROM rebuilt_event n {_OF_EVENT.format('n.id')}",
    "INSERT INTO event_term SELECT coalesce('e' || e.id, n.event), n.kind, n.term FROM rebuilt_event_term n "
    f"JOIN rebuilt_event o ON o.id = n.event {_OF_EVENT.format('n.event')}",
    "INSERT INTO cluster SELECT coalesce(c.id, n.id), n.lang, coalesce('e' || e.id, n.event), n.first, "
    f"n.last, n.size, n.data FROM rebuilt_cluster n {_OF_CLUSTER.format('c', 'n.id')} "
    f"{_OF_EVENT.format('n.event')}",
    "INSERT INTO member SELECT n.article, coalesce(c.id, n.cluster), n.source FROM rebuilt_member n "
    "JOIN article ON article.seq = n.article JOIN rebuilt_cluster o ON o.id = n.cluster "
    f"{_OF_CLUSTER.format('c', 'n.cluster')}",
    "INSERT INTO link SELECT coalesce(c.id, n.a), coalesce(d.id, n.b), n.probability, n.data "
    f"FROM rebuilt_link n {_OF_CLUSTER.format('c', 'n.a')} {_OF_CLUSTER.format('d', 'n.b')} "
    "WHERE coalesce(c.id, n.a) < coalesce(d.id, n.b)",
)

_TIDY = (
    "DELETE FROM cluster WHERE id NOT IN (SELECT cluster FROM member)",
    "UPDATE cluster SET size = (SELECT count(*) FROM member WHERE member.cluster = cluster.id) "
    "WHERE size <> (SELECT count(*) FROM member WHERE member.cluster = cluster.id)",
    "DELETE FROM event WHERE id NOT IN (SELECT event FROM cluster)",
)
"""Removes what refers to articles that were pruned while the rebuild ran."""


def _shared_events(session: Session, aliases: Mapping[str, str]) -> list[tuple[int, int, int]]:
    """Return old events (by their last ids), new ones, and the number of articles that they share."""
    found: Counter[tuple[int, int]] = Counter()
    for row in session.run(_SHARED_EVENTS):
        old, new = str(row[0]), str(row[1])
        if old and new:
            found[int(aliases.get(old, old)[1:]), int(new[1:])] += int(row[2])
    return [(old, new, n) for (old, new), n in found.items()]


def _take_over(shared: Iterable[Row]) -> dict[int, int]:
    """Match new numbers with the old ids that they take over, greedily by the number of shared articles."""
    taken: dict[int, int] = {}
    used: set[int] = set()
    for old, new, _ in sorted(shared, key=lambda row: (-row[2], row[0], row[1])):
        if old not in used and new not in taken:
            taken[new] = old
            used.add(old)
    return taken


def _aliases(
    aliases: Mapping[str, str], shared: Sequence[tuple[int, int, int]], events: Mapping[int, int]
) -> list[tuple[str, str]]:
    """Return old event ids that no event took over, and the events with most of their articles."""
    survivors = {f"e{old}": f"e{old}" for old in events.values()}
    for old, new, _ in sorted(shared, key=lambda row: (-row[2], row[1])):
        survivors.setdefault(f"e{old}", f"e{events.get(new, new)}")
    found = {old: survivors[event] for old, event in aliases.items() if event in survivors}
    found |= {old: event for old, event in survivors.items() if old != event}
    return sorted(found.items())


def _swapped_links(session: Session, clusters: Mapping[int, int]) -> list[Sequence[Any]]:
    """Return links whose ends swap, because their ids are in another order than their numbers."""
    found: list[Sequence[Any]] = []
    for a, b in session.run("SELECT a, b FROM rebuilt_link"):
        one, other = clusters.get(a, a), clusters.get(b, b)
        if one > other:
            ((probability, data),) = session.run(
                "SELECT probability, data FROM rebuilt_link WHERE a = ? AND b = ?", [a, b]
            )
            swapped = _link(one, other, LinkRow(a, b, probability, data))
            found.append((swapped.a, swapped.b, probability, swapped.data))
    return found


def _link(a: int, b: int, row: LinkRow) -> LinkRow:
    """Give a link ids instead of numbers; its pairs of articles follow the order of the ids."""
    if (a < b) == (row.a < row.b):
        return replace(row, a=a, b=b)
    data = json.loads(row.data) if isinstance(row.data, str) else dict(row.data)
    if "pairs" in data:
        data["pairs"] = [[other, one, similarity] for one, other, similarity in data["pairs"]]
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return replace(row, a=min(a, b), b=max(a, b), data=text)
