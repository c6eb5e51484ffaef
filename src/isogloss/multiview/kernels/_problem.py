r"""Multi-set CCA in the dual, in the coordinates of the kernels' eigenvectors.

For centred kernels :math:`K_i` of :math:`s` rows, problem (4.8) of [1]_ is

.. math:: \max_Y \frac{1}{s-1} \sum_{i<j} \mathrm{tr}(Y_i'K_iK_jY_j), \qquad Y_i'R_iY_i = I,

where the regularised variance is one of

.. math:: R_i = \frac{1-\kappa}{s-1}K_i^2 + \kappa K_i \quad \text{('exact', 4.6)}, \qquad
          R_i = \widetilde K_i^2, \quad \widetilde K_i = \sqrt{\tfrac{1-\kappa}{s-1}}K_i
          + \tfrac{\kappa}{2}\sqrt{\tfrac{s-1}{1-\kappa}}I \quad \text{('approximate', 4.7)} .

The second is the first plus :math:`\frac{\kappa^2(s-1)}{4(1-\kappa)}I`: it also constrains the size of the
coefficients. Algorithm 4.2 in [1]_ prints another kernel, :math:`(1-\kappa)K + \kappa I`, a rescaled variant;
the problem is what is solved here.

Both are functions of :math:`K_i = U_i\Delta_iU_i'`. With :math:`Y_i = U_iR(\Delta_i)^{-1/2}X_i` it is the
problem in whitened coordinates (:mod:`~isogloss.multiview.solvers._problem`) of

.. math:: A_{ij} = \frac{1}{s-1} G_iU_i'U_jG_j, \qquad G_i = \Delta_iR(\Delta_i)^{-1/2}, \qquad A_{ii} = I,

and its solvers are used as they are. With the diagonal :math:`\frac{1}{1-\kappa}I` of (4.11) this matrix is
positive semi-definite (lemma 4.3), which Horst's algorithm as printed needs; the sweeps used here do not, and
a multiple of the identity moves no solution.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School, section 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from isogloss.linalg import Whitening
from isogloss.multiview.kernels._map import KernelSpectrum
from isogloss.multiview.solvers import Solution, WhitenedProblem, block_slices, check_ridges

Array = NDArray[np.float64]


def check_kappas(ridge: float | Sequence[float], n_views: int) -> tuple[float, ...]:
    """One ridge per view, each strictly between 0 and 1."""
    kappas = check_ridges(ridge, n_views)
    if not all(0.0 < kappa < 1.0 for kappa in kappas):
        raise ValueError(
            f"ridge={ridge}; kernels need it in (0, 1), ends left out: with 0 every correlation is one"
        )
    return kappas


def regularised(n_rows: int, kappa: float, regularisation: str) -> tuple[float, float, float]:
    """Coefficients ``(a, b, c)`` of ``R = a K^2 + b K + c I``."""
    a = (1.0 - kappa) / (n_rows - 1)
    return a, kappa, 0.0 if regularisation == "exact" else kappa**2 / (4.0 * a)


def dual_problem(
    spectra: Sequence[KernelSpectrum],
    ridge: float | Sequence[float],
    regularisation: str,
    moved: Callable[[int, int, Array], Array] | None = None,
) -> WhitenedProblem:
    """The problem whose ``weights`` are coefficients of the landmarks' kernel columns.

    Parameters
    ----------
    spectra : sequence of KernelSpectrum
        One per view.
    ridge : float in [0, 1], or one per view
        The thesis's kappa.
    regularisation : {'exact', 'approximate'}
        See above.
    moved : callable, optional
        :meth:`~isogloss.multiview.solvers.RowProducts.moved`, for views of unequal rows; by default
        all have the same.
    """
    sizes = tuple(len(one.values) for one in spectra)
    roots, scaled = [], []
    for one, kappa in zip(spectra, check_ridges(ridge, len(spectra)), strict=True):
        a, b, c = regularised(len(one.vectors), kappa, regularisation)
        roots.append(np.sqrt((a * one.values + b) * one.values + c))
        scaled.append(one.vectors * (one.values / roots[-1]))
    whitenings = tuple(
        Whitening(one.basis / root, len(root), root**2, "eigh")
        for one, root in zip(spectra, roots, strict=True)
    )
    A, rows = np.eye(sum(sizes)), block_slices(sizes)
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            there = scaled[j] / (len(scaled[j]) - 1) if moved is None else moved(i, j, scaled[j])
            block = scaled[i].T @ there
            A[rows[i], rows[j]], A[rows[j], rows[i]] = block, block.T
    return WhitenedProblem(A, whitenings, sizes)


def whitened_point(
    problem: WhitenedProblem, spectra: Sequence[KernelSpectrum], variates: Sequence[Array]
) -> Array:
    """Whitened coordinates (N x components) of given variates of the rows, one array per view."""
    parts = []
    for white, one, Z in zip(problem.whitenings, spectra, variates, strict=True):
        assert white.eigenvalues is not None
        parts.append((np.sqrt(white.eigenvalues) / one.values)[:, np.newaxis] * (one.vectors.T @ Z))
    return np.vstack(parts)


def solve_dual_cca(problem: WhitenedProblem, n_components: int) -> Solution:
    """Two views: the generalised eigenproblem (3.10) with regularised blocks, as one SVD."""
    rows, columns = problem.slices
    U, s, Vt = svd(problem.A[rows, columns], full_matrices=False, check_finite=False)
    weights = problem.weights(np.vstack([U[:, :n_components], Vt[:n_components].T]))
    return Solution(weights, s[:n_components], [], spectrum=s, ranks=problem.sizes)
