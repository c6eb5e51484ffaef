"""The four shapes a component's covariance can take: full, tied, diag and spherical.

A :class:`Covariance` answers every question of a mixture that depends on the shape: which features of
a row the log density is linear in, how second moments are kept, and how covariances follow from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

Array = NDArray[np.float64]


class Covariance(ABC):
    """One shape of covariance. ``K`` components, ``d`` features; arrays have the shape of :meth:`shape`."""

    name: str
    kind: int
    """The number by which the compiled loops know the shape."""

    @abstractmethod
    def shape(self, k: int, d: int) -> tuple[int, ...]:
        """Shape of the covariances, and of the second moments."""

    @abstractmethod
    def width(self, d: int) -> int:
        """Number of features of a row that the log density is linear in."""

    @abstractmethod
    def expand(self, covariances: Array, k: int, d: int) -> Array:
        """Covariances as full matrices (K, d, d)."""

    @abstractmethod
    def log_det(self, covariances: Array, k: int, d: int) -> Array:
        """Log determinant of each component's covariance."""

    @abstractmethod
    def theta(self, covariances: Array, means: Array) -> Array:
        """Coefficients (K x width) of ``-(x - m)' C^-1 (x - m) / 2``, less what all components share."""

    @abstractmethod
    def mahalanobis(self, x: Array, covariances: Array, means: Array) -> Array:
        """``(x - m)' C^-1 (x - m)`` (n x K), component by component, exact at any scale."""

    @abstractmethod
    def from_features(self, sums: Array, x: Array, weights: Array) -> Array:
        """Second moments about zero, from feature sums (K x width) of rows ``x`` with ``weights``."""

    @abstractmethod
    def scatter(self, x: Array, posterior: Array, points: Array) -> Array:
        """Second moments about one point per component, of rows ``x`` weighted by ``posterior``."""

    @abstractmethod
    def reduce(self, second: Array) -> Array:
        """Second moments of this shape from full ones (K, d, d)."""

    @abstractmethod
    def move(self, second: Array, weight: Array, first: Array, shift: Array) -> Array:
        """Second moments about points moved by ``shift`` (K x d); ``first`` is about the old points."""

    @abstractmethod
    def solve(self, second: Array, weight: Array, d: int, floor: float, old: Array) -> Array:
        """The most likely covariances with no variance below ``floor``; ``old`` where no row is."""

    @abstractmethod
    def trace(self, covariances: Array, second: Array) -> float:
        """``trace(C^-1 second)`` summed over components."""

    def shared(self, covariances: Array, second: Array) -> float:
        """The log density that :meth:`theta` leaves out, summed over rows with these second moments."""
        return 0.0

    @abstractmethod
    def pack(self, covariances: Array) -> Array:
        """Covariances as an unconstrained vector (logarithms of variances, or of Cholesky diagonals)."""

    @abstractmethod
    def unpack(self, vector: Array, k: int, d: int, floor: float) -> Array:
        """The covariances of such a vector, with no variance below ``floor``."""


class _PerFeature(Covariance):
    """The base of ``diag`` and ``spherical``: features are independent."""

    @abstractmethod
    def _columns(self, covariances: Array, d: int) -> Array:
        """Variances (K x d)."""

    def expand(self, covariances: Array, k: int, d: int) -> Array:
        return self._columns(covariances, d)[:, :, None] * np.eye(d)

    def log_det(self, covariances: Array, k: int, d: int) -> Array:
        return np.asarray(np.log(self._columns(covariances, d)).sum(axis=1))

    def theta(self, covariances: Array, means: Array) -> Array:
        precision = 1.0 / self._columns(covariances, means.shape[1])
        constant = -0.5 * (precision * means**2).sum(axis=1, keepdims=True)
        square = -0.5 * precision[:, : self.width(means.shape[1]) - means.shape[1] - 1]
        return np.hstack([square, precision * means, constant])

    def mahalanobis(self, x: Array, covariances: Array, means: Array) -> Array:
        precision = 1.0 / self._columns(covariances, x.shape[1])
        return np.stack([(x - m) ** 2 @ p for m, p in zip(means, precision, strict=True)], axis=1)

    def pack(self, covariances: Array) -> Array:
        return np.log(covariances).ravel()

    def unpack(self, vector: Array, k: int, d: int, floor: float) -> Array:
        with np.errstate(over="ignore"):
            return np.maximum(np.exp(vector.reshape(self.shape(k, d))), floor)


