"""Variables and tables that are relevant to a query, given the evidence.

A variable that is neither observed nor queried, and has no descendant that is, sums to one and can be left
out (it is *barren*). What is left falls into parts: hidden variables that occur in a common table belong
together, and parts do not touch each other once the observed variables are fixed.

Sets of variables are the bits of an integer, because these sets are made and compared by the thousand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from isogloss.graphical._structure import Graph


@dataclasses.dataclass(frozen=True)
class HiddenPart:
    """Hidden variables that depend on each other given the observed ones, as sets of bits.

    ``families`` are the variables whose tables mention one of the hidden ones.
    """

    hidden: int
    families: int


class Relevance:
    """Relevance of tables, read from the graph.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> graph = student()
    >>> relevance = Relevance(graph)
    >>> grade, score = 1 << graph.index("G"), 1 << graph.index("S")
    >>> part = relevance.part(score, observed=grade)
    >>> [graph.names[v] for v in bits(part.hidden)], [graph.names[v] for v in bits(part.families)]
    (['D', 'I', 'S'], ['D', 'I', 'G', 'S'])
    """

    def __init__(self, graph: Graph) -> None:
        positions = {name: at for at, name in enumerate(graph.names)}
        self.families: tuple[tuple[int, ...], ...] = tuple(
            (*(positions[parent] for parent in graph.parents(name)), positions[name]) for name in graph.names
        )
        """The variables of every table: the parents, then the variable itself."""
        self.everything = (1 << len(self.families)) - 1
        self._members = [mask_of(family) for family in self.families]
        self._touching = [0] * len(self.families)
        for v, family in enumerate(self.families):
            for member in family:
                self._touching[member] |= 1 << v

    def needed(self, observed: int, wanted: int = 0) -> int:
        """All but the barren variables: the observed, the wanted, and the ancestors of both."""
        needed = observed | wanted
        for v in range(len(self.families) - 1, -1, -1):
            if needed >> v & 1:
                needed |= self._members[v]
        return needed

    def part(self, wanted: int, observed: int) -> HiddenPart:
        """Everything that matters for the wanted variables; several independent parts count as one."""
        return self._grow(wanted, observed, self.needed(observed, wanted))

    def parts(self, observed: int, wanted: int = 0, only: int = 0) -> list[HiddenPart]:
        """The parts into which the hidden variables fall; barren ones that are not wanted are left out.

        With ``only``, the parts that hold one of these variables.
        """
        needed = self.needed(observed, wanted)
        left, found = needed & ~observed & (only or -1), []
        while left:
            part = self._grow(left & -left, observed, needed)
            left &= ~part.hidden
            found.append(part)
        return found

    def _grow(self, start: int, observed: int, needed: int) -> HiddenPart:
        hidden, families, frontier = start, 0, start
        while frontier:
            v = frontier.bit_length() - 1
            frontier ^= 1 << v
            new = self._touching[v] & needed & ~families
            families |= new
            for family in bits(new):
                reached = self._members[family] & ~observed & ~hidden
                hidden |= reached
                frontier |= reached
        return HiddenPart(hidden, families)

    def boundary(self, part: HiddenPart) -> tuple[int, ...]:
        """The observed variables that the tables of a part mention, in order."""
        mentioned = 0
        for family in bits(part.families):
            mentioned |= self._members[family]
        return tuple(bits(mentioned & ~part.hidden))


def mask_of(variables: Iterable[int]) -> int:
    """The set of these variables as bits."""
    mask = 0
    for variable in variables:
        mask |= 1 << variable
    return mask


def bits(mask: int) -> Iterator[int]:
    """The variables of such a set, in order.

    Examples
    --------
    >>> list(bits(0b1011))
    [0, 1, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
