r"""Leading singular vectors of anything that can be multiplied with a block of vectors.

A random block :math:`\Omega` of :math:`l = k + \text{oversampling}` columns is pushed through
the matrix; after :math:`q` power iterations the orthonormal basis

.. math::

    Q = \mathrm{orth}\bigl((AA')^q A\Omega\bigr)

holds nearly all of the leading left singular subspace, and the SVD of the small matrix
:math:`Q'A` gives that of :math:`A` ([1]_, algorithms 4.4 and 5.1; QR after every product,
without which the small singular values drown in rounding). The expected spectral error is
:math:`\sigma_{k+1}`, the best possible, times a factor that tends to 1 like
:math:`c^{1/(2q+1)}` (corollary 10.10).

Resources: :math:`2q + 2` passes over the matrix, each a product with a block of :math:`l`
columns, and memory for two or three blocks of shape (longer side) x :math:`l`.

References
----------
.. [1] N. Halko, P.-G. Martinsson, J. A. Tropp, "Finding structure with randomness:
   probabilistic algorithms for constructing approximate matrix decompositions", SIAM Review
   53(2), 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.extmath import svd_flip

from isogloss.linalg._validation import check_count, check_symmetric
from isogloss.threads import thread_bound

# Up to this length of the longer side LAPACK takes no longer than the passes of a sketch.
_MAX_LAPACK_SIZE = 500
# Largest negative Ritz value, relative to the largest one, that is put down to rounding.
_MAX_NEGATIVE_RITZ = 1e-8


@thread_bound
def randomized_svd(
    operator: Any,
    n_components: int,
    *,
    n_oversamples: int = 10,
    n_iter: int = 7,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Truncated singular value decomposition by random projection.

    scikit-learn's function of this name refuses linear operators (it validates its argument
    as an array), and SciPy's solvers multiply one vector at a time; hence this one.

    Exact (LAPACK) instead of randomised where that is no dearer: when the smaller side is at
    most ``n_components + n_oversamples``, or the longer side at most 500.

    Parameters
    ----------
    operator : LinearOperator, ndarray or sparse matrix of shape (m, n)
        An operator needs its adjoint (``rmatmat`` or ``rmatvec``).
    n_components : int
        Number of singular triplets, at most min(m, n). Beyond the rank the singular values
        are zero to rounding and their vectors an arbitrary orthonormal completion.
    n_oversamples : int, default=10
        Extra random columns; more of them make the result better at little cost.
    n_iter : int, default=7
        Power iterations, two passes over the matrix each. Raise it when singular values
        decay slowly, lower it when a pass is expensive.
    random_state : int, RandomState instance or None, default=None
        Source of the random block. The result is a function of it and of the operator.

    Returns
    -------
    U : ndarray of shape (m, n_components)
        Left singular vectors in columns; the entry largest in absolute value of each is
        positive.
    s : ndarray of shape (n_components,)
        Singular values, falling.
    Vt : ndarray of shape (n_components, n)
        Right singular vectors in rows.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import CentredOperator, randomized_svd
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> U, s, Vt = randomized_svd(CentredOperator(X), 1)
    >>> s
    array([4.])
    """
    A = _as_products(operator)
    k = check_count(n_components, "n_components", 1, min(A.shape), f"the operator has shape {A.shape}")
    width, n_iter = _check_effort(k, n_oversamples, n_iter)
    # The random block lives on the smaller side, so the small SVD is `width` times that side.
    wide = A.shape[0] < A.shape[1]
    tall = _Products(A.shape[::-1], A.backward, A.forward) if wide else A
    small = tall.shape[1] <= width or tall.shape[0] <= _MAX_LAPACK_SIZE
    U, s, Vt = _exact_svd(tall) if small else _sketched_svd(tall, width, n_iter, random_state)
    U, Vt = (Vt.T, U.T) if wide else (U, Vt)
    U, Vt = svd_flip(U[:, :k].copy(), Vt[:k].copy())
    return U, s[:k], Vt


