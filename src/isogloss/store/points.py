"""Where articles are in a common space, in PostgreSQL with pgvector.

Every article is put in once, whichever of several services does it, and is there after a restart; the server
looks for the nearest, at all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import StoreError
from isogloss.store.database import Database, Session
from isogloss.store.postgres import PostgresDatabase
from isogloss.store.projection import PUT_PROGRESS, position

__all__ = ["Point", "Points", "has_vectors"]

_LONG = 2**62
"""A time, in microseconds, that is before or after all others."""


class Point(NamedTuple):
    """An article by its number, its language, its time in microseconds and where it is."""

    article: int
    lang: str
    time: int
    at: NDArray[np.float32]


def has_vectors(database: Database) -> TypeGuard[PostgresDatabase]:
    """Whether a database keeps points: PostgreSQL with pgvector, or where it may be put in."""
    if not isinstance(database, PostgresDatabase):
        return False
    if _schema_of_vectors(database):
        return True
    try:
        with database.write() as session:
            session.run("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except StoreError:
        return False
    return True


class Points:
    """Points of articles, for one model.

    Parameters
    ----------
    database : PostgresDatabase
        One that :func:`has_vectors` is true of.
    model : str
        A name for the model, of letters and digits; points of different models lie in different tables.
    dims : int
        Dimensions of the space.
    """

    def __init__(self, database: PostgresDatabase, model: str, dims: int) -> None:
        if not model.isalnum():
            raise StoreError(f"points are asked for of a model {model!r}; expected letters and digits")
        self.database, self.table = database, f"point_{model}"
        within = _schema_of_vectors(database)
        self._type, self._product = f"{within}.vector", f"OPERATOR({within}.<#>)"
        with database.write() as session:
            session.run(
                f"CREATE TABLE IF NOT EXISTS {self.table} (article BIGINT PRIMARY KEY "
                "REFERENCES article (seq) ON DELETE CASCADE, lang TEXT NOT NULL, time BIGINT NOT NULL, "
                f"place {self._type}({dims}) NOT NULL)"
            )
            session.run(f"CREATE INDEX IF NOT EXISTS {self.table}_lang ON {self.table} (lang, time)")

    def take_turn(self, session: Session) -> bool:
        """Whether nobody else puts points in until the transaction ends."""
        ((mine,),) = session.run("SELECT pg_try_advisory_xact_lock(hashtext(?))", [self.table])
        return bool(mine)

    def position(self, session: Session) -> int:
        """The line of the journal up to which articles are in."""
        return position(session, self.table)

    def put(self, session: Session, points: Sequence[Point], looked_at: Sequence[int], line: int) -> None:
        """Have points of articles in the place of what they were, up to a line of the journal.

        Of articles that were looked at, those that have no point any more go.
        """
        gone = sorted(set(looked_at) - {point.article for point in points})
        session.run(f"DELETE FROM {self.table} WHERE article = ANY(?)", [gone])
        session.run(
            f"INSERT INTO {self.table} SELECT t.article, t.lang, t.time, t.place::{self._type} "
            "FROM unnest(?::bigint[], ?::text[], ?::bigint[], ?::text[]) AS t (article, lang, time, place) "
            "JOIN article a ON a.seq = t.article ON CONFLICT (article) DO UPDATE SET "
            "lang = excluded.lang, time = excluded.time, place = excluded.place",
            [list(column) for column in zip(*((*p[:3], _text(p.at)) for p in points), strict=True)]
            or [[], [], [], []],
        )
        session.run(PUT_PROGRESS, [self.table, line])

    def forget(self, *, before: int | None, most: int) -> None:
        """Let go of articles from before a time in microseconds, and of all but the newest so many."""
        with self.database.write_beside() as session:
            if before is not None:
                session.run(f"DELETE FROM {self.table} WHERE time < ?", [before])
            session.run(
                f"DELETE FROM {self.table} WHERE article <= "
                f"(SELECT article FROM {self.table} ORDER BY article DESC OFFSET ? LIMIT 1)",
                [most],
            )

    def nearest(
        self,
        point: NDArray[np.float32],
        k: int,
        languages: Sequence[str],
        *,
        since: int | None = None,
        until: int | None = None,
    ) -> list[Point]:
        """The nearest articles of each language by inner products, in no order."""
        query = _text(point)
        with self.database.read() as session:
            rows = session.run(
                "SELECT p.article, p.lang, p.time, p.place::real[] FROM unnest(?::text[]) AS w (lang) "
                f"CROSS JOIN LATERAL (SELECT o.article FROM {self.table} o "
                "WHERE o.lang = w.lang AND o.time >= ? AND o.time < ? "
                f"ORDER BY o.place {self._product} ?::{self._type} LIMIT ?) n "
                f"JOIN {self.table} p ON p.article = n.article",
                [
                    sorted(set(languages)),
                    -_LONG if since is None else since,
                    _LONG if until is None else until,
                    query,
                    k,
                ],
            )
        return [Point(article, lang, time, np.array(at, np.float32)) for article, lang, time, at in rows]

    def __len__(self) -> int:
        with self.database.read() as session:
            ((n,),) = session.run(f"SELECT count(*) FROM {self.table}")
        return int(n)


def _schema_of_vectors(database: PostgresDatabase) -> str:
    """The schema that pgvector is in; none where it is not there."""
    with database.read() as session:
        row = session.one(
            "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        )
    return str(row[0]) if row else ""


def _text(point: NDArray[np.float32]) -> str:
    """A point as pgvector reads it, to the last bit."""
    return f"[{','.join(map(str, point.tolist()))}]"
