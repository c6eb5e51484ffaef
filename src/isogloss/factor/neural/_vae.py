r"""A variational autoencoder of several views, with a product of experts as posterior.

.. math:: z \sim N(0, I_k), \quad x_v \mid z \sim N(f_v(z), \mathrm{diag}(\sigma_v^2)), \\
          q(z \mid x) \propto N(z; 0, I) \prod_{v\ \mathrm{present}}
          N(z; \mu_v(x_v), \mathrm{diag}(\tau_v(x_v))^{-1})

with neural networks :math:`f_v, \mu_v, \log\tau_v`. The product [1]_ is a Gaussian whose precision is the
sum of those of the experts, so a view that is missing is left out and needs no imputation. Training
maximises the evidence lower bound [2]_

.. math:: E_{q(z \mid x_S)} \sum_{v\ \mathrm{present}} \log p(x_v \mid z)
          - \mathrm{KL}(q(z \mid x_S) \,\|\, N(0, I))

with gradients by the reparametrisation trick. :math:`S` are the views that a row has or, for a part of the
rows, only one of them. It is a bound for every :math:`S`, and so each expert learns to do without the others.

Without hidden layers :math:`f_v` is linear, and the model is :class:`~isogloss.factor.MultiBatteryFA` with
diagonal noise.

References
----------
.. [1] M. Wu, N. Goodman, "Multimodal generative models for scalable weakly-supervised learning", NeurIPS
   2018.
.. [2] D. Kingma, M. Welling, "Auto-encoding variational Bayes", ICLR 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import (
    N_JOBS,
    POSITIVE,
    POSITIVE_INT,
    SHARE,
    Constraints,
    Estimator,
    Interval,
    warn_caller,
)
from isogloss.factor.neural._training import Layers, VAESettings, train
from isogloss.views import Views, ViewsMixin, check_views

Array = NDArray[np.float64]

# Log precisions of experts beyond this are as good as certain.
_MAX_LOG_PRECISION = 15.0


class MultiViewVAE(ViewsMixin, TransformerMixin, Estimator):
    r"""Variational autoencoder of any number of views, any of which may be missing in any row.

    Parameters
    ----------
    n_components : int
        k, the dimension of the latent space.
    hidden_layer_sizes : sequence of int
        Units (tanh) of the hidden layers of every encoder, and in reverse order of every decoder. Empty for
        linear maps.
    single_view_share : float in [0, 1]
        Share of rows of a batch whose posterior is that of one of their views, drawn at random.
    noise_floor : float
        Least variance of the noise of a feature, of one of variance 1.
    learning_rate : float
        Step size of Adam.
    batch_size : int
        Rows of a step.
    max_iter : int
        Most passes over the rows.
    validation_fraction : float in [0, 1]
        Share of rows that are held out to decide when to stop; 0 to make all ``max_iter`` passes.
    n_iter_no_change : int
        Stop when the bound of the held-out rows was best this many passes ago; the best weights are kept.
    random_state : int, RandomState or None
        Seed of initial weights, of the order of rows and of the noise.
    n_jobs : int or None
        Threads of PyTorch; 1 by default, -1 for all cores.

    Attributes
    ----------
    encoders_, decoders_ : list of list of array
        Weights and biases of the layers of each view, in turn.
    noise_variances_ : list of array
        Variance of the noise of each standardised feature.
    means_, deviations_ : list of array
        What is subtracted from the features of each view, and what they are divided by.
    trace_ : array (passes, 2)
        Bound per row, in nats, of the rows trained on and of those held out (NaN without any).
    n_iter_ : int
        Passes that were made.
    view_names_, dims_
        Names and numbers of features of the views.

    Notes
    -----
    The latent space is determined up to whatever maps a standard normal distribution to itself. Unused
    dimensions have a posterior near the prior. Bounds are of rows in their own units, so they compare
    with ``score`` of :class:`~isogloss.factor.MultiBatteryFA`.

    Needs at least two views. Training needs the extra ``torch``. Sparse views are made dense.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "hidden_layer_sizes": ["array-like", tuple],
        "single_view_share": [SHARE],
        "noise_floor": [POSITIVE],
        "learning_rate": [POSITIVE],
        "batch_size": [POSITIVE_INT],
        "max_iter": [POSITIVE_INT],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "n_iter_no_change": [POSITIVE_INT],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    encoders_: list[Layers]
    decoders_: list[Layers]
    noise_variances_: list[Array]
    means_: list[Array]
    deviations_: list[Array]
    trace_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden_layer_sizes: Sequence[int] = (64,),
        single_view_share: float = 0.5,
        noise_floor: float = 1e-3,
        learning_rate: float = 3e-3,
        batch_size: int = 256,
        max_iter: int = 500,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.hidden_layer_sizes = hidden_layer_sizes
        self.single_view_share = single_view_share
        self.noise_floor = noise_floor
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, views: Any, y: Any = None) -> Self:
        """Train the networks.

        Parameters
        ----------
        views : Views, list or dict of arrays
            Aligned rows, some of which may be missing.
        y : None
            Not used.
        """
        self._validate_params()
        views = _dense(check_views(views, min_views=2))
        if len(views) < 2:
            raise ValueError(f"views have {len(views)} row(s); expected at least 2")
        self.view_names_, self.dims_ = views.names, views.dims
        self.means_, self.deviations_ = _moments(views)
        trained = train(_filled(self._standardised(views)), views.present, views.dims, self._settings())
        self.encoders_, self.decoders_ = trained.encoders, trained.decoders
        self.noise_variances_ = trained.noise_variances
        self.trace_ = trained.trace + self._log_scale(views.present)
        self.n_iter_ = len(trained.trace)
        if self.validation_fraction and self.n_iter_ == self.max_iter:
            warn_caller(
                f"MultiViewVAE stopped after max_iter={self.max_iter} passes, before the held-out bound "
                "stopped rising; raise max_iter or learning_rate",
                ConvergenceWarning,
            )
        return self

    def _settings(self) -> VAESettings:
        return VAESettings(
            n_components=self.n_components,
            hidden=tuple(int(units) for units in self.hidden_layer_sizes),
            single_view_share=self.single_view_share,
            noise_floor=self.noise_floor,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            validation_fraction=float(self.validation_fraction),
            n_iter_no_change=self.n_iter_no_change,
            random_state=check_random_state(self.random_state),
            n_jobs=self.n_jobs,
        )

    def transform(self, views: Any) -> Array:
        """The posterior mean (n, k) of the latent vectors given the views each row has; 0 if it has none."""
        return self.posterior(views)[0]

    def transform_view(self, X: Any, view: int | str) -> Array:
        """The posterior mean of the latent vectors given one view alone."""
        X, index = self._check_one(X, view)
        alone = [X if v == index else None for v in range(len(self.dims_))]
        return self.transform(Views(alone, names=self.view_names_, dims=self.dims_))

    def posterior(self, views: Any) -> tuple[Array, Array]:
        """Means and variances (n, k) of the latent vectors given the views that each row has."""
        views = self._check_seen(views)
        scaled = self._standardised(views)
        precision = np.ones((len(views), self._width()))
        weighted = np.zeros_like(precision)
        for v, x in enumerate(scaled.arrays):
            rows = views.present[:, v]
            if rows.any():
                mean, log_precision = np.split(_network(np.asarray(x), self.encoders_[v]), 2, axis=1)
                expert = np.exp(np.minimum(log_precision, _MAX_LOG_PRECISION))
                precision[rows] += expert
                weighted[rows] += expert * mean
        return weighted / precision, 1.0 / precision

    def inverse_transform(self, Z: Any) -> Views:
        """The expected views of rows with the given latent vectors (n, k)."""
        check_is_fitted(self)
        Z = check_array(Z, dtype=np.float64, input_name="Z")
        if Z.shape[1] != self._width():
            raise ValueError(f"Z has {Z.shape[1]} columns; the model has {self._width()} components")
        expected = [
            _network(Z, decoder) * deviation + mean
            for decoder, mean, deviation in zip(self.decoders_, self.means_, self.deviations_, strict=True)
        ]
        return Views(expected, names=self.view_names_)

    def impute(self, views: Any) -> Views:
        """The rows with every view; missing ones are decoded from the posterior mean of their row."""
        views = self._check_seen(views)
        decoded = self.inverse_transform(self.transform(views))
        filled = []
        for v, (x, guess) in enumerate(zip(_dense(views).arrays, decoded.arrays, strict=True)):
            whole = np.array(guess)
            whole[views.present[:, v]] = x
            filled.append(whole)
        return Views(filled, names=views.names, ids=views.ids)

    def score_samples(self, views: Any, *, n_samples: int = 100, random_state: Any = 0) -> Array:
        """A lower bound on the log density of every row over the views it has.

        Importance weighted: it rises to the log density with the number of samples from the posterior, and
        with one is the evidence lower bound, on average.
        """
        views = self._check_seen(views)
        rng = check_random_state(random_state)
        mean, variance = self.posterior(views)
        scaled = self._standardised(views)
        weights = np.empty((n_samples, len(views)))
        for s in range(n_samples):
            noise = rng.standard_normal(mean.shape)
            z = mean + np.sqrt(variance) * noise
            weights[s] = 0.5 * (noise**2 + np.log(variance) - z**2).sum(axis=1) + self._log_density(scaled, z)
        high = weights.max(axis=0)
        density = high + np.log(np.exp(weights - high).mean(axis=0))
        return np.asarray(density - views.present @ self._log_deviations())

    def score(self, views: Any, y: Any = None) -> float:
        """Mean of the bounds of :meth:`score_samples` over the rows."""
        return float(self.score_samples(views).mean())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the latent dimensions, such as ``multiviewvae0``."""
        return np.array(self._component_names(), dtype=object)

    def _standardised(self, views: Views) -> Views:
        """Dense views with the scale of the rows of the fit."""
        dense = _dense(views)
        arrays = [
            (x - mean) / deviation
            for x, mean, deviation in zip(dense.arrays, self.means_, self.deviations_, strict=True)
        ]
        return Views(arrays, names=views.names, present=views.present, dims=views.dims)

    def _log_density(self, scaled: Views, z: Array) -> Array:
        """Log density of the standardised views of every row given its latent vector."""
        out = np.zeros(len(z))
        for v, x in enumerate(scaled.arrays):
            rows = scaled.present[:, v]
            if rows.any():
                variance = self.noise_variances_[v]
                error = x - _network(z[rows], self.decoders_[v])
                out[rows] -= 0.5 * (error**2 / variance + np.log(2 * np.pi * variance)).sum(axis=1)
        return out

    def _width(self) -> int:
        return int(self.decoders_[0][0].shape[0])

    def _log_deviations(self) -> Array:
        return np.array([np.log(deviation).sum() for deviation in self.deviations_])

    def _log_scale(self, present: NDArray[np.bool_]) -> float:
        """Difference per row between bounds of standardised rows and of rows in their own units."""
        return -float((present @ self._log_deviations()).mean())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "decoders_")


def _dense(views: Views) -> Views:
    arrays = [x.toarray() if hasattr(x, "toarray") else x for x in views.arrays]
    ids = None if views.ids is None else list(views.ids)
    return Views(arrays, names=views.names, present=views.present, ids=ids, dims=views.dims)


def _moments(views: Views) -> tuple[list[Array], list[Array]]:
    """Means and standard deviations of the features; of constant ones, and of views without rows, 1."""
    means, deviations = [], []
    for x, width in zip(views.arrays, views.dims, strict=True):
        means.append(x.mean(axis=0) if len(x) else np.zeros(width))
        spread = x.std(axis=0) if len(x) else np.zeros(width)
        deviations.append(np.where(spread > 0, spread, 1.0))
    return means, deviations


def _filled(views: Views) -> list[Array]:
    """The views with a row of zeros for every missing one."""
    out = []
    for v, x in enumerate(views.arrays):
        whole = np.zeros((len(views), views.dims[v]))
        whole[views.present[:, v]] = x
        out.append(whole)
    return out


def _network(X: Array, layers: Layers) -> Array:
    """Dense layers with tanh between them."""
    for index in range(0, len(layers), 2):
        X = X @ layers[index] + layers[index + 1]
        if index + 2 < len(layers):
            X = np.tanh(X)
    return X
