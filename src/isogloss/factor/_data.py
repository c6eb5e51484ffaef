"""Sufficient statistics of the rows for EM: per presence pattern a scaled mean and second moment.

In those units (:mod:`~isogloss.factor._units`) floors, ridges and step lengths mean the same for all views.
Log-likelihoods are given in the units of the rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.factor._noise import Noise, noise_of
from isogloss.factor._parameters import block_slices, columns_of
from isogloss.factor._units import Units, shift, units_of
from isogloss.stats import Pattern, PatternMoments

__all__ = ["FactorData", "Observed", "prepare"]

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Observed:
    """Rows of one presence pattern; ``rows`` or ``product``, as in ``Pattern``.

    ``ridge`` is added to the diagonal of the second moment.
    """

    views: tuple[int, ...]
    columns: Any
    n: int
    mean: Array
    rows: Array | None
    product: Array | None
    ridge: float

    def times(self, A: Array) -> Array:
        """The centred second moment times a matrix."""
        if self.product is not None:
            return np.asarray(self.product @ A)
        assert self.rows is not None
        return np.asarray(self.rows.T @ (self.rows @ A) + self.ridge * A)

    def second(self) -> Array:
        """The centred second moment itself."""
        return self.times(np.eye(len(self.mean))) if self.product is None else self.product


@dataclasses.dataclass(frozen=True, eq=False)
class FactorData:
    """All patterns, and the sums over them that no parameter changes."""

    patterns: tuple[Observed, ...]
    """Standardised."""
    dims: tuple[int, ...]
    kind: str
    """Features of each view, and the kind of noise."""
    units: Units
    """Transformation back to the units of the rows. The origin is the mean over the rows that have the
    feature, so the standardised values sum to zero.
    """
    rows: Array
    """Rows of each view. Shape (V,)."""
    groups: NDArray[np.int64]
    """Views that are present in the same patterns have the same number; sums over their rows are shared.
    Shape (V,).
    """
    scatter: Array
    """Second moments within views about the origin, laid out like the noise."""
    log_scale: float
    """Log Jacobian of the standardisation, summed over rows."""

    @cached_property
    def cuts(self) -> list[slice]:
        """The slice of each view's features."""
        return block_slices(self.dims)

    @property
    def n_rows(self) -> int:
        """Rows of all patterns."""
        return sum(pattern.n for pattern in self.patterns)

    @property
    def complete(self) -> bool:
        """Return whether every row has every view."""
        return len(self.patterns) == 1 and len(self.patterns[0].views) == len(self.dims)

    @property
    def rows_of_features(self) -> Array:
        """Rows of the view each feature is of."""
        return np.repeat(self.rows, self.dims)

    @cached_property
    def covariance(self) -> Array:
        """The standardised covariance of complete rows."""
        return self.patterns[0].second() / self.patterns[0].n


def prepare(
    moments: PatternMoments, kind: str, *, ridge: float = 0.0, standardise: bool = True
) -> FactorData:
    """The patterns of rows, for noise of the given kind.

    ``ridge`` adds that share of its variance to every direction of a view, as noise that no other view sees
    (with diagonal noise: to every feature). Without ``standardise`` only the means are taken off.
    """
    dims, shape = moments.dims, noise_of(kind, moments.dims)
    rows = np.diag(moments.counts).astype(np.float64)
    units = shift(_means(moments), dims)
    if standardise:
        plain = [_observe(p, dims, units, 0.0) for p in moments.patterns()]
        scatter = shape.split(_total(plain, shape, dims), dims)
        seconds = [part / n for part, n in zip(scatter, rows, strict=True)]
        units = units_of(shape.kind, units.origin, seconds)
    patterns = tuple(_observe(p, dims, units, ridge) for p in moments.patterns())
    present = np.array([[v in p.views for p in patterns] for v in range(len(dims))])
    groups = np.unique(present, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    scatter_of_all = _total(patterns, shape, dims)
    return FactorData(patterns, dims, kind, units, rows, groups, scatter_of_all, float(rows @ units.log_dets))


def _means(moments: PatternMoments) -> Array:
    """Mean of every feature over the rows that have it."""
    n, mean = (np.zeros(sum(moments.dims)) for _ in range(2))
    for pattern in moments.patterns():
        columns = columns_of(moments.dims, pattern.views)
        n[columns] += pattern.n
        mean[columns] += (pattern.mean - mean[columns]) * pattern.n / n[columns]
    return mean


def _observe(pattern: Pattern, dims: Sequence[int], units: Units, ridge: float) -> Observed:
    views, columns = pattern.views, columns_of(dims, pattern.views)
    extra, rows, product = pattern.n * ridge, pattern.rows, pattern.product
    if rows is not None:
        rows = np.ascontiguousarray(units.undo(rows.T, views).T)
    if product is not None:
        product = units.undo(units.undo(product, views).T, views)
        product[np.diag_indices_from(product)] += extra
    mean = units.undo(pattern.mean - units.origin[columns], views)
    return Observed(views, columns, pattern.n, mean, rows, product, extra)


def _total(patterns: Sequence[Observed], shape: Noise, dims: Sequence[int]) -> Array:
    """Second moments within views about the origin, over all patterns."""
    scatter = np.zeros(shape.positions(dims, range(len(dims))).size)
    for pattern in patterns:
        sums = _scatter(pattern, shape, [dims[v] for v in pattern.views])
        scatter[shape.positions(dims, pattern.views)] += sums
    return scatter


def _scatter(pattern: Observed, shape: Noise, dims: Sequence[int]) -> Array:
    """Second moment of a pattern about the origin within its own views, laid out like the noise."""
    mean = pattern.mean[:, np.newaxis]
    about_origin = shape.inner(pattern.n * mean, mean, dims)
    if pattern.product is not None:
        return about_origin + shape.part(pattern.product, dims)
    assert pattern.rows is not None
    ridge = shape.ridge(np.full(len(mean), pattern.ridge), dims)
    return about_origin + shape.inner(pattern.rows.T, pattern.rows.T, dims) + ridge
