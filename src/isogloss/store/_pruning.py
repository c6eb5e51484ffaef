"""Pruning: delete whole stories that ended before a cutoff.

A story is an event with all of its clusters and articles. It can be pruned when all of its articles are older
than the cutoff and a checkpoint covers their journal lines: a replay starts from the checkpoint and needs
every later line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from isogloss.store._store import Store
from isogloss.store.interface import Row, Session
from isogloss.store.queries import from_micros, to_micros

ARTICLES_PER_TRANSACTION = 500
"""A transaction deletes about this many articles, so that other writers do not wait long."""

PRUNED_TALLY = "pruned"
"""The name of the count of pruned articles."""


class _StoryTable(NamedTuple):
    """A table of stories, the column of ``cluster`` that refers to it, and a further condition."""

    table: str
    column: str
    condition: str


_STORY_TABLES = (
    _StoryTable("event", "event", "1 = 1"),
    _StoryTable("cluster", "id", "NOT EXISTS (SELECT 1 FROM event e WHERE e.id = s.event)"),
)
"""Events, and clusters whose event no longer exists."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """A preview of what pruning would delete.

    Attributes
    ----------
    cutoff : datetime
        Stories that ended before it would be deleted.
    articles, events, records : int
        The number of articles, events and quarantined records that would be deleted.
    total : int
        The number of articles in the store.
    oldest, newest : datetime or None
        Times of the oldest and the newest article that would be deleted.
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
        """The percentage of the store's articles that would be deleted."""
        return 100 * self.articles / self.total if self.total else 0.0


def newest_article_time(
    store: Store, until: datetime | None = None, *, in_event: bool = True
) -> datetime | None:
    """Return the time of the newest article that is in an event and not later than ``until`` (now)."""
    joined = "JOIN member m ON m.article = a.seq " if in_event else ""
    with store.database.read() as session:
        row = session.one(
            f"SELECT a.time FROM article a {joined}WHERE a.time <= ? ORDER BY a.time DESC LIMIT 1",
            [to_micros(until or datetime.now(UTC))],
        )
    return from_micros(int(row[0])) if row else None


def plan_prune(store: Store, cutoff: datetime, *, examples: int = 0) -> PrunePlan:
    """Preview what :func:`prune_before` would delete."""
    limit = to_micros(cutoff)
    with store.database.read() as session:
        line = _checkpoint_line(session)
        rows = [_summary(session, kind, limit, line) for kind in _STORY_TABLES]
        titles = [row for kind in _STORY_TABLES for row in _oldest(session, kind, limit, line, examples)]
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
    should_continue: Callable[[], bool] = lambda: True,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Delete stories that ended before a cutoff, and old quarantined records.

    Each transaction deletes whole stories, so a run can be interrupted at any time and continued later.

    Parameters
    ----------
    store : Store
        The store.
    cutoff : datetime
        It must be before the window of the stream, whose events may still change.
    should_continue : callable
        Called before every transaction; False ends the run.
    progress : callable
        Called with the number of articles after every transaction.

    Returns
    -------
    int
        The number of deleted articles.
    """
    limit, pruned = to_micros(cutoff), 0
    for count in _prune_batches(store, limit, should_continue):
        pruned += count
        progress(count)
    with store.database.write() as session:
        line = _checkpoint_line(session)
        session.run("DELETE FROM journal WHERE seq <= ? AND kind = 'update' AND received < ?", [line, limit])
        session.run("DELETE FROM quarantine WHERE received < ?", [limit])
        session.run("DELETE FROM alias WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.id = alias.event)")
    return pruned


def _prune_batches(store: Store, limit: int, should_continue: Callable[[], bool]) -> Iterator[int]:
    """Delete stories in order of their last time and id; yield the number of articles of each transaction."""
    for kind in _STORY_TABLES:
        stories: list[Row] = []
        while should_continue():
            with store.database.write() as session:
                after = stories[-1] if stories else ()
                stories = list(_next_stories(session, kind, limit, after))
                count = _delete(session, kind, [story for _, story in stories]) if stories else 0
            if not stories:
                break
            yield count
        else:
            return


def _checkpoint_line(session: Session) -> int:
    """Return the journal line of the newest checkpoint."""
    row = session.one("SELECT max(seq) FROM snapshot WHERE name = 'events'")
    return int(row[0]) if row and row[0] is not None else 0


def _can_prune(kind: _StoryTable) -> str:
    """Return the SQL condition for pruning a story; its values are the limit, the limit and the line."""
    return (
        f"s.last < ? AND {kind.condition} AND NOT EXISTS "
        "(SELECT 1 FROM cluster o JOIN member n ON n.cluster = o.id JOIN article b ON b.seq = n.article "
        f"WHERE o.{kind.column} = s.id "
        "AND (b.time >= ? OR b.seq IN (SELECT article FROM journal WHERE seq > ?)))"
    )


def _with_articles(kind: _StoryTable) -> str:
    """Return the SQL join of stories with their articles."""
    return (
        f"{kind.table} s LEFT JOIN cluster c ON c.{kind.column} = s.id "
        "LEFT JOIN member m ON m.cluster = c.id LEFT JOIN article a ON a.seq = m.article"
    )


def _next_stories(session: Session, kind: _StoryTable, limit: int, after: Row) -> Iterator[Row]:
    """Yield last times and ids of stories that can be pruned, up to about a transaction's articles."""
    rows = session.run(
        f"SELECT s.last, s.id, (SELECT count(*) FROM cluster c JOIN member m ON m.cluster = c.id "
        f"WHERE c.{kind.column} = s.id) FROM {kind.table} s WHERE {_can_prune(kind)} "
        f"{'AND (s.last, s.id) > (?, ?) ' if after else ''}ORDER BY s.last, s.id LIMIT ?",
        [limit, limit, _checkpoint_line(session), *after, ARTICLES_PER_TRANSACTION],
    )
    articles = 0
    for last, story, count in rows:
        yield last, story
        articles += count
        if articles >= ARTICLES_PER_TRANSACTION:
            return


def _summary(session: Session, kind: _StoryTable, limit: int, line: int) -> Row:
    """Count the stories that can be pruned and their articles; return these with the first and last times."""
    (row,) = session.run(
        "SELECT count(DISTINCT s.id), count(a.seq), min(a.time), max(a.time) "
        f"FROM {_with_articles(kind)} WHERE {_can_prune(kind)}",
        [limit, limit, line],
    )
    return row


def _oldest(session: Session, kind: _StoryTable, limit: int, line: int, count: int) -> list[Row]:
    """Return times and titles of the oldest articles that can be pruned."""
    return session.run(
        f"SELECT a.time, a.title FROM {_with_articles(kind)} "
        f"WHERE {_can_prune(kind)} AND a.seq IS NOT NULL ORDER BY a.time, a.seq LIMIT ?",
        [limit, limit, line, count],
    )


def _delete(session: Session, kind: _StoryTable, stories: Sequence[Any]) -> int:
    """Delete stories with their articles, journal lines, clusters and links; count the articles."""
    marks = ", ".join("?" * len(stories))
    clusters = f"SELECT id FROM cluster WHERE {kind.column} IN ({marks})"
    articles = f"SELECT article FROM member WHERE cluster IN ({clusters})"
    ((count,),) = session.run(f"SELECT count(*) FROM ({articles}) AS gone", stories)
    for condition in (
        f"journal WHERE article IN ({articles})",
        f"article_text WHERE rowid IN ({articles})",
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
        [PRUNED_TALLY, count],
    )
    return int(count)
