r"""Variational inference for topic models, and EM for point estimates.

.. math:: q(z, \theta, \beta) = \prod_d \mathrm{Dir}(\theta_d \mid \alpha + n_d)
          \prod_{d,w} q(z_{dw}) \prod_k \mathrm{Dir}(\beta_k \mid \lambda_k), \qquad
          q(z_{dw} = k) \propto e^{E[\log\theta_{dk}] + E[\log\beta_{kw}]}

(Blei, Ng and Jordan, 2003; Hoffman, Blei and Bach, 2010). Point estimates put the modes of :math:`\theta` and
:math:`\beta` in the place of the exponentials, with priors as pseudo-counts; without priors this is
PLSA. ``expected`` are the counts :math:`n_{dk} = \sum_w n_{dw} q(z_{dw} = k)` of documents x topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma, gammaln, xlogy

from isogloss import kernels
from isogloss.em import EMModel
from isogloss.stats import ExpectedCounts
from isogloss.topics._parameters import TopicParameters, fit_dirichlet, log_dirichlet_norm

Array = NDArray[np.float64]

# Updates of each document in an E-step that begins where the last one ended.
_WARM_UPDATES = 3
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Documents:
    """Counts of a batch, and the expected counts of topics in its documents; None at the beginning."""

    counts: Any
    expected: Array | None = None


class Proportions(NamedTuple):
    """The posterior of documents: expected counts, those that follow, weights, and counts over norms."""

    expected: Array
    next: Array
    theta: Array
    ratio: Array


def proportions(
    documents: Documents,
    p: TopicParameters,
    *,
    updates: int,
    tol: float = 0.0,
    point: bool = False,
    mean_topics: bool = False,
    threads: int = 1,
) -> Proportions:
    """Update the posterior of documents under fixed topics.

    ``mean_topics`` takes the probabilities of words as known, whatever q is of documents.
    """
    counts = documents.counts
    shape = (counts.shape[0], p.n_topics)
    if documents.expected is None:
        expected = np.repeat(
            np.asarray(counts.sum(axis=1), dtype=np.float64).reshape(-1, 1), shape[1], axis=1
        )
        expected /= shape[1]
    else:
        expected = documents.expected.copy()
    out = Proportions(expected, np.empty(shape), np.empty(shape), np.empty(counts.nnz))
    kernels.topic_proportions(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32, copy=False),
        counts.data,
        p.means if point or mean_topics else p.weights,
        p.doc_prior,
        *out,
        updates,
        tol,
        point,
        threads,
    )
    return out


def expect_anew(
    counts: Any, p: TopicParameters, *, updates: int, tol: float, point: bool, mean_topics: bool = False
) -> ExpectedCounts:
    """The E-step of documents that were not seen before."""
    documents = Documents(counts)
    found = proportions(documents, p, updates=updates, tol=tol, point=point, mean_topics=mean_topics)
    return _collect(documents, found, p, point, mean_topics)


def begin(counts: Any) -> Documents:
    """The state of documents before the first step."""
    return Documents(counts)


def advance(documents: Documents, p: TopicParameters, *, point: bool) -> Documents:
    """The state after some more updates of each document."""
    found = proportions(documents, p, updates=_WARM_UPDATES, point=point)
    return Documents(documents.counts, found.next)


def collect(documents: Documents, p: TopicParameters, *, point: bool) -> ExpectedCounts:
    """Expected counts of documents in the state that they are in."""
    return _collect(documents, proportions(documents, p, updates=1, point=point), p, point, False)


def _collect(
    documents: Documents, found: Proportions, p: TopicParameters, point: bool, mean_topics: bool
) -> ExpectedCounts:
    """Sums over documents, and the entropy of q.

    The table ``documents`` has the part of the joint that pairs tokens with proportions.
    """
    counts = documents.counts
    ratios = sparse.csr_matrix((found.ratio, counts.indices, counts.indptr), shape=counts.shape)
    words = np.asarray(ratios.T @ found.theta) * (p.means if point or mean_topics else p.weights)
    if point:
        log_theta = np.log(np.maximum(found.theta, _TINY))
        prior = xlogy(p.doc_prior, np.maximum(found.theta, _TINY)).sum(axis=0)
        entropy = 0.0
    else:
        posterior = p.doc_prior + found.expected
        totals = posterior.sum(axis=1)
        log_theta = digamma(posterior) - digamma(totals)[:, None]
        prior = log_theta.sum(axis=0)
        entropy = float(
            gammaln(posterior).sum() - gammaln(totals).sum() - ((posterior - 1) * log_theta).sum()
        )
    pairing = float((found.next * log_theta).sum())
    seen = found.ratio > 0
    log_norms = float(counts.data[seen] @ np.log(counts.data[seen] / found.ratio[seen]))
    log_norms += float(counts.data[~seen].sum()) * np.log(_TINY)
    entropy += log_norms - pairing - _expected_log(words, p, point or mean_topics)
    return ExpectedCounts(
        {"words": words, "log_theta": prior, "documents": np.array([pairing])},
        rows=counts.shape[0],
        entropy=entropy,
    )


def _expected_log(words: Array, p: TopicParameters, point: bool) -> float:
    """Expected log-probability of words that were drawn so often."""
    return float(xlogy(words, np.maximum(p.means, _TINY)).sum() if point else (words * p.log_weights).sum())


def variational_model(*, point: bool, learn: bool, updates: int, tol: float) -> EMModel[TopicParameters]:
    """The steps; ``updates`` and ``tol`` are for documents that begin anew."""
    return EMModel(
        expect=partial(expect_anew, updates=updates, tol=tol, point=point),
        solve=_solve_point if point else partial(_solve, learn=learn),
        expected_log_joint=_point_log_joint if point else _log_joint,
        log_prior=_point_log_prior if point else _log_prior,
    )


def _solve(statistic: ExpectedCounts, p: TopicParameters, *, learn: bool) -> TopicParameters:
    """Topics from expected counts; priors before them, from what was expected under the topics so far."""
    doc_prior, word_prior = p.doc_prior, p.word_prior
    if learn and statistic.rows:
        doc_prior = fit_dirichlet(statistic["log_theta"] / statistic.rows, doc_prior)
        logs = p.view_sums(p.log_weights).sum(axis=1) / (p.widths * p.n_topics)
        word_prior = np.array(
            [
                fit_dirichlet(np.array([mean]), np.array([prior]), int(width))[0]
                for mean, prior, width in zip(logs, word_prior, p.widths, strict=True)
            ]
        )
    return TopicParameters(statistic["words"], doc_prior, word_prior, p.widths)


def _solve_point(statistic: ExpectedCounts, p: TopicParameters) -> TopicParameters:
    return TopicParameters(statistic["words"], p.doc_prior, p.word_prior, p.widths)


def _log_joint(statistic: ExpectedCounts, p: TopicParameters) -> float:
    prior = statistic.rows * log_dirichlet_norm(p.doc_prior) + (p.doc_prior - 1) @ statistic["log_theta"]
    words = _expected_log(statistic["words"], p, point=False)
    return float(words + statistic["documents"][0] + prior)


def _log_prior(p: TopicParameters) -> float:
    """Expected log-prior of topics and their entropy: minus the distance of q from the prior."""
    width = p.widths.astype(np.float64)
    norms = gammaln(width * p.word_prior) - width * gammaln(p.word_prior)
    counts = p.pseudo_counts
    spread = gammaln(counts).sum() - gammaln(p.view_sums(counts)).sum()
    return float(p.n_topics * norms.sum() + spread - (p.words * p.log_weights).sum())


def _point_log_joint(statistic: ExpectedCounts, p: TopicParameters) -> float:
    words = _expected_log(statistic["words"], p, point=True)
    return float(words + statistic["documents"][0] + statistic["log_theta"].sum())


def _point_log_prior(p: TopicParameters) -> float:
    sums = p.view_sums(np.log(np.maximum(p.means, _TINY))).sum(axis=1)
    return float((p.word_prior * sums).sum())


def document_bound(statistic: ExpectedCounts, p: TopicParameters, point: bool, mean_topics: bool) -> float:
    """Lower bound of the log-likelihood of documents under given topics; the likelihood itself for points."""
    words = _expected_log(statistic["words"], p, point or mean_topics)
    bound = words + float(statistic["documents"][0]) + statistic.entropy
    if point:
        return bound
    prior = statistic.rows * log_dirichlet_norm(p.doc_prior) + (p.doc_prior - 1) @ statistic["log_theta"]
    return float(bound + prior)


def completion(theta: Array, topics: Array, held_out: Any) -> float:
    """Perplexity of counts under proportions of topics and probabilities of words (features x topics)."""
    total = held_out.data.sum()
    if not total > 0:
        raise ValueError("held_out has no words; expected some words of the same documents")
    rows = np.repeat(np.arange(held_out.shape[0]), np.diff(held_out.indptr))
    log_likelihood = 0.0
    for start in range(0, held_out.nnz, 65_536):
        part = slice(start, start + 65_536)
        probability = np.einsum("ek,ek->e", theta[rows[part]], topics[held_out.indices[part]])
        log_likelihood += float(held_out.data[part] @ np.log(np.maximum(probability, _TINY)))
    return float(np.exp(-log_likelihood / total))
