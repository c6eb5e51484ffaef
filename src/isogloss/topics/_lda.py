r"""Latent Dirichlet allocation.

.. math:: \theta_d \sim \mathrm{Dir}(\alpha), \quad \beta_k \sim \mathrm{Dir}(\eta), \quad
          z_{dn} \sim \theta_d, \quad w_{dn} \sim \beta_{z_{dn}}

D. Blei, A. Ng and M. Jordan, *Latent Dirichlet allocation*, Journal of Machine Learning Research 3, 2003.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from isogloss.topics._base import Counts, TopicModel, check_counts, check_rows

Array = NDArray[np.float64]


class LatentDirichletAllocation(TopicModel):
    r"""Topics of documents, from counts of words.

    Parameters
    ----------
    n_components : int
        Number of topics.
    doc_topic_prior : float, optional
        Dirichlet parameter :math:`\alpha` of topic proportions to begin with; ``1 / n_components`` by
        default.
    topic_word_prior : float, optional
        Dirichlet parameter :math:`\eta` of words of topics to begin with; ``1 / n_components`` by default.
    learning_method : {'batch', 'online', 'gibbs', 'map'}
        'batch' is variational inference, whose bound rises in every step. 'online' takes steps after every
        ``batch_size`` documents. 'gibbs' draws a topic for each token, ``max_iter`` times, and averages
        over the last quarter of the draws: as a rule the best topics in the least time. 'map' is EM for
        point estimates with priors as pseudo-counts (the Dirichlet parameters less one); with both priors 0
        it is probabilistic latent semantic analysis (PLSA).
    init : {'random', 'spectral'}
        Where learning starts: at topics that are nearly alike, or at topics estimated from moments of two and
        three words of a document, with the sum of the Dirichlet parameters of topics taken as known. The
        second is far better where documents are as the model says; for text with learned priors it was worse.
        ``max_iter=0`` and 'batch' give the estimate itself. Not for 'gibbs'.
    learn_priors : bool
        Whether priors are learned: :math:`\alpha`, another one for each topic, and :math:`\eta`. Not those
        of 'map'.
    learning_decay, learning_offset : float
        Online step t counts as ``(learning_offset + t) ** -learning_decay``.
    batch_size : int
        Documents of a step of 'online'.
    total_samples : int, optional
        Documents in all, for ``partial_fit``; those that were seen by default.
    max_iter : int
        Most sweeps over the documents.
    tol : float
        'batch' and 'map' stop when a sweep gains less than this per document.
    mean_change_tol : float
        Topic proportions of a new document are found when expected counts of its topics change less.
    max_doc_update_iter : int
        Most updates of a new document.
    on_decrease : {'raise', 'warn', 'revert'}
        What to do when the bound falls.
    random_state : int, RandomState or None
        Seed of the start and of the draws.
    n_jobs : int or None
        Threads over batches of documents; -1 for all cores. The result does not depend on it.
    batch_rows : int
        Documents of a batch. Draws of 'gibbs' in one batch do not see those that others make at the
        same time, so results depend on this number; with one batch sampling is exact.
    engine : Engine, optional
        Where the sums run, for example :class:`~isogloss.engine.dask.DaskEngine`; threads by default.

    Attributes
    ----------
    parameters_ : :class:`TopicParameters`
        Expected counts and priors.
    components_ : array (topics, features)
        Dirichlet parameters of topics: expected counts and prior.
    topics_ : array (topics, features)
        Probabilities of words in each topic.
    doc_topic_prior_ : array (topics,)
        :math:`\alpha`, learned.
    topic_word_prior_ : float
        :math:`\eta`, learned.
    bound_ : float
        Bound after the last step, summed over documents: log-likelihood at least (of the last batch after
        'online'; the joint log-probability of words and topics for 'gibbs').
    trace_ : tuple of :class:`~isogloss.em.Iteration`
        What each step found; empty for 'online'.
    converged_ : bool
        Whether the tolerance was reached; true for methods without one.
    n_iter_ : int
        Sweeps over the documents.
    n_batches_, n_samples_seen_, statistic_
        After 'online': batches and documents taken in, and expected counts per document.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str
        Their names, when X was a DataFrame.

    Notes
    -----
    A variational sweep costs about ``8 nnz n_components`` operations, a sweep of the sampler ``n`` tokens
    times the topics of a document. Memory beyond the counts: ``n_components`` doubles for each document and
    some for each word, or 4 bytes for each token ('gibbs').

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 2, 1]])
    >>> lda = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> lda.transform(X).argmax(axis=1) == lda.transform(X).argmax(axis=1)[0]
    array([ True,  True, False, False])
    """

    def _counts(self, X: Any, *, reset: bool) -> Counts:
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=1
        )
        return check_counts(checked, type(self).__name__)

    def _check_batch(self) -> Callable[[Any], Counts]:
        return partial(check_rows, n_features=self.n_features_in_)

    def _widths(self) -> NDArray[np.int64]:
        return np.array([self.n_features_in_], dtype=np.int64)

    @property
    def components_(self) -> Array:
        """Dirichlet parameters of topics."""
        check_is_fitted(self)
        return self.parameters_.pseudo_counts.T

    @property
    def topics_(self) -> Array:
        """Probabilities of words in each topic."""
        check_is_fitted(self)
        return self.parameters_.means.T

    @property
    def topic_word_prior_(self) -> float:
        """Dirichlet parameter of the words of topics."""
        check_is_fitted(self)
        return float(self.parameters_.word_prior[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
