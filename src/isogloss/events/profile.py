"""A cluster as linking sees it: sums of the signatures of its articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.signature import Signature
from isogloss.events.vectors import Vector, add_vectors
from isogloss.kernels import PackedProfile

__all__ = ["PARTS", "TOLD", "Profile"]

_MAX_TERMS = 512

PARTS = ("entities", "keywords", "places", "numbers", "dates", "vector")
"""What profiles are compared by."""

TOLD = ("articles", "bare", "mean_time", "first", "last")
"""What is told of a profile beside its parts."""

_CACHED = ("packed", "most_named")


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
    entities, keywords : Counter of str
        Sums of weights.
    places, numbers : Counter of str
        Articles with each.
    dates : Counter of date
        Articles with each.
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
        self.entities: Counter[str] = Counter()
        self.keywords: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.numbers: Counter[str] = Counter()
        self.dates: Counter[date] = Counter()
        self.latent: NDArray[np.float64] | None = None
        self.ranked: tuple[Signature, ...] = ()
        for signature in signatures:
            self.add(signature)

    def __len__(self) -> int:
        return len(self.articles)

    @property
    def mean_time(self) -> float:
        """Mean time of the articles, in seconds since 1970."""
        return self.seconds / len(self.articles)

    @cached_property
    def packed(self) -> PackedProfile:
        """What it is compared by: :data:`PARTS`, :data:`TOLD`, its language and its place."""
        dates = {day.isoformat(): n for day, n in self.dates.items()}
        named: list[dict[str, Any]] = [self.entities, self.keywords, self.places, self.numbers, dates]
        told = [len(self.articles), self.bare, self.mean_time, self.first, self.last]
        marks = [self.lang, self.most_named]
        return PackedProfile(named, *self.vector, np.array(told, dtype=np.float64), marks)

    @cached_property
    def most_named(self) -> str | None:
        """The place that most articles name."""
        return min(self.places, key=lambda place: (-self.places[place], place), default=None)

    def add(self, signature: Signature) -> None:
        """Take an article in."""
        for name in _CACHED:
            self.__dict__.pop(name, None)
        self.ranked = ()
        self.articles.append(signature.id)
        self.bare += not signature.sentence
        self.first, self.last = min(self.first, signature.time), max(self.last, signature.time)
        self.seconds += signature.time
        self.vector = add_vectors(self.vector, signature.vector, max_terms=_MAX_TERMS)
        for name in ("entities", "keywords", "places", "numbers", "dates"):
            getattr(self, name).update(getattr(signature, name))
        if signature.latent is not None:
            vector = signature.latent.astype(np.float64)
            self.latent = vector if self.latent is None else self.latent + vector
