r"""Whitening: the change of basis in which a regularised covariance is the identity.

For a covariance :math:`C` and a ridge :math:`\kappa \in [0, 1]`,

.. math::

    C_\kappa = (1 - \kappa)C + \kappa I, \qquad W'C_\kappa W = I_r,

with :math:`W` of shape p x r and :math:`r` the numerical rank of :math:`C_\kappa`. In the
basis :math:`W` canonical correlations are ordinary singular values. :math:`W` is unique up to
a rotation from the right, and two routes lead to one:

* Cholesky, :math:`C_\kappa = U'U` and :math:`W = U^{-1}`, for a matrix of full rank. Several
  times cheaper than eigenvectors; it cannot tell a small direction from a zero one.
* Eigenvectors, :math:`C_\kappa = V\Lambda V'` and :math:`W = V_r\Lambda_r^{-1/2}`, with the
  directions dropped that carry no variance: constant features, exact copies, fewer rows
  than columns.

The rank must not depend on the route. Cholesky is therefore used only where LAPACK's estimate
of the condition number shows that eigenvectors would not drop anything either: for symmetric
matrices :math:`\kappa_2 \le \kappa_1` [1]_, so the reciprocal of the 1-norm condition number
bounds :math:`\lambda_{min}/\lambda_{max}` from below, and a margin of 100 covers the estimate.

References
----------
.. [1] N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002,
   chapters 6, 10 and 15.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpocon, dpotrf, dtrtri

from isogloss.linalg._validation import check_number, check_symmetric
from isogloss.threads import thread_bound

# The condition estimate is rarely wrong by more than 3 and hardly ever by more than 10.
_MARGIN = 100.0
# Largest negative eigenvalue, relative to the largest one, that is put down to rounding.
_MAX_NEGATIVE_EIGENVALUE = 1e-10


@dataclass(frozen=True, eq=False)
class Whitening:
    r"""A whitening basis and how it was found.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, rank)
        :math:`W` with :math:`W'C_\kappa W = I`. Apply it to centred rows: ``X @ matrix``.
    rank : int
        Number of directions kept; less than ``n_features`` when some carry no variance.
    eigenvalues : ndarray of shape (rank,) or None
        Eigenvalues of :math:`C_\kappa` that were kept, falling; None for Cholesky.
    method : {'cholesky', 'eigh'}
        The route taken. Upper triangular ``matrix`` for the first, orthogonal columns for
        the second.
    """

    matrix: NDArray[np.float64]
    rank: int
    eigenvalues: NDArray[np.float64] | None
    method: Literal["cholesky", "eigh"]

    def whiten_rows(self, C: NDArray[np.float64]) -> NDArray[np.float64]:
        """``matrix.T @ C``, at half the cost where ``matrix`` is triangular."""
        if self.method == "eigh":
            return np.asarray(self.matrix.T @ C)
        return np.asarray(dtrmm(1.0, self.matrix, C, trans_a=1))


def regularise(C: Any, ridge: float) -> NDArray[np.float64]:
    r"""Pull a covariance towards the identity: :math:`(1 - \kappa)C + \kappa I`.

    Parameters
    ----------
    C : ndarray of shape (n_features, n_features)
        Symmetric matrix; it is not changed.
    ridge : float in [0, 1]
        :math:`\kappa`. 0 leaves ``C`` as it is, 1 forgets it.

    Returns
    -------
    ndarray of shape (n_features, n_features)

    Examples
    --------
    >>> from isogloss.linalg import regularise
    >>> regularise([[3.0, 1.0], [1.0, 1.0]], ridge=0.5)
    array([[2. , 0.5],
           [0.5, 1. ]])
    """
    C = check_symmetric(C, "C")
    ridge = check_number(ridge, "ridge", 1.0, "0 is the covariance itself, 1 the identity")
    regularised: NDArray[np.float64] = (1.0 - ridge) * C
    regularised[np.diag_indices_from(regularised)] += ridge
    return regularised


@thread_bound
def whitening_matrix(C: Any, *, ridge: float = 0.0, rank_tol: float = 1e-12) -> Whitening:
    r"""Find :math:`W` with :math:`W'((1 - \kappa)C + \kappa I)W = I_r`.

    The equation holds to about machine precision times the condition number of the directions
    kept, whichever way they were found.

    Parameters
    ----------
    C : ndarray of shape (n_features, n_features)
        Symmetric positive semi-definite matrix, as a covariance is.
    ridge : float in [0, 1], default=0.0
        :math:`\kappa`, see :func:`regularise`.
    rank_tol : float in [0, 1], default=1e-12
        Directions whose eigenvalue is at most ``rank_tol`` times the largest are dropped. In
        standard deviations the default is one part in a million, so scale features first when
        their units differ by more than that.

    Returns
    -------
    Whitening
        Of rank 0, with a matrix of no columns, when ``C`` is zero.

    Raises
    ------
    ValueError
        When the regularised matrix has a clearly negative eigenvalue, as covariances from
        pairwise-available rows often have; :func:`~isogloss.linalg.shrink_to_psd` repairs it.

    Examples
    --------
    A constant feature is dropped:

    >>> from isogloss.linalg import whitening_matrix
    >>> white = whitening_matrix([[4.0, 0.0], [0.0, 0.0]])
    >>> white.rank, white.method, float(abs(white.matrix[0, 0]))
    (1, 'eigh', 0.5)
    """
    rank_tol = check_number(rank_tol, "rank_tol", 1.0, "directions of relative variance up to it go")
    C = regularise(C, ridge)
    return _by_cholesky(C, rank_tol) or _by_eigenvectors(C, rank_tol)


def _by_cholesky(C: NDArray[np.float64], rank_tol: float) -> Whitening | None:
    """Whiten by the inverse factor, or return None where full rank cannot be vouched for."""
    U, failed = dpotrf(C, lower=0, clean=1)
    if failed:
        return None
    reciprocal_condition, _ = dpocon(U, np.abs(C).sum(axis=0).max(), uplo="U")
    if reciprocal_condition <= _MARGIN * max(rank_tol, np.finfo(float).eps):
        return None
    W, _ = dtrtri(U, lower=0)
    return Whitening(W, len(W), None, "cholesky")


def _by_eigenvectors(C: NDArray[np.float64], rank_tol: float) -> Whitening:
    values, vectors = eigh(C, driver="evd", check_finite=False)
    _refuse_indefinite(values)
    kept = values > rank_tol * values[-1]
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    return Whitening(vectors / np.sqrt(values), len(values), values, "eigh")


def _refuse_indefinite(values: NDArray[np.float64]) -> None:
    if values[0] < -_MAX_NEGATIVE_EIGENVALUE * np.abs(values).max():
        raise ValueError(
            f"C is not positive semi-definite: after the ridge its eigenvalues run from {values[0]:.3g} "
            f"to {values[-1]:.3g}; expected none below zero: repair it with isogloss.linalg.shrink_to_psd "
            "or nearest_psd, or raise ridge"
        )
