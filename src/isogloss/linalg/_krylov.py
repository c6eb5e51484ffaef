r"""Leading singular vectors of a sparse matrix whose spectrum is nearly flat, as that of documents is.

Power iterations forget all but the last of their products. Here every product stays: block Golub-Kahan
bidiagonalisation ([1]_, section 10.4) makes orthonormal bases :math:`Q` and :math:`P` of

.. math::

    \bigl[A\Omega,\ (AA')A\Omega,\ (AA')^2A\Omega,\ \dots\bigr]
    \quad\text{and of}\quad A'Q = PT,

and the SVD of the small :math:`T'` gives that of :math:`QQ'A`, the part of :math:`A` that the basis sees.
With the same number of products it captures more than power iterations do, because it optimises over all
polynomials of :math:`AA'` and not over one monomial ([2]_). Blocks are narrow and stay in the cache.

Resources: every column of the bases is multiplied once with :math:`A` and once with :math:`A'`; memory for
both bases; single precision where the matrix has it.

References
----------
.. [1] G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition, 2013.
.. [2] C. Musco, C. Musco, "Randomized block Krylov methods for stronger and faster approximate singular value
   decomposition", NeurIPS 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import check_array, check_random_state
from sklearn.utils.extmath import svd_flip

from isogloss.linalg._validation import check_count
from isogloss.threads import thread_bound

Block = NDArray[Any]

# Columns that go through the matrix at a time, at most, and how many times some do at least.
_BLOCK, _STEPS = 32, 8
# A block whose columns keep this part of their length, and are this far from dependent, needs no second pass.
_MIN_KEPT_SHARE = 0.1
# Passes of orthogonalisation: two are enough but for columns that had to be drawn anew.
_MAX_PASSES = 4


@thread_bound
def krylov_svd(
    matrix: Any, n_components: int, *, n_basis: int | None = None, random_state: Any = None
) -> tuple[Block, NDArray[np.float64], Block]:
    """Truncated singular value decomposition from a block Krylov space.

    Parameters
    ----------
    matrix : ndarray or sparse matrix of shape (m, n)
        Single precision stays single.
    n_components : int
        Number of singular triplets, at most min(m, n). Beyond the rank the singular values are zero to
        rounding and their vectors an arbitrary orthonormal completion.
    n_basis : int, optional
        Columns of the bases, twice ``n_components`` and ten more by default; more of them capture more, and
        min(m, n) give the exact decomposition.
    random_state : int, RandomState instance or None, default=None
        Source of the first block.

    Returns
    -------
    U : ndarray of shape (m, n_components)
        Left singular vectors in columns; the entry largest in absolute value of each is positive.
    s : ndarray of shape (n_components,)
        Singular values, falling.
    Vt : ndarray of shape (n_components, n)
        Right singular vectors in rows.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.linalg import krylov_svd
    >>> U, s, Vt = krylov_svd(np.diag([1.0, 3.0, 2.0]), 2, random_state=0)
    >>> s.round(6)
    array([3., 2.])
    """
    A = check_array(matrix, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), input_name="matrix")
    side = min(A.shape)
    k = check_count(n_components, "n_components", 1, side, f"the matrix has shape {A.shape}")
    size = (
        2 * k + 10 if n_basis is None else check_count(n_basis, "n_basis", k, 10**9, "columns of the bases")
    )
    Q, P, T = _bidiagonalise(A, min(size, side), check_random_state(random_state))
    W, s, Zt = linalg.svd(T, check_finite=False)
    U, Vt = svd_flip(Q @ Zt[:k].T.astype(A.dtype), (P @ W[:, :k].astype(A.dtype)).T)
    return U, s[:k], Vt


def _bidiagonalise(A: Any, size: int, rng: np.random.RandomState) -> tuple[Block, Block, Block]:
    """Orthonormal ``Q`` and ``P`` of so many columns, and ``T`` with ``A'Q = PT``."""
    Q, P = (np.empty((n, size), dtype=A.dtype, order="F") for n in A.shape)
    T, width = np.zeros((size, size)), min(_BLOCK, -(-size // _STEPS))
    product = A @ rng.normal(size=(A.shape[1], width)).astype(A.dtype)
    for start in range(0, size, width):
        now = slice(start, min(start + width, size))
        Q[:, now], _, _ = _orthonormal(product[:, : now.stop - start], Q[:, :start], rng)
        product = A.T @ np.ascontiguousarray(Q[:, now])
        P[:, now], T[:start, now], T[now, now] = _orthonormal(product, P[:, :start], rng)
        if now.stop < size:
            product = A @ np.ascontiguousarray(P[:, now])
    return Q, P, T


def _orthonormal(Y: Block, before: Block, rng: np.random.RandomState) -> tuple[Block, Block, Block]:
    """``Q``, ``C`` and ``R`` with ``Y = before C + Q R``, ``Q`` orthonormal and orthogonal to ``before``."""
    C = np.zeros((before.shape[1], Y.shape[1]))
    R = np.eye(Y.shape[1])
    for _ in range(_MAX_PASSES):
        length = np.sqrt(np.einsum("ij,ij->j", Y, Y, dtype=np.float64)).max()
        seen = before.T @ Y
        Q, step = _factors(Y - before @ seen, length, rng)
        C, R = C + seen @ R, step @ R
        if np.abs(np.diag(step)).min() > _MIN_KEPT_SHARE * length:
            break
        Y = Q
    return Q, C, R


def _factors(Y: Block, length: float, rng: np.random.RandomState) -> tuple[Block, Block]:
    """``Y = QR``: by Cholesky, or by Householder where columns nearly depend on each other.

    Columns that are no more than rounding of the given length are drawn anew.
    """
    try:
        R = linalg.cholesky(Y.T @ Y, check_finite=False)
        if np.diag(R).min() > _MIN_KEPT_SHARE * length:
            return linalg.solve_triangular(R, Y.T, trans="T", check_finite=False).T, R
    except linalg.LinAlgError:
        pass
    Q, R = linalg.qr(Y, mode="economic", check_finite=False)
    lost = np.abs(np.diag(R)) <= 100 * np.finfo(Y.dtype).eps * length
    Q[:, lost] = rng.normal(size=(len(Y), int(lost.sum()))) / np.sqrt(len(Y))
    R[lost] = 0
    return Q, R
