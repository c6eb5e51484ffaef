r"""A kernel matrix from a few of its columns, for rows too many to hold all of it.

Both ways choose landmark rows :math:`P`, look only at the columns :math:`C = K_{:P}`, and give features

.. math:: \Phi = CM, \qquad MM' = K_{PP}^{-1}, \qquad \Phi\Phi' = CK_{PP}^{-1}C' \approx K ,

which new rows have too: :math:`\phi(x) = k(x, P)M`. Memory is rows x landmarks.

* :func:`pivoted_cholesky` [1]_ takes the row that is worst explained next. What is left out,
  :math:`\mathrm{tr}(K - \Phi\Phi')`, is known at every step and bounds the error in every norm, so it can
  stop at a tolerance.
* :func:`nystrom` [2]_ draws the landmarks at random: all columns in one go, no tolerance.

With the same landmarks the two are the same approximation.

References
----------
.. [1] S. Fine and K. Scheinberg, *Efficient SVM training using low-rank kernel representations*, Journal of
   Machine Learning Research 2, 2001; F. R. Bach and M. I. Jordan, *Kernel independent component analysis*,
   JMLR 3, 2002, for CCA.
.. [2] C. K. I. Williams and M. Seeger, *Using the Nyström method to speed up kernel machines*, NIPS 13, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from isogloss.linalg import whitening_matrix

__all__ = ["LowRank", "from_landmarks", "nystrom", "pivoted_cholesky"]

Array = NDArray[np.float64]
Columns = Callable[[NDArray[np.int64]], Array]

# What is left of a diagonal may be this far below zero, relative to its largest entry, by rounding.
_MAX_NEGATIVE_PIVOT = 1e-8


@dataclass(frozen=True, eq=False)
class LowRank:
    """Features whose inner products are nearly the kernel."""

    features: Array
    """Their Gram matrix is the approximation. Shape (rows, rank)."""
    landmarks: NDArray[np.int64]
    """The rows whose columns were used."""
    map: Array
    """``k(x, landmarks) @ map`` are the features of a new row. Shape (landmarks, rank)."""
    means: Array
    """Means of those columns, by which new rows are centred. Shape (landmarks,)."""
    left_out: float
    """Share of the trace of the kernel that the features lack."""


def pivoted_cholesky(
    columns: Columns, diagonal: Array, *, rank: int | None = None, tol: float = 1e-6
) -> LowRank:
    """Incomplete Cholesky factorisation with the largest remaining pivot.

    Parameters
    ----------
    columns : callable
        Columns of the kernel (rows x indices) for an array of indices; asked for one at a time.
    diagonal : array (rows,)
        Diagonal of the kernel.
    rank : int, optional
        Most columns to look at; as many as there are rows by default.
    tol : float
        Stop when this share of the trace is left out.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0], [2.0], [3.0]])
    >>> K = x @ x.T
    >>> found = pivoted_cholesky(lambda i: K[:, i], K.diagonal())
    >>> found.landmarks, bool(np.allclose(found.features @ found.features.T, K))
    (array([2]), True)
    """
    rest, n = np.array(diagonal, dtype=np.float64), len(diagonal)
    most = n if rank is None else min(rank, n)
    trace, largest = rest.sum(), rest.max()
    pivots: list[int] = []
    means: list[float] = []
    L = np.empty((n, min(most, 64)))
    while len(pivots) < most and rest.sum() > tol * trace and rest.max() > 0:
        step, pivot = len(pivots), int(rest.argmax())
        if step == L.shape[1]:
            L = np.hstack([L, np.empty((n, min(step, most - step)))])
        column = columns(np.array([pivot]))[:, 0]
        L[:, step] = (column - L[:, :step] @ L[pivot, :step]) / np.sqrt(rest[pivot])
        L[pivots, step] = 0.0
        rest -= L[:, step] ** 2
        pivots.append(pivot)
        rest[pivots] = 0.0
        means.append(column.mean())
        if rest.min() < -_MAX_NEGATIVE_PIVOT * largest:
            raise ValueError(
                "the kernel is not positive semi-definite: incomplete Cholesky met a negative pivot "
                f"({rest.min():.3g}); use another kernel, or low_rank=None, which drops negative eigenvalues"
            )
        np.maximum(rest, 0.0, out=rest)
    L, landmarks = L[:, : len(pivots)], np.array(pivots, dtype=np.int64)
    inverse = solve_triangular(L[landmarks], np.eye(len(pivots)), lower=True, check_finite=False).T
    return LowRank(L, landmarks, inverse, np.array(means), float(rest.sum() / trace) if trace > 0 else 0.0)


def nystrom(columns: Columns, diagonal: Array, *, rank: int, rng: np.random.RandomState) -> LowRank:
    """Features from landmarks drawn at random, all equally likely.

    Parameters
    ----------
    columns, diagonal
        As in :func:`pivoted_cholesky`.
    rank : int
        Number of landmarks; fewer features if some of them are alike.
    rng : RandomState
        Draws the landmarks.
    """
    n = len(diagonal)
    landmarks = np.sort(rng.choice(n, size=min(rank, n), replace=False)).astype(np.int64)
    return from_landmarks(columns, diagonal, landmarks)


def from_landmarks(columns: Columns, diagonal: Array, landmarks: NDArray[np.int64]) -> LowRank:
    """Features from given landmarks; ``columns`` and ``diagonal`` as in :func:`pivoted_cholesky`."""
    C = columns(landmarks)
    map_ = whitening_matrix(C[landmarks]).matrix
    features = C @ map_
    trace = diagonal.sum()
    left_out = max(0.0, 1.0 - float((features**2).sum() / trace)) if trace > 0 else 0.0
    return LowRank(features, landmarks, map_, C.mean(axis=0), left_out)
