r"""Collapsed Gibbs sampling of the topics of tokens.

.. math:: p(z = k \mid \text{the others}) \propto (n_{dk} + \alpha_k) \frac{n_{kw} + \eta}{n_k + V\eta}

(Griffiths and Steyvers, 2004), one word after another as in F+LDA (Yu and others, 2015): the part with
:math:`n_{dk}` is a sum over the few topics of a document, the part with :math:`\alpha_k` is kept in blocks.
Each batch sweeps over its tokens with the counts of all batches as they were when the sweep began and its
own up to date (Newman and others, *Distributed algorithms for topic models*, 2009); one batch is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from isogloss import kernels
from isogloss.em import EMModel
from isogloss.engine import Source
from isogloss.stats import ExpectedCounts
from isogloss.topics._parameters import TopicParameters

Array = NDArray[np.float64]
Ints = NDArray[np.int32]

# Sweeps before priors are learned: tokens that have their first topics, by chance, would ask for large ones.
_BURN_IN = 10

# Sweeps of a lone batch between two sums. Several batches tell each other of their draws after every sweep.
SWEEPS_OF_ONE_BATCH = 5
_SMALLEST, _LARGEST = 1e-4, 1e4


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of a batch, column by column, with their topics; topics of documents as lists."""

    column_starts: NDArray[np.int64]
    documents: Ints
    assigned: Ints
    list_starts: NDArray[np.int64]
    list_entries: Ints
    """Topic and count of each entry of a list. Shape (room, 2)."""
    list_lengths: Ints
    seed: int
    sweeps: int = 0


class SeededSource:
    """A source whose batches come with a number each, from which random numbers of the batch begin."""

    def __init__(self, source: Source[Any], seed: int) -> None:
        self.source, self.seed = source, seed

    def loaders(self) -> Sequence[Callable[[], Any]]:
        """One callable per batch."""
        return [partial(_numbered, load, [self.seed, n]) for n, load in enumerate(self.source.loaders())]


def _numbered(load: Callable[[], Any], seed: list[int]) -> tuple[Any, int]:
    return load(), _mixed(seed)