class _Diag(_PerFeature):
    name, kind = "diag", 1

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (k, d)

    def width(self, d: int) -> int:
        return 2 * d + 1

    def _columns(self, covariances: Array, d: int) -> Array:
        return covariances

    def from_features(self, sums: Array, x: Array, weights: Array) -> Array:
        return sums[:, : x.shape[1]]

    def scatter(self, x: Array, posterior: Array, points: Array) -> Array:
        return np.stack([q @ (x - r) ** 2 for q, r in zip(posterior.T, points, strict=True)])

    def reduce(self, second: Array) -> Array:
        return np.asarray(np.einsum("kii->ki", second))

    def move(self, second: Array, weight: Array, first: Array, shift: Array) -> Array:
        return np.asarray(second - 2 * first * shift + weight[:, None] * shift**2)

    def solve(self, second: Array, weight: Array, d: int, floor: float, old: Array) -> Array:
        used = weight[:, None] > 0
        lifted = np.maximum(second / np.where(used, weight[:, None], 1.0), floor)
        return np.asarray(np.where(used, lifted, old))

    def trace(self, covariances: Array, second: Array) -> float:
        return float((second / covariances).sum())


class _Spherical(_PerFeature):
    name, kind = "spherical", 2

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (k,)

    def width(self, d: int) -> int:
        return d + 2

    def _columns(self, covariances: Array, d: int) -> Array:
        return np.repeat(covariances[:, None], d, axis=1)

    def from_features(self, sums: Array, x: Array, weights: Array) -> Array:
        return sums[:, 0]

    def scatter(self, x: Array, posterior: Array, points: Array) -> Array:
        return np.array([q @ ((x - r) ** 2).sum(axis=1) for q, r in zip(posterior.T, points, strict=True)])

    def reduce(self, second: Array) -> Array:
        return np.asarray(np.einsum("kii->k", second))

    def move(self, second: Array, weight: Array, first: Array, shift: Array) -> Array:
        return np.asarray(second - 2 * (first * shift).sum(axis=1) + weight * (shift**2).sum(axis=1))

    def solve(self, second: Array, weight: Array, d: int, floor: float, old: Array) -> Array:
        used = weight > 0
        lifted = np.maximum(second / (d * np.where(used, weight, 1.0)), floor)
        return np.asarray(np.where(used, lifted, old))

    def trace(self, covariances: Array, second: Array) -> float:
        return float((second / covariances).sum())


