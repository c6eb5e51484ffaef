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
from typing import Any, Protocol, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from isogloss.linalg import PiecewiseSearch, TopK, check_count, count_threads, map_threads
from isogloss.similarity.segment import Ids, Mask, Rows, Segment, Storage

__all__ = ["Index", "check_queries", "check_rows", "ordered", "refuse_known", "wanted_rows"]

SEGMENT = 8192
# Queries that are searched for together.
_TOGETHER = 512


class Index:
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

    def add(self, ids: ArrayLike, vectors: ArrayLike, times: ArrayLike | None = None) -> Self:
        """Add vectors under new ids; one bad vector and nothing is added.

        Parameters
        ----------
        ids : integers
            Distinct, from 0 on, and not in the index. Ascending ones are the cheapest to add.
        vectors : array of shape (n, dims)
            One row for each.
        times : numbers, optional
            When each of them is from, in any unit; what has no time never expires.
        """
        rows = check_rows(ids, vectors, times, self.dims)
        refuse_known(rows[0], self._among(rows[0]))
        self._append(rows)
        return self

    def remove(self, ids: ArrayLike) -> int:
        """Forget documents; how many of them were there."""
        wanted, removed = np.asarray(ids, dtype=np.int64).ravel(), 0
        for segment in self._segments:
            rows = segment.place(wanted)
            removed += segment.remove(rows[rows >= 0])
        self._tidy()
        return removed

    def expire(self, before: float) -> int:
        """Forget documents from before a time; how many there were."""
        removed = sum(segment.remove(segment.times < before) for segment in self._segments)
        self._tidy()
        return removed

    def search(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        since: float | None = None,
        until: float | None = None,
        among: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
    ) -> TopK:
        """The ``k`` documents nearest to each query.

        Parameters
        ----------
        queries : array of shape (n_queries, dims)
            Vectors as rows.
        k : int
            How many for each.
        since, until : float, optional
            Only documents from this time on, and from before that time; those without time are left out.
        among, exclude : integers, optional
            Only documents of these ids, and none of those.

        Returns
        -------
        TopK
            ``scores`` and ids in ``indices``; id -1 and score minus infinity where there are fewer than
            ``k`` documents.
        """
        x, k = check_queries(queries, k, self.dims)
        wanted = [wanted_rows(segment, since, until, among, exclude) for segment in self._segments]
        # Numbered in the order of segments; within one, rows are in the order of ids.
        firsts = np.cumsum([0, *(segment.n for segment in self._segments)])
        work = partial(self._search, k, wanted, firsts)
        parts = map_threads(
            work, [x[i : i + _TOGETHER] for i in range(0, len(x), _TOGETHER)], count_threads(self.n_jobs)
        )
        return TopK(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _search(self, k: int, wanted: Sequence[Mask], firsts: Ids, x: NDArray[np.float32]) -> TopK:
        """Answers to some queries."""
        places = 2 * k + 8 if self.storage == "int8" else k + 3 + k // 8
        search = PiecewiseSearch(x, k, places)
        for segment, rows, first in zip(self._segments, wanted, firsts[:-1].tolist(), strict=True):
            if (rows & segment.live).any():
                segment.offer(search, rows, first)
        (scores, numbers), doubtful = search.settle(partial(self._gather, firsts))
        best = ordered(scores, self._ids(numbers), k)
        again = np.flatnonzero(doubtful) if self.storage != "int8" else np.empty(0, np.int64)
        if len(again):
            parts = [
                segment.exact(x[again], k, rows)
                for segment, rows in zip(self._segments, wanted, strict=True)
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
                self._segments, firsts[:-1], itertools.pairwise(cuts.tolist()), strict=True
            )
        ]
        return np.concatenate(pieces)

    def _ids(self, numbers: Ids) -> Ids:
        """Ids by numbers; -1 stays."""
        everything = np.concatenate([segment.ids for segment in self._segments])
        return np.where(numbers < 0, -1, everything[numbers]) if len(everything) else numbers

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    def __contains__(self, one: int) -> bool:
        return bool(self._among(np.array([one], dtype=np.int64))[0])

    def __repr__(self) -> str:
        return f"Index({len(self)} vectors of {self.dims} dimensions as {self.storage})"

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""
        return np.sort(np.concatenate([segment.ids[segment.live] for segment in self._segments]))

    @property
    def nbytes(self) -> int:
        """Memory of the vectors and what is kept with them."""
        return sum(segment.nbytes for segment in self._segments)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        parts = [segment.remaining() for segment in self._segments]
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
    def _segments(self) -> Sequence[Segment]:
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

    def _among(self, ids: Ids) -> NDArray[np.bool_]:
        found = [segment.place(ids) >= 0 for segment in self._segments]
        return np.asarray(np.any(found, axis=0))

    def _tidy(self) -> None:
        """Drop closed segments without documents and shrink those that have lost half of them."""
        kept = [segment for segment in self._closed if len(segment)]
        self._closed = [self._shrunk(one) if 2 * len(one) <= one.n else one for one in kept]

    def _shrunk(self, segment: Segment) -> Segment:
        out = Segment(self.dims, self.storage)
        out.append(segment.remaining())
        out.close()
        return out


