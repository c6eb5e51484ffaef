r"""Inference with a fitted model for rows that have any of the views.

With the views :math:`o` of a row seen (appendices B and C of the source),

.. math:: z \mid x_o \sim N(M_o A_o^\top(x_o - \mu_o),\; M_o), \qquad
          x_v \mid x_o \sim N(\mu_v + W_v E[z \mid x_o],\; \Psi_v + W_v M_o W_v^\top),

with :math:`A = \Psi^{-1}W`. Covariances depend on which views were seen, not on what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse

from isogloss.factor._parameters import FactorParameters, block_slices
from isogloss.factor._steps import factor_posterior
from isogloss.views import Matrix, Views

Array = NDArray[np.float64]

_VIEWS_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Conditional:
    """A Gaussian per row: means of their own, covariances shared by rows that have the same views.

    Attributes
    ----------
    mean : array (n, d)
        One per row.
    covariances : array (patterns, d, d)
        One per presence pattern.
    pattern : array (n,)
        Which of them is the row's.
    present : array of bool (patterns, views)
        The views that each pattern has.
    """

    mean: Array
    covariances: Array
    pattern: NDArray[np.int64]
    present: NDArray[np.bool_]

    def covariance(self, row: int) -> Array:
        """The covariance of one row."""
        return np.asarray(self.covariances[self.pattern[row]])


@dataclass(frozen=True, eq=False)
class ReconstructionErrors:
    """The two scaled errors whose sum with a constant is the log density (appendix D).

    Attributes
    ----------
    source : array (n,)
        Minus half the squared error of the source, rebuilt from the factors it gives.
    target : array (n,)
        Minus half the squared error of the target, predicted from the source.
    constant : float
        What both add up to less than the log density of the two views.
    """

    source: Array
    target: Array
    constant: float


def factors_of(p: FactorParameters, views: Views) -> Conditional:
    """The posterior of the factors of every row."""
    pulls = np.zeros((len(views), p.n_components))
    for part, block in _blocks(views):
        for v, x in enumerate(block.arrays):
            if x.shape[0]:
                pulls[part][block.present[:, v]] += _pull(p, x, v)
    mean, which = np.empty_like(pulls), np.empty(len(views), dtype=np.int64)
    covariances, kinds = [], []
    for k, (present, rows) in enumerate(views.patterns()):
        M = factor_posterior(p, tuple(np.flatnonzero(present).tolist()))[0]
        mean[rows], which[rows] = pulls[rows] @ M, k
        covariances.append(M)
        kinds.append(present)
    return Conditional(mean, np.stack(covariances), which, np.stack(kinds))


def conditional(p: FactorParameters, views: Views, view: int) -> Conditional:
    """One view of every row given the other views of the row."""
    present = views.present.copy()
    present[:, view] = False
    arrays = [x if v != view else None for v, x in enumerate(views.arrays)]
    z = factors_of(p, Views(arrays, names=views.names, present=present, dims=views.dims))
    W, mean, noise = p.loadings[view], p.means[view], p.noises[view]
    covariances = np.stack([noise + W @ M @ W.T for M in z.covariances])
    return Conditional(mean + z.mean @ W.T, covariances, z.pattern, z.present)


def log_density(p: FactorParameters, views: Views) -> Array:
    """Log density of every row over the views it has."""
    out = np.zeros(len(views))
    constants = np.asarray(p.dims) * np.log(2 * np.pi) + p.precision.log_dets
    for rows, block in _blocks(views):
        pulls, density = np.zeros((len(block), p.n_components)), -0.5 * block.present @ constants
        for v, x in enumerate(block.arrays):
            if x.shape[0]:
                here = block.present[:, v]
                pulls[here] += _pull(p, x, v)
                density[here] -= 0.5 * p.precision.squares(_dense(x) - p.means[v], v)
        for present, chosen in block.patterns():
            M, log_det = factor_posterior(p, tuple(np.flatnonzero(present).tolist()))
            density[chosen] += 0.5 * (np.einsum("nk,nk->n", pulls[chosen] @ M, pulls[chosen]) + log_det)
        out[rows] = density
    return out


def reconstruct(p: FactorParameters, x: Matrix, y: Matrix, source: int, target: int) -> ReconstructionErrors:
    """Errors of rows of two views: the first rebuilt from itself, the second from the first."""
    M = factor_posterior(p, (source,))[0]
    z = _pull(p, x, source) @ M
    Wx, Wy = p.loadings[source], p.loadings[target]
    residual = _dense(x) - p.means[source] - z @ Wx.T
    squares = p.precision.squares(residual, source)
    pulled = residual @ _weights(p, source)
    factor = cho_factor(p.noises[target] + Wy @ M @ Wy.T, lower=True)
    error = _dense(y) - p.means[target] - z @ Wy.T
    within = np.einsum("nd,dn->n", error, cho_solve(factor, error.T))
    log_det = np.linalg.slogdet(p.covariance([source]))[1] + 2.0 * np.log(np.diag(factor[0])).sum()
    constant = -0.5 * ((len(Wx) + len(Wy)) * np.log(2 * np.pi) + log_det)
    errors = squares + np.einsum("nk,nk->n", pulled, pulled)
    return ReconstructionErrors(-0.5 * errors, -0.5 * within, float(constant))


def _pull(p: FactorParameters, x: Matrix, view: int) -> Array:
    """``(x - mean) Psi^-1 W`` of rows of one view."""
    A = _weights(p, view)
    return np.asarray(x @ A, dtype=np.float64) - p.means[view] @ A


def _weights(p: FactorParameters, view: int) -> Array:
    return p.weights[block_slices(p.dims)[view]]


def _dense(x: Matrix) -> Array:
    return np.asarray(x.toarray() if issparse(x) else x, dtype=np.float64)


def _blocks(views: Views) -> Iterator[tuple[slice, Views]]:
    """Rows in blocks whose dense copies stay small."""
    size = max(1, _VIEWS_BLOCK_BYTES // (8 * sum(views.dims)))
    for start in range(0, len(views), size):
        rows = slice(start, min(start + size, len(views)))
        yield rows, views[rows]
