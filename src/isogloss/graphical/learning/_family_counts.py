"""Counts of the configurations of a variable and its parents, which are sufficient for complete rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical._structure import Graph
from isogloss.graphical.learning._layout import Layout
from isogloss.stats import CountTable


class FamilyCounts:
    """Counts of every family of a graph; a statistic, so they add, subtract and travel.

    Parameters
    ----------
    graph : Structure, BayesianNetwork or Layout
        The families.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> counts = FamilyCounts(student()).update(np.array([[0, 1, 0, 1, 1], [1, 0, 2, 0, 0]]))
    >>> counts.rows, counts.tables[4].table.tolist()
    (2, [[0, 1], [0, 0], [1, 0]])
    """

    def __init__(self, graph: Graph | Layout) -> None:
        self.layout = graph if isinstance(graph, Layout) else Layout.of(graph)
        self.tables = tuple(CountTable(shape) for shape in self.layout.shapes)
        """One table per variable: axes of the parents, then its own."""
        self.rows = 0

    def update(self, batch: NDArray[Any]) -> Self:
        """Count complete rows of codes, one column per variable."""
        codes = np.asarray(batch)
        n_variables = len(self.layout.cards)
        if codes.ndim != 2 or codes.shape[1] != n_variables or codes.dtype.kind not in "iu":
            raise ValueError(
                f"got codes of shape {codes.shape} and dtype {codes.dtype}; expected integers, one row per "
                f"observation and {n_variables} columns"
            )
        if not len(codes):
            return self
        if codes.min() < 0 or (codes.max(axis=0) >= self.layout.cards).any():
            raise ValueError("a cell is missing or is no state; counting needs complete rows, EM does not")
        for table, counts in zip(self.tables, self.layout.tables(self.layout.count(codes)), strict=True):
            table.table += counts
        self.rows += len(codes)
        return self

    def merge(self, other: FamilyCounts) -> Self:
        """Add what ``other`` has counted."""
        self._check_same(other)
        for mine, theirs in zip(self.tables, other.tables, strict=True):
            mine.merge(theirs)
        self.rows += other.rows
        return self

    def subtract(self, other: FamilyCounts) -> Self:
        """Take back what ``other`` has counted."""
        self._check_same(other)
        pairs = list(zip(self.tables, other.tables, strict=True))
        if other.rows > self.rows or any((theirs.table > mine.table).any() for mine, theirs in pairs):
            raise ValueError("cannot take away more than was counted")
        for mine, theirs in pairs:
            mine.subtract(theirs)
        self.rows -= other.rows
        return self

    def _check_same(self, other: FamilyCounts) -> None:
        if self.layout != other.layout:
            raise ValueError("these are counts of another graph; only those of the same families add")

    @property
    def vector(self) -> NDArray[np.int64]:
        """All tables as one vector."""
        return self.layout.vector([table.table for table in self.tables])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays."""
        families = self.layout.families
        return {
            "cards": np.array(self.layout.cards, dtype=np.int64),
            "lengths": np.array([len(family) for family in families], dtype=np.int64),
            "members": np.array([v for family in families for v in family], dtype=np.int64),
            "counts": self.vector,
            "rows": np.array(self.rows, dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The counts that gave these arrays."""
        parts = np.split(arrays["members"], np.cumsum(arrays["lengths"])[:-1])
        families = tuple(tuple(part.tolist()) for part in parts)
        out = cls(Layout(tuple(arrays["cards"].tolist()), families))
        for table, counts in zip(out.tables, out.layout.tables(arrays["counts"]), strict=True):
            table.table[...] = counts
        out.rows = int(arrays["rows"])
        return out
