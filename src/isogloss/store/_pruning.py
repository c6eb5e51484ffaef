"""Pruning: delete stories that ended before a cutoff, whole stories at a time.

A story is an event with all of its clusters and articles. It can go when all of its articles are older than
the cutoff and a saved state of the stream covers their journal lines: a replay starts from that state and
needs every later line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from isogloss.store._store import Store
from isogloss.store.interface import Row, Session
from isogloss.store.queries import from_micros, micros

__all__ = ["PRUNED", "PrunePlan", "newest_article", "plan_prune", "prune_before"]

PART = 500
"""Articles to delete in one transaction, give or take a story: other writers wait no longer than for that."""

PRUNED = "pruned"
"""The tally that counts pruned articles."""


class _Kind(NamedTuple):
    """A kind of story: its table, the column of clusters that names it, and what must hold besides."""

    table: str
    column: str
    condition: str


_KINDS = (
    _Kind("event", "event", "1 = 1"),
    _Kind("cluster", "id", "NOT EXISTS (SELECT 1 FROM event e WHERE e.id = s.event)"),
)
"""Events, and clusters whose event no longer exists."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What pruning up to a cutoff would delete.

    Attributes
    ----------
    cutoff : datetime
        Stories that ended before it would go.
    articles, events, records : int
        Articles, events and quarantined records that would go.
    total : int
        All articles of the store.
    oldest, newest : datetime or None
        Times of the oldest and the newest article that would go.
    examples : tuple of (datetime, str)
        Times and titles of a few of them, the oldest first.
    """

    cutoff: datetime
    articles: int
    events: int
    records: int
    total: int
    oldest: datetime | None = None
    newest: datetime | None = None
    examples: tuple[tuple[datetime, str], ...] = ()

    @property
    def percent(self) -> float:
        """The share of the store's articles that would go."""
        return 100 * self.articles / self.total if self.total else 0.0


def newest_article(store: Store, until: datetime | None = None, *, in_event: bool = True) -> datetime | None:
    """Return the time of the newest article up to a moment, by default up to now and in an event."""
    joined = "JOIN member m ON m.article = a.seq " if in_event else ""
    with store.database.read() as session:
        row = session.one(
            f"SELECT a.time FROM article a {joined}WHERE a.time <= ? ORDER BY a.time DESC LIMIT 1",
            [micros(until or datetime.now(UTC))],
        )
    return from_micros(int(row[0])) if row else None


def plan_prune(store: Store, cutoff: datetime, *, examples: int = 0) -> PrunePlan:
    """Work out what :func:`prune_before` would delete; nothing is changed."""
    limit = micros(cutoff)
    with store.database.read() as session:
        line = _saved_line(session)
        rows = [_summary(session, kind, limit, line) for kind in _KINDS]
        titles = [row for kind in _KINDS for row in _oldest(session, kind, limit, line, examples)]
        ((records,),) = session.run("SELECT count(*) FROM quarantine WHERE received < ?", [limit])
        ((total,),) = session.run("SELECT count(*) FROM article")
    some = [row for row in rows if row[1]]
    return PrunePlan(
        cutoff,
        articles=sum(int(row[1]) for row in rows),
        events=int(rows[0][0]),
        records=int(records),
        total=int(total),
        oldest=from_micros(min(row[2] for row in some)) if some else None,
        newest=from_micros(max(row[3] for row in some)) if some else None,
        examples=tuple((from_micros(time), title) for time, title in sorted(titles)[:examples]),
    )


