"""Articles that were prepared ahead of the fold: who is at which, and what came out.

A line of the journal has one row at most. Without data it is a claim, which ends at a time by the clock of
the database, so that what a host that died had claimed is done by another. Rows go when the tables have come
to their line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isogloss.store.interface import Session
from isogloss.store.queries._articles import JournalLine, journal_lines
from isogloss.store.queries._read_model import UPSERT_PROGRESS, CompiledUpdate

__all__ = [
    "AHEAD",
    "announcement",
    "claim_lines",
    "forget_claims",
    "keep_prepared",
    "read_prepared",
    "read_tallies",
    "something_waits",
    "way_of_worker",
]

AHEAD = 20_000
"""Lines after the tables in which articles are prepared: more would fill the disk if nobody makes events."""

_WAY = "preparing"
_SECOND = 1_000_000


def announcement(line: int, way: int) -> CompiledUpdate:
    """Tell in which way the worker prepares articles; what was prepared in another will be done again.

    Parameters
    ----------
    line : int
        The line that the tables stand at.
    way : int
        Alike for those who prepare alike.
    """
    return CompiledUpdate(line, line, [(UPSERT_PROGRESS, [(_WAY, way)])])


def way_of_worker(session: Session) -> int | None:
    """The way in which the worker prepares articles; None when there has been none."""
    row = session.one("SELECT seq FROM progress WHERE name = ?", [_WAY])
    return int(row[0]) if row else None


def claim_lines(
    session: Session, owner: str, way: int, *, most: int, seconds: float, ahead: int = AHEAD
) -> list[JournalLine]:
    """Claim the oldest articles that nobody is at, and that the worker has not begun with.

    Parameters
    ----------
    session : Session
        A transaction beside others.
    owner : str
        Who claims them.
    way : int
        How they will be prepared; nothing is to be had in another way than the worker's.
    most : int
        How many at most.
    seconds : float
        After which others may claim them.
    ahead : int
        Lines after those of the tables in which articles are looked for.
    """
    free, values = _free_lines(session, way, ahead)
    rows = session.run(
        f"INSERT INTO prepared (seq, way, owner, expires) SELECT j.seq, ?, ?, {session.now_sql} + ? {free} "
        f"ORDER BY j.seq LIMIT ? {session.skip_locked('j')} ON CONFLICT (seq) DO UPDATE SET "
        "way = excluded.way, owner = excluded.owner, expires = excluded.expires, data = NULL "
        f"WHERE {_free('prepared', session)} RETURNING seq",
        [way, owner, round(seconds * _SECOND), *values, most, values[-1]],
    )
    return journal_lines(session, sorted(row[0] for row in rows))


def something_waits(session: Session, way: int, *, ahead: int = AHEAD) -> bool:
    """Whether there is something to claim, for whoever does not want to write in vain."""
    free, values = _free_lines(session, way, ahead)
    return session.one(f"SELECT j.seq {free} LIMIT 1", values) is not None


def _free_lines(session: Session, way: int, ahead: int) -> tuple[str, list[int | None]]:
    """The lines that somebody who prepares in a way may claim: where they are found, and its values."""
    known: dict[str, int] = dict(session.run("SELECT name, seq FROM progress"))
    stands, wanted = known.get("events", 0), known.get(_WAY)
    first = max(stands, known.get("begun", 0))
    last = stands + ahead if wanted in (None, way) else first
    return (
        "FROM journal j LEFT JOIN prepared p ON p.seq = j.seq WHERE j.kind = 'article' AND j.seq > ? "
        "AND j.seq <= ? AND NOT EXISTS (SELECT 1 FROM attempt t WHERE t.seq = j.seq) "
        f"AND (p.seq IS NULL OR {_free('p', session)})",
        [first, last, wanted],
    )


def _free(row: str, session: Session) -> str:
    """Whether nobody is at a row: its claim ran out, or it is of another way than the worker's."""
    return f"(({row}.data IS NULL AND {row}.expires <= {session.now_sql}) OR {row}.way <> CAST(? AS BIGINT))"


def keep_prepared(session: Session, owner: str, rows: Sequence[tuple[int, bytes]]) -> int:
    """Keep what was found of articles that somebody has still claimed; how many those were.

    Lines that the tables have come to meanwhile, and claims that another has taken over, are left alone.
    """
    if not rows:
        return 0
    marks = ", ".join(["(?, ?)"] * len(rows))
    kept = session.run(
        f"UPDATE prepared SET data = found.column2 FROM (VALUES {marks}) AS found "
        "WHERE prepared.seq = found.column1 AND prepared.owner = ? AND prepared.data IS NULL RETURNING seq",
        [*(value for row in rows for value in row), owner],
    )
    return len(kept)


def forget_claims(session: Session, owner: str, lines: Sequence[int]) -> None:
    """Give claims back."""
    session.run_many(
        "DELETE FROM prepared WHERE seq = ? AND owner = ? AND data IS NULL",
        [(line, owner) for line in sorted(lines)],
    )


def read_prepared(session: Session, after: int, last: int) -> dict[int, tuple[int, bytes]]:
    """Of lines after one and up to another: the way in which they were prepared, and what came out."""
    rows = session.run(
        "SELECT seq, way, data FROM prepared WHERE seq > ? AND seq <= ? AND data IS NOT NULL ORDER BY seq",
        [after, last],
    )
    return {line: (way, bytes(data)) for line, way, data in rows}


def read_tallies(session: Session) -> Mapping[str, int]:
    """What workers have counted."""
    return dict(session.run("SELECT name, count FROM tally ORDER BY name"))
