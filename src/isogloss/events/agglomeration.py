r"""From links between clusters to events: constrained agglomeration.

Groups of clusters are joined, the most probable pair first, while the mean probability of the links between
two groups,

.. math::

    p(G, H) = \frac{\sum_{c \in G, d \in H} w_c w_d\, p_{cd}}{\sum_{c \in G} w_c \sum_{d \in H} w_d},
    \qquad w_c = \sqrt{\text{articles of } c},

is at least a threshold. A pair of clusters that were never candidates of each other has probability 0 there,
so one wrong link between two stories of several clusters is outvoted by all the pairs that are not linked.
Nor does a wrong link come first because it is strong: what :math:`p_{cd}` is taken to be depends on third
clusters, which are linked to both or to neither if c and d are one story,

.. math::

    p_{cd} \left(1 - \lambda + \lambda\,
    \frac{\kappa + \sum_e \min(p_{ce}, p_{de})}{\kappa + \sum_e \max(p_{ce}, p_{de})}\right),
    \qquad \kappa = \tfrac12.

Two further rules keep stories apart: a pair that was looked at and found all but impossible keeps its groups
apart whatever the others say, and groups that share a language join only if the clusters of that language are
linked themselves.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt

__all__ = ["Rules", "agglomerate"]

Pair = tuple[int, int]

_PRIOR = 0.5
"""Agreement of third clusters that is taken for granted: one weak link more or less does not matter."""


@dataclass(frozen=True)
class Rules:
    r"""When groups of clusters become one event.

    Parameters
    ----------
    threshold : float
        Least mean probability of the links between two groups.
    impossible : float
        Probability of a link below which its clusters are never in one event.
    same_language : float
        Least mean probability of the links between the clusters of a language that both groups have.
    doubt : float
        The share of a probability, :math:`\lambda`, that third clusters have to support.
    """

    threshold: float = 0.5
    impossible: float = 0.01
    same_language: float = 0.25
    doubt: float = 0.5


@dataclass
class _Group:
    """Clusters, their weights by language, and sums of weighted probabilities to other groups."""

    clusters: list[int]
    weights: dict[str, float]
    sums: dict[int, float] = field(default_factory=dict)
    own: dict[int, float] = field(default_factory=dict)
    apart: set[int] = field(default_factory=set)

    @property
    def weight(self) -> float:
        return sum(self.weights.values())


def agglomerate(
    sizes: Mapping[int, int],
    languages: Mapping[int, str],
    probabilities: Mapping[Pair, float],
    rules: Rules | None = None,
) -> list[list[int]]:
    """Groups of clusters that are one event each; deterministic, whatever the order of the mappings.

    Parameters
    ----------
    sizes : mapping of int to int
        Articles of each cluster.
    languages : mapping of int to str
        Language of each cluster.
    probabilities : mapping of (int, int) to float
        Probabilities of links; the smaller id is first.
    rules : Rules, optional
        When groups become one.

    Returns
    -------
    list of list of int
        Clusters of each event, both ascending.

    Examples
    --------
    Two stories of three languages each, and one wrong link between them:

    >>> links = {(1, 2): 0.9, (1, 3): 0.9, (2, 3): 0.8, (4, 5): 0.9, (4, 6): 0.9, (5, 6): 0.8, (3, 4): 0.95}
    >>> languages = {1: "en", 2: "de", 3: "fr", 4: "en", 5: "de", 6: "ru"}
    >>> agglomerate(dict.fromkeys(languages, 4), languages, links)
    [[1, 2, 3], [4, 5, 6]]
    """
    rules = rules or Rules()
    groups = {one: _Group([one], {languages[one]: sqrt(sizes[one])}) for one in sorted(sizes)}
    for (a, b), p in _supported(probabilities, rules.doubt).items():
        _connect(groups, a, b, p, languages[a] == languages[b])
    for a, b in (pair for pair, p in probabilities.items() if p < rules.impossible):
        groups[a].apart.add(b)
        groups[b].apart.add(a)
    heap = [entry for one in groups for entry in _offers(groups, one, rules) if entry[1] == one]
    heapq.heapify(heap)
    while heap:
        negative, a, b = heapq.heappop(heap)
        if a in groups and b in groups and _mean(groups[a], groups[b], b) == -negative:
            _join(groups, a, b)
            for entry in _offers(groups, a, rules):
                heapq.heappush(heap, entry)
    return sorted(sorted(group.clusters) for group in groups.values())


def _supported(probabilities: Mapping[Pair, float], doubt: float) -> dict[Pair, float]:
    """Probabilities in the light of third clusters, in the order of the pairs."""
    linked: dict[int, dict[int, float]] = {}
    for (a, b), p in sorted(probabilities.items()):
        linked.setdefault(a, {})[b] = p
        linked.setdefault(b, {})[a] = p
    return {
        (a, b): p * (1 - doubt + doubt * _support(linked[a], linked[b], a, b))
        for (a, b), p in sorted(probabilities.items())
    }


def _support(one: Mapping[int, float], other: Mapping[int, float], a: int, b: int) -> float:
    """How much third clusters agree that they belong to both or to neither; 1 if there are none."""
    agreed = sum(min(p, other[c]) for c, p in one.items() if c in other)
    total = sum(p for c, p in one.items() if c != b) + sum(p for c, p in other.items() if c != a)
    return (_PRIOR + agreed) / (_PRIOR + total - agreed)


def _connect(groups: dict[int, _Group], a: int, b: int, p: float, same: bool) -> None:
    one, other = groups[a], groups[b]
    one.sums[b] = other.sums[a] = p * one.weight * other.weight
    if same:
        one.own[b] = other.own[a] = one.sums[b]


def _offers(groups: dict[int, _Group], a: int, rules: Rules) -> Iterable[tuple[float, int, int]]:
    """Groups that may join a group, with their mean probability, the smaller id first."""
    for b in sorted(groups[a].sums):
        mean = _mean(groups[a], groups[b], b)
        if mean >= rules.threshold and _allowed(groups[a], groups[b], b, rules):
            yield -mean, min(a, b), max(a, b)


def _mean(one: _Group, other: _Group, b: int) -> float:
    return one.sums.get(b, 0.0) / (one.weight * other.weight)


def _allowed(one: _Group, other: _Group, b: int, rules: Rules) -> bool:
    if b in one.apart:
        return False
    common = sum(
        weight * other.weights[lang] for lang, weight in one.weights.items() if lang in other.weights
    )
    return not common or one.own.get(b, 0.0) >= rules.same_language * common


def _join(groups: dict[int, _Group], a: int, b: int) -> None:
    """Let group ``b`` go into group ``a``."""
    one, other = groups[a], groups.pop(b)
    one.clusters += other.clusters
    for lang, weight in other.weights.items():
        one.weights[lang] = one.weights.get(lang, 0.0) + weight
    for name in ("sums", "own"):
        mine, theirs = getattr(one, name), getattr(other, name)
        mine.pop(b, None)
        theirs.pop(a, None)
        for c, value in theirs.items():
            mine[c] = mine.get(c, 0.0) + value
            third = getattr(groups[c], name)
            third[a] = mine[c]
            del third[b]
    for c in other.apart | one.apart:
        if c in groups and c != a:
            groups[c].apart.discard(b)
            groups[c].apart.add(a)
    one.apart = (one.apart | other.apart) - {a, b}
