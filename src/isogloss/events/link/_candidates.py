"""Candidate articles for links (thesis, algorithm 7.1): the nearest articles in every language.

Each language has an inverted index of bounded size: the posting list of a term holds a fixed number of
articles, and the oldest entry is overwritten. The strongest terms of an article are looked up, the articles
found most often are compared exactly, and the ten most similar of each language are its candidates. With
latent vectors (:mod:`isogloss.similarity`) or sentence embeddings, the ten nearest of the recent articles by
each of these are candidates too; their similarity is still that of the texts. The cost of an article does not
depend on the number of articles before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events.cluster import MAX_DENSE_LANGUAGES, Ids, Vector, Weights
from isogloss.events.link._profiles import ArticleProfile
from isogloss.events.link._vector_tables import RecentPoints, VectorTable
from isogloss.kernels import find_nearest, list_cluster

MIN_SIMILARITY = 0.05
"""Minimum similarity of the texts of two candidates."""

_NO_CLUSTER = -1
"""The cluster of an article without one; no article has it."""

_N_LISTS = 1 << 17
"""Posting lists of an index; terms are hashed to them."""

_DENSE_FROM_LISTS, _DENSE_FROM_LISTS_LOW_MEMORY = 1 << 11, 1 << 15
"""Lists in use at which an index changes from a dictionary of slots to a dense array, which is faster: for
the first languages, and for all others, where memory matters more."""


_LIST_ARRAYS = ("rows", "lists", "next")
"""Arrays in the state of the posting lists of a language."""


class Candidates(NamedTuple):
    """Candidates of an article."""

    numbers: Ids
    """Their serial numbers, ascending."""
    similarities: Weights
    """Similarities of their texts to the text of the article."""
    groups: Ids
    """Ids of their clusters."""


class CandidateIndex:
    """Bounded index of recent articles that finds the nearest in each language.

    Memory: grows with the terms of each language, up to 17 MB for each, and with the articles in the index.

    Parameters
    ----------
    k : int
        Candidates in each language, by text, in the latent space and by embedding each.
    min_similarity, min_latent_similarity, min_embedding_similarity : float
        Minimum similarity of candidates, by text, in the latent space and by embedding. Most articles are
        somewhat near to each other in a space of few dimensions, so the latter two are higher.
    max_postings : int
        Length of a posting list.
    max_terms : int
        Terms of an article that are looked up: those with the largest weights.
    max_compared : int
        Articles of a language that are compared exactly.
    latent_window : int
        Number of the most recent articles that are searched in the latent space and by embedding.

    Examples
    --------
    >>> from isogloss.events.link import ArticleProfile
    >>> def article(name, lang, *terms):
    ...     ids = np.array(terms, dtype=np.int32)
    ...     return ArticleProfile(name, lang, "", 0.0, "", Vector(ids, np.full(len(ids), len(ids) ** -0.5)))
    >>> index = CandidateIndex()
    >>> len(index.add(article("a", "de", 3, 5)).numbers)
    0
    >>> near = index.add(article("b", "en", 3, 7))
    >>> index.ids_of(near.numbers), near.similarities.round(2)
    (['a'], array([0.5]))
    """

    def __init__(
        self,
        k: int = 10,
        *,
        min_similarity: float = MIN_SIMILARITY,
        min_latent_similarity: float = 0.7,
        min_embedding_similarity: float = 0.4,
        max_postings: int = 32,
        max_terms: int = 32,
        max_compared: int = 32,
        latent_window: int = 16_384,
    ) -> None:
        self.k = k
        self.min_similarity = min_similarity
        self.min_latent_similarity = min_latent_similarity
        self.min_embedding_similarity = min_embedding_similarity
        self.max_postings = max_postings
        self.max_terms = max_terms
        self.max_compared = max_compared
        self.latent_window = latent_window
        self.numbers: dict[str, int] = {}
        self.articles: dict[int, ArticleProfile] = {}
        self.last = 0
        self._vectors = VectorTable()
        self._lists: dict[str, _BoundedLists] = {}
        self._latent: RecentPoints | None = None
        self._embeddings: RecentPoints | None = None

    def add(self, article: ArticleProfile, group: int = 0) -> Candidates:
        """Return the candidates of an article, and add the article to the index.

        Its id must be new. ``group`` is its cluster, from 1 on, or 0 for none; articles of one cluster are
        not candidates of each other.
        """
        if article.id in self.numbers:
            raise ValueError(f"the article {article.id!r} is already in the index; expected a new id")
        found = self._nearest(article, group or _NO_CLUSTER)
        self._insert(article, group)
        return found

    def ids_of(self, numbers: Ids) -> list[str]:
        """Return the article ids of serial numbers."""
        return [self.articles[number].id for number in numbers.tolist()]

    def groups(self, numbers: Ids) -> Ids:
        """Return the clusters of serial numbers."""
        return self._vectors.groups[self._vectors.rows(numbers)]

    def regroup(self, articles: Iterable[str], group: int) -> None:
        """Set the cluster of articles."""
        numbers = np.array([self.numbers[article] for article in articles], dtype=np.int32)
        self._vectors.groups[self._vectors.rows(numbers)] = group

    def forget(self, article: str) -> None:
        """Remove an article, if it is in the index."""
        number = self.numbers.pop(article, None)
        if number is not None:
            del self.articles[number]
            self._vectors.remove(number)
            for points in (self._latent, self._embeddings):
                if points is not None:
                    points.remove(number)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return the posting lists of all languages as named arrays."""
        return {
            f"{lang}.{name}": array
            for lang, lists in self._lists.items()
            for name, array in lists.state_dict().items()
        }

    def load_state(
        self,
        articles: Iterable[tuple[int, ArticleProfile, int]],
        last: int,
        arrays: Mapping[str, NDArray[Any]],
    ) -> None:
        """Restore a state: serial numbers with articles and clusters, and arrays of :meth:`state_dict`."""
        for number, article, group in articles:
            self._register(number, article, group)
        for lang in dict.fromkeys(name.partition(".")[0] for name in arrays):
            self._make_lists(lang)
            self._lists[lang].load_state({name: arrays[f"{lang}.{name}"] for name in _LIST_ARRAYS})
        self.last = last

    def _insert(self, article: ArticleProfile, group: int) -> None:
        self.last += 1
        self._register(self.last, article, group)
        if article.lang not in self._lists:
            self._make_lists(article.lang)
        self._lists[article.lang].add(self.last, article.vector)

    def _make_lists(self, lang: str) -> None:
        dense_from = (
            _DENSE_FROM_LISTS if len(self._lists) < MAX_DENSE_LANGUAGES else _DENSE_FROM_LISTS_LOW_MEMORY
        )
        self._lists[lang] = _BoundedLists(self.max_postings, self.max_terms, dense_from)

    def _register(self, number: int, article: ArticleProfile, group: int) -> None:
        self.numbers[article.id] = number
        self.articles[number] = article
        self._vectors.add(number, article.vector, group)
        self._latent = self._add_point(self._latent, number, article.lang, article.latent)
        self._embeddings = self._add_point(self._embeddings, number, article.lang, _single(article.embedding))

    def _add_point(
        self, points: RecentPoints | None, number: int, lang: str, point: NDArray[np.float32] | None
    ) -> RecentPoints | None:
        """Add the point of an article, if it has one; return the points, which the first one creates."""
        if point is None:
            return points
        if points is None:
            points = RecentPoints(len(point), self.latent_window)
        points.add(number, lang, point)
        return points

    def _nearest(self, article: ArticleProfile, group: int) -> Candidates:
        ordered = [self._lists[lang] for lang in sorted(self._lists)]
        folded: Ids = article.vector.ids % _N_LISTS
        if all(one.is_full for one in ordered):
            lists = [one.lists for one in ordered]
        else:
            rows, folded = _renumber(folded)
            lists = [one.at(rows) for one in ordered]
        near = self._nearest_points(self._latent, article.latent, self.min_latent_similarity)
        near |= self._nearest_points(
            self._embeddings, _single(article.embedding), self.min_embedding_similarity
        )
        points = np.array(sorted(near), dtype=np.int32)
        size = self.k * len(lists) + len(points)
        numbers, similarities, groups = np.empty(size, np.int32), np.empty(size), np.empty(size, np.int32)
        vectors = self._vectors
        n = find_nearest(
            lists,
            folded,
            *article.vector,
            self.max_terms,
            self.max_compared,
            self.k,
            vectors.table,
            vectors.owners,
            vectors.ids,
            vectors.weights,
            vectors.lengths,
            vectors.groups,
            group,
            self.min_similarity,
            points,
            numbers,
            similarities,
            groups,
        )
        return Candidates(numbers[:n], similarities[:n], groups[:n])

    def _nearest_points(
        self, points: RecentPoints | None, point: NDArray[np.float32] | None, min_similarity: float
    ) -> set[int]:
        """Return the serial numbers of the articles with the nearest points, of any cluster."""
        if points is None or point is None:
            return set()
        points.last = self.last
        return set(points.nearest(point, self.k, min_similarity=min_similarity))


