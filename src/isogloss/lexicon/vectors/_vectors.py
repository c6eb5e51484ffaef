"""The words of one language and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


class WordVectors:
    """Words, most frequent first, and one vector for each.

    Parameters
    ----------
    words : sequence of str
        Distinct words. Files of word vectors list them by falling frequency, and the order is taken to
        mean that (in :func:`~isogloss.lexicon.evaluate_space`'s frequency bands, and wherever only the first
        few are used).
    matrix : array (words, dimensions)
        Their vectors; kept as float32.
    language : str
        A name for the language, such as ``"en"``.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog"], [[1.0, 0.0], [0.8, 0.6]], "en")
    >>> vectors
    WordVectors('en': 2 words, 2 dimensions)
    >>> vectors["dog"]
    array([0.8, 0.6], dtype=float32)
    >>> "fish" in vectors
    False
    """

    def __init__(self, words: Sequence[str], matrix: Any, language: str = "") -> None:
        self.words = tuple(words)
        self.matrix: NDArray[np.float32] = np.asarray(matrix, dtype=np.float32)
        self.language = language
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise ValueError(
                f"{len(self.words)} words and a matrix of shape {self.matrix.shape}; expected a row per word"
            )
        if len(self.index) != len(self.words):
            repeated = next(word for row, word in enumerate(self.words) if self.index[word] != row)
            raise ValueError(f"the word {repeated!r} occurs more than once; every word has one vector")
        if not np.isfinite(self.matrix).all():
            raise ValueError("the matrix holds NaN or infinite values; leave those words out")

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        if word not in self.index:
            raise KeyError(f"{word!r} is not among the {len(self)} words of {self.language!r}")
        return np.asarray(self.matrix[self.index[word]])

    def __repr__(self) -> str:
        return f"WordVectors({self.language!r}: {len(self)} words, {self.dim} dimensions)"

    def rows(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Row of each word, -1 for words that have no vector."""
        return np.fromiter((self.index.get(word, -1) for word in words), dtype=np.int64)

    def first(self, n: int) -> WordVectors:
        """The ``n`` most frequent words; the matrix is not copied."""
        return WordVectors(self.words[:n], self.matrix[:n], self.language)
