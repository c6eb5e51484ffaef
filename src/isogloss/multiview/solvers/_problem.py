r"""Multi-set CCA in whitened coordinates, the one problem that all its variants solve.

For views :math:`i = 1..m` with covariance blocks :math:`C_{ij}` and ridges :math:`\kappa_i`, let
:math:`W_i` whiten :math:`(1 - \kappa_i)C_{ii} + \kappa_i I`. With :math:`w_i = W_i x_i` and

.. math:: A_{ij} = W_i' C_{ij} W_j \quad (i \ne j), \qquad A_{ii} = I,

the regularised correlation of two variates is :math:`x_i'A_{ij}x_j` under :math:`\|x_i\| = 1`, and
SUMCOR is the problem (QCQP) of [1]_: maximise :math:`x'Ax`.

Rows may be missing. Then every :math:`C_{ij}` comes from the rows that have both views, and no data
set need have all these blocks at once. Between-view blocks are scaled by the smallest common factor
:math:`1 - t` that makes them possible again (:func:`isogloss.linalg.shrink_to_psd`, applied to
:math:`(1 - \kappa)^{1/2}A(1 - \kappa)^{1/2}`, the whitened form of the thesis's lemma 4.3). No
solution moves by that; only the correlations reported do, which could exceed one otherwise.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School, sections 4.2 and 4.4.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from isogloss.linalg import Whitening, is_psd, shrink_to_psd, whitening_matrix
from isogloss.stats import ViewMoments

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class WhitenedProblem:
    """Maximise ``x'Ax`` over blocks of unit norm; unpacks as ``A, whitenings, sizes``."""

    A: Array
    """Symmetric, with identities on the diagonal. Shape (N, N)."""
    whitenings: tuple[Whitening, ...]
    """One per view; ``weights = whitening.matrix @ x_i``."""
    sizes: tuple[int, ...]
    """Sizes of the blocks: the numerical ranks of the (regularised) views."""
    shrinkage: float = 0.0
    """The factor ``t`` by which incomplete rows made the blocks between views shrink."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.A, self.whitenings, self.sizes))

    @property
    def slices(self) -> list[slice]:
        """The slice of each view's block."""
        return block_slices(self.sizes)

    def weights(self, X: Array) -> list[Array]:
        """Weights of the features, per view, from whitened weights (N x components)."""
        return [white.matrix @ X[rows] for white, rows in zip(self.whitenings, self.slices, strict=True)]


def whitened_problem(
    moments: ViewMoments, ridge: float | Sequence[float] = 0.0, *, shrink: bool = True
) -> WhitenedProblem:
    """Whiten every view, and the covariances between them.

    Parameters
    ----------
    moments : ViewMoments
        Of at least two views. A pair that shares at most one row has a zero block.
    ridge : float in [0, 1], or one per view
        The thesis's kappa.
    shrink : bool
        Whether covariances that incomplete rows made impossible are shrunk.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.stats import ViewMoments
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> A, whitenings, sizes = whitened_problem(ViewMoments([1, 1]).update([x, 2 - 5 * x]))
    >>> A.round(12), sizes
    (array([[ 1., -1.],
           [-1.,  1.]]), (1, 1))
    """
    ridges = check_ridges(ridge, len(moments.dims))
    whitenings = tuple(whitening_matrix(moments.covariance(i), ridge=kappa) for i, kappa in enumerate(ridges))
    sizes = tuple(white.rank for white in whitenings)
    A = _assemble(moments, whitenings, sizes)
    complete = (moments.counts == moments.counts[0, 0]).all()
    t = 0.0 if complete or not shrink else _shrinkage(A, sizes, ridges)
    if t > 0:
        logger.warning("rows are missing: covariances between views were shrunk by %.3g to be possible", t)
        A *= 1.0 - t
        np.fill_diagonal(A, 1.0)
    return WhitenedProblem(A, whitenings, sizes, t)


def check_ridges(ridge: float | Sequence[float], n_views: int) -> tuple[float, ...]:
    """One ridge per view, each in [0, 1]."""
    one = isinstance(ridge, Real)
    given: list[float] = [ridge] * n_views if one else np.ravel(ridge).tolist()  # type: ignore[list-item]
    if len(given) != n_views:
        raise ValueError(f"ridge gives {len(given)} numbers for {n_views} views; expected one, or one each")
    if not all(0.0 <= kappa <= 1.0 for kappa in given):
        raise ValueError(f"ridge={ridge}; expected numbers in [0, 1]: 0 is the covariance, 1 the identity")
    return tuple(float(kappa) for kappa in given)


def lack_of_rows(counts: NDArray[np.int64], n_components: int) -> str | None:
    """Why these numbers of rows, per pair of views, do not do; None when they do."""
    rows = counts.diagonal()
    if rows.min() <= n_components:
        return (
            f"view {rows.argmin()} has {rows.min()} row(s); n_components={n_components} needs at least "
            f"{n_components + 1}"
        )
    n_groups, group = connected_components(counts > 1, directed=False)
    if n_groups > 1:
        parts = [np.flatnonzero(group == g).tolist() for g in range(n_groups)]
        return f"the views fall into groups that share no rows: {parts}; expected rows that link them"
    return None


def block_slices(sizes: Sequence[int]) -> list[slice]:
    """Consecutive slices of the given lengths."""
    ends = np.cumsum(sizes)
    return [slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True)]


def _assemble(moments: ViewMoments, whitenings: Sequence[Whitening], sizes: Sequence[int]) -> Array:
    A = np.zeros((sum(sizes),) * 2)
    np.fill_diagonal(A, 1.0)
    rows = block_slices(sizes)
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            half = whitenings[j].whiten_rows(moments.covariance(i, j).T)
            block = whitenings[i].whiten_rows(half.T)
            A[rows[i], rows[j]], A[rows[j], rows[i]] = block, block.T
    return A


def _shrinkage(A: Array, sizes: Sequence[int], ridges: Sequence[float]) -> float:
    room = np.sqrt(1.0 - np.repeat(ridges, sizes))
    B = room[:, np.newaxis] * A * room
    np.fill_diagonal(B, 1.0)
    return 0.0 if is_psd(B) else shrink_to_psd(B, blocks=sizes).weight
