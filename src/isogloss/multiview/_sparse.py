r"""Sparse CCA of two or more views: correlations of few features, by an l1 penalty.

.. math:: \max_w \sum_{i<j} w_i'C_{ij}w_j - \sum_i \lambda_i \sum_f \sigma_{if}|w_{if}|, \qquad
          w_i'\bigl((1 - \kappa_i)C_{ii} + \kappa_iI\bigr)w_i \le 1 ,

where :math:`\sigma_{if}` is the standard deviation of feature f, so that the penalty does not depend on
units. With the other views fixed, the best :math:`w_i` is the lasso solution of the regression on
:math:`\sum_{j \ne i} X_jw_j`, scaled to unit variance, and a sweep over the views never lowers the
objective. For two views it is the iterative penalised least squares of [1]_; with :math:`\kappa = 1` the
constraint is that of the penalised matrix decomposition [2]_. Without a penalty the components are those of
SUMCOR, found one by one.

References
----------
.. [1] Q. Mai, X. Zhang, "An iterative penalized least squares approach to sparse canonical correlation
   analysis", Biometrics 75(3), 2019.
.. [2] D. Witten, R. Tibshirani, T. Hastie, "A penalized matrix decomposition, with applications to sparse
   principal components and canonical correlation analysis", Biostatistics 10(3), 2009.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.utils import check_random_state

from isogloss._estimator import NON_NEGATIVE, Constraints
from isogloss.engine import Engine
from isogloss.linalg import regularise
from isogloss.multiview._covariance import MomentsMultiview
from isogloss.multiview.solvers import (
    CovarianceProducts,
    MomentProducts,
    Solution,
    block_slices,
    check_ridges,
    leading_eigenvectors,
)
from isogloss.stats import ViewMoments

Array = NDArray[np.float64]

# Eigenvalues of a covariance below this share of the largest are rounding errors.
_RANK_TOL = 1e-10
# The lasso is solved to this share of the explained variance.
_LASSO_TOL = 1e-8
_LASSO_MAX_ITER = 10_000


class SparseCCA(MomentsMultiview):
    """Canonical correlation analysis of two or more views with sparse weights.

    Parameters
    ----------
    n_components : int
        Number of components, found one by one.
    l1 : float >= 0, or one per view
        Penalty on the weights of standardised features. A feature gets a weight only if its covariance with
        what the other features of its view leave of the sum of the other views' variates is larger than
        this. 0 gives dense weights; at about the number of other views, nothing is left. Choose it by
        :class:`~sklearn.model_selection.GridSearchCV`: ``score`` is the sum of correlations on held-out rows.
    ridge : float in [0, 1], or one per view
        Pulls each covariance towards the identity. With 1 only covariances between views count, which is
        quick and common where features are many more than rows.
    tol : float
        A component is done when a sweep moves its variates by at most the square root of this.
    max_iter : int
        Most sweeps per component.
    random_state : int, RandomState or None
        Start of the eigensolver, above 1,000 features in all.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run; threads by default.

    Attributes
    ----------
    weights_ : list of array (features, components)
        Of unit regularised variance; most are exactly zero.
    n_nonzero_ : array (components, views)
        Numbers of features with a weight.
    objectives_, objective_, objective_trace_
        Penalised sums of correlations, of each component, their total, and one trace per component.
    means_, correlations_, loadings_, converged_, n_iter_, moments_
        As in :class:`SumCor`. Further components are sought in what the variates found before do not
        explain; with a penalty they are only roughly uncorrelated with those.

    Notes
    -----
    There are local maxima. The only start is the leading eigenvector of the covariances between
    standardised features. Needs second moments of the features, so it is for some thousands of them.

    Examples
    --------
    Two of ten features of each view share a signal:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 1))
    >>> views = [rng.normal(size=(300, 10)) for _ in range(3)]
    >>> for x in views:
    ...     x[:, :2] += z
    >>> model = SparseCCA(n_components=1, l1=0.3).fit(views)
    >>> [np.flatnonzero(w).tolist() for w in model.weights_]
    [[0, 1], [0, 1], [0, 1]]
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **MomentsMultiview._parameter_constraints,
        "l1": [NON_NEGATIVE, "array-like"],
    }

    n_nonzero_: NDArray[np.int64]

    def __init__(
        self,
        n_components: int = 1,
        *,
        l1: float | Sequence[float] = 0.1,
        ridge: float | Sequence[float] = 0.0,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.l1 = l1
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def _solve(self, moments: ViewMoments) -> Solution:
        return solve_sparse_cca(
            moments,
            self.n_components,
            self.l1,
            self.ridge,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        self.n_nonzero_ = np.array([(W != 0).sum(axis=0) for W in solution.weights]).T
        return super()._take(solution, products)


def solve_sparse_cca(
    moments: ViewMoments,
    n_components: int,
    l1: float | Sequence[float],
    ridge: float | Sequence[float] = 0.0,
    *,
    tol: float = 1e-8,
    max_iter: int = 500,
    random_state: Any = None,
) -> Solution:
    """Sparse CCA from second moments; the parameters are those of :class:`SparseCCA`."""
    penalties = _check_penalties(l1, len(moments.dims))
    views = [
        _standardised(moments, i, ridge, penalty)
        for i, (ridge, penalty) in enumerate(
            zip(check_ridges(ridge, len(moments.dims)), penalties, strict=True)
        )
    ]
    cross = _cross_covariances(moments, views)
    rows = block_slices(moments.dims)
    rng = check_random_state(random_state)
    components, traces, ok = [], [], []
    for _ in range(n_components):
        start = leading_eigenvectors(cross, 1, rng)[1][:, 0]
        V, trace, converged = _ascend(views, cross, rows, start, tol, max_iter)
        cross = _deflated(cross, V, views, rows)
        components.append(V)
        traces.append(trace)
        ok.append(converged)
    V = np.stack(components, axis=1)
    weights = [V[block] * view.scale[:, np.newaxis] for block, view in zip(rows, views, strict=True)]
    return Solution(weights, np.array([trace[-1] for trace in traces]), traces, all(ok))


@dataclass(frozen=True, eq=False)
class _View:
    """A view with standardised features."""

    index: int
    scale: Array
    """Weights of the features are weights of standardised features times this; 0 for constant features."""
    R: Array
    """The regularised covariance."""
    root: Array
    """``root.T @ root`` is ``R``; as many rows as ``R`` has rank."""
    inverse_root: Array
    """``root @ inverse_root.T`` is the identity."""
    penalty: float

    def best(self, b: Array, before: Array) -> Array:
        """Maximise ``b'v - penalty |v|_1`` under ``v'Rv <= 1``; zero if nothing exceeds the penalty."""
        target = self.inverse_root @ b
        if self.penalty == 0:
            v = self.inverse_root.T @ target
        elif np.abs(self.root.T @ target).max() <= self.penalty:
            return np.zeros_like(b)
        else:
            v = self._lasso(target, before)
        return np.asarray(v / np.linalg.norm(self.root @ v))

    def _lasso(self, target: Array, before: Array) -> Array:
        lasso = Lasso(
            alpha=self.penalty / len(target),
            fit_intercept=False,
            precompute=self.R,
            warm_start=True,
            tol=_LASSO_TOL,
            max_iter=_LASSO_MAX_ITER,
        )
        # Before it was scaled, the last solution was shorter or longer; the best length is known.
        fitted = self.root @ before
        length = float(target @ fitted) / max(float(fitted @ fitted), np.finfo(float).tiny)
        lasso.coef_ = np.asarray(before * max(length, 0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the sweeps decide on convergence
            return np.asarray(lasso.fit(self.root, target).coef_)


def _check_penalties(l1: float | Sequence[float], n_views: int) -> Array:
    given = np.asarray(l1, dtype=np.float64)
    if given.ndim and given.shape != (n_views,):
        raise ValueError(f"l1 gives {given.size} numbers for {n_views} views; expected one, or one each")
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise ValueError(f"l1={l1}; expected finite numbers, 0 or larger")
    return np.broadcast_to(given, (n_views,))


def _standardised(moments: ViewMoments, index: int, ridge: float, penalty: float) -> _View:
    C = moments.covariance(index)
    deviations = np.sqrt(C.diagonal())
    scale = np.where(deviations > 0, 1.0 / np.where(deviations > 0, deviations, 1.0), 0.0)
    R = regularise(C, ridge) * np.outer(scale, scale)
    values, vectors = eigh(R, check_finite=False)
    kept = values > _RANK_TOL * values[-1]
    roots, basis = np.sqrt(values[kept])[:, np.newaxis], vectors[:, kept].T
    return _View(index, scale, R, roots * basis, basis / roots, float(penalty))


def _cross_covariances(moments: ViewMoments, views: Sequence[_View]) -> Array:
    """Covariances between standardised features of different views; zero within a view."""
    rows = block_slices(moments.dims)
    products = MomentProducts(moments)
    cross = np.zeros((sum(moments.dims),) * 2)
    for i, left in enumerate(views):
        for j in range(i + 1, len(views)):
            block = left.scale[:, np.newaxis] * products.cross(i, j, np.diag(views[j].scale))
            cross[rows[i], rows[j]], cross[rows[j], rows[i]] = block, block.T
    return cross


def _ascend(
    views: Sequence[_View], cross: Array, rows: Sequence[slice], start: Array, tol: float, max_iter: int
) -> tuple[Array, Array, bool]:
    """One component; its weights, the objective after each sweep, and whether it converged."""
    V = np.concatenate(
        [start[block] / max(np.linalg.norm(view.root @ start[block]), np.finfo(float).tiny)
         for view, block in zip(views, rows, strict=True)]
    )  # fmt: skip
    trace: list[float] = []
    for _ in range(max_iter):
        moved = 0.0
        for view, block in zip(views, rows, strict=True):
            b = cross[block] @ V
            v = view.best(b, V[block])
            if not v.any():
                raise ValueError(_nothing_left(view, b))
            moved += float(np.linalg.norm(view.root @ (v - V[block])) ** 2)
            V[block] = v
        penalties = [view.penalty * np.abs(V[block]).sum() for view, block in zip(views, rows, strict=True)]
        trace.append(0.5 * float(V @ cross @ V) - float(np.sum(penalties)))
        if moved <= tol * len(views):
            return V, np.array(trace), True
    return V, np.array(trace), False


def _nothing_left(view: _View, b: Array) -> str:
    return (
        f"l1={view.penalty:g} leaves view {view.index} without a feature: the largest covariance of one with "
        f"the other views' variates is {np.abs(b).max():.3g}; lower l1 or n_components"
    )


def _deflated(cross: Array, V: Array, views: Sequence[_View], rows: Sequence[slice]) -> Array:
    """Covariances of what the variates do not explain of each view, with the same of the others."""
    for view, block in zip(views, rows, strict=True):
        v = V[block]
        explained = np.outer(view.R @ v, v @ cross[block])
        cross[block] -= explained
        cross[:, block] -= explained.T
    return cross
