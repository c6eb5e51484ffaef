r"""The polylingual topic model: topics with words in every language.

.. math:: \theta_d \sim \mathrm{Dir}(\alpha), \quad \beta_k^{(v)} \sim \mathrm{Dir}(\eta_v), \quad
          z_{dn}^{(v)} \sim \theta_d, \quad w_{dn}^{(v)} \sim \beta^{(v)}_{z_{dn}^{(v)}}

for documents d that exist in several languages v: their versions share their topic proportions and nothing
else. D. Mimno, H. Wallach, J. Naradowsky, D. Smith and A. McCallum, *Polylingual topic models*, EMNLP 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from isogloss.topics._base import Counts, TopicModel, check_counts
from isogloss.views import ViewsMixin, check_views, stack_views

Array = NDArray[np.float64]


class PolylingualTopicModel(ViewsMixin, TopicModel):
    r"""Topics of documents in several languages, any of which may be missing in any document.

    With one language it is :class:`LatentDirichletAllocation`. With ``learning_method='map'`` it is joint
    PLSA (JPLSA) of Platt, Toutanova and Yih (2010). Coupled PLSA (CPLSA) gives the versions of a document
    proportions of their own and pulls those together; it is no special case, but where it insists on equal
    proportions the two agree.

    Parameters
    ----------
    n_components, doc_topic_prior, topic_word_prior, learning_method, init, learn_priors
        As in :class:`LatentDirichletAllocation`; each language learns a prior of words of its own. With
        ``init='spectral'`` topics start from the moments of the language with the most words.
    learning_decay, learning_offset, batch_size, total_samples, max_iter, tol
        As in :class:`LatentDirichletAllocation`.
    mean_change_tol, max_doc_update_iter, on_decrease, random_state, n_jobs, batch_rows, engine
        As in :class:`LatentDirichletAllocation`.

    Attributes
    ----------
    parameters_, doc_topic_prior_, bound_, trace_, converged_, n_iter_, n_batches_, statistic_
        As in :class:`LatentDirichletAllocation`.
    components_ : list of array (topics, features)
        Dirichlet parameters of topics, for each language.
    topics_ : list of array (topics, features)
        Probabilities of words in each topic, for each language.
    topic_word_prior_ : array (views,)
        Dirichlet parameter of the words of each language.
    view_names_, dims_ : tuple
        Languages seen in ``fit`` and their numbers of words.

    Notes
    -----
    Words count alike in all languages, so a long version of a document says more about its topics than a
    short one.

    Examples
    --------
    >>> import numpy as np
    >>> en = np.array([[3, 2, 0], [2, 4, 0], [0, 0, 3], [0, 0, 5]])
    >>> de = np.array([[2, 0], [3, 0], [0, 4], [0, 0]])
    >>> model = PolylingualTopicModel(2, random_state=0).fit({"en": en, "de": de})
    >>> about = model.transform_view([[5, 0, 0]], "en").argmax()
    >>> bool(about == model.transform_view([[4, 0]], "de").argmax())
    True
    """

    def _counts(self, X: Any, *, reset: bool) -> Counts:
        views = check_views(X, min_rows=1) if reset else self._check_seen(X)
        if reset:
            self.view_names_, self.dims_ = views.names, views.dims
        return counts_of_views(views, self.dims_)

    def _check_batch(self) -> Callable[[Any], Counts]:
        return partial(counts_of_views, dims=self.dims_)

    def _widths(self) -> NDArray[np.int64]:
        return np.array(self.dims_, dtype=np.int64)

    def transform_view(self, X: Any, view: int | str) -> Array:
        """Proportions of topics in documents of which one language is known.

        Parameters
        ----------
        X : array or CSR matrix
            Counts of words.
        view : int or str
            Their language.
        """
        check_is_fitted(self)
        X, index = self._check_one(X, view)
        counts = check_counts(X, f"view {self.view_names_[index]!r}")
        before = int(sum(self.dims_[:index]))
        placed = (counts.data, counts.indices + np.int32(before), counts.indptr)
        return self._proportions(sparse.csr_matrix(placed, shape=(counts.shape[0], sum(self.dims_))))

    def _split(self, table: Array) -> list[Array]:
        return [part.T for part in np.split(table, np.cumsum(self.dims_)[:-1])]

    @property
    def components_(self) -> list[Array]:
        """Dirichlet parameters of topics, for each language."""
        check_is_fitted(self)
        return self._split(self.parameters_.pseudo_counts)

    @property
    def topics_(self) -> list[Array]:
        """Probabilities of words in each topic, for each language."""
        check_is_fitted(self)
        return self._split(self.parameters_.means)

    @property
    def topic_word_prior_(self) -> Array:
        """Dirichlet parameters of the words of topics, one for each language."""
        check_is_fitted(self)
        return self.parameters_.word_prior


def counts_of_views(X: Any, dims: tuple[int, ...]) -> Counts:
    """Counts of all languages side by side."""
    views = check_views(X)
    if views.dims != dims:
        raise ValueError(f"a batch has views of {views.dims} features; the first one has {dims}")
    for x, name in zip(views.arrays, views.names, strict=True):
        check_counts(x, f"view {name!r}")
    return check_counts(stack_views(views))
