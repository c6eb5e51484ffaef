r"""Products of covariance blocks with thin matrices, from moments or straight from the rows.

Everything a model reports after its weights are known (correlations, loadings, regressions) and every
matrix-free solver needs only :math:`C_{ij}V` for a thin :math:`V`. Of wide sparse views the blocks are
never formed: with :math:`Z = X_jV`, centred over the rows that both views have,

.. math:: C_{ij}V = X_i'Z / (n_{ij} - 1),

where centring the thin side is enough for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from isogloss.linalg import CentredOperator, block_cg
from isogloss.multiview.solvers._problem import check_ridges
from isogloss.stats import ViewMoments, column_means
from isogloss.views import Matrix, Views

Array = NDArray[np.float64]


class CovarianceProducts(Protocol):
    """Covariances known by their products."""

    dims: tuple[int, ...]

    def mean(self, i: int) -> Array:
        """Mean of view ``i``."""

    def variances(self, i: int) -> Array:
        """Variance of each feature of view ``i``."""

    def cross(self, i: int, j: int, V: Array) -> Array:
        """Product of the covariance of views ``i`` and ``j`` with ``V``."""


class MomentProducts:
    """Products with the blocks of a :class:`~isogloss.stats.ViewMoments`.

    Parameters
    ----------
    moments : ViewMoments
        The moments.
    shrinkage : float
        Covariances between views are multiplied by ``1 - shrinkage``.
    """

    def __init__(self, moments: ViewMoments, shrinkage: float = 0.0) -> None:
        self.moments, self.dims, self.factor = moments, moments.dims, 1.0 - shrinkage

    def mean(self, i: int) -> Array:
        """Mean of view ``i``."""
        return self.moments.mean(i).copy()

    def variances(self, i: int) -> Array:
        """Variance of each feature of view ``i``."""
        return self.moments.product(i, i).diagonal() / (self.moments.count(i) - 1)

    def cross(self, i: int, j: int, V: Array) -> Array:
        """Product of the covariance of views ``i`` and ``j`` with ``V``."""
        n = self.moments.count(i, j)
        if n < 2:
            return np.zeros((self.dims[i], V.shape[1]))
        scale = (1.0 if i == j else self.factor) / (n - 1)
        return scale * (self.moments.product(i, j) @ V)


class RowProducts:
    """Products with covariances that are never formed; sparse rows stay sparse.

    Parameters
    ----------
    views : Views
        Rows, each with whatever views it has. Float64 rows are kept by reference.
    ridge : float in [0, 1], or one per view
        Of the regularised covariance ``R_i = (1 - ridge) C_ii + ridge I``.

    Notes
    -----
    Memory beyond the rows is a few matrices of (rows or features) x components.
    """

    def __init__(self, views: Views, ridge: float | Sequence[float] = 0.0) -> None:
        self.views, self.dims, self.present = views, views.dims, views.present
        self.ridges = check_ridges(ridge, views.n_views)
        present = self.present.astype(np.int64)
        self.counts = present.T @ present
        self.rows = [CentredOperator(x) for x in views.arrays]
        self._variances = [_variances(x) for x in views.arrays]

    def mean(self, i: int) -> Array:
        """Mean of view ``i``."""
        return self.rows[i].mean

    def variances(self, i: int) -> Array:
        """Variance of each feature of view ``i``."""
        return self._variances[i]

    def project(self, i: int, V: Array) -> Array:
        """Centred rows of view ``i`` times ``V``."""
        return np.asarray(self.rows[i] @ V)

    def cross(self, i: int, j: int, V: Array) -> Array:
        """Product of the covariance of views ``i`` and ``j`` with ``V``."""
        return self.pull(i, {j: self.project(j, V)})

    def pull(self, i: int, Z: dict[int, Array]) -> Array:
        """Sum over j of ``C_ij V_j``, given ``Z[j] = project(j, V_j)``: one product with the rows of i."""
        total = sum(self.moved(i, j, z) for j, z in Z.items())
        return np.asarray(self.rows[i].X.T @ total)

    def regularised(self, i: int, V: Array) -> Array:
        """``R_i V``."""
        return self.regularised_from(i, V, self.project(i, V))

    def regularised_from(self, i: int, V: Array, ZV: Array) -> Array:
        """``R_i V``, given the projection of V."""
        kappa = self.ridges[i]
        return np.asarray((1.0 - kappa) * self.pull(i, {i: ZV}) + kappa * V)

    def diagonal(self, i: int) -> Array:
        """Diagonal of ``R_i``, with ones for features that are nothing to it."""
        diagonal = (1.0 - self.ridges[i]) * self._variances[i] + self.ridges[i]
        return np.where(diagonal > 0, diagonal, 1.0)

    def inner(self, i: int, V: Array, ZV: Array, W: Array, ZW: Array) -> Array:
        """``V' R_i W``, given the projections of both."""
        kappa = self.ridges[i]
        product: Array = (1.0 - kappa) / (len(ZV) - 1) * (ZV.T @ ZW) + kappa * (V.T @ W)
        return product

    def squares(self, i: int, V: Array, ZV: Array) -> Array:
        """Diagonal of ``V' R_i V``, given the projection of V."""
        kappa = self.ridges[i]
        product: Array = (1.0 - kappa) / (len(ZV) - 1) * (ZV**2).sum(axis=0) + kappa * (V**2).sum(axis=0)
        return product

    def solve(self, i: int, S: Array, x0: Array | None = None, tol: float = 1e-8) -> Array:
        """``R_i^-1 S`` by conjugate gradients, preconditioned by the diagonal."""
        return block_cg(
            partial(self.regularised, i),
            S,
            x0=x0,
            preconditioner=self.diagonal(i),
            tol=tol,
            max_iter=2_000,
        ).x

    def moved(self, i: int, j: int, Z: Array) -> Array:
        """``Z`` (rows of view j) on the rows of view i, centred over the rows that have both."""
        n = self.counts[i, j]
        if n == len(Z) == self.counts[i, i]:
            return np.asarray(Z / (n - 1))
        both = self.present[:, i] & self.present[:, j]
        moved = np.zeros((self.counts[i, i], Z.shape[1]))
        if n > 1:
            shared = Z[both[self.present[:, j]]]
            moved[both[self.present[:, i]]] = (shared - shared.mean(axis=0)) / (n - 1)
        return moved


