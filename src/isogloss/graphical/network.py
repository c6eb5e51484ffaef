r"""Bayesian networks: a graph, and the distribution of each variable given its parents.

.. math:: P(X_1, \dots, X_n) = \prod_i P(X_i \mid \mathrm{Pa}_{X_i})

Reference: D. Koller and N. Friedman, Probabilistic Graphical Models, 2009, chapter 3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from isogloss.graphical._cpd import CPD
from isogloss.graphical._structure import Graph, Structure
from isogloss.graphical._variables import Variable

__all__ = ["BayesianNetwork"]


@dataclasses.dataclass(frozen=True, eq=False)
class BayesianNetwork(Graph):
    """A directed graphical model over discrete variables; it cannot be changed.

    Parameters
    ----------
    cpds : sequence of CPD
        One distribution per variable, in any order.
    name : str, default=""
        How the network is called.

    Examples
    --------
    >>> I, S = Variable("I", ["i0", "i1"]), Variable("S", ["s0", "s1"])
    >>> network = BayesianNetwork([CPD(I, [], [0.7, 0.3]), CPD(S, [I], [[0.95, 0.05], [0.2, 0.8]])])
    >>> network
    BayesianNetwork(2 variables, 1 edges, 3 parameters)
    >>> network.factorisation()
    'P(I, S) = P(I) P(S | I)'
    >>> network.replace([CPD(I, [], [0.5, 0.5])]).cpd("I").values
    array([0.5, 0.5])
    >>> BayesianNetwork([CPD(S, [I], [[0.95, 0.05], [0.2, 0.8]])])
    Traceback (most recent call last):
        ...
    ValueError: I, a parent of S, has no CPD; every variable needs one
    """

    cpds: tuple[CPD, ...]
    name: str = ""
    structure: Structure = dataclasses.field(init=False)
    """The graph without the probabilities."""

    def __init__(self, cpds: Iterable[CPD], name: str = "") -> None:
        given = list(cpds)
        _check_cpds(given)
        structure = Structure([c.variable for c in given], {c.name: c.parent_names for c in given})
        by_name = {cpd.name: cpd for cpd in given}
        object.__setattr__(self, "cpds", tuple(by_name[name] for name in structure.names))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "variables", structure.variables)

    def parents(self, name: str) -> tuple[str, ...]:
        """Names of the parents of a variable."""
        return self.structure.parents(name)

    def cpd(self, name: str) -> CPD:
        """The distribution of a variable given its parents."""
        return self.cpds[self.index(name)]

    def replace(self, cpds: Iterable[CPD]) -> BayesianNetwork:
        """A network with these distributions in place of those of the same variables."""
        new = {cpd.name: cpd for cpd in cpds}
        for name in new:
            self.index(name)
        return BayesianNetwork([new.get(cpd.name, cpd) for cpd in self.cpds], self.name)

    def to_dict(self) -> dict[str, Any]:
        """Names, states, parents and probabilities as plain dicts and lists, which JSON can hold."""
        return {
            "name": self.name,
            "variables": {v.name: list(v.states) for v in self.variables},
            "cpds": {
                c.name: {"parents": list(c.parent_names), "values": c.values.tolist()} for c in self.cpds
            },
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The network of a dict as :meth:`to_dict` gives it; ``name`` and empty ``parents`` may be left out.

        Examples
        --------
        >>> BayesianNetwork.from_dict({
        ...     "variables": {"I": ["i0", "i1"], "S": ["s0", "s1"]},
        ...     "cpds": {
        ...         "I": {"values": [0.7, 0.3]},
        ...         "S": {"parents": ["I"], "values": [[0.95, 0.05], [0.2, 0.8]]},
        ...     },
        ... })
        BayesianNetwork(2 variables, 1 edges, 3 parameters)
        """
        if not isinstance(content, Mapping):
            raise TypeError(f"a {type(content).__name__}; expected a dict with 'variables' and 'cpds'")
        for key in ("variables", "cpds"):
            if not isinstance(content.get(key), Mapping):
                raise ValueError(f"the dict has no {key!r}; expected 'variables' and 'cpds', dicts by name")
        known = {name: Variable(name, states) for name, states in content["variables"].items()}
        for name in known.keys() - content["cpds"].keys():
            raise ValueError(f"{name} has no CPD; every variable needs one")
        cpds = [_cpd_of(name, part, known) for name, part in content["cpds"].items()]
        return cls(cpds, content.get("name", ""))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return (self.name, self.cpds) == (other.name, other.cpds)

    def __hash__(self) -> int:
        return hash((self.name, self.structure))

    def __repr__(self) -> str:
        named = f"{self.name!r}, " if self.name else ""
        sizes = f"{len(self)} variables, {len(self.edges)} edges, {self.n_parameters} parameters"
        return f"BayesianNetwork({named}{sizes})"


def _check_cpds(cpds: Sequence[CPD]) -> None:
    """Each variable has one distribution, and is the same wherever it is named."""
    known: dict[str, Variable] = {}
    for cpd in cpds:
        if cpd.name in known:
            raise ValueError(f"{cpd.name} has two CPDs; expected one per variable")
        known[cpd.name] = cpd.variable
    for cpd in cpds:
        for parent in cpd.parents:
            if parent.name not in known:
                raise ValueError(
                    f"{parent.name}, a parent of {cpd.name}, has no CPD; every variable needs one"
                )
            if parent != known[parent.name]:
                raise ValueError(
                    f"{parent.name} has the states {', '.join(parent.states)} as a parent of {cpd.name} and "
                    f"{', '.join(known[parent.name].states)} in its own CPD; expected the same"
                )


def _cpd_of(name: str, part: Mapping[str, Any], known: Mapping[str, Variable]) -> CPD:
    parents = part.get("parents", ())
    for missing in [n for n in (name, *parents) if n not in known]:
        raise ValueError(f"{missing!r}, named with the CPD of {name}, is not among the variables")
    if "values" not in part:
        raise ValueError(f"the CPD of {name} has no 'values'")
    return CPD(known[name], [known[parent] for parent in parents], part["values"])
