r"""Junction trees: every marginal of a product of tables by passing messages once in and once out.

The tables' variables are triangulated (fewest new edges first), the cliques form a tree, and each clique
keeps, on the way to the root, the conditional distribution of what it does not share with its parent (S. L.
Lauritzen and D. J. Spiegelhalter, 1988):

.. math:: \prod_k t_k(x_{S_k}) = Z \prod_C p(x_{C \setminus P} \mid x_{C \cap P}), \quad P = \mathrm{pa}(C).

On the way back every clique is multiplied by the marginal of what it shares. Messages are scaled to a
maximum of one, so that no number of observations makes them underflow. The last axis of every table is a
batch of cases, or has length one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical.inference._relevance import bits, mask_of

__all__ = ["Calibrated", "JunctionTree", "elimination_order"]

Array = NDArray[np.float64]
Scope: TypeAlias = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Placement:
    """The shape of a table in a clique: its axes in the clique's order, with axes of length one between."""

    order: Scope
    shape: Scope

    def expand(self, table: Array) -> Array:
        return table.transpose((*self.order, -1)).reshape((*self.shape, -1))


@dataclasses.dataclass(frozen=True)
class _Clique:
    variables: Scope
    tables: tuple[tuple[int, _Placement], ...]
    parent: int
    summed: Scope
    """Axes of the clique that its parent lacks."""
    shared: _Placement
    """Axes of the shared variables in the parent."""
    above: Scope
    """Axes of the parent that the clique lacks."""
    within: _Placement
    """Axes of the shared variables in the clique."""


class JunctionTree:
    """A tree of cliques for tables with the given axes.

    Parameters
    ----------
    scopes : sequence of tuples of int
        The variables of each table; a table without variables is a number.
    sizes : mapping of int to int
        States of every variable.
    root : int, optional
        A variable for the clique to which messages go inward.

    Examples
    --------
    >>> tree = JunctionTree([(0,), (0, 1)], {0: 2, 1: 2})
    >>> prior, likelihood = np.array([0.7, 0.3]), np.array([[0.95, 0.05], [0.2, 0.8]])
    >>> found = tree.calibrate([prior[:, None], likelihood[:, :, None]])
    >>> found.marginal((1,))[:, 0].round(3), found.log_z.round(12) + 0.0
    (array([0.725, 0.275]), array([0.]))
    """

    def __init__(self, scopes: Sequence[Scope], sizes: Mapping[int, int], root: int | None = None) -> None:
        self.scopes = tuple(scopes)
        self._numbers = [k for k, scope in enumerate(scopes) if not scope]
        groups, homes = _tree(self.scopes, sizes, root)
        tables: list[list[int]] = [[] for _ in groups]
        for k, scope in enumerate(scopes):
            if scope:
                tables[homes[min(scope, key=homes.__getitem__)]].append(k)
        self.home = homes
        self.cliques = tuple(
            _clique(self.scopes, sizes, variables, parent, groups, shared, held)
            for (variables, parent, shared), held in zip(groups, tables, strict=True)
        )
        entries = [prod(sizes[v] for v in clique.variables) for clique in self.cliques]
        self.total_size = sum(entries)
        """Entries of all cliques together."""
        self.largest = max(entries, default=1)
        """Entries of the largest clique."""

    def calibrate(self, tables: Sequence[Array], *, outward: bool = True) -> Calibrated:
        """Pass the messages; without ``outward`` only the totals and the last root's belief are found."""
        waiting: list[list[Array]] = [[] for _ in self.cliques]
        log_z: Any = np.zeros(1)
        with np.errstate(divide="ignore"):
            for k in self._numbers:
                log_z = log_z + np.log(tables[k])
            kept: list[Array] = []
            for clique, messages in zip(self.cliques, waiting, strict=True):
                parts = [place.expand(tables[k]) for k, place in clique.tables] + messages
                last = len(kept) == len(self.cliques) - 1
                message, scale, belief = _inward(parts, clique, keep=outward or last)
                log_z = log_z + np.log(scale)
                kept.append(belief)
                messages.clear()
                if clique.parent >= 0:
                    waiting[clique.parent].append(clique.shared.expand(message))
        return Calibrated(self, log_z, self._outward(kept) if outward else kept)

    def _outward(self, beliefs: list[Array]) -> list[Array]:
        for k in range(len(beliefs) - 1, -1, -1):
            clique = self.cliques[k]
            if clique.parent >= 0:
                shared = np.add.reduce(beliefs[clique.parent], axis=clique.above)
                beliefs[k] = beliefs[k] * clique.within.expand(shared)
        return beliefs


@dataclasses.dataclass(frozen=True)
class Calibrated:
    """The result of message passing; ``log_z`` is the log of the total of every case."""

    tree: JunctionTree
    log_z: Array
    beliefs: list[Array]

    def marginal(self, scope: Scope) -> Array:
        """The distribution of variables that are together in one clique; the last axis is the batch."""
        k = self.tree.home[min(scope, key=self.tree.home.__getitem__)]
        variables = self.tree.cliques[k].variables
        sums: Array = np.add.reduce(self.beliefs[k], axis=_places(variables, lacking=scope))
        kept = [v for v in variables if v in scope]
        order = [kept.index(v) for v in scope]
        return sums if order == sorted(order) else sums.transpose((*order, -1))


