"""Counts of words in many texts, on one core or on all."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed

from isogloss.text._frequencies import DocumentFrequencies
from isogloss.text._tokens import Tokeniser, check_text
from isogloss.text._vocabulary import Vocabulary
from isogloss.threads import count_threads

R = TypeVar("R")

_CHUNK_LETTERS = 1 << 22
"""Letters that one task works on: so many that the sending of a vocabulary adds little."""


def count_words(
    texts: Iterable[str], tokeniser: Tokeniser, vocabulary: Vocabulary, *, n_jobs: int | None = None
) -> sparse.csr_matrix:
    """Return the count of each vocabulary word in each text.

    Parameters
    ----------
    texts : iterable of str
        One text per row; read once, a few megabytes ahead.
    tokeniser : Tokeniser
        Finds the words.
    vocabulary : Vocabulary
        The columns; other words are not counted.
    n_jobs : int, optional
        Processes; None is this one only, -1 one per core.

    Returns
    -------
    csr_matrix of int32
        Texts by words, column indices in order.

    Examples
    --------
    >>> count_words(["a rose is a rose", "war"], Tokeniser("en"), Vocabulary(("rose", "war"))).toarray()
    array([[2, 0],
           [0, 1]], dtype=int32)
    """
    parts = list(_map_chunks(_count_chunk, texts, (tokeniser, vocabulary), n_jobs))
    if len(parts) == 1:
        return parts[0]
    nothing = sparse.csr_matrix((0, len(vocabulary)), dtype=np.int32)
    return sparse.vstack([nothing, *parts], format="csr")


def count_frequencies(
    texts: Iterable[str], tokeniser: Tokeniser, *, n_jobs: int | None = None
) -> DocumentFrequencies:
    """In how many texts each word occurs.

    Examples
    --------
    >>> count_frequencies(["a rose is a rose", "war"], Tokeniser("en"))
    DocumentFrequencies(4 words, 2 documents)
    """
    seen = DocumentFrequencies()
    for part in _map_chunks(_frequencies_of_chunk, texts, (tokeniser,), n_jobs):
        seen.merge(part)
    return seen


def _count_chunk(texts: list[str], tokeniser: Tokeniser, vocabulary: Vocabulary) -> sparse.csr_matrix:
    index, starts = vocabulary.index, [0]
    found = array("i")
    for text in texts:
        for words in tokeniser.blocks(text):
            found.extend(map(index.__getitem__, filter(index.__contains__, words)))
        starts.append(len(found))
    columns, ones = np.array(found, dtype=np.int32), np.ones(len(found), dtype=np.int32)
    counts = sparse.csr_matrix((ones, columns, starts), shape=(len(texts), len(vocabulary)))
    counts.sum_duplicates()
    return counts


def _frequencies_of_chunk(texts: list[str], tokeniser: Tokeniser) -> DocumentFrequencies:
    return DocumentFrequencies().update_many(_bag(text, tokeniser) for text in texts)


def _bag(text: str, tokeniser: Tokeniser) -> list[str]:
    """The words of a text in any order; of a long one, equal words are one object."""
    blocks = tokeniser.blocks(text)
    words = next(blocks)
    counts = Counter(chain.from_iterable(blocks))
    return [*words, *counts.elements()]


def _map_chunks(
    task: Callable[..., R], texts: Iterable[str], more: tuple[object, ...], n_jobs: int | None
) -> Iterator[R]:
    """Map a task over chunks in order; a single chunk is processed without a pool."""
    jobs, chunks = count_threads(n_jobs), _chunks(texts)
    first = list(islice(chunks, 2))
    chunks = chain(first, chunks)
    if jobs == 1 or len(first) < 2:
        return (task(chunk, *more) for chunk in chunks)
    pool = Parallel(n_jobs=jobs, return_as="generator")
    return cast("Iterator[R]", pool(delayed(task)(chunk, *more) for chunk in chunks))


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"got one text ({texts[:20]!r}...); expected several: put it into a list")
    chunk: list[str] = []
    letters = 0
    for row, text in enumerate(texts):
        try:
            check_text(text)
        except TypeError as error:
            raise TypeError(f"text {row}: {error}") from None
        chunk.append(text)
        letters += len(text) + 1
        if letters >= _CHUNK_LETTERS:
            yield chunk
            chunk, letters = [], 0
    if chunk:
        yield chunk
