r"""Conjugate gradients for many right-hand sides at once.

For a symmetric positive definite :math:`A` and each column :math:`b` of :math:`B`, with
:math:`r_0 = b - Ax_0`, :math:`z = M^{-1}r` and :math:`p_0 = z_0`, iterate

.. math::

    \alpha = \frac{r'z}{p'Ap}, \quad x \mathrel{+}= \alpha p, \quad r \mathrel{-}= \alpha Ap,
    \quad \beta = \frac{r_{new}'z_{new}}{r'z}, \quad p = z_{new} + \beta p

until :math:`\|r\| \le \text{tol}\,\|b\|` ([1]_ section 6.7 and algorithm 9.1). Every
column keeps its own :math:`\alpha` and :math:`\beta`, so each follows the path it would take
alone; what is shared is the product :math:`AP`, one pass over the data for all columns. (This
is not O'Leary's block method, which couples the columns and breaks down when residuals become
dependent.) Columns leave the work as soon as they have converged.

References
----------
.. [1] Y. Saad, *Iterative Methods for Sparse Linear Systems*, 2nd ed., SIAM 2003.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from isogloss.linalg._validation import ASYMMETRY, check_count, check_number, check_symmetric, check_vector
from isogloss.threads import thread_bound

_Product = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# The recurrence for r drifts from b − Ax by rounding; up to this factor of tol it may.
_MAX_DRIFT = 2.0
# Smallest cosine of p and Ap that counts as nonzero; it allows condition numbers up to 1e30.
_MIN_COSINE = 8 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class CGResult:
    r"""Solutions of :math:`AX = B` and what is known about them.

    Attributes
    ----------
    x : ndarray of the shape of ``B``
        The solutions.
    n_iter : ndarray of shape (n_columns,)
        Iterations each column took part in; 0 where the start was good enough.
    residual : ndarray of shape (n_columns,)
        :math:`\|b - Ax\| / \|b\|` per column, measured on the returned ``x`` with one more
        product rather than taken from the recurrence; 0 where ``b`` is zero.
    converged : ndarray of bool of shape (n_columns,)
        Whether ``residual`` is within twice ``tol``. A system so ill-conditioned that the
        recurrence converges and the solution does not is thus reported as a failure.
    """

    x: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    residual: NDArray[np.float64]
    converged: NDArray[np.bool_]


@thread_bound
def block_cg(
    operator: Any,
    B: Any,
    *,
    x0: Any = None,
    preconditioner: Any = None,
    tol: float = 1e-8,
    max_iter: int | None = None,
) -> CGResult:
    r"""Solve :math:`AX = B` for a symmetric positive definite operator.

    Memory: five arrays of the shape of ``B``. Work: one product of the operator with the
    columns not yet converged per iteration, and two more to start and to verify.

    Parameters
    ----------
    operator : callable, LinearOperator, ndarray or sparse matrix
        :math:`A` of shape (n, n); a callable maps an (n, k) block :math:`V` to :math:`AV`, for
        any number k of columns. Symmetry is checked for matrices and trusted otherwise.
    B : ndarray of shape (n,) or (n, n_columns)
        Right-hand sides.
    x0 : ndarray of the shape of ``B``, default=None
        Where to start; zero by default. A zero right-hand side has the solution zero
        whatever ``x0`` is.
    preconditioner : ndarray of shape (n,) or callable, default=None
        The diagonal of :math:`A` (Jacobi), all positive; or a callable that maps an (n, k)
        block :math:`R` to :math:`M^{-1}R`, with :math:`M` symmetric positive definite.
    tol : float in [0, 1], default=1e-8
        A column has converged when its residual is at most ``tol`` times its right-hand side.
    max_iter : int, default=None
        Largest number of iterations; 10 n by default.

    Returns
    -------
    CGResult

    Raises
    ------
    ValueError
        When a search direction has :math:`p'Ap \le 0`: the operator is indefinite or singular.
        Only the directions visited are seen, so silence is no proof of definiteness.

    Warns
    -----
    ConvergenceWarning
        When some column does not reach ``tol``, with the number of them and the worst residual.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import block_cg
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> result = block_cg(A, np.array([1.0, 2.0]))
    >>> result.x.round(4)
    array([0.0909, 0.6364])
    >>> result.n_iter
    array([2])
    """
    right, scale = _unit_columns(B)
    n, size = len(right), _norms(right)
    product, precondition = _as_product(operator, n), _as_preconditioner(preconditioner, n)
    tol = check_number(tol, "tol", 1.0, "the size of the residual relative to the right-hand side")
    max_iter = check_count(10 * n if max_iter is None else max_iter, "max_iter", 0, 10**12, "iterations")
    X = np.zeros_like(right) if x0 is None else _check_start(x0, np.shape(B)).reshape(right.shape) / scale
    X[:, size == 0] = 0.0
    # Below machine precision the recurrence goes on falling and means nothing.
    goal = max(tol, np.finfo(float).eps) * size
    n_iter = _iterate(product, precondition, X, right, goal, max_iter)
    residual = _norms(right - product(X)) / np.where(size > 0, size, 1.0)
    result = CGResult((X * scale).reshape(np.shape(B)), n_iter, residual, residual <= _MAX_DRIFT * tol)
    _warn_unless_converged(result, tol)
    return result


def _iterate(
    product: _Product,
    precondition: _Product,
    X: NDArray[np.float64],
    B: NDArray[np.float64],
    goal: NDArray[np.float64],
    max_iter: int,
) -> NDArray[np.int64]:
    """Improve ``X`` in place; return the iterations of each column."""
    n_iter = np.zeros(B.shape[1], dtype=np.int64)
    R = B - product(X)
    live = np.flatnonzero(_norms(R) > goal)
    R, P, rho = R[:, live], np.zeros((len(B), live.size)), np.ones(live.size)
    for step in range(1, max_iter + 1):
        if not live.size:
            break
        Z, rho_new = _preconditioned(precondition, R, live)
        P, rho = Z + (rho_new / rho) * P, rho_new
        AP = product(P)
        alpha = rho / _curvature(P, AP, live, step)
        X[:, live] += alpha * P
        R -= alpha * AP
        n_iter[live] = step
        going = _norms(R) > goal[live]
        live, R, P, rho = live[going], R[:, going], P[:, going], rho[going]
    return n_iter


def _norms(R: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(_column_dots(R, R))


def _column_dots(R: NDArray[np.float64], Z: NDArray[np.float64]) -> NDArray[np.float64]:
    dots: NDArray[np.float64] = np.einsum("ij,ij->j", R, Z)
    return dots


def _preconditioned(
    precondition: _Product, R: NDArray[np.float64], live: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Z = M⁻¹R and the products r'z, which a proper M makes positive."""
    Z = precondition(R)
    rho = _column_dots(R, Z)
    if not (rho > 0).all():
        worst = int(np.argmin(rho))
        raise ValueError(
            f"preconditioner is not positive definite: r'z = {rho[worst]:.3g} for right-hand side "
            f"{live[worst]}; expected a symmetric positive definite map, such as division by the diagonal"
        )
    return Z, rho


