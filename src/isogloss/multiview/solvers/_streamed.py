"""Correlations of projections of views that come in batches, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.engine import Engine, Source
from isogloss.stats import ViewMoments
from isogloss.views import Views, check_views

Array = NDArray[np.float64]
Pairs = dict[tuple[int, int], ViewMoments]


def streamed_correlations(engine: Engine, source: Source[Any], weights: Sequence[Array]) -> Array:
    """Return :func:`~isogloss.multiview._base.view_correlations` of all rows of a source.

    Memory: ``32 k^2`` bytes for each pair of views.
    """
    pairs = engine.map_reduce(_pair_moments, _merge, source, list(weights))
    k, m = weights[0].shape[1], len(weights)
    out = np.tile(np.eye(m), (k, 1, 1))
    for (i, j), moments in pairs.items():
        products = moments.product(0, 0)
        variances = np.diag(products)
        scale = np.sqrt(variances[:k] * variances[k:])
        covariances = np.diag(products[:k, k:])
        out[:, i, j] = out[:, j, i] = np.divide(covariances, scale, out=np.zeros(k), where=scale > 0)
    return out


def _pair_moments(batch: Any, weights: Sequence[Array]) -> Pairs:
    """Moments of the projections of each pair of views side by side, over the rows that have both."""
    views = check_views(batch, min_rows=0)
    projected = Views(
        [np.asarray(x @ w) for x, w in zip(views.arrays, weights, strict=True)], present=views.present
    )
    width = 2 * weights[0].shape[1]
    return {
        pair: ViewMoments([width]).update([np.hstack(projected.shared(*pair))])
        for pair in combinations(range(views.n_views), 2)
    }


def _merge(left: Pairs, right: Pairs) -> Pairs:
    for pair, moments in left.items():
        moments.merge(right[pair])
    return left
