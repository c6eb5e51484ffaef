"""Beads: sentences of both sides that correspond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from isogloss.text.raw import SplitText

KINDS = np.array([(1, 1), (1, 0), (0, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1)], np.int32)
"""Source and target sentences of a bead."""

FIRST_COUNTS = np.array([90.0, 1.0, 1.0, 3.0, 3.0, 1.0, 0.3, 0.3])
"""Pseudo-counts of the kinds: sentences are mostly translated one by one."""


@dataclass(frozen=True, slots=True)
class Bead:
    """Sentences that correspond, by their numbers; one side may have none.

    Parameters
    ----------
    source, target : range
        Numbers of the sentences, from 0.
    probability : float
        Posterior probability under the model. It is over-confident in the way of such models; use it to
        rank.
    """

    source: range
    target: range
    probability: float

    @property
    def kind(self) -> tuple[int, int]:
        """Numbers of source and of target sentences."""
        return len(self.source), len(self.target)


class SentenceAlignment(Sequence[Bead]):
    """The beads of one document, in order; every sentence is in exactly one.

    Parameters
    ----------
    source, target : SplitText
        The document.
    beads : sequence of Bead
        Its beads.
    order : float
        Evidence per sentence that both sides are in the same order, see
        :class:`~isogloss.alignment.sentences.Trust`.
    """

    def __init__(
        self, source: SplitText, target: SplitText, beads: Sequence[Bead], *, order: float = 0.0
    ) -> None:
        self.source, self.target, self.beads, self.order = source, target, tuple(beads), order

    def __len__(self) -> int:
        return len(self.beads)

    @overload
    def __getitem__(self, index: int) -> Bead: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Bead]: ...

    def __getitem__(self, index: int | slice) -> Bead | Sequence[Bead]:
        return self.beads[index]

    def __repr__(self) -> str:
        return (
            f"SentenceAlignment({len(self)} beads of {len(self.source)} source and {len(self.target)} "
            "target sentences)"
        )

    def texts(self) -> Iterator[tuple[str, str, float]]:
        """Source text, target text and probability of every bead; a side without sentences is empty."""
        for bead in self.beads:
            source = " ".join(self.source.sentences[i] for i in bead.source)
            target = " ".join(self.target.sentences[j] for j in bead.target)
            yield source, target, bead.probability

    def pairs(self, min_probability: float = 0.0) -> list[tuple[str, str]]:
        """Texts of the beads that have both sides and at least this probability."""
        return [(s, t) for s, t, p in self.texts() if s and t and p >= min_probability]


def beads_of(path: NDArray[np.int32], probabilities: NDArray[np.float64]) -> list[Bead]:
    """Beads from the kinds along a path."""
    counts = KINDS[path]
    ends = np.cumsum(counts, axis=0)
    return [
        Bead(range(i - a, i), range(j - b, j), p)
        for (a, b), (i, j), p in zip(counts.tolist(), ends.tolist(), probabilities.tolist(), strict=True)
    ]
