r"""Count, means and centred cross product of two aligned blocks of columns.

Two such summaries add exactly: with :math:`\delta` the difference of the means,

.. math:: M = M^a + M^b + \frac{n^a n^b}{n^a + n^b}\,\delta_x \delta_y^\top

(Chan, Golub and LeVeque, 1983). The formula also takes rows back, with a negative count.

What the statistics over pairs of views share besides is here too: rows taken in blocks, and dense rows
taken about their mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from isogloss.views import Matrix, Views, check_views

Array = NDArray[np.float64]

_BLOCK_BYTES = 64 * 2**20
_BLOCK_ROWS = 65_536


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
        if self.n <= ddof:
            return np.zeros_like(self.product)
        return self.product / (self.n - ddof)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        return {
            "n": np.array(self.n, dtype=np.int64),
            "mean_x": self.mean_x,
            "mean_y": self.mean_y,
            "product": self.product,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Self:
        """The summary that gave these arrays, under names that begin with ``prefix``.

        Nothing larger than the arrays themselves is allocated, whatever they say about each other.
        """
        out = cls(0, 0)
        out.n = int(arrays[prefix + "n"])
        for name in ("mean_x", "mean_y", "product"):
            setattr(out, name, np.array(arrays[prefix + name], dtype=np.float64))
        if out.n < 0 or out.product.shape != out.mean_x.shape + out.mean_y.shape:
            raise ValueError(
                f"{prefix}product has shape {out.product.shape} and {out.n} rows; the means have shapes "
                f"{out.mean_x.shape} and {out.mean_y.shape}"
            )
        return out


def row_blocks(batch: Views | Sequence[Matrix | None], dims: tuple[int, ...]) -> Iterator[Views]:
    """Blocks of the rows of a batch of these dimensions, small enough for float64 copies.

    Blocks of sparse rows are bounded too, because their products are centred afterwards and the digits
    that costs grow with the number of rows.
    """
    batch = check_views(batch, min_rows=0, dims=dims)
    if batch.dims != dims:
        raise ValueError(f"the batch has views of {batch.dims} features; expected {dims}")
    dense = sum(d for d, x in zip(batch.dims, batch.arrays, strict=True) if not issparse(x))
    size = min(_BLOCK_ROWS, max(1, _BLOCK_BYTES // (8 * max(dense, 1))))
    if size >= len(batch):
        yield batch
        return
    for start in range(0, len(batch), size):
        yield batch[start : start + size]


def about_mean(x: NDArray[Any]) -> tuple[Array, Array]:
    """Dense rows less their mean, in float64, and the mean."""
    mean = column_means(x)
    x = x - mean
    # The mean of many rows is itself rounded; one correction makes the rows sum to zero.
    rest = x.mean(axis=0)
    x -= rest
    return x, mean + rest


def column_means(x: Matrix) -> Array:
    """Means of the columns in float64; of float32 rows, scipy would sum in float32."""
    if issparse(x):
        return np.asarray(np.bincount(x.indices, weights=x.data, minlength=x.shape[1]) / x.shape[0])
    return np.asarray(x.mean(axis=0, dtype=np.float64))
