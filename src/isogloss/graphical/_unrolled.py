"""Chains written out as graphs, one variable per place, to draw them, query them and see what they assume."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from isogloss.graphical._cpd import CPD
from isogloss.graphical._variables import Variable
from isogloss.graphical.network import BayesianNetwork


def unrolled_markov(
    start: ArrayLike, transition: ArrayLike, length: int, states: Sequence[Hashable], *, name: str = "X"
) -> BayesianNetwork:
    """A Markov chain, such as a bigram model, of ``length`` variables X1 -> X2 -> ...

    Parameters
    ----------
    start : array (k,)
        Distribution of the first variable.
    transition : array (k, k)
        Distribution of the next one, one row per state.
    length : int
        Number of variables.
    states : sequence
        Names of the states.
    name : str
        What the variables are called.

    Examples
    --------
    >>> chain = unrolled_markov([1, 0], [[0.5, 0.5], [0, 1]], 3, ["dry", "wet"])
    >>> chain.factorisation()
    'P(X1, X2, X3) = P(X1) P(X2 | X1) P(X3 | X2)'
    """
    return BayesianNetwork(_chain(start, transition, length, states, name), name="Markov chain")


def unrolled_hmm(
    start: ArrayLike,
    transition: ArrayLike,
    emission: ArrayLike,
    length: int,
    states: Sequence[Hashable],
    symbols: Sequence[Hashable],
) -> BayesianNetwork:
    """A hidden Markov chain of states Z1 -> Z2 -> ... and a symbol of each, Z1 -> X1, Z2 -> X2, ...

    Examples
    --------
    >>> graph = unrolled_hmm([0.5, 0.5], np.eye(2), [[0.9, 0.1], [0.2, 0.8]], 2, "ab", "xy")
    >>> graph.edges
    (('Z1', 'Z2'), ('Z1', 'X1'), ('Z2', 'X2'))
    """
    hidden = _chain(start, transition, length, states, "Z")
    seen = [Variable(f"X{t + 1}", _texts(symbols)) for t in range(length)]
    hanging = [CPD(x, [z.variable], np.asarray(emission)) for x, z in zip(seen, hidden, strict=True)]
    return BayesianNetwork([*hidden, *hanging], name="hidden Markov chain")


def _chain(
    start: ArrayLike, transition: ArrayLike, length: int, states: Sequence[Hashable], name: str
) -> list[CPD]:
    if length < 1:
        raise ValueError(f"a chain of {length} variables; expected at least 1")
    places = [Variable(f"{name}{t + 1}", _texts(states)) for t in range(length)]
    first = CPD(places[0], [], np.asarray(start))
    pairs = itertools.pairwise(places)
    return [first, *(CPD(after, [before], np.asarray(transition)) for before, after in pairs)]


def _texts(names: Sequence[Hashable]) -> list[str]:
    return [str(name) for name in names]
