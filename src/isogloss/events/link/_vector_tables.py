"""Tables of article vectors that compiled loops can search: sparse text vectors and dense latent points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.cluster import Ids, Vector
from isogloss.kernels import nearest_points

_MISSING = "no vector {}; expected the number of a vector in the table"


class VectorTable:
    """Sparse vectors by serial number, in the rows of two arrays; free rows are reused.

    Memory: twelve bytes for each term of the longest vector and each of the most vectors at one time, and
    twice that while the arrays grow.

    Attributes
    ----------
    ids, weights : arrays
        Terms of each row and their weights, padded beyond ``lengths``.
    lengths, owners, groups : arrays
        Number of terms, serial number and cluster of each row; 0 in empty rows.
    table : array
        Hash table: at a serial number modulo its length, one more than the row.

    Examples
    --------
    >>> shelf = VectorTable()
    >>> shelf.add(7, Vector(np.array([3, 5], dtype=np.int32), np.array([0.6, 0.8])))
    >>> row = shelf.table[7] - 1
    >>> int(shelf.owners[row]), shelf.weights[row, : shelf.lengths[row]], len(shelf)
    (7, array([0.6, 0.8]), 1)
    >>> shelf.remove(7)
    >>> len(shelf)
    0
    """

    def __init__(self) -> None:
        self.ids: NDArray[np.int32] = np.zeros((64, 16), dtype=np.int32)
        self.weights: NDArray[np.float64] = np.zeros((64, 16))
        self.lengths: Ids = np.zeros(64, dtype=np.int32)
        self.owners: Ids = np.zeros(64, dtype=np.int32)
        self.groups: Ids = np.zeros(64, dtype=np.int32)
        self.table: Ids = np.zeros(256, dtype=np.int32)
        self._free = list(range(63, -1, -1))

    def __len__(self) -> int:
        return len(self.owners) - len(self._free)

    def add(self, number: int, vector: Vector, group: int = 0) -> None:
        """Add a vector under a serial number, from 1 on and increasing."""
        n = len(vector.ids)
        if n > self.ids.shape[1]:
            self._resize(len(self.owners), max(n, 2 * self.ids.shape[1]))
        if not self._free:
            self._resize(2 * len(self.owners), self.ids.shape[1])
        row = self._free.pop()
        self.ids[row, :n], self.weights[row, :n] = vector
        self.lengths[row], self.owners[row], self.groups[row] = n, number, group
        self._insert(number, row)

    def remove(self, number: int) -> None:
        """Remove a vector."""
        place = number & (len(self.table) - 1)
        row = int(self.table[place]) - 1
        if row < 0 or self.owners[row] != number:
            raise KeyError(_MISSING.format(number))
        self.table[place] = 0
        self.owners[row] = self.lengths[row] = self.groups[row] = 0
        self._free.append(row)

    def rows(self, numbers: Ids) -> Ids:
        """Return the rows of serial numbers."""
        found: Ids = self.table[numbers & (len(self.table) - 1)] - 1
        missing = numbers[(found < 0) | (self.owners[found] != numbers)]
        if len(missing):
            raise KeyError(_MISSING.format(missing[0]))
        return found

    def _insert(self, number: int, row: int) -> None:
        """Insert a row into the hash table, which grows until it has no collisions."""
        place = number & (len(self.table) - 1)
        if self.table[place]:
            self._rehash(2 * len(self.table))
        else:
            self.table[place] = row + 1

    def _rehash(self, size: int) -> None:
        rows = np.flatnonzero(self.owners)
        places = self.owners[rows] & (size - 1)
        while len(np.unique(places)) < len(places):
            size *= 2
            places = self.owners[rows] & (size - 1)
        self.table = np.zeros(size, dtype=np.int32)
        self.table[places] = rows + 1

    def _resize(self, rows: int, width: int) -> None:
        old = len(self.owners)
        self.ids = _grow(self.ids, rows, width)
        self.weights = _grow(self.weights, rows, width)
        self.lengths, self.owners, self.groups = (
            np.concatenate([one, np.zeros(rows - old, dtype=np.int32)])
            for one in (self.lengths, self.owners, self.groups)
        )
        self._free += range(rows - 1, old - 1, -1)


def _grow(array: NDArray[Any], rows: int, width: int) -> NDArray[Any]:
    out = np.zeros((rows, width), dtype=array.dtype)
    out[: array.shape[0], : array.shape[1]] = array
    return out


_FIXED_POINT_ONE = 32_000.0
"""Fixed-point value of a coordinate of 1: dot products of points are computed in 16-bit integers first."""

_ALIGNED_DIMS = 16
"""Rows are padded to a multiple of this, for SIMD."""


class RecentPoints:
    """Ring buffer of the latent points of recent articles, with exact nearest-neighbour search per language.

    Stories are told in all languages within hours or days, so a search over recent articles suffices, and its
    cost does not grow with the stream. Memory: six bytes for each dimension and each point of the capacity.
    The points have length one; ``capacity`` is the number of the most recent serial numbers that are
    searched, over all languages.

    Examples
    --------
    >>> points = RecentPoints(2, capacity=3)
    >>> points.add(1, "de", np.array([1.0, 0.0], dtype=np.float32))
    >>> points.add(2, "en", np.array([0.6, 0.8], dtype=np.float32))
    >>> points.nearest(np.array([0.8, 0.6], dtype=np.float32), 10, min_similarity=0.9)
    [2]
    >>> points.nearest(np.array([0.8, 0.6], dtype=np.float32), 10, min_similarity=0.7)
    [1, 2]
    """

    def __init__(self, dims: int, capacity: int) -> None:
        self.capacity = capacity
        self.last = 0
        self._points = np.zeros((capacity, dims), dtype=np.float32)
        self._rounded = np.zeros((capacity, -(-dims // _ALIGNED_DIMS) * _ALIGNED_DIMS), dtype=np.int16)
        self._owners = np.zeros(capacity, dtype=np.int64)
        self._languages = np.zeros(capacity, dtype=np.int16)
        self._codes: dict[str, int] = {}

    def add(self, number: int, lang: str, point: NDArray[np.float32]) -> None:
        """Add a point under a serial number, from 1 on and increasing."""
        row = number % self.capacity
        self.last = number
        self._points[row], self._rounded[row], self._owners[row] = point, self._round(point), number
        self._languages[row] = self._codes.setdefault(lang, len(self._codes))

    def remove(self, number: int) -> None:
        """Remove a point, if it is in the buffer."""
        row = number % self.capacity
        if self._owners[row] == number:
            self._owners[row] = 0

    def nearest(self, point: NDArray[np.float32], k: int, *, min_similarity: float) -> list[int]:
        """Return the serial numbers of the nearest points of each language, ascending.

        At most ``k`` points per language are returned; ties go to lower numbers. The similarity is the dot
        product.
        """
        numbers = np.empty(k * len(self._codes), dtype=np.int64)
        found = nearest_points(
            self._rounded,
            self._points,
            self._owners,
            self._languages,
            self._round(point),
            point,
            _FIXED_POINT_ONE,
            min(self.last + 1, self.capacity),
            max(0, self.last - self.capacity),
            k,
            min_similarity,
            numbers,
        )
        nearest: list[int] = numbers[:found].tolist()
        return nearest

    def _round(self, point: NDArray[np.float32]) -> NDArray[np.int16]:
        """Return a point in fixed-point numbers, padded with zeros."""
        out = np.zeros(self._rounded.shape[1], dtype=np.int16)
        np.rint(point * np.float32(_FIXED_POINT_ONE), out=out[: len(point)], casting="unsafe")
        return out
