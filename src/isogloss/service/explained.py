"""Links between clusters as rows of the tables, with what speaks for them: many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from isogloss.events.features import FEATURES, feature_rows
from isogloss.events.linker import Linker
from isogloss.events.linking import LinkState
from isogloss.store import LinkRow

__all__ = ["explained"]

SHOWN = 5
"""Pairs of articles that are told of a link, the most similar ones."""

DIGITS = 9
"""Of a probability: sums of many links at once differ beyond them, by the number of links."""

Array = NDArray[np.float64]
Pair = tuple[str, str, float]


def explained(links: LinkState, pairs: Sequence[tuple[int, int]]) -> list[LinkRow]:
    """Everything about the links of pairs of clusters, as :meth:`LinkState.link` tells it of one.

    Parameters
    ----------
    links : LinkState
        The clusters and their articles.
    pairs : sequence of (int, int)
        Clusters, the smaller id first.
    """
    clusters = list(dict.fromkeys(chain.from_iterable(pairs)))
    place = {cluster: number for number, cluster in enumerate(clusters)}
    near = [_near(links, a, b) for a, b in pairs]
    rows = feature_rows(
        [links.profiles[one] for one in clusters],
        [(place[a], place[b]) for a, b in pairs],
        [[similarity for _, _, similarity in found] for found in near],
    )
    wanted = rows[:, [FEATURES.index(name) for name in links.linker.features]]
    odds, shares, constant = _shares(links.linker, wanted)
    names = [*links.linker.features, "(constant)"]
    return [
        LinkRow(
            a,
            b,
            round(float(expit(odds[n])), DIGITS),
            {
                "features": _finite(FEATURES, rows[n].tolist()),
                "contributions": _finite(names, [*shares[n].tolist(), constant]),
                "pairs": [[int(one), int(other), round(s, 4)] for one, other, s in _best(near[n])],
            },
        )
        for n, (a, b) in enumerate(pairs)
    ]


def _near(links: LinkState, a: int, b: int) -> list[Pair]:
    """Pairs of articles of two clusters that are near, and their similarities."""
    return [
        (article, other, similarity)
        for article in links.profiles[a].articles
        for other, similarity in links.near[article].items()
        if links.cluster_of[other] == b
    ]


def _best(near: Iterable[Pair]) -> list[Pair]:
    return nlargest(SHOWN, near, key=lambda pair: (pair[2], pair[0], pair[1]))


def _shares(linker: Linker, rows: Array) -> tuple[Array, Array, float]:
    """Log odds of pairs, what each feature adds to them, and the rest; a missing feature adds nothing."""
    n, features = rows.shape
    without = np.repeat(rows[:, None, :], features, axis=1)
    without[:, range(features), range(features)] = np.nan
    odds = linker.decision_function(rows)
    lacking = linker.decision_function(without.reshape(-1, features)).reshape(n, features)
    constant = linker.decision_function(np.full((1, features), np.nan))
    return odds, odds[:, None] - lacking, float(constant[0])


def _finite(names: Iterable[str], values: Iterable[float]) -> dict[str, float | None]:
    """Values as JSON can hold them: what cannot be said is null."""
    return {
        name: round(value, 6) + 0.0 if value == value else None
        for name, value in zip(names, values, strict=True)
    }
