"""Points of articles in the meaning space: as the worker stored them, and as a pgvector table.

The worker stores a point with every article that it processes. Services read the stored points in order, into
an index in memory or into a table of pgvector, which is searched exactly, without a pgvector index.
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

_MAX_INLINE_DIMS = 1_900
"""A vector of more dimensions does not fit into a page of the server."""

_MAX_DEAD_SHARE = 0.05
"""The share of deleted rows at which autovacuum starts."""

_SAMPLE_PERCENT, _SAMPLE_PERCENT_PER_NEIGHBOUR, _MAX_SAMPLE_PERCENT = 2.0, 0.05, 20.0
"""The percentage of points that is sampled to bound the distance of the k-th neighbour."""


class Point(NamedTuple):
    """A point: the article's number, language, time in microseconds and vector, which may be empty."""

    article: int
    lang: str
    time: int
    vector: NDArray[np.float32]


def read_points(session: Session, model: str, after: int, limit: int) -> tuple[int, list[Point]]:
    """Return stored points of a model after a serial number, and the serial number of the last one."""
    rows = session.run(
        "SELECT p.seq, p.article, p.lang, a.time, p.vector FROM article_point p "
        "JOIN article a ON a.seq = p.article WHERE p.model = ? AND p.seq > ? ORDER BY p.seq LIMIT ?",
        [model, after, limit],
    )
    points = [
        Point(article, lang, time, np.frombuffer(vector, "<f4").astype(np.float32))
        for _, article, lang, time, vector in rows
    ]
    return (int(rows[-1][0]) if rows else after), points


def first_point(session: Session, model: str, max_points: int) -> int:
    """Return the lowest serial number of the points of the newest articles; 0 if there are none.

    Points of older articles may have higher numbers, since missing points are stored from new to old.
    """
    row = session.one(
        "SELECT min(seq) FROM "
        "(SELECT seq FROM article_point WHERE model = ? ORDER BY article DESC LIMIT ?) AS newest",
        [model, max_points],
    )
    return int(row[0]) if row and row[0] is not None else 0


def articles_without_point(session: Session, model: str, before: int, limit: int) -> list[int]:
    """Return articles of clusters that have no point of a model, the newest first, below a number."""
    rows = session.run(
        "SELECT m.article FROM member m LEFT JOIN article_point p ON p.article = m.article AND p.model = ? "
        "WHERE m.article < ? AND p.article IS NULL ORDER BY m.article DESC LIMIT ?",
        [model, before, limit],
    )
    return [int(article) for (article,) in rows]


