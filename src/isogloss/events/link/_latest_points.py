"""The latest points of a common space of documents, and the nearest of them in each language.

A search looks at every point within reach, so what it finds are the nearest; but only at articles that came
last, so its cost does not grow with the stream. Stories are told in all languages within hours or days.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isogloss.kernels import nearest_points

__all__ = ["LatestPoints"]

_UNIT = 32_000.0
"""What a coordinate of one is rounded to: products of points are then found by whole numbers of two bytes."""

_STEP = 16
"""Coordinates that are multiplied together."""


class LatestPoints:
    """Points under numbers that only grow; those far behind the last number are out of reach.

    Memory: six bytes for each dimension and each number within reach.

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
        self._rounded = np.zeros((reach, -(-dims // _STEP) * _STEP), dtype=np.int16)
        self._owners = np.zeros(reach, dtype=np.int64)
        self._languages = np.zeros(reach, dtype=np.int16)
        self._codes: dict[str, int] = {}

    def add(self, number: int, lang: str, point: NDArray[np.float32]) -> None:
        """Add a point under a number, from 1 on, that is higher than those before."""
        row = number % self.reach
        self.last = number
        self._points[row], self._rounded[row], self._owners[row] = point, self._round(point), number
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
        numbers = np.empty(k * len(self._codes), dtype=np.int64)
        found = nearest_points(
            self._rounded,
            self._points,
            self._owners,
            self._languages,
            self._round(point),
            point,
            _UNIT,
            min(self.last + 1, self.reach),
            max(0, self.last - self.reach),
            k,
            least,
            numbers,
        )
        nearest: list[int] = numbers[:found].tolist()
        return nearest

    def _round(self, point: NDArray[np.float32]) -> NDArray[np.int16]:
        """The whole numbers that stand for a point, with zeros at the end."""
        out = np.zeros(self._rounded.shape[1], dtype=np.int16)
        np.rint(point * np.float32(_UNIT), out=out[: len(point)], casting="unsafe")
        return out
