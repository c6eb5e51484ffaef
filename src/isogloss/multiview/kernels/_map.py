r"""Kernels of one view: evaluated, centred and eigendecomposed.

With :math:`H = I - \frac1n 11'` the centred kernel is :math:`HKH = U \Delta U'`; all that the dual
problems of chapter 4 in [1]_ need are its :math:`r` positive eigenvalues and their vectors. They come from

* the kernel matrix itself (n x n);
* the features, when the kernel is linear and they are fewer than the rows;
* the features of a low-rank approximation (:mod:`~isogloss.multiview.kernels._low_rank`), rows x rank.

A variate is a combination of kernel columns, :math:`k(x, P)c` less its training mean, where :math:`P` are all
training rows or the landmarks. That is the centring of new points of section 4.4.3 in [1]_, because the
coefficients that are found sum to zero or act on centred features.

References
----------
.. [1] J. Rupnik, *Multi-view canonical correlation analysis*, doctoral dissertation, Jožef Stefan
   International Postgraduate School.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd
from scipy.sparse import issparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import assert_all_finite, gen_batches

from isogloss.linalg import centre_kernel, check_symmetric
from isogloss.multiview.kernels._low_rank import LowRank, from_landmarks, nystrom, pivoted_cholesky
from isogloss.views import Matrix

Array = NDArray[np.float64]
Kernel = str | Callable[..., float]

KERNELS = ("linear", "rbf", "poly", "polynomial", "sigmoid", "cosine", "precomputed")

# Eigenvalues up to this share of the largest are zero; the same as for covariances.
_RANK_TOL = 1e-12
# Negative eigenvalues beyond this share are no rounding; single precision kernels reach 1e-7.
_MAX_NEGATIVE_EIGENVALUE = 1e-6
_BATCH = 512
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class ViewKernel:
    """The kernel of one view, with its parameters."""

    kernel: Kernel
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def linear(self) -> bool:
        """Return whether it is the inner product."""
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def precomputed(self) -> bool:
        """Return whether rows are rows of the kernel matrix already."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def between(self, X: Matrix, Y: Matrix) -> Array:
        """Kernel of the rows of X and Y, dense."""
        # SciPy's sparse product, so that two sparse views meet as sparse.
        K = X @ Y.T if self.linear else pairwise_kernels(X, Y, self.kernel, filter_params=True, **self.params)
        K = np.asarray(K.toarray() if issparse(K) else K, dtype=np.float64)
        assert_all_finite(K, input_name=f"the kernel matrix (kernel={self.kernel!r})")
        return K

    def columns(self, X: Matrix, indices: NDArray[np.int64]) -> Array:
        """Columns of the training kernel."""
        return np.asarray(X[:, indices]) if self.precomputed else self.between(X, X[indices])

    def diagonal(self, X: Matrix) -> Array:
        """Kernel of each row with itself, from small square blocks."""
        if self.precomputed:
            return np.asarray(X.diagonal(), dtype=np.float64)
        batches = gen_batches(X.shape[0], 1 if callable(self.kernel) else 128)
        return np.concatenate([self.between(X[rows], X[rows]).diagonal() for rows in batches])

    def project(self, X: Matrix, landmarks: Matrix, coef: Array) -> Array:
        """``k(X, landmarks) @ coef``, a few hundred rows at a time."""
        batches = gen_batches(X.shape[0], _BATCH)
        return np.vstack([self.between(X[rows], landmarks) @ coef for rows in batches])


@dataclass(frozen=True, eq=False)
class KernelSpectrum:
    """The centred training kernel as ``vectors @ diag(values) @ vectors.T``."""

    values: Array
    """Positive eigenvalues, falling. Shape (rank,)."""
    vectors: Array
    """Orthonormal, with means zero. Shape (rows, rank)."""
    basis: Array
    """``basis @ c`` are the coefficients of kernel columns whose variate is ``vectors @ (values * c)``.
    Shape (landmarks, rank).
    """
    landmarks: NDArray[np.int64]
    """Training rows whose kernel columns are used."""
    means: Array | None
    """Means of those columns; None when features were used instead of a kernel. Shape (landmarks,)."""
    left_out: float = 0.0
    """Share of the trace of the kernel that a low-rank approximation lacks."""


