"""The base of all indexes: validation, filters and the order of results."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from isogloss.linalg import TopK, check_count
from isogloss.similarity.index._segment import Ids, Mask, Rows


class Dated(Protocol):
    """Rows with ids and times."""

    n: int

    @property
    def ids(self) -> Ids: ...
    @property
    def times(self) -> NDArray[np.float64]: ...


class SearchFilters(NamedTuple):
    """A filter of the documents that :meth:`Collection.search` may return."""

    since: float | None
    until: float | None
    among: ArrayLike | None
    exclude: ArrayLike | None

    def pass_rows(self, rows: Dated) -> Mask:
        """Return a mask of the rows that pass the filter."""
        wanted = np.ones(rows.n, dtype=bool)
        if self.since is not None:
            wanted &= rows.times >= self.since
        if self.until is not None:
            wanted &= rows.times < self.until
        if self.among is not None:
            wanted &= np.isin(rows.ids, np.asarray(self.among))
        if self.exclude is not None:
            wanted &= ~np.isin(rows.ids, np.asarray(self.exclude))
        return wanted


class Collection(abc.ABC):
    """Vectors with ids and times, which come and go, and are searched for by inner products.

    Subclasses say how vectors are kept and found: :class:`~isogloss.similarity.Index` looks at all of them,
    :class:`~isogloss.similarity.GraphIndex` at those near the query.
    """

    dims: int
    storage: str
    n_jobs: int | None
    changes: int = 0
    """How often documents have entered or left."""

    def add(self, ids: ArrayLike, vectors: ArrayLike, times: ArrayLike | None = None) -> Self:
        """Add vectors under new ids; one bad vector and nothing is added.

        Ids are distinct, from 0 on, and not in the index; ascending ones are the cheapest to add. Times are
        in any unit; what has no time never expires.
        """
        rows = _check_rows(ids, vectors, times, self.dims)
        _refuse_known(rows[0], self._among(rows[0]))
        if len(rows[0]):
            self._append(rows)
            self.changes += 1
        return self

    def remove(self, ids: ArrayLike) -> int:
        """Forget documents; how many of them were there."""
        return self._count_change(self._remove(np.unique(np.asarray(ids, dtype=np.int64))))

    def expire(self, before: float) -> int:
        """Forget documents from before a time; how many there were."""
        return self._count_change(self._expire(before))

    def _count_change(self, removed: int) -> int:
        self.changes += removed > 0
        return removed

    def vectors_of(self, ids: ArrayLike) -> NDArray[np.float32]:
        """Return the vectors of documents, one row for each id; all of them must be in the index."""
        wanted = np.asarray(ids, dtype=np.int64)
        missing = wanted[~self._among(wanted)]
        if len(missing):
            raise ValueError(f"the index has no document {missing[0]}; it has {len(self)} others")
        return self._vectors_of(wanted)

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
            ``scores`` and ids in ``indices``, equal scores in the order of the ids; id -1 and score minus
            infinity where there are fewer than ``k`` documents.
        """
        x = _rows(queries, "queries", ensure_min_samples=1, order="C")
        if x.shape[1] != self.dims:
            raise ValueError(f"queries have {x.shape[1]} dimensions; expected {self.dims}")
        k = check_count(k, "k", 1, 2**31 - 1, "documents for each query")
        return self._find(x, k, SearchFilters(since, until, among, exclude))

    def __contains__(self, one: int) -> bool:
        return bool(self._among(np.array([one], dtype=np.int64))[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} vectors of {self.dims} dimensions as {self.storage})"

    @abc.abstractmethod
    def __len__(self) -> int: ...

    @property
    @abc.abstractmethod
    def ids(self) -> Ids:
        """All ids, ascending."""

    @abc.abstractmethod
    def _vectors_of(self, ids: Ids) -> NDArray[np.float32]:
        """Vectors of documents that are there."""

    @abc.abstractmethod
    def _among(self, ids: Ids) -> Mask:
        """Return a mask of the ids that are in the index."""

    @abc.abstractmethod
    def _append(self, rows: Rows) -> None:
        """Keep documents that are not there yet, one or more."""

    @abc.abstractmethod
    def _remove(self, ids: Ids) -> int:
        """Forget documents of distinct ids, which need not be there."""

    @abc.abstractmethod
    def _expire(self, before: float) -> int:
        """Forget documents from before a time."""

    @abc.abstractmethod
    def _find(self, queries: NDArray[np.float32], k: int, filters: SearchFilters) -> TopK:
        """Answers to queries that were looked at."""


def ordered(scores: NDArray[np.float64], ids: Ids, k: int) -> TopK:
    """The best ``k`` of each row, and empty places where there are not so many; equal scores by their ids."""
    # Taken as unsigned, the id -1 of an empty place comes behind every other one.
    order = np.lexsort((ids.view(np.uint64), -scores), axis=1)[:, :k]
    return TopK(np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1))


def check_vectors(vectors: ArrayLike, dims: int) -> NDArray[np.float32]:
    """Vectors as rows in single precision, any number of them."""
    x = _rows(vectors, "vectors", ensure_min_samples=0)
    if x.shape[1] != dims:
        raise ValueError(f"vectors have {x.shape[1]} dimensions; expected {dims}")
    return np.asarray(x)


def _rows(given: ArrayLike, name: str, **rules: Any) -> NDArray[np.float32]:
    """Validate an array like scikit-learn, but skip its slow checks for arrays that are valid already."""
    if isinstance(given, np.ndarray) and _is_sound(given):
        return given
    return np.asarray(check_array(given, dtype=np.float32, input_name=name, **rules))


def _is_sound(rows: NDArray[Any]) -> bool:
    plain = rows.dtype == np.float32 and rows.ndim == 2 and rows.size > 0 and rows.flags.c_contiguous
    return plain and bool(np.isfinite(rows).all())


def _check_rows(ids: ArrayLike, vectors: ArrayLike, times: ArrayLike | None, dims: int) -> Rows:
    """Ids, vectors and times to add, one of each for every document; NaN where there is no time."""
    x = check_vectors(vectors, dims)
    given = _check_ids(ids, len(x))
    when = np.full(len(x), np.nan) if times is None else np.asarray(times, dtype=np.float64)
    if when.shape != given.shape:
        raise ValueError(f"{len(given)} ids and times of shape {when.shape}; expected one time for each id")
    return given, x, when


def _check_ids(ids: Any, n: int) -> Ids:
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


def _refuse_known(given: Ids, known: Mask) -> None:
    """Raise if any of the ids is there."""
    if known.any():
        raise ValueError(
            f"{int(known.sum())} of {len(given)} ids are in the index, the first is {given[known][0]}; "
            "remove them before they are added again"
        )
