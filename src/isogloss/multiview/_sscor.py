r"""SSCOR: multi-set CCA by the sum of squared correlations (Kettenring, Biometrika 58, 1971).

.. math:: \max_w \sum_{i<j} (w_i'C_{ij}w_j)^2, \qquad
          w_i'\bigl((1 - \kappa_i)C_{ii} + \kappa_iI\bigr)w_i = 1 ,

equation (SSCOR) of [1]_, section 4.2; indifferent to the signs of correlations. With the other views
fixed, the best :math:`x_i` in whitened coordinates is the leading left singular vector of
:math:`B_i = [A_{ij}x_j]_{j \ne i}`, a matrix of m - 1 columns, so a sweep over the views never lowers the
objective. Further components are sought, per view, in the complement of those found.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from isogloss._estimator import POSITIVE_INT, Constraints
from isogloss.engine import Engine
from isogloss.multiview._covariance import CovarianceMultiview
from isogloss.multiview.solvers import (
    Ascent,
    CovarianceProducts,
    Criterion,
    RowProducts,
    Solution,
    Variates,
    WhitenedProblem,
    ascend,
    block_slices,
    check_components,
    in_order,
    project_out,
    shared_start,
    squared_step,
    start_blocks,
    unit_blocks,
    until_it_stopped,
    variates_of,
    whitened_problem,
)
from isogloss.stats import ViewMoments

Array = NDArray[np.float64]


class SSCor(CovarianceMultiview):
    """Multi-set CCA that maximises the sum of squared correlations over the pairs that have rows.

    Parameters
    ----------
    n_components : int
        Number of components, uncorrelated within each view.
    ridge : float in [0, 1], or one per view
        Pulls each covariance towards the identity; needed when a view has as many features as rows.
    n_init : int
        Number of starts per component, climbed together: an eigenvector of the joint problem
        (:class:`MaxVar`) and otherwise random ones. The operator solver starts once.
    solver : {'auto', 'moments', 'operator'}
        'moments' sums p x p matrices; 'operator' multiplies with the rows only, with conjugate gradients
        inside. 'auto' takes the latter above 5,000 features, and above 2,000 sparse ones with a ridge.
    tol : float
        A start is done when a sweep moves its variates by at most the square root of this; the objective
        is then off by some multiple of ``tol``, the larger the slower the convergence. For wide sparse
        views, where a sweep takes seconds, 1e-2 is within a percent or so of the final objective.
    max_iter : int
        Most sweeps per component.
    random_state : int, RandomState or None
        Seed of the starts.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run; threads by default.

    Attributes
    ----------
    weights_ : list of array (features, components)
        Of unit regularised variance and uncorrelated within each view, ordered by objective. Signs are
        such that the variates of a component agree as far as they can.
    objective_, objectives_, objective_trace_, start_objectives_
        As in :class:`SumCor`, of squared (regularised) correlations; one trace per component.
    means_, correlations_, loadings_, converged_, n_iter_, shrinkage_, moments_
        As in :class:`SumCor`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 1))
    >>> views = [z + 0.5 * rng.normal(size=(500, p)) for p in (5, 4, 6)]
    >>> SSCor(n_components=1, random_state=0).fit(views).correlations_.round(2)
    array([[[1.  , 0.95, 0.96],
            [0.95, 1.  , 0.95],
            [0.96, 0.95, 1.  ]]])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **CovarianceMultiview._parameter_constraints,
        "n_init": [POSITIVE_INT],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float | Sequence[float] = 0.0,
        n_init: int = 10,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(
            n_components,
            ridge=ridge,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
            batch_rows=batch_rows,
            engine=engine,
        )
        self.n_init = n_init

    def _solve(self, moments: ViewMoments) -> Solution:
        return solve_sscor(
            moments,
            self.n_components,
            self.ridge,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _solve_rows(self, products: RowProducts) -> Solution:
        return solve_sscor_rows(
            products,
            self.n_components,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        self.start_objectives_ = solution.ends
        return super()._take(solution, products)


@dataclass(frozen=True)
class PairCriterion:
    """A function of the correlations of one component, which one view can maximise in closed form."""

    value: Callable[[Array], Array]
    """The objective of correlations (views, views, starts)."""
    weigh: Callable[[Array, Array], Array]
    """From ``B``, the columns ``A_ij x_j`` (features, starts, other views), and the correlations of the other
    views (starts, views, views): columns whose leading left singular vector is the best ``x_i``.
    """


def _sum_over_pairs(rho: Array) -> Array:
    squares = (rho**2).sum(axis=(0, 1)) - np.einsum("iis->is", rho**2).sum(axis=0)
    return np.asarray(0.5 * squares)


SQUARES_OF_PAIRS = PairCriterion(_sum_over_pairs, lambda B, others: B)


def solve_sscor(
    moments: ViewMoments,
    n_components: int,
    ridge: float | Sequence[float] = 0.0,
    *,
    n_init: int = 10,
    tol: float = 1e-8,
    max_iter: int = 1000,
    random_state: Any = None,
) -> Solution:
    """SSCOR from second moments; the parameters are those of :class:`SSCor`."""
    return solve_pairs(
        whitened_problem(moments, ridge),
        n_components,
        SQUARES_OF_PAIRS,
        n_init=n_init,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
    )


def solve_pairs(
    problem: WhitenedProblem,
    n_components: int,
    criterion: PairCriterion,
    *,
    n_init: int,
    tol: float,
    max_iter: int,
    random_state: Any = None,
) -> Solution:
    """Maximise a criterion of pairs, component by component; the parameters are those of :class:`SSCor`."""
    check_components(n_components, problem.sizes)
    rng = check_random_state(random_state)
    guess = start_blocks(problem, n_components, 1, rng)[:, 0]
    X, ascents = guess[:, :0], []
    for component in range(n_components):
        starts = rng.normal(size=(len(guess), n_init))
        starts[:, 0] = guess[:, component]
        ascent = sscor_ascent(
            problem.A, problem.sizes, starts, criterion=criterion, found=X, tol=tol, max_iter=max_iter
        )
        X = np.hstack([X, ascent.X])
        ascents.append(ascent)
    solution = Solution(
        problem.weights(X),
        np.array([ascent.objective for ascent in ascents]),
        [ascent.trace for ascent in ascents],
        all(ascent.converged for ascent in ascents),
        problem.shrinkage,
        np.array([ascent.ends for ascent in ascents]),
    )
    return in_order(solution)


def solve_sscor_rows(
    products: RowProducts, n_components: int, *, tol: float, max_iter: int, random_state: Any = None
) -> Solution:
    """SSCOR without covariances; the parameters are those of :class:`SSCor`."""
    check_components(n_components, products.dims)
    scores = shared_start(products, n_components, check_random_state(random_state))
    found, traces, ok = Variates(), [], []
    for component in range(n_components):
        start = variates_of(products, [U[:, [component]] for U in scores], found)
        new, trace, converged = ascend(products, start, SQUARES, found=found, tol=tol, max_iter=max_iter)
        found = found.join(new.times(*agreeing_signs(_cross_of(products, new)).reshape(-1, 1, 1)))
        traces.append(trace)
        ok.append(converged)
    ends = np.array([trace[-1:] for trace in traces])
    return in_order(Solution(found.W, ends.ravel(), traces, all(ok), ends=ends))


def sscor_ascent(
    A: Array,
    sizes: Sequence[int],
    starts: Array,
    *,
    criterion: PairCriterion = SQUARES_OF_PAIRS,
    found: Array | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> Ascent:
    """One component, from many starts in one batched run; arguments as in :func:`~.horst.horst`."""
    rows = block_slices(sizes)
    found = np.zeros((len(A), 0)) if found is None else found
    X = unit_blocks(starts, rows, found)
    rho = np.stack([[np.einsum("ns,ns->s", X[a], A[a, b] @ X[b]) for b in rows] for a in rows])
    traces = [criterion.value(rho)]
    live = np.arange(X.shape[1])
    for _ in range(max_iter):
        before, Y, correlations = X[:, live], X[:, live], rho[:, :, live]
        for i in range(len(rows)):
            _update(A, Y, correlations, rows, i, found, criterion)
        X[:, live], rho[:, :, live] = Y, correlations
        traces.append(criterion.value(rho))
        live = live[squared_step(Y[:, :, np.newaxis], before[:, :, np.newaxis]) > tol]
        if not live.size:
            break
    best = int(np.argmax(traces[-1]))
    trace = np.array([values[best] for values in traces])
    signs = np.repeat(agreeing_signs(rho[:, :, best]), sizes)
    return Ascent(X[:, [best]] * signs[:, np.newaxis], until_it_stopped(trace), best not in live, traces[-1])


def agreeing_signs(rho: Array) -> Array:
    """Signs of the views that turn as much correlation positive as the leading eigenvector can."""
    vector = np.linalg.eigh(0.5 * (rho + rho.T))[1][:, -1]
    return np.where(vector < 0, -1.0, 1.0)


def _update(
    A: Array, X: Array, rho: Array, rows: list[slice], i: int, found: Array, criterion: PairCriterion
) -> None:
    """Move view ``i`` of every start to its best place, in place."""
    block, others = rows[i], [j for j in range(len(rows)) if j != i]
    B = np.stack([project_out(A[block, rows[j]] @ X[rows[j]], found[block]) for j in others], axis=2)
    C = criterion.weigh(B, np.moveaxis(rho[np.ix_(others, others)], 2, 0))
    values, vectors = np.linalg.eigh(np.einsum("nsj,nsk->sjk", C, C))
    usable = values[:, -1] > np.finfo(float).tiny
    best = np.einsum("nsj,sj->ns", C, vectors[:, :, -1])[:, usable]
    # Of the two signs, which are equally good, the one nearer to where the view is.
    turned = np.where(np.einsum("ns,ns->s", best, X[block, usable]) < 0, -1.0, 1.0)
    X[block, usable] = best * (turned / np.linalg.norm(best, axis=0))
    rho[i, others] = rho[others, i] = np.einsum("ns,nsj->js", X[block], B)


def _cross_of(products: RowProducts, variates: Variates) -> Array:
    """Covariances of the variates of one component, zero on the diagonal."""
    m = len(variates.W)
    out = np.zeros((m, m))
    for i, W in enumerate(variates.W):
        out[i, np.arange(m) != i] = (W.T @ _each_other(products, i, variates.Z)).ravel()
    return out


def _each_other(products: RowProducts, i: int, Z: list[Array]) -> Array:
    """Columns ``C_ij w_j``, one per other view."""
    return np.hstack([products.pull(i, {j: z}) for j, z in enumerate(Z) if j != i])


def _sum_of_squares(H: Array) -> float:
    return float((H**2).sum())


def _weighted(B: Array, H: Array) -> Array:
    return B @ H.T


def _leading(H: Array) -> Array:
    """The leading left singular vector, on the side of the first coordinate: the weights there are."""
    vector = np.linalg.svd(H, full_matrices=False)[0][:, :1]
    return np.asarray(vector if vector[0, 0] >= 0 else -vector)


SQUARES = Criterion(_each_other, _sum_of_squares, _weighted, _leading)
