"""The vector space of one language: from a text, or from counts of a corpus, to weighted words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.corpora import Corpus
from isogloss.text import Scheme, TermWeighting, Tokeniser, Vocabulary, count_words
from isogloss.views import Views

__all__ = ["LanguageSpace", "Weigher", "weighted_views"]

# Counts that are looked at together.
_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class LanguageSpace:
    """Turns raw text of a language into the vectors that a model was fitted on.

    Attributes
    ----------
    lang : str
        Code of the language.
    tokeniser : Tokeniser or None
        Finds words; None when the corpus did not say how its words were found, which leaves only counts.
    vocabulary : Vocabulary
        The words of the columns.
    weighting : TermWeighting
        Fitted weights of words.
    """

    lang: str
    tokeniser: Tokeniser | None
    vocabulary: Vocabulary
    weighting: TermWeighting

    @classmethod
    def learn(
        cls,
        corpus: Corpus,
        lang: str,
        *,
        scheme: Scheme = "bm25",
        norm: Literal["l2"] | None = "l2",
        min_df: int = 1,
        drop_top: int = 0,
        max_features: int | None = None,
    ) -> Self:
        """Choose words and weigh them by what a corpus has of a language.

        Parameters
        ----------
        corpus : Corpus
            Counts of words.
        lang : str
            One of its languages.
        scheme : {'bm25', 'log', 'tfidf', 'counts'}
            See :class:`~isogloss.text.TermWeighting`.
        norm : {'l2', None}
            Whether vectors have length one.
        min_df : int
            Fewest documents that have a word.
        drop_top : int
            Number of most frequent words that are left out.
        max_features : int, optional
            Most words to keep, the most frequent ones.
        """
        counts, words = corpus.matrix(lang), list(corpus.vocabulary(lang))
        df, totals = _frequencies(counts)
        kept = _columns_worth_keeping(df, min_df, drop_top, max_features)
        if not len(kept):
            raise ValueError(
                f"no word of {lang!r} is left: {counts.shape[0]} documents, {counts.shape[1]} words, "
                f"min_df={min_df}, drop_top={drop_top}; lower them, or give more documents"
            )
        settings = corpus.tokeniser(lang)
        tokeniser = None if settings is None else Tokeniser(**settings)
        weighting = TermWeighting(scheme, norm=norm).fit_frequencies(
            df[kept], counts.shape[0], totals[kept].sum()
        )
        return cls(lang, tokeniser, Vocabulary(tuple(words[column] for column in kept.tolist())), weighting)

    def of_texts(self, texts: Iterable[str], *, n_jobs: int | None = None) -> sparse.csr_matrix:
        """Vectors of raw texts, one row for each."""
        if self.tokeniser is None:
            raise ValueError(
                f"the model cannot read text in {self.lang!r}: the corpus it was fitted on does not say how "
                "words were found; build it with isogloss.text.Tokeniser, or project counts"
            )
        return self.weighting.transform(count_words(texts, self.tokeniser, self.vocabulary, n_jobs=n_jobs))

    def of_counts(self, counts: Any, words: Sequence[str]) -> sparse.csr_matrix:
        """Vectors of documents that were counted with other columns; words not known here are left out."""
        if counts.shape[1] != len(words):
            raise ValueError(f"counts of {counts.shape[1]} words with {len(words)} names; expected as many")
        return self.weigher(words)(counts)

    def weigher(self, words: Sequence[str]) -> Weigher:
        """Return the weighting that turns counts of these words into vectors."""
        return Weigher(self.vocabulary.columns(words), self.weighting)

    def of_corpus(self, corpus: Corpus) -> sparse.csr_matrix:
        """Vectors of the documents that a corpus has in this language."""
        return self.of_counts(corpus.matrix(self.lang), corpus.vocabulary(self.lang))


@dataclass(frozen=True, eq=False)
class Weigher:
    """Turns counts with the columns of a corpus into weighted vectors; small enough to send with a block."""

    columns: NDArray[np.int64]
    """Index of each word in the space; -1 for words that it lacks. Shape (words of the corpus,)."""
    weighting: TermWeighting
    """Fitted weights of words."""

    def __call__(self, counts: Any) -> sparse.csr_matrix:
        """Vectors, one row for each of the counts."""
        counts = sparse.csr_matrix(counts)
        column = self.columns.astype(counts.indices.dtype)[counts.indices]
        shape = (counts.shape[0], self.weighting.n_features_in_)
        known = column >= 0
        if known.all():
            chosen = sparse.csr_matrix((counts.data, column, counts.indptr), shape=shape)
        else:
            before = np.concatenate([[0], np.cumsum(known)])
            chosen = sparse.csr_matrix(
                (counts.data[known], column[known], before[counts.indptr]), shape=shape
            )
        return self.weighting.transform(chosen)


def weighted_views(corpus: Corpus, spaces: Mapping[str, LanguageSpace]) -> Views:
    """The weighted documents of a corpus, one view for each language."""
    return corpus.views(lambda counts, name: spaces[name].of_counts(counts, corpus.vocabulary(name)))


def _frequencies(counts: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Documents and occurrences of every word, read a block at a time: counts may be larger than memory."""
    df, totals = np.zeros(counts.shape[1], dtype=np.int64), np.zeros(counts.shape[1])
    for start in range(0, counts.nnz, _ENTRIES):
        columns, values = counts.indices[start : start + _ENTRIES], counts.data[start : start + _ENTRIES]
        df += np.bincount(columns[values > 0], minlength=counts.shape[1])
        totals += np.bincount(columns, weights=values, minlength=counts.shape[1])
    return df, totals


def _columns_worth_keeping(
    df: NDArray[np.int64], min_df: int, drop_top: int, max_features: int | None
) -> NDArray[np.int64]:
    """Columns by falling document frequency, equal ones in their order, without the ends."""
    order = np.argsort(-df, kind="stable")
    end = int(np.count_nonzero(df >= max(min_df, 1)))
    if max_features is not None:
        end = min(end, drop_top + max_features)
    return order[drop_top:end]