def check_rows(ids: ArrayLike, vectors: ArrayLike, times: ArrayLike | None, dims: int) -> Rows:
    """Ids, vectors and times to add, one of each for every document; NaN where there is no time."""
    x = check_array(vectors, dtype=np.float32, ensure_min_samples=0, input_name="vectors")
    given = _check_ids(ids, len(x))
    if x.shape[1] != dims:
        raise ValueError(f"vectors have {x.shape[1]} dimensions; expected {dims}")
    when = np.full(len(x), np.nan) if times is None else np.asarray(times, dtype=np.float64)
    if when.shape != given.shape:
        raise ValueError(f"{len(given)} ids and times of shape {when.shape}; expected one time for each id")
    return given, x, when


def refuse_known(given: Ids, known: Mask) -> None:
    """Raise if any of the ids is there."""
    if known.any():
        raise ValueError(
            f"{int(known.sum())} of {len(given)} ids are in the index, the first is {given[known][0]}; "
            "remove them before they are added again"
        )


def check_queries(queries: ArrayLike, k: int, dims: int) -> tuple[NDArray[np.float32], int]:
    """Vectors to look for, and how many for each."""
    x = check_array(queries, dtype=np.float32, order="C", input_name="queries")
    if x.shape[1] != dims:
        raise ValueError(f"queries have {x.shape[1]} dimensions; expected {dims}")
    return x, check_count(k, "k", 1, 2**31 - 1, "documents for each query")


def _check_ids(ids: ArrayLike, n: int) -> Ids:
    given = np.asarray(ids)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"ids are of type {given.dtype}; expected integers: number the documents")
    if given.shape != (n,):
        raise ValueError(f"ids of shape {given.shape} for {n} vectors; expected one for each")
    if len(np.unique(given)) != n:
        raise ValueError(f"{n - len(np.unique(given))} of {n} ids are there twice; expected distinct ones")
    if given.min(initial=0) < 0:
        raise ValueError(f"the id {given.min()} is negative; expected ids from 0 on")
    return given.astype(np.int64)


class _Dated(Protocol):
    """Rows with ids and times."""

    n: int

    @property
    def ids(self) -> Ids: ...
    @property
    def times(self) -> NDArray[np.float64]: ...


def wanted_rows(
    segment: _Dated, since: float | None, until: float | None, among: Any, exclude: Any
) -> NDArray[np.bool_]:
    """Which rows pass the filters of a search."""
    wanted = np.ones(segment.n, dtype=bool)
    if since is not None:
        wanted &= segment.times >= since
    if until is not None:
        wanted &= segment.times < until
    if among is not None:
        wanted &= np.isin(segment.ids, among)
    if exclude is not None:
        wanted &= ~np.isin(segment.ids, exclude)
    return wanted


def ordered(scores: NDArray[np.float64], ids: Ids, k: int) -> TopK:
    """The best ``k`` of each row, and empty places where there are not so many; equal scores by their ids."""
    # Taken as unsigned, the id -1 of an empty place comes behind every other one.
    order = np.lexsort((ids.view(np.uint64), -scores), axis=1)[:, :k]
    return TopK(np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1))
