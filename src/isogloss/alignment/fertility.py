"""The fertility aligner: IBM Models 3, 4 and 5 after simpler ones, each direction on its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from isogloss.alignment.aligner import Aligner
from isogloss.alignment.bitext import Bitext, WordForms
from isogloss.alignment.classes import exchange_classes
from isogloss.alignment.decode import Reader
from isogloss.alignment.distortion import carried_places
from isogloss.alignment.fertility_steps import (
    FERTILITY_MODELS,
    FertilityParameters,
    FertilitySettings,
    FertilityText,
    WordClasses,
    climb,
    fertility_model,
    first_parameters,
    handed_on,
)
from isogloss.alignment.knowledge import lexical_prior
from isogloss.alignment.lexical import LexicalPrior
from isogloss.alignment.links import Links
from isogloss.alignment.pairs import IndexedBitext
from isogloss.alignment.positions import PositionLayout
from isogloss.alignment.schedule import Stage, parse_schedule
from isogloss.alignment.steps import DIRECTIONS, Settings
from isogloss.alignment.symmetrise import symmetrise
from isogloss.em import FullExpectation, Iteration, run_em
from isogloss.engine import Batches, LocalEngine
from isogloss.linalg.threads import count_threads

__all__ = ["FertilityAligner"]

Indices = NDArray[np.int32]


class FertilityAligner(BaseEstimator):
    """Word alignment by IBM Models 3, 4 and 5.

    Each model starts from the best alignments of the one before it and from what that one has learned. The
    two directions train on their own and are joined when text is aligned. Sentence pairs with more than 126
    words on a side, or with more than 18 times as many words on one side as on the other, are left to the
    simpler models.

    Time is that of a few hundred alignments per sentence pair and iteration; memory is 4 bytes per word pair
    for the index and 24 per different word pair.

    Parameters
    ----------
    schedule : str
        Models and their numbers of iterations; simple ones (``1``, ``2``, ``diagonal``, ``hmm``) first, then
        ``3``, ``4`` and ``5``, of which any may be left out.
    agreement : None, 'product' or 'mutual'
        How the directions agree in the simple models, see :class:`~isogloss.alignment.Aligner`.
    n_classes : int
        Word classes of either language, on which displacements depend.
    most_fertile : int
        The most words that one word can generate.
    null : float or None
        Chance of a word from nothing beside each other word; None learns it.
    fertility_pseudo, distortion_pseudo : float
        Pseudo-counts per word and per context, spread like the average.
    spelling : float
        Pseudo-counts for word pairs that are spelt alike.
    lower : bool
        Ignore case in the statistics.
    prefix : int or None
        Look at the first letters of words only, in the statistics.
    n_jobs : int or None
        Threads; -1 for all cores. The result does not depend on it.

    Attributes
    ----------
    aligner_ : :class:`~isogloss.alignment.Aligner`
        The simple models, with the lexicon of the last one.
    parameters_ : FertilityParameters
        What was learned.
    source_classes_, target_classes_ : array of int
        The class of every word.
    shapes_ : array, shape (n, 2)
        The pairs of sentence lengths that have a table in Model 3.
    bits_per_word_ : list of float
        Cross-entropy after every iteration of the fertility models, over the alignments that were looked at.

    Examples
    --------
    >>> pairs = [
    ...     ("i see", "je vois"), ("i do not see", "je ne vois pas"), ("i do not sleep", "je ne dors pas"),
    ...     ("you see", "tu vois"), ("you do not sleep", "tu ne dors pas"), ("you sleep", "tu dors"),
    ... ]
    >>> aligner = FertilityAligner("1:5,hmm:3,3:3,4:2", n_classes=3, spelling=0).fit(pairs)
    >>> aligner.align([("you do not see", "tu ne vois pas")], method="intersection").to_lists()
    [[(0, 0), (1, 1), (2, 3), (3, 2)]]
    """

    def __init__(
        self,
        schedule: str = "1:5,hmm:5,3:3,4:3",
        *,
        agreement: str | None = "mutual",
        n_classes: int = 50,
        most_fertile: int = 9,
        null: float | None = None,
        fertility_pseudo: float = 20.0,
        distortion_pseudo: float = 25.0,
        spelling: float = 1.0,
        lower: bool = True,
        prefix: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.schedule = schedule
        self.agreement = agreement
        self.n_classes = n_classes
        self.most_fertile = most_fertile
        self.null = null
        self.fertility_pseudo = fertility_pseudo
        self.distortion_pseudo = distortion_pseudo
        self.spelling = spelling
        self.lower = lower
        self.prefix = prefix
        self.n_jobs = n_jobs

    def fit(self, pairs: Bitext | Iterable[Any], y: None = None) -> Self:
        """Learn from sentence pairs.

        Parameters
        ----------
        pairs : Bitext, or iterable of (source, target)
            Token lists, or text that is split at spaces.
        y : None
            Not used.
        """
        simple, stages = self._check()
        forms = WordForms(self.lower, self.prefix)
        bitext = pairs if isinstance(pairs, Bitext) else Bitext.from_pairs(pairs, forms=forms)
        self.aligner_ = self._simple(simple).fit(bitext)
        table = self.aligner_.table_
        self.source_classes_ = exchange_classes(bitext.source, self.n_classes)
        self.target_classes_ = exchange_classes(bitext.target, self.n_classes)
        layout = PositionLayout([bitext])
        self.shapes_ = layout.shapes
        text = IndexedBitext(bitext, table, table_offsets=layout.offsets(bitext))
        starts = _arrays(bitext, *self._reader(simple).best(bitext))
        words = self.aligner_.source_words_, self.aligner_.target_words_
        prior = lexical_prior(table, *words, self.spelling, (), 0.0, False)
        self._train(FertilityText(text, starts), stages, layout, prior)
        return self

    def align(self, pairs: Bitext | Iterable[Any], *, method: str = "grow-diag-final-and") -> Links:
        """Links of sentence pairs, seen in ``fit`` or not.

        Parameters
        ----------
        pairs : Bitext, or iterable of (source, target)
            The text; words that were not seen have the fertility of the average word.
        method : str
            ``forward`` or ``backward`` for the alignment of one direction, or a heuristic of
            :func:`~isogloss.alignment.symmetrise`.
        """
        check_is_fitted(self, "parameters_")
        reader, bitext = self.aligner_._reader(pairs)
        layout = PositionLayout([bitext])
        text = IndexedBitext(bitext, reader.table, table_offsets=layout.offsets(bitext))
        batch = FertilityText(text, _arrays(bitext, *reader.best(bitext)))
        parameters, classes = self._extended(reader, layout)
        settings = self._settings(self._check()[1][-1], LexicalPrior())
        forward, backward = _links(bitext, *climb(settings, classes, batch, parameters))
        if method in DIRECTIONS:
            return forward if method == "forward" else backward
        return symmetrise(forward, backward, method)  # type: ignore[arg-type]

    def _check(self) -> tuple[str, tuple[Stage, ...]]:
        """The simple part of the schedule as text, and the stages of the fertility models."""
        for name in ("fertility_pseudo", "distortion_pseudo"):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}; expected a number of pseudo-counts, 0 or more"
                )
        if self.n_classes < 1 or self.most_fertile < 1:
            raise ValueError(
                f"n_classes={self.n_classes!r}, most_fertile={self.most_fertile!r}; expected at least 1"
            )
        if self.null is not None and not 0 < self.null < 1:
            raise ValueError(
                f"null={self.null!r}; expected a probability between 0 and 1, or None to learn it"
            )
        parts = [part.strip() for part in str(self.schedule).split(",")]
        models = [part.partition(":")[0] for part in parts]
        first = next((k for k, model in enumerate(models) if model in FERTILITY_MODELS), len(parts))
        simple, later = ",".join(parts[:first]), parts[first:]
        parse_schedule(simple)
        if not later or models[first:] != sorted(set(models[first:])) or not all(map(_is_stage, later)):
            raise ValueError(
                f"schedule={self.schedule!r}; expected simple models and then 3, 4 or 5 in this order, each "
                "as MODEL:ITERATIONS, for example '1:5,hmm:5,3:3,4:3'"
            )
        return simple, tuple(Stage(part[0], int(part[2:])) for part in later)

    def _simple(self, schedule: str) -> Aligner:
        return Aligner(
            schedule,
            agreement=self.agreement,
            spelling=self.spelling,
            lower=self.lower,
            prefix=self.prefix,
            n_jobs=self.n_jobs,
        )

    def _reader(self, simple: str) -> Reader:
        """The last simple model as it was trained, for the text it was trained on."""
        a = self.aligner_
        model = parse_schedule(simple)[-1].model
        settings = Settings(model, None, a.null, a.uniform, threads=count_threads(self.n_jobs))
        return Reader(settings, a.parameters_, a.table_, (a.source_classes_, a.target_classes_))

    def _settings(self, stage: Stage, prior: LexicalPrior) -> FertilitySettings:
        return FertilitySettings(
            stage.model,
            null=self.null,
            fertility_pseudo=self.fertility_pseudo,
            distortion_pseudo=self.distortion_pseudo,
            lexical=prior,
            threads=count_threads(self.n_jobs),
        )

    def _train(
        self, batch: FertilityText, stages: tuple[Stage, ...], layout: PositionLayout, prior: LexicalPrior
    ) -> None:
        table = self.aligner_.table_
        classes = self._classes(table.shape)
        p = first_parameters(self.aligner_.parameters_, table, layout, classes, self.most_fertile)
        self.bits_per_word_: list[float] = []
        for number, stage in enumerate(stages):
            settings = self._settings(stage, prior)
            p = handed_on(settings, table, layout, classes, batch, p, first=number == 0)
            model = fertility_model(settings, table, layout, classes)
            result = run_em(
                model,
                FullExpectation(model, Batches([batch]), LocalEngine()),
                p,
                tol=-np.inf,
                max_iter=max(stage.iterations - 1, 0),
                callbacks=[self._note],
            )
            p = model.solve(result.statistic, result.parameters)
            if number + 1 < len(stages):
                batch = dataclasses.replace(batch, starts=climb(settings, classes, batch, p))
        self.parameters_ = p
        self.aligner_.parameters_ = dataclasses.replace(
            self.aligner_.parameters_,
            lexicon=p.lexicon,
            null_forward=p.null_forward,
            null_backward=p.null_backward,
        )

    def _note(self, line: Iteration, _: FertilityParameters) -> None:
        self.bits_per_word_.append(-line.bound / line.rows / float(np.log(2)))

    def _extended(self, reader: Reader, layout: PositionLayout) -> tuple[FertilityParameters, WordClasses]:
        """Parameters and classes for the words and lengths of new text."""
        p, shape = self.parameters_, reader.table.shape
        new: dict[str, Any] = {}
        for d, name in enumerate(DIRECTIONS):
            known = getattr(p, f"fertility_{name}")
            extra = np.tile(known.mean(axis=0), (shape[d] - len(known), 1))
            new[f"fertility_{name}"] = np.concatenate([known, extra])
            new[f"places_{name}"] = carried_places(self.shapes_, getattr(p, f"places_{name}"), layout, d)
            new[f"null_{name}"] = getattr(reader.parameters, f"null_{name}")
        parameters = dataclasses.replace(p, lexicon=reader.parameters.lexicon, **new)
        return parameters, self._classes(shape)

    def _classes(self, shape: tuple[int, int]) -> WordClasses:
        """Classes for vocabularies that may have grown."""
        of = _longer(self.source_classes_, shape[0]), _longer(self.target_classes_, shape[1])
        return WordClasses(of, (self.n_classes, self.n_classes))


def _is_stage(part: str) -> bool:
    return part[1:2] == ":" and part[2:].isdigit()


def _longer(classes: Indices, n: int) -> Indices:
    """New words are in the class that has most words."""
    common = np.bincount(classes).argmax() if len(classes) else 0
    return np.append(classes, np.full(n - len(classes), common)).astype(np.int32)


def _arrays(bitext: Bitext, forward: Links, backward: Links) -> tuple[Indices, Indices]:
    """Where each target word comes from, and each source word; -1 for nowhere."""
    s, t = bitext.source, bitext.target
    out = np.full(len(t.words), -1, np.int32), np.full(len(s.words), -1, np.int32)
    out[0][t.offsets[forward.sentence] + forward.target] = forward.source
    out[1][s.offsets[backward.sentence] + backward.source] = backward.target
    return out


def _links(bitext: Bitext, forward: Indices, backward: Indices) -> tuple[Links, Links]:
    """The links of arrays of origins."""
    out = []
    for origins, offsets in ((forward, bitext.target.offsets), (backward, bitext.source.offsets)):
        at = np.flatnonzero(origins >= 0)
        sentence = np.searchsorted(offsets, at, side="right") - 1
        out.append(Links.from_arrays(sentence, origins[at], at - offsets[sentence], n=len(bitext)))
    return out[0], out[1].swapped()