class _BoundedLists:
    """Posting lists of fixed length over hashed terms.

    Lists are allocated when they are first used; a large index is one dense array.
    """

    def __init__(self, max_postings: int, max_terms: int, dense_from: int) -> None:
        self.max_postings, self.max_terms, self.dense_from = max_postings, max_terms, dense_from
        self._slots: dict[int, int] | None = {}
        self._allocate(16)

    @property
    def is_full(self) -> bool:
        """Whether the index is one dense array."""
        return self._slots is None

    def at(self, rows: Ids) -> NDArray[np.int32]:
        """Return the lists of some rows."""
        return self.lists[self._slots_of(rows)]

    def add(self, number: int, vector: Vector) -> None:
        folded = vector.ids % _N_LISTS
        if self.is_full:
            list_cluster(self.lists, self._next, folded, vector.weights, self.max_terms, number)
            return
        rows, folded = _renumber(folded)
        slots = self._slots_of(rows)
        lists, following = self.lists[slots], self._next[slots]
        list_cluster(lists, following, folded, vector.weights, self.max_terms, number)
        used = lists.any(axis=1)
        self._put(rows[used], lists[used], following[used])

    def state_dict(self) -> dict[str, NDArray[Any]]:
        if self._slots is None:
            rows = np.flatnonzero(self.lists.any(axis=1)).astype(np.int32)
        else:
            rows = np.array(sorted(self._slots), dtype=np.int32)
        slots = self._slots_of(rows)
        return {"rows": rows, "lists": self.lists[slots], "next": self._next[slots]}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._put(arrays["rows"], arrays["lists"], arrays["next"])

    def _slots_of(self, rows: Ids) -> NDArray[np.int64]:
        """Return the slots of rows; slot 0 is an empty list."""
        if self._slots is None:
            return rows.astype(np.int64)
        get = self._slots.get
        return np.array([get(row, 0) for row in rows.tolist()], dtype=np.int64)

    def _put(self, rows: Ids, lists: NDArray[np.int32], following: NDArray[np.uint8]) -> None:
        if self._slots is not None:
            for row in rows.tolist():
                self._slots.setdefault(row, len(self._slots) + 1)
            self._grow(len(self._slots) + 1)
        slots = self._slots_of(rows)
        self.lists[slots], self._next[slots] = lists, following

    def _grow(self, wanted: int) -> None:
        """Allocate slots for a number of lists, or a dense array."""
        if self._slots is not None and wanted > self.dense_from:
            taken = {row: place for row, place in self._slots.items() if place < len(self.lists)}
            rows, slots = list(taken), list(taken.values())
            lists, following = self.lists[slots], self._next[slots]
            self._allocate(_N_LISTS)
            self.lists[rows], self._next[rows] = lists, following
            self._slots = None
        elif wanted > len(self.lists):
            lists, following = self.lists, self._next
            self._allocate(max(wanted, 2 * len(lists)))
            self.lists[: len(lists)], self._next[: len(lists)] = lists, following

    def _allocate(self, slots: int) -> None:
        self.lists = np.zeros((slots, self.max_postings), dtype=np.int32)
        self._next = np.zeros(slots, dtype=np.uint8)


def _single(embedding: NDArray[np.float16] | None) -> NDArray[np.float32] | None:
    return None if embedding is None else embedding.astype(np.float32)


def _renumber(rows: Ids) -> tuple[Ids, Ids]:
    """Return the distinct rows, ascending, and the position of each row among them."""
    own, numbers = np.unique(rows, return_inverse=True)
    return own, numbers.astype(np.int32)
