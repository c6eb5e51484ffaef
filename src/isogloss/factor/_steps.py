r"""The E- and M-step of battery factor analysis with missing views, as steps for the one EM loop.

For the rows of a presence pattern :math:`o`, with :math:`A = \Psi^{-1}W` and the factor precision
:math:`M_o^{-1} = I + \sum_{v \in o} W_v^\top A_v` (appendix E of the source, where Woodbury and push-through
give the same forms),

.. math:: E[z \mid x_o] = M_o A_o^\top (x_o - \mu_o), \qquad \operatorname{Cov}[z \mid x_o] = M_o .

Rows enter through their mean and second moment only, so a step costs the same for any number of them.
Views are independent given :math:`z`. The M-step therefore regresses each view on the factors over the
rows that have it, means included; views that nobody saw are integrated out and not imputed.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from isogloss.em import EMModel, parameters_id
from isogloss.factor._accelerated import best_loadings, leave_one_out
from isogloss.factor._data import FactorData, Observed, prepare
from isogloss.factor._noise import noise_of
from isogloss.factor._parameters import FactorParameters
from isogloss.factor._units import shift
from isogloss.stats import ExpectedCounts, PatternMoments

Array = NDArray[np.float64]

_LOG_2PI = float(np.log(2 * np.pi))


def factor_model(data: FactorData, *, floor: float, accelerate: bool = True) -> EMModel[FactorParameters]:
    """The steps for these data; ``accelerate`` replaces the M-step by a longer one where one is known.

    Complete rows with full noise: every view in turn is put at its maximum given the others
    (:func:`~isogloss.factor._accelerated.leave_one_out`). Complete rows with other noise: loadings are put
    at their maximum given the noise (:func:`~isogloss.factor._accelerated.best_loadings`). Neither
    lets the likelihood fall.
    """
    step: Any = solve
    if accelerate and data.complete:
        step = _solve_views if noise_of(data.kind, data.dims).kind == "full" else _solve_profile
    return EMModel(
        expect=expect,
        solve=partial(step, data, floor),
        expected_log_joint=partial(expected_log_joint, data),
        pack=pack,
        unpack=partial(unpack, floor),
    )


def factor_posterior(p: FactorParameters, views: tuple[int, ...]) -> tuple[Array, float]:
    """Covariance of the factors once those views are seen, and its log determinant."""
    every = len(views) == len(p.dims)
    gram = p.W.T @ p.weights if every else p.grams[list(views)].sum(axis=0)
    return _invert(np.eye(p.n_components) + gram)


def expect(data: FactorData, p: FactorParameters) -> ExpectedCounts:
    """The E-step over all patterns: moments of the factors, and of the factors with each feature."""
    sums = _Sums(data, p)
    for pattern in data.patterns:
        sums.add(pattern)
    return sums.statistic()


def solve(data: FactorData, floor: float, statistic: ExpectedCounts, p: FactorParameters) -> FactorParameters:
    """The M-step: each view regressed on the factors, over the rows that have it."""
    mean, W = np.empty_like(p.mean), np.empty_like(p.W)
    xz, groups = statistic["xz"], np.repeat(data.groups, data.dims)
    for g, (n, z, zz) in enumerate(zip(*(statistic[t] for t in ("n", "z", "zz")), strict=True)):
        rows, centre = groups == g, z / n
        W[rows] = _regress(xz[rows], zz - n * np.outer(centre, centre))
        mean[rows] = -W[rows] @ centre
    shape = p.shape
    residual = data.scatter - shape.inner(W, xz, data.dims)
    noise = shape.estimate(residual, data.rows_of_features, data.dims, floor)
    return dataclasses.replace(p, mean=mean, W=W, noise=noise)


def expected_log_joint(data: FactorData, statistic: ExpectedCounts, p: FactorParameters) -> float:
    """``E_q[log p(x, z)]`` from the sums alone, in the units of the rows.

    At the parameters of the E-step it is the log-likelihood less the entropy; the sums would lose digits
    there when the noise is small.
    """
    if statistic.log_likelihood is not None and statistic.parameters_id == parameters_id(p):
        return statistic.log_likelihood - statistic.entropy
    quadratic = _within(data, p) - 2.0 * float((p.weights * statistic["xz"]).sum())
    groups = np.repeat(data.groups, data.dims)
    for g, (z, zz) in enumerate(zip(statistic["z"], statistic["zz"], strict=True)):
        W, A, mean = (table[groups == g] for table in (p.W, p.weights, p.mean))
        quadratic += float(((W.T @ A) * zz).sum() + 2.0 * mean @ A @ z)
    prior = statistic["trace"][0] + statistic.rows * p.n_components * _LOG_2PI
    return -0.5 * float(quadratic + prior) + _constant(data, p)


def log_likelihood_of(p: FactorParameters, moments: PatternMoments) -> float:
    """Log-likelihood of rows from their sums alone; parameters in the units of the rows."""
    data = prepare(moments, p.kind, standardise=False)
    found = expect(data, p.moved(shift(-data.units.origin, p.dims))).log_likelihood
    assert found is not None
    return found


def pack(p: FactorParameters) -> Array:
    """Parameters as an unconstrained vector."""
    return np.concatenate([p.mean, p.W.ravel(), p.shape.pack(p.noise, p.dims)])


def unpack(floor: float, vector: Array, like: FactorParameters) -> FactorParameters:
    """The parameters of such a vector."""
    D, k = like.W.shape
    mean, W, rest = np.split(vector, [D, D + D * k])
    noise = like.shape.unpack(rest, like.dims, floor)
    return dataclasses.replace(like, mean=mean, W=W.reshape(D, k), noise=noise)


class _Sums:
    """Sums of the E-step under one set of parameters."""

    def __init__(self, data: FactorData, p: FactorParameters) -> None:
        self.data, self.p = data, p
        k, groups = p.n_components, int(data.groups.max()) + 1
        self.n, self.z, self.zz = np.zeros(groups), np.zeros((groups, k)), np.zeros((groups, k, k))
        self.xz = np.zeros_like(p.W)
        self.trace, self.entropy, self.explained = 0.0, 0.0, 0.0

    def add(self, pattern: Observed) -> None:
        M, log_det = factor_posterior(self.p, pattern.views)
        A = self.p.weights[pattern.columns]
        about_mean = _of_product if pattern.rows is None else _of_rows
        xz, zz, explained = about_mean(pattern, A, M)
        pull = A.T @ (pattern.mean - self.p.mean[pattern.columns])
        z = M @ pull
        zz += pattern.n * (M + np.outer(z, z))
        self.xz[pattern.columns] += xz + np.outer(pattern.n * pattern.mean, z)
        for g in np.unique(self.data.groups[list(pattern.views)]):
            self.n[g] += pattern.n
            self.z[g] += pattern.n * z
            self.zz[g] += zz
        self.trace += float(np.trace(zz))
        self.entropy += 0.5 * pattern.n * (self.p.n_components * (1.0 + _LOG_2PI) + log_det)
        self.explained += 0.5 * (explained + pattern.n * (pull @ z + log_det))

    def statistic(self) -> ExpectedCounts:
        log_likelihood = self.explained - 0.5 * _within(self.data, self.p) + _constant(self.data, self.p)
        return ExpectedCounts(
            {"n": self.n, "z": self.z, "zz": self.zz, "xz": self.xz, "trace": np.array([self.trace])},
            rows=self.data.n_rows,
            entropy=self.entropy,
            log_likelihood=log_likelihood,
        )


def _of_product(pattern: Observed, A: Array, M: Array) -> tuple[Array, Array, float]:
    """Sums about the mean of the rows: ``S B'``, ``B S B'``, and the trace of ``M A' S A``."""
    SA = pattern.times(A)
    xz, gram = SA @ M, A.T @ SA
    return xz, M @ gram @ M, float((M * gram).sum())


