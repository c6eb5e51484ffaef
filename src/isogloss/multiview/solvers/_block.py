r"""SUMCOR for all components at once: block coordinate ascent with polar updates.

Maximise over :math:`X_i \in R^{n_i \times k}` with :math:`X_i'X_i = I`

.. math:: f(X) = \sum_{i<j} \langle X_i, A_{ij}X_j \rangle .

With the other views fixed, :math:`f` is linear in :math:`X_i` with the coefficient
:math:`S_i = \sum_{j \ne i} A_{ij}X_j`, and its maximiser is the orthogonal factor of the polar
decomposition of :math:`S_i` (the Procrustes problem). A sweep updates one view after the other, each
with the newest of the others, so :math:`f` never falls, whether A is positive semidefinite or not.

Sweeps alone converge slowly on near-ties. The polar factor is therefore taken of :math:`S_i` pushed on
in the direction it has moved since the last sweep. What that gains, :math:`\langle X_i^{new} - X_i,
S_i\rangle`, is known exactly and at no cost; a push that would lose is not taken. It needs a half to a
quarter of the sweeps.

:math:`f` does not change when all :math:`X_i` are rotated alike. Of the equivalent solutions the one
is given in which :math:`\sum_i X_i'S_i` is diagonal, and falling: its components contribute separately.
With two views that is CCA.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isogloss.multiview.solvers._problem import block_slices
from isogloss.multiview.solvers._start import polar

Array = NDArray[np.float64]

# Length of the push; between 0.5 and 0.8 it hardly matters.
_PUSH = 0.6


@dataclass(frozen=True, eq=False)
class Ascent:
    """The results of ascents from several starts."""

    X: Array
    """The best solution. Shape (N, components)."""
    trace: Array
    """Its objective, before the first sweep and after each; never falls. Shape (sweeps + 1,)."""
    converged: bool
    """Whether the last sweep moved less than the tolerance allows."""
    ends: Array
    """Objective at the end of every start, in order. Shape (starts,)."""

    @property
    def objective(self) -> float:
        """The best objective."""
        return float(self.trace[-1])


def block_ascent(
    A: Array, sizes: Sequence[int], X: Array, *, tol: float = 1e-10, max_iter: int = 1000
) -> Ascent:
    """Climb from every start in one batched run.

    Parameters
    ----------
    A : array (N, N)
        Symmetric, identities on the diagonal.
    sizes : sequence of int
        Sizes of the blocks.
    X : array (N, starts, components)
        Starts with orthonormal blocks; it is not changed.
    tol : float
        A start is done when a sweep moves it by at most the square root of this, on average over views
        and components. The objective, flat at its top, is then off by some multiple of ``tol``.
    max_iter : int
        Most sweeps.
    """
    X, rows, S = X.copy(), block_slices(sizes), np.zeros_like(X)
    traces = [sum_of_pairs(A, X)]
    live, push = np.arange(X.shape[1]), np.zeros(X.shape[1])
    for _ in range(max_iter):
        before, Y, T = X[:, live], X[:, live], S[:, live]
        traces.append(traces[-1].copy())
        for block in rows:
            traces[-1][live] += _update(A, Y, T, block, push[live])
        X[:, live], S[:, live] = Y, T
        # A small step may be the fault of the push, so a sweep without it decides.
        small = squared_step(Y, before) <= tol
        done = small & (push[live] == 0.0)
        push[live] = np.where(small, 0.0, _PUSH)
        live = live[~done]
        if not live.size:
            break
    best = int(np.argmax(traces[-1]))
    trace = np.array([values[best] for values in traces])
    return Ascent(X[:, best], until_it_stopped(trace), best not in live, traces[-1])


def sum_of_pairs(A: Array, X: Array) -> Array:
    """The objective of every start."""
    AX = (A @ X.reshape(len(X), -1)).reshape(X.shape)
    # The diagonal blocks of A are identities, so they contribute the squares of X.
    return 0.5 * _inner(X, AX - X)


def rotate_to_order(A: Array, X: Array) -> tuple[Array, Array]:
    """Rotate all views alike so that components contribute separately; give back their contributions."""
    M = X.T @ (A @ X) - X.T @ X
    values, Q = np.linalg.eigh(0.5 * (M + M.T))
    return X @ Q[:, ::-1], 0.5 * values[::-1]


def squared_step(X: Array, before: Array) -> Array:
    """Return the squared change of each start relative to its length."""
    return _inner(X - before, X - before) / _inner(X, X)


def until_it_stopped(trace: Array) -> Array:
    """The trace of one start as far as it moved; others may have gone on."""
    moved = np.flatnonzero(np.diff(trace))
    return trace[: moved[-1] + 2] if moved.size else trace[:1]


def _update(A: Array, X: Array, memory: Array, block: slice, push: Array) -> Array:
    """Move one view of every start, in place; return what each start gained."""
    old = X[block].copy()
    S = (A[block] @ X.reshape(len(X), -1)).reshape(old.shape) - old
    X[block] = polar(S + push[:, np.newaxis] * (S - memory[block]))
    gain = _inner(X[block] - old, S)
    fell = gain < 0
    if fell.any():
        X[block, fell] = polar(S[:, fell])
        gain[fell] = _inner(X[block, fell] - old[:, fell], S[:, fell])
    memory[block] = S
    return gain


def _inner(X: Array, S: Array) -> Array:
    return np.asarray(np.einsum("nsk,nsk->s", X, S))
