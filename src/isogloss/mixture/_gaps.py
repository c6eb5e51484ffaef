r"""The E-step of a Gaussian mixture for rows in which some values are missing.

Missing values are hidden variables beside the component, so EM stays exact (Ghahramani and Jordan,
1994): with :math:`o` the observed and :math:`m` the missing features of a row,

.. math:: x_m \mid x_o, k \sim N\bigl(\mu_m + B_k (x_o - \mu_o),\; V_k\bigr), \qquad
          B_k = \Sigma_{mo} \Sigma_{oo}^{-1}, \quad V_k = \Sigma_{mm} - B_k \Sigma_{om} ,

and the posterior of the component sees the observed features alone. Rows with the same gaps share all
matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from isogloss import kernels
from isogloss.mixture._covariance import Covariance
from isogloss.mixture._steps import Batch, MixtureParameters, expect, split_batch
from isogloss.stats import ExpectedCounts

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class _Conditional(NamedTuple):
    """One component seen through one pattern of gaps."""

    mean: Array
    regression: Array
    covariance: Array
    factor: tuple[Array, bool]
    log_constant: float
    entropy: float


def expect_with_gaps(
    covariance: Covariance, batch: Batch, p: MixtureParameters, *, threshold: float
) -> ExpectedCounts:
    """The E-step of a batch whose rows may have NaN for a missing value."""
    x, weights = split_batch(batch)
    gaps = np.isnan(x)
    whole = ~gaps.any(axis=1)
    total = expect(covariance, (x[whole], weights[whole]), p, threshold=threshold)
    for observed, rows in _patterns(gaps, np.flatnonzero(~whole)):
        total.merge(_expect_pattern(covariance, x[rows], weights[rows], observed, p))
    return total


def log_joint_with_gaps(covariance: Covariance, x: Array, p: MixtureParameters) -> Array:
    """``log p(observed part of a row, z = k)``, (n x K)."""
    out = np.empty((len(x), len(p.weights)))
    for observed, rows in _patterns(np.isnan(x), np.arange(len(x))):
        parts = _conditionals(covariance, p, observed)
        out[rows] = _log_joint(x[np.ix_(rows, observed)], parts, observed)
    return out


def conditional_means(covariance: Covariance, x: Array, posterior: Array, p: MixtureParameters) -> Array:
    """Rows with every missing value replaced by its expectation given the observed ones."""
    out = x.copy()
    for observed, rows in _patterns(np.isnan(x), np.arange(len(x))):
        parts = _conditionals(covariance, p, observed)
        filled = (_fill(x[rows], part, observed) for part in parts)
        out[rows] = sum(q[:, None] * f for q, f in zip(posterior[rows].T, filled, strict=True))
    return np.where(np.isnan(x), out, x)


def _patterns(gaps: Mask, rows: NDArray[np.int64]) -> Iterator[tuple[Mask, NDArray[np.int64]]]:
    """Each pattern of observed features among ``rows``, with the rows that have it."""
    if not len(rows):
        return
    kinds, inverse = np.unique(gaps[rows], axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        yield ~kind, rows[inverse.ravel() == k]


def _expect_pattern(
    covariance: Covariance, x: Array, weights: Array, observed: Mask, p: MixtureParameters
) -> ExpectedCounts:
    parts = _conditionals(covariance, p, observed)
    posterior, log_norm = _log_joint(x[:, observed], parts, observed), np.empty(len(x))
    entropy, _ = kernels.normalise_log_joint(posterior, weights, 1.0, log_norm)
    posterior *= weights[:, None]
    weight = posterior.sum(axis=0)
    first, second = _moments(x, posterior, parts, observed, p.references)
    hidden_entropy = weight @ np.array([part.entropy for part in parts])
    return ExpectedCounts(
        {
            "weight": weight,
            "first": first,
            "second": covariance.reduce(second),
            "active": np.full(2, posterior.size),
        },
        rows=weights.sum(),
        entropy=entropy + hidden_entropy,
        log_likelihood=float(weights @ log_norm),
    )


def _moments(
    x: Array, posterior: Array, parts: list[_Conditional], observed: Mask, references: Array
) -> tuple[Array, Array]:
    """First and full second moments of the completed rows about the references."""
    k, d = references.shape
    first, second = np.empty((k, d)), np.empty((k, d, d))
    hidden = np.ix_(~observed, ~observed)
    for j, part in enumerate(parts):
        about = _fill(x, part, observed) - references[j]
        first[j] = posterior[:, j] @ about
        second[j] = (about * posterior[:, j : j + 1]).T @ about
        second[j][hidden] += posterior[:, j].sum() * part.covariance
    return first, second


def _fill(x: Array, part: _Conditional, observed: Mask) -> Array:
    out = x.copy()
    about = x[:, observed] - part.mean[observed]
    out[:, ~observed] = part.mean[~observed] + about @ part.regression.T
    return out


def _log_joint(seen: Array, parts: list[_Conditional], observed: Mask) -> Array:
    out = np.empty((len(seen), len(parts)))
    for k, part in enumerate(parts):
        about = seen - part.mean[observed]
        distance = np.einsum("ij,ji->i", about, cho_solve(part.factor, about.T))
        out[:, k] = part.log_constant - 0.5 * distance
    return out


def _conditionals(covariance: Covariance, p: MixtureParameters, observed: Mask) -> list[_Conditional]:
    k, d = p.means.shape
    matrices = covariance.expand(p.covariances, k, d)
    with np.errstate(divide="ignore"):
        log_weights = np.log(p.weights)
    return [_conditional(m, c, w, observed) for m, c, w in zip(p.means, matrices, log_weights, strict=True)]


def _conditional(mean: Array, matrix: Array, log_weight: float, observed: Mask) -> _Conditional:
    hidden = ~observed
    factor = cho_factor(matrix[np.ix_(observed, observed)], lower=True)
    across = matrix[np.ix_(observed, hidden)]
    regression = cho_solve(factor, across).T
    rest = matrix[np.ix_(hidden, hidden)] - regression @ across
    log_det = 2 * np.log(np.diag(factor[0])).sum()
    constant = log_weight - 0.5 * (observed.sum() * np.log(2 * np.pi) + log_det)
    entropy = 0.5 * np.linalg.slogdet(2 * np.pi * np.e * rest)[1]
    return _Conditional(mean, regression, rest, factor, constant, entropy)
