"""The words that make up the columns of a matrix, in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from isogloss.text._frequencies import DocumentFrequencies


@dataclass(frozen=True)
class Vocabulary:
    """Words and their columns.

    Parameters
    ----------
    words : tuple of str
        The word of every column; no word twice.

    Examples
    --------
    >>> words = Vocabulary(("sea", "ship"))
    >>> len(words), words.index["ship"], "shore" in words
    (2, 1, False)
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that columns are words, each of them once."""
        if isinstance(self.words, str):
            raise TypeError(f"got the text {self.words[:20]!r}; expected a tuple of words")
        object.__setattr__(self, "words", tuple(self.words))
        if len(self.index) != len(self.words):
            twice = next(word for n, word in enumerate(self.words) if self.index[word] != n)
            raise ValueError(f"the word {twice!r:.40} occurs twice in the vocabulary; expected it once")

    @cached_property
    def index(self) -> dict[str, int]:
        """The column of each word."""
        return {word: column for column, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    @classmethod
    def from_frequencies(
        cls,
        frequencies: DocumentFrequencies,
        *,
        min_df: int = 1,
        drop_top: int = 0,
        coverage: float = 1.0,
        max_features: int | None = None,
    ) -> Self:
        """The words worth a column, the most frequent first, equal ones in order of their letters.

        Words are put in that order; then the first ``drop_top`` go, the tail that begins where
        ``coverage`` of the sum of all document frequencies is reached, the words in fewer than ``min_df``
        documents, and what is left over after ``max_features``. The order depends on the counts only,
        never on that of the documents.

        Parameters
        ----------
        frequencies : DocumentFrequencies
            What was counted.
        min_df : int
            Fewest documents that contain a word (50 in section 8.3.2 of the thesis).
        drop_top : int
            Number of most frequent words to leave out (100 there).
        coverage : float
            Share of all document frequencies that the words up to the last one have (its authors' 0.975).
        max_features : int, optional
            Most words to keep.

        Examples
        --------
        >>> seen = DocumentFrequencies()
        >>> for text in ("the sea", "the ship", "the sea ship", "the shore"):
        ...     _ = seen.update(text.split())
        >>> Vocabulary.from_frequencies(seen, drop_top=1).words
        ('sea', 'ship', 'shore')
        >>> Vocabulary.from_frequencies(seen, min_df=2).words
        ('the', 'sea', 'ship')
        """
        _check_limits(min_df, drop_top, coverage, max_features)
        ranked = sorted(frequencies.documents.items(), key=lambda item: (-item[1], item[0]))
        df = np.array([n for _, n in ranked], dtype=np.int64)
        end = min(_covering(df, coverage), int(np.count_nonzero(df >= min_df)))
        if max_features is not None:
            end = min(end, drop_top + max_features)
        return cls(tuple(str(word) for word, _ in ranked[drop_top:end]))

    def columns(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The columns of words, -1 for those that have none."""
        return np.array([self.index.get(word, -1) for word in words], dtype=np.int64)


def _covering(df: NDArray[np.int64], coverage: float) -> int:
    """Return the number of the most frequent words that reach a share of the sum."""
    if coverage == 1.0 or not len(df):
        return len(df)
    reached = np.cumsum(df)
    return int(np.searchsorted(reached, coverage * reached[-1])) + 1


def _check_limits(min_df: int, drop_top: int, coverage: float, max_features: int | None) -> None:
    if not isinstance(min_df, (int, np.integer)) or min_df < 1:
        raise ValueError(f"got min_df={min_df!r:.40}; expected a number of documents from 1 on")
    if not isinstance(drop_top, (int, np.integer)) or drop_top < 0:
        raise ValueError(f"got drop_top={drop_top!r:.40}; expected a number of words from 0 on")
    if not 0.0 < coverage <= 1.0:
        raise ValueError(f"got coverage={coverage!r:.40}; expected a share above 0 and up to 1")
    if max_features is not None and (not isinstance(max_features, (int, np.integer)) or max_features < 1):
        raise ValueError(f"got max_features={max_features!r:.40}; expected None or a number from 1 on")
