"""A schedule of models over one text, each starting from what the one before has learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Bitext
from isogloss.alignment.models._pairs import IndexedBitext, PairTable
from isogloss.alignment.models._positions import PositionLayout
from isogloss.alignment.models._schedule import Progress, Stage
from isogloss.alignment.models._steps import AlignmentParameters, TrainingSettings, alignment_model
from isogloss.em import FullExpectation, Iteration, run_em
from isogloss.engine import Batches, Engine

OnIteration = Callable[[Progress, Iteration], bool | None]
"""Called after every E-step; a true answer stops the fit."""


class Trained(NamedTuple):
    """The result of a schedule: parameters, their table, and the sums of the last E-step.

    ``jumps`` are the expected numbers of jumps by class, forward and backward; ``bits_per_word`` has the
    cross-entropy at every E-step.
    """

    parameters: AlignmentParameters
    table: PairTable
    counts: NDArray[np.float64]
    jumps: tuple[NDArray[np.float64], NDArray[np.float64]]
    bits_per_word: list[float]
    stopped: bool = False


@dataclasses.dataclass(frozen=True)
class Trainer:
    """State shared by the stages of a schedule."""

    table: PairTable
    """Pairs of the lexicon."""
    classes: tuple[NDArray[np.int32], NDArray[np.int32]]
    """Classes of source and of target words."""
    layout: PositionLayout | None
    """Position tables, for models that have them."""
    settings: TrainingSettings
    """Settings of every stage, except the model."""
    engine: Engine
    """The engine that runs the sums."""
    prune: float = 0.0
    """After every iteration, pairs whose probability is below this in both directions leave the table."""

    def source(self, bitext: Bitext, batch_pairs: int | None, keep: bool | None) -> Batches[IndexedBitext]:
        """The text in batches with their word pairs resolved."""
        size = batch_pairs or max(len(bitext), 1)
        parts = [bitext[k : k + size] for k in range(0, len(bitext), size)]
        offsets = [None if self.layout is None else self.layout.offsets(part) for part in parts]
        indexed = partial(IndexedBitext, table=self.table, keep=keep, threads=self.settings.threads)
        return Batches([indexed(part, table_offsets=at) for part, at in zip(parts, offsets, strict=True)])

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
        none = np.zeros(len(parameters.jumps_forward)), np.zeros(len(parameters.jumps_backward))
        now = Trained(parameters, self.table, np.zeros((len(self.table), 2)), none, [])
        trainer = self
        if resume is not None:
            now = now._replace(parameters=resume.parameters)
            if resume.table is not None:
                trainer = self._over(resume.table, resume.table.find(self.table), source)
                now = now._replace(table=resume.table, counts=np.zeros((len(resume.table), 2)))
        for number, stage in enumerate(stages):
            done = 0 if resume is None else iterations_done(resume, number, stage)
            while done < stage.iterations and not now.stopped:
                steps = 1 if self.prune else stage.iterations - done
                place = partial(_place, number, done, trainer.table if self.prune else None)
                report = Report(now.bits_per_word, on_iteration, place)
                now = trainer._stage(source, stage.model, steps, now, report)
                trainer, now = trainer._pruned(source, now) if self.prune else (trainer, now)
                done += steps
        return now

    def _pruned(self, source: Batches[IndexedBitext], now: Trained) -> tuple[Trainer, Trained]:
        """Everything over the pairs that are still likely in one direction or the other."""
        keep = np.asarray((now.parameters.lexicon >= self.prune).any(axis=1))
        table = self.table.select(keep)
        p = now.parameters
        posterior = p.posterior[keep] if len(p.posterior) else p.posterior
        less = dataclasses.replace(p, lexicon=p.lexicon[keep], posterior=posterior)
        trainer = self._over(table, np.flatnonzero(keep), source)
        return trainer, now._replace(parameters=less, table=table, counts=now.counts[keep])

    def _over(self, table: PairTable, kept: NDArray[np.int64], source: Batches[IndexedBitext]) -> Trainer:
        """A trainer over a table of the pairs ``kept`` alone, to which the text goes over too."""
        to = np.full(len(self.table), -1, dtype=np.int32)
        to[kept] = np.arange(len(table), dtype=np.int32)
        settings = dataclasses.replace(self.settings, lexical=self.settings.lexical.select(kept))
        for batch in source.batches:
            batch.move(table, to)
        return dataclasses.replace(self, table=table, settings=settings)

    def _stage(
        self,
        source: Batches[IndexedBitext],
        name: str,
        iterations: int,
        now: Trained,
        report: Report,
    ) -> Trained:
        parameters = now.parameters
        if name == "diagonal" and self.layout is not None:
            forward, backward = self.layout.diagonal(parameters.tension)
            parameters = dataclasses.replace(parameters, table_forward=forward, table_backward=backward)
        settings = dataclasses.replace(self.settings, model=name)
        model = alignment_model(settings, self.table, self.classes, self.layout)
        expectation = FullExpectation(model, source, self.engine)
        result = run_em(
            model, expectation, parameters, tol=-np.inf, max_iter=iterations - 1, callbacks=[report]
        )
        found = result.statistic
        return now._replace(
            parameters=model.solve(found, result.parameters),
            counts=found["links"],
            jumps=(found["jumps_forward"].sum(axis=1), found["jumps_backward"].sum(axis=1)),
            stopped=report.stopped,
        )


class Report:
    """Turns the loop's trace into bits per word, and hands it on.

    ``place`` returns where training stands after so many steps of the loop.
    """

    def __init__(
        self, bits: list[float], on_iteration: OnIteration | None, place: Callable[[int, Any], Progress]
    ) -> None:
        self.bits, self.on_iteration, self.place = bits, on_iteration, place
        self.stopped = False

    def __call__(self, line: Iteration, parameters: Any) -> bool:
        """Note one E-step; true to stop."""
        likelihood = line.free_energy.log_likelihood
        if likelihood is not None:
            self.bits.append(-likelihood / line.rows / float(np.log(2)))
        if self.on_iteration is not None:
            self.stopped = bool(self.on_iteration(self.place(line.index, parameters), line))
        return self.stopped


def _place(stage: int, done: int, table: PairTable | None, steps: int, parameters: Any) -> Progress:
    return Progress(stage, done + steps, parameters, table)


def iterations_done(resume: Progress, number: int, stage: Stage) -> int:
    """Iterations of a stage that were done before."""
    if number < resume.stage:
        return stage.iterations
    return resume.iteration if number == resume.stage else 0
