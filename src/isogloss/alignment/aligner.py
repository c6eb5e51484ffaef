"""The aligner: a schedule of models over a bitext, and links out of what they learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isogloss.alignment._base import PRESETS, AlignerBase, check_settings
from isogloss.alignment._bitext import Bitext, WordList
from isogloss.alignment._ensemble import EnsembleTraining, member_settings
from isogloss.alignment._fertility_state import FertilityReader, FertilityState
from isogloss.alignment._learning import Learner, longest, simple_reader
from isogloss.alignment.decoding import (
    DEFAULT_THRESHOLD,
    EnsembleReader,
    Heuristic,
    Links,
    Reader,
    choose_threshold,
    joint_posterior,
    symmetrise,
)
from isogloss.alignment.formats import fertility_rows, jump_rows, lexicon_rows
from isogloss.alignment.models import (
    FertilityOptions,
    FertilityRow,
    FertilityTrained,
    JumpRow,
    LexicalPrior,
    OnIteration,
    PairTable,
    Progress,
    Stage,
    Trained,
    extend_parameters,
    solve_lexicon,
    word_classes,
)
from isogloss.text import StemModel
from isogloss.threads import count_threads

__all__ = ["Aligner", "Posterior"]

SAMPLE_PAIRS = 2_000
"""Sentence pairs from whose posteriors the threshold is chosen."""

FRESH = 0.1
"""Count with which a pair of words that comes with added text begins."""


class Posterior(NamedTuple):
    """Posteriors of the word pairs of one sentence pair, source words in rows.

    ``mean`` is how the aligner combines the two directions, 'geometric' or 'arithmetic'.
    """

    forward: NDArray[np.float32]
    backward: NDArray[np.float32]
    mean: str = "geometric"

    @property
    def agreed(self) -> NDArray[np.float32]:
        """The mean of both directions."""
        return joint_posterior(self.forward, self.backward, self.mean)


class Aligner(AlignerBase):
    """Word alignment of sentence pairs.

    By default an ensemble: one model of the words, two of their first four and three letters, and one of
    stems that are learned from the text, which see rare forms of frequent words more often. Their posteriors
    are averaged.

    Parameters
    ----------
    schedule : str
        Models and their numbers of iterations, one after the other; each starts from what the one before
        has learned. Models are ``1`` (IBM Model 1), ``2`` (IBM Model 2), ``diagonal`` (its one-parameter
        form) and ``hmm``; after these come ``3``, ``4`` and ``5``, which count how many words a word
        generates, as in ``1:5,hmm:5,3:3,4:3``.
    agreement : None, 'product' or 'mutual'
        Whether the two directions train on their own, on counts on which both agree, or each with its
        links weighed by the posterior of the other. On their own they climb their likelihood; agreeing
        they align better. Models 3, 4 and 5 always train on their own.
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
        Variational Bayes for the lexicon, with ``pseudo_count`` as the parameter of a symmetric Dirichlet
        distribution; needs a positive one.
    interpolate : float
        Share of the old lexicon in the new one after every M-step of the simple models, which slows them
        down and keeps them from being sure too soon. (To mix with a table known beforehand use ``priors``:
        pseudo-counts are an interpolation whose weight falls as a word is seen more often.)
    prune : float
        Word pairs whose probability falls below this in both directions are dropped after every iteration of
        the simple models, and the memory for their 32 bytes each with them; 0 keeps all.
    priors : Priors, optional
        Translations, jumps and fertilities known beforehand, from a dictionary or another text.
    fertility : FertilityOptions, optional
        Settings of models 3, 4 and 5.
    lower : bool
        Ignore case in the statistics.
    prefix : int or None
        Look at the first letters of words only, in the statistics.
    stems : bool
        Look at stems only, in the statistics. Stems and suffixes are learned from the words of each side
        (:class:`~isogloss.text.StemModel`).
    ensemble : sequence of int or 'stems'
        For each number of letters, another aligner learns from the first letters of words, and for 'stems'
        one from their stems; the posteriors of all are averaged. ``()`` trains one model. Numbers that are
        not less than ``prefix`` add nothing and are left out, as are stems beside a prefix.
    mean : {'geometric', 'arithmetic'} or None
        How the posteriors of the two directions are combined. None is the arithmetic mean for an ensemble and
        the geometric mean for one model.
    threshold : float or None
        ``align`` links words whose mean of both posteriors exceeds this. None chooses it from the text: lower
        where the posteriors are spread over many words, because models of the two directions disagree or
        words have several translations.
    batch_pairs : int or None
        Sentence pairs per batch of the E-step; None is one batch, whose sums are taken by ``n_jobs``
        threads. Needed for a cluster.
    keep_index : bool or None
        Hold the position of every word pair of every sentence pair (four bytes each). Without it they are
        looked up anew in every pass, some millions at a time: about a sixth more time, the same result. None
        holds them while they take less than a gigabyte.
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
        What the simple models have learned, with the lexicon of the last model of all.
    fertility_ : :class:`~isogloss.alignment.FertilityState` or None
        What models 3, 4 and 5 have learned.
    jump_totals_ : pair of arrays
        Expected numbers of jumps from each class of words, forward and backward.
    bits_per_word_ : list of float
        Cross-entropy after every iteration, both directions together; in models 3, 4 and 5 over the
        alignments that were looked at.
    ensemble_ : list of Aligner
        The aligners of first letters and of stems. The other attributes, ``score`` and the tables are those
        of the model of whole words.
    stems_ : pair of :class:`~isogloss.text.StemModel` or None
        What ``stems=True`` has learned of the words of each side.
    threshold_ : float
        The threshold of ``align``, chosen from the text or as given.

    Examples
    --------
    >>> pairs = [("the house", "la maison"), ("the flower", "la fleur"), ("blue flower", "fleur bleue")]
    >>> aligner = Aligner(spelling=0).fit(pairs)
    >>> aligner.align([("the blue house", "la maison bleue")])[0].tolist()
    [[0, 0], [1, 2], [2, 1]]
    """

    @classmethod
    def preset(cls, name: str, **settings: Any) -> Self:
        """An aligner with the settings of a preset: 'quick', 'default' or 'thorough'.

        Parameters
        ----------
        name : str
            ``quick`` is one model with one iteration of Model 1 and of the HMM. ``thorough`` adds three
            iterations of Model 4 to each model of the default.
        **settings
            Parameters to set besides, which override those of the preset.

        Examples
        --------
        >>> Aligner.preset("thorough").schedule
        '1:4,hmm:3,4:3'
        """
        if name not in PRESETS:
            raise ValueError(f"preset {name!r}; expected one of {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **settings})

    def fit(
        self,
        pairs: Bitext | Iterable[Any],
        y: None = None,
        *,
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
        on_iteration : callable (Progress, Iteration) -> bool or None
            Called after every iteration; a true answer stops the fit.
        resume : Progress, optional
            Go on from here instead of from the start, on the same pairs and settings.
        """
        check_settings(self)
        self.stems_, self.ensemble_ = None, []
        bitext = self._bitext(pairs)
        bitext = self._in_own_forms(bitext) if self.stems else bitext
        training = EnsembleTraining(on_iteration, resume)
        training.fit(self._fit, bitext)
        for settings in member_settings(self.ensemble, self.prefix, self.stems):
            if training.stopped:
                break
            member = type(self)(**self.get_params(deep=False) | settings | {"ensemble": ()})
            training.fit(member._fit, member._in_own_forms(bitext))
            if not training.stopped:
                self.ensemble_.append(member)
        self._choose_threshold(bitext)
        return self

    def _in_own_forms(self, bitext: Bitext) -> Bitext:
        """A text in the forms of this aligner; the stems are learned from its words first."""
        source, target = bitext.words
        self.stems_ = (StemModel.learn(source), StemModel.learn(target)) if self.stems else None
        return bitext.in_forms(self.forms)

    def _choose_threshold(self, bitext: Bitext) -> None:
        """Choose the threshold from the text, unless it is given."""
        if self.threshold is None:
            sample = self._ensemble_reader(bitext.sample(SAMPLE_PAIRS))
            self.threshold_ = choose_threshold(*sample.likely(self._mean))
        else:
            self.threshold_ = self.threshold

    def _fit(self, bitext: Bitext, on_iteration: OnIteration | None, resume: Progress | None) -> bool:
        """Train the model of this aligner alone; return whether it was stopped."""
        simple, fertile = check_settings(self)
        self.source_classes_ = word_classes(bitext.source, self.classes)
        self.target_classes_ = word_classes(bitext.target, self.classes)
        self.source_words_, self.target_words_ = bitext.words
        classes = self.source_classes_, self.target_classes_
        learner = Learner.of(self, bitext, PairTable.of(bitext, threads=count_threads(self.n_jobs)), classes)
        trained = learner.simple(simple, on_iteration=on_iteration, resume=resume)
        self.fertility_ = None
        self._keep(trained)
        later = [(k, stage) for k, stage in enumerate(fertile, len(simple)) if stage.iterations]
        if later and not trained.stopped:
            if resume is not None and resume.fertility is not None:
                trained = trained._replace(jumps=resume.fertility.jumps)
            self._keep(
                trained,
                *learner.fertile(later, trained, simple[-1].model, on_iteration=on_iteration, resume=resume),
            )
        return trained.stopped

    def partial_fit(self, pairs: Bitext | Iterable[Any], y: None = None) -> Self:
        """Add text to a fitted aligner: what was learned before counts as if it were still there.

        Three iterations of the last model of the schedule over the new pairs, with the old counts beside
        the new ones; the first call is the same as ``fit``. When that model is one of 3, 4 and 5, the simple
        ones before it learn nothing new but the lexicon.
        """
        if not hasattr(self, "parameters_"):
            return self.fit(pairs)
        check_settings(self)
        bitext = self._bitext(pairs, known=True)
        self._partial_fit(bitext)
        for member in self._members:
            member._partial_fit(member._bitext(bitext, known=True))
        self._choose_threshold(bitext)
        return self

    def _partial_fit(self, bitext: Bitext) -> None:
        """Add text to the model of this aligner alone."""
        simple, fertile = check_settings(self)
        table = self.table_.merge(PairTable.of(bitext, threads=count_threads(self.n_jobs)))
        old, totals = _placed(self.counts_, self.table_.find(table), len(table)), self.jump_totals_
        classes = self.source_classes_, self.target_classes_ = self._classes(table.shape)
        self.source_words_, self.target_words_ = bitext.words
        stages = (Stage(simple[-1].model, 3),)
        learner = Learner.of(self, bitext, table, classes)
        grown = extend_parameters(self.parameters_, table.shape, longest(bitext), learner.layout(stages))
        learner = learner.after(old, grown, totals)
        lexicon, posterior = solve_lexicon(table, np.full((len(table), 2), FRESH), learner.lexical)
        begin = dataclasses.replace(grown, lexicon=lexicon, posterior=posterior)
        if self.fertility_ is None:
            self._keep(learner.simple(stages, begin))
            self.jump_totals_ = self.jump_totals_[0] + totals[0], self.jump_totals_[1] + totals[1]
        else:
            trained = Trained(begin, table, old.astype(np.float64), totals, [])
            last = ((0, Stage(fertile[-1].model, 3)),)
            self._keep(trained, *learner.fertile(last, trained, simple[-1].model, state=self.fertility_))
        old = old[self.table_.find(table)]
        self.counts_ = (self.counts_ + old).astype(np.float32)

    def align(self, pairs: Bitext | Iterable[Any], *, method: str = "agreed") -> Links:
        """Links of sentence pairs, seen in ``fit`` or not.

        Parameters
        ----------
        pairs : Bitext, or iterable of (source, target)
            The text; words that were not seen are aligned by their spelling and position.
        method : str
            ``agreed`` for links on which both posteriors agree; ``forward`` and ``backward`` for the best
            alignment of one direction; or the name of a symmetrisation heuristic.
        """
        reader = self._ensemble_reader(pairs)
        if method == "agreed":
            return reader.agreed(self.link_threshold, self._mean)
        forward, backward = reader.best()
        if method in ("forward", "backward"):
            return forward if method == "forward" else backward
        return symmetrise(forward, backward, cast(Heuristic, method))

    def posterior(self, source: str | Sequence[str], target: str | Sequence[str]) -> Posterior:
        """Posteriors of every word pair of one sentence pair, in both directions."""
        reader = self._ensemble_reader([(source, target)])
        bitext = reader.bitexts[0]
        shape = int(bitext.source.lengths[0]), int(bitext.target.lengths[0])
        forward, backward = reader.posteriors(slice(0, 1))
        return Posterior(forward.reshape(shape), backward.reshape(shape), self._mean)

    def score(self, pairs: Bitext | Iterable[Any], y: None = None) -> float:
        """Mean log-likelihood per word of sentence pairs, in bits, seen in ``fit`` or not; higher is better.

        Each word of either side given the other side: the log of the sum over all alignments, or over those
        that models 3, 4 and 5 look at. Of an ensemble, the model of whole words is scored.
        """
        reader, bitext = self._reader(pairs)
        words = int(bitext.source.offsets[-1] + bitext.target.offsets[-1])
        return reader.log_likelihood(bitext) / max(words, 1) / float(np.log(2))

    @property
    def n_models(self) -> int:
        """Number of models that ``fit`` trains: one, and those of the ensemble."""
        return 1 + len(member_settings(self.ensemble, self.prefix, self.stems))

    @property
    def link_threshold(self) -> float:
        """The threshold of ``align``: the one that was given, or else the one chosen from the text."""
        if self.threshold is not None:
            return self.threshold
        return getattr(self, "threshold_", DEFAULT_THRESHOLD)

    @property
    def translation_table_(self) -> list[tuple[str, str, float, float, float]]:
        """Source word, target word, t(target | source), t(source | target), expected count.

        Pairs with a count of at least a hundredth, the likeliest translations of a word first.
        """
        check_is_fitted(self, "parameters_")
        return lexicon_rows(self)

    @property
    def jump_table_(self) -> list[JumpRow]:
        """Direction, origin (a frequent ``word``, any ``other``, or ``start``), the word, width, count."""
        check_is_fitted(self, "parameters_")
        return list(jump_rows(self))

    @property
    def fertility_table_(self) -> list[FertilityRow]:
        """Direction, word, number of words it generates, count; from models 3, 4 and 5."""
        check_is_fitted(self, "parameters_")
        if self.fertility_ is None:
            raise AttributeError(
                f"schedule={self.schedule!r} has no model with fertilities; expected one that ends with 3, 4 "
                "or 5, for example '1:5,hmm:5,3:3,4:3'"
            )
        return list(fertility_rows(self))

    def __dir__(self) -> Iterable[str]:
        """Names of attributes; scikit-learn would read each of them, and the tables take long to build."""
        return object.__dir__(self)

    def _bitext(self, pairs: Bitext | Iterable[Any], *, known: bool = False) -> Bitext:
        forms = self.forms
        vocabularies = (WordList(self.source_words_), WordList(self.target_words_)) if known else None
        if not isinstance(pairs, Bitext):
            bitext = Bitext.from_pairs(pairs, forms=forms, vocabularies=vocabularies)
        elif known and pairs.words != (self.source_words_, self.target_words_):
            bitext = pairs.in_forms(forms, vocabularies=vocabularies)
        else:
            bitext = pairs
        if not known and (len(bitext) == 0 or bitext.cells[-1] == 0):
            raise ValueError(
                f"{len(bitext)} sentence pairs and not one with words on both sides; nothing to learn"
            )
        return bitext

    def _keep(
        self, simple: Trained, fertile: FertilityTrained | None = None, state: FertilityState | None = None
    ) -> None:
        """Take over what training leaves."""
        self.table_, self.jump_totals_ = simple.table, simple.jumps
        self.parameters_, self.bits_per_word_ = simple.parameters, simple.bits_per_word
        counts = simple.counts
        if fertile is not None:
            p, counts, self.fertility_ = fertile.parameters, fertile.found["links"], state
            self.parameters_ = dataclasses.replace(
                simple.parameters,
                lexicon=p.lexicon,
                null_forward=p.null_forward,
                null_backward=p.null_backward,
            )
        self.counts_ = counts.astype(np.float32)

    def _classes(self, shape: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Classes of all words; those that came later are in the last one."""
        known = self.source_classes_, self.target_classes_
        grown = [
            np.append(c, np.full(n - len(c), c.max(initial=0), dtype=np.int32))
            for c, n in zip(known, shape, strict=True)
        ]
        return grown[0].astype(np.int32), grown[1].astype(np.int32)

    @property
    def _members(self) -> list[Self]:
        """The other aligners of the ensemble; a model of version 0.1.0 has none."""
        return getattr(self, "ensemble_", [])

    @property
    def _mean(self) -> str:
        """Return the rule that combines the two directions."""
        return self.mean or ("arithmetic" if self._members else "geometric")

    def _ensemble_reader(self, pairs: Bitext | Iterable[Any]) -> EnsembleReader:
        """A reader of text with all models."""
        first = self._reader(pairs)
        readers, bitexts = zip(first, *(member._reader(first[1]) for member in self._members), strict=True)
        return EnsembleReader(readers, bitexts)

    def _reader(self, pairs: Bitext | Iterable[Any]) -> tuple[Reader, Bitext]:
        """A reader of text with the last model of this aligner alone, and the text."""
        check_is_fitted(self, "parameters_")
        simple, fertile = check_settings(self)
        bitext = self._bitext(pairs, known=True)
        reader = simple_reader(self, bitext, simple[-1].model, self._classes(bitext.shape))
        if self.fertility_ is None:
            return reader, bitext
        options = self.fertility or FertilityOptions()
        settings = options.settings(fertile[-1].model, LexicalPrior(), reader.settings.threads, {})
        return FertilityReader(reader, settings, self.fertility_, bitext), bitext


def _placed(values: NDArray[Any], at: NDArray[np.int64], n: int) -> NDArray[np.float32]:
    """Rows of a table at their places in a larger one."""
    out = np.zeros((n, values.shape[1]), dtype=np.float32)
    out[at] = values
    return out
