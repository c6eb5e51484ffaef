r"""CCA and multi-set CCA in the feature spaces of kernels.

.. math:: \max_Y \frac{1}{s-1} \sum_{i<j} \mathrm{tr}(Y_i'K_iK_jY_j), \qquad Y_i'R_iY_i = I,

sections 3.4.3 and 4.4 of [1]_: :math:`K_i` is the centred kernel of the :math:`s` rows of view i, the weights
in its feature space are combinations :math:`Y_i` of the training rows, and :math:`R_i` is the regularised
variance, 'exact' or 'approximate' (:mod:`~isogloss.multiview.kernels._problem`). Regularisation is no choice
here: a kernel as rich as the rows are many makes every correlation one.

With linear kernels and ``regularisation='exact'`` the problem is that of :class:`~isogloss.multiview.CCA` and
:class:`~isogloss.multiview.SumCor` with the same ``ridge``, and so are objective, correlations and variates.
'approximate' adds :math:`\frac{\kappa^2(s-1)}{4(1-\kappa)}I` to :math:`R_i` and agrees for small ridges.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School.
.. [2] D. R. Hardoon, S. Szedmak and J. Shawe-Taylor, *Canonical correlation analysis: an overview with
   application to learning methods*, Neural Computation 16(12), 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from isogloss._estimator import Constraints
from isogloss.multiview._certified import ASCENT_CONSTRAINTS, CertifiedMultiview, gain_of_last_start
from isogloss.multiview.certificates import DENSE_LIMIT, Certificate
from isogloss.multiview.kernels import (
    DualProducts,
    Kernel,
    KernelMultiview,
    ViewKernel,
    dual_problem,
    solve_dual_cca,
    solve_dual_cca_rows,
    solve_dual_sumcor_rows,
    spectrum_again,
    whitened_point,
)
from isogloss.multiview.solvers import Solution, WhitenedProblem, climb_whitened
from isogloss.views import Views


class KernelSumCor(CertifiedMultiview, KernelMultiview):
    """Multi-set CCA with kernels: the sum of correlations over all pairs of views, in feature space.

    Parameters
    ----------
    n_components : int
        Number of components, orthogonal within each view with respect to the regularised variance.
    ridge : float in (0, 1), or one per view
        The thesis's kappa.
    kernel : str or callable, or a list with one per view
        'linear', 'rbf', 'poly', 'sigmoid', 'cosine', 'precomputed' or a function of two rows.
    gamma : float or None, or a list with one per view
        Of rbf, polynomial and sigmoid kernels; None for one over the number of features.
    degree, coef0 : float
        Of polynomial, and of polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Arguments of callable kernels.
    regularisation : {'approximate', 'exact'}
        Equations (4.7) and (4.6) of the thesis; see the module.
    algorithm : {'block', 'horst'}
        All components at once, or one after the other; see :class:`~isogloss.multiview.SumCor`.
    n_init : int or 'auto'
        Number of starts; 'auto' is 10 up to 1,000 directions in all and 1 above. The operator starts once.
    sdp_start : bool
        Climb from the rounded solution of the semidefinite relaxation as well; not with the operator.
    low_rank : {None, 'cholesky', 'nystrom'}
        Approximate kernels from some of their columns; for more than a few thousand rows.
    rank : int, optional
        Most columns of 'cholesky'; number of those of 'nystrom'.
    low_rank_tol : float
        'cholesky' stops when this share of the trace of the kernel is left out.
    solver : {'auto', 'eigen', 'operator'}
        'eigen' decomposes the kernels; 'operator' is for linear ones, multiplies with the rows only and
        solves by conjugate gradients. 'auto' takes it for sparse views with over 1,000 rows and features.
    tol : float
        A start is done when a sweep gains at most this part of its objective.
    max_iter : int
        Most sweeps.
    random_state : int, RandomState or None
        Seed of starts and of random landmarks.

    Attributes
    ----------
    dual_coef_ : list of array (landmarks, components)
        Coefficients of kernel columns.
    landmarks_ : list of array of int
        The training rows that they belong to: all, without ``low_rank``.
    weights_ : list of array (features, components) or None
        What the coefficients amount to in views with a linear kernel.
    intercepts_ : list of array (components,)
        Training means, subtracted from the variates.
    X_fit_ : list of array or None
        Landmarks, where new rows need them.
    correlations_ : array (components, views, views)
        Correlations of the variates on the training rows.
    objective_, objectives_, objective_trace_, start_objectives_, sdp_gain_, converged_, n_iter_
        As in :class:`~isogloss.multiview.SumCor`; the trace never falls.
    certificate_ : Certificate
        How far the first component can be from the global optimum of the dual problem; computed on first
        access, from the rows, to which a reference is kept until the model is saved or copied.
    ranks_ : tuple of int or None
        Ranks of the centred kernels.
    left_out_ : tuple of float
        Share of the trace of each kernel that ``low_rank`` lacks.

    Notes
    -----
    Memory: ``8 (s r + N^2)`` bytes with s rows, r the largest rank and N the sum of ranks; for full kernels
    another ``8 s^2`` per view. Negative eigenvalues of an indefinite kernel are left out, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, size=300)
    >>> views = [np.c_[f(t), rng.normal(size=300)] for f in (np.square, np.cos, np.abs)]
    >>> model = KernelSumCor(1, kernel="rbf", ridge=0.01, random_state=0).fit(views)
    >>> bool(model.correlations_[0].min() > 0.9)
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **KernelMultiview._parameter_constraints,
        **ASCENT_CONSTRAINTS,
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
        algorithm: str = "block",
        n_init: int | str = "auto",
        sdp_start: bool = False,
        low_rank: str | None = None,
        rank: int | None = None,
        low_rank_tol: float = 1e-6,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            ridge=ridge,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            regularisation=regularisation,
            low_rank=low_rank,
            rank=rank,
            low_rank_tol=low_rank_tol,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
        )
        self.algorithm = algorithm
        self.n_init = n_init
        self.sdp_start = sdp_start

    def _solve(self, problem: WhitenedProblem, rng: np.random.RandomState) -> Solution:
        return climb_whitened(
            problem,
            self.n_components,
            algorithm=self.algorithm,
            n_init=self.n_init,
            sdp_start=self.sdp_start,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=rng,
        )

    def _solve_operator(self, products: DualProducts, rng: np.random.RandomState) -> Solution:
        return solve_dual_sumcor_rows(
            products,
            self.n_components,
            algorithm=self.algorithm,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=rng,
        )

    def _take(self, views: Views, kernels: Sequence[ViewKernel], solution: Solution, *basis: Any) -> Self:
        self._fitted_views = views
        self.sdp_gain_ = gain_of_last_start(solution, self.tol) if self.sdp_start else None
        return super()._take(views, kernels, solution, *basis)

    def _wants_operator(self, views: Views, kernels: Sequence[ViewKernel]) -> bool:
        wanted = super()._wants_operator(views, kernels)
        if wanted and self.sdp_start:
            raise ValueError(
                "sdp_start=True needs eigendecomposed kernels; give solver='eigen', or sdp_start=False"
            )
        return wanted

    def _judge_on(self, views: Views) -> Certificate:
        kernels = self._check_views(views)
        self._refuse_too_many_rows(views)
        spectra = [
            spectrum_again(kernel, x, landmarks, low_rank=self.low_rank is not None)
            for kernel, x, landmarks in zip(kernels, views.arrays, self.landmarks_, strict=True)
        ]
        problem = dual_problem(spectra, self.ridge, self.regularisation)
        variates = [Z[:, :1] for Z in self.transform(views)]
        return self._judge(problem.A, problem.sizes, whitened_point(problem, spectra, variates)[:, 0])

    def _refuse_too_many_rows(self, views: Views) -> None:
        directions = int(np.minimum(len(views), views.dims).sum())
        if self.ranks_ is None and directions > DENSE_LIMIT:
            raise ValueError(
                f"{views.n_views} linear kernels of {len(views)} rows have up to {directions} directions; "
                f"a certificate takes {DENSE_LIMIT}: judge the model on some of the rows, "
                "certify(views[:n]), or use SumCor"
            )


