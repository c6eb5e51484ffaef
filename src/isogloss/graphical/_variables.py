"""A discrete variable: a name and the names of its states."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable with named states.

    Parameters
    ----------
    name : str
        How the variable is called; not empty.
    states : sequence of str
        What it can be: at least one name, each different and not empty.

    Examples
    --------
    >>> grade = Variable("G", ["g1", "g2", "g3"])
    >>> grade.card, grade.code("g3")
    (3, 2)
    >>> grade.code("g4")
    Traceback (most recent call last):
        ...
    ValueError: G has no state 'g4'; it has g1, g2, g3
    """

    name: str
    states: tuple[str, ...]

    def __init__(self, name: str, states: Sequence[str]) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"a variable named {name!r}; expected a name, which is a text of some letters")
        if isinstance(states, str):
            raise TypeError(f"{name} has the states {states!r}; expected a list of names")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "states", tuple(states))
        self._check_states()

    def _check_states(self) -> None:
        for state in self.states:
            if not isinstance(state, str) or not state:
                raise ValueError(
                    f"{self.name} has the state {state!r}; expected names, texts of some letters"
                )
        if not self.states:
            raise ValueError(f"{self.name} has no states; a variable needs at least one")
        if len(set(self.states)) < len(self.states):
            twice = next(s for s in self.states if self.states.count(s) > 1)
            raise ValueError(f"{self.name} has the state {twice!r} twice; each needs a name of its own")

    @property
    def card(self) -> int:
        """Number of states."""
        return len(self.states)

    @cached_property
    def codes(self) -> dict[str, int]:
        """The number of each state, from zero."""
        return {state: code for code, state in enumerate(self.states)}

    def code(self, state: Any) -> int:
        """The number of a state, from zero."""
        try:
            return self.codes[state]
        except (KeyError, TypeError):
            raise ValueError(
                f"{self.name} has no state {state!r:.80}; it has {listed(self.states)}"
            ) from None


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names with commas; the first ones when there are many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
