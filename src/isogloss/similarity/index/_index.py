r"""Nearest documents by inner product, exactly, in a collection that documents enter and leave.

Vectors lie in segments of some thousand rows. New ones go to the last segment; when it is full it is closed
and the next one begins. Documents that leave are marked, a segment without any is dropped, and one that has
lost half of them is copied without the rest. Adding and expiring therefore cost as much as the documents they
concern, whatever the size of the collection.

A search multiplies blocks in float32 and settles close calls in float64, as :func:`isogloss.linalg.top_k`, so
the answer is that of the definition: the highest inner products, equal ones in the order of the ids. With
``storage="int8"`` closed segments are looked through as bytes first and the best few scored again, which is
faster, needs less memory than float32, and may miss an answer now and then
(:class:`isogloss.linalg.PiecewiseSearch`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from isogloss.linalg import PiecewiseSearch, TopK, check_count
from isogloss.similarity.index._collection import Collection, SearchFilters, ordered
from isogloss.similarity.index._segment import Ids, Mask, Rows, Segment, Storage
from isogloss.threads import count_threads, map_threads

SEGMENT = 8192
# Queries that are searched for together.
_BLOCK_QUERIES = 512


class Index(Collection):
    """Vectors with ids and times, and the nearest of them to any query.

    Parameters
    ----------
    dims : int
        Dimensions of the vectors. Give unit vectors for cosines.
    storage : {'float32', 'float16', 'int8'}
        Bytes per component: four; two, scores being those of the rounded vectors; or three, of which one
        is looked at first.
    segment : int
        Rows of a segment.
    n_jobs : int or None
        Threads of a search; ``None`` is one, ``-1`` one per core.

    Examples
    --------
    >>> index = Index(2).add([7, 3, 5], [[1, 0], [0, 1], [1, 0]], times=[10, 20, 30])
    >>> index.search([[2, 1]], k=2)
    TopK(scores=array([[2., 2.]]), indices=array([[5, 7]]))
    >>> index.search([[2, 1]], k=2, since=20).indices
    array([[5, 3]])
    >>> index.expire(before=20), len(index), 7 in index
    (1, 2, False)
    """

    storage: Storage

    def __init__(
        self, dims: int, *, storage: Storage = "float32", segment: int = SEGMENT, n_jobs: int | None = None
    ) -> None:
        if storage not in get_args(Storage):
            raise ValueError(f"storage={storage!r}; expected one of {', '.join(get_args(Storage))}")
        self.dims = check_count(dims, "dims", 1, 2**20, "dimensions of the vectors")
        self.segment = check_count(segment, "segment", 1, 2**24, "rows of a segment")
        self.storage, self.n_jobs = storage, n_jobs
        self._closed: list[Segment] = []
        self._open = Segment(self.dims, self.storage)

    def _remove(self, ids: Ids) -> int:
        removed = 0
        for segment in self.segments:
            rows = segment.place(ids)
            removed += segment.remove(rows[rows >= 0])
        self._tidy()
        return removed

    def _expire(self, before: float) -> int:
        removed = sum(segment.remove(segment.times < before) for segment in self.segments)
        self._tidy()
        return removed

    def _find(self, queries: NDArray[np.float32], k: int, filters: SearchFilters) -> TopK:
        wanted = [filters.pass_rows(segment) for segment in self.segments]
        # Numbered in the order of segments; within one, rows are in the order of ids.
        firsts = np.cumsum([0, *(segment.n for segment in self.segments)])
        work = partial(self._search, k, wanted, firsts)
        blocks = [queries[i : i + _BLOCK_QUERIES] for i in range(0, len(queries), _BLOCK_QUERIES)]
        parts = map_threads(work, blocks, count_threads(self.n_jobs))
        return TopK(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _search(self, k: int, wanted: Sequence[Mask], firsts: Ids, x: NDArray[np.float32]) -> TopK:
        """Answers to some queries."""
        places = 2 * k + 8 if self.storage == "int8" else k + 3 + k // 8
        search = PiecewiseSearch(x, k, places)
        for segment, rows, first in zip(self.segments, wanted, firsts[:-1].tolist(), strict=True):
            if (rows & segment.live).any():
                segment.offer(search, rows, first)
        (scores, numbers), doubtful = search.settle(partial(self._gather, firsts))
        best = ordered(scores, self._ids(numbers), k)
        again = np.flatnonzero(doubtful) if self.storage != "int8" else np.empty(0, np.int64)
        if len(again):
            parts = [
                segment.exact(x[again], k, rows)
                for segment, rows in zip(self.segments, wanted, strict=True)
                if segment.n
            ]
            scores, ids = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
            best.scores[again], best.indices[again] = ordered(scores, ids, k)
        return best

    def _gather(self, firsts: Ids, numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """Vectors by their numbers, which ascend."""
        cuts = np.searchsorted(numbers, firsts)
        pieces = [
            segment.vectors[numbers[a:b] - first].astype(np.float32)
            for segment, first, (a, b) in zip(
                self.segments, firsts[:-1], itertools.pairwise(cuts.tolist()), strict=True
            )
        ]
        return np.concatenate(pieces)

    def _ids(self, numbers: Ids) -> Ids:
        """Ids by numbers; -1 stays."""
        everything = np.concatenate([segment.ids for segment in self.segments])
        return np.where(numbers < 0, -1, everything[numbers]) if len(everything) else numbers

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""
        return np.sort(np.concatenate([segment.ids[segment.live] for segment in self.segments]))

    @property
    def nbytes(self) -> int:
        """Memory of the vectors and what is kept with them."""
        return sum(segment.nbytes for segment in self.segments)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        parts = [segment.remaining() for segment in self.segments]
        ids, vectors, times = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        settings = np.array([self.dims, self.segment, get_args(Storage).index(self.storage)], dtype=np.int64)
        return {"settings": settings, "ids": ids, "vectors": vectors, "times": times}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The index that gave these arrays."""
        dims, segment, storage = arrays["settings"].tolist()
        out = cls(dims, segment=segment, storage=get_args(Storage)[storage])
        return out.add(arrays["ids"], arrays["vectors"], arrays["times"])

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments that hold the vectors, the open one last."""
        return [*self._closed, self._open]

    def _append(self, rows: Rows) -> None:
        """Fill the open segment, and as many after it as it takes."""
        start, n = 0, len(rows[0])
        while start < n:
            stop = min(n, start + self.segment - self._open.n)
            self._open.append((rows[0][start:stop], rows[1][start:stop], rows[2][start:stop]))
            start = stop
            if self._open.n == self.segment:
                self._open.close()
                self._closed.append(self._open)
                self._open = Segment(self.dims, self.storage)

    def _among(self, ids: Ids) -> Mask:
        found = [segment.place(ids) >= 0 for segment in self.segments]
        return np.asarray(np.any(found, axis=0))

    def _vectors_of(self, ids: Ids) -> NDArray[np.float32]:
        out = np.empty((len(ids), self.dims), np.float32)
        for segment in self.segments:
            rows = segment.place(ids)
            here = rows >= 0
            out[here] = segment.vectors[rows[here]]
        return out

    def _tidy(self) -> None:
        """Drop closed segments without documents and shrink those that have lost half of them."""
        kept = [segment for segment in self._closed if len(segment)]
        self._closed = [self._shrunk(one) if 2 * len(one) <= one.n else one for one in kept]

    def _shrunk(self, segment: Segment) -> Segment:
        out = Segment(self.dims, self.storage)
        out.append(segment.remaining())
        out.close()
        return out
