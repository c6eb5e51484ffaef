"""The aligner: a schedule of models over a bitext, and links out of what they learned."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from isogloss.alignment.bitext import Bitext, Sentences, Vocabulary, WordForms
from isogloss.alignment.decode import Reader
from isogloss.alignment.knowledge import extend_parameters, lexical_prior, word_classes
from isogloss.alignment.lexical import LexicalPrior, solve_lexicon
from isogloss.alignment.links import Links
from isogloss.alignment.pairs import IndexedBitext, PairTable
from isogloss.alignment.positions import PositionLayout
from isogloss.alignment.schedule import Progress, Stage, parse_schedule
from isogloss.alignment.steps import AGREEMENTS, TABLED, AlignmentParameters, Settings, start
from isogloss.alignment.symmetrise import Heuristic, symmetrise
from isogloss.alignment.training import OnIteration, Trainer
from isogloss.engine import Engine, LocalEngine
from isogloss.linalg.threads import count_threads

__all__ = ["Aligner", "Posterior"]

FRESH = 0.1
"""Count with which a pair of words that comes with added text begins."""

UNSEEN = 1e-2
"""What a pair that was never seen together is worth, beside its likeness of spelling."""


class Posterior(NamedTuple):
    """Posteriors of the word pairs of one sentence pair, source words in rows."""

    forward: NDArray[np.float32]
    backward: NDArray[np.float32]

    @property
    def agreed(self) -> NDArray[np.float32]:
        """The geometric mean of both directions."""
        return np.asarray(np.sqrt(self.forward * self.backward))


class Aligner(BaseEstimator):
    """Word alignment of sentence pairs.

    Parameters
    ----------
    schedule : str
        Models and their numbers of iterations, one after the other; each starts from what the one before
        has learned. Models are ``1`` (IBM Model 1), ``2`` (IBM Model 2), ``diagonal`` (its
        one-parameter form) and ``hmm``.
    agreement : None, 'product' or 'mutual'
        Whether the two directions train on their own, on counts on which both agree, or each with its
        links weighed by the posterior of the other. On their own they climb their likelihood; agreeing
        they align better.
    null : float or None
        Chance that a word comes from nothing. None makes NULL one more position, as Model 1 was first
        described; the other models need a number.
    spelling : float
        Pseudo-counts for word pairs that are spelt alike, after transliteration; 0 for none.
    classes : int
        Jumps are learned for each of the ``classes - 1`` most frequent words, and once for all others.
    uniform : float
        Share of jumps to anywhere.
    jump_pseudo : float
        Pseudo-jumps per class.
    pseudo_count : float
        Pseudo-count of every word pair.
    bayes : bool
        Variational Bayes for the lexicon; needs a positive ``pseudo_count``.
    lower : bool
        Ignore case in the statistics.
    prefix : int or None
        Look at the first letters of words only, in the statistics.
    threshold : float
        ``align`` links words whose geometric mean of both posteriors exceeds this.
    batch_pairs : int or None
        Sentence pairs per batch of the E-step; None is one batch, whose sums are taken by ``n_jobs``
        threads. Needed for a cluster.
    keep_index : bool
        Hold the position of every word pair (four bytes each); without it they are looked up anew in
        every pass, in half as much memory and about a third more time.
    n_jobs : int or None
        Threads; -1 for all cores. The result does not depend on it.
    engine : Engine, optional
        Where batches are worked on; this process by default.

    Attributes
    ----------
    source_words_, target_words_ : list of str
        Vocabularies.
    table_ : :class:`~isogloss.alignment.PairTable`
        Word pairs of the lexicon.
    counts_ : array, shape (n_pairs, 2)
        Expected counts of the pairs in each direction.
    parameters_ : :class:`~isogloss.alignment.AlignmentParameters`
        What was learned.
    bits_per_word_ : list of float
        Cross-entropy after every iteration, both directions together.

    Examples
    --------
    >>> pairs = [("the house", "la maison"), ("the flower", "la fleur"), ("blue flower", "fleur bleue")]
    >>> aligner = Aligner(spelling=0).fit(pairs)
    >>> aligner.align([("the blue house", "la maison bleue")])[0].tolist()
    [[0, 0], [1, 2], [2, 1]]
    """

    source_words_: list[str]
    target_words_: list[str]
    table_: PairTable
    counts_: NDArray[np.float32]
    parameters_: AlignmentParameters
    bits_per_word_: list[float]
    source_classes_: NDArray[np.int32]
    target_classes_: NDArray[np.int32]

    def __init__(
        self,
        schedule: str = "1:3,hmm:5",
        *,
        agreement: str | None = "mutual",
        null: float | None = 0.1,
        spelling: float = 1.0,
        classes: int = 100,
        uniform: float = 0.1,
        jump_pseudo: float = 1.0,
        pseudo_count: float = 0.0,
        bayes: bool = False,
        lower: bool = True,
        prefix: int | None = None,
        threshold: float = 0.5,
        batch_pairs: int | None = None,
        keep_index: bool = True,
        n_jobs: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.schedule = schedule
        self.agreement = agreement
        self.null = null
        self.spelling = spelling
        self.classes = classes
        self.uniform = uniform
        self.jump_pseudo = jump_pseudo
        self.pseudo_count = pseudo_count
        self.bayes = bayes
        self.lower = lower
        self.prefix = prefix
        self.threshold = threshold
        self.batch_pairs = batch_pairs
        self.keep_index = keep_index
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(
        self,
        pairs: Bitext | Iterable[Any],
        y: None = None,
        *,
        lexicon: Iterable[tuple[str, str, float]] = (),
        on_iteration: OnIteration | None = None,
        resume: Progress | None = None,
    ) -> Self:
        """Learn from sentence pairs.

        Parameters
        ----------
        pairs : Bitext, or iterable of (source, target)
            Token lists, or text that is split at spaces.
        y : None
            Not used.
        lexicon : iterable of (source word, target word, pseudo-count)
            Translations known beforehand, from a dictionary or another text.
        on_iteration : callable (Progress, Iteration) -> bool or None
            Called after every iteration; a true answer stops the fit.
        resume : Progress, optional
            Go on from here instead of from the start, on the same pairs and settings.
        """
        stages = self._check()
        bitext = self._bitext(pairs)
        table = PairTable.of(bitext)
        words = bitext.source.vocabulary.words, bitext.target.vocabulary.words
        prior = lexical_prior(table, *words, self.spelling, lexicon, self.pseudo_count, self.bayes)
        self.source_classes_ = word_classes(bitext.source, self.classes)
        self.target_classes_ = word_classes(bitext.target, self.classes)
        self.source_words_, self.target_words_ = words
        self.table_ = table
        self._train(bitext, stages, prior, on_iteration=on_iteration, resume=resume)
        return self

    def partial_fit(self, pairs: Bitext | Iterable[Any], y: None = None) -> Self:
        """Add text to a fitted aligner: what was learned before counts as if it were still there.

        Three iterations of the last model of the schedule over the new pairs, with the old counts beside
        the new ones; the first call is the same as ``fit``.
        """
        if not hasattr(self, "parameters_"):
            return self.fit(pairs)
        stage = self._check()[-1]
        bitext = self._bitext(pairs, known=True)
        table = self.table_.merge(PairTable.of(bitext))
        words = bitext.source.vocabulary.words, bitext.target.vocabulary.words
        fresh = lexical_prior(table, *words, self.spelling, (), self.pseudo_count, self.bayes)
        old = _placed(self.counts_, self.table_.find(table), len(table))
        prior = dataclasses.replace(fresh, pairs=_with_old(fresh, old))
        grown = extend_parameters(self.parameters_, table.shape, _longest(bitext))
        lexicon, posterior = solve_lexicon(table, np.full((len(table), 2), FRESH), prior)
        began = Progress(0, 0, dataclasses.replace(grown, lexicon=lexicon, posterior=posterior))
        self.source_words_, self.target_words_ = words
        self.source_classes_, self.target_classes_ = self._classes(table.shape)
        self.table_ = table
        self._train(bitext, (Stage(stage.model, 3),), prior, resume=began)
        self.counts_ = (self.counts_ + old).astype(np.float32)
        return self

    def align(self, pairs: Bitext | Iterable[Any], *, method: str = "agreed") -> Links:
        """Links of sentence pairs, seen in ``fit`` or not.

        Parameters
        ----------
        pairs : Bitext, or iterable of (source, target)
            The text; words that were not seen are aligned by their spelling and position.
        method : str
            ``agreed`` for links on which both posteriors agree; ``forward`` and ``backward`` for the best
            alignment of one direction; or a heuristic of :func:`~isogloss.alignment.symmetrise`.
        """
        reader, bitext = self._reader(pairs)
        if method == "agreed":
            return reader.agreed(bitext, self.threshold)
        forward, backward = reader.best(bitext)
        if method in ("forward", "backward"):
            return forward if method == "forward" else backward
        return symmetrise(forward, backward, cast(Heuristic, method))

    def posterior(self, source: str | Sequence[str], target: str | Sequence[str]) -> Posterior:
        """Posteriors of every word pair of one sentence pair, in both directions."""
        reader, bitext = self._reader([(source, target)])
        shape = int(bitext.source.lengths[0]), int(bitext.target.lengths[0])
        forward, backward = reader.posteriors(IndexedBitext(bitext, reader.table))
        return Posterior(forward.reshape(shape), backward.reshape(shape))

    @property
    def translation_table_(self) -> list[tuple[str, str, float, float, float]]:
        """Source word, target word, t(target | source), t(source | target), expected count.

        Pairs with a count of at least a hundredth, the likeliest translations of a word first.
        """
        check_is_fitted(self, "parameters_")
        sources, t = self.table_.sources, self.parameters_.lexicon
        keep = np.flatnonzero(self.counts_.max(axis=1) >= 0.01)
        keep = keep[np.lexsort((-t[keep, 0], sources[keep]))]
        counts = self.counts_[keep].mean(axis=1)
        columns = sources[keep], self.table_.columns[keep], t[keep, 0], t[keep, 1], counts
        return [
            (self.source_words_[e], self.target_words_[f], float(p), float(q), float(c))
            for e, f, p, q, c in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _check(self) -> tuple[Stage, ...]:
        if self.agreement not in AGREEMENTS:
            raise ValueError(f"agreement={self.agreement!r}; expected None, 'product' or 'mutual'")
        stages = parse_schedule(self.schedule)
        if self.null is None and any(stage.model != "1" for stage in stages):
            raise ValueError(f"null=None is for Model 1 alone; {self.schedule!r} needs a probability")
        for name in ("null", "uniform"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise ValueError(f"{name}={value!r}; expected a probability between 0 and 1")
        for name in ("spelling", "jump_pseudo", "pseudo_count"):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}; expected a number of pseudo-counts, 0 or more"
                )
        if self.classes < 1:
            raise ValueError(f"classes={self.classes!r}; expected at least 1")
        if not 0 <= self.threshold < 1:
            raise ValueError(f"threshold={self.threshold!r}; expected a probability below 1")
        return stages

    def _bitext(self, pairs: Bitext | Iterable[Any], *, known: bool = False) -> Bitext:
        if isinstance(pairs, Bitext) and (not known or self._has_words_of(pairs)):
            bitext = pairs
        else:
            vocabularies = (Vocabulary(self.source_words_), Vocabulary(self.target_words_)) if known else None
            texts = _spelled(pairs) if isinstance(pairs, Bitext) else pairs
            bitext = Bitext.from_pairs(
                texts, forms=WordForms(self.lower, self.prefix), vocabularies=vocabularies
            )
        if not known and (len(bitext) == 0 or bitext.cells[-1] == 0):
            raise ValueError(
                f"{len(bitext)} sentence pairs and not one with words on both sides; nothing to learn"
            )
        return bitext

    def _train(
        self,
        bitext: Bitext,
        stages: Sequence[Stage],
        prior: LexicalPrior,
        *,
        on_iteration: OnIteration | None = None,
        resume: Progress | None = None,
    ) -> None:
        layout = PositionLayout([bitext]) if any(s.model in TABLED for s in stages) else None
        classes = self.source_classes_, self.target_classes_
        settings = self._settings(stages[-1].model, prior)
        trainer = Trainer(self.table_, classes, layout, settings, self.engine or LocalEngine())
        source = trainer.source(bitext, self.batch_pairs, self.keep_index)
        first = self._first(prior, layout, _longest(bitext))
        trained = trainer.run(source, stages, first, on_iteration=on_iteration, resume=resume)
        self.parameters_, self.bits_per_word_ = trained.parameters, trained.bits_per_word
        self.counts_ = trained.counts.astype(np.float32)

    def _first(self, prior: LexicalPrior, layout: PositionLayout | None, reach: int) -> AlignmentParameters:
        classes = int(self.source_classes_.max(initial=0)) + 1, int(self.target_classes_.max(initial=0)) + 1
        parameters = start(self.table_, layout, reach, classes)
        if not prior.bayes:
            return parameters
        lexicon, posterior = solve_lexicon(self.table_, np.zeros((len(self.table_), 2)), prior)
        return dataclasses.replace(parameters, lexicon=lexicon, posterior=posterior)

    def _settings(self, model: str, prior: LexicalPrior) -> Settings:
        threads = count_threads(self.n_jobs)
        return Settings(model, self.agreement, self.null, self.uniform, self.jump_pseudo, prior, threads)

    def _classes(self, shape: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Classes of all words; those that came later are in the last one."""
        known = self.source_classes_, self.target_classes_
        grown = [
            np.append(c, np.full(n - len(c), c.max(initial=0), dtype=np.int32))
            for c, n in zip(known, shape, strict=True)
        ]
        return grown[0].astype(np.int32), grown[1].astype(np.int32)

    def _has_words_of(self, bitext: Bitext) -> bool:
        """Whether a bitext numbers its words as this aligner does."""
        words = bitext.source.vocabulary.words, bitext.target.vocabulary.words
        return words == (self.source_words_, self.target_words_)

    def _reader(self, pairs: Bitext | Iterable[Any]) -> tuple[Reader, Bitext]:
        """A reader of new text: the lexicon of its pairs from what was counted and how they are spelt."""
        check_is_fitted(self, "parameters_")
        model = self._check()[-1].model
        bitext = self._bitext(pairs, known=True)
        if self._has_words_of(bitext) and model not in TABLED and (self.table_.slots(bitext) >= 0).all():
            parameters = extend_parameters(self.parameters_, self.table_.shape, _longest(bitext))
            classes = self.source_classes_, self.target_classes_
            return Reader(self._settings(model, LexicalPrior()), parameters, self.table_, classes), bitext
        table = PairTable.of(bitext)
        words = bitext.source.vocabulary.words, bitext.target.vocabulary.words
        prior = lexical_prior(table, *words, self.spelling, (), self.pseudo_count, self.bayes)
        found = table.find(self.table_)
        guess, _ = solve_lexicon(table, np.zeros((len(table), 2)), prior)
        lexicon = np.where(found[:, None] >= 0, self.parameters_.lexicon[found], guess * UNSEEN)
        layout = PositionLayout([bitext]) if model in TABLED else None
        parameters = extend_parameters(self.parameters_, table.shape, _longest(bitext), layout)
        known = dataclasses.replace(parameters, lexicon=np.ascontiguousarray(lexicon, dtype=np.float32))
        return Reader(self._settings(model, prior), known, table, self._classes(table.shape)), bitext


def _longest(bitext: Bitext) -> int:
    return int(max(bitext.source.lengths.max(initial=1), bitext.target.lengths.max(initial=1)))


def _placed(values: NDArray[Any], at: NDArray[np.int64], n: int) -> NDArray[np.float32]:
    """Rows of a table at their places in a larger one."""
    out = np.zeros((n, values.shape[1]), dtype=np.float32)
    out[at] = values
    return out


def _with_old(prior: LexicalPrior, old: NDArray[np.float32]) -> NDArray[np.float32]:
    return old if prior.pairs is None else old + prior.pairs[:, None]


def _spelled(bitext: Bitext) -> Iterable[tuple[list[str], list[str]]]:
    """The words of a bitext back from their numbers."""
    return zip(_words(bitext.source), _words(bitext.target), strict=True)


def _words(sentences: Sentences) -> Iterable[list[str]]:
    words, bounds = sentences.vocabulary.words, sentences.offsets.tolist()
    for a, b in itertools.pairwise(bounds):
        yield [words[w] for w in sentences.words[a:b].tolist()]
