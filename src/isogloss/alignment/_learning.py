"""From settings and a text to parameters: what ``fit`` and ``partial_fit`` of an aligner have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._base import AlignerBase
from isogloss.alignment._bitext import Bitext
from isogloss.alignment._fertility_state import FertilityState
from isogloss.alignment.decoding import Reader
from isogloss.alignment.models import (
    TABLED,
    AlignmentParameters,
    FertilityOptions,
    FertilityParameters,
    FertilityTrained,
    FertilityTrainer,
    LexicalPrior,
    OnIteration,
    PairTable,
    PositionLayout,
    Priors,
    Progress,
    Stage,
    Trained,
    Trainer,
    TrainingSettings,
    WordClasses,
    exchange_classes,
    extend_parameters,
    first_parameters,
    jump_shape,
    lexical_prior,
    pseudo_fertilities,
    pseudo_jumps,
    solve_lexicon,
    start,
)
from isogloss.threads import count_threads

__all__ = ["Learner", "longest", "model_settings", "simple_reader"]

Array = NDArray[np.float64]
Classes = tuple[NDArray[np.int32], NDArray[np.int32]]

UNSEEN_COUNT = 1e-2
"""Pseudo-count of a pair that never occurs together, besides its spelling similarity."""


def model_settings(aligner: AlignerBase, model: str, lexical: LexicalPrior | None = None) -> TrainingSettings:
    """The settings of an aligner for one of its simple models."""
    return TrainingSettings(
        model,
        aligner.agreement,
        aligner.null,
        aligner.uniform,
        aligner.jump_pseudo,
        LexicalPrior() if lexical is None else lexical,
        count_threads(aligner.n_jobs),
        interpolate=aligner.interpolate,
    )


def longest(bitext: Bitext) -> int:
    """Words of the longest sentence."""
    return int(max(bitext.source.lengths.max(initial=1), bitext.target.lengths.max(initial=1)))


def simple_reader(aligner: AlignerBase, bitext: Bitext, model: str, classes: Classes) -> Reader:
    """A reader of text with one of the simple models of a fitted aligner.

    The lexicon of pairs that it has not seen is a guess from how they are spelt and what was known before.
    """
    known, settings = aligner.parameters_, model_settings(aligner, model)
    if model not in TABLED and _has_all_of(aligner, bitext):
        parameters = extend_parameters(known, aligner.table_.shape, longest(bitext))
        return Reader(settings, parameters, aligner.table_, classes)
    table = PairTable.of(bitext)
    learner, found = Learner.of(aligner, bitext, table, classes), table.find(aligner.table_)
    guess, _ = solve_lexicon(table, np.zeros((len(table), 2)), learner.lexical)
    lexicon = np.where(found[:, None] >= 0, known.lexicon[found], guess * UNSEEN_COUNT)
    layout = learner.layout((Stage(model, 1),))
    parameters = extend_parameters(known, table.shape, longest(bitext), layout)
    parameters = dataclasses.replace(parameters, lexicon=np.ascontiguousarray(lexicon, dtype=np.float32))
    return Reader(settings, parameters, table, classes, layout)


def _has_all_of(aligner: AlignerBase, bitext: Bitext) -> bool:
    """Return whether every word pair of a bitext is in the table of an aligner that numbers words alike."""
    alike = bitext.words == (aligner.source_words_, aligner.target_words_)
    return alike and all((aligner.table_.slots(bitext[rows]) >= 0).all() for rows in bitext.blocks())


@dataclasses.dataclass(frozen=True)
class Learner:
    """A text to learn from, and what is known before it is read."""

    aligner: AlignerBase
    """Its settings are looked at, and nothing is changed."""
    bitext: Bitext
    """The text."""
    table: PairTable
    """Pairs of the lexicon, among them all of the text."""
    classes: Classes
    """Classes of source and of target words, on which jumps depend."""
    lexical: LexicalPrior
    """Pseudo-counts of the lexicon."""
    jumps: tuple[Array, Array] | None
    """Pseudo-jumps by class and width, if any are known."""

    @classmethod
    def of(
        cls,
        aligner: AlignerBase,
        bitext: Bitext,
        table: PairTable,
        classes: Classes,
    ) -> Learner:
        """With the priors of an aligner."""
        known, words = _known(aligner), bitext.words
        lexical = lexical_prior(
            table, *words, aligner.spelling, known.translations, aligner.pseudo_count, aligner.bayes
        )
        jumps = pseudo_jumps(known, words, classes, longest(bitext), aligner.jump_pseudo)
        return cls(aligner, bitext, table, classes, lexical, jumps)

    def after(
        self,
        counts: NDArray[np.float32],
        parameters: AlignmentParameters,
        totals: tuple[Array, Array],
    ) -> Learner:
        """The same with what another text has taught: counts of pairs, jumps and how many there were."""
        pairs = counts if self.lexical.pairs is None else counts + self.lexical.pairs[:, None]
        weights = parameters.jumps_forward, parameters.jumps_backward
        base = self.jumps or (self.aligner.jump_pseudo * jump_shape(w.shape[1] // 2) for w in weights)
        forward, backward = (
            extra + w / w.sum(axis=1, keepdims=True) * total[:, None]
            for extra, w, total in zip(base, weights, totals, strict=True)
        )
        lexical = dataclasses.replace(self.lexical, pairs=pairs)
        return dataclasses.replace(self, lexical=lexical, jumps=(forward, backward))

    def layout(self, stages: Sequence[Stage]) -> PositionLayout | None:
        """Position tables, if any of the models has them."""
        return PositionLayout([self.bitext]) if any(stage.model in TABLED for stage in stages) else None

    def simple(
        self,
        stages: Sequence[Stage],
        first: AlignmentParameters | None = None,
        *,
        on_iteration: OnIteration | None = None,
        resume: Progress | None = None,
    ) -> Trained:
        """Train simple models, from parameters that know nothing or from given ones."""
        a, layout = self.aligner, self.layout(stages)
        settings = model_settings(a, stages[-1].model, self.lexical)
        settings = dataclasses.replace(settings, pseudo_jumps=self.jumps)
        trainer = Trainer(self.table, self.classes, layout, settings, a._engine(), a.prune)
        source = trainer.source(self.bitext, a.batch_pairs, a.keep_index)
        begin = self._first(layout) if first is None else first
        return trainer.run(source, stages, begin, on_iteration=on_iteration, resume=resume)

    def fertile(
        self,
        stages: Sequence[tuple[int, Stage]],
        simple: Trained,
        before: str,
        *,
        state: FertilityState | None = None,
        on_iteration: OnIteration | None = None,
        resume: Progress | None = None,
    ) -> tuple[FertilityTrained, FertilityState]:
        """Train fertility models after the simple ones, of which ``before`` was the last.

        With a ``state`` the last of them goes on from there, its counts beside those of this text.
        """
        a, options = self.aligner, _options(self.aligner)
        layout = PositionLayout([self.bitext], *([] if state is None else [state.shapes]))
        classes, counted, begin = self._known_of_fertility(simple, layout, state)
        known = pseudo_fertilities(_known(a), self.bitext.words, options.most_fertile)
        lexical = self.lexical.select(simple.table.find(self.table)) if a.prune else self.lexical
        model, threads = stages[-1][1].model, count_threads(a.n_jobs)
        settings = options.settings(model, lexical, threads, _sum(known, counted))
        trainer = FertilityTrainer(simple, layout, classes, settings, a._engine(), bool(a.prune))
        if state is not None:
            resume = Progress(stages[0][0], 0, simple.parameters)
        if resume is not None and resume.fertility is not None:
            begin, starts = resume.fertility.parameters, resume.fertility.starts
        else:
            places = self.layout((Stage(before, 1),))
            reader = Reader(model_settings(a, before), simple.parameters, simple.table, self.classes, places)
            starts = reader.origins(self.bitext)
        batches = trainer.batches(self.bitext, starts, a.batch_pairs, a.keep_index)
        trained = trainer.run(batches, stages, begin, on_iteration=on_iteration, resume=resume)
        return trained, FertilityState.of(trained, classes, layout, counted)

    def _known_of_fertility(
        self, simple: Trained, layout: PositionLayout, state: FertilityState | None
    ) -> tuple[WordClasses, dict[str, Array], FertilityParameters]:
        """Word classes, what was counted in other text, and parameters to begin with."""
        if state is not None:
            shape = self.table.shape
            begin = state.grown(simple.parameters, shape, layout)
            return state.classes(shape), state.grown_counts(shape, layout), begin
        options = _options(self.aligner)
        n, m = (max(1, min(options.n_classes, words)) for words in self.table.shape)
        of = exchange_classes(self.bitext.source, n), exchange_classes(self.bitext.target, m)
        classes = WordClasses(of, (n, m))
        begin = first_parameters(simple.parameters, simple.table, layout, classes, options.most_fertile)
        return classes, {}, begin

    def _first(self, layout: PositionLayout | None) -> AlignmentParameters:
        """Parameters that know what was known beforehand, and nothing else."""
        n_classes = int(self.classes[0].max(initial=0)) + 1, int(self.classes[1].max(initial=0)) + 1
        parameters = start(self.table, layout, longest(self.bitext), n_classes)
        if self.jumps is not None:
            forward, backward = (jumps / jumps.sum(axis=1, keepdims=True) for jumps in self.jumps)
            parameters = dataclasses.replace(parameters, jumps_forward=forward, jumps_backward=backward)
        if not self.lexical.bayes:
            return parameters
        lexicon, posterior = solve_lexicon(self.table, np.ones((len(self.table), 2)), self.lexical)
        return dataclasses.replace(parameters, lexicon=lexicon, posterior=posterior)


def _known(aligner: AlignerBase) -> Priors:
    priors: Priors = Priors() if aligner.priors is None else aligner.priors
    return priors.in_forms(aligner.forms)


def _options(aligner: AlignerBase) -> FertilityOptions:
    return aligner.fertility or FertilityOptions()


def _sum(known: dict[str, Array], counted: dict[str, Array]) -> dict[str, Array]:
    """Both tables, added where both have one."""
    return counted | {name: table + counted.get(name, 0) for name, table in known.items()}