def has_pgvector(database: Database) -> TypeGuard[PostgresDatabase]:
    """Return whether a database is PostgreSQL with pgvector; try to create the extension."""
    if not isinstance(database, PostgresDatabase):
        return False
    if _pgvector_schema(database):
        return True
    try:
        with database.write() as session:
            session.run("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except StoreError:
        return False
    return True


class PointTable:
    """The vectors of articles under one model, partitioned by language.

    The name of the model has letters and digits; each model has its own table. A table with other languages
    or dimensions is dropped, and filled again from the stored points.
    """

    def __init__(self, database: PostgresDatabase, model: str, dims: int, languages: Sequence[str]) -> None:
        if not model.isalnum():
            raise StoreError(f"the model is {model!r}; expected a name of letters and digits")
        self.database, self.table, self.languages = database, f"point_{model}", sorted({*languages})
        self._vector_schema = _pgvector_schema(database)
        layout = hashlib.sha256(json.dumps([dims, self.languages, "article_point"]).encode()).hexdigest()
        with database.write() as session:
            found = session.one("SELECT obj_description(to_regclass(?), 'pg_class')", [self.table])
            if not found or found[0] != layout:
                self._create(session, dims, layout)

    def _create(self, session: Session, dims: int, layout: str) -> None:
        """Create the table and its partitions, instead of any that exist."""
        session.run(f"DROP TABLE IF EXISTS {self.table}")
        session.run("DELETE FROM progress WHERE name = ?", [self.table])
        session.run(
            f"CREATE TABLE {self.table} (article BIGINT NOT NULL REFERENCES article (seq) ON DELETE CASCADE, "
            "time BIGINT NOT NULL, lang SMALLINT NOT NULL, "
            f"place {self._vector_schema}.vector({dims}) NOT NULL, "
            "PRIMARY KEY (article, lang)) PARTITION BY LIST (lang)"
        )
        if dims <= _MAX_INLINE_DIMS:
            session.run(f"ALTER TABLE {self.table} ALTER place SET STORAGE PLAIN")
        for number in range(len(self.languages)):
            session.run(
                f"CREATE TABLE {self.table}_{number} PARTITION OF {self.table} FOR VALUES IN ({number}) "
                f"WITH (autovacuum_vacuum_scale_factor = {_MAX_DEAD_SHARE})"
            )
        session.run(f"COMMENT ON TABLE {self.table} IS '{layout}'")

    def try_lock(self, session: Session) -> bool:
        """Try to become the only writer until the transaction ends; return whether that succeeded."""
        ((acquired,),) = session.run("SELECT pg_try_advisory_xact_lock(hashtext(?))", [self.table])
        return bool(acquired)

    def position(self, session: Session) -> int:
        """Return the serial number of the last stored point that was added."""
        row = session.one("SELECT seq FROM progress WHERE name = ?", [self.table])
        return int(row[0]) if row else 0

    def replace(self, session: Session, points: Sequence[Point], position: int) -> None:
        """Replace the points of articles, and advance to a serial number of stored points.

        Articles with an empty vector lose the point they had.
        """
        numbers = sorted({point.article for point in points})
        session.run(f"DELETE FROM {self.table} WHERE article = ANY(?)", [numbers])
        points = [point for point in points if point.vector.size]
        session.run(
            f"INSERT INTO {self.table} "
            f"SELECT t.article, t.time, t.lang, t.place::{self._vector_schema}.vector FROM "
            "unnest(?::bigint[], ?::bigint[], ?::smallint[], ?::text[]) AS t (article, time, lang, place) "
            "JOIN article a ON a.seq = t.article",
            [
                [point.article for point in points],
                [point.time for point in points],
                [self.languages.index(point.lang) for point in points],
                [_vector_text(point.vector) for point in points],
            ],
        )
        session.run(
            "INSERT INTO progress VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq",
            [self.table, position],
        )

    def trim(self, max_articles: int) -> None:
        """Delete all points except those of the newest articles."""
        with self.database.write_concurrently() as session:
            session.run(
                f"DELETE FROM {self.table} WHERE article <= "
                f"(SELECT article FROM {self.table} ORDER BY article DESC OFFSET ? LIMIT 1)",
                [max_articles],
            )

    def articles(self) -> dict[str, NDArray[np.int64]]:
        """Return the articles of each language."""
        with self.database.read() as session:
            rows = session.run(f"SELECT lang, array_agg(article) FROM {self.table} GROUP BY lang")
        return {self.languages[lang]: np.array(articles, dtype=np.int64) for lang, articles in rows}

    def vectors(self, lang: str, articles: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of articles of a language that are still there, in the order of articles."""
        with self.database.read() as session:
            rows = session.run(
                f"SELECT {self._vector_schema}.vector_send(place) FROM {self.table} "
                "WHERE lang = ? AND article = ANY(?) ORDER BY article",
                [self.languages.index(lang), articles.tolist()],
            )
        return np.array([_received(sent) for (sent,) in rows], dtype=np.float32)

    def nearest(
        self,
        vector: NDArray[np.float32],
        k: int,
        languages: Sequence[str],
        *,
        since: int | None = None,
        until: int | None = None,
    ) -> list[Point]:
        """Return the k articles of each language with the largest inner products, unordered."""
        asked = [number for number, lang in enumerate(self.languages) if lang in languages]
        span = {"o.time >= ?": since, "o.time < ?": until}
        bounds = {condition: value for condition, value in span.items() if value is not None}
        percent = min(_SAMPLE_PERCENT + _SAMPLE_PERCENT_PER_NEIGHBOUR * k, _MAX_SAMPLE_PERCENT)
        with self.database.read() as session:
            rows = session.run(
                self._nearest_sql(["o.lang = w.lang", *bounds]),
                [asked, _vector_text(vector), *bounds.values(), percent, *bounds.values(), k - 1, k],
            )
        return [
            Point(article, self.languages[lang], time, _received(sent)) for article, lang, time, sent in rows
        ]

    def _nearest_sql(self, conditions: Sequence[str]) -> str:
        """Return the query for the nearest points, which reads all points and sorts few.

        The k-th nearest of a random sample is no nearer than the k-th nearest of all, so points beyond it
        need not be sorted.
        """
        where, distance = " AND ".join(conditions), f"o.place OPERATOR({self._vector_schema}.<#>) q.at"
        return (
            f"SELECT n.article, n.lang, n.time, {self._vector_schema}.vector_send(n.place) "
            "FROM unnest(?::smallint[]) AS w (lang) "
            f"CROSS JOIN (SELECT ?::{self._vector_schema}.vector AS at) q "
            f"CROSS JOIN LATERAL (SELECT o.* FROM {self.table} o WHERE {where} AND {distance} <= coalesce("
            f"(SELECT {distance} FROM {self.table} o TABLESAMPLE SYSTEM (?) WHERE {where} "
            f"ORDER BY 1 OFFSET ? LIMIT 1), 'Infinity') ORDER BY {distance}, o.article LIMIT ?) n"
        )

    def __len__(self) -> int:
        with self.database.read() as session:
            ((n,),) = session.run(f"SELECT count(*) FROM {self.table}")
        return int(n)


def _pgvector_schema(database: PostgresDatabase) -> str:
    """Return the schema of pgvector; an empty string if it is not installed."""
    with database.read() as session:
        row = session.one(
            "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        )
    return str(row[0]) if row else ""


def _received(sent: bytes) -> NDArray[np.float32]:
    """Read a vector as pgvector sends it."""
    return np.frombuffer(sent, ">f4", offset=4).astype(np.float32)


def _vector_text(vector: NDArray[np.float32]) -> str:
    """Format a vector for pgvector without loss."""
    return f"[{','.join(map(str, vector.tolist()))}]"
