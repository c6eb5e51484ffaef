"""Slow twins of the kernels of linking: what two clusters have in common, and which of them are one event."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from isogloss.events.track import AgglomerationRules

Pair = tuple[int, int]
Sparse = tuple[np.ndarray, np.ndarray]

PRIOR = 0.5


def hash_name(name: str) -> int:
    """FNV-1a with 64 bits, as a signed number."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & ((1 << 64) - 1)
    return h - (1 << 64) if h >> 63 else h


def parts(profile: tuple[dict[str, int], dict[str, int], Sparse]) -> list[dict[int, float]]:
    """The parts of a profile by numbers."""
    *named, (ids, weights) = profile
    hashed = [{hash_name(name): float(weight) for name, weight in part.items()} for part in named]
    return [*hashed, dict(zip(ids.tolist(), weights.tolist(), strict=True))]


def overlap(one: dict[int, float], other: dict[int, float]) -> tuple[float, int]:
    """The inner product of two parts, and how many keys both have."""
    both = sorted(one.keys() & other.keys())
    return sum((one[key] * other[key] for key in both), 0.0), len(both)


def summed(tables: Iterable[dict[str, float] | tuple[str, ...]]) -> dict[str, float]:
    """Sums of weights by names, one table after the other; names without weights count one each."""
    out: dict[str, float] = {}
    for table in tables:
        weights = table.items() if isinstance(table, dict) else ((name, 1.0) for name in table)
        for name, weight in weights:
            out[name] = out.get(name, 0.0) + weight
    return out


def replace_links(
    linked: dict[int, dict[int, float]], changed: Iterable[int], links: Iterable[tuple[int, int, float]]
) -> None:
    """Put links in the place of all that clusters that changed had; every link is noted with both."""
    for one in changed:
        for other in linked.pop(one, {}):
            linked[other].pop(one, None)
    linked.update((one, {}) for one in changed)
    for a, b, p in links:
        linked.setdefault(a, {})[b] = p
        linked.setdefault(b, {})[a] = p


