r"""Alignment by position: IBM Model 2 and the diagonal prior.

Model 2 has a free table :math:`a(i \mid j, I, J)` per pair of sentence lengths. The diagonal prior has one
number, :math:`a(i \mid j, I, J) \propto \exp(-\lambda\,|i/I - j/J|)` (Dyer, Chahuneau and Smith, 2013).
Tables of both directions lie in the order of cells, ``i * J + j``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Bitext

Array = NDArray[np.float64]
Single = NDArray[np.float32]

MAX_TENSION = 60.0
"""The diagonal prior is never steeper than this."""


class PositionLayout:
    """The pairs of sentence lengths that occur, each with its own stretch of one long table."""

    def __init__(self, bitexts: Sequence[Bitext], *more: NDArray[np.int64]) -> None:
        shapes = [*(np.stack([b.source.lengths, b.target.lengths], axis=1) for b in bitexts), *more]
        self.shapes = np.unique(np.concatenate(shapes), axis=0)
        self.shapes = self.shapes[self.shapes.min(axis=1) > 0]
        sizes = self.shapes.prod(axis=1)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        self.size = int(sizes.sum())
        self.longest = int(self.shapes.max(initial=0)) + 1
        self._keys = self.shapes[:, 0] * self.longest + self.shapes[:, 1]

    def offsets(self, bitext: Bitext) -> NDArray[np.int64]:
        """Return the offset of each sentence pair's table; 0 for pairs with an empty side."""
        keys = bitext.source.lengths * self.longest + bitext.target.lengths
        if not self.size:
            return np.zeros(len(bitext), dtype=np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self.starts[at], 0)

    def cells(self) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
        """Distance from the diagonal of every cell, and the groups that sum to one forward and backward."""
        distance, forward, backward = np.empty(self.size), *np.empty((2, self.size), dtype=np.int64)
        groups = np.zeros(2, dtype=np.int64)
        for (n, m), start in zip(self.shapes, self.starts, strict=True):
            i, j = np.divmod(np.arange(n * m), m)
            here = slice(start, start + n * m)
            distance[here] = np.abs((i + 1) / n - (j + 1) / m)
            forward[here], backward[here] = groups[0] + j, groups[1] + i
            groups += (m, n)
        return distance, forward, backward

    def uniform(self) -> tuple[Single, Single]:
        """Every position alike."""
        return self.diagonal(np.zeros(2))

    def diagonal(self, tension: Array) -> tuple[Single, Single]:
        """The tables of the diagonal prior for a tension in each direction."""
        distance, *groups = self.cells()
        return tuple(  # type: ignore[return-value]
            _normalised(np.exp(-value * distance), group).astype(np.float32)
            for value, group in zip(tension, groups, strict=True)
        )

    def solve_free(self, counts: Sequence[Array]) -> tuple[Single, Single]:
        """Model 2's tables from expected counts."""
        _, *groups = self.cells()
        return tuple(  # type: ignore[return-value]
            _normalised(count + 1e-12, group).astype(np.float32)
            for count, group in zip(counts, groups, strict=True)
        )

    def solve_tension(self, counts: Sequence[Array], tension: Array, steps: int = 20) -> Array:
        """The tension of each direction that fits expected counts best, by Newton's method."""
        distance, *groups = self.cells()
        out = tension.copy()
        for d, (count, group) in enumerate(zip(counts, groups, strict=True)):
            mass = np.bincount(group, weights=count)
            wanted = float(count @ distance)
            for _ in range(steps):
                p = _normalised(np.exp(-out[d] * distance), group)
                mean = np.bincount(group, weights=p * distance)
                square = np.bincount(group, weights=p * distance**2)
                slope, bend = float(mass @ mean) - wanted, float(mass @ (square - mean**2))
                if bend <= 0:
                    break
                step = slope / bend
                out[d] = np.clip(out[d] + step, 0.0, MAX_TENSION)
                if abs(step) < 1e-10:
                    break
        return out


def _normalised(values: Array, group: NDArray[np.int64]) -> Array:
    """Values divided by the sum of their group."""
    return values / np.bincount(group, weights=values)[group] if len(values) else values
