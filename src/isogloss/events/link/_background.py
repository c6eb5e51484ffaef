"""The similarity of an article to news of other days, which cannot be about the same story.

Some texts are near to everything: a round-up, a feature, a result in a sport that is in the news every day.
Their similarity to the texts of their own days says little, unless it exceeds what they find at other times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_CAPACITY = 2048
"""Embeddings in the sample."""
_SPAN_S = 10 * 86_400.0
"""Time that the sample covers in a busy stream; in a sparse one it covers more."""
_MIN_GAP_S = 3 * 86_400.0
"""Time between articles that do not tell one story."""
_NEAREST = 5
"""Embeddings whose mean similarity is the background."""
_PRIOR, _PRIOR_COUNT = 0.25, 20.0
"""Background where nothing is known of other days, and the number of embeddings that it counts as."""


class Background(NamedTuple):
    """Mean similarity of an article to the nearest ones of other days."""

    own: float
    """To those of its language."""
    foreign: float
    """To those of other languages."""


NO_BACKGROUND = Background(_PRIOR, _PRIOR)
"""Background of an article without an embedding, or without articles of other days."""


class BackgroundSample:
    """Ring buffer of the embeddings of a sample of past articles.

    In a sparse stream it holds the last articles. In a busy one it admits as many per day as replace it in
    ten days, so that it always has articles of other days. Memory: four bytes for each dimension and each of
    2,048 embeddings.

    Attributes
    ----------
    points : array (n x dimensions) of float32
        Embeddings of length one; the oldest are overwritten.
    times : array of float64
        Their times, in seconds since 1970.
    languages : array of int32
        Positions of their languages in ``names``.
    names : list of str
        Languages.
    count : int
        Embeddings that were admitted.
    allowance : float
        Embeddings that may be admitted now; it grows with time.
    latest : float
        The latest time seen.

    Examples
    --------
    >>> sample, east = BackgroundSample(), np.array([1.0, 0.0], dtype=np.float16)
    >>> for hour in range(200):
    ...     found = sample.measure(east, "en", 3600.0 * hour)
    >>> found.own > 0.8, round(found.foreign, 2)
    (True, 0.25)
    """

    def __init__(self) -> None:
        self.points: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self.times: NDArray[np.float64] = np.zeros(_CAPACITY)
        self.languages: NDArray[np.int32] = np.zeros(_CAPACITY, dtype=np.int32)
        self.names: list[str] = []
        self.count = 0
        self.allowance, self.latest = float(_CAPACITY), -np.inf

    def measure(self, embedding: NDArray[np.float16], lang: str, time: float) -> Background:
        """Return the background of an article, and admit the article to the sample."""
        point = embedding.astype(np.float32)
        if not self.points.size:
            self.points = np.zeros((_CAPACITY, len(point)), dtype=np.float32)
        if lang not in self.names:
            self.names.append(lang)
        code = self.names.index(lang)
        n = min(self.count, _CAPACITY)
        # Not a matrix product of BLAS, whose last bits depend on the number of threads.
        similarities = np.einsum("ij,j->i", self.points[:n], point)
        other_days = np.abs(self.times[:n] - time) >= _MIN_GAP_S
        same = self.languages[:n] == code
        found = Background(
            _mean_of_nearest(similarities[other_days & same]),
            _mean_of_nearest(similarities[other_days & ~same]),
        )
        self._admit(point, code, time)
        return found

    def _admit(self, point: NDArray[np.float32], code: int, time: float) -> None:
        now = max(time, self.latest)
        if self.count:
            self.allowance = min(_CAPACITY, self.allowance + (now - self.latest) * _CAPACITY / _SPAN_S)
        self.latest = now
        if self.allowance < 1:
            return
        row = self.count % _CAPACITY
        self.points[row], self.times[row], self.languages[row] = point, time, code
        self.allowance -= 1
        self.count += 1

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state: JSON under ``header``, arrays under ``arrays``."""
        n = min(self.count, _CAPACITY)
        header = {
            "names": list(self.names),
            "count": self.count,
            "allowance": self.allowance,
            "latest": self.latest if self.count else None,
        }
        arrays = {
            "points": self.points[:n].astype(np.float16),
            "times": self.times[:n].copy(),
            "languages": self.languages[:n].copy(),
        }
        return {"header": header, "arrays": arrays}

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state of :meth:`state_dict` into an empty sample."""
        self.names, self.count = list(header["names"]), header["count"]
        if not self.count:
            return
        self.allowance, self.latest = header["allowance"], header["latest"]
        n, dims = arrays["points"].shape
        self.points = np.zeros((_CAPACITY, dims), dtype=np.float32)
        self.points[:n], self.times[:n], self.languages[:n] = (
            arrays[name] for name in ("points", "times", "languages")
        )


def _mean_of_nearest(similarities: NDArray[np.float32]) -> float:
    """Return the mean of the largest similarities; few similarities are shrunk to the prior."""
    n = len(similarities)
    if not n:
        return _PRIOR
    nearest = np.partition(similarities, max(n - _NEAREST, 0))[max(n - _NEAREST, 0) :]
    mean = float(np.sort(nearest).mean(dtype=np.float64))
    return (n * mean + _PRIOR_COUNT * _PRIOR) / (n + _PRIOR_COUNT)
