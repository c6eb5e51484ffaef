"""Compiled queries: the tables that matter for a question, sliced at the evidence and contracted.

A plan depends on which variables are queried and which are observed, not on the observed states, so it is
made once for many questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical.inference._contraction import Contraction
from isogloss.graphical.inference._relevance import Relevance, bits, mask_of

Array = NDArray[np.float64]

MIN_FACTOR_SUM = 1e-250
"""Products below this are computed again with scaling."""


class ProductPlan:
    """The product of some tables, at the evidence, summed over all variables but the wanted ones.

    Parameters
    ----------
    relevance : Relevance
        The graph.
    tables : sequence of arrays
        The table of every variable: axes of the parents, then its own.
    families : int
        Whose tables are multiplied, as bits.
    wanted, evidence : sequence of int
        Variables queried and observed, in the order of the answer's axes and of the observed states.
    order : sequence of int, optional
        All variables in an order in which they could be eliminated.
    """

    def __init__(
        self,
        relevance: Relevance,
        tables: Sequence[Array],
        families: int,
        wanted: Sequence[int],
        evidence: Sequence[int],
        order: Sequence[int] = (),
    ) -> None:
        place = {v: k for k, v in enumerate(evidence)}
        sizes = {v: tables[v].shape[-1] for v in range(len(tables))}
        scopes: list[tuple[int, ...]] = []
        constants: dict[int, Array] = {}
        self._lookups: list[tuple[Array, tuple[int, ...]]] = []
        self._numbers: list[tuple[Array, tuple[int, ...]]] = []
        for f in bits(families):
            family = relevance.families[f]
            free = tuple(v for v in family if v not in place)
            seen = tuple(v for v in family if v in place)
            table = tables[f].transpose([family.index(v) for v in (*seen, *free)])
            lookup = (table, tuple(place[v] for v in seen))
            if not free:
                self._numbers.append(lookup)
                continue
            if seen:
                self._lookups.append(lookup)
            else:
                constants[len(scopes)] = table
            scopes.append(free)
        self._contraction = Contraction(scopes, sizes, tuple(wanted), constants, order) if scopes else None

    def __call__(self, codes: Sequence[int]) -> tuple[Any, float]:
        """The product at these observed states over a scale, and the logarithm of the scale."""
        number = 1.0
        for table, places in self._numbers:
            number *= table[tuple([codes[k] for k in places])]
        if self._contraction is None:
            return (np.array(number), 0.0) if number > MIN_FACTOR_SUM else self._small(codes)
        values = self._contraction(self._slices(codes)) * number
        return (values, 0.0) if values.sum() > MIN_FACTOR_SUM else self._small(codes)

    def _small(self, codes: Sequence[int]) -> tuple[Any, float]:
        values, log_scale = np.ones(()), 0.0
        if self._contraction is not None:
            values, log_scale = self._contraction.scaled(self._slices(codes))
        for table, places in self._numbers:
            number = float(table[tuple([codes[k] for k in places])])
            if number == 0.0:
                return np.zeros_like(values), 0.0
            log_scale += np.log(number)
        return values, float(log_scale)

    def _slices(self, codes: Sequence[int]) -> list[Any]:
        return [table[tuple([codes[k] for k in places])] for table, places in self._lookups]


class PosteriorPlan:
    """The product of the tables that bear on the wanted variables, and a check of the others.

    Tables that the evidence cuts off from the question change the answer by a factor only, but a zero among
    them may make the evidence impossible; those that have one are looked at.
    """

    def __init__(
        self,
        relevance: Relevance,
        tables: Sequence[Array],
        wanted: Sequence[int],
        evidence: Sequence[int],
        zeros: int,
        order: Sequence[int] = (),
    ) -> None:
        observed = mask_of(evidence)
        part = relevance.part(mask_of(wanted), observed)
        self._product = ProductPlan(relevance, tables, part.families, wanted, evidence, order)
        suspects = 0
        for other in relevance.parts(observed, mask_of(wanted)):
            if not other.hidden & part.hidden and other.families & zeros:
                suspects |= other.families
        for v in bits(observed & zeros):
            if not mask_of(relevance.families[v]) & ~observed:
                suspects |= 1 << v
        self._others = ProductPlan(relevance, tables, suspects, (), evidence, order) if suspects else None

    def __call__(self, codes: Sequence[int]) -> Any:
        """The posterior of the wanted variables; None if the evidence is impossible."""
        values, _ = self._product(codes)
        total = values.sum()
        if not total > 0 or (self._others is not None and not self._others(codes)[0] > 0):
            return None
        return values / total
