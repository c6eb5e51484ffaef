r"""The dual problem for linear kernels of sparse rows: :math:`K` is never formed.

:math:`K_iV = X_i(X_i'V)`, centred on the fly ([1]_ section 4.4.3). With the others fixed, the best
coefficients of a view lie in the span of :math:`G = R_i^{-1}K_iB`, :math:`B = \frac{1}{s-1}\sum_{j \ne i}
K_jY_j`, and conjugate gradients find it without :math:`R_i^{-1}` of the singular :math:`K_i`:

.. math:: G = \bigl(\tfrac{1-\kappa}{s-1}K_i + \kappa I\bigr)^{-1}B \quad \text{('exact')}, \qquad
          G = \widetilde K_i^{-1}\,\tfrac{1}{\sqrt a}\bigl(I - \sqrt c\,\widetilde K_i^{-1}\bigr)B
          \quad \text{('approximate')},

with :math:`\widetilde K = \sqrt aK + \sqrt cI`. Inside the span the problem has the size of the components
and is solved exactly, so coefficients are feasible however rough the solve was. A step that would lose is
repeated with a finer solve, and in the end not taken: the objective never falls.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School, sections 4.4.2 and 4.4.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd

from isogloss.linalg import block_cg, whitening_matrix
from isogloss.multiview.kernels._problem import check_kappas, regularised
from isogloss.multiview.solvers import RowProducts, Solution, Variates, in_order, polar, shared_start
from isogloss.views import Views

Array = NDArray[np.float64]

_FINEST = 1e-12
_MOST_STEPS = 2_000
# A loss of no more than this share is no fault of the solve.
_OBJECTIVE_ROUNDING = 1e-15
# Components that two views are given beyond those wanted, for the last ones to converge.
_SPARE = 10


class DualProducts:
    """Products with linear kernels and their regularised squares.

    Parameters
    ----------
    views : Views
        Complete rows, dense or sparse; kept by reference.
    ridge : float in (0, 1), or one per view
        The thesis's kappa.
    regularisation : {'exact', 'approximate'}
        See :mod:`~isogloss.multiview.kernels._problem`.
    """

    def __init__(self, views: Views, ridge: float | Sequence[float], regularisation: str) -> None:
        self.n, self.n_views = len(views), views.n_views
        self.coefficients = [
            regularised(self.n, kappa, regularisation) for kappa in check_kappas(ridge, views.n_views)
        ]
        self.primal = RowProducts(views, ridge)
        self._last: dict[tuple[int, str], Array] = {}

    def kernel(self, i: int, Y: Array) -> Array:
        """Centred kernel of view ``i`` times ``Y``."""
        return self.primal.rows[i].kernel_matmat(Y)

    def inner(self, i: int, Y: Array, KY: Array, Z: Array, KZ: Array) -> Array:
        """``Y' R_i Z``, given the products of both with the kernel."""
        a, b, c = self.coefficients[i]
        product: Array = a * (KY.T @ KZ) + 0.5 * b * (Y.T @ KZ + KY.T @ Z) + c * (Y.T @ Z)
        return product

    def solve(self, i: int, B: Array, tol: float) -> Array:
        """``R_i^-1 K_i B`` for a centred ``B``; begins where the last call for this view ended."""
        a, b, c = self.coefficients[i]
        if c == 0.0:
            return self._solve_shifted(i, a, b, B, tol, "G")
        slope, shift = np.sqrt(a), np.sqrt(c)
        first = self._solve_shifted(i, slope, shift, B, tol, "first")
        return self._solve_shifted(i, slope, shift, (B - shift * first) / slope, tol, "G")

    def _solve_shifted(self, i: int, slope: float, shift: float, B: Array, tol: float, role: str) -> Array:
        """``(slope K_i + shift I)^-1 B``."""
        last = self._last.get((i, role))
        x0 = last if last is not None and last.shape == B.shape else None
        X = block_cg(
            lambda V: slope * self.kernel(i, V) + shift * V, B, x0=x0, tol=tol, max_iter=_MOST_STEPS
        ).x
        self._last[i, role] = X
        return X


def solve_dual_sumcor_rows(
    products: DualProducts,
    n_components: int,
    *,
    algorithm: str,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
) -> Solution:
    """Multi-set CCA without kernels; the parameters are those of ``KernelSumCor``."""
    scores = shared_start(products.primal, n_components, rng)
    if algorithm == "block":
        found, trace, converged = _climb(products, scores, Variates(), tol, max_iter)
        found, objectives = _rotated_to_order(products, found)
        return Solution(found.W, objectives, [trace], converged, ends=trace[np.newaxis, -1:])
    found, traces, ok = Variates(), [], []
    for component in range(n_components):
        start = [U[:, [component]] for U in scores]
        new, trace, converged = _climb(products, start, found, tol, max_iter)
        found = found.join(new)
        traces.append(trace)
        ok.append(converged)
    ends = np.array([trace[-1:] for trace in traces])
    return in_order(Solution(found.W, ends.ravel(), traces, all(ok), ends=ends))


