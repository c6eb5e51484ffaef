r"""Counts, means and centred cross products of every pair of views.

For views :math:`i, j` and the :math:`n_{ij}` rows that have both,

.. math:: M_{ij} = \sum_r (x_{ri} - \bar x_i)(x_{rj} - \bar x_j)^\top .

Everything is accumulated about the mean in float64: raw float32 moments lose all digits at a mean of
a thousand standard deviations. :class:`~isogloss.stats.cross.CrossMoments` has the law of addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from isogloss.stats.cross import CrossMoments
from isogloss.views import Matrix, Views, check_views

__all__ = ["ViewMoments"]

Array = NDArray[np.float64]

_BLOCK_BYTES = 32 * 2**20


class ViewMoments:
    """Second moments of aligned views, one count per pair of views.

    Parameters
    ----------
    dims : sequence of int
        Number of features of each view.

    Notes
    -----
    Memory is about :math:`4 p^2` bytes for :math:`p` features in all. Above some 5,000 features per
    view use :class:`~isogloss.stats.Sketch` and operators instead. Sparse batches stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [2.0], [4.0]])
    >>> moments = ViewMoments([1, 1]).update([x[:2], x[:2]]).merge(ViewMoments([1, 1]).update([x[2:], x[2:]]))
    >>> moments.covariance(0, 1)
    array([[4.]])
    """

    def __init__(self, dims: Sequence[int]) -> None:
        self.dims = tuple(int(d) for d in dims)
        views = range(len(self.dims))
        self._pairs = {
            (i, j): CrossMoments(self.dims[i], self.dims[j]) for i in views for j in views if i <= j
        }

    def update(self, batch: Views | Sequence[Matrix]) -> Self:
        """Add the rows of ``batch``, whatever views each of them has."""
        batch = check_views(batch, min_rows=0)
        if batch.dims != self.dims:
            raise ValueError(f"the batch has views of {batch.dims} features; expected {self.dims}")
        for rows in _row_blocks(batch):
            self._update_block(rows)
        return self

    def _update_block(self, batch: Views) -> None:
        centred = [_centre(x) for x in batch.arrays] if batch.complete else None
        for (i, j), pair in self._pairs.items():
            if centred is not None:
                (x, mx, n), (y, my, _) = centred[i], centred[j]
            else:
                xi, xj = batch.shared(i, j)
                x, mx, n = _centre(xi)
                y, my, _ = (x, mx, n) if i == j else _centre(xj)
            if n:
                pair.add(n, mx, my, _centred_product(x, y, n, mx, my))

    def merge(self, other: ViewMoments) -> Self:
        """Add the rows that ``other`` has seen; ``other`` is left as it was."""
        self._check_same_views(other)
        for key, pair in self._pairs.items():
            pair.merge(other._pairs[key])
        return self

    def subtract(self, other: ViewMoments) -> Self:
        """Take back rows that were added before, for a sliding window.

        Exact in real arithmetic; in floating point each subtraction costs digits when what is left is
        small beside what was taken away.
        """
        self._check_same_views(other)
        if (other.counts > self.counts).any():
            raise ValueError("cannot take away more rows than were added: compare the counts of the two")
        for key, pair in self._pairs.items():
            pair.subtract(other._pairs[key])
        return self

    def _check_same_views(self, other: ViewMoments) -> None:
        if self.dims != other.dims:
            raise ValueError(f"cannot combine moments of views {other.dims} with those of {self.dims}")

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows shared by each pair of views; on the diagonal, rows of each view."""
        out = np.zeros((len(self.dims),) * 2, dtype=np.int64)
        for (i, j), pair in self._pairs.items():
            out[i, j] = out[j, i] = pair.n
        return out

    def count(self, i: int, j: int | None = None) -> int:
        """Rows that have view ``i`` (and view ``j``)."""
        j = i if j is None else j
        return self._pairs[min(i, j), max(i, j)].n

    def mean(self, i: int, j: int | None = None) -> Array:
        """Mean of view ``i`` over its rows, or over the rows it shares with view ``j``."""
        j = i if j is None else j
        return self._pairs[i, j].mean_x if i <= j else self._pairs[j, i].mean_y

    def product(self, i: int, j: int) -> Array:
        """Centred cross product of views ``i`` and ``j`` over the rows they share."""
        return self._pairs[i, j].product if i <= j else self._pairs[j, i].product.T

    def covariance(self, i: int, j: int | None = None, *, ddof: int = 1) -> Array:
        """Covariance block of views ``i`` and ``j``; zero where they share at most ``ddof`` rows."""
        j = i if j is None else j
        block = self._pairs[min(i, j), max(i, j)].covariance(ddof)
        return block if i <= j else block.T

    def joint_covariance(self, *, ddof: int = 1) -> Array:
        """Covariance of all views together, block by block, each over the rows its two views share.

        With missing rows the blocks come from different rows and the matrix need not be positive
        semidefinite; see :func:`isogloss.linalg.shrink_to_psd`.
        """
        views = range(len(self.dims))
        return np.block([[self.covariance(i, j, ddof=ddof) for j in views] for i in views])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        out: dict[str, NDArray[Any]] = {"dims": np.array(self.dims, dtype=np.int64)}
        for (i, j), pair in self._pairs.items():
            out |= {f"{i}.{j}.{name}": array for name, array in pair.arrays().items()}
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The moments that gave these arrays."""
        out = cls(arrays["dims"].tolist())
        for (i, j), pair in out._pairs.items():
            pair.restore({name: arrays[f"{i}.{j}.{name}"] for name in pair.arrays()})
        return out


def _row_blocks(batch: Views) -> Iterator[Views]:
    """Blocks small enough that their centred float64 copies stay out of the way."""
    dense = [d for d, x in zip(batch.dims, batch.arrays, strict=True) if not issparse(x)]
    size = max(1, _BLOCK_BYTES // (8 * sum(dense))) if dense else len(batch)
    if size >= len(batch):
        yield batch
        return
    for start in range(0, len(batch), size):
        yield batch[start : start + size]


def _centre(x: Matrix) -> tuple[Matrix, Array, int]:
    """Rows, mean and count of a block; dense rows come back centred in float64."""
    n = x.shape[0]
    if n == 0:
        return x, np.zeros(x.shape[1]), 0
    x = x.astype(np.float64, copy=False)
    if issparse(x):
        return x, np.asarray(x.mean(axis=0)).ravel(), n
    mean = x.mean(axis=0)
    x = x - mean
    # A mean of a large block is itself rounded; one correction makes the rows sum to zero.
    rest = x.mean(axis=0)
    x -= rest
    return x, mean + rest, n


def _centred_product(x: Matrix, y: Matrix, n: int, mx: Array, my: Array) -> Array:
    """Centred cross product; a dense side is centred already, which is enough for both."""
    if issparse(x) and issparse(y):
        return np.asarray((x.T @ y).todense()) - n * np.outer(mx, my)
    if issparse(x):
        return np.asarray(x.T @ y)
    if issparse(y):
        return np.asarray(y.T @ x).T
    return np.asarray(x.T @ y)
