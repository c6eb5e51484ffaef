"""Texts of one language to sparse vectors: words, vocabulary and weights in one estimator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import N_JOBS, NON_NEGATIVE_INT, POSITIVE_INT, POSITIVE_SHARE, Constraints, Estimator
from isogloss.text._counting import count_frequencies, count_words
from isogloss.text._frequencies import DocumentFrequencies
from isogloss.text._tokens import Tokeniser
from isogloss.text._vocabulary import Vocabulary
from isogloss.text._weighting import WEIGHTING_CONSTRAINTS, Scheme, TermWeighting


class TextVectoriser(TransformerMixin, Estimator):
    r"""The vector space model of section 6.1 of the thesis, for texts of one language.

    A text d becomes :math:`\phi(d)_k = TF_k(d) \log(N / DF_k)`, divided by its length; other weights are in
    :class:`TermWeighting`.

    Parameters
    ----------
    lang : str
        The language's ISO 639 code.
    tokeniser : Tokeniser, optional
        How words are found; ``Tokeniser(lang)`` by default.
    scheme, smooth, norm, k1, b
        The weights, see :class:`TermWeighting`.
    min_df, drop_top, coverage, max_features
        Which words get a column, see :meth:`Vocabulary.from_frequencies`. Section 8.3.2 has ``min_df=50``
        and ``drop_top=100``.
    n_jobs : int, optional
        Processes that look for words; None is this one only, -1 one per core. They take a second to
        start, once, and are asked only if there are more than four million characters.

    Attributes
    ----------
    tokeniser_ : Tokeniser
        The tokeniser in use.
    frequencies_ : DocumentFrequencies
        Of all words seen, those without a column too, so that :meth:`partial_fit` can go on.
    vocabulary_ : Vocabulary
        The words of the columns.
    weighting_ : TermWeighting
        The weights, fitted.

    Notes
    -----
    ``fit`` reads texts once and keeps the count of every different word; ``transform`` reads them once, a
    few megabytes ahead. With ``smooth=True`` vectors are those of
    scikit-learn's ``TfidfVectorizer`` for the same words.

    Examples
    --------
    >>> texts = ["the ship at sea", "the sea", "the shore"]
    >>> vectoriser = TextVectoriser("en").fit(texts)
    >>> vectoriser.get_feature_names_out()
    array(['the', 'sea', 'at', 'ship', 'shore'], dtype=object)
    >>> vectoriser.transform(["Sea, sea and shore"]).toarray().round(2)
    array([[0.  , 0.59, 0.  , 0.  , 0.8 ]], dtype=float32)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "lang": [str],
        "tokeniser": [Tokeniser, None],
        "min_df": [POSITIVE_INT],
        "drop_top": [NON_NEGATIVE_INT],
        "coverage": [POSITIVE_SHARE],
        "max_features": [POSITIVE_INT, None],
        "n_jobs": N_JOBS,
        **WEIGHTING_CONSTRAINTS,
    }

    def __init__(
        self,
        lang: str = "en",
        *,
        tokeniser: Tokeniser | None = None,
        scheme: Scheme = "tfidf",
        smooth: bool = False,
        norm: Literal["l2"] | None = "l2",
        k1: float = 1.2,
        b: float = 0.75,
        min_df: int = 1,
        drop_top: int = 0,
        coverage: float = 1.0,
        max_features: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.lang = lang
        self.tokeniser = tokeniser
        self.scheme = scheme
        self.smooth = smooth
        self.norm = norm
        self.k1 = k1
        self.b = b
        self.min_df = min_df
        self.drop_top = drop_top
        self.coverage = coverage
        self.max_features = max_features
        self.n_jobs = n_jobs

    def fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Learn the vocabulary and the weights."""
        self._validate_params()
        self.tokeniser_ = Tokeniser(self.lang) if self.tokeniser is None else self.tokeniser
        self.frequencies_ = count_frequencies(texts, self.tokeniser_, n_jobs=self.n_jobs)
        return self._solve()

    def partial_fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Learn from more texts; columns may change, because they are chosen anew from all texts seen.

        Batches of thousands of texts are best: each call sorts all words.
        """
        if not hasattr(self, "frequencies_"):
            return self.fit(texts)
        return self.learn(count_frequencies(texts, self.tokeniser_, n_jobs=self.n_jobs))

    def learn(self, frequencies: DocumentFrequencies) -> Self:
        """Add what was counted elsewhere: another shard, or the words of another archive."""
        if not hasattr(self, "frequencies_"):
            return self.fit([]).learn(frequencies)
        self.frequencies_.merge(frequencies)
        return self._solve()

    def transform(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """The vectors of texts: a CSR matrix of float32, a row per text."""
        check_is_fitted(self)
        counts = count_words(texts, self.tokeniser_, self.vocabulary_, n_jobs=self.n_jobs)
        return self.weighting_.transform(counts)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """The words of the columns."""
        check_is_fitted(self)
        return np.array(self.vocabulary_.words, dtype=object)

    def _solve(self) -> Self:
        seen = self.frequencies_
        self.vocabulary_ = Vocabulary.from_frequencies(
            seen,
            min_df=self.min_df,
            drop_top=self.drop_top,
            coverage=self.coverage,
            max_features=self.max_features,
        )
        words = self.vocabulary_.words
        total = sum(seen.occurrences[word] for word in words)
        weighting = TermWeighting(self.scheme, smooth=self.smooth, norm=self.norm, k1=self.k1, b=self.b)
        self.weighting_ = weighting.fit_frequencies(seen.of(words), seen.n_documents, total)
        return self