def elimination_order(
    scopes: Sequence[Scope], sizes: Mapping[int, int], only: int | None = None
) -> list[tuple[int, int]]:
    """Variables with their neighbours (as bits) when they go; fewest new edges, then smallest table, first.

    With ``only``, a set of bits, the other variables stay.
    """
    adjacent: dict[int, int] = {}
    for scope in scopes:
        mask = mask_of(scope)
        for v in scope:
            adjacent[v] = adjacent.get(v, 0) | (mask & ~(1 << v))
    goes = mask_of(adjacent) if only is None else only
    cost = {v: _cost(v, adjacent, sizes) for v in adjacent if goes >> v & 1}
    order = []
    while cost:
        v = min(cost, key=cost.__getitem__)
        near = adjacent.pop(v)
        del cost[v]
        order.append((v, near))
        changed = near
        for u in bits(near):
            adjacent[u] = (adjacent[u] | near) & ~(1 << u) & ~(1 << v)
            changed |= adjacent[u]
        for u in bits(changed & goes & ~(1 << v)):
            cost[u] = _cost(u, adjacent, sizes)
    return order


def _cost(v: int, adjacent: Mapping[int, int], sizes: Mapping[int, int]) -> tuple[int, int]:
    near = adjacent[v]
    new, size = 0, sizes[v]
    for u in bits(near):
        new += (near & ~adjacent[u]).bit_count() - 1
        size *= sizes[u]
    return new, size


def _tree(
    scopes: Sequence[Scope], sizes: Mapping[int, int], root: int | None
) -> tuple[list[tuple[Scope, int, Scope]], dict[int, int]]:
    """Cliques as (variables, parent, what they share), children first, and the clique where a variable goes.

    Eliminating a variable makes a clique of it and its neighbours, whose parent is that of the neighbour
    which goes next. A parent without variables of its own is taken over by its first such child.
    """
    order = elimination_order(scopes, sizes)
    if root is not None:
        others = mask_of(v for v, _ in order) & ~(1 << root)
        order = [*elimination_order(scopes, sizes, only=others), (root, 0)]
    turn = {v: k for k, (v, _) in enumerate(order)}
    parents = [min((turn[u] for u in bits(near)), default=-1) for _, near in order]
    holder = list(range(len(order)))
    for k, (_, near) in enumerate(order):
        p = parents[k]
        if p >= 0 and holder[p] == p and near.bit_count() == order[p][1].bit_count() + 1:
            holder[p] = holder[k]
    tops = {holder[k]: k for k in range(len(order))}
    ranked = sorted(tops, key=tops.__getitem__)
    number = {k: rank for rank, k in enumerate(ranked)}
    found = []
    for k in ranked:
        v, near = order[k]
        top = tops[k]
        parent = number[holder[parents[top]]] if parents[top] >= 0 else -1
        found.append((tuple(bits(near | 1 << v)), parent, tuple(bits(order[top][1]))))
    return found, {v: number[holder[k]] for k, (v, _) in enumerate(order)}


def _clique(
    scopes: Sequence[Scope],
    sizes: Mapping[int, int],
    variables: Scope,
    parent: int,
    groups: Sequence[tuple[Scope, int, Scope]],
    shared: Scope,
    tables: Sequence[int],
) -> _Clique:
    above = groups[parent][0] if parent >= 0 else ()
    return _Clique(
        variables,
        tuple((k, _placed(scopes[k], variables, sizes)) for k in tables),
        parent,
        summed=_places(variables, lacking=shared),
        shared=_placed(shared, above, sizes),
        above=_places(above, lacking=shared),
        within=_placed(shared, variables, sizes),
    )


def _placed(scope: Scope, variables: Scope, sizes: Mapping[int, int]) -> _Placement:
    ordered = [v for v in variables if v in scope]
    shape = tuple(sizes[v] if v in scope else 1 for v in variables)
    return _Placement(tuple(scope.index(v) for v in ordered), shape)


def _places(variables: Scope, *, lacking: Scope) -> Scope:
    return tuple(place for place, v in enumerate(variables) if v not in lacking)


def _inward(parts: list[Array], clique: _Clique, *, keep: bool) -> tuple[Array, Array, Array]:
    """The message to the parent, its scale and, to keep, the clique given what it shares (else nothing)."""
    parts.sort(key=np.size)
    product = parts[0]
    for part in parts[1:]:
        product = product * part
    message = np.add.reduce(product, axis=clique.summed)
    scale = message.max(axis=tuple(range(message.ndim - 1)))
    kept = product / clique.within.expand(np.where(message > 0, message, 1.0)) if keep else message[:0]
    return message / np.where(scale > 0, scale, 1.0), scale, kept
