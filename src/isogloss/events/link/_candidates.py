"""Candidates for linking (thesis, algorithm 7.1): the articles nearest to an article in every language.

Each language has an inverted index of bounded size: a term has room for the numbers of a few articles, and
the one written longest ago makes way. An article looks up its strongest terms, the articles found most often
are compared with it exactly, and the ten most similar of each language are its neighbours. With latent
vectors (:mod:`isogloss.similarity`) the ten nearest of the latest articles in the latent space are neighbours
too, however little their texts have in common: the similarity that is told is that of the texts, whichever
way an article was found. The cost of an article does not depend on how many there were before.
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

__all__ = ["MIN_SIMILARITY", "Candidates", "CandidateIndex"]

MIN_SIMILARITY = 0.05
"""Similarity of texts from which on articles are neighbours."""

_NOBODY = -1
"""A group that no article is of."""

_ROWS = 1 << 17
"""Lists of an index; terms share them."""

_FEW_ROWS, _MANY_ROWS = 1 << 11, 1 << 15
"""Lists from which on each has the place of its number, which is faster: in languages that came first, and in
others, of which there may be many."""


_PARTS = ("rows", "lists", "next")
"""Arrays of the lists of a language."""


class Candidates(NamedTuple):
    """Articles near to another one.

    Attributes
    ----------
    numbers : ndarray of int32
        Their numbers, ascending: articles are counted as they come.
    similarities : ndarray of float64
        Of their texts and that of the other.
    groups : ndarray of int32
        Their clusters.
    """

    numbers: Ids
    similarities: Weights
    groups: Ids


class CandidateIndex:
    """Finds the nearest of earlier articles in each language.

    Memory: grows with the terms of each language, up to 17 MB for each, and the articles that were not
    forgotten.

    Parameters
    ----------
    k : int
        Neighbours in each language, for each of both ways to find them.
    least, least_latent : float
        Similarity of texts, or in the latent space, from which on articles are neighbours. Most articles are
        somewhat near to each other in a space of few dimensions, so more is asked for there.
    room : int
        Articles listed for a term.
    max_terms : int
        Terms of an article that are looked up: the strongest.
    compared : int
        Articles of a language that are compared exactly.
    reach : int
        Articles, counted back from the last of any language, that are searched in the latent space.

    Examples
    --------
    >>> from isogloss.events.link import ArticleProfile
    >>> def signature(name, lang, *terms):
    ...     ids = np.array(terms, dtype=np.int32)
    ...     return ArticleProfile(name, lang, "", 0.0, "", Vector(ids, np.full(len(ids), len(ids) ** -0.5)))
    >>> neighbours = CandidateIndex()
    >>> len(neighbours.add(signature("a", "de", 3, 5)).numbers)
    0
    >>> near = neighbours.add(signature("b", "en", 3, 7))
    >>> neighbours.names(near.numbers), near.similarities.round(2)
    (['a'], array([0.5]))
    """

    def __init__(
        self,
        k: int = 10,
        *,
        least: float = MIN_SIMILARITY,
        least_latent: float = 0.7,
        room: int = 32,
        max_terms: int = 32,
        compared: int = 32,
        reach: int = 16_384,
    ) -> None:
        self.k = k
        self.least = least
        self.least_latent = least_latent
        self.room = room
        self.max_terms = max_terms
        self.compared = compared
        self.reach = reach
        self.numbers: dict[str, int] = {}
        self.articles: dict[int, ArticleProfile] = {}
        self.last = 0
        self._shelf = VectorTable()
        self._lists: dict[str, _Lists] = {}
        self._latent: RecentPoints | None = None

    def add(self, signature: ArticleProfile, group: int = 0) -> Candidates:
        """Neighbours of an article among those added before, and add it.

        Parameters
        ----------
        signature : ArticleProfile
            The article; its id must be new.
        group : int
            Its cluster, from 1 on: articles of the same are no neighbours. 0 is none.
        """
        if signature.id in self.numbers:
            raise ValueError(f"the article {signature.id!r} was added before; expected a new one")
        found = self._nearest(signature, group or _NOBODY)
        self._enter(signature, group)
        return found

    def names(self, numbers: Ids) -> list[str]:
        """Ids of articles by their numbers."""
        return [self.articles[number].id for number in numbers.tolist()]

    def groups(self, numbers: Ids) -> Ids:
        """The clusters of articles."""
        return self._shelf.groups[self._shelf.rows(numbers)]

    def regroup(self, articles: Iterable[str], group: int) -> None:
        """Articles went to another cluster."""
        numbers = np.array([self.numbers[article] for article in articles], dtype=np.int32)
        self._shelf.groups[self._shelf.rows(numbers)] = group

    def forget(self, article: str) -> None:
        """Take an article out; one that is not there is no error."""
        number = self.numbers.pop(article, None)
        if number is not None:
            del self.articles[number]
            self._shelf.take(number)
            if self._latent is not None:
                self._latent.remove(number)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """The lists of all languages as named arrays."""
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
        """Go on from a state: numbers, articles and groups, ascending, and arrays of :meth:`state_dict`."""
        for number, signature, group in articles:
            self._know(number, signature, group)
        for lang in dict.fromkeys(name.partition(".")[0] for name in arrays):
            self._make_lists(lang)
            self._lists[lang].load_state({name: arrays[f"{lang}.{name}"] for name in _PARTS})
        self.last = last

    def _enter(self, signature: ArticleProfile, group: int) -> None:
        self.last += 1
        self._know(self.last, signature, group)
        if signature.lang not in self._lists:
            self._make_lists(signature.lang)
        self._lists[signature.lang].add(self.last, signature.vector)

    def _make_lists(self, lang: str) -> None:
        few = _FEW_ROWS if len(self._lists) < MAX_DENSE_LANGUAGES else _MANY_ROWS
        self._lists[lang] = _Lists(self.room, self.max_terms, few)

    def _know(self, number: int, signature: ArticleProfile, group: int) -> None:
        self.numbers[signature.id] = number
        self.articles[number] = signature
        self._shelf.put(number, signature.vector, group)
        if signature.latent is not None:
            if self._latent is None:
                self._latent = RecentPoints(len(signature.latent), self.reach)
            self._latent.add(number, signature.lang, signature.latent)

    def _nearest(self, signature: ArticleProfile, group: int) -> Candidates:
        ordered = [self._lists[lang] for lang in sorted(self._lists)]
        folded: Ids = signature.vector.ids % _ROWS
        if all(one.is_full for one in ordered):
            lists = [one.lists for one in ordered]
        else:
            rows, folded = _numbered(folded)
            lists = [one.at(rows) for one in ordered]
        close = np.array(self._close(signature), dtype=np.int32)
        room = self.k * len(lists) + len(close)
        numbers, similarities, groups = np.empty(room, np.int32), np.empty(room), np.empty(room, np.int32)
        shelf = self._shelf
        n = find_nearest(
            lists,
            folded,
            *signature.vector,
            self.max_terms,
            self.compared,
            self.k,
            shelf.table,
            shelf.owners,
            shelf.ids,
            shelf.weights,
            shelf.lengths,
            shelf.groups,
            group,
            self.least,
            close,
            numbers,
            similarities,
            groups,
        )
        return Candidates(numbers[:n], similarities[:n], groups[:n])

    def _close(self, signature: ArticleProfile) -> list[int]:
        """Numbers of the nearest in the latent space, of any cluster."""
        if self._latent is None or signature.latent is None:
            return []
        self._latent.last = self.last
        return self._latent.nearest(signature.latent, self.k, least=self.least_latent)


class _Lists:
    """The latest articles of each term, terms sharing a limited number of lists.

    Lists get their places as they come into use, and all have one when there are many.
    """

    def __init__(self, room: int, max_terms: int, few: int) -> None:
        self.room, self.max_terms, self.few = room, max_terms, few
        self._places: dict[int, int] | None = {}
        self._allocate(16)

    @property
    def is_full(self) -> bool:
        """Whether every list has the place of its number."""
        return self._places is None

    def at(self, rows: Ids) -> NDArray[np.int32]:
        """Some lists."""
        return self.lists[self._places_of(rows)]

    def add(self, number: int, vector: Vector) -> None:
        folded = vector.ids % _ROWS
        if self.is_full:
            list_cluster(self.lists, self._next, folded, vector.weights, self.max_terms, number)
            return
        rows, folded = _numbered(folded)
        places = self._places_of(rows)
        lists, following = self.lists[places], self._next[places]
        list_cluster(lists, following, folded, vector.weights, self.max_terms, number)
        used = lists.any(axis=1)
        self._put(rows[used], lists[used], following[used])

    def state_dict(self) -> dict[str, NDArray[Any]]:
        if self._places is None:
            rows = np.flatnonzero(self.lists.any(axis=1)).astype(np.int32)
        else:
            rows = np.array(sorted(self._places), dtype=np.int32)
        places = self._places_of(rows)
        return {"rows": rows, "lists": self.lists[places], "next": self._next[places]}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._put(arrays["rows"], arrays["lists"], arrays["next"])

    def _places_of(self, rows: Ids) -> NDArray[np.int64]:
        """Where lists are; an empty one that has no place is at 0."""
        if self._places is None:
            return rows.astype(np.int64)
        get = self._places.get
        return np.array([get(row, 0) for row in rows.tolist()], dtype=np.int64)

    def _put(self, rows: Ids, lists: NDArray[np.int32], following: NDArray[np.uint8]) -> None:
        if self._places is not None:
            for row in rows.tolist():
                self._places.setdefault(row, len(self._places) + 1)
            self._make_room(len(self._places) + 1)
        places = self._places_of(rows)
        self.lists[places], self._next[places] = lists, following

    def _make_room(self, wanted: int) -> None:
        """Have places for so many lists, or for all."""
        if self._places is not None and wanted > self.few:
            taken = {row: place for row, place in self._places.items() if place < len(self.lists)}
            rows, places = list(taken), list(taken.values())
            lists, following = self.lists[places], self._next[places]
            self._allocate(_ROWS)
            self.lists[rows], self._next[rows] = lists, following
            self._places = None
        elif wanted > len(self.lists):
            lists, following = self.lists, self._next
            self._allocate(max(wanted, 2 * len(lists)))
            self.lists[: len(lists)], self._next[: len(lists)] = lists, following

    def _allocate(self, places: int) -> None:
        self.lists = np.zeros((places, self.room), dtype=np.int32)
        self._next = np.zeros(places, dtype=np.uint8)


def _numbered(rows: Ids) -> tuple[Ids, Ids]:
    """Different rows, ascending, and the number of each row among them."""
    own, numbers = np.unique(rows, return_inverse=True)
    return own, numbers.astype(np.int32)
