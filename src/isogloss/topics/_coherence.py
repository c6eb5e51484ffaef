r"""Judging topics: coherence of their words, and the perplexity of the other halves of documents.

The coherence of a topic is the mean over pairs of its strongest words of normalised pointwise mutual
information in the documents of a reference corpus,

.. math:: \mathrm{NPMI}(v, w) = \frac{\log \frac{p(v, w)}{p(v) p(w)}}{-\log p(v, w)}

between -1 for words that never meet, 0 for chance and 1 for words that are only found together (Bouma, 2009;
Lau, Newman and Baldwin, 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from isogloss.linalg import check_count
from isogloss.threads import thread_bound
from isogloss.topics._base import check_counts
from isogloss.topics._parameters import TopicParameters
from isogloss.topics._variational import Documents, completion, proportions

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coherence:
    """Coherence of topics: how often their strongest words occur together."""

    topics: Array
    """NPMI of each topic, from -1 to 1."""

    @property
    def mean(self) -> float:
        """Mean over topics."""
        return float(self.topics.mean())


@thread_bound
def topic_coherence(topics: ArrayLike, X: Any, *, n_words: int = 10) -> Coherence:
    """Normalised pointwise mutual information of the strongest words of each topic.

    Parameters
    ----------
    topics : array (topics, features)
        Weights of words in topics, such as ``topics_`` or ``components_``.
    X : array or sparse matrix (documents, features)
        Reference documents, best others than those of ``fit``; what counts is whether a word occurs.
    n_words : int
        Words of a topic.

    Examples
    --------
    >>> documents = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    >>> topics = [[0.5, 0.5, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]]
    >>> topic_coherence(topics, documents, n_words=2).topics
    array([ 1., -1.])
    """
    weights = check_array(topics, dtype=np.float64, input_name="topics")
    counts = check_counts(check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X"))
    if weights.shape[1] != counts.shape[1]:
        raise ValueError(
            f"topics have {weights.shape[1]} words and X has {counts.shape[1]}; expected as many"
        )
    n_words = check_count(n_words, "n_words", 2, weights.shape[1], "words of a topic")
    strongest = np.argsort(-weights, axis=1, kind="stable")[:, :n_words]
    ones = np.ones(counts.nnz)
    occurs = sparse.csr_matrix((ones, counts.indices, counts.indptr), shape=counts.shape).tocsc()
    return Coherence(np.array([_npmi(occurs[:, words], counts.shape[0]) for words in strongest]))


def _npmi(occurs: Any, documents: int) -> float:
    """Mean over pairs of columns that say where words occur."""
    together = np.asarray((occurs.T @ occurs).todense()) / documents
    alone = np.diag(together)
    first, second = np.triu_indices(len(alone), 1)
    pair, chance = together[first, second], alone[first] * alone[second]
    met = pair > 0
    out = np.full(len(pair), -1.0)
    everywhere = pair == 1
    usual = met & ~everywhere
    out[usual] = np.log(pair[usual] / chance[usual]) / -np.log(pair[usual])
    out[everywhere] = 1.0
    return float(out.mean())


@thread_bound
def completion_perplexity(
    topics: ArrayLike,
    observed: Any,
    held_out: Any,
    *,
    doc_topic_prior: ArrayLike | None = None,
    max_iter: int = 200,
    tol: float = 1e-3,
) -> float:
    """Perplexity of some words of documents under proportions found from others (document completion).

    Proportions are found by variational inference under the given topics, whatever model these are of, so
    that models of any package are measured alike.

    Parameters
    ----------
    topics : array (topics, features)
        Weights of words in topics; rows are scaled to sum to one.
    observed, held_out : array or sparse matrix (documents, features)
        Counts that proportions are found from, and counts of other words of the same documents.
    doc_topic_prior : array (topics,) or float, optional
        Dirichlet parameters of proportions; one over the number of topics by default.
    max_iter : int
        Most updates of a document.
    tol : float
        Updates end when expected counts of topics change by less.

    Examples
    --------
    >>> topics = [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    >>> known, other = [[9, 0, 0, 0]], [[0, 9, 0, 0]]
    >>> round(completion_perplexity(topics, known, other), 1)
    2.1
    """
    weights = check_array(topics, dtype=np.float64, input_name="topics", ensure_non_negative=True)
    known, other = (
        check_counts(check_array(x, accept_sparse="csr", dtype=np.float64, input_name=name), name)
        for x, name in ((observed, "observed"), (held_out, "held_out"))
    )
    if known.shape != other.shape or known.shape[1] != weights.shape[1]:
        raise ValueError(
            f"observed has shape {known.shape}, held_out {other.shape} and topics have {weights.shape[1]} "
            "words; expected the same documents and words"
        )
    k = len(weights)
    prior = np.full(k, 1.0 / k) if doc_topic_prior is None else np.asarray(doc_topic_prior, dtype=np.float64)
    p = TopicParameters(
        np.ascontiguousarray(weights.T),
        np.broadcast_to(prior, (k,)).copy(),
        np.zeros(1),
        np.array([weights.shape[1]]),
    )
    found = proportions(Documents(known), p, updates=max_iter, tol=tol, mean_topics=True)
    theta = found.next + p.doc_prior
    return completion(theta / theta.sum(axis=1, keepdims=True), p.means, other)
