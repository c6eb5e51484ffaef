r"""Units in which views are alike: mean zero and, as far as the noise allows, the identity as covariance.

A fit runs on :math:`y_v = T_v^{-1}(x_v - \bar x_v)`. With full noise :math:`T_v T_v^\top` is the covariance
of the view, so that a fit depends neither on the units of features nor on how they are mixed within a view;
with diagonal noise :math:`T_v` holds their standard deviations, with isotropic noise one number.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

__all__ = ["Units", "shift", "units_of"]

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

# Variance below this part of the squared mean is what centring a constant leaves.
_CONSTANT = 1e-24
# Added to the correlations of a view, so that dependent features have an inverse.
_RIDGE = 1e-10


@dataclass(frozen=True, eq=False)
class Units:
    """``x = origin + T y``, view by view; each ``T`` is a vector (a diagonal) or a lower triangle."""

    origin: Array
    roots: tuple[Array, ...]

    def times(self, B: Array, views: Sequence[int] | None = None) -> Array:
        """``T B``, for the stacked features of the given views; of all by default."""
        return self._each(B, views, _times)

    def undo(self, B: Array, views: Sequence[int] | None = None) -> Array:
        """``T^-1 B``."""
        return self._each(B, views, _undo)

    @property
    def log_dets(self) -> Array:
        """``log |T|`` of every view."""
        return np.array([np.log(T if T.ndim == 1 else np.diag(T)).sum() for T in self.roots])

    def _each(self, B: Array, views: Sequence[int] | None, move: Callable[[Array, Array], Array]) -> Array:
        chosen = [self.roots[v] for v in (range(len(self.roots)) if views is None else views)]
        parts = np.split(B, np.cumsum([len(T) for T in chosen])[:-1])
        return np.concatenate([move(T, part) for T, part in zip(chosen, parts, strict=True)])


def shift(origin: Array, dims: Sequence[int]) -> Units:
    """Units that differ by their origin alone."""
    return Units(origin, tuple(np.ones(d) for d in dims))


def units_of(kind: str, origin: Array, seconds: Sequence[Array]) -> Units:
    """The units for noise of some kind, given the covariance of each view.

    For diagonal and isotropic noise the variances of features are enough.
    """
    variances = np.concatenate([C if C.ndim == 1 else np.diag(C) for C in seconds])
    constant = variances <= _CONSTANT * origin**2
    if constant.any():
        logger.warning("%d of %d features do not vary; their noise is the floor", constant.sum(), len(origin))
    cuts = np.cumsum([len(C) for C in seconds])[:-1]
    spreads = np.split(np.where(constant, 0.0, variances), cuts)
    if kind == "isotropic":
        spreads = [np.full(len(spread), spread.mean()) for spread in spreads]
    scales = [np.sqrt(np.where(spread > 0, spread, 1.0)) for spread in spreads]
    if kind != "full":
        return Units(origin, tuple(scales))
    return Units(origin, tuple(_root(C, s) for C, s in zip(seconds, scales, strict=True)))


def _root(covariance: Array, scale: Array) -> Array:
    correlations = covariance / np.outer(scale, scale)
    flat = np.diag(correlations) <= 0.5  # constant features, whose scale is not their own
    correlations[np.diag_indices_from(correlations)] += np.where(flat, 1.0, _RIDGE)
    return np.asarray(scale[:, np.newaxis] * np.linalg.cholesky(correlations))


def _times(T: Array, B: Array) -> Array:
    return np.asarray((T * B.T).T if T.ndim == 1 else T @ B)


def _undo(T: Array, B: Array) -> Array:
    if T.ndim == 1:
        return np.asarray((B.T / T).T)
    return np.asarray(solve_triangular(T, B, lower=True, check_finite=False))
