"""Rows sorted by what is hidden in them, and each sort collapsed to its distinct cases.

The hidden variables of a row fall into parts that do not touch each other (:mod:`.relevance`). Rows with the
same part differ only in the observed variables its tables mention, and those take few different values
together: a thousand rows with one hidden variable are a dozen cases of its neighbours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical.inference._relevance import HiddenPart, Relevance, bits

Codes = NDArray[np.signedinteger[Any]]
Index = NDArray[np.intp]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A part of the hidden variables, with the tables that mention it.

    ``families`` are the numbers of these tables, ``scopes`` their hidden variables in order and
    ``observed`` their other variables; ``boundary`` is the union of the latter.
    """

    part: HiddenPart
    hidden: tuple[int, ...]
    families: tuple[int, ...]
    scopes: tuple[tuple[int, ...], ...]
    observed: tuple[tuple[int, ...], ...]
    boundary: tuple[int, ...]

    @classmethod
    def of(cls, relevance: Relevance, part: HiddenPart) -> Kind:
        """The kind of a part."""
        families = tuple(bits(part.families))
        members = [relevance.families[f] for f in families]
        return cls(
            part,
            tuple(bits(part.hidden)),
            families,
            tuple(tuple(v for v in m if part.hidden >> v & 1) for m in members),
            tuple(tuple(v for v in m if not part.hidden >> v & 1) for m in members),
            relevance.boundary(part),
        )

    def slices(
        self, relevance: Relevance, tables: Sequence[NDArray[Any]], cases: Codes
    ) -> list[NDArray[Any]]:
        """The tables at the observed values of every case: hidden axes first, the cases last.

        ``cases`` has a column per boundary variable. A table that mentions none has one case only.
        """
        column = {v: cases[:, k] for k, v in enumerate(self.boundary)}
        found = []
        for f, scope, observed in zip(self.families, self.scopes, self.observed, strict=True):
            family = relevance.families[f]
            table = tables[f].transpose([family.index(v) for v in (*scope, *observed)])
            if observed:
                index = np.ravel_multi_index(tuple(column[v] for v in observed), table.shape[len(scope) :])
                table = table.reshape((*table.shape[: len(scope)], -1))[..., index]
            else:
                table = table[..., np.newaxis]
            found.append(table)
        return found


class RowsByKind:
    """Row numbers of every kind, and the distinct patterns of hidden cells behind them.

    With ``wanted``, a set of bits, only the parts that hold one of these variables are looked at; otherwise
    all but barren variables.
    """

    def __init__(self, relevance: Relevance, codes: Codes, wanted: int = 0) -> None:
        self.relevance, self.codes, self.wanted = relevance, codes, wanted
        self.patterns, self.rows = _patterns(codes)

    @cached_property
    def parts(self) -> list[list[HiddenPart]]:
        """The parts of every pattern."""
        everything = self.relevance.everything
        return [
            self.relevance.parts(everything & ~hidden, hidden & self.wanted, only=self.wanted)
            for hidden in self.patterns
        ]

    def kinds(self, chosen: Sequence[int] | None = None) -> list[tuple[Kind, Index]]:
        """The kinds with their row numbers, of all patterns or some."""
        rows: dict[HiddenPart, list[Index]] = {}
        for k in range(len(self.patterns)) if chosen is None else chosen:
            for part in self.parts[k]:
                rows.setdefault(part, []).append(self.rows[k])
        return [(Kind.of(self.relevance, part), np.concatenate(found)) for part, found in rows.items()]

    def cases(self, kind: Kind, rows: Index, tables: Sequence[NDArray[Any]]) -> tuple[Codes, Index]:
        """The distinct observed values around a part, and which of them each of these rows has."""
        values = self.codes[rows[:, np.newaxis], np.array(kind.boundary, dtype=np.intp)]
        first, number = distinct(values, [tables[v].shape[-1] for v in kind.boundary])
        return values[first], number


def distinct(codes: Codes, cards: Sequence[int]) -> tuple[Index, Index]:
    """Return the first index of each distinct row, and the number of its distinct row for every row.

    Examples
    --------
    >>> first, number = distinct(np.array([[1, 0], [0, 2], [1, 0]]), (2, 3))
    >>> first.tolist(), number.tolist()
    ([1, 0], [1, 0, 1])
    """
    if not len(cards):
        return np.zeros(min(len(codes), 1), dtype=np.intp), np.zeros(len(codes), dtype=np.intp)
    size = prod(int(card) for card in cards)
    if size < 2**62:
        key = np.zeros(len(codes), dtype=np.int64)
        for column, card in zip(codes.T, cards, strict=True):
            key *= int(card)
            key += column
        if size <= 4 * len(codes):
            return _distinct_small(key, size)
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return first, number
    _, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def _distinct_small(key: NDArray[np.int64], size: int) -> tuple[Index, Index]:
    """The same by a table of all keys, which is faster than sorting when there are few."""
    last = np.full(size, -1, dtype=np.intp)
    last[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    seen = last >= 0
    number = np.cumsum(seen) - 1
    return last[seen], number[key]


def _patterns(codes: Codes) -> tuple[list[int], list[Index]]:
    """The different sets of hidden cells, as bits, and the rows of each."""
    if not len(codes):
        return [], []
    packed = np.packbits(codes < 0, axis=1, bitorder="little")
    key = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(first)))
    masks = [int.from_bytes(packed[k].tobytes(), "little") for k in first]
    return masks, np.split(order, ends[:-1])
