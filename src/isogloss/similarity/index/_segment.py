"""A stretch of an index: vectors with their ids and times, some of them no longer there."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.linalg import PiecewiseSearch, RoundedVectors, TopK, top_k

Storage = Literal["float32", "float16", "int8"]

Ids: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = tuple[Ids, NDArray[Any], NDArray[np.float64]]
"""Ids, vectors and times, NaN where there is no time."""


class Segment:
    """Rows in the order of their ids, so that equal scores come in that order too.

    Vectors are kept as float16 also under ``int8``, where a copy in bytes is searched first once the segment
    is closed.
    """

    def __init__(self, dims: int, storage: Storage) -> None:
        self.storage = storage
        self.n = 0
        dtype = np.float32 if storage == "float32" else np.float16
        self._rows: Rows = np.empty(0, np.int64), np.empty((0, dims), dtype), np.empty(0)
        self._live: Mask = np.empty(0, dtype=bool)
        self._rounded: RoundedVectors | None = None
        self._longest = 0.0

    @property
    def ids(self) -> Ids:
        """Ids of all rows, ascending."""
        return self._rows[0][: self.n]

    @property
    def vectors(self) -> NDArray[Any]:
        """Vectors of all rows."""
        return self._rows[1][: self.n]

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of all rows."""
        return self._rows[2][: self.n]

    @property
    def live(self) -> Mask:
        """Return a mask of the rows that are not deleted."""
        return self._live[: self.n]

    def __len__(self) -> int:
        return int(self.live.sum())

    def append(self, rows: Rows) -> None:
        """Add rows; cheap for ids that are higher than those before."""
        new = len(rows[0])
        last = self.ids[-1] if self.n else -1
        in_order = new == 0 or (rows[0][0] > last and bool((np.diff(rows[0]) > 0).all()))
        self._grow(self.n + new)
        for array, added in zip((*self._rows, self._live), (*rows, np.ones(new, dtype=bool)), strict=True):
            array[self.n : self.n + new] = added
        if new:
            added_rows = self._rows[1][self.n : self.n + new].astype(np.float32, copy=False)
            self._longest = max(self._longest, float(np.einsum("ij,ij->i", added_rows, added_rows).max()))
        self.n += new
        if not in_order:
            order = np.argsort(self.ids, kind="stable")
            for array in (*self._rows, self._live):
                array[: self.n] = array[: self.n][order]

    def _grow(self, n: int) -> None:
        """Room for ``n`` rows, at least twice as many as before."""
        if n > len(self._live):
            size = max(n, 2 * len(self._live))
            ids, vectors, times = self._rows
            self._rows = _longer(ids, size), _longer(vectors, size), _longer(times, size)
            self._live = _longer(self._live, size)

    def close(self) -> None:
        """No rows will be added: give back spare room, and round the vectors if they are to be."""
        self._rows = self.ids.copy(), self.vectors.copy(), self.times.copy()
        self._live = self.live.copy()
        if self.storage == "int8":
            self._rounded = RoundedVectors.of(self.vectors)

    def place(self, ids: Ids) -> NDArray[np.int64]:
        """The rows of these ids; -1 where they are not. Of rows with one id only the last may be there."""
        if not self.n:
            return np.full(len(ids), -1)
        at = np.maximum(np.searchsorted(self.ids, ids, side="right") - 1, 0)
        return np.where((self.ids[at] == ids) & self.live[at], at, -1)

    def remove(self, rows: Mask | NDArray[np.int64]) -> int:
        """Forget rows; how many were there."""
        before = len(self)
        self.live[rows] = False
        return before - len(self)

    def remaining(self) -> Rows:
        """The rows that are there."""
        return self.ids[self.live], self.vectors[self.live], self.times[self.live]

    def offer(self, search: PiecewiseSearch, wanted: Mask, first: int) -> None:
        """Offer the wanted rows, numbered from ``first`` on."""
        bias = np.where(self.live & wanted, 0.0, -np.inf).astype(np.float32)
        if self._rounded is None:
            search.scan(self.vectors, bias, first, longest=self._longest)
        else:
            search.scan_rounded(self._rounded, bias, first)

    def exact(self, queries: NDArray[np.float32], k: int, wanted: Mask) -> TopK:
        """The best of the wanted rows, whatever the rounding of products, with ids in place of indices."""
        bias = np.where(self.live & wanted, 0.0, -np.inf)
        best = top_k(queries, self.vectors, min(k, self.n), bias=bias)
        return TopK(best.scores, np.where(best.indices < 0, -1, self.ids[best.indices]))

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        packed = 0 if self._rounded is None else self._rounded.packed.nbytes
        return sum(array.nbytes for array in (*self._rows, self._live)) + packed


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with room for ``size`` rows; what is in the new ones is left open."""
    out = np.empty((size, *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out
