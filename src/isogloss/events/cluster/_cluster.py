"""A cluster: the articles of one language about one story, as sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from isogloss.events.cluster._vectors import NOTHING, Vector, add_vectors

__all__ = ["MAX_CENTROID", "Cluster", "Member"]

MAX_CENTROID = 512
"""Terms of the longest centroid; the weakest are forgotten."""


@dataclass(slots=True)
class Member:
    """What is kept of an article.

    Attributes
    ----------
    cluster : int
        Where it is.
    time : float
        Seconds since 1970.
    vector : Vector
        Of length one; without terms once the article is settled.
    threshold : float
        Least resemblance to a cluster that it may join.
    """

    cluster: int
    time: float
    vector: Vector
    threshold: float


@dataclass(slots=True)
class Cluster:
    """Articles of one language that tell one story.

    Attributes
    ----------
    id : int
        Increasing from 1 on; an id is never given twice.
    lang : str
        The language of all its articles.
    article_ids : list of str
        In the order in which they came to it.
    total : Vector
        The sum of the vectors of its articles.
    norm : float
        The length of the sum.
    earliest, latest : float
        Times of its first and its last article, in seconds since 1970.
    seconds : float
        The sum of the times of its articles.
    """

    id: int
    lang: str
    article_ids: list[str] = field(default_factory=list)
    total: Vector = NOTHING
    norm: float = 0.0
    earliest: float = np.inf
    latest: float = -np.inf
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.article_ids)

    @property
    def first(self) -> datetime:
        """Time of its first article."""
        return datetime.fromtimestamp(self.earliest, UTC)

    @property
    def last(self) -> datetime:
        """Time of its last article."""
        return datetime.fromtimestamp(self.latest, UTC)

    @property
    def mean_time(self) -> datetime:
        """Mean time of its articles."""
        return datetime.fromtimestamp(self.seconds / len(self), UTC)

    def add(self, article_id: str, member: Member) -> None:
        """Take an article in."""
        self.article_ids.append(article_id)
        self._add_total(member.vector)
        self.earliest = min(self.earliest, member.time)
        self.latest = max(self.latest, member.time)
        self.seconds += member.time

    def remove(self, article_id: str, member: Member) -> None:
        """Let an article go; the times of the first and last article are not taken back."""
        self.article_ids.remove(article_id)
        self._add_total(member.vector, -1.0)
        self.seconds -= member.time

    def absorb(self, other: Cluster) -> None:
        """Take all articles of another cluster in."""
        self.article_ids += other.article_ids
        self._add_total(other.total)
        self.earliest = min(self.earliest, other.earliest)
        self.latest = max(self.latest, other.latest)
        self.seconds += other.seconds

    def _add_total(self, vector: Vector, factor: float = 1.0) -> None:
        self.total = add_vectors(self.total, vector, factor=factor, max_terms=MAX_CENTROID)
        self.norm = self.total.norm
