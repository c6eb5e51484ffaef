r"""Positive semi-definiteness: proof and repair.

When rows are missing in some views, each covariance block is estimated from the rows that
both of its views have. Every block is sound and the assembled matrix is not: in practice it
has negative eigenvalues. Two repairs, and one proof:

* :func:`nearest_psd` moves each offending eigenvalue up to a floor; the smallest change in
  the Frobenius norm [1]_, though it touches every entry.
* :func:`shrink_to_psd` moves towards a target that is known to be sound, usually the block
  diagonal of the matrix itself, by the smallest sufficient amount. The blocks on the diagonal
  keep their values and the covariances between views shrink alike.
* :func:`is_psd` answers by a Cholesky factorisation whose rounding is accounted for [2]_. An
  iterative eigenvalue (Lanczos) converges from above and so can miss a negative one.

References
----------
.. [1] N. J. Higham, "Computing a nearest symmetric positive semidefinite matrix", Linear
   Algebra and its Applications 103, 1988, theorem 2.1.
.. [2] S. M. Rump, "Verification of positive definiteness", BIT Numerical Mathematics 46, 2006.
.. [3] N. J. Higham, N. Strabić, V. Šego, "Restoring definiteness via shrinking, with an
   application to correlation matrices with a fixed block", SIAM Review 58(2), 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, eigh
from scipy.linalg.lapack import dpotrf

from isogloss.linalg._validation import check_number, check_symmetric
from isogloss.linalg._whitening import Whitening, whitening_matrix
from isogloss.threads import thread_bound

# How much of S may lie outside the range of a singular target and count as rounding.
_MAX_SHARE_OUTSIDE = 1e-8
_FLOOR_MEANING = "the smallest eigenvalue that is allowed"


@dataclass(frozen=True, eq=False)
class Shrinkage:
    r"""A matrix pulled to where it is positive semi-definite, and how far that was.

    Attributes
    ----------
    matrix : ndarray of shape (p, p)
        :math:`(1 - t)S + tT`.
    weight : float in [0, 1]
        :math:`t`; 0 when nothing had to be done.
    smallest_before, smallest_after : float
        Smallest eigenvalue of :math:`S` and of ``matrix``.
    """

    matrix: NDArray[np.float64]
    weight: float
    smallest_before: float
    smallest_after: float


@thread_bound
def is_psd(S: Any, tol: float | None = None) -> bool:
    r"""Return whether the smallest eigenvalue of ``S`` is proven to be at least ``-tol``.

    A Cholesky factorisation of :math:`S + (\text{tol} - c)I` that runs to completion proves
    :math:`\lambda_{min}(S) \ge -\text{tol}` when :math:`c` bounds its rounding,
    :math:`c = (p + 3)\,\epsilon\,\mathrm{tr}(S + \text{tol} I)`; twice the constant of Rump's
    theorem, which leaves room for the rounding of the shift itself. True is therefore a
    proof. False means that there is none, which for ``tol`` below :math:`c` can also happen
    to a semi-definite matrix.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric matrix.
    tol : float, default=None
        Absolute. By default :math:`4c` with ``tol = 0``, the finest that can be settled with
        room to spare.

    Returns
    -------
    bool

    Examples
    --------
    >>> from isogloss.linalg import is_psd
    >>> is_psd([[1.0, 1.0], [1.0, 1.0]]), is_psd([[1.0, 2.0], [2.0, 1.0]])
    (True, False)
    >>> is_psd([[1.0, 2.0], [2.0, 1.0]], tol=1.1)
    True
    """
    S = check_symmetric(S, "S")
    unit = (len(S) + 3) * np.finfo(float).eps
    tol = 4.0 * unit * max(np.trace(S), 0.0) if tol is None else check_number(tol, "tol", np.inf, "absolute")
    if not S.any():
        return True
    S[np.diag_indices_from(S)] += tol
    S[np.diag_indices_from(S)] -= unit * max(np.trace(S), 0.0)
    # Symmetric, so its transpose, which LAPACK takes as it is, will do; the copy is ours to overwrite.
    return bool(dpotrf(S.T, lower=0, clean=0, overwrite_a=1)[1] == 0)


@thread_bound
def nearest_psd(S: Any, floor: float = 0.0) -> NDArray[np.float64]:
    r"""Nearest symmetric matrix with no eigenvalue below ``floor``, in the Frobenius norm.

    With :math:`S = V\Lambda V'` this is :math:`V\max(\Lambda, \text{floor})V'`. A matrix that has
    no eigenvalue below ``floor`` comes back unchanged to the bit.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric matrix; it is not changed.
    floor : float, default=0.0
        Non-negative lower bound of the eigenvalues.

    Returns
    -------
    ndarray of shape (p, p)
        Exactly symmetric.

    Examples
    --------
    >>> from isogloss.linalg import nearest_psd
    >>> nearest_psd([[1.0, 2.0], [2.0, 1.0]])
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    symmetric, floor = check_symmetric(S, "S"), check_number(floor, "floor", np.inf, _FLOOR_MEANING)
    values, vectors = eigh(symmetric, driver="evd")
    if values[0] >= floor:
        return symmetric
    # A factor times its own transpose is symmetric to the bit (BLAS syrk), and semi-definite
    # to the rounding of its own size, which S plus a correction would not be.
    F = vectors * np.sqrt(np.maximum(values, floor))
    nearest: NDArray[np.float64] = F @ F.T
    return nearest


