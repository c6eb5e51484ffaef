r"""Starting values of a fit, and the closed form for two views.

The views are white (:mod:`~isogloss.factor._units`), so the model says that they correlate as
:math:`W_u W_v^\top` and that :math:`\Psi_v = I - W_v W_v^\top`. The leading eigenpairs
:math:`(\lambda, u)` of their joint covariance (MAXVAR) give

.. math:: W_v = u_v \sqrt{\tfrac{V}{V - 1}(\lambda - 1)} .

For two views these are the canonical directions with :math:`W_v W_v^\top` of eigenvalues :math:`\rho`, and no
parameters are more likely (Browne, 1979; Bach and Jordan, 2005). For more they are a start. Covariances of
views with missing rows are taken over the rows a pair shares; they need not be those of any data set, which
does no harm to a start, whose factors are clipped to leave every view some noise.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from isogloss.factor._data import FactorData
from isogloss.factor._noise import noise_of
from isogloss.factor._parameters import FactorParameters, block_slices
from isogloss.linalg import whitening_matrix

Array = NDArray[np.float64]

# Largest share of a direction's variance that a start explains, and the least that a factor gets.
_MOST, _LEAST = 0.99, 1e-3
# Correlations are clipped to the floor, which rounding may miss by this factor.
_FLOOR_MARGIN = 0.99


def maxvar_start(data: FactorData, n_components: int, floor: float) -> FactorParameters:
    """Loadings from the leading eigenvectors of the joint covariance of white views."""
    S = pairwise_covariance(data)
    D, m = len(S), len(_blocks(data))
    values, vectors = eigh(S, subset_by_index=[D - n_components, D - 1], check_finite=False)
    gains = np.maximum(values[::-1] - 1.0, _LEAST) * (m / max(m - 1, 1))
    return _parameters(data, S, vectors[:, ::-1] * np.sqrt(gains), floor)


def random_start(data: FactorData, n_components: int, floor: float, random_state: Any) -> FactorParameters:
    """Loadings drawn at random, which explain a tenth of the variance."""
    rng, S = check_random_state(random_state), pairwise_covariance(data)
    W = rng.standard_normal((len(S), n_components)) * np.sqrt(0.1 / n_components)
    return _parameters(data, S, W, floor)


def canonical_solution(data: FactorData, n_components: int, floor: float) -> tuple[FactorParameters, Array]:
    """The most likely parameters of two complete views with full noise, and their canonical correlations."""
    S, cut = data.covariance, data.dims[0]
    blocks = S[:cut, :cut], S[cut:, cut:]
    white = [whitening_matrix(block).matrix for block in blocks]
    U, rho, Vt = np.linalg.svd(white[0].T @ S[:cut, cut:] @ white[1], full_matrices=False)
    k = min(n_components, len(rho))
    explained = np.minimum(rho[:k], 1.0 - floor)
    W = np.zeros((len(S), n_components))
    directions = white[0] @ U[:, :k], white[1] @ Vt[:k].T
    W[:, :k] = np.vstack([C @ u for C, u in zip(blocks, directions, strict=True)]) * np.sqrt(explained)
    noise = _noise(data, S, W, floor * _FLOOR_MARGIN)
    return FactorParameters(np.zeros(len(S)), W, noise, data.kind, data.dims), np.minimum(rho, 1.0)


def pairwise_covariance(data: FactorData) -> Array:
    """Covariance of all features about their means, each pair of views over the rows it shares."""
    if data.complete:
        return data.covariance
    total, rows = np.zeros((sum(data.dims),) * 2), np.zeros((len(data.dims),) * 2)
    for pattern in data.patterns:
        second = pattern.second() + np.outer(pattern.n * pattern.mean, pattern.mean)
        cuts = dict(zip(pattern.views, block_slices([data.dims[v] for v in pattern.views]), strict=True))
        rows[np.ix_(pattern.views, pattern.views)] += pattern.n
        for u, v in combinations_with_replacement(pattern.views, 2):
            total[data.cuts[u], data.cuts[v]] += second[cuts[u], cuts[v]]
    for u, v in combinations_with_replacement(range(len(data.dims)), 2):
        block = total[data.cuts[u], data.cuts[v]] / max(rows[u, v], 1.0)
        total[data.cuts[u], data.cuts[v]], total[data.cuts[v], data.cuts[u]] = block, block.T
    return total


def _blocks(data: FactorData) -> list[int]:
    """Sizes of the blocks within which the noise correlates."""
    full = noise_of(data.kind, data.dims).kind == "full"
    return list(data.dims) if full else [1] * sum(data.dims)


def _parameters(data: FactorData, S: Array, W: Array, floor: float) -> FactorParameters:
    """Loadings, none of which explains more than most of a direction, and the noise they leave."""
    cuts = np.cumsum(_blocks(data))[:-1]
    W = np.vstack([_clipped(part) for part in np.split(W, cuts)])
    return FactorParameters(np.zeros(len(S)), W, _noise(data, S, W, floor), data.kind, data.dims)


def _noise(data: FactorData, S: Array, W: Array, floor: float) -> Array:
    shape = noise_of(data.kind, data.dims)
    rest = shape.part(S, data.dims) - shape.inner(W, W, data.dims)
    return shape.estimate(rest, np.ones(len(S)), data.dims, floor)


def _clipped(W: Array) -> Array:
    if np.linalg.norm(W) ** 2 <= _MOST:
        return W
    u, s, vt = np.linalg.svd(W, full_matrices=False)
    return np.asarray((u * np.minimum(s, np.sqrt(_MOST))) @ vt)
