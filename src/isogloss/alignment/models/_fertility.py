"""IBM Models 3, 4 and 5 over one text, each starting from what the model before has learned.

Each begins with the best alignments of the one before. The two directions train on their own and are joined
when text is aligned. Sentence pairs with more than 126 words on a side, or with more than twice
``most_fertile`` times as many words on one side as on the other, are left to the simple models.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss._estimator import NON_NEGATIVE, OPEN_SHARE, POSITIVE_INT, check_fields
from isogloss.alignment._bitext import Bitext
from isogloss.alignment.models._fertility_steps import (
    FertilityParameters,
    FertilitySettings,
    FertilityText,
    WordClasses,
    climb,
    fertility_model,
    handed_on,
)
from isogloss.alignment.models._lexical import LexicalPrior
from isogloss.alignment.models._pairs import IndexedBitext
from isogloss.alignment.models._positions import PositionLayout
from isogloss.alignment.models._schedule import FertilityProgress, Progress, Stage
from isogloss.alignment.models._training import OnIteration, Report, Trained, iterations_done
from isogloss.em import FullExpectation, run_em
from isogloss.engine import Batches, Engine
from isogloss.stats import ExpectedCounts

Array = NDArray[np.float64]
Starts = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclasses.dataclass(frozen=True)
class FertilityOptions:
    """Settings of IBM Models 3, 4 and 5.

    Parameters
    ----------
    n_classes : int
        Word classes of either language, on which displacements depend.
    most_fertile : int
        The most words that one word can generate.
    null : float or None
        Chance of a word from nothing beside each other word; None learns it.
    fertility_pseudo, distortion_pseudo : float
        Pseudo-counts per word and per context, spread like the average.
    """

    n_classes: int = 50
    most_fertile: int = 9
    null: float | None = None
    fertility_pseudo: float = 20.0
    distortion_pseudo: float = 25.0

    def check(self) -> None:
        """Refuse what cannot be."""
        check_fields(
            self,
            {
                "n_classes": [POSITIVE_INT],
                "most_fertile": [POSITIVE_INT],
                "null": [OPEN_SHARE, None],
                "fertility_pseudo": [NON_NEGATIVE],
                "distortion_pseudo": [NON_NEGATIVE],
            },
        )

    def settings(
        self, model: str, lexical: LexicalPrior, threads: int, before: Mapping[str, Array]
    ) -> FertilitySettings:
        """Settings of the steps of one model."""
        return FertilitySettings(
            model,
            null=self.null,
            fertility_pseudo=self.fertility_pseudo,
            distortion_pseudo=self.distortion_pseudo,
            lexical=lexical,
            threads=threads,
            before=before,
        )


class FertilityTrained(NamedTuple):
    """Parameters, and the sums of the last E-step."""

    parameters: FertilityParameters
    found: ExpectedCounts


@dataclasses.dataclass(frozen=True)
class FertilityTrainer:
    """State shared by the fertility models of a schedule."""

    simple: Trained
    """Parameters of the simple models, and the pairs they were learned from."""
    layout: PositionLayout
    """Position tables of Model 3."""
    classes: WordClasses
    """On which displacements depend."""
    settings: FertilitySettings
    """Settings of every stage, except the model."""
    engine: Engine
    """The engine that runs the sums."""
    pruned: bool = False
    """Whether pairs were dropped, so that the progress has to tell which are left."""

    def batches(
        self, bitext: Bitext, starts: Starts, batch_pairs: int | None, keep: bool | None
    ) -> list[FertilityText]:
        """The text in batches, with the alignments from which to climb."""
        size = batch_pairs or max(len(bitext), 1)
        out = []
        for first in range(0, len(bitext), size):
            part, ends = bitext[first : first + size], [first, min(first + size, len(bitext))]
            text = IndexedBitext(part, self.simple.table, table_offsets=self.layout.offsets(part), keep=keep)
            forward = starts[0][slice(*bitext.target.offsets[ends])]
            out.append(FertilityText(text, (forward, starts[1][slice(*bitext.source.offsets[ends])])))
        return out

    def run(
        self,
        batches: list[FertilityText],
        stages: Sequence[tuple[int, Stage]],
        parameters: FertilityParameters,
        *,
        on_iteration: OnIteration | None = None,
        resume: Progress | None = None,
    ) -> FertilityTrained:
        """Train numbered stages one by one; with ``resume``, ``parameters`` are of a stage that has begun."""
        now: FertilityTrained | None = None
        settings = self.settings
        for number, stage in stages:
            done = 0 if resume is None else iterations_done(resume, number, stage)
            if done >= stage.iterations:
                continue
            if now is not None:
                parameters = now.parameters
                batches = [self._climbed(settings, batch, parameters) for batch in batches]
            settings = dataclasses.replace(self.settings, model=stage.model)
            if resume is None or number > resume.stage:
                parameters = self._begin(settings, batches, parameters, first=now is None)
            report = Report(self.simple.bits_per_word, on_iteration, self._place(number, done, batches))
            now = self._stage(settings, batches, stage.iterations - done, parameters, report)
            if report.stopped:
                break
        if now is None:
            raise ValueError("a schedule with no iterations left; expected at least one")
        return now

    def _climbed(
        self, settings: FertilitySettings, batch: FertilityText, p: FertilityParameters
    ) -> FertilityText:
        return dataclasses.replace(batch, starts=climb(settings, self.classes, batch, p))

    def _begin(
        self,
        settings: FertilitySettings,
        batches: list[FertilityText],
        p: FertilityParameters,
        *,
        first: bool,
    ) -> FertilityParameters:
        """Count from the given alignments what the model before did not have."""
        given = dataclasses.replace(settings, search="given")
        model = fertility_model(given, self.simple.table, self.layout, self.classes)
        found = FullExpectation(model, Batches(batches), self.engine)(p)
        return handed_on(p, model.solve(found, p), first=first)

    def _stage(
        self,
        settings: FertilitySettings,
        batches: list[FertilityText],
        iterations: int,
        parameters: FertilityParameters,
        report: Report,
    ) -> FertilityTrained:
        model = fertility_model(settings, self.simple.table, self.layout, self.classes)
        expectation = FullExpectation(model, Batches(batches), self.engine)
        result = run_em(
            model, expectation, parameters, tol=-np.inf, max_iter=iterations - 1, callbacks=[report]
        )
        return FertilityTrained(model.solve(result.statistic, result.parameters), result.statistic)

    def _place(
        self, number: int, done: int, batches: list[FertilityText]
    ) -> Callable[[int, FertilityParameters], Progress]:
        forward, backward = (np.concatenate([batch.starts[d] for batch in batches]) for d in (0, 1))
        simple, table = self.simple, self.simple.table if self.pruned else None

        def place(steps: int, parameters: FertilityParameters) -> Progress:
            fertility = FertilityProgress(parameters, (forward, backward), simple.jumps)
            return Progress(number, done + steps, simple.parameters, table, fertility)

        return place
