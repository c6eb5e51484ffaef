r"""Statements of independence: those a graph makes, and whether a distribution keeps them.

The graph says that every variable is independent of those it does not lead to, given its parents,

.. math:: X_i \perp \mathrm{NonDescendants}_{X_i} \mid \mathrm{Pa}_{X_i},

and these local statements imply all others. A graph is an I-map of a distribution that keeps its
statements, and a minimal one if no edge can be taken away (Koller and Friedman, 2009, section 3.2).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from isogloss.graphical._independence import d_separated
from isogloss.graphical._structure import Graph
from isogloss.graphical._table import Table


@dataclasses.dataclass(frozen=True)
class Statement:
    """The independence of two sets of variables given a third.

    Examples
    --------
    >>> print(Statement(("L",), ("D", "I", "S"), ("G",)))
    L ⊥ D, I, S | G
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    given: tuple[str, ...] = ()

    def __str__(self) -> str:
        statement = f"{', '.join(self.left)} ⊥ {', '.join(self.right)}"
        return f"{statement} | {', '.join(self.given)}" if self.given else statement


@dataclasses.dataclass(frozen=True)
class IMap:
    """Whether a graph is an I-map of a distribution.

    Attributes
    ----------
    broken : tuple of Statement
        Local statements of the graph that the distribution does not keep.
    removable : tuple of edges
        Edges that could be taken away, each on its own, if nothing is broken.
    """

    broken: tuple[Statement, ...]
    removable: tuple[tuple[str, str], ...]

    @property
    def is_imap(self) -> bool:
        """Return whether the distribution keeps every statement of the graph."""
        return not self.broken

    @property
    def is_minimal(self) -> bool:
        """Return whether it does, and would not without any of the edges."""
        return not self.broken and not self.removable


def local_statements(graph: Graph) -> tuple[Statement, ...]:
    """Each variable is independent of those that are no descendants, given its parents.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> print(*local_statements(student()), sep="; ")
    D ⊥ I, S; I ⊥ D; G ⊥ S | I, D; S ⊥ D, G, L | I; L ⊥ D, I, S | G
    """
    made = []
    for name in graph.names:
        parents = graph.parents(name)
        out = {name, *graph.descendants(name), *parents}
        others = tuple(other for other in graph.names if other not in out)
        if others:
            made.append(Statement((name,), others, parents))
    return tuple(made)


def global_statements(graph: Graph, max_given: int | None = None) -> Iterator[Statement]:
    """Every independence of two single variables that the graph implies.

    Their number can double with each variable; ``max_given`` bounds how many may be observed.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> len(list(global_statements(student()))), [str(s) for s in global_statements(student(), 0)]
    (25, ['D ⊥ I', 'D ⊥ S'])
    """
    for x, y in itertools.combinations(graph.names, 2):
        if x in graph.parents(y):
            continue
        others = [name for name in graph.names if name not in (x, y)]
        most = len(others) if max_given is None else min(max_given, len(others))
        for size in range(most + 1):
            for given in itertools.combinations(others, size):
                if d_separated(graph, x, y, given):
                    yield Statement((x,), (y,), given)


def holds(statement: Statement, joint: Table, tol: float = 1e-10) -> bool:
    """Return whether a statement holds: ``P(x, y, z) P(z) = P(x, z) P(y, z)`` to ``tol``.

    Examples
    --------
    >>> from isogloss.graphical import Variable
    >>> X, Y = Variable("X", ["x0", "x1"]), Variable("Y", ["y0", "y1"])
    >>> holds(Statement(("X",), ("Y",)), Table([[0.12, 0.28], [0.18, 0.42]], [X, Y]))
    True
    """
    x, y, z = statement.left, statement.right, statement.given
    whole = joint.marginal((*x, *y, *z)).values
    axes_x, axes_y = tuple(range(len(x))), tuple(range(len(x), len(x) + len(y)))
    p_z = whole.sum(axis=axes_x + axes_y, keepdims=True)
    product = whole.sum(axis=axes_y, keepdims=True) * whole.sum(axis=axes_x, keepdims=True)
    return bool(np.abs(whole * p_z - product).max() <= tol)


def check_imap(graph: Graph, joint: Table, tol: float = 1e-10) -> IMap:
    """Return whether a graph is an I-map, and a minimal one, of a joint distribution of its variables.

    Parameters
    ----------
    graph : Structure or BayesianNetwork
        The graph, whose factorisation is in question.
    joint : Table
        The probability of every combination of states.
    tol : float
        How far the two sides of ``P(x, y, z) P(z) = P(x, z) P(y, z)`` may lie apart.

    Examples
    --------
    >>> from isogloss.graphical import Structure, Variable
    >>> X, Y = Variable("X", ["x0", "x1"]), Variable("Y", ["y0", "y1"])
    >>> independent = Table([[0.12, 0.28], [0.18, 0.42]], [X, Y])
    >>> check_imap(Structure([X, Y], {"Y": ["X"]}), independent).removable
    (('X', 'Y'),)
    >>> check_imap(Structure([X, Y]), Table([[0.5, 0.0], [0.0, 0.5]], [X, Y])).is_imap
    False
    """
    _check_names(graph, joint.names)
    broken = tuple(s for s in local_statements(graph) if not holds(s, joint, tol))
    removable = tuple(edge for edge in graph.edges if holds(_without(graph, *edge), joint, tol))
    return IMap(broken, removable)


def _without(graph: Graph, parent: str, child: str) -> Statement:
    """Return the independence that would allow an edge of an I-map to be removed."""
    return Statement((child,), (parent,), tuple(p for p in graph.parents(child) if p != parent))


def _check_names(graph: Graph, names: Sequence[str]) -> None:
    if sorted(names) != sorted(graph.names):
        wanted = ", ".join(graph.names)
        raise ValueError(
            f"a joint table of {', '.join(names)}; expected the variables of the graph, {wanted}"
        )
