"""Where articles are in a common space, in PostgreSQL with pgvector.

Every article is put in once, whichever of several services does it, and is there after a restart; the server
looks for the nearest, at all of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import StoreError
from isogloss.store.interface import Database, Session
from isogloss.store.postgres import PostgresDatabase
from isogloss.store.queries._projection import PUT_PROGRESS, position

__all__ = ["Point", "Points", "has_vectors"]

_IN_ROW = 1_900
"""Dimensions of a point that fits into a page of the server."""

_DEAD = 0.05
"""The share of points that are gone but still looked at, from which on the server cleans up."""

_DRAWN, _DRAWN_MORE, _DRAWN_MOST = 2.0, 0.05, 20.0
"""Of 100 points, those that are drawn at random: so many, more for each neighbour, and at most."""


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
    """Points of articles, for one model; those of a language are in a table of their own.

    Parameters
    ----------
    database : PostgresDatabase
        One that :func:`has_vectors` is true of.
    model : str
        A name for the model, of letters and digits; points of different models lie in different tables.
    dims : int
        Dimensions of the space.
    languages : sequence of str
        All that points may have. Points of other languages or dimensions, which an older isogloss or a model
        without a name has left, are dropped, to be made anew from the journal.
    """

    def __init__(self, database: PostgresDatabase, model: str, dims: int, languages: Sequence[str]) -> None:
        if not model.isalnum():
            raise StoreError(f"points are asked for of a model {model!r}; expected letters and digits")
        self.database, self.table, self.languages = database, f"point_{model}", sorted({*languages})
        self._within = _schema_of_vectors(database)
        layout = hashlib.sha256(json.dumps([dims, self.languages]).encode()).hexdigest()
        with database.write() as session:
            found = session.one("SELECT obj_description(to_regclass(?), 'pg_class')", [self.table])
            if not found or found[0] != layout:
                self._make(session, dims, layout)

    def _make(self, session: Session, dims: int, layout: str) -> None:
        """Empty tables in the place of others."""
        session.run(f"DROP TABLE IF EXISTS {self.table}")
        session.run("DELETE FROM progress WHERE name = ?", [self.table])
        session.run(
            f"CREATE TABLE {self.table} (article BIGINT NOT NULL REFERENCES article (seq) ON DELETE CASCADE, "
            f"time BIGINT NOT NULL, lang SMALLINT NOT NULL, place {self._within}.vector({dims}) NOT NULL, "
            "PRIMARY KEY (article, lang)) PARTITION BY LIST (lang)"
        )
        if dims <= _IN_ROW:
            session.run(f"ALTER TABLE {self.table} ALTER place SET STORAGE PLAIN")
        for number in range(len(self.languages)):
            session.run(
                f"CREATE TABLE {self.table}_{number} PARTITION OF {self.table} FOR VALUES IN ({number}) "
                f"WITH (autovacuum_vacuum_scale_factor = {_DEAD})"
            )
        session.run(f"COMMENT ON TABLE {self.table} IS '{layout}'")

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
        session.run(f"DELETE FROM {self.table} WHERE article = ANY(?)", [sorted({*looked_at})])
        session.run(
            f"INSERT INTO {self.table} SELECT t.article, t.time, t.lang, t.place::{self._within}.vector FROM "
            "unnest(?::bigint[], ?::bigint[], ?::smallint[], ?::text[]) AS t (article, time, lang, place) "
            "JOIN article a ON a.seq = t.article",
            [
                [point.article for point in points],
                [point.time for point in points],
                [self.languages.index(point.lang) for point in points],
                [_text(point.at) for point in points],
            ],
        )
        session.run(PUT_PROGRESS, [self.table, line])

    def trim(self, most: int) -> None:
        """Delete all points but those of the newest so many articles."""
        with self.database.write_beside() as session:
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
        asked = [number for number, lang in enumerate(self.languages) if lang in languages]
        span = {"o.time >= ?": since, "o.time < ?": until}
        bounds = {condition: value for condition, value in span.items() if value is not None}
        drawn = min(_DRAWN + _DRAWN_MORE * k, _DRAWN_MOST)
        with self.database.read() as session:
            rows = session.run(
                self._question(["o.lang = w.lang", *bounds]),
                [asked, _text(point), *bounds.values(), drawn, *bounds.values(), k - 1, k],
            )
        return [
            Point(
                article, self.languages[lang], time, np.frombuffer(sent, ">f4", offset=4).astype(np.float32)
            )
            for article, lang, time, sent in rows
        ]

    def _question(self, conditions: Sequence[str]) -> str:
        """The statement that finds the nearest points: all are looked at, and few are sorted.

        The k-th nearest of some points that are drawn at random is no nearer than the k-th of all, so that
        points that are farther away than that one need no place in an order.
        """
        where, apart = " AND ".join(conditions), f"o.place OPERATOR({self._within}.<#>) q.at"
        return (
            f"SELECT n.article, n.lang, n.time, {self._within}.vector_send(n.place) "
            f"FROM unnest(?::smallint[]) AS w (lang) CROSS JOIN (SELECT ?::{self._within}.vector AS at) q "
            f"CROSS JOIN LATERAL (SELECT o.* FROM {self.table} o WHERE {where} AND {apart} <= coalesce("
            f"(SELECT {apart} FROM {self.table} o TABLESAMPLE SYSTEM (?) WHERE {where} "
            f"ORDER BY 1 OFFSET ? LIMIT 1), 'Infinity') ORDER BY {apart}, o.article LIMIT ?) n"
        )

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
