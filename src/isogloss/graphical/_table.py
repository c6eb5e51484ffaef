"""Numbers with named axes: the answer to every query, and the form of every conditional distribution."""

from __future__ import annotations

import dataclasses
import html
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isogloss.graphical._variables import Variable

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """An array whose axes are variables.

    Parameters
    ----------
    values : array
        One axis per variable, as long as the variable has states.
    variables : sequence of Variable
        The axes.
    given : sequence of str, optional
        Names of the axes the numbers are conditioned on: in ``P(G | I)`` it is ``("I",)``.

    Examples
    --------
    >>> I, S = Variable("I", ["i0", "i1"]), Variable("S", ["s0", "s1"])
    >>> joint = Table([[0.665, 0.035], [0.06, 0.24]], [I, S])
    >>> joint["i1", "s0"], joint.prob(I="i1", S="s0"), round(joint.prob(I="i1"), 3)
    (0.06, 0.06, 0.3)
    >>> print(joint)
    I   S   P(I, S)
    i0  s0  0.6650
    i0  s1  0.0350
    i1  s0  0.0600
    i1  s1  0.2400
    >>> joint.select(S="s1").to_dict()
    {'i0': 0.035, 'i1': 0.24}
    >>> joint.best()
    {'I': 'i0', 'S': 's0'}
    """

    values: Array
    variables: tuple[Variable, ...]
    given: tuple[str, ...] = ()

    def __init__(self, values: ArrayLike, variables: Sequence[Variable], given: Sequence[str] = ()) -> None:
        array = np.array(values, dtype=np.float64)
        shape = tuple(variable.card for variable in variables)
        if array.shape != shape:
            names = ", ".join(variable.name for variable in variables)
            raise ValueError(f"values of shape {array.shape}; expected {shape}, the states of {names}")
        array.flags.writeable = False
        object.__setattr__(self, "values", array)
        object.__setattr__(self, "variables", tuple(variables))
        object.__setattr__(self, "given", tuple(given))
        self._check_names()

    def _check_names(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"a table over {', '.join(self.names)}; each variable may be there once")
        for name in self.given:
            self.axis(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(variable.name for variable in self.variables)

    @property
    def title(self) -> str:
        """Return the name of the table, such as ``P(G | I)``."""
        free = ", ".join(name for name in self.names if name not in self.given)
        return f"P({free} | {', '.join(self.given)})" if self.given else f"P({free})"

    def axis(self, name: str) -> int:
        """The number of the axis of that name."""
        if name not in self.names:
            raise ValueError(f"{self.title} has no variable {name!r}; it has {', '.join(self.names)}")
        return self.names.index(name)

    def __getitem__(self, states: str | tuple[str, ...]) -> float:
        """The number at one state per variable, in the order of the axes."""
        states = (states,) if isinstance(states, str) else tuple(states)
        if len(states) != len(self.variables):
            raise ValueError(
                f"{self.title}: {len(states)} states; expected one of each of {', '.join(self.names)}"
            )
        return float(self.values[tuple(v.code(s) for v, s in zip(self.variables, states, strict=True))])

    def prob(self, assignment: Mapping[str, str] | None = None, /, **states: str) -> float:
        """The sum of the cells that agree with the given states; a single cell when all are given.

        Names that are no Python names go into a dict: ``table.prob({"blood pressure": "low"})``. Every
        variable that the table is conditioned on must be given.
        """
        states = {**(assignment or {}), **states}
        for name in self.given:
            if name not in states:
                raise ValueError(f"{self.title} is conditioned on {name}; give its state too")
        return float(self.values[self._index(states)].sum())

    def select(self, assignment: Mapping[str, str] | None = None, /, **states: str) -> Table:
        """The part of the table with these states, over the variables that are left."""
        states = {**(assignment or {}), **states}
        left = tuple(v for v in self.variables if v.name not in states)
        return Table(self.values[self._index(states)], left, [n for n in self.given if n not in states])

    def _index(self, states: Mapping[str, str]) -> tuple[Any, ...]:
        index: list[Any] = [slice(None)] * len(self.variables)
        for name, state in states.items():
            axis = self.axis(name)
            index[axis] = self.variables[axis].code(state)
        return tuple(index)

    def marginal(self, names: str | Sequence[str]) -> Table:
        """The other variables summed out; axes in the order of ``names``."""
        names = (names,) if isinstance(names, str) else tuple(names)
        lost = [name for name in self.given if name not in names]
        if lost:
            raise ValueError(f"{self.title} is conditioned on {', '.join(lost)}; keep it, or select a state")
        kept = tuple(self.axis(name) for name in names)
        sums = self.values.sum(axis=tuple(a for a in range(self.values.ndim) if a not in kept))
        order = [sorted(kept).index(axis) for axis in kept]
        return Table(sums.transpose(order), [self.variables[axis] for axis in kept], self.given)

    def transpose(self, names: Sequence[str]) -> Table:
        """The same numbers with the axes in another order."""
        if sorted(names) != sorted(self.names):
            raise ValueError(f"an order of {', '.join(names)}; expected all of {', '.join(self.names)}")
        return self.marginal(names)

    def best(self) -> dict[str, str]:
        """The states of the largest cell; of equal ones the first."""
        codes = np.unravel_index(int(self.values.argmax()), self.values.shape)
        return {v.name: v.states[code] for v, code in zip(self.variables, codes, strict=True)}

    def to_dict(self) -> Any:
        """Numbers by state, one level of dicts per variable."""
        return _nested(self.values, self.variables)

    @property
    def down(self) -> tuple[Variable, ...]:
        """The variables whose states stand at the side when the table is printed.

        Those are all; but a conditional table has its last variable across.
        """
        across = bool(self.given) and self.names[-1] not in self.given
        return self.variables[:-1] if across else self.variables

    def cells(self) -> list[list[str]]:
        """The table as text: a first row of headings, then the rows."""
        across = self.variables[len(self.down) :]
        header = [v.name for v in self.down] + (list(across[0].states) if across else [self.title])
        rows = self.values.reshape(-1, across[0].card if across else 1).tolist()
        keys = itertools.product(*(v.states for v in self.down))
        return [header, *([*key, *map(number, row)] for key, row in zip(keys, rows, strict=True))]

    def __str__(self) -> str:
        rows = self.cells()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        header, *rows = ([html.escape(cell) for cell in row] for row in self.cells())
        top = "".join(f"<th>{cell}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        return f"Table({self.title}, shape {self.values.shape})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype)


def number(value: float) -> str:
    """A probability in four digits; a small one with its power of ten."""
    return f"{value:.4f}" if value == 0 or not abs(value) < 5e-5 else f"{value:.1e}"


def _nested(values: NDArray[Any], variables: Sequence[Variable]) -> Any:
    if not variables:
        return float(values)
    first, *rest = variables
    return {state: _nested(part, rest) for state, part in zip(first.states, values, strict=True)}
