"""Rebuilding: make clusters and events anew from the journal, beside those that readers see.

The rebuild writes to tables of its own, and one transaction puts them in the place of the others. Ids survive
where a story is the same: a cluster or event takes over the id of the old one that it has most articles in
common with. Others have new ids, above all that were ever given, and old events that went into another one
become aliases of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isogloss.store.interface import Row, Session
from isogloss.store.queries._projection import (
    LAST_CLUSTER,
    LAST_EVENT,
    LINES,
    PUT_PROGRESS,
    REBUILT,
    Changeset,
    LinkRow,
    Statement,
    Update,
    position,
)

__all__ = [
    "TABLES",
    "PublicIds",
    "Rebuilt",
    "begin_rebuild",
    "finish_rebuild",
    "public_ids",
    "rebuild_wanted",
    "want_rebuild",
]

WANTED = "rebuild_wanted"
CLUSTER_BASE, EVENT_BASE = "cluster_base", "event_base"
"""Names of progress: whether a rebuild was asked for, and the ids before the first ones that it gave."""

TABLES = ("cluster", "member", "link", "event", "event_term")
"""Those that a rebuild replaces; its own have the same names after ``rebuilt_``."""


@dataclass
class PublicIds:
    """Ids of clusters and events in the tables, for the numbers that the stream gives them.

    The stream counts from 1, whatever came before it. The tables never use an id twice: after a rebuild, the
    numbers go on after all ids that were ever given, but for those that take over an id.

    Parameters
    ----------
    cluster_base, event_base : int
        What is added to numbers.
    clusters, events : dict of int to int
        Ids that were taken over, by the sums.

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
        """Put ids in the place of the numbers of an update."""
        if not (self.cluster_base or self.event_base or self.clusters or self.events):
            return update
        cluster, event = self.cluster, self._event_name
        return replace(
            update,
            clusters=[replace(row, id=cluster(row.id), event=event(row.event)) for row in update.clusters],
            links=[_link(cluster(row.a), cluster(row.b), row) for row in update.links],
            events=[replace(row, id=event(row.id)) for row in update.events],
            gone_clusters=[*map(cluster, update.gone_clusters)],
            relinked=[*map(cluster, update.relinked)],
            gone_events=[*map(event, update.gone_events)],
            aliases=[(event(old), event(new)) for old, new in update.aliases],
        )

    def _event_name(self, name: str) -> str:
        return f"e{self.event(int(name[1:]))}"


@dataclass(frozen=True)
class Rebuilt:
    """A stream that has read the whole journal, to be put in the place of the one before.

    Attributes
    ----------
    line, lines : int
        The last line that it read, and how many those were.
    last_cluster, last_event : int
        The highest numbers that it has given.
    clusters, events : collection of int
        The numbers that it may still change.
    state : (str, int, bytes)
        The last part of its saved state, see :class:`~isogloss.store.Update`.
    generation : int
        See :class:`~isogloss.store.Update`.
    """

    line: int
    lines: int
    last_cluster: int
    last_event: int
    clusters: Collection[int]
    events: Collection[int]
    state: tuple[str, int, bytes]
    generation: int


def want_rebuild(session: Session) -> None:
    """Have the next worker make clusters and events anew."""
    session.run(PUT_PROGRESS, [WANTED, 1])


def rebuild_wanted(session: Session) -> bool:
    """Whether clusters and events are to be made anew."""
    return position(session, WANTED) > 0


def public_ids(session: Session) -> PublicIds:
    """Read the ids that the tables use."""
    taken: dict[str, dict[int, int]] = {"cluster": {}, "event": {}}
    for kind, number, known in session.run("SELECT kind, number, id FROM renamed"):
        taken[kind][number] = known
    bases = position(session, CLUSTER_BASE), position(session, EVENT_BASE)
    return PublicIds(*bases, taken["cluster"], taken["event"])


def begin_rebuild(session: Session) -> tuple[PublicIds, Changeset]:
    """Return the ids that a rebuild gives, and what empties its tables."""
    ids = PublicIds(position(session, LAST_CLUSTER), position(session, LAST_EVENT))
    empty: list[Statement] = [(f"DELETE FROM rebuilt_{table}", [()]) for table in TABLES]
    return ids, Changeset(
        position(session, REBUILT), 0, [*empty, (PUT_PROGRESS, [(REBUILT, 0)])], progress=REBUILT
    )


def finish_rebuild(session: Session, ids: PublicIds, rebuilt: Rebuilt) -> Changeset:
    """Return what puts the rebuilt tables in the place of the others, with ids where stories are the same."""
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
    marks = {
        "events": rebuilt.line,
        LINES: rebuilt.lines,
        LAST_CLUSTER: ids.cluster_base + rebuilt.last_cluster,
        LAST_EVENT: ids.event_base + rebuilt.last_event,
        CLUSTER_BASE: ids.cluster_base,
        EVENT_BASE: ids.event_base,
        WANTED: 0,
        REBUILT: 0,
    }
    put_renamed = "INSERT INTO renamed VALUES (?, ?, ?)"
    steps: list[Statement] = [
        ("DELETE FROM renamed", [()]),
        (put_renamed, renamed),
        (_KEEP_CHANGED, [(rebuilt.line,)]),
        *((f"DELETE FROM {table}", [()]) for table in ("member", "link", "event_term", "cluster", "event")),
        *((sql, [()]) for sql in _COPIES),
        ("INSERT INTO link VALUES (?, ?, ?, ?)", _turned_links(session, clusters)),
        *((sql, [()]) for sql in _TIDY),
        ("DELETE FROM alias", [()]),
        ("INSERT INTO alias VALUES (?, ?)", _aliases(aliases, shared, events)),
        ("DELETE FROM renamed", [()]),
        (put_renamed, [row for row in renamed if row[1] in alive[row[0]]]),
        *((f"DELETE FROM rebuilt_{table}", [()]) for table in TABLES),
        ("DELETE FROM snapshot WHERE seq <> ?", [(rebuilt.line,)]),
        ("INSERT INTO snapshot VALUES (?, ?, ?)", [rebuilt.state]),
        (PUT_PROGRESS, sorted(marks.items())),
    ]
    told = [(sql, rows) for sql, rows in steps if rows]
    return Changeset(rebuilt.line, rebuilt.line, told, rebuilt.generation, REBUILT)


