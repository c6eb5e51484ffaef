"""A cluster as linking sees it: sums of the signatures of its articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from isogloss.events.cluster import Vector, add_vectors
from isogloss.events.link._signature import Signature
from isogloss.kernels import PackedProfile

__all__ = ["PARTS", "TOLD", "Profile"]

_MAX_TERMS = 512

PARTS = ("entities", "keywords", "places", "numbers", "dates", "vector")
"""What profiles are compared by."""

TOLD = ("articles", "bare", "mean_time", "first", "last")
"""What is told of a profile beside its parts."""

_NAMED = len(PARTS) - 1
"""Parts that are names: all but the vector."""


class Profile:
    """A cluster as linking sees it.

    Attributes
    ----------
    id : int
        Of the cluster.
    lang : str
        Of all its articles.
    articles : list of str
        Ids, in the order in which they came.
    first, last : float
        Times of the earliest and the latest article, in seconds since 1970.
    bare : int
        Articles without a body.
    vector : Vector
        Sum of the vectors of its articles.
    places : Counter of str
        Articles with each.
    most_named : str or None
        The place that most articles name; of several the first by name.
    latent : array or None
        Sum of latent vectors.
    ranked : tuple of Signature
        Its first articles, the most central first, once somebody has ranked them; none after a change.
    """

    def __init__(self, cluster: int, lang: str, signatures: Iterable[Signature] = ()) -> None:
        self.id = cluster
        self.lang = lang
        self.articles: list[str] = []
        self.bare = 0
        self.first, self.last, self.seconds = np.inf, -np.inf, 0.0
        self.vector = Vector(np.empty(0, dtype=np.int32), np.empty(0))
        self.places: Counter[str] = Counter()
        self.most_named: str | None = None
        self.latent: NDArray[np.float64] | None = None
        self.ranked: tuple[Signature, ...] = ()
        self._packed = PackedProfile(_NAMED)
        self._packed_articles = 0
        for signature in signatures:
            self.add(signature)

    def __len__(self) -> int:
        return len(self.articles)

    @property
    def mean_time(self) -> float:
        """Mean time of the articles, in seconds since 1970."""
        return self.seconds / len(self.articles)

    @property
    def packed(self) -> PackedProfile:
        """What it is compared by: :data:`PARTS`, :data:`TOLD`, its language and its place."""
        if self._packed_articles != len(self.articles):
            told = [len(self.articles), self.bare, self.mean_time, self.first, self.last]
            self._packed.tell(*self.vector, np.array(told, dtype=np.float64), [self.lang, self.most_named])
            self._packed_articles = len(self.articles)
        return self._packed

    def add(self, signature: Signature) -> None:
        """Take an article in."""
        self.ranked = ()
        self.articles.append(signature.id)
        self.bare += not signature.sentence
        self.first, self.last = min(self.first, signature.time), max(self.last, signature.time)
        self.seconds += signature.time
        self.vector = add_vectors(self.vector, signature.vector, max_terms=_MAX_TERMS)
        if signature.latent is not None:
            vector = signature.latent.astype(np.float64)
            self.latent = vector if self.latent is None else self.latent + vector
        self._name(signature.places)
        dates = tuple(day.isoformat() for day in signature.dates)
        self._packed.add([signature.entities, signature.keywords, signature.places, signature.numbers, dates])

    def _name(self, places: tuple[str, ...]) -> None:
        """An article names places: counts only grow, so the first of all is one of these or stays."""
        if places:
            self.places.update(places)
            known = places if self.most_named is None else (self.most_named, *places)
            self.most_named = min(known, key=lambda place: (-self.places[place], place))
