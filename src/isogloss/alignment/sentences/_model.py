"""The score of beads, and what is learned of lengths, kinds and paragraphs from the text itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.sentences._bands import LatticeBand
from isogloss.alignment.sentences._beads import FIRST_COUNTS, KINDS, Bead, beads_of
from isogloss.alignment.sentences._lengths import MOST, LengthModel
from isogloss.alignment.sentences._words import Ratios, SentenceSide
from isogloss.kernels import Beads, explain_sentences

WORD_WEIGHT = 0.8
"""Weight of the mean of both directions' log-ratios: words of a sentence do not come independently."""

UNEXPLAINED = 0.2
"""Share of words that do not come from the other side."""

LENGTH_FLOOR = 0.01
"""Share of beads whose lengths say nothing."""

FIRST_SHARE = 0.5
"""Share of the paragraphs' ends that are taken to be the same on both sides, before anything is known."""

PARAGRAPH_PSEUDO = 5.0

ORDER_BEADS = 400
"""Beads on which the order of both sides is tested."""

NO_WORDS = np.empty((0, MOST), np.float32)

Single = NDArray[np.float32]
Words = tuple[NDArray[np.int32], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters that all documents share."""

    lengths: LengthModel
    kinds: NDArray[np.float64]
    """Counts of the kinds of beads."""
    paragraphs: NDArray[np.float64]
    """Counts of ends of beads by whether a source and a target paragraph ends (2 x 2)."""

    @classmethod
    def first(cls, sources: Sequence[SentenceSide], targets: Sequence[SentenceSide]) -> Parameters:
        """Before anything is aligned."""
        lengths = [np.concatenate([side.lengths for side in part]) for part in (sources, targets)]
        ends = [np.concatenate([side.ends for side in part]).mean() for part in (sources, targets)]
        both = FIRST_SHARE * min(ends) + (1 - FIRST_SHARE) * ends[0] * ends[1]
        paragraphs = np.array([[1 - ends[0] - ends[1] + both, ends[1] - both], [ends[0] - both, both]])
        return cls(LengthModel.first(*lengths), FIRST_COUNTS, np.maximum(paragraphs, 1e-4))

    def paragraph_ratios(self) -> NDArray[np.float64]:
        """Log-ratio of both ends of a bead together to each alone."""
        shares = self.paragraphs / self.paragraphs.sum()
        return np.asarray(np.log(shares / np.outer(shares.sum(axis=1), shares.sum(axis=0))).ravel())


@dataclass(eq=False)
class DocumentAlignment:
    """A document while it is aligned: its band, and the beads found last."""

    source: SentenceSide
    target: SentenceSide
    band: LatticeBand
    beads: Sequence[Bead] = ()
    counts: NDArray[np.float64] | None = None
    """Expected numbers of beads by kind."""

    def align(
        self, parameters: Parameters, ratios: tuple[Ratios, Ratios] | None, *, posteriors: bool = True
    ) -> float:
        """Find the best beads; return the log-likelihood ratio to sentences that have nothing in common."""
        beads = self._lattice(parameters, self._words(ratios))
        path, total = beads.best()
        probabilities = np.zeros(len(path))
        if posteriors:
            probabilities, self.counts, total = beads.posteriors(path)
        self.beads = beads_of(path, np.minimum(probabilities, 1.0))
        return total

    def order(self, parameters: Parameters, ratios: tuple[Ratios, Ratios]) -> float:
        """Gain per sentence over the target text reversed, in a stretch from the middle of the text."""
        middle = max(len(self.beads) - ORDER_BEADS, 0) // 2
        first, last = self.beads[middle], self.beads[middle : middle + ORDER_BEADS][-1]
        source = self.source[first.source.start : last.source.stop]
        target = self.target[first.target.start : last.target.stop]
        n, m = len(source), len(target)
        if not n or not m:
            return 0.0
        scores = [
            DocumentAlignment(source, side, LatticeBand.full(n, m)).align(
                parameters, ratios, posteriors=False
            )
            for side in (target, target.turned())
        ]
        return (scores[0] - scores[1]) / min(n, m)

    def narrow(self) -> None:
        """Look from now on at what is near the beads found last only."""
        self.band = LatticeBand.around(self.points, len(self.source), len(self.target))

    @property
    def points(self) -> NDArray[np.int64]:
        """Start nodes of the beads."""
        return np.array([(b.source.start, b.target.start) for b in self.beads], np.int64).reshape(-1, 2)

    def _lattice(self, parameters: Parameters, words: tuple[Single, Single]) -> Beads:
        """Everything that scores beads, for the compiled loops."""
        lengths, band = parameters.lengths, self.band
        source_lengths, precisions = lengths.source_arrays(self.source.lengths)
        target_lengths, backgrounds = lengths.target_arrays(self.target.lengths)
        return Beads(
            starts=band.starts,
            stops=band.stops,
            cells=band.cells,
            kinds=KINDS,
            log_kinds=np.log(parameters.kinds / parameters.kinds.sum()),
            source_lengths=source_lengths,
            precisions=precisions,
            target_lengths=target_lengths,
            backgrounds=backgrounds,
            log_ratio=lengths.log_ratio,
            floor=LENGTH_FLOOR,
            forward=words[0],
            backward=words[1],
            source_ends=self.source.ends,
            target_ends=self.target.ends,
            paragraphs=parameters.paragraph_ratios(),
        )

    def _words(self, ratios: tuple[Ratios, Ratios] | None) -> tuple[Single, Single]:
        """Log-ratios of words in both directions, if there are ratios."""
        if ratios is None:
            return NO_WORDS, NO_WORDS
        source, target = (
            np.where(np.diff(known[0])[side.words] > 0, side.words, np.int32(-1))
            for side, known in zip((self.source, self.target), ratios, strict=True)
        )
        left, right = (source, self.source.offsets), (target, self.target.offsets)
        return self._explained(left, right, ratios, False), self._explained(right, left, ratios[::-1], True)

    def _explained(self, side: Words, other: Words, ratios: tuple[Ratios, Ratios], backward: bool) -> Single:
        """Log-likelihood ratio of the sentences paired with the other side to the sentences alone."""
        band, (rows, columns, values) = self.band, ratios[0]
        n_other, out = len(ratios[1][0]) - 1, np.zeros((band.size, MOST), np.float32)
        where = band.starts, band.stops, band.cells
        explain_sentences(*side, *other, rows, columns, values, n_other, UNEXPLAINED, *where, backward, out)
        out *= WORD_WEIGHT / 2
        return out


def learn(
    parameters: Parameters, documents: Sequence[DocumentAlignment], min_probability: float
) -> Parameters:
    """Parameters from the beads found last."""
    kinds = FIRST_COUNTS + sum((d.counts for d in documents if d.counts is not None), np.zeros(len(KINDS)))
    lengths, paragraphs = [], PARAGRAPH_PSEUDO * parameters.paragraphs / parameters.paragraphs.sum()
    for document in documents:
        ends = document.source.ends, document.target.ends
        for bead in document.beads:
            if bead.source and bead.target:
                left, right = ends[0][bead.source], ends[1][bead.target]
                paragraphs[left[-1], right[-1]] += 1
                paragraphs[1, 0] += left[:-1].sum()
                paragraphs[0, 1] += right[:-1].sum()
                if bead.kind == (1, 1) and bead.probability >= min_probability:
                    lengths.append(
                        (document.source.lengths[bead.source[0]], document.target.lengths[bead.target[0]])
                    )
    pairs = np.array(lengths, np.float64).reshape(-1, 2)
    fitted = parameters.lengths.fit(pairs[:, 0], pairs[:, 1])
    return replace(parameters, lengths=fitted, kinds=kinds, paragraphs=paragraphs)
