"""Similarities of articles that are near to each other, by the pairs of clusters that they are in."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Bonds"]


class Bonds:
    """For each pair of clusters the similarities of pairs of their articles, in the order in which they came.

    Memory: a number for each pair of articles.

    Examples
    --------
    >>> bonds = Bonds()
    >>> bonds.add(1, 2, 0.5)
    >>> bonds.add(3, 1, 0.25)
    >>> bonds.of(1), bonds.strongest(1, 1)
    ({2: [0.5], 3: [0.25]}, [2])
    >>> bonds.forget(2)
    >>> bonds.of(1), bonds.of(2)
    ({3: [0.25]}, {})
    """

    def __init__(self) -> None:
        self._of: dict[int, dict[int, list[float]]] = {}
        self._totals: dict[int, dict[int, float]] = {}

    def add(self, one: int, other: int, similarity: float) -> None:
        """Two articles of these clusters are near; within one cluster that says nothing."""
        if one == other:
            return
        mine = self._of.setdefault(one, {})
        if other not in mine:
            mine[other] = self._of.setdefault(other, {})[one] = []
            self._totals.setdefault(one, {})[other] = self._totals.setdefault(other, {})[one] = 0.0
        mine[other].append(similarity)
        total = self._totals[one][other] + similarity
        self._totals[one][other] = self._totals[other][one] = total

    def of(self, cluster: int) -> Mapping[int, list[float]]:
        """The clusters that a cluster is bound to, and the similarities of each."""
        return self._of.get(cluster, {})

    def strongest(self, cluster: int, most: int) -> list[int]:
        """The clusters of the highest sums of similarities, of equal ones the older; ascending."""
        totals = self._totals.get(cluster, {})
        ids = sorted(totals)
        if len(ids) > most:
            ids = sorted(sorted(ids, key=totals.__getitem__, reverse=True)[:most])
        return ids

    def forget(self, cluster: int) -> None:
        """A cluster is no more, or is to be bound anew."""
        for other in self._of.pop(cluster, ()):
            del self._of[other][cluster], self._totals[other][cluster]
        self._totals.pop(cluster, None)
