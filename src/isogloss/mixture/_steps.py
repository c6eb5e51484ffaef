r"""The E- and M-step of a Gaussian mixture, as steps for the one EM loop.

With :math:`f(x)` the quadratic features of a row, :math:`\log \pi_k N(x \mid \mu_k, \Sigma_k)` is
linear, :math:`\theta_k^\top f(x)`, so the E-step of a block of rows is one matrix product and its sums
are another. That form loses digits where components lie some hundreds of their standard deviations
from the centre of the data; there the step goes component by component. Both give the same sums:
weight, first and second moments about one fixed reference point per component.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from isogloss import kernels
from isogloss.em import EMModel, SparseSteps
from isogloss.mixture._covariance import SHAPES, Covariance
from isogloss.stats import ExpectedCounts

__all__ = [
    "Activated",
    "Batch",
    "MixtureParameters",
    "log_joint",
    "mixture_model",
    "normalise",
    "solve",
    "split_batch",
]

Array = NDArray[np.float64]
Batch: TypeAlias = Array | tuple[Array, Array | None]
"""Rows, or rows with their weights."""

_STEP_BLOCK_BYTES = 4 * 2**20
_MAX_FEATURES = 20_000
"""Number of features above which the component-by-component form is the faster one."""
_CANCELLATION = 1e6
"""Size of the terms of a quadratic form above which more than six digits cancel."""


@dataclasses.dataclass(frozen=True)
class MixtureParameters:
    """Weights (K), means (K x d) and covariances of a Gaussian mixture.

    ``origin`` (d), the centre of the data, and ``references`` (K x d), a point near each mean, stay the
    same during a fit; the sums are taken about them for precision.
    """

    weights: Array
    means: Array
    covariances: Array
    origin: Array
    references: Array


class _Lists(NamedTuple):
    """Rows with several active components, how many each has, which, and their share of the posterior."""

    batch: tuple[Array, Array]
    lengths: NDArray[np.int64]
    indices: NDArray[np.int32]
    free: Array


@dataclasses.dataclass(frozen=True)
class Activated:
    """The lists of a batch, the sums that do not depend on them, and those of the E-step that made them.

    A row with one active component gives the same sums whatever the parameters, so it is in ``frozen``
    and has no list.
    """

    lists: _Lists
    frozen: ExpectedCounts
    statistic: ExpectedCounts


def mixture_model(
    shape: str, *, floor: float, step: float = 1.0, threshold: float = 1e-4
) -> EMModel[MixtureParameters]:
    """The steps of a mixture whose covariances have the given shape.

    ``step`` below one makes the M-step a natural-gradient step of that length, which improves the
    bound without maximising it (generalised EM). ``threshold`` is the posterior above which a component
    counts as active.
    """
    covariance = SHAPES[shape]
    return EMModel(
        expect=partial(expect, covariance, threshold=threshold),
        solve=partial(solve, covariance, floor, step),
        expected_log_joint=partial(expected_log_joint, covariance),
        pack=partial(pack, covariance),
        unpack=partial(unpack, covariance, floor),
        sparse=SparseSteps(
            activate=partial(activate, covariance),
            expect_active=partial(expect_active, covariance),
        ),
    )


def expect(covariance: Covariance, batch: Batch, p: MixtureParameters, *, threshold: float) -> ExpectedCounts:
    """The E-step of one batch: posteriors, and the sums that the M-step needs."""
    sums = _Sums(covariance, p)
    for x, weights in _blocks(batch, covariance):
        sums.add_rows(x, weights, threshold)
    return sums.statistic()


def activate(covariance: Covariance, batch: Batch, p: MixtureParameters, threshold: float) -> Activated:
    """A full E-step that writes down, per row, the components above the threshold."""
    sums = _Sums(covariance, p)
    parts = [_list(sums, x, weights, threshold) for x, weights in _blocks(batch, covariance)]
    x = np.concatenate([part.batch[0] for part in parts])
    weights = np.concatenate([part.batch[1] for part in parts])
    lists = _Lists(
        batch=(x, weights),
        lengths=np.concatenate([part.lengths for part in parts]),
        indices=np.concatenate([part.indices for part in parts]),
        free=np.concatenate([part.free for part in parts]),
    )
    statistic = sums.statistic()
    active = _active_sums(covariance, lists, p)
    frozen = ExpectedCounts(
        {name: statistic[name] - table for name, table in active.tables.items()},
        rows=statistic.rows,
        entropy=statistic.entropy - active.entropy,
    )
    return Activated(lists, frozen, statistic)


def expect_active(covariance: Covariance, activated: Activated, p: MixtureParameters) -> ExpectedCounts:
    """An E-step over the listed components; the posterior of the others stays what it was."""
    active, frozen = _active_sums(covariance, activated.lists, p), activated.frozen
    return ExpectedCounts(
        {name: table + frozen[name] for name, table in active.tables.items()},
        rows=frozen.rows,
        entropy=active.entropy + frozen.entropy,
    )


def solve(
    covariance: Covariance, floor: float, step: float, statistic: ExpectedCounts, p: MixtureParameters
) -> MixtureParameters:
    """The M-step: weights, means and covariances of the expected sums."""
    if step < 1.0:
        statistic = statistic.blend(_implied(covariance, p, statistic.rows), step, 1.0 - step)
    weight, first, second = statistic["weight"], statistic["first"], statistic["second"]
    used = weight > 0
    shift = np.where(used[:, None], first / np.where(used, weight, 1.0)[:, None], p.means - p.references)
    about_means = covariance.move(second, weight, first, shift)
    return dataclasses.replace(
        p,
        weights=weight / weight.sum(),
        means=p.references + shift,
        covariances=covariance.solve(about_means, weight, first.shape[1], floor, p.covariances),
    )


def expected_log_joint(covariance: Covariance, statistic: ExpectedCounts, p: MixtureParameters) -> float:
    """``E_q[log p(x, z)]`` from the sums alone."""
    weight = statistic["weight"]
    k, d = p.means.shape
    shift = p.means - p.references
    about_means = covariance.move(statistic["second"], weight, statistic["first"], shift)
    log_det = covariance.log_det(p.covariances, k, d)
    density = weight @ (d * np.log(2 * np.pi) + log_det) + covariance.trace(p.covariances, about_means)
    return float(xlogy(weight, p.weights).sum() - 0.5 * density)


def log_joint(covariance: Covariance, x: Array, p: MixtureParameters) -> Array:
    """``log p(x, z = k)`` for the rows of ``x`` (n x K)."""
    distances = covariance.mahalanobis(x, p.covariances, p.means)
    return np.asarray(_log_constants(covariance, p) - 0.5 * distances)


def normalise(log_joint: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Posteriors and log normalisers of rows of log joint densities; the argument is overwritten."""
    log_norm = np.empty(len(log_joint))
    weights = np.ones(len(log_joint)) if weights is None else weights
    kernels.normalise_log_joint(log_joint, weights, 1.0, log_norm)
    return log_joint, log_norm


