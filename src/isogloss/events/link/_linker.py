r"""Link classifier: a linear support vector machine with calibrated probabilities.

Features are standardised, unbounded ones after taking logarithms; a missing feature is imputed by its mean,
so it contributes nothing. With :math:`z` the standardised features and :math:`w, b` the fitted hyperplane,

.. math::

    f = b + \sum_k w_k z_k, \qquad P(\text{same story}) = \frac{1}{1 + \exp(-\alpha f - \beta)},

where :math:`\alpha, \beta` are fitted to held-out values of f (Platt scaling). The contribution of a feature
is :math:`\alpha w_k z_k`; contributions and a constant add up to the log odds. A feature with a given weight
is not learned: it adds this weight times its value to the log odds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from isogloss import io
from isogloss._estimator import POSITIVE, Constraints, Estimator
from isogloss.events.link._features import FEATURES

__all__ = ["Linker"]

Array = NDArray[np.float64]

_C_GRID = (0.01, 0.03, 0.1, 0.3)
_N_FOLDS = 5
_MAX_DEVIATIONS = 4.0
"""Standard deviations at which a feature is clipped, so that no outlier decides alone."""


class Linker(ClassifierMixin, Estimator):
    """Classifies pairs of clusters as one story or two.

    Parameters
    ----------
    features : sequence of str
        Names of the features, in the order of the columns.
    log_features : sequence of str
        Features that are transformed by log(1 + x).
    given : sequence of (str, float)
        Features with a fixed weight, in log odds per unit. The default makes links between clusters without
        bodies less likely: among titles nearly all candidates are wrong, which labelled pairs do not show.
    C : float or None
        Regularisation parameter of the SVM; None to choose it by cross-validation on the training pairs.
    random_state : int
        Seed of the cross-validation splits.

    Attributes
    ----------
    means_, scales_ : array
        Of the features, ignoring missing values.
    weights_, offset_ : array, float
        The hyperplane w, b.
    slope_, shift_ : float
        Of the calibration, alpha and beta.
    C_ : float
        The regularisation parameter in use.
    classes_ : array
        0 and 1: different stories, one story.

    Examples
    --------
    >>> linker = Linker(features=("likeness", "hours"), log_features=("hours",), C=1.0)
    >>> pairs = [[0.1 * i, 10.0 * (9 - i)] for i in range(10)]
    >>> linker.fit(pairs, [0] * 5 + [1] * 5).predict([[0.9, 5.0], [0.2, np.nan]])
    array([1, 0])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "features": [Sequence],
        "log_features": [Sequence],
        "given": [Sequence],
        "C": [POSITIVE, None],
        "random_state": ["random_state"],
    }

    means_: Array
    scales_: Array
    weights_: Array
    offset_: float
    slope_: float
    shift_: float
    C_: float
    classes_: NDArray[np.int64]

    def __init__(
        self,
        features: Sequence[str] = FEATURES,
        *,
        log_features: Sequence[str] = ("linkCount", "timeDiff", "timeGap"),
        given: Sequence[tuple[str, float]] = (("titlesAlone", -0.8),),
        C: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.features = features
        self.log_features = log_features
        self.given = given
        self.C = C
        self.random_state = random_state

    @classmethod
    def default(cls) -> Linker:
        """Return the linker of isogloss, trained on its sample news by ``isogloss link train``."""
        return _load_default()

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier to labelled pairs.

        Parameters
        ----------
        X : array (pairs x features)
            Features; NaN where one is missing.
        y : array of 0 and 1
            Whether each pair is one story.
        """
        self._validate_params()
        raw, labels = self._check(X), np.asarray(y).astype(np.int64)
        if len(raw) != len(labels):
            raise ValueError(
                f"got {len(raw)} pairs and {len(labels)} labels; expected one label for each pair"
            )
        counts = np.bincount(labels, minlength=2)
        if len(counts) > 2 or counts.min() < 2:
            raise ValueError(
                f"labels have {counts.tolist()} pairs each; expected labels 0 and 1, two pairs or more each"
            )
        self.classes_ = np.array([0, 1])
        self._standardise(raw)
        Z = self._scaled(raw)
        self.C_ = self.C if self.C is not None else self._choose_regularisation(Z, labels)
        machine = SVC(kernel="linear", C=self.C_).fit(Z, labels)
        self.weights_, self.offset_ = machine.coef_[0].copy(), float(machine.intercept_[0])
        self._calibrate(Z, labels)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log odds that pairs are one story."""
        check_is_fitted(self)
        raw = self._check(X)
        inner = self._scaled(raw) @ self.weights_ + self.offset_
        return np.asarray(self.slope_ * inner + self.shift_ + self._from_given(raw))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities that pairs are different stories, and one story."""
        chance = expit(self.decision_function(X))
        return np.column_stack([1 - chance, chance])

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return 1 for pairs on the positive side of the hyperplane and 0 for others."""
        check_is_fitted(self)
        raw = self._check(X)
        inner = self._scaled(raw) @ self.weights_ + self.offset_
        given = self._from_given(raw) / max(abs(self.slope_), 1e-12)
        return np.asarray(inner + given > 0).astype(np.int64)

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that a pair with these features is one story."""
        return float(expit(self.decision_function([self.row(features)])[0]))

    def row(self, features: Mapping[str, float]) -> list[float]:
        """Return named features as a row."""
        return [features[name] for name in self.features]

    def shares(self, X: ArrayLike) -> Array:
        """Return the contribution of each feature to the log odds; that of a missing one is 0."""
        check_is_fitted(self)
        raw = self._check(X)
        return np.asarray(
            self.slope_ * self.weights_ * self._scaled(raw) + np.nan_to_num(raw) * self._given_weights()
        )

    @property
    def constant(self) -> float:
        """Log odds of a pair whose features are all missing."""
        return self.slope_ * self.offset_ + self.shift_

    def contributions(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return the contributions by feature name; ``(constant)`` is the constant."""
        shares = self.shares([self.row(features)])[0].tolist()
        return {**dict(zip(self.features, shares, strict=True)), "(constant)": self.constant}

    def _check(self, X: ArrayLike) -> Array:
        raw = np.array(X, dtype=np.float64, ndmin=2)
        if raw.ndim != 2 or raw.shape[1] != len(self.features):
            raise ValueError(
                f"pairs of shape {raw.shape}; expected a row of {len(self.features)} features for each: "
                f"{', '.join(self.features)}"
            )
        if np.isinf(raw).any():
            raise ValueError("a feature is infinite; expected finite numbers, or NaN where one is missing")
        return raw

    def _log_transform(self, raw: Array) -> Array:
        out = raw.copy()
        for column, name in enumerate(self.features):
            if name in self.log_features:
                out[:, column] = np.log1p(np.maximum(out[:, column], 0.0))
        return out

    def _standardise(self, raw: Array) -> None:
        values = self._log_transform(raw)
        known = ~np.isnan(values)
        counts = np.maximum(known.sum(axis=0), 1)
        self.means_ = np.where(known, values, 0.0).sum(axis=0) / counts
        spread = np.where(known, values - self.means_, 0.0)
        deviations = np.sqrt((spread**2).sum(axis=0) / counts)
        self.scales_ = np.where(deviations > 1e-12, deviations, 1.0)

    def _given_weights(self) -> Array:
        """Return the fixed weight of each feature; 0 for those that are learned."""
        weights = dict(self.given)
        return np.array([weights.get(name, 0.0) for name in self.features])

    def _from_given(self, raw: Array) -> Array:
        return np.asarray(np.nan_to_num(raw) @ self._given_weights())

    def _scaled(self, raw: Array) -> Array:
        scaled = (
            np.where(self._given_weights() == 0, self._log_transform(raw) - self.means_, 0.0) / self.scales_
        )
        return np.clip(np.where(np.isnan(scaled), 0.0, scaled), -_MAX_DEVIATIONS, _MAX_DEVIATIONS)

    def _folds(self, labels: NDArray[np.int64]) -> StratifiedKFold:
        folds = min(_N_FOLDS, int(np.bincount(labels).min()))
        return StratifiedKFold(folds, shuffle=True, random_state=self.random_state)

    def _choose_regularisation(self, Z: Array, labels: NDArray[np.int64]) -> float:
        """Choose the C with the best accuracy in cross-validation; the smallest of equals."""
        folds = self._folds(labels)
        scores = [cross_val_score(SVC(kernel="linear", C=C), Z, labels, cv=folds).mean() for C in _C_GRID]
        return _C_GRID[int(np.argmax(np.round(scores, 9)))]

    def _calibrate(self, Z: Array, labels: NDArray[np.int64]) -> None:
        machine = SVC(kernel="linear", C=self.C_)
        values = cross_val_predict(machine, Z, labels, cv=self._folds(labels), method="decision_function")
        curve = LogisticRegression(C=1e6).fit(values[:, None], labels)
        self.slope_, self.shift_ = float(curve.coef_[0, 0]), float(curve.intercept_[0])


@cache
def _load_default() -> Linker:
    with as_file(files("isogloss.events.link").joinpath("linker.isogloss")) as path:
        return io.load(path, expected=Linker)
