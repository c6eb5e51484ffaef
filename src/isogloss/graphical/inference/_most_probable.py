r"""The most probable states: sums over the variables that are not queried, then maxima over those that are.

.. math:: \arg\max_{x_m} \sum_{x_s} p(x_m, x_s, e)

by eliminating the :math:`x_s` with sums, then the :math:`x_m` with maxima, and reading the states back in the
opposite order. Sums and maxima may not change places, so the sums come first whatever they cost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from math import inf, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical.inference._junction import elimination_order
from isogloss.graphical.inference._relevance import Relevance, bits, mask_of

Array = NDArray[np.float64]
Factor = tuple[tuple[int, ...], Any]

_MAX_ENTRIES = 2**28


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The most probable states and the logarithm of their probability together with the evidence."""

    states: dict[str, str]
    log_probability: float

    @property
    def probability(self) -> float:
        """The probability of the states together with the evidence."""
        return float(np.exp(self.log_probability))


def most_probable(
    relevance: Relevance, tables: Sequence[Array], evidence: Mapping[int, int], chosen: Sequence[int]
) -> tuple[dict[int, int], float] | None:
    """The best states of the chosen variables and their log probability; None if the evidence is impossible.

    Of equally probable states the first is taken.
    """
    needed = relevance.needed(mask_of(evidence), mask_of(chosen))
    sizes = {v: table.shape[-1] for v, table in enumerate(tables)}
    elimination = _Elimination([_sliced(relevance, tables, f, evidence) for f in bits(needed)], sizes)
    elimination.run(needed & ~mask_of(evidence) & ~mask_of(chosen), maximise=False)
    elimination.run(mask_of(chosen), maximise=True)
    if elimination.log_value == -inf:
        return None
    return elimination.best(), elimination.log_value


def _sliced(relevance: Relevance, tables: Sequence[Array], f: int, evidence: Mapping[int, int]) -> Factor:
    family = relevance.families[f]
    index = tuple(evidence.get(v, slice(None)) for v in family)
    return tuple(v for v in family if v not in evidence), tables[f][index]


class _Elimination:
    """Tables from which variables are taken one by one."""

    def __init__(self, factors: list[Factor], sizes: Mapping[int, int]) -> None:
        self.factors, self.sizes = factors, sizes
        self.log_value = 0.0
        self.choices: list[tuple[int, tuple[int, ...], Any]] = []
        self._take_numbers()

    def run(self, variables: int, *, maximise: bool) -> None:
        """Eliminate these variables, those that make the fewest new edges first."""
        scopes = [scope for scope, _ in self.factors]
        for v, _ in elimination_order(scopes, self.sizes, only=variables):
            near = [factor for factor in self.factors if v in factor[0]]
            self.factors = [factor for factor in self.factors if v not in factor[0]]
            scope, product = _product(near, v, self.sizes)
            if maximise:
                self.choices.append((v, scope[:-1], product.argmax(axis=-1)))
            left = product.max(axis=-1) if maximise else product.sum(axis=-1)
            scale = float(left.max())
            self.factors.append((scope[:-1], left / scale if scale > 0 else left))
            self.log_value += log(scale) if scale > 0 else -inf
            self._take_numbers()

    def best(self) -> dict[int, int]:
        """The states that gave the maxima."""
        states: dict[int, int] = {}
        for v, scope, argmax in reversed(self.choices):
            states[v] = int(argmax[tuple(states[u] for u in scope)])
        return states

    def _take_numbers(self) -> None:
        """Tables without axes are factors of the result."""
        for scope, value in self.factors:
            if not scope:
                self.log_value += log(value) if value > 0 else -inf
        self.factors = [factor for factor in self.factors if factor[0]]


def _product(factors: Sequence[Factor], last: int, sizes: Mapping[int, int]) -> Factor:
    """The product over the union of the scopes, with one variable's axis last."""
    union = sorted({v for scope, _ in factors for v in scope} - {last})
    scope = (*union, last)
    size = prod(sizes[v] for v in scope)
    if size > _MAX_ENTRIES:
        raise ValueError(
            f"a table of {size} entries is needed on the way; ask for fewer variables or observe more"
        )
    result: Any = 1.0
    for own, table in factors:
        ordered = [v for v in scope if v in own]
        shape = [sizes[v] if v in own else 1 for v in scope]
        result = result * table.transpose([own.index(v) for v in ordered]).reshape(shape)
    return scope, result
