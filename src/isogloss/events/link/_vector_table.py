"""Sparse vectors under numbers that only grow, in arrays that compiled loops can walk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.cluster import Ids, Vector

__all__ = ["Shelf"]

_MISSING = "no vector {}; expected one that was put on the shelf"


class Shelf:
    """Vectors in the rows of two arrays; rows of vectors that were taken off are used again.

    Memory: twelve bytes for each term of the longest vector and each of the most vectors at one time, and
    twice that while the arrays grow.

    Attributes
    ----------
    ids, weights : arrays
        Terms of each row and their weights; what is behind ``lengths`` means nothing.
    lengths, owners, groups : arrays
        Terms of the vector in each row, its number, and the group that it is of; 0 in empty rows.
    table : array
        For a number, modulo the length of the table, one more than its row, if that row is its own.

    Examples
    --------
    >>> shelf = Shelf()
    >>> shelf.put(7, Vector(np.array([3, 5], dtype=np.int32), np.array([0.6, 0.8])))
    >>> row = shelf.table[7] - 1
    >>> int(shelf.owners[row]), shelf.weights[row, : shelf.lengths[row]], len(shelf)
    (7, array([0.6, 0.8]), 1)
    >>> shelf.take(7)
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

    def put(self, number: int, vector: Vector, group: int = 0) -> None:
        """Keep a vector of a group under a number, from 1 on, that is higher than those before."""
        n = len(vector.ids)
        if n > self.ids.shape[1]:
            self._resize(len(self.owners), max(n, 2 * self.ids.shape[1]))
        if not self._free:
            self._resize(2 * len(self.owners), self.ids.shape[1])
        row = self._free.pop()
        self.ids[row, :n], self.weights[row, :n] = vector
        self.lengths[row], self.owners[row], self.groups[row] = n, number, group
        self._enter(number, row)

    def take(self, number: int) -> None:
        """Forget a vector."""
        place = number & (len(self.table) - 1)
        row = int(self.table[place]) - 1
        if row < 0 or self.owners[row] != number:
            raise KeyError(_MISSING.format(number))
        self.table[place] = 0
        self.owners[row] = self.lengths[row] = self.groups[row] = 0
        self._free.append(row)

    def rows(self, numbers: Ids) -> Ids:
        """The rows of some numbers."""
        found: Ids = self.table[numbers & (len(self.table) - 1)] - 1
        missing = numbers[(found < 0) | (self.owners[found] != numbers)]
        if len(missing):
            raise KeyError(_MISSING.format(missing[0]))
        return found

    def _enter(self, number: int, row: int) -> None:
        """Note the row of a number; the table grows until no two numbers share a place."""
        place = number & (len(self.table) - 1)
        if self.table[place]:
            self._spread(2 * len(self.table))
        else:
            self.table[place] = row + 1

    def _spread(self, size: int) -> None:
        rows = np.flatnonzero(self.owners)
        places = self.owners[rows] & (size - 1)
        while len(np.unique(places)) < len(places):
            size *= 2
            places = self.owners[rows] & (size - 1)
        self.table = np.zeros(size, dtype=np.int32)
        self.table[places] = rows + 1

    def _resize(self, rows: int, width: int) -> None:
        old = len(self.owners)
        self.ids = _grown(self.ids, rows, width)
        self.weights = _grown(self.weights, rows, width)
        self.lengths, self.owners, self.groups = (
            np.concatenate([one, np.zeros(rows - old, dtype=np.int32)])
            for one in (self.lengths, self.owners, self.groups)
        )
        self._free += range(rows - 1, old - 1, -1)


def _grown(array: NDArray[Any], rows: int, width: int) -> NDArray[Any]:
    out = np.zeros((rows, width), dtype=array.dtype)
    out[: array.shape[0], : array.shape[1]] = array
    return out