def correlations_of(products: CovarianceProducts, weights: Sequence[Array]) -> Array:
    """Correlations of the variates (components x views x views), without a ridge.

    Zero where a variate does not vary. Covariances are those of the rows two views share and variances
    those of all rows of a view, so with missing rows these are estimates rather than correlations of
    any one set of rows; :func:`~isogloss.multiview._base.view_correlations` gives the latter.
    """
    m, k = len(weights), weights[0].shape[1]
    out = np.empty((k, m, m))
    for j, W in enumerate(weights):
        for i in range(j + 1):
            out[:, i, j] = out[:, j, i] = np.einsum("pk,pk->k", weights[i], products.cross(i, j, W))
    deviations = np.sqrt(np.maximum(np.einsum("kii->ki", out), 0.0))
    scale = deviations[:, :, np.newaxis] * deviations[:, np.newaxis, :]
    out = np.where(scale > 0, out / np.where(scale > 0, scale, 1.0), 0.0)
    np.einsum("kii->ki", out)[:] = 1.0
    return out


def loadings_of(products: CovarianceProducts, weights: Sequence[Array]) -> list[Array]:
    """Correlations of the features of each view with its variates; zero for constant features."""
    loadings = []
    for i, W in enumerate(weights):
        covariances = products.cross(i, i, W)
        variances = np.einsum("pk,pk->k", W, covariances)
        scale = np.sqrt(np.maximum(np.outer(products.variances(i), variances), 0.0))
        loadings.append(np.where(scale > 0, covariances / np.where(scale > 0, scale, 1.0), 0.0))
    return loadings


def _variances(x: Matrix) -> Array:
    """Variances of columns; of sparse ones, the stored values about the mean and the rest at it."""
    n = x.shape[0]
    if n < 2:
        return np.zeros(x.shape[1])
    if not issparse(x):
        return np.asarray(x.var(axis=0, ddof=1, dtype=np.float64))
    mean = column_means(x)
    about = (x.data - mean[x.indices]) ** 2
    stored = np.bincount(x.indices, minlength=x.shape[1])
    squares = np.bincount(x.indices, weights=about, minlength=x.shape[1]) + (n - stored) * mean**2
    return np.asarray(squares / (n - 1))
