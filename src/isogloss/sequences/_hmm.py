r"""Hidden Markov models over symbols.

.. math:: p(x, z) = \pi(z_1)\, b(x_1 \mid z_1) \prod_{t > 1} A(z_t \mid z_{t-1})\, b(x_t \mid z_t)

The model and its algorithms are described in Rabiner, *A tutorial on hidden Markov models and selected
applications in speech recognition* (1989). As a graph it is a chain of states with one symbol hanging on
each, see :meth:`DiscreteHMM.network`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import N_JOBS, NON_NEGATIVE, POSITIVE_INT, Constraints, Estimator, StrOptions
from isogloss.em import EM_CONSTRAINTS, Callback, EMMixin, EMResult, FullExpectation, OnDecrease, best_of
from isogloss.engine import Batches, Engine, Rows, Source
from isogloss.graphical import BayesianNetwork, Sequences, encode_sequences, symbols_of, unrolled_hmm
from isogloss.kernels import hmm_best_paths, hmm_posteriors
from isogloss.sequences._hmm_steps import (
    PARTS,
    HMMParameters,
    count_labelled,
    draw_start,
    hmm_model,
    match_labels,
)
from isogloss.sequences._spectral import HMMMoments, count_moments, estimate_parameters, spread
from isogloss.stats import ExpectedCounts
from isogloss.threads import count_threads

Array = NDArray[np.float64]


class DiscreteHMM(EMMixin, Estimator):
    """A hidden Markov model whose states give out symbols.

    Parameters
    ----------
    n_components : int
        Number of states.
    states : sequence of str, optional
        Names of the states; their numbers by default.
    symbols : sequence or int, optional
        The symbols, or their number if they are codes from zero. By default those seen in ``fit``.
    unseen : {'raise', 'missing'}
        What a symbol means that is not among them: an error, or nothing.
    smoothing : float
        Pseudo-counts of every probability that is not zero.
    learn : sequence of 'start', 'transition' and 'emission'
        What ``fit`` changes; the rest stays as it starts.
    start_init, transition_init, emission_init : array, optional
        Where to start; rows are states. Probabilities of zero stay zero.
    init : {'random', 'spectral'}
        Where EM starts: at random, or at the estimate from moments of three symbols in a row (see
        :class:`SpectralHMM`), with a little weight on what it says is impossible. ``max_iter=0`` gives the
        estimate.
    n_init : int
        Number of starts, of which the one with the highest bound is kept. With 'spectral' those after the
        first are random.
    tol : float
        EM stops when a pass gains less than this per symbol.
    max_iter : int
        Most passes.
    accelerate : bool
        SQUAREM extrapolation.
    on_decrease : {'raise', 'warn', 'revert'}
        What to do when the bound falls.
    random_state : int, RandomState or None
        Seed of the starts and of ``sample``.
    n_jobs : int or None
        Threads of the compiled loops; -1 for all cores. The result does not depend on them.
    batch_sequences : int or None
        Sequences per batch of the E-step, which a cluster needs; None is one batch.
    engine : Engine, optional
        Where batches are worked on; this process by default.

    Attributes
    ----------
    parameters_ : HMMParameters
        What was learned; also there as ``start_``, ``transition_`` and ``emission_`` (states x symbols).
    symbols_, states_ : tuple
        Symbols and names of states, in the order of the tables.
    lower_bound_ : float
        Bound per symbol: the log-likelihood, and the log prior where there is smoothing.
    trace_ : tuple of :class:`~isogloss.em.Iteration`
        What each E-step found.
    converged_ : bool
        Whether the tolerance was reached.
    n_iter_ : int
        Steps taken from the best start.

    Notes
    -----
    Sequences are lists of symbols, or :class:`~isogloss.graphical.Sequences`. A missing symbol is
    None, or -1. States that are known go into ``y``, one list for each sequence with None where a state is
    not known: all of them, some or none. Time is about ``3 n K^2`` multiplications a pass. Memory beyond the
    data is the forward messages of up to eight sequences per thread, ``K`` numbers per symbol. There is no
    ``partial_fit``: what EM expects of a text depends on the parameters, so sums under old ones do not add to
    those under new ones. Give ``fit`` a source of batches when the text is larger than memory.

    Examples
    --------
    A coin that is sometimes exchanged for a loaded one; the loaded one shows heads:

    >>> hmm = DiscreteHMM(2, states=["fair", "loaded"], symbols=["H", "T"])
    >>> hmm = hmm.set_params(start_init=[1, 0], transition_init=[[0.9, 0.1], [0.2, 0.8]], max_iter=0)
    >>> hmm = hmm.set_params(emission_init=[[0.5, 0.5], [0.95, 0.05]]).fit([list("HT")])
    >>> hmm.predict([list("THTHHHHHHHHTT")])[0].tolist()
    ['fair', 'fair', 'fair', 'loaded', 'loaded', ..., 'loaded', 'fair', 'fair']
    >>> hmm.score_samples([list("TH"), ["T", None]]).round(4)
    array([-1.3001, -0.6931])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "states": [Collection, None],
        "symbols": [Collection, POSITIVE_INT, None],
        "unseen": [StrOptions({"raise", "missing"})],
        "smoothing": [NON_NEGATIVE],
        "learn": [list, tuple, set, frozenset],
        "start_init": ["array-like", None],
        "transition_init": ["array-like", None],
        "emission_init": ["array-like", None],
        "init": [StrOptions({"random", "spectral"})],
        "n_init": [POSITIVE_INT],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "batch_sequences": [POSITIVE_INT, None],
        "engine": [Engine, None],
        **EM_CONSTRAINTS,
    }
    _jobs_over_batches = False

    parameters_: HMMParameters
    symbols_: tuple[Hashable, ...]
    states_: tuple[Hashable, ...]
    lower_bound_: float

    def __init__(
        self,
        n_components: int = 2,
        *,
        states: Sequence[str] | None = None,
        symbols: Sequence[Hashable] | int | None = None,
        unseen: str = "raise",
        smoothing: float = 0.0,
        learn: Sequence[str] = PARTS,
        start_init: ArrayLike | None = None,
        transition_init: ArrayLike | None = None,
        emission_init: ArrayLike | None = None,
        init: str = "random",
        n_init: int = 1,
        tol: float = 1e-4,
        max_iter: int = 100,
        accelerate: bool = False,
        on_decrease: OnDecrease = "raise",
        random_state: Any = None,
        n_jobs: int | None = None,
        batch_sequences: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.states = states
        self.symbols = symbols
        self.unseen = unseen
        self.smoothing = smoothing
        self.learn = learn
        self.start_init = start_init
        self.transition_init = transition_init
        self.emission_init = emission_init
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.on_decrease = on_decrease
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_sequences = batch_sequences
        self.engine = engine

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn from sequences by EM.

        Parameters
        ----------
        X : iterable of sequences, Sequences, or Source of Sequences
            What was seen. A source needs ``symbols``.
        y : iterable of sequences of states, optional
            What is known of the states, None elsewhere.
        sample_weight : array (n_sequences,), optional
            How often each sequence counts.
        callbacks : iterable of callables
            Called as ``callback(iteration, parameters)`` after every E-step; a true answer stops.
        """
        self._validate_params()
        self.states_ = tuple(range(self.n_components)) if self.states is None else tuple(self.states)
        engine = self._engine()
        source = engine.persist(self._source(X, y, sample_weight))
        count = partial(count_labelled, self.n_components, len(self.symbols_))
        counts = engine.map_reduce(count, ExpectedCounts.merge, source)
        model = hmm_model(smoothing=self.smoothing, learn=self.learn, threads=count_threads(self.n_jobs))
        expectation = FullExpectation(model, source, engine)
        rng = check_random_state(self.random_state)
        starts = [draw_start(counts, self.n_components, rng) for _ in range(self.n_init)]
        if self.init == "spectral":
            starts[0] = self._spectral_start(source, engine, counts)
        known = [self._with_known_parts(start) for start in starts]
        return self._take(best_of(self._run_em(model, expectation, start, callbacks) for start in known))

    def predict(self, X: Any, y: Any = None) -> list[NDArray[Any]]:
        """The likeliest path of states of each sequence (Viterbi), through the states known in ``y``."""
        return self.decode(X, y)[0]

    def decode(self, X: Any, y: Any = None) -> tuple[list[NDArray[Any]], Array]:
        """The likeliest paths, and the log probability of each together with its sequence."""
        text = self._text(X, y)
        path, log_probability = np.empty(len(text.codes), dtype=np.int32), np.empty(len(text))
        self._run(hmm_best_paths, text, path, log_probability)
        _refuse_impossible(log_probability)
        return text.split(np.array(self.states_)[path]), log_probability

    def predict_proba(self, X: Any, y: Any = None) -> list[Array]:
        """Posteriors of the states at every place of each sequence (forward-backward)."""
        text = self._text(X, y)
        posterior, likelihoods = np.empty((len(text.codes), len(self.states_))), np.empty(len(text))
        self._run(hmm_posteriors, text, posterior, likelihoods)
        _refuse_impossible(likelihoods)
        return text.split(posterior)

    def score_samples(self, X: Any, y: Any = None) -> Array:
        """Log-likelihood of each sequence, with the states known in ``y``; -inf for an impossible one."""
        text = self._text(X, y)
        likelihoods = np.empty(len(text))
        self._run(hmm_posteriors, text, np.empty((0, len(self.states_))), likelihoods)
        return likelihoods

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of a sequence."""
        return float(self.score_samples(X, y).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion, with a symbol as the unit; smaller is better."""
        text = self._text(X, None)
        return -2 * float(self.score_samples(text).sum()) + self.n_parameters_ * float(np.log(text.tokens))

    def aic(self, X: Any) -> float:
        """Akaike information criterion; smaller is better."""
        return -2 * float(self.score_samples(X).sum()) + 2 * self.n_parameters_

    def sample(self, lengths: Sequence[int] | int) -> tuple[list[list[Any]], list[list[Any]]]:
        """Draw sequences of these lengths: their symbols, and the states behind them."""
        check_is_fitted(self, "parameters_")
        rng = check_random_state(self.random_state)
        drawn = [_draw(self.parameters_, int(n), rng) for n in np.atleast_1d(lengths)]
        return (
            [[self.symbols_[code] for code in codes] for _, codes in drawn],
            [[self.states_[state] for state in path] for path, _ in drawn],
        )

    def network(self, length: int) -> BayesianNetwork:
        """The graph of ``length`` steps: states Z1, Z2, ... and symbols X1, X2, ..."""
        check_is_fitted(self, "parameters_")
        p = self.parameters_
        return unrolled_hmm(p.start, p.transition, p.emission, length, self.states_, self.symbols_)

    @property
    def start_(self) -> Array:
        """Probabilities of the first state."""
        return self.parameters_.start

    @property
    def transition_(self) -> Array:
        """Probabilities of the next state, one row per state."""
        return self.parameters_.transition

    @property
    def emission_(self) -> Array:
        """Probabilities of the symbols, one row per state."""
        return self.parameters_.emission

    @property
    def n_parameters_(self) -> int:
        """Number of independent probabilities; those that are zero are not counted."""
        tables = (self.start_[None], self.transition_, self.emission_)
        return sum(int((table > 0).sum() - len(table)) for table in tables)

    def _validate_params(self) -> None:
        super()._validate_params()
        if any(name not in PARTS for name in self.learn):
            raise ValueError(f"learn={self.learn!r}; expected some of {', '.join(map(repr, PARTS))}")
        if self.states is not None and len(set(self.states)) != self.n_components:
            raise ValueError(f"states={self.states!r}; expected {self.n_components} different names")

    def _source(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Source[Sequences]:
        if isinstance(X, Source):
            if self.symbols is None or y is not None or sample_weight is not None:
                raise ValueError(
                    "a source of Sequences carries labels and weights; give symbols to the model"
                )
            self.symbols_ = symbol_names(self.symbols)
            return X
        X = X if isinstance(X, (Sequences, np.ndarray)) else list(X)
        self.symbols_ = symbols_of(X) if self.symbols is None else symbol_names(self.symbols)
        if not self.symbols_:
            raise ValueError("there is not one symbol in the sequences; nothing to learn from")
        text = self._encoded(X, y, sample_weight)
        return (
            Batches([text]) if self.batch_sequences is None else Rows(text, batch_rows=self.batch_sequences)
        )

    def _encoded(self, X: Any, y: Any, weights: ArrayLike | None = None) -> Sequences:
        text = encode_sequences(X, self.symbols_, unseen=self.unseen, weights=weights)
        return text if y is None else text.labelled(y, {name: i for i, name in enumerate(self.states_)})

    def _text(self, X: Any, y: Any) -> Sequences:
        check_is_fitted(self, "parameters_")
        return self._encoded(X, y)

    def _run(self, kernel: Callable[..., None], text: Sequences, *out: NDArray[Any]) -> None:
        """A compiled loop over the text, which writes into ``out``."""
        tables = self.parameters_.tables()
        kernel(text.codes, text.labels, text.offsets, *tables, count_threads(self.n_jobs), *out)

    def _spectral_start(
        self, source: Source[Sequences], engine: Engine, counts: ExpectedCounts
    ) -> HMMParameters:
        """The estimate from moments, its states in the order of those that are labelled."""
        count = partial(count_moments, len(self.symbols_))
        moments = engine.map_reduce(count, HMMMoments.merge, source)
        found = estimate_parameters(moments, self.n_components, self.random_state).parameters
        return match_labels(spread(found, counts["symbols"]), counts)

    def _with_known_parts(self, start: HMMParameters) -> HMMParameters:
        parts = {name: (getattr(self, f"{name}_init"), getattr(start, name)) for name in PARTS}
        return HMMParameters(**{name: _given(name, given, drawn) for name, (given, drawn) in parts.items()})

    def _take(self, result: EMResult[HMMParameters]) -> Self:
        self.parameters_ = result.parameters
        self.lower_bound_ = result.bound / result.statistic.rows
        self._keep_trace(result)
        return self


def symbol_names(symbols: Sequence[Hashable] | int) -> tuple[Hashable, ...]:
    """The symbols of a parameter that has them, or their number."""
    names = tuple(range(symbols)) if isinstance(symbols, int) else tuple(symbols)
    if len(set(names)) < len(names):
        raise ValueError("symbols has one twice; each needs a name of its own")
    return names


def _given(name: str, given: ArrayLike | None, drawn: Array) -> Array:
    if given is None:
        return drawn
    table = np.array(given, dtype=np.float64)
    if table.shape != drawn.shape:
        raise ValueError(f"{name}_init has shape {table.shape}; expected {drawn.shape}")
    if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1.0, atol=1e-8, rtol=0):
        raise ValueError(
            f"{name}_init has a row that is no distribution; expected probabilities that sum to 1"
        )
    return table


def _refuse_impossible(log_likelihoods: Array) -> None:
    impossible = np.flatnonzero(np.isneginf(log_likelihoods))
    if len(impossible):
        raise ValueError(
            f"sequence {impossible[0]} ({len(impossible)} in all) has probability 0 under this model, and no "
            "states are behind it; train with smoothing, or use unseen='missing' for new symbols"
        )


def _draw(p: HMMParameters, length: int, rng: np.random.RandomState) -> tuple[list[int], list[int]]:
    if length < 1:
        raise ValueError(f"a sequence of {length} symbols; expected at least 1")
    k, v = p.emission.shape
    path = [int(rng.choice(k, p=p.start))]
    while len(path) < length:
        path.append(int(rng.choice(k, p=p.transition[path[-1]])))
    return path, [int(rng.choice(v, p=p.emission[state])) for state in path]
