"""Mixtures of Bernoulli distributions: rows of zeros and ones that come from a few kinds of rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from isogloss._estimator import POSITIVE_INT, Constraints
from isogloss.engine import Engine
from isogloss.graphical.learning._latent_class import LatentClassModel
from isogloss.graphical.network import BayesianNetwork

Array = NDArray[np.float64]


class BernoulliMixture(DensityMixin, LatentClassModel):
    """A mixture of products of Bernoulli distributions.

    Parameters
    ----------
    n_components : int
        Number of components.
    smoothing : float
        Pseudo-counts of every component, and of zero and one of every feature in every component.
    tol, max_iter : float, int
        EM stops when a pass gains less per row, or after so many passes.
    n_init : int
        Number of starts; the one with the highest bound is kept.
    random_state : int, RandomState or None
        Seed of the starts and of ``sample``.
    n_jobs : int or None
        Threads over batches of rows; the result does not depend on them.
    engine : Engine, optional
        Where the sums run; threads by default.

    Attributes
    ----------
    weights_ : array (n_components,)
        Shares of the components.
    probabilities_ : array (n_components, n_features)
        Chance of a one.
    parameters_, lower_bound_, trace_, converged_, n_iter_
        As in :class:`~isogloss.graphical.NaiveBayes`.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    NaN is a missing value. The component is the hidden class of
    :class:`~isogloss.graphical.NaiveBayes`, and the steps of EM are the same.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    >>> mixture = BernoulliMixture(2, smoothing=0.1, random_state=0).fit(X)
    >>> labels = mixture.predict(X)
    >>> (labels == labels[0]).tolist()
    [True, True, True, False, False, False]
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **LatentClassModel._parameter_constraints,
        "n_components": [POSITIVE_INT],
    }

    n_features_in_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        smoothing: float = 0.0,
        tol: float = 1e-5,
        max_iter: int = 500,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.smoothing = smoothing
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture to rows of zeros and ones."""
        self._validate_params()
        codes = self._codes(X, reset=True)
        weights = _check_sample_weight(sample_weight, codes, dtype=np.float64, ensure_non_negative=True)
        self.cards_ = (2,) * codes.shape[1]
        return self._climb(codes, np.full(len(codes), -1, dtype=np.int32), weights, self.n_components)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable component of each row."""
        return np.asarray(self._asked(X)[0].argmax(axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of a row."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw rows and the components they came from."""
        check_is_fitted(self, "parameters_")
        rng = check_random_state(self.random_state)
        labels = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        chances = self.probabilities_[labels]
        return (rng.uniform(size=chances.shape) < chances).astype(np.int64), np.asarray(labels)

    def network(self) -> BayesianNetwork:
        """The graph: the component and an arrow from it to every feature X1, X2, ..."""
        k, d = getattr(self, "n_components", 0), len(getattr(self, "cards_", ()))
        states = [["0", "1"]] * d
        return self._star("component", [str(c) for c in range(k)], [f"X{i + 1}" for i in range(d)], states)

    @property
    def weights_(self) -> Array:
        """Shares of the components."""
        return self.parameters_.weights

    @property
    def probabilities_(self) -> Array:
        """Chance of a one, by component and feature."""
        return np.ascontiguousarray(self.parameters_.tables[1::2].T)

    def _asked(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self, "parameters_")
        return self._posterior(self._codes(X, reset=False))

    def _codes(self, X: Any, *, reset: bool) -> NDArray[np.int32]:
        rows: Array = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        gaps = np.isnan(rows)
        odd = ~gaps & (rows != 0) & (rows != 1)
        if odd.any():
            row, column = np.argwhere(odd)[0]
            raise ValueError(
                f"row {row}, feature {column} is {rows[row, column]}; expected 0, 1 or NaN (missing)"
            )
        return np.where(gaps, -1, np.where(gaps, 0, rows)).astype(np.int32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