def _curvature(
    P: NDArray[np.float64], AP: NDArray[np.float64], live: NDArray[np.int64], step: int
) -> NDArray[np.float64]:
    """Return p'Ap per column; refuse what a positive definite operator cannot produce.

    By Wielandt's inequality p'Ap / (|p| |Ap|) is at least 2 / sqrt(condition number), so a
    cosine at the level of rounding is a direction in which a singular A vanishes.
    """
    curvature = _column_dots(P, AP)
    room = curvature - _MIN_COSINE * _norms(P) * _norms(AP)
    if not (room > 0).all():
        worst = int(np.argmin(room))
        raise ValueError(
            f"operator is indefinite or singular: p'Ap = {curvature[worst]:.3g} at iteration {step} for "
            f"right-hand side {live[worst]}; expected a positive definite operator: add a ridge, or repair "
            "the matrix with isogloss.linalg.shrink_to_psd"
        )
    return curvature


def _warn_unless_converged(result: CGResult, tol: float) -> None:
    failed = ~result.converged
    if failed.any():
        warnings.warn(
            f"{failed.sum()} of {failed.size} right-hand sides did not reach tol={tol:g} in "
            f"{result.n_iter.max()} iterations; the largest relative residual is "
            f"{result.residual.max():.3g}. Raise max_iter or the ridge, or give a preconditioner.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _unit_columns(B: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scale columns to entries of size 1, or their squares could underflow; zero stays zero."""
    B = check_array(B, dtype=np.float64, ensure_2d=False, input_name="B")
    block: NDArray[np.float64] = B.reshape(len(B), -1)
    scale = np.abs(block).max(axis=0)
    scale[scale == 0] = 1.0
    return block / scale, scale


def _check_start(x0: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    start: NDArray[np.float64] = check_array(x0, dtype=np.float64, ensure_2d=False, input_name="x0")
    if start.shape != shape:
        raise ValueError(f"x0 has shape {start.shape}; expected the shape of B, {shape}")
    return start


def _as_product(operator: Any, n: int) -> _Product:
    if isinstance(operator, LinearOperator):
        shape, product = operator.shape, _checked(operator.matmat, "operator")
    elif callable(operator):
        return _checked(operator, "operator")
    else:
        A = _check_sparse_symmetric(operator) if issparse(operator) else check_symmetric(operator, "operator")
        shape, product = A.shape, _checked(A.__matmul__, "operator")
    if shape != (n, n):
        raise ValueError(f"operator has shape {shape}; expected {(n, n)} to match the {n} rows of B")
    return product


def _checked(function: Callable[[Any], Any], name: str) -> _Product:
    """Guard a product: a wrong shape would be broadcast, and NaN compares as converged."""

    def product(V: NDArray[np.float64]) -> NDArray[np.float64]:
        AV = np.asarray(function(V), dtype=np.float64)
        if not np.isfinite(AV).all():
            raise ValueError(
                f"{name} returned NaN or infinity; expected finite products: "
                "look for missing values or overflow in the data behind it"
            )
        if AV.shape != V.shape:
            raise ValueError(
                f"{name} mapped a block of shape {V.shape} to {AV.shape}; expected the same shape"
            )
        return AV

    return product


def _check_sparse_symmetric(A: Any) -> Any:
    A = check_array(A, accept_sparse="csr", dtype=np.float64, input_name="operator")
    if A.shape[0] != A.shape[1] or abs(A - A.T).max() > ASYMMETRY * abs(A).max():
        raise ValueError(f"operator, a sparse matrix of shape {A.shape}, is not symmetric; CG needs A = A'")
    return A


def _as_preconditioner(preconditioner: Any, n: int) -> _Product:
    if preconditioner is None:
        return lambda R: R
    if callable(preconditioner):
        return _checked(preconditioner, "preconditioner")
    diagonal = check_vector(preconditioner, n, "preconditioner")
    if diagonal.min() <= 0:
        raise ValueError(
            f"preconditioner has the entry {diagonal.min():.3g} at {diagonal.argmin()}; "
            "expected the diagonal of a positive definite operator, all positive"
        )
    return lambda R: R / diagonal[:, np.newaxis]
