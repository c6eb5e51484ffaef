r"""Canonical correlation analysis of two views.

Find weights with the largest correlations between the variates,

.. math:: \max_{W_1, W_2} \mathrm{tr}(W_1'C_{12}W_2), \qquad
          W_i'\bigl((1 - \kappa_i)C_{ii} + \kappa_iI\bigr)W_i = I ,

equations (3.7) and (3.8) of [1]_ with the ridge of section 3.3. In whitened coordinates they are the
singular vectors of one matrix, :math:`A_{12}` of :mod:`~isogloss.multiview.solvers._problem`.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss.multiview._covariance import CovarianceMultiview
from isogloss.multiview._significance import PermutationTest, WilksTest, permutation_test, wilks_test
from isogloss.multiview._sumcor import block_rows
from isogloss.multiview.solvers import (
    CovarianceProducts,
    RowProducts,
    Solution,
    check_components,
    whitened_problem,
)
from isogloss.stats import ViewMoments
from isogloss.views import check_views

Array = NDArray[np.float64]


class CCA(CovarianceMultiview):
    """Canonical correlation analysis.

    Parameters
    ----------
    n_components : int
        Number of pairs of variates. Choose it by cross-validation (below), by
        :meth:`permutation_test` or by :meth:`wilks_test`.
    ridge : float in [0, 1], or one per view
        Pulls each covariance towards the identity. Needed when a view has as many features as rows;
        without it every correlation is then one, whatever the data. 1 gives partial least squares:
        the variates of largest covariance.
    solver : {'auto', 'moments', 'operator'}
        'moments' sums p x p matrices and is exact; 'operator' multiplies with the rows only and iterates.
        'auto' takes the latter above 5,000 features, and above 2,000 sparse ones with a ridge.
    tol : float
        The operator solver stops when a sweep moves its variates by at most the square root of this.
    max_iter : int
        Most sweeps of the operator solver.
    random_state : int, RandomState or None
        Start of the operator solver.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run; threads by default.

    Attributes
    ----------
    weights_ : list of two arrays (features, components)
        Of unit regularised variance, ordered by correlation; the largest weight of the first view is
        positive.
    means_ : list of two arrays
        Subtracted before projecting.
    correlations_ : array (components,)
        Correlations of the variates on the training rows.
    regularised_correlations_ : array (components,)
        What was maximised; the same when ``ridge=0``.
    loadings_ : list of two arrays (features, components)
        Correlations of the features with the variates of their view.
    spectrum_ : array or None
        All min(rank_1, rank_2) regularised correlations; None from the operator solver.
    ranks_ : tuple of int or None
        Ranks of the (regularised) views; None from the operator solver.
    shrinkage_ : float
        By how much missing rows made the covariance between the views shrink.
    moments_ : ViewMoments
        What was summed.

    Notes
    -----
    Time: one pass over the rows, two Cholesky factorisations and one SVD of rank_1 x rank_2.
    Memory: 8 (p + q)^2 bytes. A view whose covariance is singular loses the empty directions.

    The number of components by cross-validation: correlations of held-out variates are never penalised
    for useless components, the error of predicting one view from the other is.

    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from isogloss.views import Views
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 2))
    >>> views = Views([z @ rng.normal(size=(2, p)) + 0.5 * rng.normal(size=(300, p)) for p in (6, 5)])
    >>> search = GridSearchCV(CCA(), {"n_components": [1, 2, 4]}, scoring=prediction_score, cv=4)
    >>> search.fit(views).best_params_
    {'n_components': 2}
    """

    regularised_correlations_: Array
    spectrum_: Array | None
    ranks_: tuple[int, ...] | None
    regressions_: list[Array]

    def predict(self, X: Any, source_view: int | str = 0, target_view: int | str = 1) -> Array:
        """Predict rows of one view from rows of the other, by regression on its variates.

        With as many components as the source view has directions this is ordinary least squares.
        """
        check_is_fitted(self)
        source, target = self._view_index(source_view), self._view_index(target_view)
        if source == target:
            raise ValueError(f"source_view and target_view are both {source_view!r}; expected one of each")
        scores = self.transform_view(X, source)
        return np.asarray(self.means_[target] + scores @ self.regressions_[target])

    def wilks_test(self) -> WilksTest:
        """Test for each component that it and all further ones are uncorrelated (no ridge)."""
        check_is_fitted(self)
        if self.spectrum_ is None or self.ranks_ is None or np.any(np.asarray(self.ridge)):
            raise ValueError("Wilks' test needs ridge=0 and solver='moments'; use permutation_test instead")
        test = wilks_test(self.spectrum_, self.moments_.count(0, 1), *self.ranks_)
        return test.first(len(self.correlations_))

    def permutation_test(
        self, views: Any, n_permutations: int = 199, *, random_state: Any = None
    ) -> PermutationTest:
        """Test each component against permuted rows; gives the null band to draw.

        Parameters
        ----------
        views : Views or list of arrays
            The rows of the fit. Rows that lack a view are left out.
        n_permutations : int
            Number of permutations; the smallest p-value is one over this plus one.
        random_state : int, RandomState or None
            Source of the permutations.
        """
        check_is_fitted(self)
        if not hasattr(self, "moments_"):
            raise ValueError("permutation_test needs a model fitted with solver='moments'")
        rows = self._check_seen(views).shared(0, 1)
        problem = whitened_problem(self.moments_, self.ridge)
        white = [
            x @ w.matrix - self.means_[i] @ w.matrix
            for i, (x, w) in enumerate(zip(rows, problem.whitenings, strict=True))
        ]
        return permutation_test(
            white[0], white[1], len(self.correlations_), n_permutations, random_state=random_state
        )

    def _solve(self, moments: ViewMoments) -> Solution:
        return solve_cca(moments, self.n_components, self.ridge)

    def _solve_rows(self, products: RowProducts) -> Solution:
        rng = check_random_state(self.random_state)
        return solve_cca_rows(products, self.n_components, rng, tol=self.tol, max_iter=self.max_iter)

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        super()._take(solution, products)
        self.correlations_ = self.correlations_[:, 0, 1]
        self.regularised_correlations_ = solution.objectives
        self.spectrum_, self.ranks_ = solution.spectrum, solution.ranks
        self.regressions_ = [_regression(products, self.weights_, 1 - i, i) for i in range(2)]
        return self

    def _check_views(self, n_views: int) -> None:
        if n_views != 2:
            raise ValueError(f"CCA takes two views; got {n_views}: use SumCor, SSCor, GenVar or MaxVar")


def solve_cca(moments: ViewMoments, n_components: int, ridge: float | Sequence[float] = 0.0) -> Solution:
    """Canonical directions from second moments: Cholesky whitening and one SVD."""
    problem = whitened_problem(moments, ridge)
    check_components(n_components, problem.sizes)
    rows, columns = problem.slices
    U, s, Vt = svd(problem.A[rows, columns], full_matrices=False, check_finite=False)
    weights = problem.weights(np.vstack([U[:, :n_components], Vt[:n_components].T]))
    return Solution(
        weights, s[:n_components], [], shrinkage=problem.shrinkage, spectrum=s, ranks=problem.sizes
    )


def solve_cca_rows(
    products: RowProducts, n_components: int, rng: np.random.RandomState, *, tol: float, max_iter: int
) -> Solution:
    """Canonical directions without covariances: subspace iteration with some spare components.

    The last components converge as the gap to the first spare one allows.
    """
    check_components(n_components, products.dims)
    width = min(n_components + 10, *products.dims, int(products.counts.min()) - 1)
    variates, trace, converged = block_rows(products, width, rng, tol=tol, max_iter=max_iter)
    cross = variates.W[0].T @ products.pull(0, {1: variates.Z[1]})
    U, s, Vt = svd(cross)
    weights = [variates.W[0] @ U[:, :n_components], variates.W[1] @ Vt[:n_components].T]
    return Solution(weights, s[:n_components], [trace], converged)


def prediction_score(model: CCA, views: Any, y: Any = None) -> float:
    """Mean share of variance explained when each view is predicted from the other, on the rows given.

    A scorer for :class:`~sklearn.model_selection.GridSearchCV`: unlike the sum of correlations it falls
    again when useless components are added.
    """
    rows = check_views(views).shared(0, 1)
    shares = []
    for source, target in ((0, 1), (1, 0)):
        expected = rows[target].toarray() if hasattr(rows[target], "toarray") else rows[target]
        error = ((expected - model.predict(rows[source], source, target)) ** 2).sum()
        shares.append(1.0 - error / ((expected - model.means_[target]) ** 2).sum())
    return float(np.mean(shares))


def _regression(products: CovarianceProducts, weights: Sequence[Array], source: int, target: int) -> Array:
    """Coefficients (components x features) of the target view on the variates of the source view."""
    W = weights[source]
    variances = W.T @ products.cross(source, source, W)
    covariances = products.cross(target, source, W)
    return np.asarray(np.linalg.lstsq(variances, covariances.T, rcond=None)[0], dtype=np.float64)
