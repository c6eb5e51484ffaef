r"""The E- and M-step of a network with hidden variables or missing cells, for the one EM loop.

The E-step needs, for every table :math:`p(x_v \mid x_{\mathrm{pa}})`, the expected number of times each entry
is used,

.. math:: E[n(x_v, x_{\mathrm{pa}})] = \sum_i p(x_v, x_{\mathrm{pa}} \mid \text{row } i, \theta),

and the M-step normalises it. A family that a row observes whole counts one, whatever the parameters are, so
these are counted once. What a row hides falls into parts; the posterior of a part depends on the few
variables it touches, so it is computed for their distinct values and weighted. Variables below which
nothing is observed say nothing about the parameters; they are left out, which makes EM converge in fewer
steps to the same likelihood.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.em import EMModel, parameters_id
from isogloss.graphical.inference import (
    JunctionTree,
    Kind,
    Relevance,
    RowsByKind,
    WholeTree,
    chunks,
    distinct,
    split_rare,
)
from isogloss.graphical.learning._layout import Layout
from isogloss.stats import ExpectedCounts

__all__ = ["Collapsed", "NetworkParameters", "collapse", "network_model"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Codes = NDArray[np.signedinteger[Any]]

_ENTRIES_PER_TABLE = 2_000
"""A part is worth steps of its own from so many entries of the whole tree for each of its tables."""


@dataclasses.dataclass(frozen=True)
class NetworkParameters:
    """All probabilities as one vector, see :class:`~isogloss.graphical.learning._layout.Layout`."""

    theta: Array


@dataclasses.dataclass(frozen=True)
class _Cases:
    """Distinct cases of one part: where their table entries lie, and how many rows each stands for."""

    tree: JunctionTree
    entries: tuple[Index, ...]
    weights: Array

    def expect(self, theta: Array) -> tuple[float, list[Array]]:
        """The log-likelihood, and the expected use of the entries."""
        found = self.tree.calibrate([theta[index] for index in self.entries])
        pairs = zip(self.tree.scopes, self.entries, strict=True)
        uses = [self._use(found.marginal(scope), index.shape) for scope, index in pairs]
        return float(self.weights @ np.broadcast_to(found.log_z, self.weights.shape)), uses

    def _use(self, posterior: Array, shape: tuple[int, ...]) -> Array:
        weighted = posterior * self.weights
        return weighted if shape[-1] == len(self.weights) else weighted.sum(axis=-1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class _RareRows:
    """Distinct rows for the tree of the whole network, how many rows each is, and the tables they use."""

    codes: Codes
    weights: Array
    used: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Collapsed:
    """The arrays that the E-step needs for some rows."""

    rows: float
    known: Array
    """Counts of the families that rows observe whole."""
    counts: Array
    """The same without the rare rows."""
    cases: tuple[_Cases, ...]
    rare: tuple[_RareRows, ...]
    tree: JunctionTree | None
    """The tree of the whole network, if there are rare rows."""


def collapse(codes: Codes, layout: Layout, relevance: Relevance) -> Collapsed:
    """Rows of codes, -1 where nothing was seen, as distinct cases."""
    by_kind = RowsByKind(relevance, codes)
    positions = layout.tables(np.arange(layout.size))
    tree = WholeTree(relevance, positions)
    common, rare = split_rare(by_kind, tree, _ENTRIES_PER_TABLE)
    kept = np.ones(len(codes), dtype=bool)
    kept[rare] = False
    cases = [c for kind, rows in by_kind.kinds(common) for c in _cases(kind, rows, by_kind, positions)]
    known = layout.count(codes, gaps=True).astype(np.float64)
    counts = layout.count(codes[kept], gaps=True).astype(np.float64) if len(rare) else known
    rare_rows = tuple(_rare_rows(codes[rare], relevance, tree))
    return Collapsed(len(codes), known, counts, tuple(cases), rare_rows, tree.tree if rare_rows else None)


def network_model(layout: Layout, relevance: Relevance, smoothing: float) -> EMModel[NetworkParameters]:
    """The steps for a structure; ``smoothing`` is added to every expected count."""
    prior = None if smoothing == 0 else partial(_log_prior, smoothing)
    return EMModel(
        expect=partial(expect, layout, relevance),
        solve=partial(solve, layout, smoothing),
        expected_log_joint=expected_log_joint,
        log_prior=prior,
        pack=pack,
        unpack=partial(unpack, layout),
    )


def expect(layout: Layout, relevance: Relevance, batch: Collapsed, p: NetworkParameters) -> ExpectedCounts:
    """The E-step of some rows: expected counts of every table entry."""
    log_likelihood = _x_log_y(batch.counts, p.theta)
    counts = batch.counts.copy()
    where: list[Index] = []
    uses: list[Array] = []
    for cases in batch.cases:
        log_total, found = cases.expect(p.theta)
        log_likelihood += log_total
        where.extend(index.reshape(-1) for index in cases.entries)
        uses.extend(use.reshape(-1) for use in found)
    if uses:
        counts += np.bincount(np.concatenate(where), np.concatenate(uses), minlength=layout.size)
    if batch.rare:
        tree = WholeTree(relevance, layout.tables(p.theta), batch.tree)
        log_likelihood += _expect_rare(tree, batch.rare, layout.tables(counts))
    entropy = log_likelihood - _x_log_y(counts, p.theta)
    return ExpectedCounts({"counts": counts}, rows=batch.rows, entropy=entropy, log_likelihood=log_likelihood)


def solve(
    layout: Layout, smoothing: float, statistic: ExpectedCounts, p: NetworkParameters
) -> NetworkParameters:
    """The M-step; a distribution that nothing was expected of stays as it was."""
    return NetworkParameters(layout.normalise(statistic["counts"] + smoothing, otherwise=p.theta))


def expected_log_joint(statistic: ExpectedCounts, p: NetworkParameters) -> float:
    """``E_q[log p(x, z)]`` from the counts alone."""
    if statistic.log_likelihood is not None and statistic.parameters_id == parameters_id(p):
        return statistic.log_likelihood - statistic.entropy
    return _x_log_y(statistic["counts"], p.theta)


def pack(p: NetworkParameters) -> Array:
    """Logarithms of the probabilities."""
    return np.log(np.maximum(p.theta, 1e-300))


def unpack(layout: Layout, vector: Array, like: NetworkParameters) -> NetworkParameters:
    """Probabilities in proportion to the exponentials; those that were zero stay zero."""
    raised = np.exp(np.minimum(vector, 0.0)) * (like.theta > 0)
    return NetworkParameters(layout.normalise(raised, otherwise=like.theta))


def _log_prior(smoothing: float, p: NetworkParameters) -> float:
    return smoothing * float(np.log(np.maximum(p.theta, 1e-300)).sum())


def _x_log_y(x: Array, y: Array) -> float:
    """The sum of ``x log y``, zero where ``x`` is."""
    used = x > 0
    with np.errstate(divide="ignore"):
        return float(x[used] @ np.log(y[used]))


def _cases(kind: Kind, rows: Index, by_kind: RowsByKind, positions: list[Index]) -> list[_Cases]:
    """The cases of one kind, in pieces that stay near the processor."""
    sizes = {v: positions[v].shape[-1] for v in kind.hidden}
    values, number = by_kind.cases(kind, rows, positions)
    weights = np.bincount(number, minlength=len(values)).astype(np.float64)
    tree = JunctionTree(kind.scopes, sizes)
    return [
        _Cases(tree, tuple(kind.slices(by_kind.relevance, positions, values[part])), weights[part])
        for part in chunks(np.arange(len(values)), tree.largest)
    ]


def _rare_rows(codes: Codes, relevance: Relevance, tree: WholeTree) -> list[_RareRows]:
    if not len(codes):
        return []
    first, number = distinct(codes + 1, [table.shape[-1] + 1 for table in tree.tables])
    weights = np.bincount(number, minlength=len(first)).astype(np.float64)
    found = []
    for part in tree.pieces(np.arange(len(first))):
        rows = codes[first[part]]
        found.append(_RareRows(rows, weights[part], _used(rows, relevance)))
    return found


def _used(rows: Codes, relevance: Relevance) -> NDArray[np.bool_]:
    """Tables by rows: whether the variable is observed or has an observed descendant."""
    used = (rows >= 0).T.copy()
    for v in range(len(used) - 1, -1, -1):
        for parent in relevance.families[v][:-1]:
            used[parent] |= used[v]
    return used


def _expect_rare(tree: WholeTree, batches: tuple[_RareRows, ...], counts: list[Array]) -> float:
    """The log-likelihood of rows in the tree of the whole network; their expected counts are added."""
    log_likelihood = 0.0
    for rows in batches:
        found = tree.calibrate(rows.codes)
        log_likelihood += float(rows.weights @ found.log_z)
        for v, family in enumerate(tree.relevance.families):
            counts[v] += found.marginal(family) @ (rows.weights * rows.used[v])
    return log_likelihood
