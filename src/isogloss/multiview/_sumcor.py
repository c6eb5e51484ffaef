r"""SUMCOR: multi-set CCA by the sum of all pairwise correlations.

.. math:: \max_W \sum_{i<j} \mathrm{tr}(W_i'C_{ij}W_j), \qquad
          W_i'\bigl((1 - \kappa_i)C_{ii} + \kappa_iI\bigr)W_i = I ,

problem (4.8)-(4.11) of [1]_ in the primal. With two views it is CCA. It is not an eigenproblem and has
local maxima, so several starts are climbed from and the best is kept; ``certificate_``, the bounds of
chapter 5, tells how far from the global maximum that can be.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School, chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from isogloss._estimator import Constraints
from isogloss.engine import Engine
from isogloss.multiview._certified import ASCENT_CONSTRAINTS, CertifiedMultiview, gain_of_last_start
from isogloss.multiview._coordinates import Coordinates, MomentCoordinates, row_coordinates
from isogloss.multiview._covariance import CovarianceMultiview
from isogloss.multiview.certificates import DENSE_LIMIT, Certificate
from isogloss.multiview.solvers import (
    CovarianceProducts,
    Criterion,
    RowProducts,
    Solution,
    Variates,
    ascend,
    check_components,
    climb_whitened,
    feasible,
    in_order,
    polar,
    relaxed_components,
    shared_start,
    variates_of,
    whitened_problem,
)
from isogloss.stats import ViewMoments
from isogloss.views import Views

Array = NDArray[np.float64]


class SumCor(CertifiedMultiview, CovarianceMultiview):
    """Multi-set CCA that maximises the sum of correlations over all pairs of views.

    Parameters
    ----------
    n_components : int
        Number of components, uncorrelated within each view.
    ridge : float in [0, 1], or one per view
        Pulls each covariance towards the identity; needed when a view has as many features as rows.
    algorithm : {'block', 'horst'}
        'block' finds all components at once and maximises their total; it is the faster one and its
        total is the higher. 'horst' finds one after the other, each the best that is uncorrelated with
        those before, so that the first ones do not depend on ``n_components``.
    n_init : int or 'auto'
        Number of starts, climbed together: the eigenvectors of the joint problem (:class:`MaxVar`) and
        otherwise random ones. 'auto' is 10 up to 1,000 whitened features in all and 1 above.
        The operator solver starts once, from the singular vectors of all views side by side.
    sdp_start : bool
        Climb from the rounded solution of the semidefinite relaxation as well (section 5.2 of the thesis). It
        costs a relaxation per component and is worth it where starts end in different places;
        ``certificate_`` tells whether it was. Not beyond 15,000 whitened features.
    solver : {'auto', 'moments', 'operator'}
        'moments' sums p x p matrices; 'operator' multiplies with the rows only, with conjugate gradients
        inside. 'auto' takes the latter above 5,000 features, and above 2,000 sparse ones with a ridge.
    tol : float
        A start is done when a sweep moves its variates by at most the square root of this; the objective
        is then off by some multiple of ``tol``, the larger the slower the convergence. For wide sparse
        views, where a sweep takes seconds, 1e-2 is within a percent or so of the final objective.
    max_iter : int
        Most sweeps (per component for 'horst').
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
        Of unit regularised variance and uncorrelated within each view, ordered by objective; the largest
        weight of the first view is positive.
    means_ : list of array
        Subtracted before projecting.
    correlations_ : array (components, views, views)
        Correlations of the variates on the training rows.
    objective_ : float
        Sum over components and pairs of the regularised correlations; without a ridge, of correlations.
    objectives_ : array (components,)
        What each component contributes to it.
    objective_trace_ : list of array
        Objective before the first sweep and after each, of the best start; one array for 'block' and
        one per component for 'horst'. Never falls.
    start_objectives_ : array (ascents, starts)
        Objective that each start reached; with ``sdp_start``, that one is the last.
    sdp_gain_ : float or None
        By how much it ended above the best of the others, 0 if it did not; None without ``sdp_start``.
    certificate_ : Certificate
        How far the first component can be from the global optimum; computed on first access. After the
        operator solver that needs the rows, to which a reference is kept until the model is saved or copied;
        see :meth:`certify`.
    loadings_ : list of array (features, components)
        Correlations of the features with the variates of their view.
    converged_ : bool
        Whether the tolerance was reached.
    n_iter_ : int
        Sweeps of the best start(s).
    shrinkage_ : float
        By how much missing rows made the covariances between views shrink.
    moments_ : ViewMoments
        What was summed; ``whitened_problem(moments_, ridge)`` is the problem that was solved.

    Notes
    -----
    Pairs of views that share no rows do not count; every view must be linked to the others by some pair.
    The objective is per pair, so a pair with few rows counts as much as one with many.

    Memory: 4 N^2 bytes for the moments and 8 N^2 for the problem, with N features in all.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 2))
    >>> views = [z @ rng.normal(size=(2, p)) + 0.3 * rng.normal(size=(500, p)) for p in (5, 4, 6)]
    >>> model = SumCor(n_components=2, random_state=0).fit(views)
    >>> model.correlations_[0].round(2)
    array([[1.  , 0.96, 0.96],
           [0.96, 1.  , 0.97],
           [0.96, 0.97, 1.  ]])
    >>> model.objectives_.round(2), model.converged_
    (array([2.89, 2.72]), True)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **CovarianceMultiview._parameter_constraints,
        **ASCENT_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float | Sequence[float] = 0.0,
        algorithm: str = "block",
        n_init: int | str = "auto",
        sdp_start: bool = False,
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
        self.algorithm = algorithm
        self.n_init = n_init
        self.sdp_start = sdp_start

    def _judge_fit(self) -> Certificate:
        if hasattr(self, "moments_"):
            return self._judge_in(MomentCoordinates(self.moments_, self.ridge))
        return super()._judge_fit()

    def _judge_on(self, views: Views) -> Certificate:
        return self._judge_in(row_coordinates(RowProducts(views, self.ridge)))

    def _judge_in(self, where: Coordinates) -> Certificate:
        x = where.point([W[:, :1] for W in self.weights_])[:, 0]
        return self._judge(where.A, where.sizes, x, where.whitened)

    def _solve(self, moments: ViewMoments) -> Solution:
        return solve_sumcor(
            moments,
            self.n_components,
            self.ridge,
            algorithm=self.algorithm,
            n_init=self.n_init,
            sdp_start=self.sdp_start,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _solve_rows(self, products: RowProducts) -> Solution:
        return solve_sumcor_rows(
            products,
            self.n_components,
            algorithm=self.algorithm,
            start=self._relaxed_start(products) if self.sdp_start else None,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _forget(self) -> None:
        super()._forget()
        self._fitted_views = None

    def _relaxed_start(self, products: RowProducts) -> list[Array]:
        """Weights from the relaxation, by way of coordinates in which it is solved."""
        where = row_coordinates(products)
        if not isinstance(where.A, np.ndarray):
            raise ValueError(
                f"sdp_start=True with {sum(where.sizes)} features; the relaxation is a start for at most "
                f"{DENSE_LIMIT} features, or rows, in all views together: give sdp_start=False"
            )
        check_components(self.n_components, where.sizes)
        rng = check_random_state(self.random_state)
        return where.weights(relaxed_components(where.A, where.sizes, self.n_components, rng))

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        self.start_objectives_ = solution.ends
        if isinstance(products, RowProducts):
            self._fitted_views = products.views
        self.sdp_gain_ = gain_of_last_start(solution, self.tol) if self.sdp_start else None
        return super()._take(solution, products)


def solve_sumcor(
    moments: ViewMoments,
    n_components: int,
    ridge: float | Sequence[float] = 0.0,
    *,
    algorithm: str = "block",
    n_init: int | str = "auto",
    sdp_start: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    random_state: Any = None,
) -> Solution:
    """SUMCOR from second moments; the parameters are those of :class:`SumCor`."""
    problem = whitened_problem(moments, ridge)
    check_components(n_components, problem.sizes)
    return climb_whitened(
        problem,
        n_components,
        algorithm=algorithm,
        n_init=n_init,
        sdp_start=sdp_start,
        tol=tol,
        max_iter=max_iter,
        rng=check_random_state(random_state),
    )


def solve_sumcor_rows(
    products: RowProducts,
    n_components: int,
    *,
    algorithm: str = "block",
    start: Sequence[Array] | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    random_state: Any = None,
) -> Solution:
    """SUMCOR without covariances; the parameters are those of :class:`SumCor`.

    With ``start``, weights of every view, there is one more ascent, from there.
    """
    check_components(n_components, products.dims)
    rng = check_random_state(random_state)
    if algorithm == "block":
        found, trace, converged, ends = _best_rows(
            products, shared_start(products, n_components, rng), start, Variates(), tol, max_iter
        )
        found, objectives = _rotated_to_order(products, found)
        return Solution(found.W, objectives, [trace], converged, ends=ends[np.newaxis])
    found, traces, ok, reached = Variates(), [], [], []
    scores = shared_start(products, n_components, rng)
    for component in range(n_components):
        guess = [U[:, [component]] for U in scores]
        extra = None if start is None else [W[:, [component]] for W in start]
        new, trace, converged, ends = _best_rows(products, guess, extra, found, tol, max_iter)
        found = found.join(new)
        traces.append(trace)
        ok.append(converged)
        reached.append(ends)
    objectives = np.array([trace[-1] for trace in traces])
    return in_order(Solution(found.W, objectives, traces, all(ok), ends=np.array(reached)))


def block_rows(
    products: RowProducts, n_components: int, rng: np.random.RandomState, *, tol: float, max_iter: int
) -> tuple[Variates, Array, bool]:
    """All components at once, not rotated; their trace, and whether the tolerance was reached."""
    scores = shared_start(products, n_components, rng)
    return _best_rows(products, scores, None, Variates(), tol, max_iter)[:3]


def _best_rows(
    products: RowProducts,
    scores: list[Array],
    start: Sequence[Array] | None,
    found: Variates,
    tol: float,
    max_iter: int,
) -> tuple[Variates, Array, bool, Array]:
    """The best ascent from the scores and from given weights, and where each of the two ended."""
    starts = [variates_of(products, scores, found)]
    if start is not None:
        starts.append(feasible(products, start, found))
    ascents = [ascend(products, one, SUM, found=found, tol=tol, max_iter=max_iter) for one in starts]
    ends = np.array([trace[-1] for _, trace, _ in ascents])
    return *ascents[int(np.argmax(ends))], ends


def _others(products: RowProducts, i: int, Z: list[Array]) -> Array:
    """Sum over the other views of ``C_ij W_j``."""
    return products.pull(i, {j: z for j, z in enumerate(Z) if j != i})


def _trace(H: Array) -> float:
    return float(np.trace(H))


def _linear(B: Array, H: Array) -> Array:
    return B


def _nearest(H: Array) -> Array:
    return polar(H[:, np.newaxis])[:, 0]


SUM = Criterion(_others, _trace, _linear, _nearest)


def _rotated_to_order(products: RowProducts, variates: Variates) -> tuple[Variates, Array]:
    M = np.sum([W.T @ _others(products, i, variates.Z) for i, W in enumerate(variates.W)], axis=0)
    values, Q = np.linalg.eigh(0.5 * (M + M.T))
    return variates.times(Q[:, ::-1]), 0.5 * values[::-1]
