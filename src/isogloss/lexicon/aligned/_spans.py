"""Word groups that translate each other: spans whose links do not leave them.

A span of source tokens and a span of target tokens are consistent if every link of one ends in the other and
the first and last tokens of both have links. (Koehn, Och and Marcu 2003, without unaligned edges.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.lexicon.aligned._text import AlignedText, Ints

_NEVER = np.iinfo(np.int64).max


class SpanPairs(NamedTuple):
    """Consistent spans: first tokens and lengths on both sides."""

    source: Ints
    source_length: Ints
    target: Ints
    target_length: Ints


class Reach(NamedTuple):
    """First and last token of the other side that each token is linked with; past the end and -1 if none."""

    first: Ints
    last: Ints

    def over(self, length: int) -> Reach:
        """The same for every span of so many tokens."""
        first, last = self.first, self.last
        for step in range(1, length):
            first = np.minimum(first, _moved(self.first, step, _NEVER))
            last = np.maximum(last, _moved(self.last, step, -1))
        return Reach(first, last)


def consistent_spans(text: AlignedText, max_source: int, max_target: int) -> SpanPairs:
    """Every consistent pair of spans up to these lengths, in tokens."""
    forward, backward = _reaches(text)
    back = [backward.over(length) for length in range(1, max_target + 1)]
    found = [
        _of_lengths(text, forward, back[width - 1], length, width)
        for length in range(1, max_source + 1)
        for width in range(1, max_target + 1)
    ]
    return SpanPairs(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _of_lengths(text: AlignedText, forward: Reach, back: Reach, length: int, width: int) -> SpanPairs:
    sentence = text.source.sentence
    first, last = forward.over(length)
    starts = np.flatnonzero(last - first == width - 1)
    ends = starts + length - 1
    starts = starts[ends < len(sentence)]
    ends = starts + length - 1
    linked = (forward.last[starts] >= 0) & (forward.last[ends] >= 0)
    starts = starts[linked & (sentence[starts] == sentence[ends])]
    targets = first[starts]
    fine = (back.first[targets] >= starts) & (back.last[targets] <= starts + length - 1)
    starts, targets = starts[fine], targets[fine]
    return SpanPairs(starts, np.full_like(starts, length), targets, np.full_like(starts, width))


def _reaches(text: AlignedText) -> tuple[Reach, Reach]:
    sides = (
        (text.source, text.source_token, text.target_token),
        (text.target, text.target_token, text.source_token),
    )
    found = []
    for side, here, there in sides:
        first, last = np.full(len(side.tokens), _NEVER), np.full(len(side.tokens), -1)
        np.minimum.at(first, here, there)
        np.maximum.at(last, here, there)
        found.append(Reach(first, last))
    return found[0], found[1]


def _moved(values: Ints, step: int, fill: int) -> Ints:
    return np.concatenate([values[step:], np.full(min(step, len(values)), fill)])


class UnitSequences:
    """Groups of neighbouring units as numbers; groups of one have the numbers of the units."""

    def __init__(self, units: Ints, n_units: int, max_length: int) -> None:
        self.numbers: list[Ints] = [units]
        self.first = [0, n_units]
        for length in range(2, max_length + 1):
            pairs = self.numbers[-1] * np.int64(n_units) + _moved(units, length - 1, 0)
            distinct, inverse = np.unique(pairs, return_inverse=True)
            self.numbers.append(inverse.astype(np.int64))
            self.first.append(self.first[-1] + len(distinct))

    def of(self, token: Ints, length: Ints) -> Ints:
        """The numbers of spans, given their first tokens and lengths."""
        found = np.zeros(len(token), dtype=np.int64)
        for size, numbers in enumerate(self.numbers, 1):
            rows = length == size
            found[rows] = self.first[size - 1] + numbers[token[rows]]
        return found


def first_of(values: Ints, *order: NDArray[np.generic]) -> Ints:
    """Rows of the best of each value; ``order`` are keys as of ``lexsort``, the last the most important."""
    rows = np.lexsort((*order, values))
    new = np.ones(len(rows), dtype=bool)
    new[1:] = np.diff(values[rows]) != 0
    return rows[new]
