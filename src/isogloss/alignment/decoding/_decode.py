"""From parameters to links: posteriors of every word pair, and the best alignment of each direction."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Bitext
from isogloss.alignment.decoding._links import Links
from isogloss.alignment.models import (
    AlignmentParameters,
    IndexedBitext,
    PairTable,
    PositionLayout,
    TrainingSettings,
    expect,
    side,
)
from isogloss.kernels import best_links, link_posteriors


class Reader:
    """Reads text with given parameters.

    ``classes`` are those of source and of target words; ``layout`` says where the tables over positions are,
    for models that have them.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        parameters: AlignmentParameters,
        table: PairTable,
        classes: tuple[NDArray[np.int32], NDArray[np.int32]],
        layout: PositionLayout | None = None,
    ) -> None:
        self.settings, self.parameters, self.table = settings, parameters, table
        self.classes, self.layout = classes, layout
        forward, backward = (side(parameters, d, classes[d]) for d in (0, 1))
        kind, _, null, uniform = settings.numbers()
        self._learned = (parameters.lexicon, (kind, 0, null, uniform), forward, backward, settings.threads)

    def index(self, bitext: Bitext) -> IndexedBitext:
        """A stretch of the text with its pairs and its tables over positions found."""
        offsets = None if self.layout is None else self.layout.offsets(bitext)
        return IndexedBitext(bitext, self.table, table_offsets=offsets)

    def log_likelihood(self, bitext: Bitext) -> float:
        """Links of each direction on its own."""
        return sum(self._log_likelihood(self.index(bitext[rows])) for rows in bitext.blocks())

    def _log_likelihood(self, text: IndexedBitext) -> float:
        alone = dataclasses.replace(self.settings, agreement=None)
        return float(expect(alone, self.classes, text, self.parameters).log_likelihood or 0.0)

    def posteriors(self, text: IndexedBitext) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The posterior of every cell in each direction, each direction on its own."""
        arrays = text.text()
        forward, backward = np.zeros((2, len(arrays.slots)), dtype=np.float32)
        link_posteriors(arrays, *self._learned, forward, backward)
        return forward, backward

    def best(self, bitext: Bitext) -> tuple[Links, Links]:
        """The best alignment of each direction: each generated word has one link or none."""
        forward, backward = self.origins(bitext)
        s, t = bitext.source, bitext.target
        f, b = np.flatnonzero(forward >= 0), np.flatnonzero(backward >= 0)
        f_sentence, b_sentence = sentence_of(t.offsets, f), sentence_of(s.offsets, b)
        return (
            Links.from_arrays(f_sentence, forward[f], f - t.offsets[f_sentence], n=len(bitext)),
            Links.from_arrays(b_sentence, b - s.offsets[b_sentence], backward[b], n=len(bitext)),
        )

    def origins(self, bitext: Bitext) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the source of each target word in the best alignment, and the reverse; -1 for none."""
        parts = [self._origins(bitext[rows]) for rows in bitext.blocks()]
        none = np.empty(0, dtype=np.int32)
        forward, backward = (
            (np.concatenate([none, *side]) for side in zip(*parts, strict=True)) if parts else (none, none)
        )
        return forward, backward

    def _origins(self, bitext: Bitext) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        text = self.index(bitext).text()
        forward, backward = (np.empty(len(side.words), np.int32) for side in (bitext.target, bitext.source))
        best_links(text, *self._learned, forward, backward)
        return forward, backward


def sentence_of(offsets: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sentence in which each position lies."""
    return np.searchsorted(offsets, position, side="right") - 1
