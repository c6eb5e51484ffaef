"""How strongly a word and a translation belong together, from counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def dice(both: Floats, source: Floats, target: Floats, total: float) -> Floats:
    """Twice the joint count over the sum of both counts."""
    return 2 * both / (source + target)


def log_likelihood(both: Floats, source: Floats, target: Floats, total: float) -> Floats:
    """The log-likelihood ratio of dependence and independence (Dunning 1993), signed."""
    cells = np.stack([both, source - both, target - both, total - source - target + both])
    rows, columns = (
        np.stack([source, source, total - source, total - source]),
        np.stack([target, total - target] * 2),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(cells > 0, cells * np.log(cells * total / (rows * columns)), 0)
    return np.asarray(2 * terms.sum(axis=0) * np.where(both * total >= source * target, 1, -1))


def probability(both: Floats, source: Floats, target: Floats, total: float) -> Floats:
    """The share of the source word's occurrences."""
    return both / source


def weighted(both: Floats, source: Floats, target: Floats, total: float) -> Floats:
    """The geometric mean of both conditional probabilities, the forward one counted twice."""
    return np.asarray(np.cbrt((both / source) ** 2 * both / target))


RANKINGS: dict[str, Callable[[Floats, Floats, Floats, float], Floats]] = {
    "probability": probability,
    "dice": dice,
    "likelihood": log_likelihood,
    "weighted": weighted,
}
