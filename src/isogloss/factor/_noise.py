r"""The noise of a view: a full matrix, a variance per feature, or one variance.

The noise of all views is one flat vector, and so are the sums it is estimated from. A kind of noise says
how they are laid out; :class:`Precision` answers what the E-step asks of :math:`\Psi^{-1}`.

The M-step maximises :math:`-\log|\Psi| - \operatorname{tr}\Psi^{-1}R` under
:math:`\Psi \succeq f I`. Its solution has the eigenvectors of :math:`R` and the eigenvalues
:math:`\max(\lambda, f)`, so the floor is a constraint and the step stays exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

from isogloss.factor._units import Units
from isogloss.linalg import nearest_psd

Array = NDArray[np.float64]
Dims = Sequence[int]


class Precision(ABC):
    """Terms of the inverse of the noise that the steps need."""

    log_dets: Array
    """Log determinants of the noise, one per view."""

    @abstractmethod
    def solve(self, B: Array) -> Array:
        """The product of the inverse with a matrix of as many rows as there are features."""

    @abstractmethod
    def trace(self, scatter: Array) -> float:
        """Trace of the inverse times sums laid out like the noise."""

    @abstractmethod
    def whiten(self, B: Array) -> Array:
        """``L^-1 B`` where the noise is ``L L'``."""

    @abstractmethod
    def colour(self, B: Array) -> Array:
        """``L B``."""

    @abstractmethod
    def squares(self, X: Array, view: int) -> Array:
        """``x' Psi_v^-1 x`` of rows of one view."""


class Noise(ABC):
    """One kind of noise; stateless."""

    kind: str

    @abstractmethod
    def size(self, dims: Dims) -> int:
        """Length of the flat noise."""

    @abstractmethod
    def parameters(self, dims: Dims) -> int:
        """Number of free parameters."""

    @abstractmethod
    def matrices(self, noise: Array, dims: Dims) -> list[Array]:
        """A covariance matrix per view."""

    @abstractmethod
    def precision(self, noise: Array, dims: Dims) -> Precision:
        """The inverse; raises ``LinAlgError`` where there is none."""

    @abstractmethod
    def inner(self, X: Array, Y: Array, dims: Dims) -> Array:
        """The parts of ``X Y'`` that the noise is estimated from; both have a row per feature."""

    @abstractmethod
    def part(self, second: Array, dims: Dims) -> Array:
        """The same parts of a symmetric matrix of all features."""

    @abstractmethod
    def positions(self, dims: Dims, views: Sequence[int]) -> NDArray[np.int64]:
        """Return the indices of some views' sums among those of all views."""

    @abstractmethod
    def ridge(self, weights: Array, dims: Dims) -> Array:
        """The same parts of a diagonal matrix."""

    @abstractmethod
    def estimate(self, scatter: Array, rows: Array, dims: Dims, floor: float) -> Array:
        """The noise of residual sums over ``rows`` (one number per feature), not below the floor."""

    @abstractmethod
    def split(self, scatter: Array, dims: Dims) -> list[Array]:
        """Sums laid out like the noise, view by view: matrices, or vectors of variances."""

    @abstractmethod
    def moved(self, noise: Array, units: Units, dims: Dims) -> Array:
        """The noise in other units."""

    @abstractmethod
    def pack(self, noise: Array, dims: Dims) -> Array:
        """An unconstrained vector."""

    @abstractmethod
    def unpack(self, vector: Array, dims: Dims, floor: float) -> Array:
        """The noise of such a vector, not below the floor."""