def _mixed(numbers: list[int]) -> int:
    """A seed that has nothing to do with those of neighbouring numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def begin_tokens(batch: tuple[Any, int], n_topics: int) -> Tokens:
    """Every token with a topic by chance."""
    counts, seed = batch
    repeats = np.asarray(counts.data)
    if not (repeats == np.floor(repeats)).all():
        raise ValueError("learning_method='gibbs' draws a topic for each token: counts must be whole numbers")
    columns = counts.tocsc()
    each = columns.data.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(each)])
    documents = np.repeat(columns.indices, each).astype(np.int32)
    assigned = np.random.default_rng(seed).integers(n_topics, size=len(documents), dtype=np.int32)
    room = np.minimum(np.bincount(documents, minlength=counts.shape[0]), n_topics)
    starts = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    tokens = Tokens(
        ends[columns.indptr].astype(np.int64),
        documents,
        assigned,
        starts,
        np.zeros((starts[-1], 2), dtype=np.int32),
        np.zeros(counts.shape[0], dtype=np.int32),
        seed,
    )
    kernels.list_topics(documents, assigned, starts, tokens.list_entries, tokens.list_lengths)
    return tokens


def advance_tokens(tokens: Tokens, p: TopicParameters, *, sweeps: int) -> Tokens:
    """Some sweeps over a batch."""
    moved = ("assigned", "list_entries", "list_lengths")
    after = replace(
        tokens, sweeps=tokens.sweeps + sweeps, **{name: getattr(tokens, name).copy() for name in moved}
    )
    kernels.sample_topics(
        after.column_starts,
        after.documents,
        after.assigned,
        p.view_starts,
        p.words.copy(),
        p.view_sums(p.words),
        p.doc_prior,
        p.word_prior,
        after.list_starts,
        after.list_entries,
        after.list_lengths,
        _mixed([after.seed, after.sweeps]),
        sweeps,
    )
    return after


def collect_tokens(tokens: Tokens, p: TopicParameters) -> ExpectedCounts:
    r"""Counts of topics, and what learning the prior of documents needs.

    The tables ``prior_up`` and ``prior_down`` are the sums of Minka's fixed point for :math:`\alpha`;
    ``documents`` has the log-probability of the topics of tokens, and sweeps times documents.
    """
    words = np.zeros(p.words.shape)
    kernels.count_topics(tokens.column_starts, tokens.assigned, words)
    lengths = np.bincount(tokens.documents, minlength=len(tokens.list_lengths)).astype(np.float64)
    room = np.diff(tokens.list_starts)
    place = np.arange(len(tokens.list_entries)) - np.repeat(tokens.list_starts[:-1], room)
    topics, counts = tokens.list_entries[place < np.repeat(tokens.list_lengths, room)].T
    counts = counts.astype(np.float64)
    alpha, total = p.doc_prior, float(p.doc_prior.sum())
    up = np.bincount(topics, digamma(counts + alpha[topics]) - digamma(alpha)[topics], minlength=p.n_topics)
    down = float((digamma(lengths + total) - digamma(total)).sum())
    log_topics = float(
        (gammaln(counts + alpha[topics]) - gammaln(alpha)[topics]).sum()
        - (gammaln(lengths + total) - gammaln(total)).sum()
    )
    n = len(lengths)
    return ExpectedCounts(
        {
            "words": words,
            "prior_up": up,
            "prior_down": np.array([down]),
            "documents": np.array([log_topics, n * tokens.sweeps]),
        },
        rows=n,
        entropy=0.0,
    )


def gibbs_model(*, learn: bool) -> EMModel[TopicParameters]:
    """The steps around sweeps, which promise nothing about the next draw."""
    return EMModel(
        expect=_no_fresh_documents,
        solve=partial(_solve, learn=learn),
        expected_log_joint=_log_joint,
        climbs=False,
    )


def _no_fresh_documents(batch: Any, p: TopicParameters) -> ExpectedCounts:
    raise NotImplementedError("tokens keep their topics between sweeps")


def _solve(statistic: ExpectedCounts, p: TopicParameters, *, learn: bool) -> TopicParameters:
    """Counts as they are, and one step of Minka's fixed point for both priors."""
    words, alpha, eta = statistic["words"], p.doc_prior, p.word_prior
    down = statistic["prior_down"][0]
    if learn and statistic["documents"][1] > _BURN_IN * statistic.rows and down > 0:
        alpha = np.clip(alpha * statistic["prior_up"] / down, _SMALLEST, _LARGEST)
        eta = np.array([_next_word_prior(*part) for part in zip(eta, *_by_view(words, p), strict=True)])
    return TopicParameters(words, alpha, eta, p.widths)


def _by_view(words: Array, p: TopicParameters) -> tuple[list[NDArray[np.int64]], Array]:
    """For each view, the number of cells with each count, and the totals of topics."""
    parts = np.split(words, np.cumsum(p.widths)[:-1])
    return [np.bincount(part.astype(np.int64).ravel()).astype(np.int64) for part in parts], p.view_sums(words)


def _next_word_prior(eta: float, cells: NDArray[np.int64], totals: Array) -> float:
    counts = np.flatnonzero(cells)
    width = cells.sum() / len(totals)
    up = float(cells[counts] @ (digamma(counts + eta) - digamma(eta)))
    down = float(width * (digamma(totals + width * eta) - digamma(width * eta)).sum())
    return float(np.clip(eta * up / down, _SMALLEST, _LARGEST)) if down > 0 and up > 0 else eta


def _log_joint(statistic: ExpectedCounts, p: TopicParameters) -> float:
    """Log-probability of words and topics, with topics and proportions integrated out."""
    out = statistic["documents"][0]
    for eta, cells, totals in zip(p.word_prior, *_by_view(statistic["words"], p), strict=True):
        counts = np.flatnonzero(cells)
        width = cells.sum() / len(totals)
        out += cells[counts] @ (gammaln(counts + eta) - gammaln(eta))
        out += (gammaln(width * eta) - gammaln(totals + width * eta)).sum()
    return float(out)


class SampleMean:
    """The mean of counts over the last sweeps, kept by a callback of the EM loop."""

    def __init__(self, first: int) -> None:
        self.first, self.samples = first, 0
        self.total: Array | None = None

    def __call__(self, line: Any, parameters: TopicParameters) -> None:
        """Add a sample, if enough went before it."""
        if line.index >= self.first:
            self.samples += 1
            self.total = parameters.words.copy() if self.total is None else self.total + parameters.words

    def of(self, parameters: TopicParameters) -> TopicParameters:
        """The parameters with the mean in the place of their counts."""
        if self.total is None:
            return parameters
        return replace(parameters, words=self.total / self.samples)
