"""Queries on failed attempts at journal lines, and on the quarantine of lines that keep failing.

A line in quarantine is skipped, also in replays: the decision is stored, so a replay gives the same events.
To retry a line is to append its article to the journal again; the line itself stays skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from isogloss.store.interface import Session
from isogloss.store.queries._read_model import (
    LINE_STARTED,
    UPSERT_PROGRESS,
    CompiledUpdate,
    read_work_position,
)

MAX_FAILURES = 2
"""A line is quarantined after this many failed attempts."""

WORKER_STOPPED = "worker stopped"
"""The reason of a failure when the whole service stopped, for which the line may not be to blame."""

MAX_FAILURES_WITH_STOP = 3
"""A line is quarantined after this many failed attempts if the last was a stop of the whole service."""

WORKER_RUNNING = "running"
"""The name of progress that is 1 while a worker runs."""

_MAX_MESSAGE_CHARS = 1_000


def record_failure(
    session: Session, line: int, reason: str, message: str, now: int, *, taken: int | None = None
) -> bool:
    """Count a failed attempt at a line; return whether the line is now in quarantine.

    A line that the read model already covers is only counted: to skip it would make replays differ from the
    tables. A rebuild covers what it has read itself. The reason is a word or two, the message a sentence.
    ``taken`` is the line up to which events are made; by default the position of the read model, or of its
    rebuild.
    """
    row = session.one("SELECT failures, quarantined FROM attempt WHERE seq = ?", [line])
    failures, since = (int(row[0]) + 1, int(row[1])) if row else (1, 0)
    limit = MAX_FAILURES_WITH_STOP if reason == WORKER_STOPPED else MAX_FAILURES
    if not since and failures >= limit and line > (read_work_position(session) if taken is None else taken):
        since = now
    session.run(
        "INSERT INTO attempt SELECT seq, CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), "
        "CAST(? AS BIGINT), CAST(? AS BIGINT), 0 FROM journal WHERE seq = ? "
        "ON CONFLICT (seq) DO UPDATE SET failures = excluded.failures, reason = excluded.reason, "
        "said = excluded.said, noted = excluded.noted, quarantined = excluded.quarantined",
        [failures, reason, message[:_MAX_MESSAGE_CHARS].replace("\0", " "), now, since, line],
    )
    session.run("DELETE FROM progress WHERE name = ?", [LINE_STARTED])
    return bool(since)


def worker_started(line: int) -> CompiledUpdate:
    """Return the update that records the start of a worker at the position of the read model."""
    return CompiledUpdate(
        line,
        line,
        [
            (UPSERT_PROGRESS, [(WORKER_RUNNING, 1)]),
            ("DELETE FROM progress WHERE name = ?", [(LINE_STARTED,)]),
        ],
    )


def worker_stopped(line: int) -> CompiledUpdate:
    """Return the update that records a clean stop of the worker."""
    return CompiledUpdate(
        line, line, [("DELETE FROM progress WHERE name = ?", [(WORKER_RUNNING,), (LINE_STARTED,)])]
    )


def record_line_start(session: Session, line: int) -> None:
    """Record that a worker starts a line alone, in case it does not survive it."""
    session.run_many(UPSERT_PROGRESS, [(LINE_STARTED, line)])


def read_crash_marker(session: Session) -> tuple[bool, int]:
    """Return whether the last worker crashed, and the line it had started alone, or 0."""
    marks: dict[str, int] = dict(
        session.run("SELECT name, seq FROM progress WHERE name IN (?, ?)", [WORKER_RUNNING, LINE_STARTED])
    )
    at = int(marks.get(LINE_STARTED, 0))
    return bool(marks.get(WORKER_RUNNING)), at if at > read_work_position(session) else 0


def failed_lines(session: Session) -> dict[int, int]:
    """Return the number of failed attempts by line, of lines that are not in quarantine."""
    return dict(session.run("SELECT seq, failures FROM attempt WHERE quarantined = 0"))


def quarantined_lines(session: Session, after: int, last: int) -> set[int]:
    """Return the lines in quarantine after one line and up to another."""
    rows = session.run(
        "SELECT seq FROM attempt WHERE seq > ? AND seq <= ? AND quarantined > 0", [after, last]
    )
    return {int(row[0]) for row in rows}


def list_quarantined(session: Session, limit: int) -> list[dict[str, Any]]:
    """Return the lines in quarantine that were not retried, the newest first, with their articles."""
    fields = ("line", "reason", "said", "failures", "quarantined", "article", "lang", "title")
    rows = session.run(
        "SELECT t.seq, t.reason, t.said, t.failures, t.quarantined, a.seq, a.lang, a.title FROM attempt t "
        "JOIN journal j ON j.seq = t.seq LEFT JOIN article a ON a.seq = j.article "
        "WHERE t.quarantined > 0 AND t.retried = 0 ORDER BY t.seq DESC LIMIT ?",
        [limit],
    )
    return [dict(zip(fields, row, strict=True)) for row in rows]


def quarantined_article_numbers(session: Session) -> set[int]:
    """Return the numbers of the articles that have lines in quarantine that were not retried."""
    rows = session.run(
        "SELECT j.article FROM attempt t JOIN journal j ON j.seq = t.seq JOIN article a ON a.seq = j.article "
        "WHERE t.quarantined > 0 AND t.retried = 0"
    )
    return {int(article) for (article,) in rows}


def retry_quarantined(session: Session, lines: Collection[int], now: int) -> Sequence[int]:
    """Append the articles of quarantined lines to the journal again; return the lines that were retried.

    Without lines, all lines in quarantine are retried.
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
