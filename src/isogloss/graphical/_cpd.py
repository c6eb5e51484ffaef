"""Conditional probability distributions of one variable given its parents, as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.graphical._table import Table
from isogloss.graphical._variables import Variable

_TOLERANCE = 1e-8


@dataclasses.dataclass(frozen=True, eq=False)
class CPD:
    r"""The distribution of a variable for each configuration of its parents.

    Parameters
    ----------
    variable : Variable
        What the distribution is of.
    parents : sequence of Variable
        What it depends on.
    values : array, shape (\*cards of the parents, card)
        The probabilities of the states along the last axis, which sum to one. They are kept as they are.

    Examples
    --------
    >>> I, S = Variable("I", ["i0", "i1"]), Variable("S", ["s0", "s1"])
    >>> score = CPD(S, [I], [[0.95, 0.05], [0.2, 0.8]])
    >>> print(score.table)
    I   s0      s1
    i0  0.9500  0.0500
    i1  0.2000  0.8000
    >>> score.n_parameters
    2
    >>> CPD(S, [I], [[0.95, 0.05], [0.2, 0.7]])
    Traceback (most recent call last):
        ...
    ValueError: P(S | I): the probabilities for I=i1 sum to 0.9; expected 1
    """

    variable: Variable
    parents: tuple[Variable, ...]
    values: NDArray[np.float64]

    def __init__(self, variable: Variable, parents: Sequence[Variable], values: ArrayLike) -> None:
        array = np.array(values, dtype=np.float64, order="C")
        array.flags.writeable = False
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "parents", tuple(parents))
        object.__setattr__(self, "values", array)
        self._check_shape()
        self._check_values()

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name

    @property
    def parent_names(self) -> tuple[str, ...]:
        """The names of the parents."""
        return tuple(parent.name for parent in self.parents)

    @property
    def title(self) -> str:
        """Such as ``P(S | I)``."""
        given = f" | {', '.join(self.parent_names)}" if self.parents else ""
        return f"P({self.name}{given})"

    @property
    def n_parameters(self) -> int:
        """Number of independent probabilities."""
        return self.values.size // self.variable.card * (self.variable.card - 1)

    @property
    def table(self) -> Table:
        """The distribution as a table: the parents' axes, then the variable's."""
        return Table(self.values, (*self.parents, self.variable), self.parent_names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CPD):
            return NotImplemented
        same = (self.variable, self.parents) == (other.variable, other.parents)
        return same and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.variable, self.parents))

    def __repr__(self) -> str:
        return f"CPD({self.title}, shape {self.values.shape})"

    def __str__(self) -> str:
        return str(self.table)

    def _check_shape(self) -> None:
        for given in (self.variable, *self.parents):
            if not isinstance(given, Variable):
                raise TypeError(f"{given!r:.60} is a {type(given).__name__}; a CPD is of Variables")
        names = (*self.parent_names, self.name)
        if len(set(names)) < len(names):
            raise ValueError(f"{self.title}: a variable may occur only once, and not as its own parent")
        shape = tuple(v.card for v in (*self.parents, self.variable))
        if self.values.shape != shape:
            raise ValueError(
                f"{self.title}: values of shape {self.values.shape}; expected {shape}, the states of "
                f"{', '.join(names)} in this order"
            )

    def _check_values(self) -> None:
        bad = ~(self.values >= 0) | ~np.isfinite(self.values)
        if bad.any():
            where, value = np.argwhere(bad)[0], self.values[bad][0]
            raise ValueError(
                f"{self.title}: the probability {value} of {self.variable.states[where[-1]]}"
                f"{self._configuration(where[:-1])}; expected a number from 0 to 1"
            )
        sums = self.values.sum(axis=-1)
        off = np.abs(sums - 1) > _TOLERANCE
        if off.any():
            raise ValueError(
                f"{self.title}: the probabilities{self._configuration(np.argwhere(off)[0])} sum to "
                f"{sums[off][0]:.10g}; expected 1"
            )

    def _configuration(self, codes: NDArray[np.int64]) -> str:
        pairs = zip(self.parents, codes.tolist(), strict=True)
        states = ", ".join(f"{parent.name}={parent.states[code]}" for parent, code in pairs)
        return f" for {states}" if states else ""