@dataclass
class Group:
    """Clusters, their weights by language, sums of weighted probabilities to other groups, and of weights."""

    clusters: list[int]
    weights: dict[str, float]
    sums: dict[int, float] = field(default_factory=dict)
    linked: dict[int, float] = field(default_factory=dict)
    own: dict[int, float] = field(default_factory=dict)
    apart: set[int] = field(default_factory=set)
    within: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Of the pairs of its clusters: sum of the links, weight of those with a link, and of all."""

    @property
    def weight(self) -> float:
        """Of all languages."""
        return sum(self.weights.values())


def agglomerate(
    sizes: Mapping[int, int],
    languages: Mapping[int, str],
    probabilities: Mapping[Pair, float],
    rules: AgglomerationRules,
) -> list[list[int]]:
    """Groups of clusters that are one event each."""
    groups = {one: Group([one], {languages[one]: sqrt(sizes[one])}) for one in sorted(sizes)}
    for (a, b), p in _supported(probabilities, rules).items():
        _connect(groups, a, b, p, languages[a] == languages[b])
    for a, b in (pair for pair, p in probabilities.items() if p < rules.impossible):
        groups[a].apart.add(b)
        groups[b].apart.add(a)
    heap = [entry for one in groups for entry in _offers(groups, one, rules) if entry[1] == one]
    heapq.heapify(heap)
    while heap:
        negative, a, b = heapq.heappop(heap)
        if a not in groups or b not in groups or _mean(groups[a], groups[b], b, rules) != -negative:
            continue
        if _allowed(groups[a], groups[b], b, -negative, rules):
            _join(groups, a, b)
            for entry in _offers(groups, a, rules):
                heapq.heappush(heap, entry)
    return sorted(sorted(group.clusters) for group in groups.values())


def _supported(probabilities: Mapping[Pair, float], rules: AgglomerationRules) -> dict[Pair, float]:
    """Probabilities in the light of third clusters, in the order of the pairs."""
    linked: dict[int, dict[int, float]] = {}
    for (a, b), p in sorted(probabilities.items()):
        linked.setdefault(a, {})[b] = p
        linked.setdefault(b, {})[a] = p
    return {
        (a, b): p * (1 - rules.doubt + rules.doubt * _support(linked[a], linked[b], a, b, rules.unlinked))
        for (a, b), p in sorted(probabilities.items())
    }


def _support(one: Mapping[int, float], other: Mapping[int, float], a: int, b: int, unlinked: float) -> float:
    """How much third clusters agree that they belong to both or to neither; 1 if there are none."""
    agreed = sum(min(p, other[c]) for c, p in one.items() if c in other)
    common = sum(p + other[c] for c, p in one.items() if c in other)
    total = sum(p for c, p in one.items() if c != b) + sum(p for c, p in other.items() if c != a)
    return (PRIOR + agreed) / (PRIOR + common - agreed + unlinked * max(0.0, total - common))


def _connect(groups: dict[int, Group], a: int, b: int, p: float, same: bool) -> None:
    one, other = groups[a], groups[b]
    one.sums[b] = other.sums[a] = p * (one.weight * other.weight)  # as the kernel does, for equal ties
    one.linked[b] = other.linked[a] = one.weight * other.weight
    if same:
        one.own[b] = other.own[a] = one.sums[b]


def _offers(groups: dict[int, Group], a: int, rules: AgglomerationRules) -> Iterable[tuple[float, int, int]]:
    """Groups that may join a group, with their mean probability, the smaller id first."""
    for b in sorted(groups[a].sums):
        mean = _mean(groups[a], groups[b], b, rules)
        if mean >= rules.threshold and _allowed(groups[a], groups[b], b, mean, rules):
            yield -mean, min(a, b), max(a, b)


def _mean(one: Group, other: Group, b: int, rules: AgglomerationRules) -> float:
    linked = one.linked.get(b, 0.0)
    rest = max(0.0, one.weight * other.weight - linked)
    return one.sums.get(b, 0.0) / (linked + rules.unlinked * rest + rules.prior)


def _mean_within(group: Group, rules: AgglomerationRules) -> float:
    total, linked, pairs = group.within
    rest = max(0.0, pairs - linked)
    return total / (linked + rules.unlinked * rest + rules.prior) if total else 0.0


def _allowed(one: Group, other: Group, b: int, mean: float, rules: AgglomerationRules) -> bool:
    least = rules.cohesion * min(_mean_within(one, rules), _mean_within(other, rules))
    if b in one.apart or mean < least:
        return False
    common = sum(
        weight * other.weights[lang] for lang, weight in one.weights.items() if lang in other.weights
    )
    return not common or one.own.get(b, 0.0) >= rules.same_language * common


def _join(groups: dict[int, Group], a: int, b: int) -> None:
    """Let group ``b`` go into group ``a``."""
    one, other = groups[a], groups.pop(b)
    between = one.sums[b], one.linked[b], one.weight * other.weight
    one.within = tuple(x + (y + z) for x, y, z in zip(one.within, other.within, between, strict=True))
    one.clusters += other.clusters
    for lang, weight in other.weights.items():
        one.weights[lang] = one.weights.get(lang, 0.0) + weight
    for name in ("sums", "linked", "own"):
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


class Links:
    """Pairs of near articles in the order in which they were found, and the bonds that they make."""

    def __init__(self, least: float) -> None:
        self.least = least
        self.pairs: list[tuple[int, int, float]] = []
        self.cluster_of: dict[int, int] = {}

    def add(self, number: int, cluster: int, near: Mapping[int, float]) -> None:
        """An article came, near to some others."""
        self.pairs += [(number, other, similarity) for other, similarity in near.items()]
        self.cluster_of[number] = cluster

    def articles(self, cluster: int) -> list[int]:
        """The articles of a cluster."""
        return [one for one, own in self.cluster_of.items() if own == cluster]

    def forget(self, cluster: int) -> list[int]:
        """A cluster goes with its articles, which are told."""
        gone = self.articles(cluster)
        self.pairs = [pair for pair in self.pairs if pair[0] not in gone and pair[1] not in gone]
        for one in gone:
            del self.cluster_of[one]
        return gone

    def strongest(self, cluster: int, most: int) -> dict[int, tuple[int, float]]:
        """Links and their sum, for the clusters of the highest sums of all similarities."""
        found: dict[int, list[float]] = {}
        for one, other, similarity in self.pairs:
            a, b = self.cluster_of[one], self.cluster_of[other]
            if a != b and cluster in (a, b):
                found.setdefault(b if a == cluster else a, []).append(similarity)
        order = sorted(found, key=lambda other: (-total(found[other]), other))[:most]
        alike = {other: [value for value in found[other] if value >= self.least] for other in sorted(order)}
        return {other: (len(values), total(values)) for other, values in alike.items()}


def total(values: Iterable[float]) -> float:
    """A sum, one value after the other."""
    out = 0.0
    for value in values:
        out += value
    return out


def find_new_name(
    clusters: list[tuple[str, float, list[set[str]]]], prior: float, least: float
) -> tuple[float, int]:
    """The largest score of a new name, and how many clusters come before it.

    A cluster is a language, a time and the names of each article.
    """
    best = (0.0, 0)
    for place in range(1, len(clusters)):
        if clusters[place - 1][1] >= clusters[place][1]:
            continue
        for name in sorted(set().union(*(names for _, _, some in clusters for names in some))):
            gain = weight = mentions = 0.0
            for lang in {lang for lang, _, _ in clusters}:
                sides = [
                    [name in names for own, _, some in part if own == lang for names in some]
                    for part in (clusters[:place], clusters[place:])
                ]
                mentions += sum(map(sum, sides))
                if not all(sides):
                    continue
                m, n = map(len, sides)
                gain += m * n / (m + n) * (sum(sides[1]) / n - sum(sides[0]) / m)
                weight += m * n / (m + n)
            if mentions >= least and gain / (weight + prior) > best[0] + 1e-12:
                best = gain / (weight + prior), place
    return best
