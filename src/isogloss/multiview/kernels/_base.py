"""What the kernel models share: the dual problem of given kernels, and projections of new rows."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from isogloss.linalg import check_count, check_number
from isogloss.multiview._base import Multiview, view_correlations
from isogloss.multiview.kernels._map import Kernel, KernelSpectrum, ViewKernel, check_kernels, kernel_spectrum
from isogloss.multiview.kernels._operator import DualProducts
from isogloss.multiview.kernels._problem import check_kappas, dual_problem
from isogloss.multiview.solvers import Solution, WhitenedProblem, with_signs
from isogloss.views import Matrix, Views, check_views

__all__ = ["KernelMultiview"]

Array = NDArray[np.float64]

_CHOICES = {
    "regularisation": ("approximate", "exact"),
    "low_rank": (None, "cholesky", "nystrom"),
    "solver": ("auto", "eigen", "operator"),
    "algorithm": ("block", "horst"),
}
# Rows and features above which 'auto' does not form the linear kernel of sparse views.
_LARGE = 1_000


class KernelMultiview(Multiview, ABC):
    """A model whose weights are combinations of kernel columns.

    Subclasses say how the dual problem is solved, from spectra of the kernels or from products with the rows.
    """

    n_components: int
    ridge: float | Sequence[float]
    kernel: Kernel | Sequence[Kernel]
    gamma: float | Sequence[float | None] | None
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    regularisation: str
    low_rank: str | None
    rank: int | None
    low_rank_tol: float
    solver: str
    tol: float
    max_iter: int
    random_state: Any

    def fit(self, views: Any, y: Any = None) -> Self:
        """Find the dual coefficients.

        Parameters
        ----------
        views : Views, list or dict of arrays
            Aligned rows, dense or sparse, none missing; kernel matrices for precomputed kernels.
        y : None
            Not used.
        """
        self._check_parameters()
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
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} sweeps before the gain fell "
                f"to tol={self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
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

    def _check_parameters(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name, allowed[0])
            if value not in allowed:
                raise ValueError(f"{name}={value!r}; expected one of {', '.join(map(repr, allowed))}")
        check_count(self.n_components, "n_components", 1, 10**9, "the number of components")
        check_count(self.max_iter, "max_iter", 1, 10**9, "the most sweeps")
        check_number(self.tol, "tol", 1.0, "the relative gain at which the ascent ends")
        check_number(self.low_rank_tol, "low_rank_tol", 1.0, "the share of the kernel's trace to leave out")
        if self.rank is not None:
            check_count(self.rank, "rank", 1, 10**9, "the number of landmarks")
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
