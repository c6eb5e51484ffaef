"""One question to several indexes at once.

Each index could be asked for itself. Where many threads share an interpreter, every call that lets others go
on may have to wait for its turn again; one call for all of them waits once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss import kernels
from isogloss.linalg import check_count
from isogloss.similarity.index._collection import check_vectors
from isogloss.similarity.index._index import Index


class NearRows(NamedTuple):
    """The documents of an index that are nearest, the nearest first: scores, ids and vectors."""

    scores: NDArray[np.float64]
    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]


def search_each(
    indexes: Sequence[Index],
    query: ArrayLike,
    k: int = 10,
    *,
    since: float | None = None,
    until: float | None = None,
) -> list[NearRows]:
    """The ``k`` documents of each index that are nearest to one vector, as its ``search`` finds them.

    Parameters
    ----------
    indexes : sequence of Index
        Of one number of dimensions, with vectors stored as float32.
    query : array of shape (dims,)
        The vector.
    k : int
        How many of each index, or as many as there are.
    since, until : float, optional
        Only documents from this time on, and from before that time; those without time are left out.

    Examples
    --------
    >>> pair = [Index(2).add([7, 3], [[1, 0], [0, 1]]), Index(2).add([5], [[1, 0]])]
    >>> [found.ids.tolist() for found in search_each(pair, [2, 1], k=2)]
    [[7, 3], [5]]
    """
    if not indexes:
        return []
    k = check_count(k, "k", 1, 2**31 - 1, "documents of each index")
    for index in indexes:
        if index.storage != "float32" or index.dims != indexes[0].dims:
            raise ValueError(
                f"{index!r} is asked together with {indexes[0]!r}; expected one number of dimensions, and "
                "float32: ask it for itself"
            )
    (vector,) = np.ascontiguousarray(check_vectors(np.asarray(query)[None], indexes[0].dims))
    room = min(k, max(sum(segment.n for segment in index.segments) for index in indexes)) or 1
    scores = np.empty((len(indexes), room))
    ids = np.full((len(indexes), room), -1)
    vectors = np.empty((len(indexes) * room, len(vector)), np.float32)
    lists = [
        [(segment.vectors, segment.ids, segment.live, segment.times) for segment in index.segments]
        for index in indexes
    ]
    kernels.nearest_of_each(vector, lists, _or_none(since), _or_none(until), scores, ids, vectors)
    return [
        NearRows(scores[n, :there], ids[n, :there], vectors[n * room : n * room + there])
        for n, there in enumerate((ids >= 0).sum(axis=1).tolist())
    ]


def _or_none(bound: float | None) -> float:
    """A bound as the compiled loop takes it."""
    return math.nan if bound is None else float(bound)