class _Matrices(Covariance):
    """The base of ``full`` and ``tied``: features are correlated."""

    def pack(self, covariances: Array) -> Array:
        lower = np.linalg.cholesky(covariances.reshape(-1, *covariances.shape[-2:]))
        return np.concatenate([_pack_factor(factor) for factor in lower])

    def unpack(self, vector: Array, k: int, d: int, floor: float) -> Array:
        parts = vector.reshape(-1, d * (d + 1) // 2)
        with np.errstate(over="ignore", invalid="ignore"):
            factors = np.stack([_unpack_factor(part, d) for part in parts])
            out = factors @ factors.transpose(0, 2, 1)
        if not np.isfinite(out).all():
            return np.full(self.shape(k, d), np.nan)
        return np.stack([_at_least(c, floor) for c in out]).reshape(self.shape(k, d))


class _Full(_Matrices):
    name, kind = "full", 0

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (k, d, d)

    def width(self, d: int) -> int:
        return d * (d + 1) // 2 + d + 1

    def expand(self, covariances: Array, k: int, d: int) -> Array:
        return covariances

    def log_det(self, covariances: Array, k: int, d: int) -> Array:
        diagonals = np.einsum("kii->ki", np.linalg.cholesky(covariances))
        return np.asarray(2 * np.log(diagonals).sum(axis=1))

    def theta(self, covariances: Array, means: Array) -> Array:
        d = means.shape[1]
        precision = np.linalg.inv(covariances)
        linear = np.einsum("kij,kj->ki", precision, means)
        constant = -0.5 * (linear * means).sum(axis=1, keepdims=True)
        upper = np.triu_indices(d)
        # Off-diagonal products stand once for two entries of the symmetric matrix.
        square = -precision[:, upper[0], upper[1]] * np.where(upper[0] == upper[1], 0.5, 1.0)
        return np.hstack([square, linear, constant])

    def mahalanobis(self, x: Array, covariances: Array, means: Array) -> Array:
        factors = np.linalg.cholesky(covariances)
        return np.stack([_whitened_norms(x - m, f) for m, f in zip(means, factors, strict=True)], axis=1)

    def from_features(self, sums: Array, x: Array, weights: Array) -> Array:
        d = x.shape[1]
        upper = np.triu_indices(d)
        out = np.empty((len(sums), d, d))
        out[:, upper[0], upper[1]] = out[:, upper[1], upper[0]] = sums[:, : len(upper[0])]
        return out

    def scatter(self, x: Array, posterior: Array, points: Array) -> Array:
        return np.stack([_weighted_gram(x - r, q) for q, r in zip(posterior.T, points, strict=True)])

    def reduce(self, second: Array) -> Array:
        return second

    def move(self, second: Array, weight: Array, first: Array, shift: Array) -> Array:
        cross = np.einsum("ki,kj->kij", first, shift)
        square = np.einsum("k,ki,kj->kij", weight, shift, shift)
        return np.asarray(second - cross - cross.transpose(0, 2, 1) + square)

    def solve(self, second: Array, weight: Array, d: int, floor: float, old: Array) -> Array:
        return np.stack(
            [_at_least(s / w, floor) if w > 0 else c for s, w, c in zip(second, weight, old, strict=True)]
        )

    def trace(self, covariances: Array, second: Array) -> float:
        return float(np.einsum("kii->", np.linalg.solve(covariances, second)))


class _Tied(_Matrices):
    name, kind = "tied", 3

    def shape(self, k: int, d: int) -> tuple[int, ...]:
        return (d, d)

    def width(self, d: int) -> int:
        return d + 1

    def expand(self, covariances: Array, k: int, d: int) -> Array:
        return np.broadcast_to(covariances, (k, d, d))

    def log_det(self, covariances: Array, k: int, d: int) -> Array:
        return np.full(k, 2 * np.log(np.diag(np.linalg.cholesky(covariances))).sum())

    def theta(self, covariances: Array, means: Array) -> Array:
        linear = np.linalg.solve(covariances, means.T).T
        return np.hstack([linear, -0.5 * (linear * means).sum(axis=1, keepdims=True)])

    def mahalanobis(self, x: Array, covariances: Array, means: Array) -> Array:
        factor = np.linalg.cholesky(covariances)
        return np.stack([_whitened_norms(x - m, factor) for m in means], axis=1)

    def from_features(self, sums: Array, x: Array, weights: Array) -> Array:
        return _weighted_gram(x, weights)

    def scatter(self, x: Array, posterior: Array, points: Array) -> Array:
        grams = (_weighted_gram(x - r, q) for q, r in zip(posterior.T, points, strict=True))
        return np.asarray(sum(grams))

    def reduce(self, second: Array) -> Array:
        return np.asarray(second.sum(axis=0))

    def move(self, second: Array, weight: Array, first: Array, shift: Array) -> Array:
        cross = first.T @ shift
        return np.asarray(second - cross - cross.T + (shift * weight[:, None]).T @ shift)

    def solve(self, second: Array, weight: Array, d: int, floor: float, old: Array) -> Array:
        return _at_least(second / weight.sum(), floor)

    def trace(self, covariances: Array, second: Array) -> float:
        return float(np.trace(cho_solve((np.linalg.cholesky(covariances), True), second)))

    def shared(self, covariances: Array, second: Array) -> float:
        return -0.5 * self.trace(covariances, second)


SHAPES: dict[str, Covariance] = {shape.name: shape for shape in (_Full(), _Tied(), _Diag(), _Spherical())}
"""The shapes by name."""


def _at_least(c: Array, floor: float) -> Array:
    """The most likely covariance above ``floor`` for the scatter ``c``: eigenvalues lifted to it.

    Cholesky tells at a tenth of the price that nothing has to be lifted.
    """
    c = (c + c.T) / 2
    try:
        np.linalg.cholesky(c - floor * np.eye(len(c)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(c)
        c = (vectors * np.maximum(values, floor)) @ vectors.T
        return (c + c.T) / 2
    return c


def _whitened_norms(x: Array, factor: NDArray[Any]) -> Array:
    white = solve_triangular(factor, x.T, lower=True)
    return np.asarray(np.einsum("ij,ij->j", white, white))


def _weighted_gram(x: Array, weights: Array) -> Array:
    return np.asarray((x * weights[:, None]).T @ x)


def _pack_factor(factor: Array) -> Array:
    out = factor.copy()
    np.fill_diagonal(out, np.log(np.diag(out)))
    return out[np.tril_indices(len(out))]


def _unpack_factor(part: Array, d: int) -> Array:
    out = np.zeros((d, d))
    out[np.tril_indices(d)] = part
    np.fill_diagonal(out, np.exp(np.diag(out)))
    return out
