r"""Count, means and centred cross product of two aligned blocks of columns.

Two such summaries add exactly: with :math:`\delta` the difference of the means,

.. math:: M = M^a + M^b + \frac{n^a n^b}{n^a + n^b}\,\delta_x \delta_y^\top

(Chan, Golub and LeVeque, 1983). The formula also takes rows back, with a negative count.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["CrossMoments"]

Array = NDArray[np.float64]


class CrossMoments:
    """``n`` rows of two blocks: their means and ``sum (x - mean_x)(y - mean_y)'``."""

    __slots__ = ("mean_x", "mean_y", "n", "product")

    def __init__(self, width_x: int, width_y: int) -> None:
        self.n = 0
        self.mean_x = np.zeros(width_x)
        self.mean_y = np.zeros(width_y)
        self.product = np.zeros((width_x, width_y))

    def add(self, n: int, mean_x: Array, mean_y: Array, product: Array) -> None:
        """Add ``n`` rows with the given means and centred product; a negative ``n`` takes them back."""
        before, total = self.n, self.n + n
        self.n = total
        if total == 0:
            self.mean_x[:], self.mean_y[:], self.product[:] = 0.0, 0.0, 0.0
            return
        dx, dy = mean_x - self.mean_x, mean_y - self.mean_y
        self.product += product
        if before:
            self.product += np.outer(dx * (before * (n / total)), dy)
        self.mean_x += dx * (n / total)
        self.mean_y += dy * (n / total)

    def merge(self, other: CrossMoments) -> Self:
        """Add the rows that ``other`` has seen."""
        if other.n:
            self.add(other.n, other.mean_x, other.mean_y, other.product)
        return self

    def subtract(self, other: CrossMoments) -> Self:
        """Take back the rows that ``other`` has seen."""
        if other.n:
            self.add(-other.n, other.mean_x, other.mean_y, -other.product)
        return self

    def covariance(self, ddof: int) -> Array:
        """The product per row, with ``ddof`` rows given up; zero where there are no more than that."""
        return self.product / max(self.n - ddof, 1)

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The whole state as named arrays."""
        return {
            "n": np.array(self.n, dtype=np.int64),
            "mean_x": self.mean_x,
            "mean_y": self.mean_y,
            "product": self.product,
        }

    def restore(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        """Take over the state that :meth:`arrays` gave, checking shapes."""
        self.n = int(arrays["n"])
        for name in ("mean_x", "mean_y", "product"):
            target, source = getattr(self, name), arrays[name]
            if target.shape != source.shape:
                raise ValueError(f"array {name!r} has shape {source.shape}; expected {target.shape}")
            target[...] = source