@thread_bound
def shrink_to_psd(
    S: Any, target: Any = None, *, blocks: Sequence[int] | None = None, floor: float = 0.0
) -> Shrinkage:
    r"""Smallest :math:`t \in [0, 1]` that makes :math:`(1 - t)S + tT` positive semi-definite.

    Let :math:`\lambda` be the smallest eigenvalue of :math:`Sv = \lambda Tv`. Then
    :math:`(1 - t)S + tT \succeq 0` exactly when :math:`(1 - t)\lambda + t \ge 0`, so

    .. math::

        t = \frac{-\lambda}{1 - \lambda} \quad (\lambda < 0), \qquad t = 0 \quad (\lambda \ge 0),

    the generalised eigenvalue method of [1]_. A ``floor`` :math:`f` is the
    same problem for :math:`S - fI` and :math:`T - fI`.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric matrix; it is not changed.
    target : ndarray of shape (p, p), default=None
        :math:`T`, positive semi-definite with no eigenvalue below ``floor``. It may be singular
        only where :math:`S` vanishes too, as for a constant feature. By default the diagonal
        of ``S``, or its diagonal blocks when ``blocks`` is given.
    blocks : sequence of int, default=None
        Sizes of the diagonal blocks (the number of features of each view), which sum to p.
    floor : float, default=0.0
        Non-negative lower bound of the eigenvalues of the result.

    Returns
    -------
    Shrinkage

    References
    ----------
    .. [1] Higham, Strabić, Šego, SIAM Review 58(2), 2016.

    Examples
    --------
    >>> from isogloss.linalg import shrink_to_psd
    >>> repaired = shrink_to_psd([[1.0, 2.0], [2.0, 1.0]])
    >>> round(repaired.weight, 12)
    0.5
    >>> repaired.matrix.round(12)
    array([[1., 1.],
           [1., 1.]])
    """
    S, floor = check_symmetric(S, "S"), check_number(floor, "floor", np.inf, _FLOOR_MEANING)
    T = _default_target(S, blocks) if target is None else _check_target(target, S, blocks)
    shift = floor * np.eye(len(S))
    white = _whiten_target(T - shift, floor)
    _check_range(S - shift, white)
    excess = max(0.0, -_smallest(white.matrix.T @ (S - shift) @ white.matrix))
    weight = excess / (1.0 + excess)
    matrix = (1.0 - weight) * S + weight * T
    return Shrinkage(matrix, weight, _smallest(S), _smallest(matrix))


def _default_target(S: NDArray[np.float64], blocks: Sequence[int] | None) -> NDArray[np.float64]:
    sizes = [1] * len(S) if blocks is None else list(blocks)
    if sum(sizes) != len(S) or min(sizes) < 1:
        raise ValueError(f"blocks={sizes} sum to {sum(sizes)}; expected positive sizes with sum {len(S)}")
    ends = np.cumsum(sizes)
    parts = [S[end - size : end, end - size : end] for size, end in zip(sizes, ends, strict=True)]
    target: NDArray[np.float64] = block_diag(*parts)
    return target


def _check_target(target: Any, S: NDArray[np.float64], blocks: object) -> NDArray[np.float64]:
    if blocks is not None:
        raise ValueError("both target and blocks were given; expected one: blocks builds the target from S")
    T = check_symmetric(target, "target")
    if T.shape != S.shape:
        raise ValueError(f"target has shape {T.shape}; expected that of S, {S.shape}")
    return T


def _whiten_target(T: NDArray[np.float64], floor: float) -> Whitening:
    try:
        return whitening_matrix(T)
    except ValueError as error:
        raise ValueError(
            f"target has the eigenvalue {_smallest(T) + floor:.3g}, below floor={floor:g}; expected no "
            "eigenvalue of the target below floor: repair it with nearest_psd, or lower floor"
        ) from error


def _check_range(S: NDArray[np.float64], white: Whitening) -> None:
    """Refuse a target that is singular in directions where ``S`` is not zero."""
    if white.rank == len(S):
        return
    V = np.linalg.qr(white.matrix)[0]
    outside = np.linalg.norm(S - V @ (V.T @ S @ V) @ V.T)
    if outside > _MAX_SHARE_OUTSIDE * np.linalg.norm(S):
        raise ValueError(
            f"target minus floor has rank {white.rank} of {len(S)}, and S is not zero in the directions it "
            f"misses (norm {outside:.3g} of {np.linalg.norm(S):.3g}); lower floor, or add a ridge to the "
            "target with isogloss.linalg.regularise"
        )


def _smallest(S: NDArray[np.float64]) -> float:
    """Smallest eigenvalue; of an empty matrix 0, which asks for nothing."""
    return float(eigh(S, eigvals_only=True, subset_by_index=[0, 0])[0]) if S.size else 0.0
