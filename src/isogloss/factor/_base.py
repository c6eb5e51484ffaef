"""The base of fitted battery factor analyses: factors, predictions, densities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import Estimator
from isogloss.factor._inference import (
    Conditional,
    ReconstructionErrors,
    conditional,
    factors_of,
    log_density,
    reconstruct,
)
from isogloss.factor._parameters import FactorParameters
from isogloss.factor._steps import factor_posterior
from isogloss.views import Views, ViewsMixin, check_views

Array = NDArray[np.float64]


class FactorDensity(ViewsMixin, TransformerMixin, Estimator):
    """A joint Gaussian of all views, given its parameters.

    Attributes
    ----------
    parameters_ : FactorParameters
        Means, loadings and noise.
    view_names_ : tuple of str
        Names of the views seen in ``fit``.
    dims_ : tuple of int
        Their numbers of features.
    n_rows_ : int
        Rows seen in ``fit``.
    log_likelihood_ : float
        Log-likelihood of those rows.
    """

    parameters_: FactorParameters
    n_rows_: int
    log_likelihood_: float

    @abstractmethod
    def fit(self, views: Any, y: Any = None) -> Self:
        """Learn from views."""

    @property
    def means_(self) -> list[Array]:
        """The mean of each view."""
        return self.parameters_.means

    @property
    def loadings_(self) -> list[Array]:
        """The loadings ``W_v`` (features x factors) of each view."""
        return self.parameters_.loadings

    @property
    def noises_(self) -> list[Array]:
        """The noise covariance of each view."""
        return self.parameters_.noises

    def transform(self, views: Any) -> Array:
        """The posterior mean of the factors (n, k) given the views each row has; zero if it has none."""
        return self.posterior(views).mean

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the factors, such as ``multibatteryfa0``."""
        return np.array(self._component_names(), dtype=object)

    def inverse_transform(self, Z: Any) -> Views:
        """The expected views of rows with the given factors (n, k)."""
        check_is_fitted(self)
        Z = check_array(Z, dtype=np.float64, input_name="Z")
        if Z.shape[1] != self.loadings_[0].shape[1]:
            raise ValueError(
                f"Z has {Z.shape[1]} columns; the model has {self.loadings_[0].shape[1]} factors"
            )
        expected = [mean + Z @ W.T for mean, W in zip(self.means_, self.loadings_, strict=True)]
        return Views(expected, names=self.view_names_)

    def transform_view(self, X: Any, view: int | str) -> Array:
        """The posterior mean of the factors given one view alone."""
        X, index = self._check_one(X, view)
        alone = [X if v == index else None for v in range(len(self.dims_))]
        return factors_of(self.parameters_, Views(alone, dims=self.dims_)).mean

    def posterior(self, views: Any) -> Conditional:
        """The Gaussian of the factors of every row, given the views it has."""
        views = self._check_seen(views)
        return factors_of(self.parameters_, views)

    def posterior_covariance(self, views: Sequence[int | str]) -> Array:
        """Covariance (k, k) of the factors once the given views are seen, whatever they hold."""
        check_is_fitted(self)
        chosen = sorted({self._view_index(view) for view in views})
        return factor_posterior(self.parameters_, tuple(chosen))[0]

    def predict(self, views: Any, view: int | str) -> Conditional:
        """The Gaussian of one view of every row, given the other views that the row has."""
        views = self._check_seen(views)
        return conditional(self.parameters_, views, self._view_index(view))

    def impute(self, views: Any) -> Views:
        """The rows with every view; what is missing has its conditional mean given the rest of its row.

        :meth:`predict` gives the covariances as well.
        """
        views = self._check_seen(views)
        z, filled = factors_of(self.parameters_, views).mean, []
        for v, x in enumerate(views.arrays):
            whole = self.means_[v] + z @ self.loadings_[v].T
            whole[views.present[:, v]] = x.toarray() if hasattr(x, "toarray") else x
            filled.append(whole)
        return Views(filled, names=views.names, ids=views.ids)

    def score_samples(self, views: Any) -> Array:
        """Log density of every row over the views it has."""
        views = self._check_seen(views)
        return log_density(self.parameters_, views)

    def log_likelihood(self, views: Any) -> float:
        """Log density of all rows together."""
        return float(self.score_samples(views).sum())

    def score(self, views: Any, y: Any = None) -> float:
        """Mean log density of the rows."""
        return float(self.score_samples(views).mean())

    def reconstruction_errors(
        self, views: Any, source: int | str = 0, target: int | str = 1
    ) -> ReconstructionErrors:
        """The log density of two views as two scaled errors, over the rows that have both.

        ``source + target + constant`` is the log density of the pair.
        """
        views = self._check_seen(views)
        i, j = self._view_index(source), self._view_index(target)
        if i == j:
            raise ValueError(f"source and target are both {self.view_names_[i]!r}; expected two views")
        x, y = views.shared(i, j)
        return reconstruct(self.parameters_, x, y, i, j)

    def bic(self, views: Any = None) -> float:
        """Bayesian information criterion of rows, of those fitted on by default; lower is better."""
        check_is_fitted(self)
        n = self.n_rows_ if views is None else len(check_views(views))
        likelihood = self.log_likelihood_ if views is None else self.log_likelihood(views)
        return float(self.n_parameters_ * np.log(n) - 2.0 * likelihood)

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters.

        A rotation of the factors changes nothing. With two views and full noise any invertible map of the
        factors can be undone, because only the covariance between the views holds them.
        """
        p = self.parameters_
        k, D = p.n_components, len(p.mean)
        two_full = len(p.dims) == 2 and p.shape.kind == "full"
        turns = k * k if two_full else k * (k - 1) // 2
        return D + D * k - turns + p.shape.parameters(p.dims)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "parameters_")
