r"""Horst's algorithm: SUMCOR one component at a time ([1]_, algorithm 4.1 and section 4.4.2).

One component maximises :math:`x'Ax` over blocks of unit norm. Two ways to sweep:

* ``'jacobi'``, algorithm 4.1 as printed: :math:`x \leftarrow Ax`, then every block is normalised. The
  objective never falls when A is positive semidefinite, because a convex function lies above its
  tangent; for an indefinite A (a ridge, incomplete rows) there is no such promise.
* ``'gauss-seidel'``: :math:`x_i \leftarrow \sum_{j \ne i} A_{ij}x_j`, normalised, one view after the
  other with the newest of the others. Each step is the exact maximiser for its view, so the objective
  never falls whatever A is, and fewer sweeps are needed. It is the default.

The next component is sought in the complement, per view, of those found (problem 4.8-4.11): the
projection :math:`P_i = I - Z_iZ_i'` is applied as :math:`z - Z_i(Z_i'z)`. Components are nested and
ordered by construction: the first of three is the only one of one.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isogloss.multiview.solvers._block import Ascent, squared_step, sum_of_pairs, until_it_stopped
from isogloss.multiview.solvers._problem import WhitenedProblem, block_slices
from isogloss.multiview.solvers._start import polar, relaxed_components, start_blocks

Array = NDArray[np.float64]


def horst(
    A: Array,
    sizes: Sequence[int],
    starts: Array,
    *,
    found: Array | None = None,
    sweep: Literal["gauss-seidel", "jacobi"] = "gauss-seidel",
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> Ascent:
    """One component, from many starts in one batched run.

    Parameters
    ----------
    A : array (N, N)
        Symmetric, identities on the diagonal.
    sizes : sequence of int
        Sizes of the blocks.
    starts : array (N, n_starts)
        One start per column, of any length; not changed.
    found : array (N, components), optional
        Components found before, orthonormal in each view; the new one is orthogonal to them there.
    sweep : {'gauss-seidel', 'jacobi'}
        See above.
    tol : float
        A start is done when a sweep moves it by at most the square root of this, relative to its length.
    max_iter : int
        Most sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.9], [0.2, 0.9, 1.0]])
    >>> ascent = horst(A, [1, 1, 1], np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]))
    >>> ascent.X.ravel(), round(ascent.objective, 6)
    (array([1., 1., 1.]), 1.6)
    """
    if sweep not in ("gauss-seidel", "jacobi"):
        raise ValueError(f"sweep={sweep!r}; expected 'gauss-seidel' or 'jacobi'")
    rows = block_slices(sizes)
    found = np.zeros((len(A), 0)) if found is None else found
    X = unit_blocks(starts, rows, found)
    step = _gauss_seidel if sweep == "gauss-seidel" else _jacobi
    traces = [_objectives(A, X)]
    live = np.arange(X.shape[1])
    for _ in range(max_iter):
        before = X[:, live]
        X[:, live], values = step(A, before, rows, found)
        traces.append(traces[-1].copy())
        traces[-1][live] = values
        live = live[squared_step(X[:, live, np.newaxis], before[:, :, np.newaxis]) > tol]
        if not live.size:
            break
    best = int(np.argmax(traces[-1]))
    trace = np.array([values[best] for values in traces])
    return Ascent(X[:, [best]], until_it_stopped(trace), best not in live, traces[-1])


def horst_components(
    problem: WhitenedProblem,
    n_components: int,
    n_starts: int,
    rng: np.random.RandomState,
    *,
    sdp_start: bool = False,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> list[Ascent]:
    """Several components by deflation, the best of ``n_starts`` for each, in the order found.

    With ``sdp_start`` each has one more start, the last, from the relaxation of what is left to it.
    """
    guess = start_blocks(problem, n_components, 1, rng)[:, 0]
    found: list[Ascent] = []
    for component in range(n_components):
        starts = rng.normal(size=(len(guess), n_starts))
        starts[:, 0] = guess[:, component]
        before = np.hstack([guess[:, :0], *(ascent.X for ascent in found)])
        if sdp_start:
            starts = np.hstack([starts, relaxed_components(problem.A, problem.sizes, 1, rng, before)])
        found.append(horst(problem.A, problem.sizes, starts, found=before, tol=tol, max_iter=max_iter))
    return found


def _gauss_seidel(A: Array, X: Array, rows: list[slice], found: Array) -> tuple[Array, Array]:
    X = X.copy()
    for block in rows:
        X[block] = _normalised(A[block] @ X - X[block], X[block], found[block])
    return X, _objectives(A, X)


def _jacobi(A: Array, X: Array, rows: list[slice], found: Array) -> tuple[Array, Array]:
    AX = A @ X
    for block in rows:
        AX[block] = _normalised(AX[block], X[block], found[block])
    return AX, _objectives(A, AX)


def _normalised(S: Array, old: Array, found: Array) -> Array:
    """Unit columns along what of S is orthogonal to the components found; where nothing is, the old."""
    S = project_out(S, found)
    norms = np.linalg.norm(S, axis=0)
    usable = norms > 100 * np.finfo(float).eps
    return np.where(usable, S / np.where(usable, norms, 1.0), old)


def project_out(S: Array, found: Array) -> Array:
    """Return the part of the columns of S that is orthogonal to the orthonormal columns found."""
    # Twice is enough: the second pass removes what rounding left of the first.
    for _ in range(2 if found.shape[1] else 0):
        S = S - found @ (found.T @ S)
    return S


def unit_blocks(starts: Array, rows: list[slice], found: Array) -> Array:
    """Starts with blocks of unit norm, orthogonal in each view to the components found."""
    X = np.array(starts, dtype=np.float64)
    for block in rows:
        projected = project_out(X[block], found[block])
        X[block] = polar(projected[:, :, np.newaxis])[:, :, 0]
    return X


def _objectives(A: Array, X: Array) -> Array:
    return sum_of_pairs(A, X[:, :, np.newaxis])
