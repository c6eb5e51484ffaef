r"""Vectors of articles under weights that follow the stream.

The weight of a term is :math:`\log\frac{N + n_0}{DF}`, with N the articles of its language in the last
days, DF those of them with the term, and :math:`n_0` articles imagined before the first, none of which has
the term: the first articles of a stream would otherwise have no weights to speak of. In a body the weight is
raised to a power, because common words make up more of it. Title and body are brought to length one each and
added, so both are heard however long the body is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import date
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.events.terms import N_TERMS, Ids, Terms, Weights
from isogloss.kernels import add_sparse, dot_each, dot_sparse, weigh_article

__all__ = ["NOTHING", "TermWindow", "Vector", "add_vectors", "product", "products"]

_BATCH = 4096
"""Articles after which counts are folded together, at the latest."""


class Vector(NamedTuple):
    """A sparse vector.

    Attributes
    ----------
    ids : ndarray of int32
        Numbers of terms, increasing.
    weights : ndarray of float64
        A weight for each.
    """

    ids: Ids
    weights: Weights

    @property
    def norm(self) -> float:
        """Its length."""
        return sqrt(np.add.reduce(np.square(self.weights)))


NOTHING = Vector(np.empty(0, dtype=np.int32), np.empty(0))
"""The vector without terms."""


class _Day(NamedTuple):
    """What was counted within one day: terms, their counts, and articles by language."""

    day: int
    ids: Ids
    counts: NDArray[np.int32]
    articles: dict[str, int]


def _together(one: _Day, other: _Day) -> _Day:
    """What was counted in two parts of a day."""
    ids, places = np.unique(np.concatenate([one.ids, other.ids]), return_inverse=True)
    counts = np.zeros(len(ids), dtype=np.int32)
    np.add.at(counts, places, np.concatenate([one.counts, other.counts]))
    articles = {
        lang: one.articles.get(lang, 0) + other.articles.get(lang, 0)
        for lang in one.articles | other.articles
    }
    return _Day(one.day, ids, counts, articles)


class TermWindow:
    """Document frequencies of hashed terms over the last days of a stream, and vectors under them.

    Memory: a table of all numbers of terms, and the different terms of each day.

    Parameters
    ----------
    days : int
        Length of the window.
    prior : float
        Articles imagined before the first.
    body_weight : float
        Length of the part of the body in a vector, with that of the title 1.
    body_power : float
        The power of the weight of a term in a body; above 1, common words count less.
    max_terms : int
        Terms of the longest vector; the weakest are left out.
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
        self.frequencies = np.zeros(N_TERMS, dtype=np.int32)
        self.articles: dict[str, int] = {}
        self._today = 0
        self._open: list[Ids] = []
        self._open_articles: dict[str, int] = {}
        self._closed: deque[_Day] = deque()

    def add(self, terms: Terms, lang: str, day: date) -> Vector:
        """Count an article and give its vector.

        An article of an earlier day than the latest counts as one of the latest.
        """
        self._advance(day.toordinal())
        articles = self.articles.get(lang, 0) + 1
        room = len(terms.title[0]) + len(terms.body[0])
        counted, (ids, weights) = np.empty(room, np.int32), _room(min(room, self.max_terms))
        n, size = weigh_article(
            *terms.title,
            *terms.body,
            self.frequencies,
            articles + 1 + self.prior,
            self.body_weight,
            self.body_power,
            self.max_terms,
            counted,
            ids,
            weights,
        )
        self._open.append(counted[:n])
        self.articles[lang] = articles
        self._open_articles[lang] = self._open_articles.get(lang, 0) + 1
        return _cut(ids, weights, size)

    def _advance(self, day: int) -> None:
        if day > self._today or len(self._open) >= _BATCH:
            self._close()
        self._today = max(self._today, day)
        while self._closed and self._closed[0].day <= self._today - self.days:
            old = self._closed.popleft()
            self.frequencies[old.ids] -= old.counts
            for lang, count in old.articles.items():
                self.articles[lang] -= count

    def _close(self) -> None:
        """Fold what was counted since the last time into one table for each day."""
        if not self._open:
            return
        ids, counts = np.unique(np.concatenate(self._open), return_counts=True)
        block = _Day(self._today, ids, counts.astype(np.int32), self._open_articles)
        if self._closed and self._closed[-1].day == self._today:
            block = _together(self._closed.pop(), block)
        self._closed.append(block)
        self._open, self._open_articles = [], {}

    def state_dict(self) -> dict[str, Any]:
        """The whole state: JSON under ``header``, arrays under ``arrays``."""
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
        """Go on from a state that :meth:`state_dict` gave; the settings are those of this object."""
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
        self.frequencies[:] = 0
        for block in self._closed:
            self.frequencies[block.ids] += block.counts
        for ids in self._open:
            self.frequencies[ids] += 1
        self.articles = {}
        for counts in (*(block.articles for block in self._closed), self._open_articles):
            for lang, count in counts.items():
                self.articles[lang] = self.articles.get(lang, 0) + count


def add_vectors(one: Vector, other: Vector, *, factor: float = 1.0, max_terms: int) -> Vector:
    """The sum of a vector and a multiple of another, of its strongest terms; only what is positive.

    Examples
    --------
    >>> storm = Vector(np.array([3, 7], dtype=np.int32), np.array([0.8, 0.6]))
    >>> flood = Vector(np.array([7, 9], dtype=np.int32), np.array([0.6, 0.8]))
    >>> add_vectors(storm, flood, max_terms=2).ids.tolist()
    [3, 7]
    """
    ids, weights = _room(min(len(one.ids) + len(other.ids), max_terms))
    return _cut(ids, weights, add_sparse(*one, *other, factor, max_terms, ids, weights))


def product(one: Vector, other: Vector) -> float:
    """The inner product of two vectors."""
    return dot_sparse(*one, *other)


def products(one: Vector, others: list[Vector]) -> list[float]:
    """The inner products of a vector and each of several.

    Examples
    --------
    >>> storm = Vector(np.array([3, 7], dtype=np.int32), np.array([0.8, 0.6]))
    >>> products(storm, [Vector(np.array([7], dtype=np.int32), np.ones(1)), NOTHING])
    [0.6, 0.0]
    """
    out = np.empty(len(others))
    dot_each(*one, others, out)  # type: ignore[arg-type]
    found: list[float] = out.tolist()
    return found


def _room(terms: int) -> tuple[Ids, Weights]:
    return np.empty(terms, dtype=np.int32), np.empty(terms)


def _cut(ids: Ids, weights: Weights, n: int) -> Vector:
    """The vector of the first terms, in arrays of its size."""
    return Vector(ids, weights) if n == len(ids) else Vector(ids[:n].copy(), weights[:n].copy())
