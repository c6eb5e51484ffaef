"""Candidates for linking (thesis, algorithm 7.1): the articles nearest to an article in every language.

Each language has an inverted index of bounded size: a term has room for the numbers of a few articles, and
the one written longest ago makes way. An article looks up its strongest terms, the articles found most often
are compared with it exactly, and the ten most similar of each language are its neighbours. With latent
vectors (:mod:`isogloss.similarity`) the ten nearest of the latest articles in the latent space are neighbours
too, however little their texts have in common: the similarity that is told is that of the texts, whichever
way an article was found. The cost of an article does not depend on how many there were before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events.latest import LatestPoints
from isogloss.events.shelf import Shelf
from isogloss.events.signature import Signature
from isogloss.events.terms import Ids
from isogloss.events.vectors import Vector, product
from isogloss.kernels import find_nearest, list_cluster

__all__ = ["LEAST", "Neighbour", "Neighbours"]

LEAST = 0.05
"""Similarity of texts from which on articles are neighbours."""

_ROWS = 1 << 17
"""Lists of an index; terms share them."""


_PARTS = ("rows", "lists", "next")
"""Arrays of the lists of a language."""


class Neighbour(NamedTuple):
    """An article near to another one.

    Attributes
    ----------
    article : str
        Its id.
    similarity : float
        Of the texts of the two.
    """

    article: str
    similarity: float


class Neighbours:
    """Finds the nearest of earlier articles in each language.

    Memory: 17 MB for each language at most, and the articles that were not forgotten.

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
    >>> from isogloss.events.signature import Signature
    >>> def signature(name, lang, *terms):
    ...     ids = np.array(terms, dtype=np.int32)
    ...     return Signature(name, lang, "", 0.0, "", Vector(ids, np.full(len(ids), len(ids) ** -0.5)))
    >>> neighbours = Neighbours()
    >>> neighbours.add(signature("a", "de", 3, 5)), neighbours.add(signature("b", "de", 8, 9))
    ([], [])
    >>> [(near.article, round(near.similarity, 2)) for near in neighbours.add(signature("c", "en", 3, 7))]
    [('a', 0.5)]
    """

    def __init__(
        self,
        k: int = 10,
        *,
        least: float = LEAST,
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
        self.articles: dict[int, Signature] = {}
        self.last = 0
        self._shelf = Shelf()
        self._lists: dict[str, _Lists] = {}
        self._latent: LatestPoints | None = None

    def add(
        self, signature: Signature, skip: Callable[[str], bool] = lambda article: False
    ) -> list[Neighbour]:
        """Neighbours of an article among those added before, and add it.

        Parameters
        ----------
        signature : Signature
            The article; its id must be new.
        skip : function, optional
            Tells articles that are none: those of its own cluster.
        """
        if signature.id in self.numbers:
            raise ValueError(f"the article {signature.id!r} was added before; expected a new one")
        found: dict[str, float] = {}
        folded = signature.vector.ids % _ROWS
        for lang in sorted(self._lists):
            found.update(self._nearest(signature, folded, lang, skip))
        found.update(self._nearest_latent(signature, skip))
        self._enter(signature)
        return [Neighbour(article, similarity) for article, similarity in sorted(found.items())]

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
        self, articles: Iterable[tuple[int, Signature]], last: int, arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Go on from a state: numbered articles, ascending, and the arrays of :meth:`state_dict`."""
        for number, signature in articles:
            self._know(number, signature)
        for lang in dict.fromkeys(name.partition(".")[0] for name in arrays):
            self._lists[lang] = _Lists(self.room, self.max_terms)
            self._lists[lang].load_state({name: arrays[f"{lang}.{name}"] for name in _PARTS})
        self.last = last

    def _enter(self, signature: Signature) -> None:
        self.last += 1
        self._know(self.last, signature)
        if signature.lang not in self._lists:
            self._lists[signature.lang] = _Lists(self.room, self.max_terms)
        self._lists[signature.lang].add(self.last, signature.vector)

    def _know(self, number: int, signature: Signature) -> None:
        self.numbers[signature.id] = number
        self.articles[number] = signature
        self._shelf.put(number, signature.vector)
        if signature.latent is not None:
            if self._latent is None:
                self._latent = LatestPoints(len(signature.latent), self.reach)
            self._latent.add(number, signature.lang, signature.latent)

    def _nearest(
        self, signature: Signature, folded: Ids, lang: str, skip: Callable[[str], bool]
    ) -> list[tuple[str, float]]:
        numbers, products = np.empty(self.compared, dtype=np.int32), np.empty(self.compared)
        n = find_nearest(
            self._lists[lang].lists,
            folded,
            *signature.vector,
            self.max_terms,
            self._shelf.table,
            self._shelf.owners,
            self._shelf.ids,
            self._shelf.weights,
            self._shelf.lengths,
            self.least,
            numbers,
            products,
        )
        articles = self.articles
        scored = [
            (score, one)
            for score, number in zip(products[:n].tolist(), numbers[:n].tolist(), strict=True)
            if not skip(one := articles[number].id)
        ]
        scored.sort(reverse=True)
        return [(article, score) for score, article in scored[: self.k]]

    def _nearest_latent(
        self, signature: Signature, skip: Callable[[str], bool]
    ) -> Iterator[tuple[str, float]]:
        if signature.latent is None or self._latent is None:
            return
        self._latent.last = self.last
        for number in self._latent.nearest(signature.latent, self.k, least=self.least_latent):
            near = self.articles[number]
            if not skip(near.id):
                yield near.id, product(signature.vector, near.vector)


class _Lists:
    """The latest articles of each term, terms sharing a limited number of lists."""

    def __init__(self, room: int, max_terms: int) -> None:
        self.max_terms = max_terms
        self.lists = np.zeros((_ROWS, room), dtype=np.int32)
        self._next = np.zeros(_ROWS, dtype=np.uint8)

    def add(self, number: int, vector: Vector) -> None:
        list_cluster(self.lists, self._next, vector.ids % _ROWS, vector.weights, self.max_terms, number)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        rows = np.flatnonzero(self.lists.any(axis=1)).astype(np.int32)
        return {"rows": rows, "lists": self.lists[rows], "next": self._next[rows]}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.lists[arrays["rows"]] = arrays["lists"]
        self._next[arrays["rows"]] = arrays["next"]