def _of_rows(pattern: Observed, A: Array, M: Array) -> tuple[Array, Array, float]:
    """The same sums from rows, which are fewer than the features."""
    assert pattern.rows is not None
    pulled = pattern.rows @ A
    z = pulled @ M
    xz, zz, explained = pattern.rows.T @ z, z.T @ z, float((pulled * z).sum())
    if pattern.ridge:
        noise = M @ (A.T @ A) @ M
        xz, zz = xz + pattern.ridge * (A @ M), zz + pattern.ridge * noise
        explained += pattern.ridge * float((A.T @ A * M).sum())
    return xz, zz, explained


def _within(data: FactorData, p: FactorParameters) -> float:
    """Trace of the noise's inverse times the second moments about the means of the parameters."""
    mean = p.mean[:, np.newaxis]
    shift = p.shape.inner(data.rows_of_features[:, np.newaxis] * mean, mean, data.dims)
    return p.precision.trace(data.scatter + shift)


def _constant(data: FactorData, p: FactorParameters) -> float:
    """The part of the log density that does not depend on the values of the rows."""
    return (
        -0.5 * float(data.rows @ (np.asarray(data.dims) * _LOG_2PI + p.precision.log_dets)) - data.log_scale
    )


def _solve_views(
    data: FactorData, floor: float, _statistic: ExpectedCounts, p: FactorParameters
) -> FactorParameters:
    return leave_one_out(data.covariance, p, floor)


def _solve_profile(
    data: FactorData, floor: float, statistic: ExpectedCounts, p: FactorParameters
) -> FactorParameters:
    return best_loadings(data.covariance, solve(data, floor, statistic, p))


def _regress(xz: Array, zz: Array) -> Array:
    return np.asarray(cho_solve(cho_factor(zz, lower=True), xz.T, check_finite=False).T)


def _invert(precision: Array) -> tuple[Array, float]:
    factor = cho_factor(precision, lower=True, check_finite=False)
    inverse = cho_solve(factor, np.eye(len(precision)), check_finite=False)
    return np.asarray(inverse), -2.0 * float(np.log(np.diag(factor[0])).sum())
