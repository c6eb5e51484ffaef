"""The fitted fertility models of an aligner, and alignment of text with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Bitext
from isogloss.alignment.decoding import Reader
from isogloss.alignment.models import (
    DIRECTIONS,
    REACH,
    AlignmentParameters,
    FertilityParameters,
    FertilitySettings,
    FertilityText,
    FertilityTrained,
    IndexedBitext,
    PositionLayout,
    WordClasses,
    carried,
    carried_places,
    climb,
    link_probabilities,
    log_probabilities,
)

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.int32]


@dataclasses.dataclass(frozen=True)
class FertilityState:
    """The parameters of the fertility models and the counts of their last E-step.

    Parameters
    ----------
    parameters : FertilityParameters
        Of the last model.
    source_classes, target_classes : array of int
        Classes of words, on which displacements depend.
    n_classes : pair of int
        How many there are of source and of target words.
    shapes : array, shape (n, 2)
        The pairs of sentence lengths that have a table in Model 3.
    counts : dict of str to array
        Sums of the last E-step, but for the links.
    """

    parameters: FertilityParameters
    source_classes: Indices
    target_classes: Indices
    n_classes: tuple[int, int]
    shapes: NDArray[np.int64]
    counts: dict[str, Array]

    @classmethod
    def of(
        cls,
        trained: FertilityTrained,
        classes: WordClasses,
        layout: PositionLayout,
        before: Mapping[str, Array],
    ) -> FertilityState:
        """Return the result of training, with the counts ``before`` added to the new ones."""
        counts = {
            name: table + before[name] if name in before else table
            for name, table in trained.found.tables.items()
            if name != "links"
        }
        return cls(trained.parameters, *classes.of, classes.n, layout.shapes, counts)

    def classes(self, shape: tuple[int, int]) -> WordClasses:
        """Classes for vocabularies that may have grown."""
        of = _longer(self.source_classes, shape[0]), _longer(self.target_classes, shape[1])
        return WordClasses(of, self.n_classes)

    def grown(
        self, known: AlignmentParameters, shape: tuple[int, int], layout: PositionLayout
    ) -> FertilityParameters:
        """Parameters for the words and lengths of other text; new words have the average fertility."""
        new = {}
        for d, name in enumerate(DIRECTIONS):
            fertility = getattr(self.parameters, f"fertility_{name}")
            extra = np.tile(fertility.mean(axis=0), (shape[d] - len(fertility), 1))
            new[f"fertility_{name}"] = np.concatenate([fertility, extra])
            places = getattr(self.parameters, f"places_{name}")
            new[f"places_{name}"] = carried_places(self.shapes, places, layout, d)
            new[f"null_{name}"] = getattr(known, f"null_{name}")
        return dataclasses.replace(self.parameters, lexicon=known.lexicon, **new)

    def grown_counts(self, shape: tuple[int, int], layout: PositionLayout) -> dict[str, Array]:
        """The sums for larger vocabularies and other lengths, with nothing counted of what is new."""
        out = dict(self.counts)
        for d, name in enumerate(DIRECTIONS):
            for kind, n in (("fertility", shape[d]), ("null", shape[1 - d])):
                table = out[f"{kind}_{name}"]
                extra = np.zeros((n - len(table), *table.shape[1:]))
                out[f"{kind}_{name}"] = np.concatenate([table, extra])
            places = out[f"places_{name}"]
            out[f"places_{name}"] = carried(self.shapes, places, layout, np.zeros(layout.size))
        return out


class FertilityReader(Reader):
    """Reads text with a fertility model, and with a simple one what is too long for it or too uneven.

    The search climbs from the alignments of the simple model. ``bitext`` is all the text that is going to be
    read.
    """

    def __init__(
        self, simple: Reader, settings: FertilitySettings, state: FertilityState, bitext: Bitext
    ) -> None:
        layout = PositionLayout([bitext])
        super().__init__(simple.settings, simple.parameters, simple.table, simple.classes, layout)
        self.fertility_settings = settings
        self.fertility = state.grown(simple.parameters, simple.table.shape, layout)
        self.word_classes = state.classes(simple.table.shape)

    def posteriors(self, text: IndexedBitext) -> tuple[Single, Single]:
        """Probability of every cell over the best alignment that was found and its neighbours."""
        bitext, batch = text.bitext, self._batch(text)
        found = link_probabilities(self.fertility_settings, self.word_classes, batch, self.fertility)
        simple, cells = super().posteriors(text), np.diff(bitext.cells)
        forward, backward = (
            np.where(np.repeat(self._fits(bitext, d), cells), found[d], simple[d]).astype(np.float32)
            for d in (0, 1)
        )
        return forward, backward

    def _origins(self, bitext: Bitext) -> tuple[Indices, Indices]:
        batch = self._batch(self.index(bitext))
        return climb(self.fertility_settings, self.word_classes, batch, self.fertility)

    def _log_likelihood(self, text: IndexedBitext) -> float:
        batch = self._batch(text)
        found = log_probabilities(self.fertility_settings, self.word_classes, batch, self.fertility)
        bitext = text.bitext
        fits = self._fits(bitext, 0) & self._fits(bitext, 1)
        left = (self.index(bitext[row : row + 1]) for row in np.flatnonzero(~fits).tolist())
        return float(found[:, fits].sum()) + sum(map(super()._log_likelihood, left))

    def _batch(self, text: IndexedBitext) -> FertilityText:
        return FertilityText(text, super()._origins(text.bitext))

    def _fits(self, bitext: Bitext, direction: int) -> NDArray[np.bool_]:
        """Sentence pairs that the model can read in a direction."""
        lengths = bitext.source.lengths, bitext.target.lengths
        made, by = lengths[1 - direction], lengths[direction]
        most = self.fertility.fertility_forward.shape[1] - 1
        return np.asarray((np.maximum(*lengths) <= REACH) & (made <= 2 * most * by))


def _longer(classes: Indices, n: int) -> Indices:
    """New words are in the class that has most words."""
    common = np.bincount(classes).argmax() if len(classes) else 0
    return np.append(classes, np.full(n - len(classes), common)).astype(np.int32)
