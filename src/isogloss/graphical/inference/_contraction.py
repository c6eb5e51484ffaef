r"""Products of tables summed over all but a few of their axes, along an optimised path.

.. math:: r(x_o) = \sum_{x \setminus x_o} \prod_k t_k(x_{S_k})

is variable elimination when the tables are conditional distributions. Finding a good order of the pairwise
products takes longer than a small product, so an order is compiled once and used for many tables of the same
shape; whatever does not depend on the tables that change is multiplied at that time. Where all tables are
small, and where a known order of elimination keeps them small, there is no search.

One axis may be a batch of cases; it is the last of every table that has it, so that inner loops run along it.
"""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical.inference._junction import elimination_order
from isogloss.graphical.inference._relevance import mask_of

Array = NDArray[np.float64]
Scope: TypeAlias = tuple[int, ...]

BATCH = -1
"""The name of the batch axis; other axes are counted from zero."""

_BATCH_SIZE = 1000
_MIN_BLAS_PRODUCTS = 20_000
_MAX_TABLES_AT_ONCE, _MAX_ENTRIES_AT_ONCE = 12, 512
"""Up to so many tables over so few configurations are multiplied at once, without looking for a path."""
_MAX_ENTRIES_IN_ORDER = 4096
"""A given order is followed while no step looks at more configurations than this."""


class Contraction:
    """A compiled product of tables.

    Parameters
    ----------
    scopes : sequence of tuples of int
        The axes of each table; ``BATCH``, if there, is the last.
    sizes : mapping of int to int
        The length of every axis but ``BATCH``.
    output : tuple of int
        The axes of the result, in order; with ``BATCH`` last if any table has it.
    constants : mapping of int to array, optional
        Tables, by their place in ``scopes``, that are the same in every call.
    order : sequence of int, optional
        Axes in an order in which they could be summed out. Where that makes no large table it is followed,
        because looking for a better path would take longer than it saves.

    Examples
    --------
    >>> matrices = Contraction([(0, 1), (1, 2)], {0: 2, 1: 3, 2: 2}, (2, 0))
    >>> a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
    >>> matrices([a, b])
    array([[ 3., 12.],
           [ 3., 12.]])
    """

    def __init__(
        self,
        scopes: Sequence[Scope],
        sizes: Mapping[int, int],
        output: Scope,
        constants: Mapping[int, Array] | None = None,
        order: Sequence[int] = (),
    ) -> None:
        sizes = {**sizes, BATCH: _BATCH_SIZE}
        path = _path_in_order(scopes, sizes, output, order) or _path(scopes, sizes, output)
        steps = _compile(scopes, sizes, output, path)
        per_case = {**sizes, BATCH: 1}
        every = (*scopes, *(step.scope for step in steps))
        self.largest = max(prod(per_case[axis] for axis in scope) for scope in every)
        """Entries of the largest table on the way, per case of the batch."""
        self._slots: list[Any] = [None] * (len(scopes) + len(steps))
        for k, table in (constants or {}).items():
            self._slots[k] = table
        self._changing = [k for k in range(len(scopes)) if self._slots[k] is None]
        self._steps = [step for step in steps if not self._fold(step)]

    def _fold(self, step: _Step) -> bool:
        """Take a step whose tables are all known."""
        if any(self._slots[k] is None for k in step.sources):
            return False
        self._slots[step.target] = step.take(self._slots)
        return True

    def __call__(self, tables: Sequence[Array]) -> Any:
        """The result for these tables, given in order and without the constants."""
        slots = self._filled(tables)
        for step in self._steps:
            slots[step.target] = step.take(slots)
        return slots[-1]

    def scaled(self, tables: Sequence[Array]) -> tuple[Any, Any]:
        """The result over a scale of every case, and the logarithm of the scale; for very small numbers."""
        slots, log_scale = self._filled(tables), np.zeros(())
        for step in self._steps:
            result = step.take(slots)
            scale = result.max(axis=tuple(range(len(step.scope) - (BATCH in step.scope))))
            scale = np.where(scale > 0, scale, 1.0)
            slots[step.target] = result / scale
            log_scale = log_scale + np.log(scale)
        return slots[-1], log_scale

    def _filled(self, tables: Sequence[Array]) -> list[Any]:
        slots = self._slots.copy()
        for k, table in zip(self._changing, tables, strict=True):
            slots[k] = table
        return slots


@dataclasses.dataclass(frozen=True)
class _Step:
    """The product of the tables in some slots, put into another."""

    sources: tuple[int, ...]
    target: int
    scope: Scope
    equation: str
    matrices: _Matrices | None

    def take(self, slots: Sequence[Any]) -> Any:
        if self.matrices is not None:
            return self.matrices.product(*(slots[k] for k in self.sources))
        return np.einsum(self.equation, *[slots[k] for k in self.sources])


@dataclasses.dataclass(frozen=True)
class _Matrices:
    """Two tables as stacks of matrices, which BLAS multiplies faster when they are large."""

    orders: tuple[Scope, Scope]
    shapes: tuple[Scope, Scope]
    result: Scope

    def product(self, left: Array, right: Array) -> Any:
        a = left.transpose(self.orders[0]).reshape(self.shapes[0])
        b = right.transpose(self.orders[1]).reshape(self.shapes[1])
        return (a @ b).reshape(self.result)


