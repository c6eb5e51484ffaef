"""A first look at views that come in batches: their names, sizes, rows and means, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.stats import column_means
from isogloss.views import check_views

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Survey:
    """The result of a first pass over the batches."""

    names: tuple[str, ...]
    dims: tuple[int, ...]
    """Dimensions of the views, the same in every batch."""
    counts: NDArray[np.int64]
    """Rows that each pair of views shares; on the diagonal, rows of each view. Shape (n_views, n_views)."""
    means: tuple[Array, ...]
    """Feature means of each view over its rows."""


def survey_views(batch: Any) -> Survey:
    """The survey of one batch."""
    views = check_views(batch, min_rows=0)
    present = views.present.astype(np.int64)
    means = tuple(
        column_means(x) if x.shape[0] else np.zeros(d) for d, x in zip(views.dims, views.arrays, strict=True)
    )
    return Survey(views.names, views.dims, present.T @ present, means)


def merge_surveys(a: Survey, b: Survey) -> Survey:
    """The survey of the rows of both."""
    if (a.names, a.dims) != (b.names, b.dims):
        raise ValueError(
            f"one batch has views {dict(zip(a.names, a.dims, strict=True))} (name: features), another "
            f"{dict(zip(b.names, b.dims, strict=True))}; expected the same views in every batch"
        )
    counts = a.counts + b.counts
    shares = np.diag(b.counts) / np.maximum(np.diag(counts), 1)
    means = tuple(x + (y - x) * share for x, y, share in zip(a.means, b.means, shares, strict=True))
    return Survey(a.names, a.dims, counts, means)
