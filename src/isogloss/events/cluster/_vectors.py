r"""Sparse tf-idf vectors over a sliding window of the stream.

The weight of a term is :math:`\log\frac{N + n_0}{DF}`, with N the articles of its language in the last
days, DF those of them with the term, and :math:`n_0` a pseudo-count that gives the first articles of a stream
meaningful weights. In a body the weight is raised to a power, because common words make up more of it. The
vectors of title and body are normalised and then added, so that both count however long the body is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import date
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.events.cluster._terms import N_TERMS, Ids, Terms, Weights
from isogloss.kernels import add_sparse, dot_each, dot_sparse, weigh_article

MAX_DICT_TERMS = 1 << 12
"""Terms at which counts change from a dictionary to a dense table, which is faster."""

MAX_DICT_TERMS_LOW_MEMORY = 1 << 14
"""The same where memory matters: at this size a dictionary takes as much as a table."""

MAX_DENSE_LANGUAGES = 16
"""The first languages of a stream change to dense tables early; others later, to bound the total memory."""

_MAX_OPEN_ARTICLES = 4096
"""Articles after which the counts of the current day are merged."""


class Vector(NamedTuple):
    """A sparse vector."""

    ids: Ids
    """Term ids, increasing."""
    weights: Weights
    """A weight for each."""

    @property
    def norm(self) -> float:
        """Euclidean norm."""
        return sqrt(np.add.reduce(np.square(self.weights)))


EMPTY_VECTOR = Vector(np.empty(0, dtype=np.int32), np.empty(0))
"""The vector without terms."""


class _Day(NamedTuple):
    """Counts of one day: terms, their counts, and articles by language."""

    day: int
    ids: Ids
    counts: NDArray[np.int32]
    articles: dict[str, int]


def _merge_days(one: _Day, other: _Day) -> _Day:
    """Add the counts of two parts of a day."""
    ids, places = np.unique(np.concatenate([one.ids, other.ids]), return_inverse=True)
    counts = np.zeros(len(ids), dtype=np.int32)
    np.add.at(counts, places, np.concatenate([one.counts, other.counts]))
    articles = {
        lang: one.articles.get(lang, 0) + other.articles.get(lang, 0)
        for lang in one.articles | other.articles
    }
    return _Day(one.day, ids, counts, articles)


class TermCountTable:
    """Document frequencies of terms: a dictionary while there are few terms, then a dense table.

    Memory: grows with the terms that are counted, up to four megabytes. ``limit`` is the maximum number of
    terms in the dictionary.

    Examples
    --------
    >>> counts, terms = TermCountTable(), np.array([3, 7], dtype=np.int32)
    >>> counts.add(terms, np.ones(2, dtype=np.int32))
    >>> counts.add(terms[:1], np.ones(1, dtype=np.int32))
    >>> counts.counts_of(terms).tolist(), len(counts)
    ([2, 1], 2)
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = MAX_DICT_TERMS if limit is None else limit
        self.table: NDArray[np.int32] | None = None
        self._sparse: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._sparse) if self.table is None else int(np.count_nonzero(self.table))

    def counts_of(self, terms: Ids) -> NDArray[np.int32]:
        """Return the counts of terms."""
        if self.table is not None:
            return self.table[terms]
        get = self._sparse.get
        return np.array([get(term, 0) for term in terms.tolist()], dtype=np.int32)

    def set_counts(self, terms: Ids, counts: NDArray[np.int32]) -> None:
        """Set the counts of distinct terms."""
        if self.table is not None:
            self.table[terms] = counts
            return
        few = self._sparse
        few.update(zip(terms.tolist(), counts.tolist(), strict=True))
        for term in terms[counts == 0].tolist():
            del few[term]
        if len(few) > self.limit:
            self.table = self.as_table()
            self._sparse = {}

    def add(self, terms: Ids, counts: NDArray[np.int32]) -> None:
        """Add to the counts of distinct terms."""
        self.set_counts(terms, self.counts_of(terms) + counts)

    def as_table(self) -> NDArray[np.int32]:
        """Return the counts as a dense table."""
        if self.table is not None:
            return self.table
        table = np.zeros(N_TERMS, dtype=np.int32)
        table[list(self._sparse)] = list(self._sparse.values())
        return table


