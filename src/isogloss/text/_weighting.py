r"""Weights of words in documents, from counts.

With :math:`TF_k` the occurrences of word k in a document of length :math:`\ell`, :math:`DF_k` the documents
that contain it and N all documents, the weight of k is

============  ==========================================================================================
``tfidf``     :math:`TF_k \log(N / DF_k)`, section 6.1 of the thesis
``log``       :math:`(1 + \log TF_k) \log(N / DF_k)`
``bm25``      :math:`\frac{TF_k (k_1 + 1)}{TF_k + k_1 (1 - b + b\, \ell / \bar\ell)}
              \log\bigl(1 + \frac{N - DF_k + 1/2}{DF_k + 1/2}\bigr)`
``counts``    :math:`TF_k`
============  ==========================================================================================

and every row is then divided by its length, unless ``norm=None``.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import NON_NEGATIVE, SHARE, Constraints, Estimator, StrOptions

Scheme = Literal["tfidf", "log", "bm25", "counts"]


WEIGHTING_CONSTRAINTS: Constraints = {
    "scheme": [StrOptions(set(get_args(Scheme)))],
    "smooth": ["boolean"],
    "norm": [StrOptions({"l2"}), None],
    "k1": [NON_NEGATIVE],
    "b": [SHARE],
}


class TermWeighting(TransformerMixin, Estimator):
    r"""Counts of words to weights of words.

    Parameters
    ----------
    scheme : {'tfidf', 'log', 'bm25', 'counts'}
        See the table above.
    smooth : bool
        Use :math:`\log\frac{1 + N}{1 + DF_k} + 1` for ``tfidf`` and ``log``, as scikit-learn does by
        default; a word in all documents then counts.
    norm : {'l2', None}
        Whether rows get length one. A row without weights stays zero.
    k1, b : float
        The parameters of BM25: how soon more occurrences stop to matter, and how much long documents are
        held back.

    Attributes
    ----------
    idf_ : ndarray of shape (n_words,)
        The factor of every word; 0 for a word that no document contained.
    mean_length_ : float
        Mean number of words of a document that are in the vocabulary.
    n_features_in_ : int
        Number of words.

    Notes
    -----
    Memory: one copy of the matrix in float32.

    Examples
    --------
    >>> counts = sparse.csr_matrix([[2, 1, 0], [0, 1, 1]])
    >>> TermWeighting(norm=None).fit_transform(counts).toarray().round(3)
    array([[1.386, 0.   , 0.   ],
           [0.   , 0.   , 0.693]], dtype=float32)
    """

    _parameter_constraints: ClassVar[Constraints] = WEIGHTING_CONSTRAINTS

    def __init__(
        self,
        scheme: Scheme = "tfidf",
        *,
        smooth: bool = False,
        norm: Literal["l2"] | None = "l2",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.scheme = scheme
        self.smooth = smooth
        self.norm = norm
        self.k1 = k1
        self.b = b

    def fit(self, counts: Any, y: object = None) -> Self:
        """Learn document frequencies from a matrix of counts, documents by words."""
        counts = _check_counts(counts)
        df = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
        return self.fit_frequencies(df, counts.shape[0], float(counts.sum()))

    def fit_frequencies(self, df: NDArray[Any], n_documents: int, total: float) -> Self:
        """Learn from document frequencies that were counted elsewhere.

        Parameters
        ----------
        df : ndarray of shape (n_words,)
            Number of documents that contain each word.
        n_documents : int
            Number of documents.
        total : float
            Number of occurrences of all words of the vocabulary.
        """
        self._validate_params()
        self.n_features_in_ = len(df)
        self.idf_ = self._idf(np.asarray(df, dtype=np.float64), n_documents)
        self.mean_length_ = total / n_documents if n_documents else 0.0
        return self

    def transform(self, counts: Any) -> sparse.csr_matrix:
        """Weights in the place of counts, float32."""
        check_is_fitted(self)
        counts = _check_counts(counts)
        if counts.shape[1] != self.n_features_in_:
            raise ValueError(
                f"got counts of {counts.shape[1]} words; the weights were learned for {self.n_features_in_}"
            )
        data = self._tf(counts) * self.idf_[counts.indices].astype(np.float32)
        weights = sparse.csr_matrix((data, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
        if not data.all():
            weights.eliminate_zeros()
        return _normalised(weights) if self.norm == "l2" else weights

    def _idf(self, df: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        seen = np.maximum(df, 1)
        if self.scheme == "counts":
            idf = np.ones_like(df)
        elif self.scheme == "bm25":
            idf = np.log1p((n - seen + 0.5) / (seen + 0.5))
        elif self.smooth:
            idf = np.log((1 + n) / (1 + seen)) + 1
        else:
            idf = np.log(n / seen)
        return np.where(df > 0, idf, 0.0)

    def _tf(self, counts: sparse.csr_matrix) -> NDArray[np.float32]:
        tf: NDArray[np.float32] = counts.data.astype(np.float32)
        if self.scheme == "log":
            return np.float32(1) + np.log(np.maximum(tf, np.float32(1)))
        if self.scheme != "bm25":
            return tf
        lengths = _row_sums(counts.data, counts.indptr).astype(np.float32) / max(self.mean_length_, 1e-9)
        held_back = np.repeat(self.k1 * (1 - self.b + self.b * lengths), np.diff(counts.indptr))
        return np.asarray(tf * (self.k1 + 1) / (tf + held_back), dtype=np.float32)


def _check_counts(counts: Any) -> sparse.csr_matrix:
    if not sparse.issparse(counts):
        counts = np.atleast_2d(np.asarray(counts))
        if counts.dtype.kind not in "biuf":
            raise TypeError(f"got an array of {counts.dtype}; expected counts of words, documents by words")
    counts = counts if isinstance(counts, sparse.csr_matrix) else sparse.csr_matrix(counts)
    if counts.nnz and not (np.isfinite(counts.data).all() and counts.data.min() >= 0):
        raise ValueError("got counts that are negative or not finite; expected how often each word occurs")
    return counts


def _normalised(weights: sparse.csr_matrix) -> sparse.csr_matrix:
    weights.sum_duplicates()
    lengths = np.sqrt(_row_sums(weights.data * weights.data, weights.indptr).astype(np.float64))
    lengths[lengths == 0] = 1
    weights.data /= np.repeat(lengths, np.diff(weights.indptr)).astype(np.float32)
    return weights


def _row_sums(values: NDArray[Any], starts: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Sums of the values of each row, 0 for a row without any."""
    filled = np.flatnonzero(np.diff(starts))
    found = np.add.reduceat(values, starts[filled]) if len(filled) else values[:0]
    sums = np.zeros(len(starts) - 1, dtype=found.dtype)
    sums[filled] = found
    return sums
