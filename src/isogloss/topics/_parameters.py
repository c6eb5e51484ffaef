r"""The parameters of a topic model, and the Dirichlet distributions that they stand for.

Words of several languages stand side by side. The words of language v in topic k have the distribution
:math:`\beta_k^{(v)} \sim \mathrm{Dir}(\eta_v)`; a document with counts of expected draws
:math:`n_{kw}` leaves :math:`\lambda_{kw} = \eta_v + n_{kw}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

Array = NDArray[np.float64]

# No learned prior falls below this.
_SMALLEST = 1e-4


@dataclass(frozen=True, eq=False)
class TopicParameters:
    """Topics and priors.

    Parameters
    ----------
    words : array (features, topics)
        How often each word was drawn from each topic, in expectation.
    doc_prior : array (topics,)
        Dirichlet parameters of the topic proportions of a document.
    word_prior : array (views,)
        Dirichlet parameter of the words of a topic, one for each language.
    widths : array of int (views,)
        Words of each language.
    """

    words: Array
    doc_prior: Array
    word_prior: Array
    widths: NDArray[np.int64]

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.doc_prior)

    @property
    def view_starts(self) -> NDArray[np.int64]:
        """Offsets of the words of each language, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.widths)]).astype(np.int64)

    @property
    def pseudo_counts(self) -> Array:
        """The Dirichlet parameters of topics: counts and prior. Shape (features, topics)."""
        return self.words + np.repeat(self.word_prior, self.widths)[:, None]

    def view_sums(self, table: Array) -> Array:
        """Sums of a table with a row for each word over the words of each language."""
        return np.asarray(np.add.reduceat(table, self.view_starts[:-1], axis=0))

    def _spread(self, table: Array) -> Array:
        return np.repeat(table, self.widths, axis=0)

    @cached_property
    def means(self) -> Array:
        """Probabilities of words in each topic; topics without a word or a prior are uniform."""
        counts = self.pseudo_counts
        totals = self._spread(self.view_sums(counts))
        uniform = 1.0 / self._spread(self.widths[:, None].astype(np.float64))
        return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), uniform)

    @cached_property
    def log_weights(self) -> Array:
        """Expected logarithms of the probabilities of words."""
        counts = self.pseudo_counts
        return np.asarray(digamma(counts) - self._spread(digamma(self.view_sums(counts))))

    @cached_property
    def weights(self) -> Array:
        """Exponentials of the expected logarithms."""
        return np.exp(self.log_weights)


def start_parameters(
    widths: NDArray[np.int64],
    doc_prior: Array,
    word_prior: Array,
    tokens: Array,
    rng: np.random.RandomState,
) -> TopicParameters:
    """Topics that are nearly alike and share out the tokens of each language, by chance."""
    k = len(doc_prior)
    noise = rng.gamma(100.0, 0.01, size=(k, int(widths.sum()))).T
    scale = np.repeat(tokens / (k * widths), widths)[:, None]
    return TopicParameters(np.ascontiguousarray(noise * scale), doc_prior, word_prior, widths)


def log_dirichlet_norm(prior: Array) -> float:
    r"""The logarithm of the normalising constant, :math:`\log\Gamma(\sum\alpha) - \sum\log\Gamma(\alpha)`."""
    return float(gammaln(prior.sum()) - gammaln(prior).sum())


def fit_dirichlet(mean_log: Array, prior: Array, copies: int = 1) -> Array:
    r"""One step towards the Dirichlet parameters under which the given expected logarithms are most likely.

    Minka's fixed point :math:`\psi(\alpha_k) = \psi(\sum_j \alpha_j) + \overline{\log p_k}` (*Estimating a
    Dirichlet distribution*, 2000, equation 9), which raises the likelihood; should the lower limit on
    parameters spoil that, the prior stays. One step for each sweep is on purpose: topics are nearly alike
    at first, and a prior that fits them at once keeps them so.

    Parameters
    ----------
    mean_log : array (k,)
        Means of expected logarithms.
    prior : array (k,)
        Where to begin.
    copies : int
        How many parameters are tied to each: the words of a topic that share one.
    """

    def gain(alpha: Array) -> float:
        return float(gammaln(copies * alpha.sum()) + copies * ((alpha - 1) @ mean_log - gammaln(alpha).sum()))

    total = digamma(copies * prior.sum())
    found = np.maximum(inverse_digamma(total + mean_log), _SMALLEST)
    return found if gain(found) > gain(prior) else prior


def inverse_digamma(y: Array) -> Array:
    """The x with ``digamma(x) == y``, by Newton's method from Minka's start."""
    x = np.where(y >= -2.22, np.exp(np.minimum(y, 700.0)) + 0.5, -1.0 / (np.minimum(y, -2.22) - digamma(1.0)))
    for _ in range(5):
        x = x - (digamma(x) - y) / polygamma(1, x)
    return np.asarray(x)
