"""Failed attempts to take a journal line in, and the quarantine for lines that keep failing.

A line in quarantine is skipped, at every replay too: the decision is in the database, so a replay gives the
same events. To retry a line is to append its article to the journal again; the line itself stays skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from isogloss.store.interface import Session
from isogloss.store.queries._projection import PUT_PROGRESS, Changeset, position

__all__ = [
    "MAX_FAILURES",
    "MAX_STOPS",
    "STOPPED",
    "arrival",
    "begin_line",
    "failed_lines",
    "farewell",
    "list_quarantined",
    "note_failure",
    "quarantined_lines",
    "read_marks",
    "retry_quarantined",
]

MAX_FAILURES = 2
"""Failed attempts after which a line goes to quarantine."""

STOPPED = "worker stopped"
"""The reason when the whole service ended during a line, for which the line may not be to blame."""

MAX_STOPS = 3
"""Failed attempts after which a line goes to quarantine if the last one was a stop of the whole service."""

RUNNING, AT = "running", "at"
"""Rows of ``progress``: 1 while a worker runs, and the line that it has begun alone."""

_MAX_SAID = 1_000


def note_failure(
    session: Session, line: int, reason: str, said: str, now: int, *, taken: int | None = None
) -> bool:
    """Count a failed attempt at a line; whether the line is in quarantine now.

    A line that events are made of already is only counted: to skip it would make replays differ from the
    tables.

    Parameters
    ----------
    session : Session
        A transaction that writes.
    line : int
        The line.
    reason : str
        The kind of failure, in a word or two.
    said : str
        What happened, in a sentence.
    now : int
        Microseconds since 1970.
    taken : int, optional
        The line up to which events are made; the one that the tables stand at by default.
    """
    row = session.one("SELECT failures, quarantined FROM attempt WHERE seq = ?", [line])
    failures, since = (int(row[0]) + 1, int(row[1])) if row else (1, 0)
    limit = MAX_STOPS if reason == STOPPED else MAX_FAILURES
    if not since and failures >= limit and line > (position(session) if taken is None else taken):
        since = now
    session.run(
        "INSERT INTO attempt SELECT seq, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), "
        "CAST(? AS BIGINT), CAST(? AS BIGINT), 0 FROM journal WHERE seq = ? "
        "ON CONFLICT (seq) DO UPDATE SET failures = excluded.failures, reason = excluded.reason, "
        "said = excluded.said, noted = excluded.noted, quarantined = excluded.quarantined",
        [failures, reason, said[:_MAX_SAID].replace("\0", " "), now, since, line],
    )
    session.run("DELETE FROM progress WHERE name = ?", [AT])
    return bool(since)


def arrival(line: int) -> Changeset:
    """Note that a worker begins, at the line that the tables stand at."""
    return Changeset(
        line, line, [(PUT_PROGRESS, [(RUNNING, 1)]), ("DELETE FROM progress WHERE name = ?", [(AT,)])]
    )


def farewell(line: int) -> Changeset:
    """Note that a worker ends properly: none of its lines is to blame."""
    return Changeset(line, line, [("DELETE FROM progress WHERE name = ?", [(RUNNING,), (AT,)])])


def begin_line(session: Session, line: int) -> None:
    """Note that a worker begins a line alone, so that the line is known if the worker does not survive it."""
    session.many(PUT_PROGRESS, [(AT, line)])


def read_marks(session: Session) -> tuple[bool, int]:
    """Whether the last worker ended without a proper stop, and the line it had begun alone; 0 if none."""
    marks: dict[str, int] = dict(
        session.run("SELECT name, seq FROM progress WHERE name IN (?, ?)", [RUNNING, AT])
    )
    at = int(marks.get(AT, 0))
    return bool(marks.get(RUNNING)), at if at > position(session) else 0


def failed_lines(session: Session) -> dict[int, int]:
    """Failed attempts by line, of lines that are not in quarantine."""
    return dict(session.run("SELECT seq, failures FROM attempt WHERE quarantined = 0"))


def quarantined_lines(session: Session, after: int, last: int) -> set[int]:
    """Lines in quarantine, after one line and up to another."""
    rows = session.run(
        "SELECT seq FROM attempt WHERE seq > ? AND seq <= ? AND quarantined > 0", [after, last]
    )
    return {int(row[0]) for row in rows}


def list_quarantined(session: Session, limit: int) -> list[dict[str, Any]]:
    """Lines in quarantine that were not retried, the newest first, with the articles they are of."""
    fields = ("line", "reason", "said", "failures", "quarantined", "article", "lang", "title")
    rows = session.run(
        "SELECT t.seq, t.reason, t.said, t.failures, t.quarantined, a.seq, a.lang, a.title FROM attempt t "
        "JOIN journal j ON j.seq = t.seq LEFT JOIN article a ON a.seq = j.article "
        "WHERE t.quarantined > 0 AND t.retried = 0 ORDER BY t.seq DESC LIMIT ?",
        [limit],
    )
    return [dict(zip(fields, row, strict=True)) for row in rows]


def retry_quarantined(session: Session, lines: Collection[int], now: int) -> Sequence[int]:
    """Append the articles of quarantined lines to the journal again; the lines that this was done for.

    Parameters
    ----------
    session : Session
        A transaction that writes.
    lines : collection of int
        The lines; all if there are none.
    now : int
        Microseconds since 1970.
    """
    found = session.run(
        "SELECT t.seq, a.seq, a.revision FROM attempt t JOIN journal j ON j.seq = t.seq "
        "LEFT JOIN article a ON a.seq = j.article WHERE t.quarantined > 0 AND t.retried = 0 ORDER BY t.seq"
    )
    retried = []
    for line, article, revision in found:
        if lines and line not in lines:
            continue
        new = line
        if article is not None:
            ((new,),) = session.run(
                "INSERT INTO journal (kind, article, revision, received) VALUES ('article', ?, ?, ?) "
                "RETURNING seq",
                [article, revision, now],
            )
        session.run("UPDATE attempt SET retried = ? WHERE seq = ?", [new, line])
        retried.append(int(line))
    return retried