def prune_before(
    store: Store,
    cutoff: datetime,
    *,
    go_on: Callable[[], bool] = lambda: True,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Delete stories that ended before a cutoff, with all that belongs to them, and quarantined records.

    Each transaction deletes whole stories, so a run can be interrupted at any time and continued later.

    Parameters
    ----------
    store : Store
        The store.
    cutoff : datetime
        It must be before the window of the stream, which still writes to the events in it.
    go_on : callable
        Asked before every transaction; False ends the run.
    progress : callable
        Told the number of articles of every transaction.

    Returns
    -------
    int
        How many articles were deleted.
    """
    limit, pruned = micros(cutoff), 0
    for count in _prune_parts(store, limit, go_on):
        pruned += count
        progress(count)
    with store.database.write() as session:
        line = _saved_line(session)
        session.run("DELETE FROM journal WHERE seq <= ? AND kind = 'update' AND received < ?", [line, limit])
        session.run("DELETE FROM quarantine WHERE received < ?", [limit])
        session.run("DELETE FROM alias WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.id = alias.event)")
    return pruned


def _prune_parts(store: Store, limit: int, go_on: Callable[[], bool]) -> Iterator[int]:
    """Delete stories in order of their last time and id; yield the articles of every transaction."""
    for kind in _KINDS:
        stories: list[Row] = []
        while go_on():
            with store.database.write() as session:
                after = stories[-1] if stories else ()
                stories = list(_next_stories(session, kind, limit, after))
                count = _delete(session, kind, [story for _, story in stories]) if stories else 0
            if not stories:
                break
            yield count
        else:
            return


def _saved_line(session: Session) -> int:
    """The journal line that the newest saved state of the stream covers."""
    row = session.one("SELECT max(seq) FROM snapshot WHERE name = 'events'")
    return int(row[0]) if row and row[0] is not None else 0


def _can_go(kind: _Kind) -> str:
    """The condition under which a story can go; its values are the limit, the limit and the saved line."""
    return (
        f"s.last < ? AND {kind.condition} AND NOT EXISTS "
        "(SELECT 1 FROM cluster o JOIN member n ON n.cluster = o.id JOIN article b ON b.seq = n.article "
        f"WHERE o.{kind.column} = s.id "
        "AND (b.time >= ? OR b.seq IN (SELECT article FROM journal WHERE seq > ?)))"
    )


def _with_articles(kind: _Kind) -> str:
    """Stories joined with their articles."""
    return (
        f"{kind.table} s LEFT JOIN cluster c ON c.{kind.column} = s.id "
        "LEFT JOIN member m ON m.cluster = c.id LEFT JOIN article a ON a.seq = m.article"
    )


def _next_stories(session: Session, kind: _Kind, limit: int, after: Row) -> Iterator[Row]:
    """Last times and ids of stories that can go, until they have articles enough for a transaction."""
    rows = session.run(
        f"SELECT s.last, s.id, (SELECT count(*) FROM cluster c JOIN member m ON m.cluster = c.id "
        f"WHERE c.{kind.column} = s.id) FROM {kind.table} s WHERE {_can_go(kind)} "
        f"{'AND (s.last, s.id) > (?, ?) ' if after else ''}ORDER BY s.last, s.id LIMIT ?",
        [limit, limit, _saved_line(session), *after, PART],
    )
    articles = 0
    for last, story, count in rows:
        yield last, story
        articles += count
        if articles >= PART:
            return


def _summary(session: Session, kind: _Kind, limit: int, line: int) -> Row:
    """How many stories can go, how many articles they have, and the first and last times of these."""
    (row,) = session.run(
        "SELECT count(DISTINCT s.id), count(a.seq), min(a.time), max(a.time) "
        f"FROM {_with_articles(kind)} WHERE {_can_go(kind)}",
        [limit, limit, line],
    )
    return row


def _oldest(session: Session, kind: _Kind, limit: int, line: int, most: int) -> list[Row]:
    """Times and titles of the oldest articles that can go."""
    return session.run(
        f"SELECT a.time, a.title FROM {_with_articles(kind)} "
        f"WHERE {_can_go(kind)} AND a.seq IS NOT NULL ORDER BY a.time, a.seq LIMIT ?",
        [limit, limit, line, most],
    )


def _delete(session: Session, kind: _Kind, stories: Sequence[Any]) -> int:
    """Delete stories with their articles, journal lines, clusters and links; return how many articles."""
    marks = ", ".join("?" * len(stories))
    clusters = f"SELECT id FROM cluster WHERE {kind.column} IN ({marks})"
    articles = f"SELECT article FROM member WHERE cluster IN ({clusters})"
    ((count,),) = session.run(f"SELECT count(*) FROM ({articles}) AS gone", stories)
    for condition in (
        f"journal WHERE article IN ({articles})",
        f"article WHERE seq IN ({articles})",
        f"link WHERE a IN ({clusters})",
        f"link WHERE b IN ({clusters})",
        f"cluster WHERE id IN ({clusters})",
        f"{kind.table} WHERE id IN ({marks})",
    ):
        session.run(f"DELETE FROM {condition}", stories)
    session.run(
        "INSERT INTO tally VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET "
        "count = tally.count + excluded.count",
        [PRUNED, count],
    )
    return int(count)