def _compile(
    scopes: Sequence[Scope], sizes: Mapping[int, int], output: Scope, path: Iterable[Sequence[int]]
) -> list[_Step]:
    live = dict(enumerate(scopes))
    steps: list[_Step] = []
    for sources in path:
        taken = [(slot, live.pop(slot)) for slot in sources]
        needed = set(output).union(*live.values())
        target = len(scopes) + len(steps)
        steps.append(_step(taken, target, needed, sizes, output if not live else None))
        live[target] = steps[-1].scope
    return steps


def _path_in_order(
    scopes: Sequence[Scope], sizes: Mapping[int, int], output: Scope, order: Sequence[int]
) -> list[list[int]] | None:
    """The tables of each axis in turn, then what is left; None if there is no order or a table is large."""
    live = {slot: set(scope) for slot, scope in enumerate(scopes)}
    path: list[list[int]] = []
    for axis in order:
        near = [slot for slot, scope in live.items() if axis in scope]
        if axis in output or not near:
            continue
        union = set().union(*(live.pop(slot) for slot in near))
        if len(near) > _MAX_TABLES_AT_ONCE or prod(sizes[a] for a in union) > _MAX_ENTRIES_IN_ORDER:
            return None
        live[len(scopes) + len(path)] = union - {axis}
        path.append(near)
    left = list(live)
    small = len(left) <= _MAX_TABLES_AT_ONCE and prod(sizes[a] for a in output) <= _MAX_ENTRIES_IN_ORDER
    return [*path, left] if order and small else None


def _path(scopes: Sequence[Scope], sizes: Mapping[int, int], output: Scope) -> Iterable[Sequence[int]]:
    """The sequence of slots to multiply; each result goes into the next free slot."""
    axes = {axis for scope in scopes for axis in scope}
    small = len(scopes) <= _MAX_TABLES_AT_ONCE and prod(sizes[axis] for axis in axes) <= _MAX_ENTRIES_AT_ONCE
    if len(scopes) <= 2 or small:
        return [range(len(scopes))]
    return _elimination_path(scopes, sizes, output)


def _elimination_path(scopes: Sequence[Scope], sizes: Mapping[int, int], output: Scope) -> list[list[int]]:
    """Sum out one axis after the other, fewest new neighbours first; multiply the smallest tables first."""
    inner = [tuple(axis for axis in scope if axis != BATCH) for scope in scopes]
    summed = mask_of(set().union(*inner).difference(output))
    live = {slot: set(scope) for slot, scope in enumerate(scopes)}
    path: list[list[int]] = []

    def multiply(slots: Iterable[int]) -> None:
        heap = [(prod(sizes[axis] for axis in live[slot]), slot) for slot in slots]
        heapify(heap)
        while heap:
            pair = [heappop(heap)[1] for _ in range(min(2, len(heap)))]
            axes = set().union(*(live.pop(slot) for slot in pair))
            target = len(scopes) + len(path)
            live[target] = axes.intersection(set(output).union(*live.values()))
            path.append(pair)
            if heap:
                heappush(heap, (prod(sizes[axis] for axis in live[target]), target))

    for axis, _ in elimination_order(inner, sizes, only=summed):
        multiply([slot for slot in live if axis in live[slot]])
    if len(live) > 1:
        multiply(list(live))
    return path


def _step(
    taken: list[tuple[int, Scope]],
    target: int,
    needed: set[int],
    sizes: Mapping[int, int],
    final: Scope | None,
) -> _Step:
    scopes = [scope for _, scope in taken]
    axes = list(dict.fromkeys(axis for scope in scopes for axis in scope))
    matrices, scope = None, tuple(axis for axis in axes if axis in needed)
    if final is not None:
        scope = final
    elif BATCH in scope:
        scope = (*(axis for axis in scope if axis != BATCH), BATCH)
    elif len(scopes) == 2 and prod(sizes[axis] for axis in axes) > _MIN_BLAS_PRODUCTS:
        matrices, scope = _as_matrices(scopes[0], scopes[1], needed, sizes)
    letters = dict(zip(axes, string.ascii_letters, strict=False))
    if len(axes) > len(letters):
        raise ValueError(
            f"a product over {len(axes)} variables at once, and numpy knows {len(letters)} axes; "
            "ask for fewer variables together"
        )
    terms = ",".join("".join(letters[axis] for axis in scope) for scope in scopes)
    equation = f"{terms}->{''.join(letters[axis] for axis in scope)}"
    return _Step(tuple(slot for slot, _ in taken), target, scope, equation, matrices)


def _as_matrices(
    left: Scope, right: Scope, needed: set[int], sizes: Mapping[int, int]
) -> tuple[_Matrices | None, Scope]:
    """Stacks over axes that both have and the result too; None if there is nothing to sum, or too much."""
    both = [axis for axis in left if axis in right]
    stack, inner = [a for a in both if a in needed], [a for a in both if a not in needed]
    rows, columns = ([a for a in scope if a not in both] for scope in (left, right))
    scope = (*stack, *rows, *columns)
    if not inner or not needed.issuperset(scope):
        return None, tuple(a for a in dict.fromkeys((*left, *right)) if a in needed)
    S, R, K, C = (prod(sizes[a] for a in axes) for axes in (stack, rows, inner, columns))
    orders = (
        tuple(left.index(a) for a in (*stack, *rows, *inner)),
        tuple(right.index(a) for a in (*stack, *inner, *columns)),
    )
    return _Matrices(orders, ((S, R, K), (S, K, C)), tuple(sizes[a] for a in scope)), scope
