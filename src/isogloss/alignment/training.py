"""A schedule of models over one text, each starting from what the one before has learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.bitext import Bitext
from isogloss.alignment.pairs import IndexedBitext, PairTable
from isogloss.alignment.positions import PositionLayout
from isogloss.alignment.schedule import Progress, Stage
from isogloss.alignment.steps import AlignmentParameters, Settings, alignment_model
from isogloss.em import FullExpectation, Iteration, run_em
from isogloss.engine import Batches, Engine

__all__ = ["OnIteration", "Trained", "Trainer"]

OnIteration = Callable[[Progress, Iteration], bool | None]
"""Called after every E-step; a true answer stops the fit."""


class Trained(NamedTuple):
    """Parameters, the expected counts of the last E-step, and the cross-entropy at every one."""

    parameters: AlignmentParameters
    counts: NDArray[np.float64]
    bits_per_word: list[float]


@dataclasses.dataclass(frozen=True)
class Trainer:
    """What the stages of a schedule share.

    Parameters
    ----------
    table : PairTable
        Pairs of the lexicon.
    classes : pair of int arrays
        Classes of source and of target words.
    layout : PositionLayout or None
        Position tables, for models that have them.
    settings : Settings
        Of every stage, but for the model.
    engine : Engine
        Where the sums run.
    """

    table: PairTable
    classes: tuple[NDArray[np.int32], NDArray[np.int32]]
    layout: PositionLayout | None
    settings: Settings
    engine: Engine

    def source(self, bitext: Bitext, batch_pairs: int | None, keep: bool) -> Batches[IndexedBitext]:
        """The text in batches with their word pairs resolved."""
        size = batch_pairs or max(len(bitext), 1)
        parts = [bitext[k : k + size] for k in range(0, len(bitext), size)]
        offsets = [None if self.layout is None else self.layout.offsets(part) for part in parts]
        return Batches(
            [
                IndexedBitext(part, self.table, table_offsets=at, keep=keep)
                for part, at in zip(parts, offsets, strict=True)
            ]
        )

    def run(
        self,
        source: Batches[IndexedBitext],
        stages: Sequence[Stage],
        parameters: AlignmentParameters,
        *,
        on_iteration: OnIteration | None = None,
        resume: Progress | None = None,
    ) -> Trained:
        """Train stage by stage; an iteration is one E-step and the M-step after it."""
        counts: NDArray[np.float64] = np.zeros((len(self.table), 2))
        bits: list[float] = []
        if resume is not None:
            parameters = resume.parameters
        for number, stage in enumerate(stages):
            done = 0 if resume is None else _done(resume, number, stage)
            if done >= stage.iterations:
                continue
            report = _Report(number, done, bits, on_iteration)
            parameters, counts = self._stage(source, stage.model, stage.iterations - done, parameters, report)
            if report.stopped:
                break
        return Trained(parameters, counts, bits)

    def _stage(
        self,
        source: Batches[IndexedBitext],
        name: str,
        iterations: int,
        parameters: AlignmentParameters,
        report: _Report,
    ) -> tuple[AlignmentParameters, NDArray[np.float64]]:
        if name == "diagonal" and self.layout is not None:
            forward, backward = self.layout.diagonal(parameters.tension)
            parameters = dataclasses.replace(parameters, table_forward=forward, table_backward=backward)
        settings = dataclasses.replace(self.settings, model=name)
        model = alignment_model(settings, self.table, self.classes, self.layout)
        expectation = FullExpectation(model, source, self.engine)
        result = run_em(
            model, expectation, parameters, tol=-np.inf, max_iter=iterations - 1, callbacks=[report]
        )
        return model.solve(result.statistic, result.parameters), result.statistic["links"]


class _Report:
    """Turns the loop's trace into bits per word, and hands it on."""

    def __init__(self, stage: int, done: int, bits: list[float], on_iteration: OnIteration | None) -> None:
        self.stage, self.done, self.bits, self.on_iteration = stage, done, bits, on_iteration
        self.stopped = False

    def __call__(self, line: Iteration, parameters: Any) -> bool:
        likelihood = line.free_energy.log_likelihood
        if likelihood is not None:
            self.bits.append(-likelihood / line.rows / float(np.log(2)))
        if self.on_iteration is not None:
            progress = Progress(self.stage, self.done + line.index, parameters)
            self.stopped = bool(self.on_iteration(progress, line))
        return self.stopped


def _done(resume: Progress, number: int, stage: Stage) -> int:
    """Iterations of a stage that were done before."""
    if number < resume.stage:
        return stage.iterations
    return resume.iteration if number == resume.stage else 0
