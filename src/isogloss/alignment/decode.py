"""From parameters to links: posteriors of every word pair, and the best alignment of each direction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.bitext import Bitext
from isogloss.alignment.links import Links
from isogloss.alignment.pairs import IndexedBitext, PairTable
from isogloss.alignment.steps import AlignmentParameters, Settings, side
from isogloss.kernels import best_links, link_posteriors

__all__ = ["Reader"]

BLOCK_CELLS = 20_000_000
"""Word pairs whose posteriors are held at a time."""


class Reader:
    """Reads text with given parameters.

    Parameters
    ----------
    settings : Settings
        Which model, with how many threads.
    parameters : AlignmentParameters
        What it has learned.
    table : PairTable
        The pairs of the lexicon.
    classes : pair of int arrays
        Classes of source and of target words.
    """

    def __init__(
        self,
        settings: Settings,
        parameters: AlignmentParameters,
        table: PairTable,
        classes: tuple[NDArray[np.int32], NDArray[np.int32]],
    ) -> None:
        self.settings, self.parameters, self.table = settings, parameters, table
        self.forward, self.backward = (side(parameters, d, classes[d]) for d in (0, 1))
        kind, _, null, uniform = settings.numbers()
        self.numbers = kind, 0, null, uniform

    def posteriors(self, text: IndexedBitext) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The posterior of every cell in each direction, each direction on its own."""
        arrays = text.text()
        forward, backward = np.zeros((2, len(arrays.slots)), dtype=np.float32)
        link_posteriors(
            arrays,
            self.parameters.lexicon,
            self.numbers,
            self.forward,
            self.backward,
            self.settings.threads,
            forward,
            backward,
        )
        return forward, backward

    def agreed(self, bitext: Bitext, threshold: float) -> Links:
        """Links whose geometric mean of the two posteriors exceeds ``threshold``, with that mean."""
        parts = [self._agreed(block, threshold) for block in self._blocks(bitext)]
        return Links.concatenate(parts) if parts else Links([0], [], [], [])

    def best(self, bitext: Bitext) -> tuple[Links, Links]:
        """The best alignment of each direction: each generated word has one link or none."""
        text = IndexedBitext(bitext, self.table)
        s, t = bitext.source, bitext.target
        forward, backward = np.empty(len(t.words), np.int32), np.empty(len(s.words), np.int32)
        best_links(
            text.text(),
            self.parameters.lexicon,
            self.numbers,
            self.forward,
            self.backward,
            self.settings.threads,
            forward,
            backward,
        )
        f, b = np.flatnonzero(forward >= 0), np.flatnonzero(backward >= 0)
        f_sentence, b_sentence = _sentence_of(t.offsets, f), _sentence_of(s.offsets, b)
        return (
            Links.from_arrays(f_sentence, forward[f], f - t.offsets[f_sentence], n=len(bitext)),
            Links.from_arrays(b_sentence, b - s.offsets[b_sentence], backward[b], n=len(bitext)),
        )

    def _blocks(self, bitext: Bitext) -> Iterator[Bitext]:
        cells, start = bitext.cells, 0
        while start < len(bitext):
            stop = int(np.searchsorted(cells, cells[start] + BLOCK_CELLS, side="right")) - 1
            stop = min(max(stop, start + 1), len(bitext))
            yield bitext[start:stop]
            start = stop

    def _agreed(self, bitext: Bitext, threshold: float) -> Links:
        forward, backward = self.posteriors(IndexedBitext(bitext, self.table))
        mean = np.sqrt(forward * backward)
        found = np.flatnonzero(mean > threshold)
        cells = bitext.cells
        sentence = _sentence_of(cells, found)
        source, target = np.divmod(found - cells[sentence], bitext.target.lengths[sentence])
        offsets = np.concatenate([[0], np.cumsum(np.bincount(sentence, minlength=len(bitext)))])
        return Links(offsets, source, target, mean[found])


def _sentence_of(offsets: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sentence in which each position lies."""
    return np.searchsorted(offsets, position, side="right") - 1
