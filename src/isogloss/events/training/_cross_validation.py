"""How well a linker tells pairs of clusters apart: repeated cross-validation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedKFold

__all__ = ["LinkScores", "cross_validate_links", "score_links"]


class LinkScores(NamedTuple):
    """Scores of a linker, in per cent.

    Attributes
    ----------
    accuracy, precision, recall, f1 : float
        Means over folds.
    deviations : tuple of float
        Standard deviations over folds, of the four.
    repeats_deviation : float
        Standard deviation over repeats of the mean accuracy of a repeat.
    pairs : int
        Pairs that were scored.
    """

    accuracy: float
    precision: float
    recall: float
    f1: float
    deviations: tuple[float, float, float, float]
    repeats_deviation: float
    pairs: int

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        return self._asdict()


def cross_validate_links(
    linker: BaseEstimator, X: ArrayLike, y: ArrayLike, *, repeats: int = 10, folds: int = 10
) -> LinkScores:
    """Scores in repeated cross-validation; whatever the linker chooses, it chooses within training folds.

    Parameters
    ----------
    linker : estimator
        A :class:`~isogloss.events.link.Linker`, or any classifier; it is cloned.
    X : array (pairs x features)
        Features.
    y : array of 0 and 1
        Whether each pair is one story.
    repeats, folds : int
        Ten times ten by default.

    Examples
    --------
    >>> from isogloss.events.link import Linker
    >>> X = [[i / 40] for i in range(40)]
    >>> y = [int(i >= 20) for i in range(40)]
    >>> scores = cross_validate_links(Linker(["likeness"], C=1.0), X, y, repeats=2, folds=4)
    >>> scores.pairs, scores.accuracy > 90
    (40, True)
    """
    features, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    table = np.array(
        [
            [_scores(clone(linker), features, labels, *split) for split in splits.split(features, labels)]
            for splits in (StratifiedKFold(folds, shuffle=True, random_state=seed) for seed in range(repeats))
        ]
    )
    accuracy, precision, recall, f1 = table.mean(axis=(0, 1)).tolist()
    a, p, r, f = table.std(axis=(0, 1)).tolist()
    by_repeat = float(table[:, :, 0].mean(axis=1).std())
    return LinkScores(accuracy, precision, recall, f1, (a, p, r, f), by_repeat, len(labels))


def score_links(labels: ArrayLike, found: ArrayLike) -> tuple[float, float, float, float]:
    """Accuracy, precision, recall and F1 in per cent; what is not defined is 0.

    Examples
    --------
    >>> score_links([1, 1, 0, 0], [1, 0, 0, 0])
    (75.0, 100.0, 50.0, 66.66666666666666)
    """
    precision, recall, f1, _ = precision_recall_fscore_support(
        labels, found, average="binary", zero_division=0.0
    )
    return (
        100 * float(accuracy_score(labels, found)),
        100 * float(precision),
        100 * float(recall),
        100 * float(f1),
    )


def _scores(
    linker: Any,
    X: NDArray[np.float64],
    y: NDArray[Any],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
) -> tuple[float, float, float, float]:
    return score_links(y[test], linker.fit(X[train], y[train]).predict(X[test]))
