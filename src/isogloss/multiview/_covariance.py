"""The base of estimators that need only covariances.

``fit`` sums second moments over the rows (in one piece, in batches on threads, from a source of batches,
on a cluster) and solves; ``partial_fit`` adds to the same sums and solves again. Views too wide for
second moments are solved from their rows, without forming a covariance.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from isogloss._estimator import NON_NEGATIVE, POSITIVE_INT, SHARE, Constraints, StrOptions, warn_caller
from isogloss.engine import ENGINE_CONSTRAINTS, Engine, EngineMixin, Rows, Source
from isogloss.multiview._base import LinearMultiview
from isogloss.multiview.solvers import (
    CovarianceProducts,
    MomentProducts,
    RowProducts,
    Solution,
    check_ridges,
    correlations_of,
    lack_of_rows,
    loadings_of,
    with_signs,
)
from isogloss.stats import ViewMoments
from isogloss.views import Views, check_views

__all__ = ["CovarianceMultiview", "MomentsMultiview", "NamedMoments", "collect_moments"]

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

# Features of a view above which second moments cost too much: 5,000 squared are 200 MB.
_WIDE = 5_000
_WIDE_SPARSE = 2_000


class CovarianceMultiview(EngineMixin, LinearMultiview):
    """Fitting, given a solver. Subclasses implement ``_solve`` and ``_solve_rows``.

    Attributes
    ----------
    moments_ : ViewMoments
        What ``partial_fit`` adds to; not there after ``solver='operator'``.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "ridge": [SHARE, "array-like"],
        "solver": [StrOptions({"auto", "moments", "operator"})],
        "tol": [NON_NEGATIVE],
        "max_iter": [POSITIVE_INT],
        "random_state": ["random_state"],
        **ENGINE_CONSTRAINTS,
    }

    moments_: ViewMoments

    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float | Sequence[float] = 0.0,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def fit(self, views: Any, y: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        views : Views, list or dict of arrays, or Source
            Aligned rows, dense or sparse, some of which may be missing; or a source of such batches.
        y : None
            Not used.
        """
        self._validate_params()
        self._forget()
        if self._wants_rows(views):
            self._fit_rows(check_views(views, min_views=2))
            return self._warned()
        self.moments_, names = collect_moments(views, self._engine(), self.batch_rows)
        self.view_names_, self.dims_ = names, self.moments_.dims
        self._check_views(len(names))
        self._refuse_lack_of_rows(self.moments_.counts)
        self._solve_moments()
        return self._warned()

    def partial_fit(self, views: Any, y: Any = None) -> Self:
        """Add rows to those seen, and solve again; the same as one ``fit`` on all of them.

        As long as there are fewer rows than the components need, they are only collected.
        """
        self._validate_params()
        if self.solver == "operator" or (hasattr(self, "weights_") and not hasattr(self, "moments_")):
            raise ValueError("partial_fit adds second moments; fit with solver='moments' (or 'auto') first")
        moments, names = collect_moments(views, self._engine(), self.batch_rows)
        if hasattr(self, "moments_"):
            self._check_same_views(names, moments.dims)
            self.moments_.merge(moments)
        else:
            self._check_views(len(names))
            self.moments_, self.view_names_, self.dims_ = moments, names, moments.dims
        lack = lack_of_rows(self.moments_.counts, self.n_components)
        if lack is not None:
            logger.info("not fitted yet: %s", lack)
            return self
        self._solve_moments()
        return self._warned()

    def _check_views(self, n_views: int) -> None:
        """Refuse numbers of views that the model is not for."""

    @abstractmethod
    def _solve(self, moments: ViewMoments) -> Solution: ...

    @abstractmethod
    def _solve_rows(self, products: RowProducts) -> Solution: ...

    def _solve_moments(self) -> Self:
        solution = self._solve(self.moments_)
        return self._take(solution, MomentProducts(self.moments_, solution.shrinkage))

    def _fit_rows(self, views: Views) -> Self:
        self._remember(views)
        self._check_views(views.n_views)
        products = RowProducts(views, self.ridge)
        self._refuse_lack_of_rows(products.counts)
        if not views.complete:
            logger.warning("rows are missing, and solver='operator' does not look for impossible covariances")
        for i, kappa in enumerate(products.ridges):
            if kappa == 0 and products.counts[i, i] <= views.dims[i]:
                raise ValueError(
                    f"view {views.names[i]!r} has {views.dims[i]} features and {products.counts[i, i]} "
                    "rows, so its covariance is singular; solver='operator' needs ridge > 0 there"
                )
        return self._take(self._solve_rows(products), products)

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        """Set the fitted attributes that all share."""
        self.weights_ = with_signs(solution.weights)
        self.means_ = [products.mean(i) for i in range(len(self.dims_))]
        self.correlations_ = correlations_of(products, self.weights_)
        self.loadings_ = loadings_of(products, self.weights_)
        self.objectives_ = solution.objectives
        self.objective_ = float(solution.objectives.sum())
        self.objective_trace_ = solution.traces
        self.n_iter_ = sum(len(trace) - 1 for trace in solution.traces)
        self.converged_ = solution.converged
        self.shrinkage_ = solution.shrinkage
        return self

    def _warned(self) -> Self:
        """Say, to who called ``fit``, when the tolerance was not reached."""
        if not self.converged_:
            warn_caller(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} sweeps, moving more than "
                f"the square root of tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
            )
        return self

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _wants_rows(self, views: Any) -> bool:
        if isinstance(views, Source):
            if self.solver == "operator":
                raise ValueError("solver='operator' needs all rows in memory; give Views instead of a source")
            return False
        if self.solver != "auto":
            return self.solver == "operator"
        checked = check_views(views, min_views=2)
        regular = min(check_ridges(self.ridge, checked.n_views)) > 0
        sparse_and_wide = any(issparse(x) and x.shape[1] > _WIDE_SPARSE for x in checked.arrays)
        return max(checked.dims) > _WIDE or (regular and sparse_and_wide)

    def _refuse_lack_of_rows(self, counts: NDArray[np.int64]) -> None:
        lack = lack_of_rows(counts, self.n_components)
        if lack is not None:
            raise ValueError(lack)

    def _check_same_views(self, names: tuple[str, ...], dims: tuple[int, ...]) -> None:
        if (names, dims) != (self.view_names_, self.dims_):
            raise ValueError(
                f"these rows have views {dict(zip(names, dims, strict=True))}; "
                f"those before had {dict(zip(self.view_names_, self.dims_, strict=True))}"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


class MomentsMultiview(CovarianceMultiview):
    """A model that is solved from second moments only; subclasses implement ``_solve``."""

    _parameter_constraints: ClassVar[Constraints] = {
        name: constraint
        for name, constraint in CovarianceMultiview._parameter_constraints.items()
        if name != "solver"
    }
    solver = "moments"

    def _solve_rows(self, products: RowProducts) -> Solution:
        raise AssertionError("second moments are the only way")


class NamedMoments(NamedTuple):
    """Moments, and the names of the views they are of."""

    moments: ViewMoments
    names: tuple[str, ...]


def collect_moments(views: Any, engine: Engine, batch_rows: int = 65_536) -> NamedMoments:
    """Second moments of views, or of a source of batches of them, summed where the engine is."""
    if not isinstance(views, Source):
        views = Rows(check_views(views, min_views=2), batch_rows=batch_rows)
    return engine.map_reduce(_moments_of, _add, views)


def _moments_of(batch: Any) -> NamedMoments:
    batch = check_views(batch, min_views=2, min_rows=0)
    return NamedMoments(ViewMoments(batch.dims).update(batch), batch.names)


def _add(left: NamedMoments, right: NamedMoments) -> NamedMoments:
    if left.names != right.names:
        raise ValueError(f"batches have different views: {left.names} and {right.names}")
    left.moments.merge(right.moments)
    return left
