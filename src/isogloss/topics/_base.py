"""The base of topic models: learning from counts whose languages are side by side."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import (
    NON_NEGATIVE,
    POSITIVE_INT,
    Constraints,
    Estimator,
    Interval,
    StrOptions,
)
from isogloss.em import (
    EM_CONSTRAINTS,
    Callback,
    EMMixin,
    EMModel,
    FullExpectation,
    Iteration,
    OnDecrease,
    run_em,
)
from isogloss.engine import ENGINE_CONSTRAINTS, BatchesMixin, Engine, Rows, Source
from isogloss.stats import ExpectedCounts
from isogloss.threads import count_threads
from isogloss.topics import _gibbs, _variational
from isogloss.topics._documents import DocumentExpectation
from isogloss.topics._parameters import TopicParameters, start_parameters
from isogloss.topics._spectral import START_SHARE, spectral_start

Array = NDArray[np.float64]
Counts: TypeAlias = Any
"""A CSR matrix of counts in double precision, without explicit zeros."""

LEARNING_METHODS = {"batch", "online", "gibbs", "map"}


class TopicModel(EMMixin, BatchesMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A topic model of counts; subclasses say what their input is.

    Subclasses implement ``_counts`` (checked input to counts with all languages side by side) and
    ``_widths``.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "doc_topic_prior": [NON_NEGATIVE, None],
        "topic_word_prior": [NON_NEGATIVE, None],
        "learning_method": [StrOptions(LEARNING_METHODS)],
        "init": [StrOptions({"random", "spectral"})],
        "learn_priors": ["boolean"],
        "learning_decay": [Interval(Real, 0.5, 1, closed="right")],
        "learning_offset": [Interval(Real, 1, None, closed="left")],
        "batch_size": [POSITIVE_INT],
        "total_samples": [POSITIVE_INT, None],
        "max_iter": EM_CONSTRAINTS["max_iter"],
        "tol": EM_CONSTRAINTS["tol"],
        "mean_change_tol": [NON_NEGATIVE],
        "max_doc_update_iter": [POSITIVE_INT],
        "on_decrease": EM_CONSTRAINTS["on_decrease"],
        "random_state": ["random_state"],
        **ENGINE_CONSTRAINTS,
    }

    parameters_: TopicParameters
    statistic_: ExpectedCounts
    n_batches_: int
    n_samples_seen_: int
    bound_: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | None = None,
        learning_method: str = "batch",
        init: str = "random",
        learn_priors: bool = True,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        batch_size: int = 256,
        total_samples: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-2,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 100,
        on_decrease: OnDecrease = "raise",
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_rows: int = 32_768,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.init = init
        self.learn_priors = learn_priors
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.max_iter = max_iter
        self.tol = tol
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.on_decrease = on_decrease
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_rows = batch_rows
        self.engine = engine

    @abstractmethod
    def _counts(self, X: Any, *, reset: bool) -> Counts:
        """Checked input, languages side by side."""

    @abstractmethod
    def _check_batch(self) -> Callable[[Any], Counts]:
        """Return a function that checks a batch as ``_counts`` does, for workers without the model."""

    @abstractmethod
    def _widths(self) -> NDArray[np.int64]:
        """Words of each language."""

    # Learning

    def fit(self, X: Any, y: Any = None, *, callbacks: Iterable[Callback] = ()) -> Self:
        """Learn topics.

        Parameters
        ----------
        X : counts or Source
            Documents; or a source of batches of them, for what does not fit into memory.
        y : None
            Not used.
        callbacks : iterable of callables
            Called as ``callback(iteration, parameters)`` after every E-step; a true answer stops.
        """
        self._validate_params()
        source, rng = self._source(X), check_random_state(self.random_state)
        if self.learning_method == "online":
            return self._fit_online(source, rng, tuple(callbacks))
        if self.learning_method == "gibbs":
            return self._fit_gibbs(source, rng, tuple(callbacks))
        start, model, point = self._start(source, rng), self._model(), self._point
        expectation = DocumentExpectation(
            _variational.begin,
            partial(_variational.advance, point=point),
            partial(_variational.collect, point=point),
            source,
            self._engine(),
        )
        result = self._run_em(model, expectation, start, callbacks)
        self.parameters_, self.bound_ = result.parameters, result.bound
        self._keep_trace(result)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take in one more batch of documents, online (Hoffman, Blei and Bach, 2010).

        The sums of the batch stand for ``total_samples`` documents, of which as many are assumed as were seen
        so far if the number is not known; they are blended with those before, which are forgotten slowly.

        Parameters
        ----------
        X : counts
            Documents.
        y : None
            Not used.
        """
        self._validate_params()
        if self.learning_method in ("gibbs", "map"):
            raise ValueError(
                f"partial_fit with learning_method={self.learning_method!r}: batches are taken in by "
                "variational inference; use 'online' or 'batch'"
            )
        first = not hasattr(self, "statistic_")
        source = Rows(self._counts(X, reset=first), batch_rows=self.batch_rows)
        if first:
            self.parameters_ = self._start(source, check_random_state(self.random_state))
            self._begin_batches()
        self._take_batch(source)
        return self

    def _fit_online(
        self, source: Source[Counts], rng: np.random.RandomState, callbacks: tuple[Callback, ...]
    ) -> Self:
        """Steps over batches of ``batch_size`` documents, in their order, ``max_iter`` times."""
        self.__dict__.pop("statistic_", None)
        self.parameters_ = self._start(source, rng)
        self._begin_batches()
        rows = sum(load().shape[0] for load in source.loaders())
        for _ in range(self.max_iter):
            for load in source.loaders():
                counts = load()
                for start in range(0, counts.shape[0], self.batch_size):
                    part = Rows(counts[start : start + self.batch_size], batch_rows=self.batch_rows)
                    if self._take_batch(part, rows, callbacks):
                        return self
            self.n_iter_ += 1
        return self

    def _take_batch(
        self, source: Source[Counts], rows: int | None = None, callbacks: tuple[Callback, ...] = ()
    ) -> bool:
        """Take a step for a batch that stands for ``rows`` documents; return whether a callback stops it."""
        began = time.perf_counter()
        model, before = self._model(), self.parameters_
        batch = FullExpectation(model, source, self._engine())(before)
        energy = model.free_energy(batch, before)
        average = batch.blend(batch, 1.0 / batch.rows, 0.0)
        gain = (self.learning_offset + self.n_batches_) ** -self.learning_decay
        first = not hasattr(self, "statistic_")
        self.statistic_ = average if first else self.statistic_.blend(average, 1.0 - gain, gain)
        self.n_batches_ += 1
        self.n_samples_seen_ += int(batch.rows)
        whole = rows or self.total_samples or self.n_samples_seen_
        sums = self.statistic_.blend(self.statistic_, float(whole), 0.0)
        self.parameters_, self.bound_ = model.solve(sums, before), energy.bound
        line = Iteration(self.n_batches_, "batch", energy, batch.rows, time.perf_counter() - began)
        return any(callback(line, before) for callback in callbacks)

    def _fit_gibbs(
        self, source: Source[Counts], rng: np.random.RandomState, callbacks: tuple[Callback, ...]
    ) -> Self:
        start = self._start(source, rng)
        seeded = _gibbs.SeededSource(source, int(rng.randint(2**31 - 1)))
        sweeps = _gibbs.SWEEPS_OF_ONE_BATCH if len(source.loaders()) == 1 else 1
        expectation = DocumentExpectation(
            partial(_gibbs.begin_tokens, n_topics=self.n_components),
            partial(_gibbs.advance_tokens, sweeps=sweeps),
            _gibbs.collect_tokens,
            seeded,
            self._engine(),
            settles=False,
        )
        words = expectation.sums(start)["words"]
        begin = TopicParameters(words, start.doc_prior, start.word_prior, start.widths)
        steps = -(-self.max_iter // sweeps)
        mean = _gibbs.SampleMean(steps - steps // 4)
        model = _gibbs.gibbs_model(learn=self.learn_priors)
        result = run_em(model, expectation, begin, tol=0.0, max_iter=steps, callbacks=(mean, *callbacks))
        self.parameters_, self.bound_ = mean.of(result.parameters), result.bound
        self.trace_, self.converged_, self.n_iter_ = tuple(result.trace), True, sweeps * result.n_iter
        return self

    def _begin_batches(self) -> None:
        self.trace_, self.converged_, self.n_iter_ = (), True, 0
        self.n_batches_ = self.n_samples_seen_ = 0

    def _validate_params(self) -> None:
        super()._validate_params()
        for name in ("doc_topic_prior", "topic_word_prior"):
            if getattr(self, name) == 0 and not self._point:
                raise ValueError(
                    f"{name}=0 with learning_method={self.learning_method!r}; expected a positive number "
                    "(only 'map' does without a prior)"
                )
        if self.init == "spectral" and (self.learning_method == "gibbs" or self.doc_topic_prior == 0):
            raise ValueError(
                f"init='spectral' with learning_method={self.learning_method!r} and "
                f"doc_topic_prior={self.doc_topic_prior}; 'gibbs' begins with topics by chance, and "
                "moments need a positive prior: use 'batch', 'online' or 'map'"
            )

    @property
    def _point(self) -> bool:
        return self.learning_method == "map"

    def _model(self) -> EMModel[TopicParameters]:
        return _variational.variational_model(
            point=self._point,
            learn=self.learn_priors,
            updates=self.max_doc_update_iter,
            tol=self.mean_change_tol,
        )

    def _source(self, X: Any) -> Source[Counts]:
        """Batches of checked counts."""
        if not isinstance(X, Source):
            return Rows(self._counts(X, reset=True), batch_rows=self.batch_rows)
        self._counts(X.loaders()[0](), reset=True)
        checked: Source[Counts] = self._engine().map(self._check_batch(), X)
        return checked

    def _tokens(self, source: Source[Counts]) -> Array:
        """Number of words of each language."""
        sums: Array = self._engine().map_reduce(_column_sums, _add, source)
        starts = np.concatenate([[0], np.cumsum(self._widths())[:-1]])
        tokens = np.add.reduceat(sums, starts)
        if not tokens.sum() > 0:
            raise ValueError("all documents are empty: not one word was counted; expected some words")
        return np.asarray(tokens)

    def _start(self, source: Source[Counts], rng: np.random.RandomState) -> TopicParameters:
        """Where learning begins: topics by chance, or those of the moments of words."""
        k, widths, tokens = self.n_components, self._widths(), self._tokens(source)
        alpha = 1.0 / k if self.doc_topic_prior is None else float(self.doc_topic_prior)
        eta = 1.0 / k if self.topic_word_prior is None else float(self.topic_word_prior)
        start = start_parameters(widths, np.full(k, alpha), np.full(len(widths), eta), tokens, rng)
        if self.init == "random":
            return start
        share = START_SHARE if self.max_iter else 0.0
        return spectral_start(source, self._engine(), start, tokens, rng, share)

    # Using

    def _proportions(self, counts: Counts) -> Array:
        """The expected proportions of topics in documents; rows without words have those of the prior."""
        p = self.parameters_
        found = _variational.proportions(
            _variational.Documents(counts),
            p,
            updates=self.max_doc_update_iter,
            tol=self.mean_change_tol,
            point=self._point,
            mean_topics=self.learning_method == "gibbs",
            threads=count_threads(self.n_jobs),
        )
        theta = found.next + p.doc_prior
        totals = theta.sum(axis=1, keepdims=True)
        return np.asarray(np.where(totals > 0, theta / np.where(totals > 0, totals, 1), 1 / p.n_topics))

    def transform(self, X: Any) -> Array:
        """Proportions of topics in documents (n, topics); rows sum to one.

        Parameters
        ----------
        X : counts
            Documents; one without a word has the proportions that the prior expects.
        """
        check_is_fitted(self)
        return self._proportions(self._counts(X, reset=False))

    def score(self, X: Any, y: Any = None) -> float:
        """Lower bound of the log-likelihood of documents under the topics, summed over documents.

        Parameters
        ----------
        X : counts
            Documents.
        y : None
            Not used.
        """
        check_is_fitted(self)
        return self._bound(self._counts(X, reset=False))

    def _bound(self, counts: Counts) -> float:
        gibbs = self.learning_method == "gibbs"
        statistic = _variational.expect_anew(
            counts,
            self.parameters_,
            updates=self.max_doc_update_iter,
            tol=self.mean_change_tol,
            point=self._point,
            mean_topics=gibbs,
        )
        return _variational.document_bound(statistic, self.parameters_, self._point, gibbs)

    def perplexity(self, X: Any, held_out: Any = None) -> float:
        """Perplexity of documents: the exponential of minus the bound per word; less is better.

        Parameters
        ----------
        X : counts
            Documents.
        held_out : counts, optional
            Other words of the same documents. Topic proportions are then found from ``X``, and the
            perplexity is that of ``held_out`` (document completion), which compares models of any kind.
        """
        check_is_fitted(self)
        counts = self._counts(X, reset=False)
        if held_out is None:
            return float(np.exp(-self._bound(counts) / counts.sum()))
        other = self._counts(held_out, reset=False)
        if other.shape != counts.shape:
            raise ValueError(f"held_out has shape {other.shape}; expected that of X, {counts.shape}")
        return _variational.completion(self._proportions(counts), self.parameters_.means, other)

    @property
    def doc_topic_prior_(self) -> Array:
        """Dirichlet parameters of the topic proportions of a document."""
        check_is_fitted(self)
        return self.parameters_.doc_prior

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "parameters_")


def _column_sums(counts: Counts) -> Array:
    return np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()


def _add(left: Array, right: Array) -> Array:
    return left + right


def check_rows(X: Any, n_features: int) -> Counts:
    """Counts of one language in a batch of a source."""
    counts = check_counts(check_array(X, accept_sparse="csr", dtype=np.float64))
    if counts.shape[1] != n_features:
        raise ValueError(f"a batch has {counts.shape[1]} features; the first one has {n_features}")
    return counts


def check_counts(counts: Any, name: str = "X") -> Counts:
    """Counts as a CSR matrix of doubles without zeros; refuse what cannot be counts."""
    counts = sparse.csr_matrix(counts, dtype=np.float64)
    if counts.nnz and not counts.data.min() >= 0:
        raise ValueError(
            f"Negative values in data passed to {name}: expected how often each word occurs in each document"
        )
    if counts.nnz and not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    return counts