def pack(covariance: Covariance, p: MixtureParameters) -> Array:
    """Parameters as an unconstrained vector."""
    tiny = np.finfo(np.float64).tiny
    return np.concatenate(
        [np.log(np.maximum(p.weights, tiny)), p.means.ravel(), covariance.pack(p.covariances)]
    )


def unpack(covariance: Covariance, floor: float, vector: Array, like: MixtureParameters) -> MixtureParameters:
    """The parameters of such a vector."""
    k, d = like.means.shape
    logits, means, rest = np.split(vector, [k, k + k * d])
    weights = np.exp(logits - logits.max())
    return dataclasses.replace(
        like,
        weights=weights / weights.sum(),
        means=means.reshape(k, d),
        covariances=covariance.unpack(rest, k, d, floor),
    )


class _Form:
    """Log joint densities under one set of parameters, and which form gives them."""

    def __init__(self, covariance: Covariance, p: MixtureParameters) -> None:
        self.covariance, self.p = covariance, p
        k, d = p.means.shape
        self.constant = _log_constants(covariance, p)
        self.theta = np.empty((0, 0))
        if covariance.width(d) <= _MAX_FEATURES:
            self.theta = covariance.theta(p.covariances, p.means - p.origin)
            self.theta[:, -1] += self.constant
        self.precisions = _precision_diagonals(covariance.expand(p.covariances, k, d))

    def is_quadratic(self, centred: Array) -> bool:
        """Return whether rows, given about the origin, lose few enough digits in the quadratic form."""
        if not self.theta.size or not len(centred):
            return False
        reach = np.maximum((centred**2).max(axis=0), ((self.p.means - self.p.origin) ** 2).max(axis=0))
        return bool((self.precisions @ reach).max() < _CANCELLATION)

    def log_joint(self, x: Array) -> tuple[Array, Array | None]:
        """Log joint densities and, where the quadratic form gave them, the features.

        The quadratic form leaves out what all components share (``Covariance.shared``).
        """
        centred = x - self.p.origin
        if not self.is_quadratic(centred):
            distances = self.covariance.mahalanobis(x, self.p.covariances, self.p.means)
            return self.constant - 0.5 * distances, None
        features = np.empty((len(x), self.covariance.width(x.shape[1])))
        kernels.quadratic_features(centred, self.covariance.kind, features)
        return features @ self.theta.T, features