class KernelCCA(KernelMultiview):
    """Canonical correlation analysis of two views with kernels.

    The generalised eigenproblem (3.10) of the thesis with regularised diagonal blocks, solved exactly.

    Parameters
    ----------
    n_components, ridge, kernel, gamma, degree, coef0, kernel_params
        As in :class:`KernelSumCor`.
    regularisation, low_rank, rank, low_rank_tol, solver, tol, max_iter, random_state
        As in :class:`KernelSumCor`; only the operator iterates.

    Attributes
    ----------
    dual_coef_, landmarks_, weights_, intercepts_, X_fit_, ranks_, left_out_
        As in :class:`KernelSumCor`.
    correlations_ : array (components,)
        Correlations of the variates on the training rows.
    regularised_correlations_ : array (components,)
        What was maximised.
    spectrum_ : array or None
        All regularised correlations; None from the operator.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, size=200)
    >>> circle, height = np.c_[np.cos(angle), np.sin(angle)], np.sin(2 * angle)[:, None]
    >>> model = KernelCCA(1, kernel="rbf", ridge=0.01).fit([circle, height])
    >>> bool(model.correlations_[0] > 0.99)
    True
    """

    def _solve(self, problem: WhitenedProblem, rng: np.random.RandomState) -> Solution:
        return solve_dual_cca(problem, self.n_components)

    def _solve_operator(self, products: DualProducts, rng: np.random.RandomState) -> Solution:
        return solve_dual_cca_rows(products, self.n_components, tol=self.tol, max_iter=self.max_iter, rng=rng)

    def _take(self, views: Views, kernels: Sequence[ViewKernel], solution: Solution, *basis: Any) -> Self:
        super()._take(views, kernels, solution, *basis)
        self.correlations_ = self.correlations_[:, 0, 1]
        self.regularised_correlations_, self.spectrum_ = solution.objectives, solution.spectrum
        return self

    def _check_views(self, views: Views) -> list[ViewKernel]:
        if views.n_views != 2:
            raise ValueError(f"KernelCCA takes two views; got {views.n_views}: use KernelSumCor")
        return super()._check_views(views)
