"""The base of kernel models: the dual problem of given kernels, and projections of new rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from isogloss._estimator import (
    NON_NEGATIVE,
    OPEN_SHARE,
    POSITIVE_INT,
    SHARE,
    Constraints,
    StrOptions,
    warn_caller,
)
from isogloss.multiview._base import Multiview, view_correlations
from isogloss.multiview.kernels._map import (
    KERNELS,
    Kernel,
    KernelSpectrum,
    ViewKernel,
    check_kernels,
    kernel_spectrum,
)
from isogloss.multiview.kernels._operator import DualProducts
from isogloss.multiview.kernels._problem import check_kappas, dual_problem
from isogloss.multiview.solvers import Solution, WhitenedProblem, with_signs
from isogloss.views import Matrix, Views, check_views

Array = NDArray[np.float64]

# Rows and features above which 'auto' does not form the linear kernel of sparse views.
_LARGE = 1_000


class KernelMultiview(Multiview):
    """A model whose weights are combinations of kernel columns.

    Subclasses say how the dual problem is solved, from spectra of the kernels or from products with the rows.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "ridge": [OPEN_SHARE, "array-like"],
        "kernel": [StrOptions(set(KERNELS)), callable, list, tuple],
        "gamma": [NON_NEGATIVE, list, tuple, None],
        "degree": [NON_NEGATIVE],
        "coef0": [Real],
        "kernel_params": [dict, None],
        "regularisation": [StrOptions({"approximate", "exact"})],
        "low_rank": [StrOptions({"cholesky", "nystrom"}), None],
        "rank": [POSITIVE_INT, None],
        "low_rank_tol": [SHARE],
        "solver": [StrOptions({"auto", "eigen", "operator"})],
        "tol": [SHARE],
        "max_iter": [POSITIVE_INT],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float | Sequence[float] = 0.1,
        kernel: Kernel | Sequence[Kernel] = "rbf",
        gamma: float | Sequence[float | None] | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        regularisation: str = "approximate",
        low_rank: str | None = None,
        rank: int | None = None,
        low_rank_tol: float = 1e-6,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.regularisation = regularisation
        self.low_rank = low_rank
        self.rank = rank
        self.low_rank_tol = low_rank_tol
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, views: Any, y: Any = None) -> Self:
        """Find the dual coefficients.

        Parameters
        ----------
        views : Views, list or dict of arrays
            Aligned rows, dense or sparse, none missing; kernel matrices for precomputed kernels.
        y : None
            Not used.
        """
        self._validate_params()
        views = check_views(views, min_views=2, min_rows=self.n_components + 1)
        kernels = self._check_views(views)
        rng = check_random_state(self.random_state)
        self._remember(views)
        if self._wants_operator(views, kernels):
            everything, self.left_out_ = np.arange(len(views)), (0.0,) * views.n_views
            solution = self._solve_operator(DualProducts(views, self.ridge, self.regularisation), rng)
            landmarks, no_means = [everything] * views.n_views, [None] * views.n_views
            self._take(views, kernels, solution, landmarks, no_means)
        else:
            spectra = [
                self._spectrum(kernel, x, rng) for kernel, x in zip(kernels, views.arrays, strict=True)
            ]
            self._check_rank(spectra)
            solution = self._solve(dual_problem(spectra, self.ridge, self.regularisation), rng)
            self.left_out_ = tuple(one.left_out for one in spectra)
            landmarks, means = [one.landmarks for one in spectra], [one.means for one in spectra]
            self._take(views, kernels, solution, landmarks, means)
        return self._warned()

    @abstractmethod
    def _solve(self, problem: WhitenedProblem, rng: np.random.RandomState) -> Solution: ...

    @abstractmethod
    def _solve_operator(self, products: DualProducts, rng: np.random.RandomState) -> Solution: ...

    def _take(
        self,
        views: Views,
        kernels: Sequence[ViewKernel],
        solution: Solution,
        landmarks: list[NDArray[np.int64]],
        means: Sequence[Array | None],
    ) -> Self:
        """Set the fitted attributes, and what new rows need."""
        self.dual_coef_, self.landmarks_ = with_signs(solution.weights), landmarks
        self.X_fit_: list[Matrix | None] = []
        self.weights_: list[Array | None] = []
        self.intercepts_: list[Array] = []
        for x, kernel, rows, mean, Y in zip(
            views.arrays, kernels, landmarks, means, self.dual_coef_, strict=True
        ):
            # Linear kernels need no training rows: k(x, X)Y = x(X'Y).
            W = np.asarray(x[rows].T @ Y, dtype=np.float64) if kernel.linear else None
            self.weights_.append(W)
            self.X_fit_.append(None if kernel.linear or kernel.precomputed else x[rows].copy())
            self.intercepts_.append(_mean_row(x) @ W if W is not None else np.asarray(mean) @ Y)
        self.objectives_, self.objective_ = solution.objectives, float(solution.objectives.sum())
        self.objective_trace_, self.converged_ = solution.traces, solution.converged
        self.n_iter_ = sum(len(trace) - 1 for trace in solution.traces)
        self.start_objectives_, self.ranks_ = solution.ends, solution.ranks
        self.correlations_ = view_correlations(self.transform(views))
        return self

    def _warned(self) -> Self:
        """Say, to who called ``fit``, when the tolerance was not reached."""
        if not self.converged_:
            warn_caller(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} sweeps before the gain fell "
                f"to tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
            )
        return self

    def _project(self, X: Matrix, view: int) -> Array:
        kernel, Y, W = self._kernels(len(self.dims_))[view], self.dual_coef_[view], self.weights_[view]
        if W is not None:
            scores = X @ W
        elif kernel.precomputed:
            scores = X[:, self.landmarks_[view]] @ Y
        else:
            scores = kernel.project(X, self.X_fit_[view], Y)
        return np.asarray(scores, dtype=np.float64) - self.intercepts_[view]

    def _kernels(self, n_views: int) -> list[ViewKernel]:
        named = {"degree": self.degree, "coef0": self.coef0}
        return check_kernels(self.kernel, self.gamma, named, self.kernel_params, n_views)

    def _spectrum(self, kernel: ViewKernel, X: Matrix, rng: np.random.RandomState) -> KernelSpectrum:
        return kernel_spectrum(
            kernel, X, low_rank=self.low_rank, rank=self.rank, tol=self.low_rank_tol, rng=rng
        )

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.low_rank == "nystrom" and self.rank is None:
            raise ValueError("low_rank='nystrom' needs rank, the number of landmarks to draw")

    def _check_views(self, views: Views) -> list[ViewKernel]:
        kernels = self._kernels(views.n_views)
        check_kappas(self.ridge, views.n_views)
        if not views.complete:
            missing = int((~views.present.all(axis=1)).sum())
            raise ValueError(
                f"{missing} row(s) lack a view; kernel models need complete rows: "
                "leave those out, or use SumCor, SSCor or HubCCA"
            )
        for name, kernel, x in zip(views.names, kernels, views.arrays, strict=True):
            if kernel.precomputed and (issparse(x) or x.shape[0] != x.shape[1]):
                raise ValueError(
                    f"view {name!r} has shape {x.shape}{', sparse' if issparse(x) else ''}; a precomputed "
                    "kernel is a square dense matrix, training rows by training rows"
                )
        return kernels

    def _wants_operator(self, views: Views, kernels: Sequence[ViewKernel]) -> bool:
        able = self.low_rank is None and all(kernel.linear for kernel in kernels)
        if self.solver == "operator" and not able:
            raise ValueError("solver='operator' is for linear kernels without low_rank")
        large = len(views) > _LARGE and max(views.dims) > _LARGE and all(issparse(x) for x in views.arrays)
        return self.solver == "operator" or (self.solver == "auto" and able and large)

    def _check_rank(self, spectra: Sequence[KernelSpectrum]) -> None:
        ranks = [len(one.values) for one in spectra]
        if self.n_components > min(ranks):
            raise ValueError(
                f"n_components={self.n_components} is more than the kernel of view "
                f"{self.view_names_[int(np.argmin(ranks))]!r} has: its rank, centred, is {min(ranks)}; "
                "lower n_components, or raise rank"
            )


def _mean_row(x: Matrix) -> Array:
    return np.asarray(x.mean(axis=0), dtype=np.float64).ravel()
