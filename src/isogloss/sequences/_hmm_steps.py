r"""The hidden Markov chain as steps for the one EM loop (Baum-Welch).

The sums of the E-step are the expected numbers of starts, transitions and emissions; the M-step divides
them. With ``smoothing`` :math:`a` every probability that is not zero has :math:`a` pseudo-counts, and EM
climbs the posterior under that Dirichlet prior. Probabilities of zero stay zero: the topology of a chain is
the zeros of its start.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy

from isogloss.em import EMModel
from isogloss.graphical import Sequences
from isogloss.kernels import hmm_expect
from isogloss.stats import ExpectedCounts

Array = NDArray[np.float64]

PARTS = ("start", "transition", "emission")
"""The parameters that can be learned."""


@dataclasses.dataclass(frozen=True)
class HMMParameters:
    """Probabilities of the first state, of the next state given one, and of the symbols of each state."""

    start: Array
    transition: Array
    emission: Array

    def tables(self) -> tuple[Array, Array, Array]:
        """Emissions as the kernels take them: a row of states per symbol."""
        return self.start, self.transition, np.ascontiguousarray(self.emission.T)


def hmm_model(*, smoothing: float, learn: Sequence[str], threads: int) -> EMModel[HMMParameters]:
    """The steps of one chain."""
    return EMModel(
        expect=partial(expect_chain, threads),
        solve=partial(_solve, smoothing, tuple(learn)),
        expected_log_joint=_expected_log_joint,
        log_prior=partial(_log_prior, smoothing, tuple(learn)) if smoothing else None,
        pack=_pack,
        unpack=_unpack,
    )


def expect_chain(threads: int, batch: Sequences, p: HMMParameters) -> ExpectedCounts:
    """The E-step of a batch."""
    k, v = p.emission.shape
    start, transition, emission = np.zeros(k), np.zeros((k, k)), np.zeros((v, k))
    likelihoods, weights = np.zeros(len(batch)), batch.effective_weights
    hmm_expect(
        batch.codes,
        batch.labels,
        batch.offsets,
        weights,
        *p.tables(),
        threads,
        start,
        transition,
        emission,
        likelihoods,
    )
    impossible = np.flatnonzero(np.isneginf(likelihoods) & (weights > 0))
    if len(impossible):
        raise ValueError(
            f"{len(impossible)} of {len(batch)} sequences, number {impossible[0]} the first, cannot come "
            "from this chain: a start, transition or emission they need has probability 0; use smoothing, "
            "or other initial probabilities or labels"
        )
    tables = {"start": start, "transition": transition, "emission": np.ascontiguousarray(emission.T)}
    seen = weights > 0
    found = ExpectedCounts(
        tables,
        rows=float(weights @ batch.lengths),
        entropy=0.0,
        log_likelihood=float(weights[seen] @ likelihoods[seen]),
    )
    found.entropy = (found.log_likelihood or 0.0) - _expected_log_joint(found, p)
    return found


def count_labelled(n_states: int, n_symbols: int, batch: Sequences) -> ExpectedCounts:
    """Symbols, and starts, transitions and emissions whose states are known."""
    weights = np.repeat(batch.effective_weights, batch.lengths)
    labels = batch.labels if len(batch.labels) else np.full(len(batch.codes), -1, dtype=np.int32)
    begins = np.zeros(len(labels), dtype=bool)
    begins[batch.offsets[:-1]] = True
    seen, known = batch.codes >= 0, labels >= 0
    steps = np.flatnonzero(known[1:] & known[:-1] & ~begins[1:])
    tables = {
        "symbols": _tally(weights, seen, (n_symbols,), batch.codes),
        "start": _tally(weights, begins & known, (n_states,), labels),
        "transition": _tally(weights[1:], steps, (n_states, n_states), labels[:-1], labels[1:]),
        "emission": _tally(weights, seen & known, (n_states, n_symbols), labels, batch.codes),
    }
    return ExpectedCounts(tables, rows=float(weights.sum()), entropy=0.0)


def draw_start(counts: ExpectedCounts, n_states: int, rng: np.random.RandomState) -> HMMParameters:
    """Random probabilities around what the labels say; emissions are near the shares of the symbols."""
    symbols = counts["symbols"] + 1.0 / len(counts["symbols"])
    shares = symbols / symbols.sum()
    noise = rng.uniform(0.5, 1.5, (n_states, len(shares)))
    return HMMParameters(
        _rows(counts["start"] + rng.dirichlet(np.ones(n_states))),
        _rows(counts["transition"] + rng.dirichlet(np.ones(n_states), n_states)),
        _rows(counts["emission"] + _rows(noise * shares)),
    )


def match_labels(p: HMMParameters, counts: ExpectedCounts) -> HMMParameters:
    """Put states in the order in which they explain the symbols that are labelled best."""
    if not counts["emission"].any():
        return p
    gain = counts["emission"] @ np.log(np.maximum(p.emission, 1e-300)).T
    order = linear_sum_assignment(-gain)[1]
    return HMMParameters(p.start[order], p.transition[np.ix_(order, order)], p.emission[order])


def _tally(
    weights: Array, where: NDArray[np.generic], shape: tuple[int, ...], *codes: NDArray[np.int32]
) -> Array:
    flat = np.ravel_multi_index(tuple(c[where].astype(np.intp) for c in codes), shape)
    sums = np.bincount(flat, weights=weights[where], minlength=int(np.prod(shape)))
    return np.asarray(sums, dtype=np.float64).reshape(shape)


def _rows(values: Array) -> Array:
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def _solve(
    smoothing: float, learn: tuple[str, ...], found: ExpectedCounts, p: HMMParameters
) -> HMMParameters:
    """The M-step; a state that was never visited keeps its probabilities."""
    return dataclasses.replace(
        p, **{name: _divided(found[name], getattr(p, name), smoothing) for name in learn}
    )


def _divided(counts: Array, before: Array, smoothing: float) -> Array:
    counts = counts + smoothing * (before > 0)
    totals = counts.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), before))


def _expected_log_joint(found: ExpectedCounts, p: HMMParameters) -> float:
    return sum(float(xlogy(found[name], getattr(p, name)).sum()) for name in PARTS)


def _log_prior(smoothing: float, learn: tuple[str, ...], p: HMMParameters) -> float:
    tables: list[Array] = [getattr(p, name) for name in learn]
    return smoothing * sum(float(np.log(table[table > 0]).sum()) for table in tables)


def _pack(p: HMMParameters) -> Array:
    return np.concatenate([np.log(np.maximum(getattr(p, name), 1e-300)).reshape(-1) for name in PARTS])


def _unpack(vector: Array, like: HMMParameters) -> HMMParameters:
    tables: Callable[[str], Array] = partial(getattr, like)
    ends = np.cumsum([tables(name).size for name in PARTS])[:-1]
    parts = zip(PARTS, np.split(vector, ends), strict=True)
    return HMMParameters(**{name: _softmax(part, tables(name)) for name, part in parts})


def _softmax(logs: Array, like: Array) -> Array:
    """Rows of probabilities, zero where they were."""
    rows = np.where(like > 0, logs.reshape(like.shape), -np.inf)
    return _rows(np.exp(rows - rows.max(axis=-1, keepdims=True)))