class _Diagonal(Noise):
    """A variance per feature."""

    kind = "diag"

    def size(self, dims: Dims) -> int:
        return sum(dims)

    def parameters(self, dims: Dims) -> int:
        return sum(dims)

    def matrices(self, noise: Array, dims: Dims) -> list[Array]:
        return [np.diag(part) for part in np.split(self._each(noise, dims), np.cumsum(dims)[:-1])]

    def precision(self, noise: Array, dims: Dims) -> Precision:
        return _DiagonalPrecision(self._each(noise, dims), dims)

    def inner(self, X: Array, Y: Array, dims: Dims) -> Array:
        return np.asarray(np.einsum("dk,dk->d", X, Y))

    def part(self, second: Array, dims: Dims) -> Array:
        return np.diag(second).copy()

    def positions(self, dims: Dims, views: Sequence[int]) -> NDArray[np.int64]:
        return _ranges(dims, views)

    def ridge(self, weights: Array, dims: Dims) -> Array:
        return weights

    def estimate(self, scatter: Array, rows: Array, dims: Dims, floor: float) -> Array:
        return np.maximum(scatter / rows, floor)

    def split(self, scatter: Array, dims: Dims) -> list[Array]:
        return np.split(scatter, np.cumsum(dims)[:-1])

    def moved(self, noise: Array, units: Units, dims: Dims) -> Array:
        return noise * np.concatenate(units.roots) ** 2

    def pack(self, noise: Array, dims: Dims) -> Array:
        return np.log(noise)

    def unpack(self, vector: Array, dims: Dims, floor: float) -> Array:
        return np.maximum(np.exp(np.minimum(vector, 500.0)), floor)

    def _each(self, noise: Array, dims: Dims) -> Array:
        return noise


class _Isotropic(_Diagonal):
    """One variance per view."""

    kind = "isotropic"

    def size(self, dims: Dims) -> int:
        return len(dims)

    def parameters(self, dims: Dims) -> int:
        return len(dims)

    def estimate(self, scatter: Array, rows: Array, dims: Dims, floor: float) -> Array:
        starts = np.cumsum([0, *dims[:-1]])
        return np.asarray(np.maximum(np.add.reduceat(scatter / rows, starts) / np.asarray(dims), floor))

    def moved(self, noise: Array, units: Units, dims: Dims) -> Array:
        return np.asarray(noise * np.array([root[0] for root in units.roots]) ** 2)

    def _each(self, noise: Array, dims: Dims) -> Array:
        return np.repeat(noise, dims)


