"""Count words document by document into the rows of a sparse matrix."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix


class CountedRows(NamedTuple):
    """Counts in compressed rows: the words of row i are ``indices[indptr[i] : indptr[i + 1]]``."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]


class WordCounter:
    """Numbers words in the order of their first occurrence, and counts them in each document.

    The given words are numbered first, in order.

    Examples
    --------
    >>> counter = WordCounter()
    >>> counter.add({"a": 2, "b": 1})
    >>> counter.add({"b": 3})
    >>> rows = counter.take()
    >>> rows.indices.tolist(), rows.data.tolist(), rows.indptr.tolist(), counter.words
    ([0, 1, 1], [2.0, 1.0, 3.0], [0, 2, 3], ['a', 'b'])
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._numbers = {word: number for number, word in enumerate(words)}
        self._clear()

    def _clear(self) -> None:
        self._indices, self._data, self._ends = array("i"), array("f"), array("q", [0])

    @property
    def words(self) -> list[str]:
        """Return the words in the order of their numbers."""
        return list(self._numbers)

    def add(self, counts: Mapping[str, int]) -> None:
        """Add a document, given as counts of its words."""
        numbers = self._numbers
        self._indices.extend([numbers.setdefault(word, len(numbers)) for word in counts])
        self._data.extend(counts.values())
        self._ends.append(len(self._indices))

    def take(self) -> CountedRows:
        """Return the documents added since the last call."""
        rows = CountedRows(
            np.array(self._ends, dtype=np.int64),
            np.array(self._indices, dtype=np.int32),
            np.array(self._data, dtype=np.float32),
        )
        self._clear()
        return rows


def in_order(tokens: Iterable[Iterable[str]]) -> tuple[Any, list[str]]:
    """Return the counts of tokenised documents as a CSR matrix whose columns are the sorted words.

    Examples
    --------
    >>> counts, words = in_order([["b", "a", "b"], ["c"]])
    >>> words, counts.toarray().tolist()
    (['a', 'b', 'c'], [[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    """
    counter = WordCounter()
    for document in tokens:
        counter.add(Counter(document))
    rows, words = counter.take(), counter.words
    order = sorted(range(len(words)), key=words.__getitem__)
    rank = np.empty(len(words), dtype=np.int32)
    rank[order] = np.arange(len(words), dtype=np.int32)
    counts = csr_matrix(
        (rows.data, rank[rows.indices], rows.indptr), shape=(len(rows.indptr) - 1, len(words))
    )
    counts.sort_indices()
    return counts, [words[number] for number in order]
