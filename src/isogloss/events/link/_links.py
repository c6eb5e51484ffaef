"""Links between the clusters of a stream, kept up to date as clusters change.

:class:`LinkState` follows the decisions of :func:`isogloss.events.cluster.transition`. It holds the profile
of every article and cluster and the pairs of candidate articles that
:class:`~isogloss.events.link.CandidateIndex` found, and computes the features and the probability of any
link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest

import numpy as np

from isogloss.events.cluster import Decision, Ids, Weights
from isogloss.events.link._candidates import MIN_SIMILARITY, CandidateIndex
from isogloss.events.link._features import FEATURES, Array, PairSupport, feature_rows, pair_support
from isogloss.events.link._linker import Linker
from isogloss.events.link._profiles import ArticleProfile, ClusterProfile
from isogloss.kernels import Bonds, NearPairs

__all__ = ["Link", "LinkState"]

_MAX_SHOWN_PAIRS = 5


@dataclass(frozen=True)
class Link:
    """Two clusters that may tell one story, and the evidence."""

    a: int
    b: int
    """The clusters, the smaller id first."""
    probability: float
    """Probability that both clusters tell one story."""
    features: Mapping[str, float]
    """See :mod:`isogloss.events.link._features`."""
    pairs: tuple[tuple[str, str, float], ...]
    """The most similar pairs of articles: an article of ``a``, one of ``b``, their similarity."""


class LinkState:
    """Profiles of all articles and clusters, and the links between clusters.

    Memory: bounded by the articles that have not expired.

    Parameters
    ----------
    linker : Linker, optional
        Computes probabilities; :meth:`Linker.default` by default.
    candidates : CandidateIndex, optional
        Finds candidates.
    max_links : int
        Links of a cluster that are considered: those with the highest sums of similarities.

    Attributes
    ----------
    profiles : dict of int to ClusterProfile
        The clusters.
    articles : dict of str to ArticleProfile
        Their articles.
    near : NearPairs
        Pairs of candidate articles, by the serial numbers of :class:`CandidateIndex`.
    changed : set of int
        Clusters that changed since the last update of events.
    removed : set of int
        Clusters that expired or lost all articles since the last update of events.
    """

    def __init__(
        self, linker: Linker | None = None, candidates: CandidateIndex | None = None, *, max_links: int = 30
    ) -> None:
        self.linker = linker or Linker.default()
        self.candidates = CandidateIndex() if candidates is None else candidates
        self.max_links = max_links
        self.profiles: dict[int, ClusterProfile] = {}
        self.articles: dict[str, ArticleProfile] = {}
        self.cluster_of: dict[str, int] = {}
        self.near = NearPairs()
        self.changed: set[int] = set()
        self.removed: set[int] = set()
        self._bonds: Bonds | None = None

    def add(self, article: ArticleProfile, cluster: int) -> None:
        """Add an article to a cluster; a known article is moved to it."""
        if article.id in self.articles:
            self.move(article.id, cluster)
            return
        bonds = self.bonds
        self.articles[article.id] = article
        self.cluster_of[article.id] = cluster
        found = self.candidates.add(article, cluster)
        self.near.add(self.candidates.last, found.numbers, found.similarities)
        bonds.add(np.full_like(found.groups, cluster), found.groups, found.similarities)
        if cluster not in self.profiles:
            self.profiles[cluster] = ClusterProfile(cluster, article.lang)
        self.profiles[cluster].add(article)
        self.changed.add(cluster)

    def move(self, article: str, cluster: int) -> None:
        """Move an article to another cluster, which may be new."""
        before = self.cluster_of[article]
        if before == cluster:
            return
        self.cluster_of[article] = cluster
        self.candidates.regroup([article], cluster)
        rest = [one for one in self.profiles[before].articles if one != article]
        self._rebuild(before, rest)
        self._rebuild(cluster, [*self._article_ids(cluster), article])

    def merge(self, source: int, target: int) -> None:
        """Merge a cluster into another."""
        moved = self._article_ids(source)
        self.cluster_of.update(dict.fromkeys(moved, target))
        self.candidates.regroup(moved, target)
        self._rebuild(target, self._article_ids(target) + moved)
        self._rebuild(source, [])

    def expire(self, cluster: int) -> None:
        """Forget a cluster and its articles."""
        for article in self._article_ids(cluster):
            self.near.forget(self.candidates.numbers[article])
            del self.articles[article], self.cluster_of[article]
            self.candidates.forget(article)
        self._remove_cluster(cluster)

    def apply(self, decision: Decision, article: ArticleProfile) -> None:
        """Apply a decision of :func:`isogloss.events.cluster.transition`."""
        for cluster in decision.expired:
            self.expire(cluster)
        if decision.repeated:
            return
        for source, target in decision.merged:
            self.merge(source, target)
        self.add(article, decision.cluster)
        for move in decision.moved:
            self.move(move.article, move.target)

    def strongest_links(self, clusters: Iterable[int]) -> tuple[Ids, PairSupport]:
        """Return the strongest links of clusters: ascending pairs, smaller id first, and their support."""
        asked = np.array(sorted(clusters), dtype=np.int32)
        ends, others, links, sums = self.bonds.strongest(asked, self.max_links)
        ones = np.repeat(asked, np.diff(ends, prepend=np.int32(0)))
        keys = np.minimum(ones, others).astype(np.int64) << 32 | np.maximum(ones, others)
        keys, first = np.unique(keys, return_index=True)
        pairs = np.column_stack([keys >> 32, keys & 0xFFFFFFFF]).astype(np.int32)
        return pairs, PairSupport(links[first].astype(np.float64), sums[first])

    def feature_rows(self, pairs: Ids, support: PairSupport) -> Array:
        """Return the features of pairs of clusters, in the order of :data:`FEATURES`."""
        clusters, places = np.unique(pairs, return_inverse=True)
        profiles = [self.profiles[one] for one in clusters.tolist()]
        return feature_rows(profiles, places.reshape(-1, 2).astype(np.int32), support)

    def probabilities(self, clusters: Iterable[int]) -> tuple[Ids, Weights]:
        """Return the strongest links of clusters: ascending pairs and their probabilities."""
        pairs, support = self.strongest_links(clusters)
        if not len(pairs):
            return pairs, np.empty(0)
        wanted = [FEATURES.index(name) for name in self.linker.features]
        chances = self.linker.predict_proba(self.feature_rows(pairs, support)[:, wanted])[:, 1]
        return pairs, np.ascontiguousarray(chances)

    def pairs(self, a: int, b: int) -> list[tuple[str, str, float]]:
        """Return the candidate pairs between two clusters, in the order in which they were found."""
        one, other, similarities = self.near.of(self.numbers(self._article_ids(a)))
        between = self.candidates.groups(other) == b
        names = (self.candidates.ids_of(numbers[between]) for numbers in (one, other))
        return list(zip(*names, similarities[between].tolist(), strict=True))

    def link(self, one: int, other: int) -> Link:
        """Return the link between two clusters."""
        a, b = min(one, other), max(one, other)
        pairs = self.pairs(a, b)
        support = pair_support([[similarity for _, _, similarity in pairs]])
        rows = self.feature_rows(np.array([[a, b]], dtype=np.int32), support)
        features = dict(zip(FEATURES, rows[0].tolist(), strict=True))
        best = nlargest(_MAX_SHOWN_PAIRS, pairs, key=lambda pair: (pair[2], pair[0], pair[1]))
        return Link(a, b, self.linker.probability(features), features, tuple(best))

    def numbers(self, articles: Iterable[str]) -> Ids:
        """Return the serial numbers of articles."""
        return np.array([self.candidates.numbers[one] for one in articles], dtype=np.int32)

    @property
    def bonds(self) -> Bonds:
        """Sums of similarities by pair of clusters; computed from the articles at first access."""
        if self._bonds is None:
            self._bonds = Bonds(MIN_SIMILARITY)
            self._add_bonds(self._bonds, self.articles)
        return self._bonds

    def _add_bonds(self, bonds: Bonds, articles: Iterable[str]) -> None:
        """Add all candidate pairs of articles to the bonds of their clusters."""
        one, other, similarities = self.near.of(self.numbers(articles))
        bonds.add(self.candidates.groups(one), self.candidates.groups(other), similarities)

    def _article_ids(self, cluster: int) -> list[str]:
        return self.profiles[cluster].articles if cluster in self.profiles else []

    def _remove_cluster(self, cluster: int) -> None:
        self.profiles.pop(cluster, None)
        self.bonds.forget(cluster)
        self.changed.discard(cluster)
        self.removed.add(cluster)

    def _rebuild(self, cluster: int, articles: list[str]) -> None:
        """Rebuild the profile of a cluster; one without articles is removed."""
        if not articles:
            self._remove_cluster(cluster)
            return
        profiles = [self.articles[article] for article in articles]
        self.profiles[cluster] = ClusterProfile(cluster, profiles[0].lang, profiles)
        self.bonds.forget(cluster)
        self._add_bonds(self.bonds, articles)
        self.changed.add(cluster)
