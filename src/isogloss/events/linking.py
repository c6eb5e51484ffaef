"""Links between the clusters of a stream, kept up to date as articles come and clusters change.

:class:`LinkState` follows the decisions of :func:`isogloss.events.clustering.transition`. It keeps the
signature of every article, the links between articles that :class:`~isogloss.events.candidates.Neighbours`
finds, and a profile of every cluster, and tells the features of any pair of linked clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain

from isogloss.events.bonds import Bonds
from isogloss.events.candidates import Neighbours
from isogloss.events.clustering import Decision
from isogloss.events.features import FEATURES, feature_rows, pair_features
from isogloss.events.linker import Linker
from isogloss.events.profile import Profile
from isogloss.events.signature import Signature

__all__ = ["Link", "LinkState"]

_SHOWN = 5


@dataclass(frozen=True)
class Link:
    """Two clusters that may tell one story, and what speaks for it.

    Attributes
    ----------
    a, b : int
        The clusters, the smaller id first.
    probability : float
        That they tell one story.
    features : dict of str to float
        See :mod:`isogloss.events.features`.
    pairs : tuple of (str, str, float)
        The most similar pairs of articles behind it: an article of ``a``, one of ``b``, their similarity.
    """

    a: int
    b: int
    probability: float
    features: Mapping[str, float]
    pairs: tuple[tuple[str, str, float], ...]


class LinkState:
    """What is known about the links between clusters.

    Memory: bounded by the articles that have not expired.

    Parameters
    ----------
    linker : Linker, optional
        Tells probabilities; :meth:`Linker.default` if none is given.
    neighbours : Neighbours, optional
        Finds candidates.
    max_links : int
        Links of a cluster that are looked at: those with the highest sums of similarities.

    Attributes
    ----------
    profiles : dict of int to Profile
        The clusters.
    signatures : dict of str to Signature
        Their articles.
    changed : set of int
        Clusters that changed since it was last emptied.
    gone : set of int
        Clusters that ended or lost all articles since it was last emptied.
    """

    def __init__(
        self, linker: Linker | None = None, neighbours: Neighbours | None = None, *, max_links: int = 30
    ) -> None:
        self.linker = linker or Linker.default()
        self.neighbours = Neighbours() if neighbours is None else neighbours
        self.max_links = max_links
        self.profiles: dict[int, Profile] = {}
        self.signatures: dict[str, Signature] = {}
        self.cluster_of: dict[str, int] = {}
        self.near: dict[str, dict[str, float]] = {}
        self.changed: set[int] = set()
        self.gone: set[int] = set()
        self._bonds: Bonds | None = None

    def add(self, signature: Signature, cluster: int) -> None:
        """An article came into a cluster; one that is known is moved to it."""
        if signature.id in self.signatures:
            self.move(signature.id, cluster)
            return
        bonds = self.bonds
        self.signatures[signature.id] = signature
        self.cluster_of[signature.id] = cluster
        own = self.near[signature.id] = {}
        found = self.neighbours.add(signature, lambda other: self.cluster_of[other] == cluster)
        for other, similarity in found:
            own[other] = self.near[other][signature.id] = similarity
            bonds.add(cluster, self.cluster_of[other], similarity)
        if cluster not in self.profiles:
            self.profiles[cluster] = Profile(cluster, signature.lang)
        self.profiles[cluster].add(signature)
        self.changed.add(cluster)

    def move(self, article: str, cluster: int) -> None:
        """An article went to another cluster, which may be new."""
        before = self.cluster_of[article]
        if before == cluster:
            return
        self.cluster_of[article] = cluster
        rest = [one for one in self.profiles[before].articles if one != article]
        self._rebuild(before, rest)
        self._rebuild(cluster, [*self._articles(cluster), article])

    def merge(self, source: int, target: int) -> None:
        """A cluster went into another one."""
        moved = self._articles(source)
        self.cluster_of.update(dict.fromkeys(moved, target))
        self._rebuild(target, self._articles(target) + moved)
        self._rebuild(source, [])

    def expire(self, cluster: int) -> None:
        """A cluster ended: forget it and its articles."""
        for article in self._articles(cluster):
            for other in self.near.pop(article):
                self.near[other].pop(article, None)
            del self.signatures[article], self.cluster_of[article]
            self.neighbours.forget(article)
        self._drop(cluster)

    def apply(self, decision: Decision, signature: Signature) -> None:
        """Follow a decision of :func:`isogloss.events.clustering.transition` about an article."""
        for cluster in decision.expired:
            self.expire(cluster)
        if decision.repeated:
            return
        for source, target in decision.merged:
            self.merge(source, target)
        self.add(signature, decision.cluster)
        for move in decision.moved:
            self.move(move.article, move.target)

    def links_of(self, cluster: int) -> dict[int, list[float]]:
        """For each cluster that is linked to this one the similarities of the links; the strongest."""
        found = self.bonds.of(cluster)
        return {other: found[other] for other in self.bonds.strongest(cluster, self.max_links)}

    def features(self, one: int, other: int, similarities: Sequence[float]) -> dict[str, float]:
        """Features of two clusters whose links have these similarities; the smaller id is the first."""
        a, b = min(one, other), max(one, other)
        return pair_features(self.profiles[a], self.profiles[b], similarities)

    def probabilities(self, clusters: Iterable[int]) -> dict[tuple[int, int], float]:
        """Probabilities of the links of some clusters, the smaller id first."""
        linked: dict[tuple[int, int], list[float]] = {}
        for one in sorted(clusters):
            for other, similarities in self.links_of(one).items():
                linked.setdefault((one, other) if one < other else (other, one), similarities)
        if not linked:
            return {}
        concerned = list(dict.fromkeys(chain.from_iterable(linked)))
        place = {cluster: number for number, cluster in enumerate(concerned)}
        rows = feature_rows(
            [self.profiles[one] for one in concerned],
            [(place[a], place[b]) for a, b in linked],
            list(linked.values()),
        )
        wanted = [FEATURES.index(name) for name in self.linker.features]
        chances = self.linker.predict_proba(rows[:, wanted])[:, 1].tolist()
        return dict(zip(linked, chances, strict=True))

    def link(self, one: int, other: int) -> Link:
        """Everything about the link of two clusters."""
        a, b = min(one, other), max(one, other)
        pairs = [
            (article, near, similarity)
            for article in self._articles(a)
            for near, similarity in self.near[article].items()
            if self.cluster_of[near] == b
        ]
        features = self.features(a, b, [similarity for _, _, similarity in pairs])
        best = nlargest(_SHOWN, pairs, key=lambda pair: (pair[2], pair[0], pair[1]))
        return Link(a, b, self.linker.probability(features), features, tuple(best))

    @property
    def bonds(self) -> Bonds:
        """Similarities of articles by pairs of clusters; told by the articles the first time."""
        if self._bonds is None:
            self._bonds = Bonds()
            self._bind(self._bonds, self.near)
        return self._bonds

    def _bind(self, bonds: Bonds, articles: Iterable[str]) -> None:
        """Bind the clusters of articles by all of their pairs, in the order in which these were found."""
        numbers, cluster_of = self.neighbours.numbers, self.cluster_of
        pairs = {
            (numbers[one], other) if numbers[one] > numbers[other] else (numbers[other], one): (
                one,
                other,
                value,
            )
            for one in articles
            for other, value in self.near[one].items()
        }
        for key in sorted(pairs):
            one, other, similarity = pairs[key]
            bonds.add(cluster_of[one], cluster_of[other], similarity)

    def _articles(self, cluster: int) -> list[str]:
        return self.profiles[cluster].articles if cluster in self.profiles else []

    def _drop(self, cluster: int) -> None:
        self.profiles.pop(cluster, None)
        self.bonds.forget(cluster)
        self.changed.discard(cluster)
        self.gone.add(cluster)

    def _rebuild(self, cluster: int, articles: list[str]) -> None:
        """Make the profile of a cluster of these articles; one without articles is forgotten."""
        if not articles:
            self._drop(cluster)
            return
        signatures = [self.signatures[article] for article in articles]
        self.profiles[cluster] = Profile(cluster, signatures[0].lang, signatures)
        self.bonds.forget(cluster)
        self._bind(self.bonds, articles)
        self.changed.add(cluster)
