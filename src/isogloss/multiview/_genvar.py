r"""GENVAR and MINVAR: multi-set CCA that makes the variates as linearly dependent as possible.

Let :math:`\Phi` be the matrix of correlations of the variates of one component. With a ridge, the diagonal is
:math:`w_i'\bigl((1 - \kappa_i)C_{ii} + \kappa_iI\bigr)w_i = 1`; GENVAR multiplies the rest by
:math:`((1 - \kappa_i)(1 - \kappa_j))^{1/2}`, so that :math:`\Phi` is positive semidefinite. Of the five
criteria of [1]_

.. math:: \text{GENVAR:}\ \min_w \det\Phi, \qquad \text{MINVAR:}\ \min_w \lambda_{\min}(\Phi) .

For Gaussian data :math:`-\tfrac12\log\det\Phi` is the information that the variates have in common. With
the other views fixed and :math:`B_i = [A_{ij}x_j]_{j \ne i}` in whitened coordinates,
:math:`\det\Phi = \det\Phi_{-i}\,(1 - x_i'B_i\Phi_{-i}^{-1}B_i'x_i)`, so the best :math:`x_i` is the leading
left singular vector of :math:`B_i\Phi_{-i}^{-1/2}`, and a sweep over the views never raises the determinant.
MINVAR is the last eigenvector of the matrix whose first is MAXVAR.

References
----------
.. [1] J. R. Kettenring, "Canonical analysis of several sets of variables", Biometrika 58(3), 1971.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from isogloss._estimator import POSITIVE_INT, SHARE, Constraints
from isogloss.engine import ENGINE_CONSTRAINTS, Engine
from isogloss.multiview._covariance import MomentsMultiview
from isogloss.multiview._maxvar import unit_parts
from isogloss.multiview._sscor import PairCriterion, agreeing_signs, solve_pairs
from isogloss.multiview.solvers import (
    CovarianceProducts,
    Solution,
    WhitenedProblem,
    check_components,
    check_ridges,
    leading_eigenvectors,
    whitened_problem,
)
from isogloss.stats import ViewMoments

Array = NDArray[np.float64]

# Smallest eigenvalue of correlations that is told from 0; the variates are then linearly dependent.
_SINGULAR = 1e-12


class GenVar(MomentsMultiview):
    """Multi-set CCA that minimises the generalised variance, the determinant of the correlations.

    Parameters
    ----------
    n_components : int
        Number of components, uncorrelated within each view.
    ridge : float in [0, 1], or one per view
        Pulls each covariance towards the identity; needed when a view has as many features as rows. With 1
        there are no correlations left.
    n_init : int
        Number of starts per component, climbed together: an eigenvector of the joint problem
        (:class:`MaxVar`) and otherwise random ones.
    tol : float
        A start is done when a sweep moves its variates by at most the square root of this.
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
        Of unit regularised variance and uncorrelated within each view. Signs are such that the variates of
        a component agree as far as they can.
    generalised_variances_ : array (components,)
        The determinants; rising, between 0 (linearly dependent) and 1 (uncorrelated) without a ridge.
    objectives_, objective_, objective_trace_
        Minus the logarithms of the determinants, their sum, and one trace per component.
    start_objectives_, means_, correlations_, loadings_, converged_, n_iter_, shrinkage_, moments_
        As in :class:`SSCor`.

    Notes
    -----
    Needs second moments of the features, so it is not for views of many thousands of features.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 1))
    >>> views = [z + 0.5 * rng.normal(size=(500, p)) for p in (5, 4, 6)]
    >>> GenVar(n_components=2, random_state=0).fit(views).generalised_variances_.round(3)
    array([0.006, 0.954])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **MomentsMultiview._parameter_constraints,
        "n_init": [POSITIVE_INT],
    }

    generalised_variances_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float | Sequence[float] = 0.0,
        n_init: int = 10,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def _solve(self, moments: ViewMoments) -> Solution:
        return solve_pairs(
            _jointly_regularised(moments, self.ridge),
            self.n_components,
            LOG_DETERMINANT,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        self.start_objectives_ = solution.ends
        self.generalised_variances_ = np.exp(-solution.objectives)
        return super()._take(solution, products)


class MinVar(MomentsMultiview):
    """Multi-set CCA by the smallest eigenvalue of the correlations: the views' most constant combination.

    Parameters
    ----------
    n_components : int
        Number of components.
    ridge : float in [0, 1], or one per view
        Pulls each covariance towards the identity; needed when a view has as many features as rows.
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
        Of unit regularised variance, zero where a view has no share in a component. As with :class:`MaxVar`,
        components need not be uncorrelated within a view when there are more than two views. Signs are such
        that the variates of a component agree as far as they can.
    eigenvalues_ : array (components,)
        Rising from 0 (some combination of the views is constant); 1 means nothing in common, without a ridge.
    shares_ : array (components, views)
        Share of each view in the eigenvectors; rows sum to one.
    objectives_, objective_
        The eigenvalues subtracted from one, and their sum.
    means_, correlations_, loadings_, shrinkage_, moments_
        As in :class:`MaxVar`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 1))
    >>> views = [z + 0.5 * rng.normal(size=(500, p)) for p in (5, 4, 6)]
    >>> MinVar(n_components=2).fit(views).eigenvalues_.round(2)
    array([0.04, 0.05])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "ridge": [SHARE, "array-like"],
        "random_state": ["random_state"],
        **ENGINE_CONSTRAINTS,
    }

    eigenvalues_: Array
    shares_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float | Sequence[float] = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def _solve(self, moments: ViewMoments) -> Solution:
        return solve_minvar(moments, self.n_components, self.ridge, random_state=self.random_state)

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        assert solution.ends is not None
        self.eigenvalues_, self.shares_ = 1.0 - solution.objectives, solution.ends
        return super()._take(solution, products)


def solve_minvar(
    moments: ViewMoments,
    n_components: int,
    ridge: float | Sequence[float] = 0.0,
    *,
    random_state: Any = None,
) -> Solution:
    """MINVAR from second moments; ``ends`` of the solution are the shares of the views."""
    problem = whitened_problem(moments, ridge)
    check_components(n_components, problem.sizes)
    values, X = leading_eigenvectors(-problem.A, n_components, check_random_state(random_state))
    shares, unit = unit_parts(X, problem.slices)
    rho = np.stack(
        [
            [np.einsum("nk,nk->k", unit[a], problem.A[a, b] @ unit[b]) for b in problem.slices]
            for a in problem.slices
        ]
    )
    signs = np.stack([agreeing_signs(rho[:, :, k]) for k in range(n_components)], axis=1)
    weights = problem.weights(unit * np.repeat(signs, problem.sizes, axis=0))
    return Solution(weights, 1.0 + values, [], shrinkage=problem.shrinkage, ends=shares)


def _jointly_regularised(moments: ViewMoments, ridge: float | Sequence[float]) -> WhitenedProblem:
    """The whitened problem, with correlations between views shrunk as those within them are."""
    ridges = np.array(check_ridges(ridge, len(moments.dims)))
    if (ridges == 1.0).any():
        raise ValueError(f"ridge={ridge}; expected numbers below 1, where correlations are left")
    problem = whitened_problem(moments, ridge)
    scale = np.repeat(np.sqrt(1.0 - ridges), problem.sizes)
    A = problem.A * np.outer(scale, scale)
    np.fill_diagonal(A, 1.0)
    return replace(problem, A=A)


def _log_determinant(rho: Array) -> Array:
    """Minus the logarithm of the determinant of every start."""
    eigenvalues = np.linalg.eigvalsh(np.moveaxis(rho, 2, 0))
    return np.asarray(-np.log(np.maximum(eigenvalues, _SINGULAR)).sum(axis=1))


def _inverse_roots(B: Array, others: Array) -> Array:
    values, vectors = np.linalg.eigh(others)
    scaled = vectors / np.sqrt(np.maximum(values, _SINGULAR))[:, np.newaxis, :]
    return np.asarray(np.einsum("nsj,sjk->nsk", B, scaled))


LOG_DETERMINANT = PairCriterion(_log_determinant, _inverse_roots)
