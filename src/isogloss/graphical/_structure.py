"""Directed acyclic graphs over discrete variables."""

from __future__ import annotations

import dataclasses
import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical._markup import latex_name
from isogloss.graphical._variables import Variable, listed


class Graph(ABC):
    """Queries of the graph that networks and structures share."""

    variables: tuple[Variable, ...]
    """Every variable after its parents, otherwise in the order they were given."""

    @abstractmethod
    def parents(self, name: str) -> tuple[str, ...]:
        """Names of the parents of a variable."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in their order."""
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """The number of a variable in the order of ``variables``."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            raise ValueError(f"there is no variable {name!r:.80}; there are {listed(self.names)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __len__(self) -> int:
        return len(self.variables)

    def variable(self, name: str) -> Variable:
        """The variable of that name."""
        return self.variables[self.index(name)]

    @cached_property
    def cards(self) -> NDArray[np.int64]:
        """Number of states of each variable."""
        cards = np.array([variable.card for variable in self.variables], dtype=np.int64)
        cards.flags.writeable = False
        return cards

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of parent and child."""
        return tuple((parent, name) for name in self.names for parent in self.parents(name))

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {name: [] for name in self.names}
        for parent, child in self.edges:
            found[parent].append(child)
        return {name: tuple(children) for name, children in found.items()}

    @cached_property
    def parent_indices(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the parents of each variable."""
        return tuple(tuple(self.index(parent) for parent in self.parents(name)) for name in self.names)

    @cached_property
    def child_indices(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the children of each variable."""
        return tuple(tuple(self.index(child) for child in self._children[name]) for name in self.names)

    def children(self, name: str) -> tuple[str, ...]:
        """Names of the variables that a variable is a parent of."""
        return self._children[self.names[self.index(name)]]

    def ancestors(self, names: str | Iterable[str]) -> frozenset[str]:
        """Names of all that lead to any of these variables by arrows, without themselves unless they do."""
        return _reached(names, self.parents)

    def descendants(self, names: str | Iterable[str]) -> frozenset[str]:
        """Names of all that arrows from any of these variables lead to."""
        return _reached(names, self.children)

    @property
    def n_parameters(self) -> int:
        """Number of independent probabilities that the tables of such a network have.

        Examples
        --------
        >>> from isogloss.graphical import student
        >>> student().n_parameters, student().n_joint_parameters
        (15, 47)
        """
        configurations = (prod(self.variable(p).card for p in self.parents(name)) for name in self.names)
        return sum(n * (v.card - 1) for n, v in zip(configurations, self.variables, strict=True))

    @property
    def n_joint_parameters(self) -> int:
        """Number of independent probabilities of a joint table of all variables."""
        return prod(variable.card for variable in self.variables) - 1

    def factorisation(self, *, latex: bool = False) -> str:
        r"""The joint distribution as the product of the local ones.

        Examples
        --------
        >>> from isogloss.graphical import student
        >>> student().factorisation()
        'P(D, I, G, S, L) = P(D) P(I) P(G | I, D) P(S | I) P(L | G)'
        >>> print(student().factorisation(latex=True))
        P(D, I, G, S, L) = P(D)\,P(I)\,P(G \mid I, D)\,P(S \mid I)\,P(L \mid G)
        """
        format_name = latex_name if latex else str
        bar, space = (r" \mid ", r"\,") if latex else (" | ", " ")
        parts = []
        for name in self.names:
            given = ", ".join(map(format_name, self.parents(name)))
            parts.append(f"P({format_name(name)}{bar}{given})" if given else f"P({format_name(name)})")
        return f"P({', '.join(map(format_name, self.names))}) = {space.join(parts)}"


@dataclasses.dataclass(frozen=True)
class Structure(Graph):
    """A directed acyclic graph over variables, without probabilities.

    Parameters
    ----------
    variables : sequence of Variable
        In any order; kept in one in which every variable comes after its parents.
    parent_names : mapping of str to sequence of str, optional
        The names of each variable's parents; one that is left out has none.

    Examples
    --------
    >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    >>> graph = Structure([wet, rain], {"wet": ["rain"]})
    >>> graph.names, graph.parents("wet"), graph.edges
    (('rain', 'wet'), ('rain',), (('rain', 'wet'),))
    >>> Structure([rain, wet], {"wet": ["rain"], "rain": ["wet"]})
    Traceback (most recent call last):
        ...
    ValueError: the graph has a cycle: rain -> wet -> rain; take one of its arrows away
    """

    variables: tuple[Variable, ...]
    parent_names: dict[str, tuple[str, ...]]

    def __init__(
        self, variables: Sequence[Variable], parent_names: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        given = {} if parent_names is None else parent_names
        by_name = _unique(variables)
        _check_parents(by_name, given)
        parents = {name: tuple(given.get(name, ())) for name in by_name}
        order = _topological(parents)
        object.__setattr__(self, "variables", tuple(by_name[name] for name in order))
        object.__setattr__(self, "parent_names", {name: parents[name] for name in order})

    def parents(self, name: str) -> tuple[str, ...]:
        """Names of the parents of a variable."""
        return self.parent_names[self.names[self.index(name)]]

    def __hash__(self) -> int:
        return hash((self.variables, self.edges))

    def __repr__(self) -> str:
        return f"Structure({len(self)} variables, {len(self.edges)} edges)"


def _reached(names: str | Iterable[str], follow: Callable[[str], Iterable[str]]) -> frozenset[str]:
    waiting, found = [names] if isinstance(names, str) else list(names), set[str]()
    while waiting:
        new = set(follow(waiting.pop())) - found
        found |= new
        waiting.extend(new)
    return frozenset(found)


def _unique(variables: Sequence[Variable]) -> dict[str, Variable]:
    by_name: dict[str, Variable] = {}
    for variable in variables:
        if variable.name in by_name:
            raise ValueError(f"the variable {variable.name} is there twice; each needs a name of its own")
        by_name[variable.name] = variable
    if not by_name:
        raise ValueError("there are no variables; a graph needs at least one")
    return by_name


def _check_parents(known: Mapping[str, Variable], parents: Mapping[str, Sequence[str]]) -> None:
    for name, given in parents.items():
        if isinstance(given, str):
            raise TypeError(f"the parents of {name} are the text {given!r}; expected a list of names")
        for unknown in {name: None, **dict.fromkeys(given)}.keys() - known.keys():
            raise ValueError(f"{unknown!r}, named with the parents of {name}, is no variable of the graph")
        if len(set(given)) < len(given):
            raise ValueError(f"{name} has the parents {', '.join(given)}; each may be there once")


def _topological(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Names with every one after its parents; of the free ones always the first given."""
    position = {name: at for at, name in enumerate(parents)}
    children: dict[str, list[str]] = {name: [] for name in parents}
    waiting = {name: len(given) for name, given in parents.items()}
    for name, given in parents.items():
        for parent in given:
            children[parent].append(name)
    names, order = list(parents), list[str]()
    free = [position[name] for name, n in waiting.items() if not n]
    while free:
        order.append(names[heapq.heappop(free)])
        for child in children[order[-1]]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(free, position[child])
    if len(order) < len(names):
        cycle = " -> ".join(_cycle(parents, {name for name in names if waiting[name]}))
        raise ValueError(f"the graph has a cycle: {cycle}; take one of its arrows away")
    return order


def _cycle(parents: Mapping[str, Sequence[str]], left: set[str]) -> list[str]:
    """One cycle among variables each of which has a parent among them."""
    trail = [next(name for name in parents if name in left)]
    while trail[-1] not in trail[:-1]:
        trail.append(next(parent for parent in parents[trail[-1]] if parent in left))
    return trail[trail.index(trail[-1]) :][::-1]
