r"""Hidden Markov models learned from moments alone, without a start and without iterations.

.. math:: p(x_1 \dots x_n) = b_\infty^\top A_{x_n} \cdots A_{x_1} b_1

See :mod:`isogloss.sequences._spectral` for the estimates.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import POSITIVE_INT, Constraints, Estimator, StrOptions
from isogloss.engine import Engine, EngineMixin, Source
from isogloss.graphical import Sequences, encode_sequences, symbols_of
from isogloss.sequences._hmm import DiscreteHMM, symbol_names
from isogloss.sequences._hmm_steps import HMMParameters
from isogloss.sequences._spectral import (
    HMMMoments,
    ObservableOperators,
    count_moments,
    estimate_operators,
    estimate_parameters,
)

Array = NDArray[np.float64]

_SMALLEST = 1e-12
"""Probability of a symbol for which an estimate of finite text gives less, possibly a negative number."""


class SpectralHMM(EngineMixin, Estimator):
    """A hidden Markov model from the moments of three symbols in a row.

    One pass over the text, no random starts and no local optima: with enough text the estimate is near the
    truth. EM needs less text for the same accuracy; ``DiscreteHMM(init="spectral")`` starts it from this
    estimate.

    Parameters
    ----------
    n_components : int
        Number of states, at most the number of symbols.
    symbols : sequence or int, optional
        The symbols, or their number if they are codes from zero. By default those seen in ``fit``.
    unseen : {'raise', 'missing'}
        What a symbol means that is not among them: an error, or nothing.
    random_state : int, RandomState or None
        Seed of the tensor power method.
    engine : Engine, optional
        Where batches of a source are counted; this process by default.

    Attributes
    ----------
    moments_ : HMMMoments
        Counts of three symbols in a row; all that is kept of the text.
    parameters_ : HMMParameters
        Start, transition and emission probabilities, projected to distributions (tensor method).
    operators_ : ObservableOperators
        Operators of Hsu, Kakade and Zhang, with which ``score_samples`` and ``predict_next_proba`` compute.
    symbols_ : tuple
        The symbols, in the order of the tables.
    n_states_found_ : int
        Correlations of neighbouring symbols that are larger than chance would make them, up to
        ``n_components``.

    Warns
    -----
    ConvergenceWarning
        When the moments tell fewer states apart than ``n_components``; the others are arbitrary.

    Notes
    -----
    Transition and emission matrices must have full rank: the emissions of a state are no mixture of those
    of others, nor are its next states. Windows overlap, so a single long sequence is enough, but then the
    start is that of one sequence. Of labelled text, missing symbols and few sequences EM makes more.

    Memory is 16 bytes for each distinct window of three symbols and ``symbols * n_components ** 2`` doubles
    for the operators. Moments of parts of a text, counted anywhere, ``merge`` to those of the whole, and
    ``fit`` takes them in place of sequences.

    Examples
    --------
    >>> from isogloss.sequences import DiscreteHMM
    >>> emission, transition = [[0.5, 0.5], [0.95, 0.05]], [[0.9, 0.1], [0.2, 0.8]]
    >>> coins = DiscreteHMM(2, symbols=["H", "T"], start_init=[1, 0], transition_init=transition)
    >>> coins = coins.set_params(emission_init=emission, max_iter=0, random_state=0).fit([["H"]])
    >>> throws, _ = coins.sample([100] * 1000)
    >>> hmm = SpectralHMM(2, symbols=["H", "T"], random_state=0).fit(throws)
    >>> bool(abs(np.sort(hmm.parameters_.emission[:, 0]) - [0.5, 0.95]).max() < 0.05)
    True
    >>> hmm.predict_next_proba([list("THTT"), list("HHHHHH")])[:, 0].round(1)
    array([0.5, 0.7])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "symbols": [Collection, POSITIVE_INT, None],
        "unseen": [StrOptions({"raise", "missing"})],
        "random_state": ["random_state"],
        "engine": [Engine, None],
    }

    moments_: HMMMoments
    parameters_: HMMParameters
    operators_: ObservableOperators
    symbols_: tuple[Hashable, ...]
    n_states_found_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        symbols: Sequence[Hashable] | int | None = None,
        unseen: str = "raise",
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.n_components = n_components
        self.symbols = symbols
        self.unseen = unseen
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Count windows of three symbols, or take counts, and estimate.

        Parameters
        ----------
        X : iterable of sequences, Sequences, Source of Sequences, or HMMMoments
            What was seen. Moments and a source need ``symbols``.
        y : None
            Not used.
        sample_weight : array (n_sequences,), optional
            How often each sequence counts.
        """
        self._validate_params()
        X = self._begin(X)
        self.moments_ = self._moments(X, sample_weight)
        return self._solve()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add sequences, or moments, to what was counted before, and estimate anew; symbols stay the same."""
        self._validate_params()
        if not hasattr(self, "moments_"):
            return self.fit(X, y, sample_weight)
        self.moments_.merge(self._moments(X, sample_weight))
        return self._solve()

    def score_samples(self, X: Any) -> Array:
        """Log probability of each sequence, by the operators; missing symbols are summed out.

        Estimated operators may give a symbol a probability that is negative or too small: it counts as
        1e-12, and the prediction begins anew after it.
        """
        return self._filter(X)[1]

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of a sequence."""
        return float(self.score_samples(X).mean())

    def predict_next_proba(self, X: Any) -> Array:
        """Probabilities of the symbol that follows each sequence, by the operators."""
        states, _ = self._filter(X)
        o = self.operators_
        given = np.einsum("k,xkl,nl->nx", o.final, o.steps, states, optimize=True)
        given = np.maximum(given, _SMALLEST)
        return np.asarray(given / given.sum(axis=1, keepdims=True))

    def to_hmm(self, **settings: Any) -> DiscreteHMM:
        """A :class:`DiscreteHMM` with the estimated parameters, to decode with.

        Parameters
        ----------
        **settings
            Further parameters of :class:`DiscreteHMM`; with ``max_iter`` above 0 its ``fit`` goes on from
            here.
        """
        check_is_fitted(self)
        p = self.parameters_
        given = {"start_init": p.start, "transition_init": p.transition, "emission_init": p.emission}
        hmm = DiscreteHMM(
            self.n_components,
            **{"symbols": self.symbols_, "unseen": self.unseen, "max_iter": 0, **given, **settings},
        )
        hmm.symbols_, hmm.states_ = self.symbols_, tuple(hmm.states or range(self.n_components))
        hmm.parameters_ = p
        return hmm

    def _begin(self, X: Any) -> Any:
        """Take the symbols; return sequences that can be read again."""
        if not isinstance(X, (Sequences, np.ndarray, Source, HMMMoments)):
            X = list(X)
        if self.symbols is not None:
            self.symbols_ = symbol_names(self.symbols)
        elif isinstance(X, (Source, HMMMoments)):
            raise ValueError("a source and moments have codes in place of symbols; give symbols to the model")
        else:
            self.symbols_ = symbols_of(X)
        if not self.symbols_:
            raise ValueError("there is not one symbol in the sequences; nothing to learn from")
        return X

    def _moments(self, X: Any, sample_weight: ArrayLike | None) -> HMMMoments:
        n = len(self.symbols_)
        if isinstance(X, (HMMMoments, Source)) and sample_weight is not None:
            raise ValueError("a source and moments carry their weights; leave sample_weight out")
        if isinstance(X, HMMMoments):
            return HMMMoments(n).merge(X)
        if isinstance(X, Source):
            counted: HMMMoments = self._engine().map_reduce(partial(count_moments, n), HMMMoments.merge, X)
            return counted
        return HMMMoments(n).update(
            encode_sequences(X, self.symbols_, unseen=self.unseen, weights=sample_weight)
        )

    def _solve(self) -> Self:
        found = estimate_parameters(self.moments_, self.n_components, self.random_state)
        self.parameters_, self.n_states_found_ = found.parameters, found.n_states
        self.operators_ = estimate_operators(self.moments_, self.n_components, self.random_state)
        return self

    def _filter(self, X: Any) -> tuple[Array, Array]:
        """The prediction after each sequence, and the log probability of each."""
        check_is_fitted(self)
        text = encode_sequences(X, self.symbols_, unseen=self.unseen)
        o, lengths, n = self.operators_, text.lengths, len(text)
        states = np.tile(o.initial, (n, 1))
        logs, steps = np.zeros(n), np.concatenate([o.steps, o.steps.sum(axis=0)[None]])  # the last sums out
        for place in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > place)
            codes = text.codes[text.offsets[rows] + place]
            after = np.einsum("nkl,nl->nk", steps[codes], states[rows])
            p = after @ o.final
            usual = p > _SMALLEST
            logs[rows] += np.where(codes < 0, 0.0, np.log(np.where(usual, np.minimum(p, 1.0), _SMALLEST)))
            scaled = after / np.where(usual, p, 1.0)[:, None]
            states[rows] = np.where(usual[:, None], scaled, o.initial)
        return states, logs

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "parameters_")
