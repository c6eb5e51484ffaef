"""Where an ascent begins: the eigenvectors of A, cut into blocks, and at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd
from scipy.sparse.linalg import eigsh

from isogloss.multiview.problem import WhitenedProblem

__all__ = ["leading_eigenvectors", "polar", "start_blocks"]

Array = NDArray[np.float64]

# Up to this size LAPACK's k leading eigenvectors cost no more than Lanczos.
_DENSE = 1_000


def leading_eigenvectors(
    A: Array, n_components: int, rng: np.random.RandomState, *, tol: float = 0.0
) -> tuple[Array, Array]:
    """Largest eigenvalues of a symmetric matrix, falling, and their vectors in columns."""
    N = len(A)
    if N <= _DENSE or 2 * n_components + 1 >= N:
        values, vectors = eigh(A, subset_by_index=[N - n_components, N - 1], check_finite=False)
    else:
        width = min(N, max(2 * n_components + 1, n_components + 20))
        values, vectors = eigsh(A, n_components, which="LA", v0=rng.normal(size=N), tol=tol, ncv=width)
    order = np.argsort(values, kind="stable")[::-1]
    return values[order], vectors[:, order]


def start_blocks(
    problem: WhitenedProblem, n_components: int, n_starts: int, rng: np.random.RandomState
) -> Array:
    """Starts of shape (N, n_starts, n_components), blocks orthonormal: first the best guess, then chance.

    The guess are the eigenvectors of A (the MAXVAR solution), which for two views have the canonical
    directions in their blocks already.
    """
    N = len(problem.A)
    X = rng.normal(size=(N, n_starts, n_components))
    if len(problem.sizes) == 2:
        rows, columns = problem.slices
        U, _, Vt = svd(problem.A[rows, columns], full_matrices=False, check_finite=False)
        X[rows, 0], X[columns, 0] = U[:, :n_components], Vt[:n_components].T
    else:
        X[:, 0] = leading_eigenvectors(problem.A, n_components, rng, tol=1e-2)[1]
    for rows in problem.slices:
        X[rows] = polar(X[rows])
    return X


def polar(S: NDArray[Any]) -> Array:
    """Matrices with orthonormal columns nearest to ``S[:, s, :]``, for every s; shape (n, starts, k).

    They maximise ``<X, S>`` too. Directions in which S vanishes are completed in some orthonormal way.
    """
    if S.shape[2] == 1:
        norms = np.linalg.norm(S, axis=0, keepdims=True)
        if norms.all():
            return np.asarray(S / norms)
    U, _, Vt = np.linalg.svd(S.transpose(1, 0, 2), full_matrices=False)
    return np.asarray((U @ Vt).transpose(1, 0, 2))
