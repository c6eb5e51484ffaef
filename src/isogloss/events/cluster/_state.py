"""Clusters, and the state of online clustering: clusters, their index, and term weights."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from isogloss.events.cluster._postings import PostingLists
from isogloss.events.cluster._vectors import (
    EMPTY_VECTOR,
    TermWindow,
    Vector,
    add_vectors,
    dot_product,
    dot_products,
)

_DAY_S = 86_400.0


@dataclass(frozen=True)
class ClusterSettings:
    """Settings of online clustering."""

    threshold: float = 0.25
    """Minimum similarity of an article without a body to its cluster."""
    body_threshold: float = 0.38
    """The same for an article with a body."""
    body_terms: int = 30
    """Distinct words that a body needs to count as one."""
    merge_threshold: float = 0.4
    """Minimum similarity of two clusters that are merged."""
    other_places: float = 2.2
    """Factor of the minimum similarity where both name places but none in common."""
    half_life: float = 2.0
    """Days in which similarity decays by half."""
    mean_share: float = 0.6
    """Reference time of a cluster: 0 for its last article, 1 for the mean of its articles."""
    window: float = 10.0
    """Days after its last article at which a cluster expires; also the window of term counts."""
    max_age: float = 30.0
    """Days after its first article at which a cluster expires in any case."""
    max_articles: int = 1_000_000
    """Maximum number of articles; beyond it, the clusters that are next to expire are dropped."""
    candidates: int = 16
    """Clusters that an article is compared with."""
    repair_every: int = 256
    """Articles of a language after which as many are reassigned; 0 for never."""
    margin: float = 0.0
    """Minimum gain in similarity for an article to move to another cluster."""
    prior: float = 100.0
    body_weight: float = 2.5
    body_power: float = 2.0
    max_terms: int = 128
    """See :class:`~isogloss.events.cluster.TermWindow`."""


class ClusterState:
    """State of online clustering, of all languages.

    Memory: bounded by the articles of the window, see :class:`ClusterSettings`, besides about 150 MB for
    term tables, of which the system allocates what is used.

    Parameters
    ----------
    settings : ClusterSettings, optional
        Settings of online clustering.

    Attributes
    ----------
    clusters : dict of int to Cluster
        The clusters that have not expired.
    members : dict of str to Member
        Their articles.
    now : float
        The latest time of an article, in seconds since 1970.
    """

    def __init__(self, settings: ClusterSettings | None = None) -> None:
        self.settings = settings or ClusterSettings()
        self.clusters: dict[int, Cluster] = {}
        self.members: dict[str, Member] = {}
        self.now = -np.inf
        self.terms = TermWindow(
            int(np.ceil(self.settings.window)),
            prior=self.settings.prior,
            body_weight=self.settings.body_weight,
            body_power=self.settings.body_power,
            max_terms=self.settings.max_terms,
        )
        self.postings = PostingLists()
        self.recent: dict[str, list[str]] = {}
        self.last_id = 0
        self.expiry_heap: list[tuple[float, int]] = []

    def create_cluster(self, lang: str) -> Cluster:
        """Create an empty cluster."""
        self.last_id += 1
        return self.clusters.setdefault(self.last_id, Cluster(self.last_id, lang))

    def assign(self, article_id: str, member: Member, cluster: Cluster) -> None:
        """Assign an article to a cluster."""
        member.cluster = cluster.id
        self.members[article_id] = member
        cluster.add(article_id, member)
        self.postings.add(cluster.id, member.vector)
        if len(cluster) == 1:
            heapq.heappush(self.expiry_heap, (self._end(cluster), cluster.id))

    def unassign(self, article_id: str) -> Cluster:
        """Remove an article from its cluster, which may then be empty, and return the cluster."""
        member = self.members[article_id]
        cluster = self.clusters[member.cluster]
        cluster.remove(article_id, member)
        return cluster

    def delete(self, cluster: Cluster) -> None:
        """Delete a cluster and its articles."""
        del self.clusters[cluster.id]
        for article_id in cluster.article_ids:
            del self.members[article_id]

    def merge(self, source: Cluster, target: Cluster) -> None:
        """Move all articles of one cluster into another."""
        del self.clusters[source.id]
        for article_id in source.article_ids:
            self.members[article_id].cluster = target.id
        target.absorb(source)
        self.postings.add(target.id, source.total)

    def ranked(self, member: Member, lang: str) -> list[tuple[float, Cluster]]:
        """Return the clusters that an article may join with their similarities, the best first."""
        found = (self.clusters.get(i) for i in self.postings.find(member.vector, self.settings.candidates))
        near = [one for one in found if one is not None and one.lang == lang and one.article_ids]
        inner = dot_products(member.vector, [cluster.total for cluster in near])
        fitting = [
            (resemblance, cluster)
            for cluster, dot in zip(near, inner, strict=True)
            if (cosine := dot / (cluster.norm or 1.0)) >= member.threshold
            and (resemblance := cosine * self._nearness(member.time, cluster))
            >= member.threshold * self._strictness(member.places, cluster)
        ]
        return sorted(fitting, key=lambda pair: (-pair[0], pair[1].id))

    def _nearness(self, time: float, cluster: Cluster) -> float:
        """Return the time decay between an article and a cluster."""
        gap = max(0.0, time - cluster.latest, cluster.earliest - time)
        distance = abs(time - cluster.seconds / len(cluster.article_ids))
        share = self.settings.mean_share
        return self.time_decay((1 - share) * gap + share * distance)

    def merges(self, one: Cluster, other: Cluster) -> bool:
        """Return whether two clusters are similar enough to be merged."""
        threshold = self.settings.merge_threshold * self._strictness(one.places, other)
        return self.similarity_of(one, other) >= threshold

    def _strictness(self, places: Collection[str], cluster: Cluster) -> float:
        """Return the factor of a minimum similarity: stories that happen at different places are not one."""
        apart = places and cluster.places and cluster.places.keys().isdisjoint(places)
        return self.settings.other_places if apart else 1.0

    def similarity_of(self, one: Cluster, other: Cluster) -> float:
        """Return the cosine of two centroids, decayed by the time between the clusters."""
        gap = max(0.0, one.earliest - other.latest, other.earliest - one.latest)
        return dot_product(one.total, other.total) / (one.norm * other.norm or 1.0) * self.time_decay(gap)

    def time_decay(self, seconds: float) -> float:
        """Return the factor by which similarity decays in a time."""
        return float(2 ** (-seconds / _DAY_S / self.settings.half_life))

    def expire(self) -> Iterator[int]:
        """Delete the expired clusters, and yield their ids."""
        while self.expiry_heap:
            time, number = self.expiry_heap[0]
            cluster = self.clusters.get(number)
            if cluster is None:
                heapq.heappop(self.expiry_heap)
            elif self._end(cluster) > time:
                heapq.heapreplace(self.expiry_heap, (self._end(cluster), number))
            elif time >= self.now and len(self.members) <= self.settings.max_articles:
                return
            else:
                heapq.heappop(self.expiry_heap)
                self.delete(cluster)
                yield number

    def _end(self, cluster: Cluster) -> float:
        settings = self.settings
        return min(cluster.latest + settings.window * _DAY_S, cluster.earliest + settings.max_age * _DAY_S)


MAX_CENTROID_TERMS = 512
"""Maximum number of terms of a centroid; the weakest are dropped."""


@dataclass(slots=True)
class Member:
    """An article in a cluster."""

    cluster: int
    """Id of its cluster."""
    time: float
    """Seconds since 1970."""
    vector: Vector
    """Unit vector of the article; emptied once the article is no longer reassigned."""
    threshold: float
    """Minimum similarity to a cluster that it may join."""
    places: tuple[str, ...] = ()
    """The places that it names; emptied with the vector."""


@dataclass(slots=True)
class Cluster:
    """Articles of one language about one story."""

    id: int
    """Increasing from 1 on; ids are never reused."""
    lang: str
    """The language of all its articles."""
    article_ids: list[str] = field(default_factory=list)
    """In the order of arrival."""
    total: Vector = EMPTY_VECTOR
    """The sum of the vectors of its articles."""
    norm: float = 0.0
    """Norm of the sum."""
    earliest: float = np.inf
    latest: float = -np.inf
    """Times of its first and its last article, in seconds since 1970."""
    seconds: float = 0.0
    """The sum of the times of its articles."""
    places: Counter[str] = field(default_factory=Counter)
    """Number of articles that name each place."""

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
        """Add an article."""
        self.article_ids.append(article_id)
        self._add_total(member.vector)
        self.earliest = min(self.earliest, member.time)
        self.latest = max(self.latest, member.time)
        self.seconds += member.time
        self.places.update(member.places)

    def remove(self, article_id: str, member: Member) -> None:
        """Remove an article; the times of the first and last article stay."""
        self.article_ids.remove(article_id)
        self._add_total(member.vector, -1.0)
        self.seconds -= member.time
        # Unlike subtraction by Counter.subtract, this leaves no zeros behind.
        self.places -= Counter(member.places)

    def absorb(self, other: Cluster) -> None:
        """Add all articles of another cluster."""
        self.article_ids += other.article_ids
        self._add_total(other.total)
        self.earliest = min(self.earliest, other.earliest)
        self.latest = max(self.latest, other.latest)
        self.seconds += other.seconds
        self.places.update(other.places)

    def _add_total(self, vector: Vector, factor: float = 1.0) -> None:
        self.total = add_vectors(self.total, vector, factor=factor, max_terms=MAX_CENTROID_TERMS)
        self.norm = self.total.norm
