"""Bands: the stretches of target sentences among which each source sentence is looked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.sentences._words import Lexicon, SentenceSide

Points = NDArray[np.int64]
"""Rows and columns that belong together, ascending in both."""

MARGIN = 100
"""Sentences on both sides of a path that are looked at besides."""

MAX_FULL_CELLS = 2_000_000
"""Sentence pairs up to which all are compared by their words."""

MAX_WIDE_CELLS = 100_000_000
"""Sentence pairs up to which lengths are compared: a byte each."""

MAX_ANCHOR_COUNT = 3
"""Words that are more frequent on either side do not anchor a text."""

MIN_ANCHORS = 10
"""With fewer anchors none is trusted."""

ANCHOR_NEIGHBOURS = 5
"""Anchors before and after one with which it must agree, to the margin."""


@dataclass(frozen=True, eq=False)
class LatticeBand:
    """Nodes (i, j), with i source and j target sentences before them; row i has those in starts to stops."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    cells: NDArray[np.int64]
    """Number of the first node of every row, and of all."""

    @classmethod
    def of(cls, lowest: NDArray[np.int64], highest: NDArray[np.int64], m: int) -> LatticeBand:
        """From the lowest and the highest column of each row, made to rise and to lead to the corners."""
        starts = np.minimum(np.maximum.accumulate(np.clip(lowest, 0, m)), m)
        starts[0] = 0
        stops = np.clip(highest, 0, m) + 1
        stops[-1] = m + 1
        stops[:-1] = np.maximum(stops[:-1], starts[1:] + 1)
        stops = np.maximum.accumulate(np.maximum(stops, starts + 1))
        return cls(starts, stops, np.append(0, np.cumsum(stops - starts)))

    @classmethod
    def full(cls, n: int, m: int) -> LatticeBand:
        """Everything."""
        return cls.of(np.zeros(n + 1, np.int64), np.full(n + 1, m), m)

    @classmethod
    def around(cls, points: Points, n: int, m: int, margin: int = MARGIN) -> LatticeBand:
        """Return the nodes within a margin of a line through the points, in rows or in columns."""
        points = np.vstack([[0, 0], points, [n, m]])
        rows = np.arange(n + 1)
        before = np.searchsorted(points[:, 0], rows - margin, side="right") - 1
        after = np.searchsorted(points[:, 0], rows + margin)
        low = points[np.maximum(before, 0), 1] - margin
        high = points[np.minimum(after, len(points) - 1), 1] + margin
        return cls.of(low, high, m)

    @classmethod
    def wide(cls, points: Points, n: int, m: int) -> LatticeBand:
        """A band around anchors, or around the diagonal where they are too far apart."""
        band = cls.around(points, n, m)
        if band.size <= MAX_WIDE_CELLS:
            return band
        points = np.vstack([[0, 0], points, [n, m]])
        centre = np.interp(np.arange(n + 1), points[:, 0], points[:, 1]).astype(np.int64)
        half = MAX_WIDE_CELLS // (2 * (n + 1))
        return cls.of(centre - half, centre + half, m)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return int(self.cells[-1])

    def is_touched(self, points: Points) -> bool:
        """Return whether a path comes near a side of the band that is not a side of everything."""
        m, near = self.stops[-1] - 1, MARGIN // 4
        starts, stops = self.starts[points[:, 0]], self.stops[points[:, 0]]
        low = (starts > 0) & (points[:, 1] - starts < near)
        high = (stops <= m) & (stops - 1 - points[:, 1] < near)
        return bool((low | high).any())


def find_anchors(source: SentenceSide, target: SentenceSide, lexicon: Lexicon) -> Points:
    """Sentences with the same rare words, in the same order on both sides."""
    places = [_places(side) for side in (source, target)]
    points = set()
    for s, t in lexicon.pairs:
        left, right = places[0].get(s, ()), places[1].get(t, ())
        if len(left) <= MAX_ANCHOR_COUNT and len(right) <= MAX_ANCHOR_COUNT:
            points |= {(i, j) for i in left for j in right}
    chain = np.array(_longest_chain(sorted(points, key=lambda p: (p[0], -p[1]))), np.int64).reshape(-1, 2)
    chain = _consistent(chain)
    return chain if len(chain) >= MIN_ANCHORS else chain[:0]


def _places(side: SentenceSide) -> dict[int, list[int]]:
    """Sentences of every word that is not too frequent."""
    counts = np.bincount(side.words, minlength=1)
    sentences = np.repeat(np.arange(len(side)), np.diff(side.offsets))
    rare = counts[side.words] <= MAX_ANCHOR_COUNT
    out: dict[int, list[int]] = {}
    for word, sentence in zip(side.words[rare].tolist(), sentences[rare].tolist(), strict=True):
        out.setdefault(word, []).append(sentence)
    return out


def _longest_chain(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most points that rise in both coordinates; those of a row come from the highest to the lowest."""
    ends, last, before = list[int](), list[int](), list[int]()
    for k, (_, j) in enumerate(points):
        at = bisect_left(ends, j)
        before.append(last[at - 1] if at else -1)
        ends[at : at + 1], last[at : at + 1] = [j], [k]
    chain, k = [], last[-1] if last else -1
    while k >= 0:
        chain.append(points[k])
        k = before[k]
    return chain[::-1]


def _consistent(chain: Points) -> Points:
    """Points that are as far along as the median of their neighbours."""
    if len(chain) <= 2 * ANCHOR_NEIGHBOURS:
        return chain[:0]
    offs = chain[:, 1] - chain[:, 0]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(offs, ANCHOR_NEIGHBOURS, mode="edge"), 2 * ANCHOR_NEIGHBOURS + 1
    )
    spans = np.lib.stride_tricks.sliding_window_view(
        np.pad(chain[:, 0], ANCHOR_NEIGHBOURS, mode="edge"), 2 * ANCHOR_NEIGHBOURS + 1
    )
    near = np.abs(offs - np.median(windows, axis=1)) <= MARGIN / 2 + 0.2 * (spans[:, -1] - spans[:, 0])
    return np.asarray(chain[near])
