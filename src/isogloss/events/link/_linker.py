r"""Link classifier: logistic regression whose weights have the sign that makes sense.

Features are standardised, unbounded ones after taking logarithms; a count of differences is
only scaled. With :math:`z` the standardised features,

.. math::

    \log \frac{P(\text{same story})}{P(\text{two stories})} = b + \sum_{k \text{ known}} w_k z_k
        + \sum_{k \text{ missing}} m_k + \sum_k g_k x_k,

where a missing feature has a constant :math:`m_k` of its own. Similarities have weights :math:`w_k \ge 0` and
distances :math:`w_k \le 0`, so that no link is explained by a similarity of zero. A feature with a given
weight :math:`g_k` is not learned: it adds this weight times its value :math:`x_k`. The weights minimise the
log loss plus :math:`(\|w\|^2 + 3 \|m\|^2) / 2C`. With a prior linker, the features are standardised as
there, and all parameters, with the constant, are shrunk to those of the prior instead of to zero.

The other features say less once the sentence encoder was asked, and more where it was not; and clusters of
one language are compared by words that either has, not by names alone. There are therefore four sets of
weights: for pairs of two languages with ``encoderCosSim``, learned from these; for other pairs of two
languages, learned from all of these as if no encoder were installed; and the same for pairs of one language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from isogloss import io
from isogloss._estimator import POSITIVE, Constraints, Estimator
from isogloss.events.link._features import FEATURES, LINKER_FEATURES

Array = NDArray[np.float64]

_Parameters = tuple[Array, Array, float]
"""Weights, constants of missing features, and the constant."""

_DISTANCES = frozenset({"timeDiff", "timeGap", "alternatives", "nameConflict"})
"""Features with weights of at most 0."""
_UNCENTRED = frozenset({"nameConflict"})
"""Distances that are not centred: where nothing differs, that is no evidence for a link."""
_UNSIGNED = frozenset({"sameLanguage", "titlesAlone"})
"""Features whose weights may have either sign."""
_ENCODER = "encoderCosSim"
"""The feature whose absence selects the second set of weights."""
_ENCODER_FEATURES = frozenset({_ENCODER, "encoderContrast"})
"""Features that are missing without an encoder."""
_ENCODED, _PLAIN, _ENCODED_ALIKE, _PLAIN_ALIKE = range(4)
"""Sets of weights: with an embedding and without, for two languages and for one."""
_MISSING_PENALTY = 3.0
"""Penalty of the constants of missing features relative to that of the weights."""
_MAX_ITERATIONS = 500
_MAX_DEVIATIONS = 4.0
"""Standard deviations at which a feature is clipped, so that no outlier decides alone."""


class Linker(ClassifierMixin, Estimator):
    """Classifies pairs of clusters as one story or two.

    Parameters
    ----------
    features : sequence of str
        Names of the features, in the order of the columns. Weights are bounded for features of
        :mod:`isogloss.events.link._features` that are similarities or distances, and free for others.
    log_features : sequence of str
        Features that are transformed by log(1 + x).
    given : sequence of (str, float)
        Features with a fixed weight, in log odds per unit. By default ``alternatives``: if one of n stories
        is the right one and nothing else is known, the log odds fall by log n, and in a busy stream n grows
        with the power .75 of the number of articles.
    C : float or None
        Inverse strength of the regularisation; None for 1.
    random_state : int
        Ignored; linkers of version 0.1 were fitted by cross-validation.

    Attributes
    ----------
    means_, scales_ : array
        Of the features, ignoring missing values.
    weights_, missing_ : array (4 x features)
        Weights w of the features and constants m of missing ones, for pairs of two languages with a
        similarity of embeddings, for those without, and for pairs of one language with and without.
    offset_ : array
        The constants b of the four.
    C_ : float
        The regularisation parameter in use.
    classes_ : array
        0 and 1: different stories, one story.
    training_ : dict
        What the linker was trained on, if that was recorded; see
        :func:`~isogloss.events.training.train_on_verdicts`.

    Examples
    --------
    >>> linker = Linker(features=("likeness", "timeDiff"), log_features=("timeDiff",))
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
    missing_: Array
    offset_: Array
    C_: float
    classes_: NDArray[np.int64]
    training_: dict[str, Any]

    def __init__(
        self,
        features: Sequence[str] = LINKER_FEATURES,
        *,
        log_features: Sequence[str] = ("linkCount", "timeDiff", "timeGap"),
        given: Sequence[tuple[str, float]] = (("alternatives", -0.75),),
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
        """Return the linker of isogloss; see the guide to linking for what it was trained on."""
        return _load_default()

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        prior: Linker | None = None,
    ) -> Self:
        """Fit the classifier to labelled pairs.

        Parameters
        ----------
        X : array (pairs x features)
            Features; NaN where one is missing.
        y : array of 0 and 1
            Whether each pair is one story.
        sample_weight : array, optional
            Weights of the pairs, of any scale.
        prior : Linker, optional
            The linker that the weights are shrunk to; it must have the same features. The pairs may then have
            a single label.
        """
        self._validate_params()
        raw, labels = self._check(X), np.asarray(y).astype(np.int64)
        if len(raw) != len(labels):
            raise ValueError(
                f"got {len(raw)} pairs and {len(labels)} labels; expected one label for each pair"
            )
        counts = np.bincount(labels, minlength=2)
        least = 2 if prior is None else 0
        if len(counts) > 2 or counts.min() < least:
            raise ValueError(
                f"labels have {counts.tolist()} pairs each; expected labels 0 and 1, two pairs or more each"
            )
        shares = np.ones(len(raw)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if shares.shape != labels.shape or not (shares >= 0).all() or not shares.sum() > 0:
            raise ValueError(
                f"sample_weight has shape {shares.shape}; expected {len(raw)} weights from 0 on, not all 0"
            )
        self.classes_ = np.array([0, 1])
        self.C_ = 1.0 if self.C is None else float(self.C)
        if prior is None:
            self._standardise(raw, shares)
        centres: Sequence[_Parameters | None] = [None] * 4 if prior is None else self._adopt(prior)
        kinds, bare = self._kinds(raw), self._without_encoder(raw)

        def solve(wanted: Sequence[int], values: Array, kind: int) -> _Parameters | None:
            rows = np.isin(kinds, wanted)
            if not shares[rows].sum() > 0 or np.bincount(labels[rows], minlength=2).min() < least:
                return centres[kind]
            return self._solve(values[rows], labels[rows], shares[rows], centres[kind])

        plain = solve([_ENCODED, _PLAIN], bare, _PLAIN) or self._solve(bare, labels, shares)
        encoded = solve([_ENCODED], raw, _ENCODED) or plain
        plain_alike = solve([_ENCODED_ALIKE, _PLAIN_ALIKE], bare, _PLAIN_ALIKE) or plain
        encoded_alike = solve([_ENCODED_ALIKE], raw, _ENCODED_ALIKE) or plain_alike
        solutions = zip(encoded, plain, encoded_alike, plain_alike, strict=True)
        self.weights_, self.missing_, self.offset_ = (np.array(parts) for parts in solutions)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log odds that pairs are one story."""
        shares, constants = self.terms(X)
        return np.asarray(shares.sum(axis=1) + constants)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities that pairs are different stories, and one story."""
        chance = expit(self.decision_function(X))
        return np.column_stack([1 - chance, chance])

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return 1 for pairs that are more probably one story than two, and 0 for others."""
        return np.asarray(self.decision_function(X) > 0).astype(np.int64)

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that a pair with these features is one story."""
        return float(expit(self.decision_function([self.row(features)])[0]))

    def row(self, features: Mapping[str, float]) -> list[float]:
        """Return named features as a row."""
        return [features[name] for name in self.features]

    def contributions(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return the terms of a pair by feature name; ``(constant)`` is the constant."""
        shares, constants = self.terms([self.row(features)])
        return {
            **dict(zip(self.features, shares[0].tolist(), strict=True)),
            "(constant)": float(constants[0]),
        }

    def weight_changes(self) -> dict[str, dict[str, float]]:
        """Return the weights before and after training on verdicts by feature; the largest change first.

        A linker that was not trained on verdicts has changed nothing.
        """
        weights = self._parameters()[0]
        after = weights[[_ENCODED, min(_PLAIN, len(weights) - 1)]].T.tolist()
        before = getattr(self, "training_", {}).get("weights_before", {})
        changes = {
            name: {
                "encoder: before": old[0],
                "encoder: after": new[0],
                "before": old[1],
                "after": new[1],
            }
            for name, new in zip(self.features, after, strict=True)
            for old in [before.get(name, new)]
        }

        def change(name: str) -> float:
            old, new, old_without, new_without = changes[name].values()
            return float(max(abs(new - old), abs(new_without - old_without)))

        return dict(sorted(changes.items(), key=lambda item: -change(item[0])))

    def terms(self, X: ArrayLike) -> tuple[Array, Array]:
        """Return the contribution of each feature to the log odds of pairs, and the constant of each pair.

        The contribution of a missing feature is 0; what it adds is part of the constant.
        """
        check_is_fitted(self)
        raw = self._check(X)
        weights, missing, offset = self._parameters()
        rows = self._kinds(raw)
        rows = rows if len(weights) > _PLAIN_ALIKE else np.minimum(rows % _ENCODED_ALIKE, len(weights) - 1)
        unknown = np.isnan(raw) & (self._given_weights() == 0)
        shares = weights[rows] * self._scaled(raw) + np.nan_to_num(raw) * self._given_weights()
        return shares, offset[rows] + np.where(unknown, missing[rows], 0.0).sum(axis=1)

    def _parameters(self) -> tuple[Array, Array, Array]:
        """Return weights, constants of missing features and constants, a row for each set of weights."""
        if hasattr(self, "missing_"):
            return self.weights_, self.missing_, self.offset_
        # A linker of version 0.1 has one hyperplane and a calibration of its own.
        slope, shift = vars(self)["slope_"], vars(self)["shift_"]
        weights = slope * np.atleast_2d(self.weights_)
        return weights, np.zeros_like(weights), np.atleast_1d(slope * self.offset_ + shift)

    def _kinds(self, raw: Array) -> NDArray[np.int64]:
        """Return the set of weights of each pair."""
        kinds = np.where(np.isnan(self._column(raw, _ENCODER)), _PLAIN, _ENCODED)
        return kinds + np.where(self._column(raw, "sameLanguage") == 1.0, _ENCODED_ALIKE, 0)

    def _column(self, raw: Array, name: str) -> Array:
        """Return a feature by name; NaN if the linker does not have it."""
        features = list(self.features)
        return raw[:, features.index(name)] if name in features else np.full(len(raw), np.nan)

    def _without_encoder(self, raw: Array) -> Array:
        """Return features as they would be if no encoder were installed."""
        absent = np.array([name in _ENCODER_FEATURES for name in self.features])
        return np.where(absent, np.nan, raw)

    def _adopt(self, prior: Linker) -> list[_Parameters]:
        """Standardise features as a prior does; return its sets of parameters."""
        check_is_fitted(prior)
        for name in ("features", "log_features", "given"):
            ours, theirs = tuple(getattr(self, name)), tuple(getattr(prior, name))
            if ours != theirs:
                raise ValueError(f"prior has {name} {theirs}; expected those of this linker, {ours}")
        self.means_, self.scales_ = prior.means_, prior.scales_
        weights, missing, offset = prior._parameters()
        rows = [min(kind, len(weights) - 1) for kind in range(4)]
        return [(weights[row], missing[row], float(offset[row])) for row in rows]

    def _solve(
        self, raw: Array, labels: NDArray[np.int64], shares: Array, prior: _Parameters | None = None
    ) -> _Parameters:
        """Minimise the penalised log loss under the bounds; return weights, constants of missing ones, b."""
        known = ~np.isnan(raw)
        learned = self._given_weights() == 0
        varies = learned if prior else learned & known.any(axis=0) & ~known.all(axis=0)
        design = np.hstack([self._scaled(raw), ~known & varies, np.ones((len(raw), 1))])
        n = raw.shape[1]
        centre = np.zeros(2 * n + 1) if prior is None else np.concatenate([*prior[:2], [prior[2]]])
        penalty = np.concatenate([np.ones(n), np.full(n, _MISSING_PENALTY), [float(bool(prior))]]) / self.C_
        offset, weight = self._from_given(raw), shares * (len(shares) / shares.sum())

        def loss(parameters: Array) -> tuple[float, Array]:
            odds = design @ parameters + offset
            value = weight @ (np.logaddexp(0.0, odds) - labels * odds)
            slopes = design.T @ (weight * (expit(odds) - labels))
            excess = parameters - centre
            return value + 0.5 * penalty @ excess**2, slopes + penalty * excess

        bounds = [self._bounds(name) for name in self.features] + [(None, None)] * (n + 1)
        options = {"maxiter": _MAX_ITERATIONS}
        found = minimize(loss, centre, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
        return found[:n], found[n : 2 * n], float(found[-1])

    @staticmethod
    def _bounds(name: str) -> tuple[float | None, float | None]:
        if name in _UNSIGNED or name not in FEATURES:
            return None, None
        return (None, 0.0) if name in _DISTANCES else (0.0, None)

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

    def _standardise(self, raw: Array, shares: Array) -> None:
        values = self._log_transform(raw)
        weights = ~np.isnan(values) * shares[:, None]
        totals = np.maximum(weights.sum(axis=0), 1e-12)
        centred = np.array([name not in _UNCENTRED for name in self.features])
        self.means_ = np.where(centred, (np.nan_to_num(values) * weights).sum(axis=0) / totals, 0.0)
        spread = np.nan_to_num(values - self.means_)
        deviations = np.sqrt((spread**2 * weights).sum(axis=0) / totals)
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


@cache
def _load_default() -> Linker:
    with as_file(files("isogloss.events.link").joinpath("linker.isogloss")) as path:
        return io.load(path, expected=Linker)