class _Sums:
    """Sums of one batch under one set of parameters."""

    def __init__(self, covariance: Covariance, p: MixtureParameters) -> None:
        self.covariance, self.p = covariance, p
        self.form = _Form(covariance, p)
        k, d = p.means.shape
        self.weight, self.first = np.zeros(k), np.zeros((k, d))
        self.second = np.zeros(covariance.shape(k, d))
        self.rows, self.entropy, self.log_likelihood = 0.0, 0.0, 0.0
        self.active = self.possible = 0

    def add_rows(self, x: Array, weights: Array, threshold: float) -> Array:
        """Add rows and give back their posteriors."""
        posterior, features = self.form.log_joint(x)
        log_norm = np.empty(len(x))
        entropy, active = kernels.normalise_log_joint(posterior, weights, threshold, log_norm)
        self.rows += float(weights.sum())
        self.entropy += entropy
        self.log_likelihood += float(weights @ log_norm)
        weighted = posterior * weights[:, None]
        self.possible += posterior.size
        if features is None:
            self.active += posterior.size
            self._add_moments(*self._component_moments(x, weighted))
        else:
            self.active += active
            self._add_moments(*self._feature_moments(x, weighted, weights, features))
        return posterior

    def _component_moments(self, x: Array, weighted: Array) -> tuple[Array, Array, Array]:
        weight, references = weighted.sum(axis=0), self.p.references
        first = np.stack([q @ (x - r) for q, r in zip(weighted.T, references, strict=True)])
        return weight, first, self.covariance.scatter(x, weighted, references)

    def _feature_moments(
        self, x: Array, weighted: Array, weights: Array, features: Array
    ) -> tuple[Array, Array, Array]:
        sums = weighted.T @ features
        second = self.covariance.from_features(sums, x - self.p.origin, weights)
        self.log_likelihood += self.covariance.shared(self.p.covariances, second)
        return _about_references(self.p, self.covariance, sums, second)

    def _add_moments(self, weight: Array, first: Array, second: Array) -> None:
        self.weight += weight
        self.first += first
        self.second += second

    def statistic(self) -> ExpectedCounts:
        tables = {"weight": self.weight, "first": self.first, "second": self.second}
        return ExpectedCounts(
            tables | {"active": np.array([self.active, self.possible])},
            rows=self.rows,
            entropy=self.entropy,
            log_likelihood=self.log_likelihood,
        )


def _about_references(
    p: MixtureParameters, covariance: Covariance, sums: Array, second: Array
) -> tuple[Array, Array, Array]:
    """Moments about the references from feature sums and second moments about the origin."""
    weight, first = sums[:, -1], sums[:, -1 - p.means.shape[1] : -1]
    shift = p.references - p.origin
    return weight, first - weight[:, None] * shift, covariance.move(second, weight, first, shift)


def _list(sums: _Sums, x: Array, weights: Array, threshold: float) -> _Lists:
    before = sums.active
    posterior = sums.add_rows(x, weights, threshold)
    lengths, free = np.empty(len(x), dtype=np.int64), np.empty(len(x))
    indices = np.empty(sums.active - before, dtype=np.int32)
    kernels.list_active(posterior, threshold, lengths, indices, free)
    several = lengths > 1
    return _Lists((x[several], weights[several]), lengths[several], indices, free[several])


def _active_sums(covariance: Covariance, lists: _Lists, p: MixtureParameters) -> ExpectedCounts:
    """Sums and entropy of the listed components alone."""
    (x, weights), form = lists.batch, _Form(covariance, p)
    centred = x - p.origin
    offsets = np.concatenate([[0], np.cumsum(lists.lengths)])
    sums = np.zeros(form.theta.shape)
    entropy = kernels.expect_active(
        centred, weights, form.theta, offsets, lists.indices, lists.free, covariance.kind, sums
    )
    second = covariance.from_features(sums, centred, weights * lists.free)
    weight, first, second = _about_references(p, covariance, sums, second)
    tables = {"weight": weight, "first": first, "second": second}
    return ExpectedCounts(tables, rows=float(weights.sum()), entropy=entropy)


def _implied(covariance: Covariance, p: MixtureParameters, rows: float) -> ExpectedCounts:
    """The sums that the parameters themselves expect of that many rows."""
    weight = rows * p.weights
    shift = p.means - p.references
    k, d = p.means.shape
    full = covariance.expand(p.covariances, k, d) * weight[:, None, None]
    second = covariance.move(covariance.reduce(full), weight, np.zeros((k, d)), -shift)
    tables = {"weight": weight, "first": weight[:, None] * shift, "second": second}
    return ExpectedCounts(tables | {"active": np.zeros(2)}, rows=rows, entropy=0.0)


def _log_constants(covariance: Covariance, p: MixtureParameters) -> Array:
    """Log weight and log normalising constant of each component."""
    k, d = p.means.shape
    with np.errstate(divide="ignore"):
        log_weights = np.log(p.weights)
    log_det = covariance.log_det(p.covariances, k, d)
    return np.asarray(log_weights - 0.5 * (d * np.log(2 * np.pi) + log_det))


def _precision_diagonals(covariances: Array) -> Array:
    return np.asarray(np.einsum("kii->ki", np.linalg.inv(covariances)))


def split_batch(batch: Batch) -> tuple[Array, Array]:
    """Rows and weights of a batch; a batch without weights gives each row one."""
    x, weights = batch if isinstance(batch, tuple) else (batch, None)
    return x, np.ones(len(x)) if weights is None else weights


def _blocks(batch: Batch, covariance: Covariance) -> Iterator[tuple[Array, Array]]:
    """Blocks of rows whose features fit the cache, in double precision, with weights."""
    x, weights = split_batch(batch)
    size = int(np.clip(_STEP_BLOCK_BYTES // (8 * covariance.width(x.shape[1])), 64, 8192))
    for start in range(0, len(x), size):
        stop = start + size
        yield np.ascontiguousarray(x[start:stop], dtype=np.float64), weights[start:stop]
