"""Sums over rows, wherever they are, and whether a model can be fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from isogloss.engine import Engine, Rows, Source
from isogloss.factor._noise import noise_of
from isogloss.stats import PatternMoments
from isogloss.views import check_views


class NamedPatterns(NamedTuple):
    """Moments, and the names of the views they are of."""

    moments: PatternMoments
    names: tuple[str, ...]


def collect_patterns(views: Any, engine: Engine, batch_rows: int = 65_536) -> NamedPatterns:
    """Moments of views, or of a source of batches of them, summed where the engine is."""
    if not isinstance(views, Source):
        views = Rows(check_views(views), batch_rows=batch_rows)
    return engine.map_reduce(_patterns_of, _add, views)


def check_moments(
    moments: PatternMoments, names: Sequence[str], n_components: int, noise: str, ridge: float
) -> None:
    """Refuse rows from which the model cannot be learned, and say why."""
    rows = np.diag(moments.counts)
    empty = [name for name, n in zip(names, rows, strict=True) if n == 0]
    if empty:
        raise ValueError(f"no row has the view {', '.join(map(repr, empty))}; leave it out, or add rows")
    _check_connected(moments, names)
    full = noise_of(noise, moments.dims).kind == "full"
    if full and len(names) < 2:
        raise ValueError("one view with noise='full' has nothing to share; use noise='diag' or more views")
    widest, D = max(moments.dims), sum(moments.dims)
    most = min(D - widest if full else max(D - 1, 1), moments.n_rows - 1)
    if n_components > most:
        raise ValueError(
            f"n_components={n_components}; {moments.n_rows} rows of views with {moments.dims} features and "
            f"noise={noise!r} can tell at most {most} factors apart: lower n_components"
        )
    for name, d, n in zip(names, moments.dims, rows, strict=True):
        if full and n <= d and ridge == 0:
            raise ValueError(
                f"view {name!r} has {n} rows and {d} features, too few for a noise matrix; give ridge > 0 "
                "(0.1, say), noise='diag', or more rows"
            )


def _check_connected(moments: PatternMoments, names: Sequence[str]) -> None:
    parts, part_of = connected_components(moments.counts > 0, directed=False)
    if parts > 1:
        groups = [[n for n, p in zip(names, part_of, strict=True) if p == part] for part in range(parts)]
        listed = " | ".join(", ".join(map(repr, group)) for group in groups)
        raise ValueError(
            f"no row links these groups of views: {listed}; add rows that do, or fit them separately"
        )


def _patterns_of(batch: Any) -> NamedPatterns:
    batch = check_views(batch, min_rows=0)
    return NamedPatterns(PatternMoments(batch.dims).update(batch), batch.names)


def _add(left: NamedPatterns, right: NamedPatterns) -> NamedPatterns:
    if left.names != right.names:
        raise ValueError(f"batches have different views: {left.names} and {right.names}")
    left.moments.merge(right.moments)
    return left
