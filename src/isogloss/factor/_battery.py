r"""Multiple-battery factor analysis: one latent vector explains every view of a row.

.. math:: x_v = \mu_v + W_v z + \epsilon_v, \qquad z \sim N(0, I_k), \quad \epsilon_v \sim N(0, \Psi_v)

(M. W. Browne, *Factor analysis of multiple batteries by maximum likelihood*, 1980), fitted by EM as in
appendix E of the supplement of *Multilingual factor analysis*, with missing views integrated out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from isogloss._estimator import NON_NEGATIVE, POSITIVE_INT, POSITIVE_SHARE, Constraints, StrOptions
from isogloss.em import EM_CONSTRAINTS, Callback, EMMixin, FullExpectation, OnDecrease
from isogloss.engine import ENGINE_CONSTRAINTS, Batches, Engine, LocalEngine
from isogloss.factor._base import FactorDensity
from isogloss.factor._collect import check_moments, collect_patterns
from isogloss.factor._data import FactorData, prepare
from isogloss.factor._noise import NOISES
from isogloss.factor._parameters import FactorParameters
from isogloss.factor._start import maxvar_start, random_start
from isogloss.factor._steps import factor_model, log_likelihood_of
from isogloss.stats import PatternMoments

Array = NDArray[np.float64]


class MultiBatteryFA(EMMixin, FactorDensity):
    r"""Factor analysis of any number of views, any of which may be missing in any row.

    Parameters
    ----------
    n_components : int
        k, the number of factors.
    noise : {'full', 'diag', 'isotropic'}
        Noise of a view: a covariance matrix, a variance per feature, one variance. With 'full' a factor is
        what views share; with the other two also what features of one view share, as in plain factor
        analysis and probabilistic PCA.
    noise_floor : float
        Least share of the variance that is noise: of every direction of a view (full), of every feature
        (diag), of a view's mean variance (isotropic). A constraint of the M-step. Factors that explain a
        direction entirely (Heywood cases) are common, seldom real, and slow to reach; below some 1e-5
        rounding takes over.
    ridge : float
        Fit as if every view had this share of its variance added as independent noise. Full noise needs
        it for a view with no more rows than features.
    init : {'maxvar', 'random'}
        Begin at the leading eigenvectors of the whitened covariance, or at random.
    accelerate : bool
        Longer M-steps for complete rows, and SQUAREM extrapolation. False is plain EM.
    tol : float
        Stop when a step gains less log-likelihood than this per row.
    max_iter : int
        Most steps.
    on_decrease : {'raise', 'warn', 'revert'}
        What to do when the likelihood falls by more than rounding.
    keep_moments : bool
        Keep ``moments_``, so that ``partial_fit`` can add rows.
    random_state : int, RandomState or None
        Seed of the random start.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores. The result does not depend on it.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run, for example :class:`~isogloss.engine.dask.DaskEngine`; threads by default.

    Attributes
    ----------
    parameters_ : :class:`~isogloss.factor.FactorParameters`
        Stacked; per view as ``means_``, ``loadings_`` and ``noises_``.
    moments_ : :class:`~isogloss.stats.PatternMoments`
        What was learned from. Patterns with fewer rows than features are kept as rows, also in a model
        file; give ``keep_moments=False`` where that must not be.
    log_likelihood_ : float
        Log-likelihood of the rows.
    trace_ : tuple of :class:`~isogloss.em.Iteration`
        What each E-step found.
    n_iter_, converged_
        Steps taken, and whether the tolerance was reached.
    n_rows_, dims_, view_names_
        What was seen.

    Notes
    -----
    One pass over the rows, then they are not needed: a step costs some :math:`d_o k \min(n_o, d_o)`
    multiplications for each presence pattern of :math:`n_o` rows and :math:`d_o` features, whatever the
    number of rows. Memory is that of :class:`~isogloss.stats.PatternMoments`.

    Factors are determined up to a rotation. Where ``OptimalWeighting`` weighs three views by how noisy they
    are, ``transform`` gives the posterior mean :math:`E[z \mid x_1, x_2, x_3]`, which under this model is
    the best weighting there is, for any number of views and rows that lack some.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.views import Views
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 1))
    >>> data = [z @ rng.normal(size=(1, d)) + rng.normal(size=(500, d)) for d in (3, 4, 5)]
    >>> views = Views(data, names=["en", "de", "sl"], present=rng.random((500, 3)) > 0.3)
    >>> model = MultiBatteryFA(n_components=1).fit(views)
    >>> bool(abs(np.corrcoef(model.transform(views)[:, 0], z[:, 0])[0, 1]) > 0.8)
    True
    >>> model.impute(views)
    Views(500 rows; en: 3 features, 500 rows; de: 4 features, 500 rows; sl: 5 features, 500 rows)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "noise": [StrOptions(set(NOISES))],
        "noise_floor": [POSITIVE_SHARE],  # without a floor the likelihood has no bound
        "ridge": [NON_NEGATIVE],
        "init": [StrOptions({"maxvar", "random"})],
        "keep_moments": ["boolean"],
        "random_state": ["random_state"],
        **EM_CONSTRAINTS,
        **ENGINE_CONSTRAINTS,
    }

    moments_: PatternMoments

    def __init__(
        self,
        n_components: int = 2,
        *,
        noise: str = "full",
        noise_floor: float = 1e-3,
        ridge: float = 0.0,
        init: str = "maxvar",
        accelerate: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        on_decrease: OnDecrease = "revert",
        keep_moments: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.noise = noise
        self.noise_floor = noise_floor
        self.ridge = ridge
        self.init = init
        self.accelerate = accelerate
        self.tol = tol
        self.max_iter = max_iter
        self.on_decrease = on_decrease
        self.keep_moments = keep_moments
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def fit(self, views: Any, y: Any = None, *, callbacks: Iterable[Callback] = ()) -> Self:
        """Fit the model.

        Parameters
        ----------
        views : Views, list or dict of arrays, or Source
            Aligned rows, some of which may be missing; or a source of such batches.
        y : None
            Not used.
        callbacks : iterable of callables
            Called as ``callback(iteration, parameters)`` after every E-step; a true answer stops.
        """
        self._validate_params()
        moments, names = collect_patterns(views, self._engine(), self.batch_rows)
        return self._fit(moments, names, callbacks)

    def fit_moments(
        self,
        moments: PatternMoments,
        names: Iterable[str] | None = None,
        *,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Fit from sums over the rows, taken anywhere; views are ``view0``, ``view1``, ... by default."""
        self._validate_params()
        given = tuple(f"view{v}" for v in range(len(moments.dims))) if names is None else tuple(names)
        if len(given) != len(moments.dims):
            raise ValueError(f"{len(given)} names for {len(moments.dims)} views; expected one each")
        return self._fit(moments, given, callbacks)

    def partial_fit(self, views: Any, y: Any = None) -> Self:
        """Add rows to those seen, and fit again; the same as one ``fit`` on all of them.

        As long as there are too few rows for the model, they are only collected.
        """
        self._validate_params()
        if hasattr(self, "parameters_") and not hasattr(self, "moments_"):
            raise ValueError("partial_fit adds to moments_, which keep_moments=False gave up; use fit")
        moments, names = collect_patterns(views, self._engine(), self.batch_rows)
        if hasattr(self, "moments_"):
            if (names, moments.dims) != (self.view_names_, self.dims_):
                raise ValueError(
                    f"these rows have views {dict(zip(names, moments.dims, strict=True))}; "
                    f"those before had {dict(zip(self.view_names_, self.dims_, strict=True))}"
                )
            moments = self.moments_.merge(moments)
        self.moments_, self.view_names_, self.dims_ = moments, names, moments.dims
        try:
            self._check_moments(moments, names)
        except ValueError:
            if hasattr(self, "parameters_"):
                raise
            return self
        return self._fit(moments, names, ())

    def _fit(self, moments: PatternMoments, names: tuple[str, ...], callbacks: Iterable[Callback]) -> Self:
        self._check_moments(moments, names)
        data = prepare(moments, self.noise, ridge=self.ridge)
        self._solve(data, tuple(callbacks))
        self.view_names_, self.dims_, self.n_rows_ = names, moments.dims, moments.n_rows
        self.log_likelihood_ = log_likelihood_of(self.parameters_, moments)
        self.__dict__.pop("moments_", None)
        if self.keep_moments:
            self.moments_ = moments
        return self

    def _solve(self, data: FactorData, callbacks: tuple[Callback, ...]) -> None:
        self._climb(data, self._start(data), callbacks)

    def _start(self, data: FactorData) -> FactorParameters:
        if self.init == "random":
            return random_start(data, self.n_components, self.noise_floor, self.random_state)
        return maxvar_start(data, self.n_components, self.noise_floor)

    def _climb(self, data: FactorData, start: FactorParameters, callbacks: tuple[Callback, ...]) -> None:
        """EM from a start, in standardised units; what is kept and reported is in those of the rows."""
        model = factor_model(data, floor=self.noise_floor, accelerate=self.accelerate)
        result = self._run_em(
            model,
            FullExpectation(model, Batches([data]), LocalEngine()),
            start,
            [_in_units_of_rows(callback, data) for callback in callbacks],
        )
        self.parameters_ = result.parameters.moved(data.units)
        self._keep_trace(result)

    def _check_moments(self, moments: PatternMoments, names: tuple[str, ...]) -> None:
        check_moments(moments, names, self.n_components, self.noise, self.ridge)


def _in_units_of_rows(callback: Callback, data: FactorData) -> Callback:
    return lambda line, p: callback(line, p.moved(data.units))
