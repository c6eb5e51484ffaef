"""Articles as points of the common space: an index that follows the journal.

It starts empty, reads the end of the journal in a thread of its own, and then whatever comes. Nothing of it
is kept: the journal has it all.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events import Article
from isogloss.service._background import Background
from isogloss.similarity import DocumentModel, Index, search_each
from isogloss.store import DELETED_TALLY, PRUNED_TALLY, Store, to_micros

__all__ = ["Located", "Near", "Neighbours", "located"]

logger = logging.getLogger(__name__)

PART = 200
PAUSE = 0.5
SEGMENT = 1 << 15
"""Articles that a search looks at in one go: between two, it may wait for other threads."""

AGAIN = 10.0
"""Seconds between two looks at what was deleted from the store."""

SLACK = 1.05
"""How far the index grows beyond its bound before the oldest articles go, many at a time."""


class Near(NamedTuple):
    """An article that is near: its language, number and cosine, and where it is."""

    lang: str
    seq: int
    similarity: float
    point: NDArray[np.float32]


class Located(NamedTuple):
    """Articles of a language by their numbers, where they are and when they are from."""

    lang: str
    numbers: list[int]
    points: NDArray[np.float32]
    times: list[float]


class Neighbours(Background):
    """The articles of a store, to be found by meaning.

    Memory: bounded by the number of articles, four bytes for each of their dimensions.

    Parameters
    ----------
    store : Store
        Whose articles.
    model : DocumentModel or None
        What projects them; without one nothing is ever found.
    most : int
        Articles that are held; the ones that came last.
    """

    def __init__(self, store: Store, model: DocumentModel | None, *, most: int = 200_000) -> None:
        super().__init__("isogloss-neighbours")
        self.store, self.model, self.most = store, model, most
        self.line = 0
        self._looked, self._pruned = -AGAIN, 0
        self._indexes: dict[str, Index] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Follow the journal in a thread."""
        if self.model is not None:
            self.line = max(self.line, self.store.last_line() - self.most)
            super().start()

    def catch_up(self) -> int:
        """Read the next part of the journal; how many lines there were."""
        entries = self.store.journal(self.line, PART)
        newest = {entry.number: entry.article for entry in entries if entry.article is not None}
        if newest and self.model is not None:
            self._put(list(newest), located(self.model, newest))
        if entries:
            self.line = entries[-1].seq
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
        with self._lock:
            asked = sorted(self._indexes if languages is None else set(languages) & set(self._indexes))
            best = search_each(
                [self._indexes[lang] for lang in asked],
                point,
                k,
                since=None if since is None else float(to_micros(since)),
                until=None if until is None else float(to_micros(until)),
            )
        found = [
            Near(lang, seq, score, vector)
            for lang, (scores, ids, vectors) in zip(asked, best, strict=True)
            for seq, score, vector in zip(ids.tolist(), scores.tolist(), vectors, strict=True)
        ]
        return sorted(found, key=lambda near: (-near.similarity, near.seq))

    def __len__(self) -> int:
        return sum(map(len, self._indexes.values()))

    def _put(self, numbers: list[int], found: list[Located]) -> None:
        """Have articles in the place of what they were before, perhaps in another language."""
        with self._lock:
            for index in self._indexes.values():
                index.remove(numbers)
            for lang, own, points, times in found:
                if lang not in self._indexes:
                    self._indexes[lang] = Index(points.shape[1], segment=SEGMENT)
                self._indexes[lang].add(own, points, times)

    def run(self) -> None:
        """Follow the journal, as long as nothing says to stop."""
        while not self._stop.is_set():
            try:
                if self.catch_up() == PART:
                    continue
                self.trim()
            except Exception:
                logger.exception("articles could not be put into the index; trying again")
            self._stop.wait(PAUSE)

    def trim(self) -> None:
        """Drop articles that are no longer in the store, and the oldest when there are too many."""
        if time.monotonic() >= self._looked + AGAIN:
            self._looked = time.monotonic()
            self._drop_pruned()
        if len(self) > SLACK * self.most:
            numbers = np.sort(self._numbers())
            self._remove(numbers[: len(numbers) - self.most])

    def _drop_pruned(self) -> None:
        tallies = self.store.tallies()
        pruned = tallies.get(PRUNED_TALLY, 0) + tallies.get(DELETED_TALLY, 0)
        if pruned == self._pruned:
            return
        numbers = self._numbers()
        if len(numbers):
            self._remove(np.setdiff1d(numbers, self.store.article_numbers_from(int(numbers.min()))))
        self._pruned = pruned

    def _numbers(self) -> NDArray[np.int64]:
        """Numbers of all articles of the index."""
        found = [index.ids for index in self._indexes.values()]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _remove(self, numbers: NDArray[np.int64]) -> None:
        with self._lock:
            for index in self._indexes.values():
                index.remove(numbers)


def located(model: DocumentModel, articles: Mapping[int, Article]) -> list[Located]:
    """Articles in the common space, by language; a model may not know the language of some."""
    by_language: dict[str, dict[int, Article]] = defaultdict(dict)
    for number, article in articles.items():
        by_language[article.lang][number] = article
    return [_of_one(model, lang, by_language[lang]) for lang in model.languages if lang in by_language]


def _of_one(model: DocumentModel, lang: str, articles: Mapping[int, Article]) -> Located:
    times = [float(to_micros(article.time)) for article in articles.values()]
    points = model.project([article.text for article in articles.values()], lang)
    return Located(lang, list(articles), points, times)
