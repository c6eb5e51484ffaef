"""Training of a linker on verdicts of users: few change it a little, many change it much.

The weights are shrunk to those of a prior linker, see :class:`~isogloss.events.link.Linker`. Held-out scores
are by cross-validation; verdicts that have a cluster in common are held out together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from isogloss.events.link import Linker

VERDICT_C = 0.02
"""Inverse strength of the shrinkage to the prior."""

_MAX_FOLDS = 5

DELETED = "articles that are no longer stored"
MERGED = "articles that are now in one cluster"
UNLINKED = "clusters that are no longer linked"
REPLACED = "clusters with a later verdict"
"""Reasons for which verdicts are skipped."""


class JudgedPairs(NamedTuple):
    """Linked clusters with verdicts."""

    features: list[Mapping[str, float | None]]
    """Features of each link by name; None where one is missing."""
    labels: NDArray[np.int64]
    """1 for one event."""
    clusters: NDArray[np.int64]
    """The clusters. Shape (verdicts, 2)."""
    skipped: Counter[str]
    """Number of skipped verdicts by reason."""


def judged_pairs(verdicts: Iterable[Mapping[str, Any]]) -> JudgedPairs:
    """Select the verdicts on links that still exist; of several on one link the last counts.

    Verdicts have ``same``, ``clusters`` and ``features``, in chronological order, as :meth:`Store.verdicts
    <isogloss.store.Store.verdicts>` returns them.

    Examples
    --------
    >>> right = {"same": True, "clusters": (1, 2), "features": {"textCosSim": 0.5}}
    >>> gone = {"same": False, "clusters": (None, 2), "features": None}
    >>> found = judged_pairs([right, gone])
    >>> found.labels.tolist(), dict(found.skipped)
    ([1], {'articles that are no longer stored': 1})
    """
    skipped: Counter[str] = Counter()
    kept: dict[tuple[int, int], Mapping[str, Any]] = {}
    for verdict in verdicts:
        a, b = verdict["clusters"]
        if a is None or b is None:
            skipped[DELETED] += 1
        elif a == b:
            skipped[MERGED] += 1
        elif verdict["features"] is None:
            skipped[UNLINKED] += 1
        else:
            pair = min(a, b), max(a, b)
            skipped[REPLACED] += pair in kept
            kept[pair] = verdict
    return JudgedPairs(
        [verdict["features"] for verdict in kept.values()],
        np.array([int(verdict["same"]) for verdict in kept.values()], dtype=np.int64),
        np.array(list(kept), dtype=np.int64).reshape(-1, 2),
        +skipped,
    )


def train_on_verdicts(
    pairs: JudgedPairs, prior: Linker | None = None, *, C: float = VERDICT_C, now: datetime
) -> Linker:
    """Train a linker on verdicts, shrunk to a prior.

    Parameters
    ----------
    pairs : JudgedPairs
        The verdicts.
    prior : Linker, optional
        By default the linker that comes with isogloss.
    C : float
        Inverse strength of the shrinkage; larger values trust the verdicts more.
    now : datetime
        The date that is recorded.

    Returns
    -------
    Linker
        Its ``training_`` has the number of verdicts, the date, log loss and accuracy before and after on
        held-out verdicts, and the weights of the prior. Held-out scores are None where all verdicts are about
        connected clusters.
    """
    prior = Linker.default() if prior is None else prior
    if not len(pairs.labels):
        raise ValueError("no verdict on a link that still exists; expected at least one")
    rows = np.array([[_value(features.get(name)) for name in prior.features] for features in pairs.features])
    linker = Linker(prior.features, log_features=prior.log_features, given=prior.given, C=C)
    linker.fit(rows, pairs.labels, prior=prior)
    linker.training_ = {
        "verdicts": len(pairs.labels),
        "right_links": int(pairs.labels.sum()),
        "wrong_links": int((1 - pairs.labels).sum()),
        "date": now.date().isoformat(),
        "before": _scores(prior.predict_proba(rows)[:, 1], pairs.labels),
        "after": _cross_validate(linker, rows, pairs, prior),
        "weights_before": dict(zip(prior.features, _weights(prior).T.tolist(), strict=True)),
    }
    return linker


def _cross_validate(
    linker: Linker, rows: NDArray[np.float64], pairs: JudgedPairs, prior: Linker
) -> dict[str, float] | None:
    """Return the scores of verdicts that were held out; None if there is one group of clusters only."""
    names, ends = np.unique(pairs.clusters, return_inverse=True)
    one, other = ends.reshape(-1, 2).T
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(len(names), len(names)))
    n_groups, component = connected_components(graph, directed=False)
    if n_groups < 2:
        return None
    chances = np.empty(len(rows))
    for train, test in GroupKFold(min(n_groups, _MAX_FOLDS)).split(rows, groups=component[one]):
        fitted = clone(linker).fit(rows[train], pairs.labels[train], prior=prior)
        chances[test] = fitted.predict_proba(rows[test])[:, 1]
    return _scores(chances, pairs.labels)


def _scores(chances: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, float]:
    right = np.where(labels == 1, chances, 1 - chances).clip(1e-12)
    return {"log_loss": float(-np.log(right).mean()), "accuracy": float((right > 0.5).mean())}


def _weights(linker: Linker) -> NDArray[np.float64]:
    """Return the weights with an encoder and without."""
    weights = linker._parameters()[0]
    return weights[[0, min(1, len(weights) - 1)]]


def _value(value: float | None) -> float:
    return nan if value is None else float(value)
