r"""Hidden Markov models from the moments of three symbols in a row.

Given the middle state :math:`h`, the symbols :math:`x_1, x_2, x_3` of a window are independent. The three
views are reduced to :math:`k` dimensions each by canonical correlation analysis of neighbours: symbols are
indicators, so their covariances are diagonal, and canonical variates are singular vectors of counts divided
by the roots of frequencies. A tenth of the mean frequency is added to each, without which pairs of rare
symbols rule [3]_. Two estimates are made from the reduced views.

*Parameters* [2]_. With :math:`C_{ij} = \operatorname{E}[y_i y_j^\top]` the views :math:`\tilde y_1 = C_{23}
C_{13}^{-1} y_1` and :math:`\tilde y_3 = C_{21} C_{31}^{-1} y_3` have the conditional means :math:`\mu_h` of
the middle one, so that

.. math:: \operatorname{E}[\tilde y_1 \tilde y_3^\top] = \sum_h w_h \mu_h \mu_h^\top, \qquad
          \operatorname{E}[\tilde y_1 \otimes y_2 \otimes \tilde y_3] = \sum_h w_h \mu_h^{\otimes 3},

and the tensor becomes orthogonal when it is whitened by the matrix.

*Observable operators* [1]_. With :math:`A_x = U^\top P_{3x1} V (U^\top P_{21} V)^{-1}` the probability of a
sequence is :math:`b_\infty^\top A_{x_n} \cdots A_{x_1} b_1`; no states are recovered.

References
----------
.. [1] D. Hsu, S. M. Kakade, T. Zhang, *A spectral algorithm for learning hidden Markov models*, Journal of
   Computer and System Sciences 78, 2012.
.. [2] A. Anandkumar, D. Hsu, S. M. Kakade, *A method of moments for mixture models and hidden Markov
   models*, COLT 2012.
.. [3] T. Qin, K. Rohe, *Regularized spectral clustering under the degree-corrected stochastic blockmodel*,
   NIPS 2013.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from isogloss._estimator import warn_caller
from isogloss.graphical import Sequences
from isogloss.linalg import decompose_tensor, frequency_scale, project_to_simplex, randomized_svd
from isogloss.sequences._hmm_steps import HMMParameters
from isogloss.stats import TripleCounts
from isogloss.threads import thread_bound

Array = NDArray[np.float64]

_START_SHARE = 0.01
"""How much of a start of EM is not the estimate but the shares of symbols, so that nothing is impossible."""

_SINGULAR = 1e-8
"""Singular values of reduced moments below this part of the largest are not divided by."""


class HMMMoments:
    """What spectral learning needs of sequences: three symbols in a row, and the first one. Moments add.

    Parameters
    ----------
    n_symbols : int
        Number of symbols.

    Examples
    --------
    >>> from isogloss.graphical import Sequences
    >>> text = Sequences.from_lengths([0, 1, 1, 0, 1, 1, 1], [4, 3])
    >>> moments = HMMMoments(2).update(text[:1]).merge(HMMMoments(2).update(text[1:]))
    >>> moments.windows, moments.first
    (3.0, array([1., 1.]))
    """

    def __init__(self, n_symbols: int) -> None:
        self.triples = TripleCounts(n_symbols)
        self.first: Array = np.zeros(n_symbols)

    @property
    def windows(self) -> float:
        """How many windows of three symbols were seen."""
        return self.triples.total

    def __repr__(self) -> str:
        return f"HMMMoments({self.windows:.10g} windows of 3 symbols)"

    def update(self, batch: Sequences) -> Self:
        """Add sequences; windows with a missing symbol are left out."""
        codes = batch.codes[batch.offsets[0] : batch.offsets[-1]]
        sequence = np.repeat(np.arange(len(batch)), batch.lengths)
        starts = np.flatnonzero(sequence[2:] == sequence[:-2])
        weights = batch.effective_weights
        self.triples.update(codes[starts[:, None] + np.arange(3)], weights[sequence[starts]])
        heads = codes[(batch.offsets[:-1] - batch.offsets[0])[batch.lengths > 0]]
        seen = heads >= 0
        self.first += np.bincount(
            heads[seen], weights=weights[batch.lengths > 0][seen], minlength=len(self.first)
        )
        return self

    def merge(self, other: HMMMoments) -> Self:
        """Add what ``other`` has seen."""
        self.triples.merge(other.triples)
        self.first += other.first
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        return {"first": self.first, **self.triples.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The moments that gave these arrays."""
        out = cls(len(arrays["first"]))
        out.triples = TripleCounts.from_arrays(arrays)
        out.first += arrays["first"]
        return out


