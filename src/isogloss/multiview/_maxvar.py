r"""MAXVAR, or generalised CCA: the relaxation of multi-set CCA to one eigenproblem.

The leading eigenvectors of the whitened joint matrix A (see :mod:`~isogloss.multiview.solvers._problem`) make
the first principal component of the variates as large as possible (Kettenring, *Canonical analysis of
several sets of variables*, Biometrika 58, 1971). An eigenvector may weigh the views unequally, which
SUMCOR does not allow; in return there are no local maxima. With two views both are CCA.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lobpcg
from sklearn.utils import check_random_state

from isogloss.multiview._covariance import CovarianceMultiview
from isogloss.multiview.solvers import (
    CovarianceProducts,
    RowProducts,
    Solution,
    block_slices,
    check_components,
    leading_eigenvectors,
    shared_start,
    whitened_problem,
)
from isogloss.stats import ViewMoments

Array = NDArray[np.float64]

# Part of an eigenvector below which a view has no share in it worth a direction.
_NO_SHARE = 1e-10


class MaxVar(CovarianceMultiview):
    """Generalised CCA by one eigenproblem, for comparison and as a start.

    Parameters
    ----------
    n_components : int
        Number of components.
    ridge : float in [0, 1], or one per view
        Pulls each covariance towards the identity; needed when a view has as many features as rows.
    solver : {'auto', 'moments', 'operator'}
        'moments' sums p x p matrices and is exact; 'operator' multiplies with the rows only and iterates
        (LOBPCG). 'auto' takes the latter above 5,000 features, and above 2,000 sparse ones with a ridge.
    tol : float
        The operator solver stops when residuals are at most the square root of this, relative to the
        eigenvalue; eigenvalues are then accurate to this.
    max_iter : int
        Most iterations of the operator solver.
    random_state : int, RandomState or None
        Start of the iterations.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run; threads by default.

    Attributes
    ----------
    weights_ : list of array (features, components)
        Of unit regularised variance. Unlike those of :class:`SumCor` they are not uncorrelated within a
        view when there are more than two; the eigenvectors are orthogonal only as wholes. Zero where a
        view has no share in a component.
    eigenvalues_ : array (components,)
        Falling; from 1 (nothing in common) to the number of views, without a ridge.
    shares_ : array (components, views)
        Share of each view in the eigenvectors; rows sum to one.
    means_, correlations_, loadings_, objective_, shrinkage_, moments_
        As in :class:`SumCor`; ``objective_`` is the sum of the eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 1))
    >>> views = [z + 0.5 * rng.normal(size=(500, p)) for p in (5, 4, 6)]
    >>> MaxVar(n_components=2).fit(views).eigenvalues_.round(1)
    array([2.9, 1.2])
    """

    eigenvalues_: Array
    shares_: Array

    def _solve(self, moments: ViewMoments) -> Solution:
        return solve_maxvar(moments, self.n_components, self.ridge, random_state=self.random_state)

    def _solve_rows(self, products: RowProducts) -> Solution:
        return solve_maxvar_rows(
            products,
            self.n_components,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _take(self, solution: Solution, products: CovarianceProducts) -> Self:
        assert solution.ends is not None
        self.eigenvalues_, self.shares_ = solution.objectives, solution.ends
        return super()._take(solution, products)


def solve_maxvar(
    moments: ViewMoments,
    n_components: int,
    ridge: float | Sequence[float] = 0.0,
    *,
    random_state: Any = None,
) -> Solution:
    """MAXVAR from second moments; ``ends`` of the solution are the shares of the views."""
    problem = whitened_problem(moments, ridge)
    check_components(n_components, problem.sizes)
    values, X = leading_eigenvectors(problem.A, n_components, check_random_state(random_state))
    shares, unit = unit_parts(X, problem.slices)
    return Solution(problem.weights(unit), values, [], shrinkage=problem.shrinkage, ends=shares)


def solve_maxvar_rows(
    products: RowProducts, n_components: int, *, tol: float, max_iter: int, random_state: Any = None
) -> Solution:
    """MAXVAR without covariances: ``C w = lambda blkdiag(R_i) w`` by LOBPCG."""
    check_components(n_components, products.dims)
    rng = check_random_state(random_state)
    rows = block_slices(products.dims)
    width = min(n_components + 5, int(products.counts.min()) - 1)
    scores = shared_start(products, width, rng)
    X = np.vstack([products.solve(i, products.rows[i].H @ U, tol=1e-2) for i, U in enumerate(scores)])
    joint, scale, inverse = _operators(products, rows)
    X = _lobpcg(joint, X, scale, inverse, np.sqrt(tol), max_iter)
    RX, CX = scale @ X, joint @ X
    values = np.einsum("nk,nk->k", X, CX) / np.einsum("nk,nk->k", X, RX)
    order = np.argsort(-values)[:n_components]
    X, values = X[:, order], values[order]
    residuals = np.linalg.norm(CX[:, order] - values * RX[:, order], axis=0)
    converged = bool((residuals <= 10 * np.sqrt(tol) * np.linalg.norm(CX[:, order], axis=0)).all())
    parts = np.array([np.einsum("nk,nk->k", X[block], RX[block][:, order]) for block in rows]).T
    shares = parts / parts.sum(axis=1, keepdims=True)
    weights = [_unit(X[block], parts[:, i]) for i, block in enumerate(rows)]
    return Solution(weights, values, [], converged, ends=shares)


def _lobpcg(
    joint: LinearOperator, X: Array, scale: LinearOperator, inverse: LinearOperator, tol: float, max_iter: int
) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # convergence is judged by the caller
        try:
            vectors: Array = lobpcg(joint, X, B=scale, M=inverse, tol=tol, maxiter=max_iter, largest=True)[1]
        except Exception as error:  # SciPy raises nothing more precise
            if "eigensolver" not in str(error) and not isinstance(error, np.linalg.LinAlgError):
                raise
            raise ValueError(f"a view has dependent features ({error}); give ridge > 0") from error
    return vectors


def _operators(products: RowProducts, rows: list[slice]) -> tuple[LinearOperator, ...]:
    """The joint matrix, its block diagonal, and an approximate inverse of that, all regularised."""
    views = range(len(rows))

    # A constant feature without a ridge would make the scale singular; with a one it has the eigenvalue 1.
    kappas = np.repeat(products.ridges, products.dims)
    constant = np.concatenate([products.variances(i) == 0 for i in views])
    empty = ((kappas == 0) & constant)[:, np.newaxis]

    def scale(V: Array) -> Array:
        scaled = np.vstack([products.regularised(i, V[rows[i]]) for i in views])
        return np.asarray(scaled + empty * V)

    def joint(V: Array) -> Array:
        Z = [products.project(i, V[rows[i]]) for i in views]
        others = [products.pull(i, {j: z for j, z in enumerate(Z) if j != i}) for i in views]
        return scale(V) + np.vstack(others)

    def inverse(V: Array) -> Array:
        return np.vstack([products.solve(i, V[rows[i]], tol=1e-4) for i in views])

    N = sum(products.dims)
    return tuple(
        LinearOperator((N, N), matvec=lambda v, f=f: f(v.reshape(-1, 1)).ravel(), matmat=f, dtype=np.float64)
        for f in (joint, scale, inverse)
    )


def unit_parts(X: Array, rows: Sequence[slice]) -> tuple[Array, Array]:
    """Shares of the views in eigenvectors (components, views), and the vectors with unit parts."""
    shares = np.array([(X[block] ** 2).sum(axis=0) for block in rows]).T
    return shares, np.vstack([_unit(X[block], shares[:, i]) for i, block in enumerate(rows)])


def _unit(X: Array, squares: Array) -> Array:
    """Columns scaled by their norms, given squared; zero where a view has no share."""
    usable = squares > _NO_SHARE**2
    return np.where(usable, X / np.sqrt(np.where(usable, squares, 1.0)), 0.0)
