r"""Gaussian mixtures by EM and its variants.

.. math:: p(x) = \sum_k \pi_k \, N(x \mid \mu_k, \Sigma_k)

EM for mixtures is described, among many places, in Bishop, *Pattern Recognition and Machine Learning*
(2006), chapter 9; the variants in Neal and Hinton, *A view of the EM algorithm that justifies
incremental, sparse, and other variants* (1998); stepwise EM in Cappé and Moulines (2009).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from isogloss._estimator import (
    OPEN_SHARE,
    POSITIVE,
    POSITIVE_INT,
    POSITIVE_SHARE,
    Constraints,
    Interval,
    StrOptions,
    check_fields,
)
from isogloss.em import (
    EM_CONSTRAINTS,
    Callback,
    EMMixin,
    EMModel,
    EMResult,
    FreeEnergy,
    FullExpectation,
    IncrementalExpectation,
    OnDecrease,
    SparseExpectation,
    best_of,
)
from isogloss.engine import ENGINE_CONSTRAINTS, BatchesMixin, Engine, Source
from isogloss.mixture._covariance import SHAPES
from isogloss.mixture._density import MixtureDensity
from isogloss.mixture._gaps import expect_with_gaps
from isogloss.mixture._start import (
    STARTS,
    Summary,
    check_summary,
    start_parameters,
    summarise,
    with_known_parts,
)
from isogloss.mixture._steps import MixtureParameters, mixture_model
from isogloss.stats import ExpectedCounts

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class EMVariants:
    """Settings of the variants of EM.

    Parameters
    ----------
    refresh : int
        Steps between two refreshes of the active lists of sparse EM.
    active_threshold : float
        Posterior above which a component is active in sparse EM.
    step : float
        Length of a generalised M-step, in (0, 1].
    decay : float
        Stepwise EM in ``partial_fit`` gives batch t the weight ``(t + 1) ** -decay``; in (0.5, 1].
    """

    refresh: int = 10
    active_threshold: float = 1e-4
    step: float = 0.5
    decay: float = 0.6

    def check(self) -> None:
        """Refuse settings that cannot be."""
        check_fields(
            self,
            {
                "refresh": [POSITIVE_INT],
                "active_threshold": [OPEN_SHARE],
                "step": [POSITIVE_SHARE],
                "decay": [Interval(Real, 0.5, 1, closed="right")],
            },
        )


class GaussianMixture(EMMixin, BatchesMixin, MixtureDensity):
    """A mixture of Gaussians, fitted by EM on rows in memory, on disk or on a cluster.

    Parameters
    ----------
    n_components : int
        Number of components.
    covariance_type : {'full', 'tied', 'diag', 'spherical'}
        Each component its own matrix, one matrix for all, variances per feature, one variance.
    algorithm : {'em', 'sparse', 'generalised', 'incremental'}
        'em' looks at everything in every step. 'sparse' keeps a list of active components per row and
        looks at those alone, refreshing the lists now and then; it switches itself on when the lists are
        short. 'generalised' moves only some of the way to the maximum in the M-step. 'incremental' does
        an M-step after every batch of rows. Their settings are in ``variants``.
    accelerate : bool
        Extrapolate with SQUAREM; a jump that would lower the bound is not taken. For the algorithms 'em'
        and 'generalised'.
    tol : float
        EM stops when a sweep gains less than this per row.
    max_iter : int
        Most sweeps over the data.
    n_init : int
        Number of starts; the one with the highest bound is kept.
    init_params : {'kmeans', 'k-means++', 'random_from_data'}
        How a start partitions (a sample of at most 20,000 rows of) the data.
    weights_init, means_init, covariances_init : array, optional
        Parts of the start that are known.
    covariance_floor : float
        No variance falls below this multiple of the smallest variance of a feature that varies (or below
        this number itself if none does). It is a constraint of the M-step, which stays exact under it.
    missing : {'raise', 'marginalise'}
        What NaN means: an error, or a missing value, which EM then treats as hidden.
    variants : EMVariants, optional
        Settings of sparse, generalised and stepwise EM.
    on_decrease : {'raise', 'warn', 'revert'}
        What to do when the bound falls.
    warm_start : bool
        Begin ``fit`` where the last one ended.
    random_state : int, RandomState or None
        Seed of the starts.
    n_jobs : int or None
        Threads over batches of rows; -1 for all cores. The result does not depend on it.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums run, for example :class:`~isogloss.engine.dask.DaskEngine`; threads by default.

    Attributes
    ----------
    parameters_ : :class:`~isogloss.mixture.MixtureParameters`
        The mixture; its parts are also there as ``weights_``, ``means_`` and ``covariances_``, the last
        of shape (K, d, d), (d, d), (K, d) or (K,).
    floor_ : float
        Smallest variance allowed.
    statistic_ : ExpectedCounts
        Expected sums per row, from which ``partial_fit`` goes on.
    n_batches_ : int
        Batches taken in since.
    lower_bound_ : float
        Bound (log-likelihood, where the last E-step was a full one) per row.
    trace_ : tuple of :class:`~isogloss.em.Iteration`
        What each E-step found.
    converged_ : bool
        Whether the tolerance was reached.
    n_iter_ : int
        Steps taken in the best start.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The E-step is one matrix product of quadratic features with the parameters, block by block, so
    memory beyond the data is a few tens of MB whatever the number of rows. One pass over a source costs
    about ``n K d^2`` multiplications (full) or ``4 n K d`` (diag).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-3, 1, (200, 2)), rng.normal(3, 1, (100, 2))])
    >>> mixture = GaussianMixture(2, random_state=0).fit(X)
    >>> mixture.weights_.round(2)
    array([0.67, 0.33])
    >>> mixture.predict([[-3, -3], [3, 3]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "covariance_type": [StrOptions(set(SHAPES))],
        "algorithm": [StrOptions({"em", "sparse", "generalised", "incremental"})],
        "n_init": [POSITIVE_INT],
        "init_params": [StrOptions(set(STARTS))],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "covariances_init": ["array-like", None],
        "covariance_floor": [POSITIVE],
        "missing": [StrOptions({"raise", "marginalise"})],
        "variants": [EMVariants, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        **EM_CONSTRAINTS,
        **ENGINE_CONSTRAINTS,
    }
    _parameter_groups: ClassVar[Mapping[str, type]] = {"variants": EMVariants}

    statistic_: ExpectedCounts
    floor_: float
    n_batches_: int

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        algorithm: str = "em",
        accelerate: bool = False,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: ArrayLike | None = None,
        means_init: ArrayLike | None = None,
        covariances_init: ArrayLike | None = None,
        covariance_floor: float = 1e-6,
        missing: str = "raise",
        variants: EMVariants | None = None,
        on_decrease: OnDecrease = "raise",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.algorithm = algorithm
        self.accelerate = accelerate
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.covariances_init = covariances_init
        self.covariance_floor = covariance_floor
        self.missing = missing
        self.variants = variants
        self.on_decrease = on_decrease
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array (n, d) or Source
            Rows; or a source whose batches are arrays, or pairs of an array and its weights.
        y : None
            Not used.
        sample_weight : array (n,), optional
            Weights of rows; a weight of 2 counts like the row twice.
        callbacks : iterable of callables
            Called as ``callback(iteration, parameters)`` after every E-step; a true answer stops.
        """
        self._validate_params()
        source = self._source(X, sample_weight)
        rng = check_random_state(self.random_state)
        summary = self._summarise(source, rng)
        model = self._model()
        results = [self._climb(model, source, start, callbacks) for start in self._starts(summary, rng)]
        return self._take(best_of(results))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Take in one more batch by stepwise EM: forget a little, add the batch, do one M-step.

        The first batch decides the start, so it should hold some rows of every component.
        """
        self._validate_params()
        first = not hasattr(self, "statistic_")
        source = self._source(X, sample_weight, reset=first)
        if first:
            rng = check_random_state(self.random_state)
            summary = self._summarise(source, rng)
            self.parameters_ = next(iter(self._starts(summary, rng)))
            self.n_batches_ = 0
        model = self._model()
        batch = FullExpectation(model, source, self._engine())(self.parameters_)
        average = batch.blend(batch, 1.0 / batch.rows, 0.0)
        gain = (self.n_batches_ + 1.0) ** -self._variants().decay
        self.statistic_ = average if first else self.statistic_.blend(average, 1.0 - gain, gain)
        self.n_batches_ += 1
        before, self.parameters_ = self.parameters_, model.solve(self.statistic_, self.parameters_)
        self.lower_bound_ = model.free_energy(batch, before).bound / batch.rows
        return self

    def free_energy(self, X: Any, sample_weight: ArrayLike | None = None) -> FreeEnergy:
        """The bound, its two parts and the log-likelihood of rows under the fitted mixture."""
        check_is_fitted(self)
        model = self._model()
        source = self._source(X, sample_weight, reset=False)
        statistic = FullExpectation(model, source, self._engine())(self.parameters_)
        return model.free_energy(statistic, self.parameters_)

    def _validate_params(self) -> None:
        super()._validate_params()
        self._variants().check()
        if self.accelerate and self.algorithm in ("sparse", "incremental"):
            raise ValueError(
                f"accelerate=True works with full E-steps; algorithm={self.algorithm!r} has none"
            )

    def _variants(self) -> EMVariants:
        return EMVariants() if self.variants is None else self.variants

    def _source(self, X: Any, sample_weight: ArrayLike | None, *, reset: bool = True) -> Source[Any]:
        if isinstance(X, Source):
            if sample_weight is not None:
                raise ValueError("a source carries its own weights: give batches (rows, weights)")
            return X
        rows = self._validate(X, reset=reset)
        if sample_weight is None:
            return self._batches(rows)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        if not weights.sum() > 0:
            raise ValueError("sample_weight sums to zero; at least one row must count")
        return self._batches(rows, weights)

    def _summarise(self, source: Source[Any], rng: np.random.RandomState) -> Summary:
        summary = summarise(source, self._engine(), seed=int(rng.randint(2**31 - 1)))
        check_summary(summary, self.n_components, allow_gaps=self.missing == "marginalise")
        self.n_features_in_ = len(summary.means)
        self.floor_ = summary.floor(self.covariance_floor)
        return summary

    def _model(self) -> EMModel[MixtureParameters]:
        variants = self._variants()
        model = mixture_model(
            self.covariance_type,
            floor=self.floor_,
            step=variants.step if self.algorithm == "generalised" else 1.0,
            threshold=variants.active_threshold,
        )
        if self.missing == "raise":
            return model
        shape = SHAPES[self.covariance_type]
        with_gaps = partial(expect_with_gaps, shape, threshold=variants.active_threshold)
        return dataclasses.replace(model, expect=with_gaps, sparse=None)

    def _starts(self, summary: Summary, rng: np.random.RandomState) -> Iterable[MixtureParameters]:
        if self.warm_start and hasattr(self, "parameters_"):
            return [self.parameters_]
        known = {
            "weights": self.weights_init,
            "means": self.means_init,
            "covariances": self.covariances_init,
        }
        shape = SHAPES[self.covariance_type]
        drawn = (
            start_parameters(shape, summary, self.n_components, self.init_params, self.floor_, rng)
            for _ in range(self.n_init)
        )
        return (with_known_parts(start, known) for start in drawn)

    def _climb(
        self,
        model: EMModel[MixtureParameters],
        source: Source[Any],
        start: MixtureParameters,
        callbacks: Iterable[Callback],
    ) -> EMResult[MixtureParameters]:
        engine, variants = self._engine(), self._variants()
        if self.algorithm == "sparse" and model.sparse is not None:
            expectation: Any = SparseExpectation(
                model, source, engine, refresh=variants.refresh, threshold=variants.active_threshold
            )
        elif self.algorithm == "incremental":
            expectation = IncrementalExpectation(model, source, engine)
        else:
            expectation = FullExpectation(model, source, engine)
        return self._run_em(model, expectation, start, callbacks)

    def _take(self, result: EMResult[MixtureParameters]) -> Self:
        self.parameters_ = result.parameters
        self.statistic_ = result.statistic.blend(result.statistic, 1.0 / result.statistic.rows, 0.0)
        self.n_batches_ = 1
        self.lower_bound_ = result.bound / result.statistic.rows
        self._keep_trace(result)
        return self
