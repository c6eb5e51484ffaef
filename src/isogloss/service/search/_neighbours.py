"""Search for the articles nearest to a text in the meaning space, in memory or in PostgreSQL with pgvector.

Both indexes read the points that the worker stored, in a background thread. The index in memory starts empty;
the table of pgvector is filled once for all services of a database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.extras import has_module
from isogloss.service._background import BackgroundThread
from isogloss.service.models import Models, SimilarityModel
from isogloss.service.settings import Settings
from isogloss.similarity import (
    CrossLingualSearch,
    GraphIndex,
    HubnessSample,
    Index,
    NearRows,
    SearchCandidates,
)
from isogloss.similarity.index import NO_CORRECTION, candidate_count
from isogloss.store import DELETED_TALLY, PRUNED_TALLY, Store, to_micros
from isogloss.store.queries import Point, PointTable, first_point, has_pgvector, read_points

logger = logging.getLogger(__name__)

BATCH_POINTS = 1_000
"""Points that are read at once."""

POLL_INTERVAL_S = 0.5
"""Seconds between two polls for new points."""

SEGMENT_ARTICLES = 1 << 15
"""Articles that a search examines in one go; between two segments other threads may run."""

TRIM_INTERVAL_S = 10.0
"""Seconds between two checks for deleted articles."""

MAX_OVERFLOW = 1.05
"""How far the index grows beyond its bound before the oldest articles are removed, many at a time."""


GRAPH_ARTICLES = 300_000
"""Articles of a language from which on an index in memory is a graph, which misses few and is faster."""

SAMPLE_INTERVAL_S = 60.0
"""Seconds between two samples of the articles of a database, which CSLS needs."""


class ArticleNeighbour(NamedTuple):
    """A near article: its language, number, cosine and point, and the cosine as CSLS corrects it."""

    lang: str
    seq: int
    similarity: float
    point: NDArray[np.float32]
    corrected: float


class NeighbourIndex(BackgroundThread):
    """An index of articles by meaning, in memory.

    Exact, or for languages with many articles a graph (:class:`~isogloss.similarity.GraphIndex`) where faiss
    is installed. Memory: bounded by the number of articles, four bytes for each dimension of a point. The
    newest articles are kept. ``model`` is the fingerprint of the similarity model; without one the index is
    empty. ``csls``: see :class:`~isogloss.similarity.CrossLingualSearch`; 0 for the order of cosines.
    """

    def __init__(self, store: Store, model: str, *, max_articles: int = 200_000, csls: int = 10) -> None:
        super().__init__("isogloss-neighbours")
        self.store, self.model, self.max_articles = store, model, max_articles
        self.position = 0
        self._trimmed_at, self._deleted = -TRIM_INTERVAL_S, 0
        self._indexes: dict[str, Index | GraphIndex] = {}
        self._search = CrossLingualSearch(self._indexes, neighbours=csls)
        self._lock = threading.Lock()

    def start(self) -> None:
        """Follow the stored points in a thread."""
        if self.model:
            with self.store.database.read() as session:
                first = first_point(session, self.model, self.max_articles)
            self.position = max(self.position, first - 1)
            super().start()

    def catch_up(self) -> int:
        """Add the next stored points; return their number."""
        if not self.model:
            return 0
        with self.store.database.read() as session:
            position, points = read_points(session, self.model, self.position, BATCH_POINTS)
        self._replace(points)
        self.position = position
        return len(points)

    def nearest(
        self,
        point: NDArray[np.float32],
        k: int,
        *,
        lang: str = "",
        languages: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[ArticleNeighbour]:
        """Return the k nearest articles of each language to a point of a language, the nearest first."""
        if not np.any(point):
            return []
        with self._lock:
            found = self._search.collect(
                point,
                lang,
                k,
                languages=languages,
                since=None if since is None else float(to_micros(since)),
                until=None if until is None else float(to_micros(until)),
            )
        return _best(found, k)

    def __len__(self) -> int:
        return sum(map(len, self._indexes.values()))

    def run(self) -> None:
        """Follow the stored points until the thread is stopped."""
        while not self._stop.is_set():
            try:
                more = self.catch_up() == BATCH_POINTS
                self.trim()
                self.make_graphs()
                if more:
                    continue
            except Exception:
                logger.exception("cannot update the index of articles; trying again")
            self._stop.wait(POLL_INTERVAL_S)

    def trim(self) -> None:
        """Remove articles that were deleted from the store, and the oldest if there are too many."""
        if time.monotonic() >= self._trimmed_at + TRIM_INTERVAL_S:
            self._trimmed_at = time.monotonic()
            self._remove_deleted()
        if len(self) > MAX_OVERFLOW * self.max_articles:
            numbers = np.sort(self._numbers())
            self._remove(numbers[: len(numbers) - self.max_articles])

    def make_graphs(self) -> None:
        """Replace the exact indexes of large languages by graphs, if faiss is installed.

        Only the thread that adds articles calls this, so nothing changes while a graph is built, and searches
        go on in the index that it replaces.
        """
        large = [
            lang
            for lang, index in self._indexes.items()
            if isinstance(index, Index) and len(index) >= GRAPH_ARTICLES and has_module("faiss")
        ]
        for lang in large:
            index, start = self._indexes[lang], time.monotonic()
            state = index.arrays()
            graph = GraphIndex(index.dims).add(state["ids"], state["vectors"], state["times"])
            with self._lock:
                self._indexes[lang] = graph
            took = time.monotonic() - start
            logger.info("made a graph of %d articles in %s in %.0f s", len(graph), lang, took)

    def _replace(self, points: list[Point]) -> None:
        """Replace the points of articles, which may have another language than before, or none."""
        numbers = [point.article for point in points]
        by_language: dict[str, list[Point]] = defaultdict(list)
        for point in points:
            if point.vector.size:
                by_language[point.lang].append(point)
        with self._lock:
            for index in self._indexes.values():
                index.remove(numbers)
            for lang, own in by_language.items():
                if lang not in self._indexes:
                    self._indexes[lang] = Index(len(own[0].vector), segment=SEGMENT_ARTICLES)
                vectors = np.stack([point.vector for point in own])
                times = [float(point.time) for point in own]
                self._indexes[lang].add([point.article for point in own], vectors, times)

    def _remove_deleted(self) -> None:
        tallies = self.store.tallies()
        deleted = tallies.get(PRUNED_TALLY, 0) + tallies.get(DELETED_TALLY, 0)
        if deleted == self._deleted:
            return
        numbers = self._numbers()
        if len(numbers):
            self._remove(np.setdiff1d(numbers, self.store.article_numbers_from(int(numbers.min()))))
        self._deleted = deleted

    def _numbers(self) -> NDArray[np.int64]:
        """Return the numbers of all articles of the index."""
        found = [index.ids for index in self._indexes.values()]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _remove(self, numbers: NDArray[np.int64]) -> None:
        with self._lock:
            for index in self._indexes.values():
                index.remove(numbers)


class PgvectorIndex(NeighbourIndex):
    """An index of articles by meaning, in PostgreSQL with pgvector.

    Of several services on one database one at a time adds articles, and all of them search. Parameters are
    those of :class:`NeighbourIndex`.
    """

    def __init__(
        self, store: Store, model: str, points: PointTable, *, max_articles: int = 200_000, csls: int = 10
    ) -> None:
        super().__init__(store, model, max_articles=max_articles, csls=csls)
        self.points, self.csls, self._count = points, csls, 0
        self._sampled_at, self._samples = -SAMPLE_INTERVAL_S, dict[str, HubnessSample]()

    def catch_up(self) -> int:
        """Add the next stored points, unless another service does; return their number."""
        with self.store.database.write_concurrently() as session:
            if not self.points.try_lock(session):
                return 0
            after = max(self.points.position(session), self.position)
            position, points = read_points(session, self.model, after, BATCH_POINTS)
            if points:
                self.points.replace(session, points, position)
        return len(points)

    def nearest(
        self,
        point: NDArray[np.float32],
        k: int,
        *,
        lang: str = "",
        languages: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[ArticleNeighbour]:
        """Return the k nearest articles of each language to a point of a language, the nearest first."""
        if not np.any(point):
            return []
        sample = self._samples.get(lang, NO_CORRECTION)
        found = self.points.nearest(
            point,
            candidate_count(k) if sample.neighbours else k,
            self.points.languages if languages is None else languages,
            since=None if since is None else to_micros(since),
            until=None if until is None else to_micros(until),
        )
        return _best(SearchCandidates(_as_rows(found, point), sample), k)

    def __len__(self) -> int:
        return self._count

    def trim(self) -> None:
        """Remove the oldest articles if there are too many, count the others, and now and then sample them.

        The points of deleted articles are deleted by the database.
        """
        if time.monotonic() < self._trimmed_at + TRIM_INTERVAL_S:
            return
        self._trimmed_at = time.monotonic()
        self.points.trim(self.max_articles)
        self._count = len(self.points)
        if self.csls and time.monotonic() >= self._sampled_at + SAMPLE_INTERVAL_S:
            self._sampled_at = time.monotonic()
            self._samples = {
                lang: HubnessSample.draw(ids, partial(self.points.vectors, lang), neighbours=self.csls)
                for lang, ids in self.points.articles().items()
            }


def create_neighbour_index(store: Store, models: Models, settings: Settings) -> NeighbourIndex:
    """Create the index in the database if the settings and the database allow it, else in memory."""
    model, max_articles = models.similarity, settings.stream.max_articles
    fingerprint = SimilarityModel(model, digest=models.digest).fingerprint
    if model is None or not settings.models.nearest_in_database or not has_pgvector(store.database):
        known = fingerprint if model is not None else ""
        return NeighbourIndex(store, known, max_articles=max_articles, csls=settings.models.csls)
    points = PointTable(store.database, fingerprint, models.width, model.languages)
    return PgvectorIndex(store, fingerprint, points, max_articles=max_articles, csls=settings.models.csls)


def _as_rows(points: Sequence[Point], query: NDArray[np.float32]) -> dict[str, NearRows]:
    """Group points that a database found by language, with their exact inner products."""
    by_language: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        by_language[point.lang].append(point)
    rows, exact = {}, query.astype(np.float64)
    for lang, own in sorted(by_language.items()):
        vectors = np.stack([point.vector for point in own])
        ids = np.array([point.article for point in own], dtype=np.int64)
        scores = np.array([float(vector.astype(np.float64) @ exact) for vector in vectors])
        rows[lang] = NearRows(scores, ids, vectors)
    return rows


def _best(found: SearchCandidates, k: int) -> list[ArticleNeighbour]:
    """Return the best of each language, all of them in one order."""
    near = [
        ArticleNeighbour(lang, seq, score, vector, corrected)
        for lang, rows in found.best(k).items()
        for seq, score, vector, corrected in zip(
            rows.ids.tolist(), rows.scores.tolist(), rows.vectors, rows.corrected.tolist(), strict=True
        )
    ]
    return sorted(near, key=lambda each: (-each.corrected, each.seq))
