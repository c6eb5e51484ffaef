r"""Counts, means and centred cross products of every pair of views.

For views :math:`i, j` and the :math:`n_{ij}` rows that have both,

.. math:: M_{ij} = \sum_r (x_{ri} - \bar x_i)(x_{rj} - \bar x_j)^\top .

Everything is accumulated about the mean in float64: raw float32 moments lose all digits at a mean of
a thousand standard deviations. :class:`~isogloss.stats._cross.CrossMoments` has the law of addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from isogloss.stats._cross import CrossMoments, about_mean, column_means, row_blocks
from isogloss.threads import thread_bound
from isogloss.views import Matrix, Views

Array = NDArray[np.float64]


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
    ``mean`` and ``product`` give what is inside, not copies.

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
        if not self.dims or min(self.dims) < 1:
            raise ValueError(f"dims={self.dims}; expected the number of features of each view")
        views = range(len(self.dims))
        self._pairs = {
            (i, j): CrossMoments(self.dims[i], self.dims[j]) for i in views for j in views if i <= j
        }

    @thread_bound
    def update(self, batch: Views | Sequence[Matrix | None]) -> Self:
        """Add the rows of ``batch``, whatever views each of them has; None is a view that no row has."""
        for rows in row_blocks(batch, self.dims):
            self._update_block(rows)
        return self

    def _update_block(self, batch: Views) -> None:
        whole = [_centre(x) for x in batch.arrays]
        for (i, j), pair in self._pairs.items():
            x, y = whole[i], whole[j]
            if not np.array_equal(batch.present[:, i], batch.present[:, j]):
                x, y = (_centre(shared) for shared in batch.shared(i, j))
            if x.n:
                pair.add(x.n, x.mean, y.mean, _centred_product(x, y))

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
        out = cls.__new__(cls)
        out.dims = tuple(arrays["dims"].tolist())
        views = range(len(out.dims))
        out._pairs = {
            (i, j): CrossMoments.from_arrays(arrays, f"{i}.{j}.") for i in views for j in views if i <= j
        }
        for (i, j), pair in out._pairs.items():
            if pair.product.shape != (out.dims[i], out.dims[j]):
                raise ValueError(f"views of {out.dims} features with a {pair.product.shape} product {(i, j)}")
        return out


class _Block(NamedTuple):
    """Rows of one view, what is left of their mean, the mean that was there, and their number."""

    rows: Matrix
    rest: Array | None
    mean: Array
    n: int


def _centre(x: Matrix) -> _Block:
    """Rows about their mean where that costs no memory: dense rows, and the full columns of sparse ones.

    Of a sparse column only as much can cancel later as its mean square exceeds its variance, which is at
    most the number of its stored values over the number of those that are not; a full one is centred here.
    """
    n, width = x.shape
    if n == 0:
        return _Block(x, None, np.zeros(width), 0)
    if not issparse(x):
        centred, mean = about_mean(x)
        return _Block(centred, None, mean, n)
    x = x.astype(np.float64)
    x.sum_duplicates()
    full = np.bincount(x.indices, minlength=width) == n
    shift = np.where(full, column_means(x), 0.0)
    x.data -= shift[x.indices]
    rest = column_means(x)
    return _Block(x, rest, shift + rest, n)


def _centred_product(x: _Block, y: _Block) -> Array:
    """Centred cross product; one side that is centred already is enough for both."""
    if not issparse(x.rows) and issparse(y.rows):
        return np.asarray(y.rows.T @ x.rows).T
    product = x.rows.T @ y.rows
    if x.rest is None or y.rest is None:
        return np.asarray(product)
    return np.asarray(product.todense()) - np.outer(x.n * x.rest, y.rest)
