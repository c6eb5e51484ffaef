"""Starting points of an ascent: eigenvectors of A cut into blocks, random ones, and from the relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd
from scipy.sparse.linalg import eigsh

from isogloss.multiview.certificates import (
    Blocks,
    QuadraticForm,
    best_rounding,
    deflate,
    largest_eigenpair,
    solve_relaxation,
)
from isogloss.multiview.solvers._problem import WhitenedProblem

Array = NDArray[np.float64]

# Up to this size LAPACK's k leading eigenvectors cost no more than Lanczos.
_DENSE = 1_000
# A start need not be closer to the solution of the relaxation, relative to its value.
_RELAXED = 1e-6


def leading_eigenvectors(
    A: Array, n_components: int, rng: np.random.RandomState, *, tol: float = 0.0
) -> tuple[Array, Array]:
    """Largest eigenvalues of a symmetric matrix, falling, and their vectors in columns."""
    N = len(A)
    if N <= _DENSE or 2 * n_components + 1 >= N:
        values, vectors = eigh(A, subset_by_index=[N - n_components, N - 1], check_finite=False)
        if len(values) < n_components:
            # LAPACK's syevr may return too few pairs of a subset when inner eigenvalues are equal.
            values, vectors = (
                part[..., -n_components:] for part in eigh(A, check_finite=False, driver="evd")
            )
    else:
        width = min(N, max(2 * n_components + 1, n_components + 20))
        values, vectors = eigsh(A, n_components, which="LA", v0=rng.normal(size=N), tol=tol, ncv=width)
    order = np.argsort(values, kind="stable")[::-1]
    return values[order], vectors[:, order]


def start_blocks(
    problem: WhitenedProblem,
    n_components: int,
    n_starts: int,
    rng: np.random.RandomState,
    *,
    sdp_start: bool = False,
) -> Array:
    """Starts of shape (N, n_starts, n_components), blocks orthonormal: first the best guess, then chance.

    The guess are the eigenvectors of A (the MAXVAR solution), which for two views have the canonical
    directions in their blocks already. With ``sdp_start`` there is one more, the last, from the relaxation.
    """
    N = len(problem.A)
    X = rng.normal(size=(N, n_starts, n_components))
    if len(problem.sizes) == 2:
        rows, columns = problem.slices
        U, _, Vt = svd(problem.A[rows, columns], full_matrices=False, check_finite=False)
        X[rows, 0], X[columns, 0] = U[:, :n_components], Vt[:n_components].T
    else:
        X[:, 0] = leading_eigenvectors(problem.A, n_components, rng, tol=1e-2)[1]
    if sdp_start:
        relaxed = relaxed_components(problem.A, problem.sizes, n_components, rng)
        X = np.concatenate([X, relaxed[:, np.newaxis]], axis=1)
    for rows in problem.slices:
        X[rows] = polar(X[rows])
    return X


def relaxed_components(
    A: Array,
    sizes: Sequence[int],
    n_components: int,
    rng: np.random.RandomState,
    found: Array | None = None,
) -> Array:
    """Points (N x components) to which the relaxation leads, one component after the other (section 5.2).

    Each is the best rounding of the relaxation of what is left, view by view, by those before it and by
    those ``found`` earlier.
    """
    form, X = QuadraticForm(Blocks(sizes), A), np.zeros((len(A), 0)) if found is None else found
    before = X.shape[1]
    for _ in range(n_components):
        rest = deflate(form, X) if X.shape[1] else form
        relaxation = solve_relaxation(rest, [largest_eigenpair(rest, rng).vector], tol=_RELAXED, rng=rng)
        X = np.hstack([X, best_rounding(rest, relaxation.V, rng)])
    return X[:, before:]


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
