r"""The lexicon: what each word translates to, and its M-step.

With expected counts :math:`c(e, f)` and pseudo-counts :math:`a(e, f)`, the lexicon that maximises the
posterior is :math:`t(f \mid e) \propto c(e, f) + a(e, f)`. Under variational Bayes, with a Dirichlet
distribution instead of a point, it is :math:`\exp(\psi(c + a) - \psi(\sum (c + a)))`, which takes most
from the rarest pairs; :math:`\psi` is the digamma function.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, xlogy

from isogloss.alignment.models._pairs import PairTable
from isogloss.kernels import normalise_lexicon

Array = NDArray[np.float64]
Single = NDArray[np.float32]

NULL_PSEUDO = 1e-3
"""Pseudo-count of every word that may come from nothing."""


@dataclasses.dataclass(frozen=True)
class LexicalPrior:
    """Pseudo-counts of a lexicon."""

    pairs: Single | None = None
    """Pseudo-counts per pair of the table, one for both directions or one for each (pairs x 2): likeness
    of spelling, a dictionary, what another text has taught.
    """
    each: float = 0.0
    """Pseudo-count of every pair besides."""
    bayes: bool = False
    """Variational Bayes instead of the mode."""

    def __post_init__(self) -> None:
        if self.each < 0 or (self.pairs is not None and self.pairs.min(initial=0) < 0):
            raise ValueError("pseudo-counts of a lexicon cannot be negative")
        if self.bayes and self.each <= 0:
            raise ValueError("variational Bayes needs a positive pseudo-count for every pair")

    @property
    def empty(self) -> bool:
        """Return whether there are no pseudo-counts at all."""
        return self.pairs is None and self.each == 0

    def select(self, pairs: NDArray[np.int64]) -> LexicalPrior:
        """The prior of some pairs of the table."""
        return self if self.pairs is None else dataclasses.replace(self, pairs=self.pairs[pairs])

    def of_pairs(self, n: int) -> Single:
        """Pseudo-counts of single pairs as columns: none, one for both directions, or one for each."""
        return np.empty((n, 0), dtype=np.float32) if self.pairs is None else self.pairs.reshape(n, -1)

    def add_to(self, counts: Array, direction: int) -> Array:
        """Counts of one direction with the pseudo-counts added."""
        if self.pairs is None:
            return counts + self.each
        return counts + self.each + (self.pairs if self.pairs.ndim == 1 else self.pairs[:, direction])

    def log_density(self, table: PairTable, lexicon: Single, posterior: Array) -> float:
        """Return the prior's term of the bound; under Bayes, minus the divergence of posterior from prior."""
        if self.bayes:
            return -sum(self._divergence(table, posterior[:, d], d) for d in (0, 1))
        if self.empty:
            return 0.0
        none = np.zeros(len(table))
        pseudo = np.stack([self.add_to(none, direction) for direction in (0, 1)], axis=1)
        return float(xlogy(pseudo, lexicon.astype(np.float64)).sum())

    def _divergence(self, table: PairTable, a: Array, direction: int) -> float:
        """KL between two Dirichlet distributions, summed over words."""
        b = self.add_to(np.zeros(len(table)), direction)
        sum_a, sum_b = _totals(table, a, direction), _totals(table, b, direction)
        per_pair = gammaln(b) - gammaln(a) + (a - b) * digamma(a)
        seen = sum_b > 0
        per_word = gammaln(sum_a[seen]) - gammaln(sum_b[seen])
        correction = (sum_a[seen] - sum_b[seen]) * digamma(sum_a[seen])
        return float(per_pair.sum() + per_word.sum() - correction.sum())


def uniform_lexicon(table: PairTable) -> Single:
    """Every pair alike."""
    out = np.empty((len(table), 2), dtype=np.float32)
    out[:, 0], out[:, 1] = 1 / max(table.shape[1], 1), 1 / max(table.shape[0], 1)
    return out


def solve_lexicon(table: PairTable, counts: Array, prior: LexicalPrior) -> tuple[Single, Array]:
    """Both directions of the lexicon from expected counts (pairs x 2), and the counts with their prior.

    The second is empty but for variational Bayes.
    """
    lexicon = np.empty((len(table), 2), dtype=np.float32)
    if not prior.bayes:
        normalise_lexicon(
            table.rows, table.columns, table.shape[1], counts, prior.of_pairs(len(table)), prior.each, lexicon
        )
        return lexicon, np.empty((0, 2))
    posterior = np.empty((len(table), 2))
    for direction in (0, 1):
        full = posterior[:, direction] = prior.add_to(counts[:, direction], direction)
        totals = _spread(table, _totals(table, full, direction), direction)
        lexicon[:, direction] = np.exp(digamma(full) - digamma(totals))
    return lexicon, posterior


def null_lexicon(counts: Array, pseudo: float = NULL_PSEUDO) -> Single:
    """Return the translation probabilities of the null word."""
    counts = counts + pseudo
    total = counts.sum()
    return np.asarray(counts / total if total > 0 else counts + 1.0 / len(counts), dtype=np.float32)


def _totals(table: PairTable, values: Array, direction: int) -> Array:
    """Sums per source word (0) or per target word (1)."""
    if direction == 1:
        return np.asarray(np.bincount(table.columns, weights=values, minlength=table.shape[1]), np.float64)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(sums[table.rows[1:]] - sums[table.rows[:-1]])


def _spread(table: PairTable, totals: Array, direction: int) -> Array:
    """Per-word values back to pairs."""
    return totals[table.columns] if direction == 1 else np.repeat(totals, np.diff(table.rows))
