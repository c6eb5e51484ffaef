"""Densities, posteriors and samples of a Gaussian mixture with known parameters."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from isogloss._estimator import Estimator
from isogloss.mixture._covariance import SHAPES
from isogloss.mixture._gaps import conditional_means, log_joint_with_gaps
from isogloss.mixture._steps import MixtureParameters, log_joint

__all__ = ["MixtureDensity"]

Array = NDArray[np.float64]


class MixtureDensity(DensityMixin, Estimator):
    """Posteriors, densities, samples and criteria of the mixture in ``parameters_``."""

    n_features_in_: int
    parameters_: MixtureParameters
    covariance_type: str
    missing: str
    random_state: Any

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows."""

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable component of each row."""
        return np.asarray(self._log_joint(X).argmax(axis=1))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int64]:
        """Fit, and give the most probable component of each row."""
        labels: NDArray[np.int64] = self.fit(X, y, sample_weight).predict(X)
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Posterior of the components for each row."""
        joint = self._log_joint(X)
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    def score_samples(self, X: Any) -> Array:
        """Log density of each row (of its observed part, where values are missing)."""
        return np.asarray(logsumexp(self._log_joint(X), axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density."""
        return float(self.score_samples(X).mean())

    def impute(self, X: Any) -> Array:
        """Rows with missing values replaced by their expectation given the observed ones."""
        rows = self._rows(X)
        posterior = self.predict_proba(rows)
        return conditional_means(SHAPES[self.covariance_type], rows, posterior, self.parameters_)

    def sample(self, n_samples: int = 1) -> tuple[Array, NDArray[np.int64]]:
        """Draw rows and the components they came from."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples={n_samples}; expected at least 1")
        rng = check_random_state(self.random_state)
        k, d = self.means_.shape
        labels = np.sort(rng.choice(k, size=n_samples, p=self.weights_))
        factors = np.linalg.cholesky(SHAPES[self.covariance_type].expand(self.covariances_, k, d))
        noise = rng.standard_normal((n_samples, d))
        return self.means_[labels] + np.einsum("nij,nj->ni", factors[labels], noise), labels

    def bic(self, X: Any) -> float:
        """Bayesian information criterion; smaller is better."""
        rows = self._rows(X)
        return -2 * float(self.score_samples(rows).sum()) + self._n_parameters() * float(np.log(len(rows)))

    def aic(self, X: Any) -> float:
        """Akaike information criterion; smaller is better."""
        return -2 * float(self.score_samples(X).sum()) + 2 * self._n_parameters()

    @property
    def weights_(self) -> Array:
        """Share of each component."""
        return self.parameters_.weights

    @property
    def means_(self) -> Array:
        """Mean of each component."""
        return self.parameters_.means

    @property
    def covariances_(self) -> Array:
        """Covariances, in the shape of ``covariance_type``."""
        return self.parameters_.covariances

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        free = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return int(free[self.covariance_type] + k * d + k - 1)

    def _validate(self, X: Any, *, reset: bool) -> Array:
        rows: Array = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=True if self.missing == "raise" else "allow-nan",
        )
        if self.missing == "marginalise":
            blank = np.flatnonzero(np.isnan(rows).all(axis=1))
            if len(blank):
                raise ValueError(
                    f"row {blank[0]} ({len(blank)} rows in all) has no observed value; leave it out"
                )
        return rows

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._validate(X, reset=False).astype(np.float64, copy=False)

    def _log_joint(self, X: Any) -> Array:
        rows, shape = self._rows(X), SHAPES[self.covariance_type]
        joint = log_joint if self.missing == "raise" else log_joint_with_gaps
        return joint(shape, rows, self.parameters_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "marginalise"
        return tags
