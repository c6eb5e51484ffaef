r"""Evaluation: BCubed and pairwise scores of clusters and events, cross-validation of linkers.

With :math:`g(i)` the true group of item i and :math:`f(i)` the found one, the BCubed scores are

.. math::

    P = \frac1n \sum_i \frac{|g(i) \cap f(i)|}{|f(i)|}, \qquad
    R = \frac1n \sum_i \frac{|g(i) \cap f(i)|}{|g(i)|}, \qquad F_1 = \frac{2 P R}{P + R}.

The pairwise scores are precision and recall of the pairs of items in one group. Both are sums over the cells
of the contingency table of true and found groups, so they take linear time. Applied to all articles with
their stories, they are the cross-lingual scores of a stream; :func:`monolingual` applies them to each
language alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedKFold


class ClusteringScores(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float
    """Between 0 and 1."""

    @classmethod
    def of(cls, precision: float, recall: float) -> ClusteringScores:
        """Return the scores with this precision and recall."""
        total = precision + recall
        return cls(precision, recall, 2 * precision * recall / total if total else 0.0)


class LanguageScores(NamedTuple):
    """Scores by language, and their mean."""

    macro: ClusteringScores
    """Mean precision, recall and F1 over languages."""
    languages: dict[str, ClusteringScores]
    """Scores by language, in alphabetical order."""
    articles: dict[str, int]
    """Articles of each language."""


def bcubed(gold: Sequence[Hashable], found: Sequence[Hashable]) -> ClusteringScores:
    """Return BCubed precision, recall and F1.

    Labels are, for each item, its true group and the group it was put into.

    Examples
    --------
    >>> bcubed(["a", "a", "b", "b"], [1, 1, 1, 2])
    ClusteringScores(precision=0.6666666666666666, recall=0.75, f1=0.7058823529411765)
    """
    cells, true, groups = _table(gold, found)
    precision = sum(n * n / groups[f] for (_, f), n in cells.items()) / len(gold)
    recall = sum(n * n / true[g] for (g, _), n in cells.items()) / len(gold)
    return ClusteringScores.of(precision, recall)


def pairwise(gold: Sequence[Hashable], found: Sequence[Hashable]) -> ClusteringScores:
    """Return precision, recall and F1 of the pairs of items in one group.

    Precision is 1 if no pair was found, and recall is 1 if there was none to find. Labels are, for each item,
    its true group and the group it was put into.

    Examples
    --------
    >>> scores = pairwise(["a", "a", "b", "b"], [1, 1, 1, 2])
    >>> scores.precision, scores.recall
    (0.3333333333333333, 0.5)
    """
    cells, true, groups = _table(gold, found)
    right = _pairs(cells.values())
    return ClusteringScores.of(_share(right, _pairs(groups.values())), _share(right, _pairs(true.values())))


def monolingual(
    gold: Sequence[Hashable],
    found: Sequence[Hashable],
    languages: Sequence[str],
    measure: Callable[[Sequence[Hashable], Sequence[Hashable]], ClusteringScores] = bcubed,
) -> LanguageScores:
    """Return the scores of each language alone, and their mean.

    The measure is :func:`bcubed` or :func:`pairwise`.

    Examples
    --------
    >>> scores = monolingual(["a", "b", "a", "b"], [1, 1, 1, 2], ["en", "en", "de", "de"])
    >>> scores.languages["de"].f1, round(scores.macro.f1, 3)
    (1.0, 0.833)
    """
    if len(languages) != len(gold):
        raise ValueError(f"{len(gold)} labels and {len(languages)} languages; expected one for each article")
    rows: dict[str, list[int]] = {}
    for i, lang in enumerate(languages):
        rows.setdefault(lang, []).append(i)
    scores = {
        lang: measure([gold[i] for i in rows[lang]], [found[i] for i in rows[lang]]) for lang in sorted(rows)
    }
    columns = zip(*scores.values(), strict=True)
    macro = ClusteringScores(*(sum(column) / len(scores) for column in columns))
    return LanguageScores(macro, scores, {lang: len(rows[lang]) for lang in scores})


def _table(
    gold: Sequence[Hashable], found: Sequence[Hashable]
) -> tuple[Counter[tuple[Hashable, Hashable]], Counter[Hashable], Counter[Hashable]]:
    """Count items by both labels, by the true one and by the found one."""
    if len(gold) != len(found):
        raise ValueError(f"got {len(gold)} true and {len(found)} found labels; expected one of each per item")
    if not len(gold):
        raise ValueError("no labels given; expected those of at least one item")
    return Counter(zip(gold, found, strict=True)), Counter(gold), Counter(found)


def _pairs(sizes: Iterable[int]) -> int:
    return sum(n * (n - 1) // 2 for n in sizes)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


class LinkScores(NamedTuple):
    """Scores of a linker, in per cent."""

    accuracy: float
    precision: float
    recall: float
    f1: float
    """Means over folds."""
    deviations: tuple[float, float, float, float]
    """Standard deviations over folds, of the four."""
    repeats_deviation: float
    """Standard deviation over repeats of the mean accuracy of a repeat."""
    pairs: int
    """Pairs that were scored."""

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold."""
        return self._asdict()


def cross_validate_links(
    linker: BaseEstimator, X: ArrayLike, y: ArrayLike, *, repeats: int = 10, folds: int = 10
) -> LinkScores:
    """Score a linker by repeated cross-validation.

    The linker, a :class:`~isogloss.events.link.Linker` or any classifier, is cloned. Features are (pairs,
    features); labels are 1 for pairs that are one story.

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
    """Return accuracy, precision, recall and F1 in per cent; undefined scores are 0.

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