def solve_dual_cca_rows(
    products: DualProducts, n_components: int, *, tol: float, max_iter: int, rng: np.random.RandomState
) -> Solution:
    """Two views without kernels: subspace iteration with some spare components, then one small SVD."""
    width = min(n_components + _SPARE, *products.primal.dims, products.n - 1)
    scores = shared_start(products.primal, width, rng)
    found, trace, converged = _climb(products, scores, Variates(), tol, max_iter)
    U, s, Vt = svd(found.Z[0].T @ found.Z[1] / (products.n - 1))
    weights = [found.W[0] @ U[:, :n_components], found.W[1] @ Vt[:n_components].T]
    return Solution(weights, s[:n_components], [trace], converged)


def _climb(
    products: DualProducts, scores: list[Array], found: Variates, tol: float, max_iter: int
) -> tuple[Variates, Array, bool]:
    """Improve one view after the other until a sweep gains at most ``tol`` of the objective."""
    state = Variates()
    for i, U in enumerate(scores):
        Y, KY = _best_in_span(products, i, U - U.mean(axis=0), found, 1e-2)
        state.W.append(Y)
        state.Z.append(KY)
    m = products.n_views
    total = 0.5 * sum(float(np.vdot(state.Z[i], _others(products, i, state))) for i in range(m))
    trace, accuracy = [total], 1e-2
    for _ in range(max_iter):
        gain = float(sum(_improve(products, state, i, found, accuracy) for i in range(m)))
        trace.append(trace[-1] + gain)
        share = gain / max(abs(trace[-1]), np.finfo(float).tiny)
        if share <= tol and accuracy <= max(np.sqrt(tol), _FINEST):
            return state, np.array(trace), True
        # An error d in a solve costs d^2 in the objective, so solves follow the square root of the gains.
        accuracy = float(np.clip(0.1 * np.sqrt(share), max(0.1 * np.sqrt(tol), _FINEST), accuracy))
    return state, np.array(trace), False


def _improve(products: DualProducts, state: Variates, i: int, found: Variates, accuracy: float) -> float:
    """Move view ``i``, in place; return the gain, which is never negative."""
    B = _others(products, i, state)
    before = float(np.vdot(state.Z[i], B))
    while accuracy >= _FINEST:
        Y, KY = _best_in_span(products, i, B, found, accuracy)
        gain = float(np.vdot(KY, B)) - before
        if gain >= 0:
            state.W[i], state.Z[i] = Y, KY
            return gain
        if -gain <= _OBJECTIVE_ROUNDING * abs(before):
            break
        accuracy *= 0.01
    return 0.0


def _others(products: DualProducts, i: int, state: Variates) -> Array:
    total = np.sum([Z for j, Z in enumerate(state.Z) if j != i], axis=0)
    return np.asarray(total / (products.n - 1))


def _best_in_span(
    products: DualProducts, i: int, B: Array, found: Variates, accuracy: float
) -> tuple[Array, Array]:
    """The best feasible coefficients in the span of ``R_i^-1 K_i B``, and their product with the kernel."""
    G = products.solve(i, B, accuracy)
    # The null space of the kernel holds the constants; nothing of it counts.
    G = G - G.mean(axis=0)
    KG = products.kernel(i, G)
    if found.W:
        overlap = products.inner(i, found.W[i], found.Z[i], G, KG)
        G, KG = G - found.W[i] @ overlap, KG - found.Z[i] @ overlap
    # Columns of G differ in size as the correlations do; the rank is judged on unit columns.
    T = products.inner(i, G, KG, G, KG)
    sizes = np.sqrt(np.maximum(T.diagonal(), np.finfo(float).tiny))
    white = whitening_matrix(T / np.outer(sizes, sizes)).matrix / sizes[:, np.newaxis]
    H = white.T @ (KG.T @ B)
    if H.shape[0] < H.shape[1]:
        raise ValueError(
            f"the views have only {H.shape[0]} directions in common; n_components={H.shape[1]} are wanted"
        )
    M = white @ polar(H[:, np.newaxis])[:, 0]
    return G @ M, KG @ M


def _rotated_to_order(products: DualProducts, state: Variates) -> tuple[Variates, Array]:
    M = np.sum([Z.T @ _others(products, i, state) for i, Z in enumerate(state.Z)], axis=0)
    values, Q = np.linalg.eigh(0.5 * (M + M.T))
    Q = Q[:, ::-1]
    return Variates([Y @ Q for Y in state.W], [Z @ Q for Z in state.Z]), 0.5 * values[::-1]