class TermWindow:
    """Document frequencies over the last days of a stream, and tf-idf vectors of its articles.

    Memory: grows with the distinct terms of the window and of each of its days. ``prior`` is a pseudo-count
    of articles without any of the terms. The body has a weight relative to that of the title; an exponent of
    the weight of its terms above 1 makes common words count less. The weakest terms of a vector beyond
    ``max_terms`` are dropped.
    """

    def __init__(
        self,
        days: int = 10,
        *,
        prior: float = 100.0,
        body_weight: float = 2.5,
        body_power: float = 2.0,
        max_terms: int = 128,
    ) -> None:
        self.days = days
        self.prior = prior
        self.body_weight = body_weight
        self.body_power = body_power
        self.max_terms = max_terms
        self.counts = TermCountTable()
        self.articles: dict[str, int] = {}
        self._today = 0
        self._open: list[Ids] = []
        self._open_articles: dict[str, int] = {}
        self._closed: deque[_Day] = deque()

    def add(self, terms: Terms, lang: str, day: date) -> Vector:
        """Count an article and return its vector.

        An article of an earlier day than the latest counts as one of the latest.
        """
        self._advance(day.toordinal())
        articles = self.articles.get(lang, 0) + 1
        total = articles + 1 + self.prior
        table = self.counts.table
        counted, vector = (
            self._weigh(terms, table, total) if table is not None else self._weigh_sparse(terms, total)
        )
        self._open.append(counted)
        self.articles[lang] = articles
        self._open_articles[lang] = self._open_articles.get(lang, 0) + 1
        return vector

    def _weigh(self, terms: Terms, frequencies: NDArray[np.int32], total: float) -> tuple[Ids, Vector]:
        """Count the terms of an article in a dense table; return the distinct terms and the vector."""
        size = len(terms.title[0]) + len(terms.body[0])
        counted, (ids, weights) = np.empty(size, np.int32), _allocate(min(size, self.max_terms))
        n, n_kept = weigh_article(
            *terms.title,
            *terms.body,
            frequencies,
            total,
            self.body_weight,
            self.body_power,
            self.max_terms,
            counted,
            ids,
            weights,
        )
        return counted[:n], _truncate(ids, weights, n_kept)

    def _weigh_sparse(self, terms: Terms, total: float) -> tuple[Ids, Vector]:
        """Do the same with a small table of the terms of the article, renumbered in order."""
        own = np.union1d(terms.title[0], terms.body[0])
        (title, titles), (body, bodies) = terms
        numbered = Terms(
            (np.searchsorted(own, title).astype(np.int32), titles),
            (np.searchsorted(own, body).astype(np.int32), bodies),
        )
        frequencies = self.counts.counts_of(own)
        _, vector = self._weigh(numbered, frequencies, total)
        self.counts.set_counts(own, frequencies)
        return own, Vector(own[vector.ids], vector.weights)

    def _advance(self, day: int) -> None:
        if day > self._today or len(self._open) >= _MAX_OPEN_ARTICLES:
            self._close()
        self._today = max(self._today, day)
        while self._closed and self._closed[0].day <= self._today - self.days:
            old = self._closed.popleft()
            self.counts.add(old.ids, -old.counts)
            for lang, count in old.articles.items():
                self.articles[lang] -= count

    def _close(self) -> None:
        """Merge the counts since the last call into one block per day."""
        if not self._open:
            return
        ids, counts = np.unique(np.concatenate(self._open), return_counts=True)
        block = _Day(self._today, ids, counts.astype(np.int32), self._open_articles)
        if self._closed and self._closed[-1].day == self._today:
            block = _merge_days(self._closed.pop(), block)
        self._closed.append(block)
        self._open, self._open_articles = [], {}

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state: JSON under ``header``, arrays under ``arrays``."""
        nothing = np.empty(0, dtype=np.int32)
        header = {
            "today": self._today,
            "closed": [[block.day, len(block.ids), block.articles] for block in self._closed],
            "open": [len(ids) for ids in self._open],
            "open_articles": dict(self._open_articles),
        }
        arrays = {
            "ids": np.concatenate([nothing, *(block.ids for block in self._closed)]),
            "counts": np.concatenate([nothing, *(block.counts for block in self._closed)]),
            "open_ids": np.concatenate([nothing, *self._open]),
        }
        return {"header": header, "arrays": arrays}

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Restore a state of :meth:`state_dict`; the settings stay those of this object."""
        self._today = header["today"]
        start = 0
        for day, length, articles in header["closed"]:
            part = slice(start, start + length)
            self._closed.append(_Day(day, arrays["ids"][part], arrays["counts"][part], dict(articles)))
            start += length
        self._open = np.split(arrays["open_ids"], np.cumsum(header["open"], dtype=int))[:-1]
        self._open_articles = dict(header["open_articles"])
        self._recount()
        return self

    def _recount(self) -> None:
        self.counts = TermCountTable(self.counts.limit)
        for block in self._closed:
            self.counts.add(block.ids, block.counts)
        for ids in self._open:
            self.counts.add(ids, np.ones(len(ids), dtype=np.int32))
        self.articles = {}
        for counts in (*(block.articles for block in self._closed), self._open_articles):
            for lang, count in counts.items():
                self.articles[lang] = self.articles.get(lang, 0) + count


def add_vectors(one: Vector, other: Vector, *, factor: float = 1.0, max_terms: int) -> Vector:
    """Add a multiple of a vector to another; keep the strongest terms with positive weights.

    Examples
    --------
    >>> storm = Vector(np.array([3, 7], dtype=np.int32), np.array([0.8, 0.6]))
    >>> flood = Vector(np.array([7, 9], dtype=np.int32), np.array([0.6, 0.8]))
    >>> add_vectors(storm, flood, max_terms=2).ids.tolist()
    [3, 7]
    """
    ids, weights = _allocate(min(len(one.ids) + len(other.ids), max_terms))
    return _truncate(ids, weights, add_sparse(*one, *other, factor, max_terms, ids, weights))


def dot_product(one: Vector, other: Vector) -> float:
    """Return the dot product of two vectors."""
    return dot_sparse(*one, *other)


def dot_products(one: Vector, others: list[Vector]) -> list[float]:
    """Return the dot products of a vector with each of several.

    Examples
    --------
    >>> storm = Vector(np.array([3, 7], dtype=np.int32), np.array([0.8, 0.6]))
    >>> dot_products(storm, [Vector(np.array([7], dtype=np.int32), np.ones(1)), EMPTY_VECTOR])
    [0.6, 0.0]
    """
    out = np.empty(len(others))
    dot_each(*one, others, out)  # type: ignore[arg-type]
    found: list[float] = out.tolist()
    return found


def _allocate(terms: int) -> tuple[Ids, Weights]:
    return np.empty(terms, dtype=np.int32), np.empty(terms)


def _truncate(ids: Ids, weights: Weights, n: int) -> Vector:
    """Return the vector of the first n terms, copied if that is shorter."""
    return Vector(ids, weights) if n == len(ids) else Vector(ids[:n].copy(), weights[:n].copy())