class _Full(Noise):
    """A covariance matrix per view; flat, the matrices stand one after the other."""

    kind = "full"

    def size(self, dims: Dims) -> int:
        return sum(d * d for d in dims)

    def parameters(self, dims: Dims) -> int:
        return sum(d * (d + 1) // 2 for d in dims)

    def matrices(self, noise: Array, dims: Dims) -> list[Array]:
        cuts = np.cumsum([d * d for d in dims])[:-1]
        return [part.reshape(d, d) for part, d in zip(np.split(noise, cuts), dims, strict=True)]

    def precision(self, noise: Array, dims: Dims) -> Precision:
        return _FullPrecision(self.matrices(noise, dims))

    def inner(self, X: Array, Y: Array, dims: Dims) -> Array:
        blocks = zip(*(np.split(Z, np.cumsum(dims)[:-1]) for Z in (X, Y)), strict=True)
        return np.concatenate([(x @ y.T).ravel() for x, y in blocks])

    def part(self, second: Array, dims: Dims) -> Array:
        ends = np.cumsum(dims)
        return np.concatenate([second[e - d : e, e - d : e].ravel() for d, e in zip(dims, ends, strict=True)])

    def positions(self, dims: Dims, views: Sequence[int]) -> NDArray[np.int64]:
        return _ranges([d * d for d in dims], views)

    def ridge(self, weights: Array, dims: Dims) -> Array:
        return np.concatenate([np.diag(w).ravel() for w in np.split(weights, np.cumsum(dims)[:-1])])

    def estimate(self, scatter: Array, rows: Array, dims: Dims, floor: float) -> Array:
        starts = np.cumsum([0, *dims[:-1]])
        blocks = zip(self.matrices(scatter, dims), rows[starts], strict=True)
        return np.concatenate([_above(R / n, floor).ravel() for R, n in blocks])

    def split(self, scatter: Array, dims: Dims) -> list[Array]:
        return self.matrices(scatter, dims)

    def moved(self, noise: Array, units: Units, dims: Dims) -> Array:
        blocks = enumerate(self.matrices(noise, dims))
        return np.concatenate([units.times(units.times(P, [v]).T, [v]).ravel() for v, P in blocks])

    def pack(self, noise: Array, dims: Dims) -> Array:
        return np.concatenate([_log_cholesky(_cholesky(P)) for P in self.matrices(noise, dims)])

    def unpack(self, vector: Array, dims: Dims, floor: float) -> Array:
        cuts = np.cumsum([d * (d + 1) // 2 for d in dims])[:-1]
        factors = [_from_log_cholesky(v, d) for v, d in zip(np.split(vector, cuts), dims, strict=True)]
        return np.concatenate([_above(L @ L.T, floor).ravel() for L in factors])


class _DiagonalPrecision(Precision):
    def __init__(self, psi: Array, dims: Dims) -> None:
        self.psi = psi
        self.starts = np.cumsum([0, *dims[:-1]])
        self.log_dets = np.add.reduceat(np.log(psi), self.starts)

    def solve(self, B: Array) -> Array:
        return B / self.psi[:, np.newaxis]

    def trace(self, scatter: Array) -> float:
        return float((scatter / self.psi).sum())

    def whiten(self, B: Array) -> Array:
        return B / np.sqrt(self.psi)[:, np.newaxis]

    def colour(self, B: Array) -> Array:
        return B * np.sqrt(self.psi)[:, np.newaxis]

    def squares(self, X: Array, view: int) -> Array:
        cut = slice(self.starts[view], self.starts[view] + X.shape[1])
        return np.asarray(X**2 @ (1.0 / self.psi[cut]))


class _FullPrecision(Precision):
    def __init__(self, matrices: Sequence[Array]) -> None:
        self.factors = [_cholesky(P) for P in matrices]
        self.cuts = np.cumsum([len(L) for L in self.factors])[:-1]
        self.log_dets = np.array([2.0 * np.log(np.diag(L)).sum() for L in self.factors])
        self._inverse: Array | None = None

    def solve(self, B: Array) -> Array:
        parts = zip(self.factors, np.split(B, self.cuts), strict=True)
        return np.vstack([cho_solve((L, True), b, check_finite=False) for L, b in parts])

    def trace(self, scatter: Array) -> float:
        if self._inverse is None:
            self._inverse = np.concatenate([_inverse(L).ravel() for L in self.factors])
        return float(self._inverse @ scatter)

    def whiten(self, B: Array) -> Array:
        parts = zip(self.factors, np.split(B, self.cuts), strict=True)
        return np.vstack([solve_triangular(L, b, lower=True, check_finite=False) for L, b in parts])

    def colour(self, B: Array) -> Array:
        return np.vstack([L @ b for L, b in zip(self.factors, np.split(B, self.cuts), strict=True)])

    def squares(self, X: Array, view: int) -> Array:
        white = solve_triangular(self.factors[view], X.T, lower=True, check_finite=False)
        return np.asarray(np.einsum("dn,dn->n", white, white))


def _ranges(sizes: Sequence[int], chosen: Sequence[int]) -> NDArray[np.int64]:
    ends = np.cumsum(sizes)
    return np.concatenate([np.arange(ends[v] - sizes[v], ends[v]) for v in chosen])


def _cholesky(P: Array) -> Array:
    L, failed = dpotrf(P, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("the noise of a view is not positive definite")
    return np.asarray(L)


def _inverse(L: Array) -> Array:
    lower = dpotri(L, lower=1)[0]
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def _above(P: Array, floor: float) -> Array:
    """The matrix, symmetric, its eigenvalues raised to the floor where they are below it."""
    P = 0.5 * (P + P.T)
    shifted = P - floor * np.eye(len(P))
    return nearest_psd(P, floor) if dpotrf(shifted, lower=1)[1] else P


def _log_cholesky(L: Array) -> Array:
    free = L.copy()
    np.fill_diagonal(free, np.log(np.diag(L)))
    return free[np.tril_indices(len(L))]


def _from_log_cholesky(vector: Array, d: int) -> Array:
    L = np.zeros((d, d))
    L[np.tril_indices(d)] = vector
    np.fill_diagonal(L, np.exp(np.minimum(np.diag(L), 250.0)))
    return L


NOISES: dict[str, Noise] = {noise.kind: noise for noise in (_Full(), _Diagonal(), _Isotropic())}


def noise_of(kind: str, dims: Dims) -> Noise:
    """The noise of that kind; full matrices of one feature each are variances."""
    if kind not in NOISES:
        raise ValueError(f"noise={kind!r}; expected one of {', '.join(map(repr, NOISES))}")
    return NOISES["diag" if kind == "full" and max(dims) == 1 else kind]