@dataclasses.dataclass(frozen=True)
class ObservableOperators:
    """A hidden Markov model without states: one operator for each symbol, on predictions of what follows.

    Parameters
    ----------
    initial : array (k,)
        Before the first symbol.
    final : array (k,)
        Takes a prediction to its probability.
    steps : array (symbols, k, k)
        The operator of each symbol.
    """

    initial: Array
    final: Array
    steps: Array


class _Reduced(NamedTuple):
    """Three views reduced to k dimensions: a matrix for each, and moments of the reduced views."""

    maps: tuple[Array, Array, Array]
    pairs: tuple[Array, Array, Array]
    """Of views 1 and 2, 1 and 3, 2 and 3."""
    n_states: int
    """Correlations that are larger than chance."""


class SpectralEstimate(NamedTuple):
    """Parameters, and how many states the moments tell apart."""

    parameters: HMMParameters
    n_states: int


def count_moments(n_symbols: int, batch: Sequences) -> HMMMoments:
    """The moments of one batch."""
    return HMMMoments(n_symbols).update(batch)


@thread_bound
def estimate_parameters(moments: HMMMoments, n_states: int, random_state: Any) -> SpectralEstimate:
    """Estimate start, transition and emission probabilities."""
    reduced = _reduce(moments, n_states, random_state, warn=True)
    functions = _state_functions(moments.triples, reduced, random_state)
    triples, total = moments.triples, moments.windows
    P12, P13, P23 = (triples.pairs(a, b) / total for a, b in ((0, 1), (0, 2), (1, 2)))
    f1, f2, f3 = functions
    emission = project_to_simplex(_normalised((P12.T @ f1 + P23 @ f3).T))
    following = _normalised((P13.T @ f1 + P23.T @ f2).T)
    scale = frequency_scale((triples.singles(1) + triples.singles(2)) / (2 * total))
    basis = scale[:, None] * emission.T
    transition = np.array([_mixture_weights(basis, scale * row) for row in following])
    first = moments.first if moments.first.sum() else triples.singles(0)
    start = _mixture_weights(basis, scale * first / first.sum())
    return SpectralEstimate(HMMParameters(start, transition, emission), reduced.n_states)


@thread_bound
def estimate_operators(moments: HMMMoments, n_states: int, random_state: Any) -> ObservableOperators:
    """Estimate the operator of each symbol."""
    (left, middle, _), (c12, _, _), _ = _reduce(moments, n_states, random_state)
    inverse, total = _inverse(c12.T), moments.windows
    steps = np.zeros((moments.triples.n_values, n_states, n_states))
    for symbol, products in moments.triples.slices(left, middle):
        steps[symbol] = products.T @ inverse / total
    first = moments.first if moments.first.sum() else moments.triples.singles(0)
    final = inverse.T @ (left.T @ moments.triples.singles(0)) / total
    return ObservableOperators(middle.T @ first / first.sum(), final, steps)


