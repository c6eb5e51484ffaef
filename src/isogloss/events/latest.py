"""The latest points of a common space of documents, and the nearest of them in each language.

A search looks at every point within reach, so what it finds are the nearest; but only at articles that came
last, so its cost does not grow with the stream. Stories are told in all languages within hours or days.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["LatestPoints"]

_ROUNDING = 1e-4
"""More than what a product in single precision can be wrong by."""


class LatestPoints:
    """Points under numbers that only grow; those far behind the last number are out of reach.

    Memory: four bytes for each dimension and each number within reach.

    Parameters
    ----------
    dims : int
        Dimensions of the points, which are of length one.
    reach : int
        Numbers before the last that are looked at; those of all languages count.

    Examples
    --------
    >>> points = LatestPoints(2, reach=3)
    >>> points.add(1, "de", np.array([1.0, 0.0], dtype=np.float32))
    >>> points.add(2, "en", np.array([0.6, 0.8], dtype=np.float32))
    >>> points.nearest(np.array([0.8, 0.6], dtype=np.float32), 10, least=0.9)
    [2]
    >>> points.nearest(np.array([0.8, 0.6], dtype=np.float32), 10, least=0.7)
    [1, 2]
    """

    def __init__(self, dims: int, reach: int) -> None:
        self.reach = reach
        self.last = 0
        self._points = np.zeros((reach, dims), dtype=np.float32)
        self._owners = np.zeros(reach, dtype=np.int64)
        self._languages = np.zeros(reach, dtype=np.int16)
        self._codes: dict[str, int] = {}

    def add(self, number: int, lang: str, point: NDArray[np.float32]) -> None:
        """Add a point under a number, from 1 on, that is higher than those before."""
        row = number % self.reach
        self.last = number
        self._points[row], self._owners[row] = point, number
        self._languages[row] = self._codes.setdefault(lang, len(self._codes))

    def remove(self, number: int) -> None:
        """Forget a point; one that is not there is no error."""
        row = number % self.reach
        if self._owners[row] == number:
            self._owners[row] = 0

    def nearest(self, point: NDArray[np.float32], k: int, *, least: float) -> list[int]:
        """Numbers of the nearest points of each language, ascending.

        Parameters
        ----------
        point : array
            What is looked for.
        k : int
            Most points of a language; of equal ones, those of lower numbers.
        least : float
            Least product with ``point``.
        """
        n = min(self.last + 1, self.reach)
        rough = self._points[:n] @ point
        within = (rough >= least - _ROUNDING) & (self._owners[:n] > max(0, self.last - self.reach))
        rows = np.flatnonzero(within)
        languages = self._languages[rows]
        return sorted(
            number
            for code in range(len(self._codes))
            for number in self._best(rows[languages == code], rough, point, k, least)
        )

    def _best(
        self,
        rows: NDArray[np.intp],
        rough: NDArray[np.float32],
        point: NDArray[np.float32],
        k: int,
        least: float,
    ) -> Iterator[int]:
        if len(rows) > k:
            rows = rows[rough[rows] >= np.partition(rough[rows], -k)[-k] - 2 * _ROUNDING]
        scores = self._points[rows].astype(np.float64) @ point.astype(np.float64)
        numbers = self._owners[rows]
        for place in np.lexsort((numbers, -scores))[:k].tolist():
            if scores[place] >= least:
                yield int(numbers[place])