@thread_bound
def randomized_eigh(
    operator: Any,
    n_components: int,
    *,
    n_oversamples: int = 10,
    n_iter: int = 7,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Largest eigenvalues of a symmetric positive semi-definite operator.

    The range finder of :func:`randomized_svd`, with :math:`A' = A`, followed by the
    eigenvectors of :math:`Q'AQ` ([1]_, algorithm 5.3). Exact up to 500 rows.

    Parameters
    ----------
    operator : LinearOperator, ndarray or sparse matrix of shape (n, n)
        Symmetric and positive semi-definite; no adjoint is needed.
    n_components : int
        Number of eigenvalues, at most n.
    n_oversamples, n_iter, random_state
        As in :func:`randomized_svd`.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        Falling, none negative.
    eigenvectors : ndarray of shape (n, n_components)
        In columns; the entry largest in absolute value of each is positive.

    Raises
    ------
    ValueError
        When the compression :math:`Q'AQ` is not symmetric or has a clearly negative
        eigenvalue: then the operator cannot be what is asked for.

    References
    ----------
    .. [1] Halko, Martinsson, Tropp, SIAM Review 53(2), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import randomized_eigh
    >>> eigenvalues, eigenvectors = randomized_eigh(np.diag([1.0, 3.0, 2.0]), 2)
    >>> eigenvalues
    array([3., 2.])
    """
    A = _as_products(operator)
    n = A.shape[0]
    if n != A.shape[1]:
        raise ValueError(f"operator has shape {A.shape}; expected a square symmetric operator")
    k = check_count(n_components, "n_components", 1, n, f"the operator has shape {A.shape}")
    width, n_iter = _check_effort(k, n_oversamples, n_iter)
    symmetric = _Products(A.shape, A.forward, A.forward)
    Q = (
        np.eye(n)
        if n <= max(width, _MAX_LAPACK_SIZE)
        else _range_basis(symmetric, width, n_iter, random_state)
    )
    ritz, vectors = linalg.eigh(check_symmetric(Q.T @ _finite(A.forward(Q)), "operator"))
    if ritz[0] < -_MAX_NEGATIVE_RITZ * ritz[-1]:
        raise ValueError(
            f"operator is not positive semi-definite: a Ritz value is {ritz[0]:.3g} "
            f"where the largest is {ritz[-1]:.3g}; use scipy.sparse.linalg.eigsh for indefinite operators"
        )
    V, _ = svd_flip(Q @ vectors[:, : -k - 1 : -1], None)
    return np.maximum(ritz[: -k - 1 : -1], 0.0), V


class _Products(NamedTuple):
    """A matrix, known by its products only."""

    shape: tuple[int, int]
    forward: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    backward: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _as_products(operator: Any) -> _Products:
    if isinstance(operator, LinearOperator):
        return _Products(operator.shape, operator.matmat, _adjoint(operator))
    # Not SciPy's aslinearoperator: its adjoint keeps a second copy of the matrix.
    X = check_array(operator, accept_sparse=("csr", "csc"), dtype=np.float64, input_name="operator")
    return _Products(X.shape, lambda V: X @ V, lambda U: X.T @ U)


def _adjoint(operator: Any) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    def backward(U: NDArray[np.float64]) -> Any:
        try:
            return operator.rmatmat(U)
        except (NotImplementedError, TypeError) as error:
            raise TypeError(
                f"the adjoint of operator cannot be applied ({error}); "
                "expected a LinearOperator with rmatvec or rmatmat"
            ) from error

    return backward


def _check_effort(k: int, n_oversamples: int, n_iter: int) -> tuple[int, int]:
    """Width of the random block and number of power iterations, both checked."""
    extra = check_count(n_oversamples, "n_oversamples", 0, 10**6, "the extra columns of the random block")
    return k + extra, check_count(n_iter, "n_iter", 0, 10**6, "each iteration is two passes over the data")


def _exact_svd(A: _Products) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    dense = _finite(A.forward(np.eye(A.shape[1])))
    U, s, Vt = linalg.svd(dense, full_matrices=False, check_finite=False)
    return U, s, Vt


def _sketched_svd(
    A: _Products, width: int, n_iter: int, random_state: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    Q = _range_basis(A, width, n_iter, random_state)
    V, s, Ut = linalg.svd(_finite(A.backward(Q)), full_matrices=False, check_finite=False)
    return Q @ Ut.T, s, V.T


def _range_basis(A: _Products, width: int, n_iter: int, random_state: Any) -> NDArray[np.float64]:
    Q = check_random_state(random_state).normal(size=(A.shape[1], width))
    for _ in range(n_iter):
        Q = _orthonormal(A.forward(Q))
        Q = _orthonormal(A.backward(Q))
    return _orthonormal(A.forward(Q))


def _orthonormal(Y: NDArray[np.float64]) -> NDArray[np.float64]:
    Q: NDArray[np.float64] = linalg.qr(_finite(Y), mode="economic", check_finite=False)[0]
    return Q


def _finite(Y: Any) -> NDArray[np.float64]:
    if np.iscomplexobj(Y):
        raise TypeError("a product with operator is complex; expected a real operator")
    block: NDArray[np.float64] = np.asarray(Y, dtype=np.float64)
    if not np.isfinite(block).all():
        raise ValueError(
            "a product with operator contains NaN or infinity; expected finite products: "
            "look for missing values or overflow in the data behind the operator"
        )
    return block