def check_kernels(
    kernel: Kernel | Sequence[Kernel],
    gamma: float | Sequence[float | None] | None,
    named: dict[str, Any],
    kernel_params: dict[str, Any] | None,
    n_views: int,
) -> list[ViewKernel]:
    """One kernel per view, given one for all or one each."""
    kernels = _one_each(kernel, n_views, "kernel")
    gammas = _one_each(gamma, n_views, "gamma")
    for one in kernels:
        if not callable(one) and one not in KERNELS:
            raise ValueError(f"kernel={one!r} is not known; use a callable or one of {', '.join(KERNELS)}")
    return [
        ViewKernel(one, (kernel_params or {}) if callable(one) else {"gamma": g, **named})
        for one, g in zip(kernels, gammas, strict=True)
    ]


def kernel_spectrum(
    kernel: ViewKernel,
    X: Matrix,
    *,
    low_rank: str | None = None,
    rank: int | None = None,
    tol: float = 1e-6,
    rng: np.random.RandomState,
) -> KernelSpectrum:
    """Eigenvalues and eigenvectors of the centred kernel of the rows of X."""
    n = X.shape[0]
    if low_rank == "nystrom":
        approximation = nystrom(
            lambda i: kernel.columns(X, i), kernel.diagonal(X), rank=n if rank is None else rank, rng=rng
        )
        return _from_landmarks(approximation)
    if low_rank == "cholesky":
        return _from_landmarks(
            pivoted_cholesky(lambda i: kernel.columns(X, i), kernel.diagonal(X), rank=rank, tol=tol)
        )
    if kernel.linear and X.shape[1] < n:
        return _from_features(X.toarray() if issparse(X) else np.asarray(X))
    return _from_matrix(check_symmetric(X if kernel.precomputed else kernel.between(X, X), "the kernel"))


def spectrum_again(
    kernel: ViewKernel, X: Matrix, landmarks: NDArray[np.int64], *, low_rank: bool
) -> KernelSpectrum:
    """The spectrum of a fit once more, from the landmarks that it chose."""
    if low_rank:
        return _from_landmarks(from_landmarks(lambda i: kernel.columns(X, i), kernel.diagonal(X), landmarks))
    return kernel_spectrum(kernel, X, rng=np.random.RandomState(0))


def _from_matrix(K: Array) -> KernelSpectrum:
    values, vectors = eigh(centre_kernel(K), driver="evd", overwrite_a=True, check_finite=False)
    # Centring rounds at the size of K, so a constant view has eigenvalues of that size, and rank zero.
    rounding = 10 * len(K) * _EPS * np.abs(K).max()
    if values[0] < -max(_MAX_NEGATIVE_EIGENVALUE * values[-1], rounding):
        warnings.warn(
            f"a kernel is not positive semi-definite: its eigenvalues run from {values[0]:.3g} to "
            f"{values[-1]:.3g}; directions with negative ones are left out",
            UserWarning,
            stacklevel=5,
        )
    kept = values > max(_RANK_TOL * values[-1], rounding)
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    return KernelSpectrum(values, vectors, vectors, np.arange(len(K)), K.mean(axis=0))


def _from_features(X: Array) -> KernelSpectrum:
    U, values, _ = _centred_svd(X)
    return KernelSpectrum(values, U, U, np.arange(len(X)), None)


def _from_landmarks(found: LowRank) -> KernelSpectrum:
    U, values, V = _centred_svd(found.features)
    basis = found.map @ (V * np.sqrt(values))
    return KernelSpectrum(values, U, basis, found.landmarks, found.means, found.left_out)


def _centred_svd(F: Array) -> tuple[Array, Array, Array]:
    """Left vectors, squared singular values and right vectors of centred features."""
    U, s, Vt = svd(F - F.mean(axis=0, dtype=np.float64), full_matrices=False, check_finite=False)
    rounding = max(F.shape) * _EPS * np.abs(F).max(initial=0.0)
    kept = s > max(np.sqrt(_RANK_TOL) * s.max(initial=0.0), rounding)
    return U[:, kept], s[kept] ** 2, Vt[kept].T


def _one_each(value: Any, n_views: int, name: str) -> list[Any]:
    values = list(value) if isinstance(value, (list, tuple)) else [value] * n_views
    if len(values) != n_views:
        raise ValueError(f"{name} gives {len(values)} for {n_views} views; expected one for all, or one each")
    return values