def spread(p: HMMParameters, symbols: Array) -> HMMParameters:
    """Parameters near an estimate in which nothing is impossible, for EM to start from."""
    shares = (symbols + 1.0 / len(symbols)) / (symbols.sum() + 1.0)
    mixed = {
        name: (1 - _START_SHARE) * table + _START_SHARE * rest
        for name, table, rest in (
            ("start", p.start, 1.0 / len(p.start)),
            ("transition", p.transition, 1.0 / len(p.start)),
            ("emission", p.emission, shares),
        )
    }
    return HMMParameters(**mixed)


def _reduce(moments: HMMMoments, k: int, random_state: Any, *, warn: bool = False) -> _Reduced:
    """Canonical variates of neighbouring symbols, with a warning where there are fewer than k."""
    triples, n = moments.triples, moments.triples.n_values
    if k > n:
        raise ValueError(
            f"n_components={k} with {n} symbols; spectral learning needs at least as many symbols as states"
        )
    if not moments.windows:
        raise ValueError(
            "no three symbols in a row, without a missing one; spectral learning needs longer sequences"
        )
    total = moments.windows
    shares = [triples.singles(view) / total for view in range(3)]
    scales = [frequency_scale(share) for share in shares]

    def scaled(a: int, b: int) -> Any:
        return sparse.diags_array(scales[a]) @ (triples.pairs(a, b) / total) @ sparse.diags_array(scales[b])

    before, after = scaled(0, 1), scaled(1, 2)
    U1, s12, _ = randomized_svd(before, k, random_state=random_state)
    U2, _, _ = randomized_svd(sparse.hstack([before.T, after]).tocsr(), k, random_state=random_state)
    _, s23, V3 = randomized_svd(after, k, random_state=random_state)
    noise = 2.0 * np.sqrt(
        max(float(share @ scale**2) for share, scale in zip(shares, scales, strict=True)) / total
    )
    found = int(min((s12 > noise).sum(), (s23 > noise).sum()))
    if found < k and warn:
        warn_caller(
            f"the moments of {total:g} windows tell {found} of {k} states apart: correlation {found + 1} of "
            f"neighbours is {min(s12[found], s23[found]):.3g}, no more than chance; use fewer states "
            "or more text",
            ConvergenceWarning,
        )
    maps = (scales[0][:, None] * U1, scales[1][:, None] * U2, scales[2][:, None] * V3.T)
    pairs = [maps[a].T @ (triples.pairs(a, b) @ maps[b]) / total for a, b in ((0, 1), (0, 2), (1, 2))]
    return _Reduced(maps, (pairs[0], pairs[1], pairs[2]), found)


def _state_functions(
    triples: TripleCounts, reduced: _Reduced, random_state: Any
) -> tuple[Array, Array, Array]:
    """For each view the functions of a symbol whose mean is zero in all states but one."""
    (A1, A2, A3), (c12, c13, c23) = reduced.maps, reduced.pairs
    to_left, to_right = c23 @ _inverse(c13), c12.T @ _inverse(c13.T)
    second = to_left @ c12
    values, vectors = linalg.eigh((second + second.T) / 2)
    whiten = vectors / np.sqrt(np.maximum(values, _SINGULAR * max(values[-1], _SINGULAR)))
    B1, B2, B3 = A1 @ to_left.T @ whiten, A2 @ whiten, A3 @ to_right.T @ whiten
    _, V = decompose_tensor(triples.contract(B1, B2, B3) / triples.total, random_state=random_state)
    return B1 @ V, B2 @ V, B3 @ V


def _normalised(rows: Array) -> Array:
    sums = rows.sum(axis=1, keepdims=True)
    return np.asarray(rows / np.where(np.abs(sums) > 0, sums, 1.0))


def _mixture_weights(basis: Array, target: Array) -> Array:
    """The mixture of the columns of ``basis`` that is nearest to ``target``."""
    weights = nnls(basis, target)[0]
    total = weights.sum()
    return np.asarray(weights / total if total > 0 else np.full(len(weights), 1.0 / len(weights)))


def _inverse(matrix: Array) -> Array:
    return np.asarray(linalg.pinv(matrix, rtol=_SINGULAR))