_SHARED_CLUSTERS = (
    "SELECT m.cluster, n.cluster, count(*) FROM member m JOIN rebuilt_member n ON n.article = m.article "
    "GROUP BY m.cluster, n.cluster"
)
_SHARED_EVENTS = (
    "SELECT c.event, d.event, count(*) FROM member m JOIN cluster c ON c.id = m.cluster "
    "JOIN rebuilt_member n ON n.article = m.article JOIN rebuilt_cluster d ON d.id = n.cluster "
    "GROUP BY c.event, d.event"
)
"""How many articles old clusters and events have in common with new ones."""

_OF_EVENT = "LEFT JOIN renamed e ON e.kind = 'event' AND e.number = CAST(substr({}, 2) AS BIGINT)"
_OF_CLUSTER = "LEFT JOIN renamed {0} ON {0}.kind = 'cluster' AND {0}.number = {1}"

_KEEP_CHANGED = (
    "UPDATE rebuilt_event SET changed = coalesce((SELECT o.changed FROM renamed e "
    "JOIN event o ON o.id = 'e' || e.id "
    "WHERE e.kind = 'event' AND e.number = CAST(substr(rebuilt_event.id, 2) AS BIGINT) "
    "AND o.data = rebuilt_event.data AND o.size = rebuilt_event.size AND o.first = rebuilt_event.first "
    "AND o.last = rebuilt_event.last), CAST(? AS BIGINT))"
)
"""Events that are as they were have not changed; those who follow changes are told of the others."""

_COPIES = (
    "INSERT INTO event SELECT coalesce('e' || e.id, n.id), n.first, n.last, n.size, n.languages, n.changed, "
    f"n.data FROM rebuilt_event n {_OF_EVENT.format('n.id')}",
    "INSERT INTO event_term SELECT coalesce('e' || e.id, n.event), n.kind, n.term FROM rebuilt_event_term n "
    f"JOIN rebuilt_event o ON o.id = n.event {_OF_EVENT.format('n.event')}",
    "INSERT INTO cluster SELECT coalesce(c.id, n.id), n.lang, coalesce('e' || e.id, n.event), n.first, "
    f"n.last, n.size, n.data FROM rebuilt_cluster n {_OF_CLUSTER.format('c', 'n.id')} "
    f"{_OF_EVENT.format('n.event')}",
    "INSERT INTO member SELECT n.article, coalesce(c.id, n.cluster) FROM rebuilt_member n "
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
"""Articles that were pruned while the rebuild ran are in no cluster."""


def _shared_events(session: Session, aliases: Mapping[str, str]) -> list[tuple[int, int, int]]:
    """Return old events, new ones, and how many articles they have in common; old ones by their last ids."""
    found: Counter[tuple[int, int]] = Counter()
    for row in session.run(_SHARED_EVENTS):
        old, new = str(row[0]), str(row[1])
        if old and new:
            found[int(aliases.get(old, old)[1:]), int(new[1:])] += int(row[2])
    return [(old, new, n) for (old, new), n in found.items()]


def _take_over(shared: Iterable[Row]) -> dict[int, int]:
    """For new numbers the old ids that they take over: those that share most articles come first."""
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
    """Old ids of events that no event has taken over, and the events with most of their articles."""
    survivors = {f"e{old}": f"e{old}" for old in events.values()}
    for old, new, _ in sorted(shared, key=lambda row: (-row[2], row[1])):
        survivors.setdefault(f"e{old}", f"e{events.get(new, new)}")
    found = {old: survivors[event] for old, event in aliases.items() if event in survivors}
    found |= {old: event for old, event in survivors.items() if old != event}
    return sorted(found.items())


def _turned_links(session: Session, clusters: Mapping[int, int]) -> list[Sequence[Any]]:
    """Links whose ends change places, because their ids are in another order than their numbers."""
    found: list[Sequence[Any]] = []
    for a, b in session.run("SELECT a, b FROM rebuilt_link"):
        one, other = clusters.get(a, a), clusters.get(b, b)
        if one > other:
            ((probability, data),) = session.run(
                "SELECT probability, data FROM rebuilt_link WHERE a = ? AND b = ?", [a, b]
            )
            turned = _link(one, other, LinkRow(a, b, probability, data))
            found.append((turned.a, turned.b, probability, turned.data))
    return found


def _link(a: int, b: int, row: LinkRow) -> LinkRow:
    """A link with ids; its pairs of articles follow the order of the ids."""
    if (a < b) == (row.a < row.b):
        return replace(row, a=a, b=b)
    data = json.loads(row.data) if isinstance(row.data, str) else dict(row.data)
    if "pairs" in data:
        data["pairs"] = [[other, one, similarity] for one, other, similarity in data["pairs"]]
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return replace(row, a=min(a, b), b=max(a, b), data=text)
