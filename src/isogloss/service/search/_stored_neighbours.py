"""Articles near a text, looked for by the database instead of in memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from isogloss.service.models import Models
from isogloss.service.search._neighbours import AGAIN, PART, Near, Neighbours, located
from isogloss.service.settings import Settings
from isogloss.similarity import DocumentModel
from isogloss.store import Store, to_micros
from isogloss.store.queries import Point, PointTable, has_pgvector, read_journal

__all__ = ["StoredNeighbours", "neighbours_of"]

_NAME = 16
"""Digits of the digest of a model that name it."""


class StoredNeighbours(Neighbours):
    """The articles of a store, to be found by meaning, in PostgreSQL with pgvector.

    Of several services on one database one at a time puts articles in, and all of them find them.

    Parameters
    ----------
    store, model, most
        See :class:`~isogloss.service.search.Neighbours`.
    points : PointTable
        Where they are kept.
    """

    def __init__(
        self, store: Store, model: DocumentModel, points: PointTable, *, most: int = 200_000
    ) -> None:
        super().__init__(store, model, most=most)
        self.points, self._held = points, 0

    def catch_up(self) -> int:
        """Read the next part of the journal, unless somebody else is at it; how many lines there were."""
        assert self.model is not None
        with self.store.database.write_concurrently() as session:
            if not self.points.try_lock(session):
                return 0
            entries = read_journal(session, max(self.points.position(session), self.line), PART)
            if entries:
                newest = {entry.number: entry.article for entry in entries if entry.article is not None}
                points = [
                    Point(number, lang, int(when), at)
                    for lang, numbers, places, times in located(self.model, newest)
                    for number, at, when in zip(numbers, places, times, strict=True)
                ]
                self.points.replace(session, points, list(newest), entries[-1].seq)
        return len(entries)

    def nearest(
        self,
        point: NDArray[np.float32],
        k: int,
        *,
        languages: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Near]:
        """The nearest articles of each language, the nearest first."""
        if not np.any(point):
            return []
        found = self.points.nearest(
            point,
            k,
            self.points.languages if languages is None else languages,
            since=None if since is None else to_micros(since),
            until=None if until is None else to_micros(until),
        )
        exact = point.astype(np.float64)
        near = [
            Near(one.lang, one.article, float(one.vector.astype(np.float64) @ exact), one.vector)
            for one in found
        ]
        return sorted(near, key=lambda each: (-each.similarity, each.seq))

    def __len__(self) -> int:
        return self._held

    def trim(self) -> None:
        """Drop the oldest articles when there are too many, and count the others.

        Points of articles that are pruned from the store go with them.
        """
        if time.monotonic() < self._looked + AGAIN:
            return
        self._looked = time.monotonic()
        self.points.trim(self.most)
        self._held = len(self.points)


def neighbours_of(store: Store, models: Models, settings: Settings) -> Neighbours:
    """Where the settings and the database want articles to be looked for."""
    model = models.similarity
    most = settings.stream.max_articles
    if model is None or not settings.models.nearest_in_database or not has_pgvector(store.database):
        return Neighbours(store, model, most=most)
    points = PointTable(store.database, models.digest[:_NAME] or "unnamed", models.width, model.languages)
    return StoredNeighbours(store, model, points, most=most)
