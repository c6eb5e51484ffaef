"""A cluster as linking sees it: sums of the signatures of its articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date

import numpy as np
from numpy.typing import NDArray

from isogloss.events.signature import Signature
from isogloss.events.vectors import Vector, add_vectors

__all__ = ["Profile"]

_MAX_TERMS = 512


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
    vector : Vector
        Sum of the vectors of its articles.
    entities, keywords : Counter of str
        Sums of weights.
    places, numbers : Counter of str
        Articles with each.
    dates : Counter of date
        Articles with each.
    latent : array or None
        Sum of latent vectors.
    """

    def __init__(self, cluster: int, lang: str, signatures: Iterable[Signature] = ()) -> None:
        self.id = cluster
        self.lang = lang
        self.articles: list[str] = []
        self.first, self.last, self.seconds = np.inf, -np.inf, 0.0
        self.vector = Vector(np.empty(0, dtype=np.int32), np.empty(0))
        self.entities: Counter[str] = Counter()
        self.keywords: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.numbers: Counter[str] = Counter()
        self.dates: Counter[date] = Counter()
        self.latent: NDArray[np.float64] | None = None
        self._squares: dict[str, float] = {}
        for signature in signatures:
            self.add(signature)

    def __len__(self) -> int:
        return len(self.articles)

    @property
    def mean_time(self) -> float:
        """Mean time of the articles, in seconds since 1970."""
        return self.seconds / len(self.articles)

    def squares(self, name: str) -> float:
        """The sum of squared weights of ``entities`` or ``keywords``."""
        if name not in self._squares:
            self._squares[name] = sum(weight * weight for weight in getattr(self, name).values())
        return self._squares[name]

    @property
    def norm(self) -> float:
        """The length of its vector."""
        if "vector" not in self._squares:
            self._squares["vector"] = self.vector.norm
        return self._squares["vector"]

    def add(self, signature: Signature) -> None:
        """Take an article in."""
        self._squares.clear()
        self.articles.append(signature.id)
        self.first, self.last = min(self.first, signature.time), max(self.last, signature.time)
        self.seconds += signature.time
        self.vector = add_vectors(self.vector, signature.vector, max_terms=_MAX_TERMS)
        for name in ("entities", "keywords", "places", "numbers", "dates"):
            getattr(self, name).update(getattr(signature, name))
        if signature.latent is not None:
            vector = signature.latent.astype(np.float64)
            self.latent = vector if self.latent is None else self.latent + vector
