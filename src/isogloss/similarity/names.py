"""Names, numbers and dates: what documents share across languages without anything having been learned.

A name is written nearly alike in most languages once its letters are Latin, so every word is transliterated
and cut into sequences of letters; a number is its digits however they are grouped, and 31.12.1999, 1999-12-31
and 12/31/1999 are one date. Features are hashed, so there is no vocabulary, and a new language needs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from anyascii import anyascii
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from isogloss.linalg import check_count
from isogloss.text.tokens import check_text

__all__ = ["NameChannel"]

_DATE = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,'\u00a0\u202f]\d+)*")
_WORD = re.compile(r"[a-z]+")


class NameChannel(BaseEstimator):
    """Sparse vectors of transliterated letters, numbers and dates; cosines compare any two languages.

    Parameters
    ----------
    ngrams : (int, int)
        Shortest and longest sequence of letters; words have a blank at either end.
    number_weight : float
        How much more a number or date counts than a sequence of letters.
    n_features : int
        Columns that features are hashed to, a power of two.

    Attributes
    ----------
    idf_ : array (n_features,)
        After :meth:`fit`: the weight of each column, the logarithm of how rare it is.

    Notes
    -----
    It works unfitted, with all sequences counting alike. Fitted on texts of any languages, mates or not, it
    knows which sequences are endings of common words, and finds more.

    Examples
    --------
    >>> en, ru, el = "Angela Merkel, 31.12.1999", "Ангела Меркель, 1999-12-31", "Η Σελήνη"
    >>> vectors = NameChannel().transform([en, ru, el])
    >>> (vectors @ vectors.T).toarray()[0].round(2)
    array([1., 1., 0.])
    """

    idf_: NDArray[np.float64]

    def __init__(
        self, ngrams: tuple[int, int] = (3, 5), *, number_weight: float = 3.0, n_features: int = 1 << 18
    ) -> None:
        self.ngrams = ngrams
        self.number_weight = number_weight
        self.n_features = n_features

    def fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Learn how rare features are, from texts of the kind that will be compared."""
        counts = self._counts(texts)
        df = np.bincount(counts.indices, minlength=self.n_features)
        self.idf_ = np.log((1 + counts.shape[0]) / (1 + df)) + 1e-3
        return self

    def transform(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """Vectors of length one, a row for each text; of length zero without any letter or digit."""
        counts = self._counts(texts)
        counts.data = 1 + np.log(counts.data)
        if hasattr(self, "idf_"):
            counts.data *= self.idf_[counts.indices]
        return normalize(counts, copy=False) if counts.shape[0] else counts

    def project(self, texts: Iterable[str], lang: str) -> sparse.csr_matrix:
        """As other models project texts; the language is not looked at."""
        return self.transform(texts)

    def _counts(self, texts: Iterable[str]) -> Any:
        check_count(self.ngrams[0], "ngrams[0]", 1, self.ngrams[1], "letters of the shortest sequence")
        hashing = HashingVectorizer(
            analyzer=self._features, n_features=self.n_features, norm=None, alternate_sign=False
        )
        checked = list(_checked(texts))
        if not checked:
            return sparse.csr_matrix((0, self.n_features))
        return sparse.csr_matrix(hashing.transform(checked))

    def _features(self, text: str) -> Iterator[str]:
        plain = anyascii(text).lower()
        repeats = max(1, round(self.number_weight))
        for date in _DATE.finditer(plain):
            yield from [f"date {_one_order(date)}"] * repeats
        plain = _DATE.sub(" ", plain)
        for number in _NUMBER.findall(plain):
            yield from [f"number {re.sub(r'[^0-9]', '', number).lstrip('0')}"] * repeats
        shortest, longest = self.ngrams
        for word in _WORD.findall(plain):
            padded = f" {word} "
            for n in range(shortest, longest + 1):
                yield from (padded[i : i + n] for i in range(max(1, len(padded) - n + 1)))


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        check_text(text)
        yield text


def _one_order(date: re.Match[str]) -> str:
    """Year, then the smaller and the larger of the other two, which no order of writing changes."""
    first, second, third = date[1], date[3], date[4]
    year, rest = (first, (second, third)) if len(first) > 2 else (third, (first, second))
    small, large = sorted(int(part) for part in rest)
    return f"{year[-2:]} {small} {large}"
