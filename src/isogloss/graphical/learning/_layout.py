"""All conditional tables of a network as one vector, and back.

Learning adds, normalises and compares the tables of all variables at once; in one vector that is a handful of
array operations, however many variables there are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical._cpd import CPD
from isogloss.graphical._structure import Graph
from isogloss.graphical.inference import Relevance
from isogloss.graphical.network import BayesianNetwork

__all__ = ["Layout"]

Array = NDArray[np.float64]
Codes = NDArray[np.signedinteger[Any]]


@dataclasses.dataclass(frozen=True)
class Layout:
    """The positions of the variables' tables in the parameter vector.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> layout = Layout.of(student())
    >>> layout.size, layout.shapes
    (26, ((2,), (2,), (2, 2, 3), (2, 2), (3, 2)))
    """

    cards: tuple[int, ...]
    """States of each variable."""
    families: tuple[tuple[int, ...], ...]
    """The variables of each table: the parents, then the variable itself."""

    @classmethod
    def of(cls, graph: Graph) -> Layout:
        """The layout of a network or a structure."""
        return cls(tuple(int(card) for card in graph.cards), Relevance(graph).families)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        return tuple(tuple(self.cards[v] for v in family) for family in self.families)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Return the offset of each table, and the end of the last."""
        ends = np.cumsum([prod(shape) for shape in self.shapes])
        return (0, *ends.tolist())

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self.offsets[-1]

    @cached_property
    def _rows(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the offset and length of each distribution."""
        lengths = np.concatenate(
            [np.full(prod(shape[:-1]), shape[-1], dtype=np.intp) for shape in self.shapes]
        )
        return np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths

    def tables(self, vector: NDArray[Any]) -> list[NDArray[Any]]:
        """The vector as one table per variable; they share its memory."""
        bounds = zip(self.offsets[:-1], self.offsets[1:], self.shapes, strict=True)
        return [vector[start:end].reshape(shape) for start, end, shape in bounds]

    def vector(self, tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The tables as one vector."""
        return np.concatenate([np.ravel(table) for table in tables])

    def totals(self, vector: Array) -> Array:
        """The sum of the distribution that each entry belongs to."""
        starts, lengths = self._rows
        return np.repeat(np.add.reduceat(vector, starts), lengths)

    def normalise(self, counts: Array, otherwise: Array | None = None) -> Array:
        """Every distribution divided by its sum; one without counts is ``otherwise``, or uniform."""
        _, lengths = self._rows
        totals = self.totals(counts)
        fallback = np.repeat(1.0 / lengths, lengths) if otherwise is None else otherwise
        return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), fallback)

    def network(self, graph: Graph, vector: Array, name: str = "") -> BayesianNetwork:
        """The network with these probabilities."""
        tables = self.tables(vector)
        cpds = [
            CPD(variable, [graph.variable(parent) for parent in graph.parents(variable.name)], table)
            for variable, table in zip(graph.variables, tables, strict=True)
        ]
        return BayesianNetwork(cpds, name)

    def count(self, codes: Codes, *, gaps: bool = False) -> NDArray[np.int64]:
        """Count each entry in rows of codes; a family leaves out rows in which it has missing values."""
        columns = np.ascontiguousarray(codes.T)
        counts = np.zeros(self.size, dtype=np.int64)
        for family, start, end in zip(self.families, self.offsets[:-1], self.offsets[1:], strict=True):
            key = columns[family[0]].astype(np.intp)
            for v in family[1:]:
                key *= self.cards[v]
                key += columns[v]
            if gaps:
                key = key[(columns[list(family)] >= 0).all(axis=0)]
            counts[start:end] = np.bincount(key, minlength=end - start)
        return counts
