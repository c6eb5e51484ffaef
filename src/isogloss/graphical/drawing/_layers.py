"""Layered layout of a directed graph, from top to bottom, with few crossings.

The method of K. Sugiyama, S. Tagawa and M. Toda (1981): every node below its parents, long edges led
through points on the layers between, each layer ordered by the means of its neighbours, and the nodes then
moved towards these as far as their widths allow. Nodes of a plate stay together, others outside of it.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf

from isogloss.graphical._structure import Graph

_N_SWEEPS = 12
_PLATE_MARGIN = 0.35
"""Room that a plate takes on each side, in units of the gap between nodes."""


@dataclasses.dataclass(frozen=True)
class Plate:
    """A frame around variables that are repeated.

    Examples
    --------
    >>> Plate("n = 1 ... N", ["Z", "X"])
    Plate(label='n = 1 ... N', names=('Z', 'X'))
    """

    label: str
    names: tuple[str, ...]

    def __init__(self, label: str, names: Iterable[str]) -> None:
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "names", tuple(names))


@dataclasses.dataclass(frozen=True)
class Places:
    """Positions: horizontal in the unit of the widths, vertical the number of the layer."""

    nodes: dict[str, tuple[float, int]]
    """Centres of the nodes."""
    bends: dict[tuple[str, str], list[tuple[float, int]]]
    """Points between the ends of an edge that spans several layers."""


def places_of(
    graph: Graph, widths: Mapping[str, float], plates: Sequence[Plate] = (), gap: float = 1.0
) -> Places:
    """Positions of the nodes of a graph, which are always the same for the same graph.

    ``gap`` is the least distance between neighbours in a layer; plates lie inside or outside of each other.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> places_of(student(), dict.fromkeys("DIGSL", 1.0)).nodes
    {'D': (0.0, 0), 'I': (2.0, 0), 'G': (0.5, 1), 'S': (2.5, 1), 'L': (0.5, 2)}
    """
    work = _Work(graph, widths, nested_plates(graph, plates), gap)
    work.order()
    work.place()
    left = min(work.x)
    points = [(x - left, layer) for x, layer in zip(work.x, work.layer, strict=True)]
    nodes = dict(zip(graph.names, points, strict=False))
    return Places(nodes, {edge: [points[i] for i in chain] for edge, chain in work.chains.items() if chain})


def nested_plates(graph: Graph, plates: Sequence[Plate]) -> list[Plate]:
    """The plates, outer ones first, checked to be nested or apart."""
    ranked = sorted(plates, key=lambda plate: -len(plate.names))
    for at, inner in enumerate(ranked):
        names = {graph.names[graph.index(name)] for name in inner.names}
        if not names:
            raise ValueError(f"the plate {inner.label!r} has no variables; a plate needs at least one")
        for outer in ranked[:at]:
            if not names.isdisjoint(outer.names) and not names <= set(outer.names):
                raise ValueError(
                    f"the plates {outer.label!r} and {inner.label!r} overlap; expected one inside the other, "
                    "or no common variable"
                )
    return ranked


class _Work:
    """A drawing on its way: nodes are numbers, those of the graph first and then the points of long edges."""

    def __init__(self, graph: Graph, widths: Mapping[str, float], plates: list[Plate], gap: float) -> None:
        self.gap = gap
        self.layer = _layers(graph)
        self.width = [float(widths[name]) for name in graph.names]
        self.members = [{graph.index(name) for name in plate.names} for plate in plates]
        self.above: list[list[int]] = [[] for _ in graph.names]
        self.below: list[list[int]] = [[] for _ in graph.names]
        self.chains = {edge: self._chain(*map(graph.index, edge)) for edge in graph.edges}
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        for node, layer in enumerate(self.layer):
            self.rows[layer].append(node)
        self.x = [0.0] * len(self.layer)

    def _chain(self, parent: int, child: int) -> list[int]:
        """Points on the layers between two nodes, joined to them."""
        chain = []
        for layer in range(self.layer[parent] + 1, self.layer[child]):
            chain.append(len(self.layer))
            self.layer.append(layer)
            self.width.append(0.0)
            self.above.append([])
            self.below.append([])
            for plate in self.members:
                if parent in plate and child in plate:
                    plate.add(chain[-1])
        for a, b in pairwise([parent, *chain, child]):
            self.below[a].append(b)
            self.above[b].append(a)
        return chain

    def order(self) -> None:
        """Order each layer by the means of its neighbours, and keep the order with the fewest crossings."""
        self.rows = [self._sorted(row, _from_middle(row)) for row in self.rows]
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(_N_SWEEPS):
            down = sweep % 2 == 0
            for layer in range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1):
                before = self.rows[layer - 1 if down else layer + 1]
                self._reorder(layer, before, self.above if down else self.below)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
            if not fewest:
                break
        self.rows = best

    def _reorder(self, layer: int, before: Sequence[int], links: Sequence[Sequence[int]]) -> None:
        position, own = _from_middle(before), _from_middle(self.rows[layer])
        scale = max(len(before) - 1, 1) / max(len(own) - 1, 1)
        means = {n: _mean([position[other] for other in links[n]], at * scale) for n, at in own.items()}
        self.rows[layer] = self._sorted(self.rows[layer], means)

    def _sorted(self, nodes: Iterable[int], means: Mapping[int, float]) -> list[int]:
        """Nodes by their means, those of each plate side by side."""
        nodes = list(nodes)
        centres = [_mean([means[node] for node in nodes if node in plate]) for plate in self.members]
        place = {node: at for at, node in enumerate(nodes)}

        def key(node: int) -> list[tuple[float, int]]:
            path = [(centres[k], -1 - k) for k, plate in enumerate(self.members) if node in plate]
            return [*path, (means[node], place[node])]

        return sorted(nodes, key=key)

    def _crossings(self) -> int:
        total = 0
        for row, below in pairwise(self.rows):
            position = {node: at for at, node in enumerate(below)}
            ends: list[int] = []
            for node in row:
                mine = [position[other] for other in self.below[node]]
                total += sum(len(ends) - bisect_right(ends, end) for end in mine)
                for end in mine:
                    insort(ends, end)
        return total

    def place(self) -> None:
        """Move the nodes of each layer towards their neighbours, and what is not of a plate out of it."""
        for row in self.rows:
            self._spread(row, [0.0] * len(row))
        for sweep in range(_N_SWEEPS):
            down = sweep % 2 == 0
            for row in self.rows if down else reversed(self.rows):
                links = self.above if down else self.below
                self._spread(row, [_mean([self.x[n] for n in links[i]], self.x[i]) for i in row])
        if self.members:
            self._separate()

    def _spread(self, row: Sequence[int], wanted: Sequence[float]) -> None:
        """The places nearest to the wanted ones, in squares, that keep the order and the distances."""
        offsets = [0.0]
        for a, b in pairwise(row):
            offsets.append(offsets[-1] + self._distance(a, b))
        placed = _rising([w - o for w, o in zip(wanted, offsets, strict=True)])
        for node, x, offset in zip(row, placed, offsets, strict=True):
            self.x[node] = x + offset

    def _distance(self, a: int, b: int) -> float:
        """Least distance of the centres of neighbours, with room for the frames between them."""
        frames = sum((a in plate) != (b in plate) for plate in self.members)
        return (self.width[a] + self.width[b]) / 2 + self.gap * (1 + _PLATE_MARGIN * frames)

    def _separate(self) -> None:
        """Move nodes to the right until no frame has a node of others inside.

        All nodes are gone through from left to right, the nodes of a plate one after the other, so that
        whatever is before a plate in this order is to the left of its frame, and the rest to the right.
        """
        done: list[int] = []
        frames = [_Frame(plate, {self.layer[node] for node in plate}) for plate in self.members]
        for node in self._sorted(range(len(self.x)), dict(enumerate(self.x))):
            around = [frame for frame in frames if node in frame.members]
            for frame in around:
                if frame.left is None:
                    frame.left = self._edge_of(frame, done, frames)
            edges = [f.left + _PLATE_MARGIN * self.gap for f in around if f.left is not None]
            edges += [f.right + self.gap for f in frames if f.is_left_of(node, self.layer[node])]
            least = [self.x[n] + self._distance(n, node) for n in done if self.layer[n] == self.layer[node]]
            self.x[node] = max([self.x[node], *least, *(edge + self.width[node] / 2 for edge in edges)])
            done.append(node)
            room = _PLATE_MARGIN * self.gap
            for depth, frame in enumerate(reversed(around), 1):
                frame.right = max(frame.right, self.x[node] + self.width[node] / 2 + depth * room)

    def _edge_of(self, frame: _Frame, done: Sequence[int], frames: Sequence[_Frame]) -> float:
        """Return the leftmost position of a plate's frame, given what is to the left of it."""
        room = self.gap * _PLATE_MARGIN
        edges = [self.x[n] + self.width[n] / 2 + self.gap for n in done if frame.spans(self.layer[n])]
        edges += [f.right + self.gap for f in frames if f.is_before(frame)]
        edges += [f.left + room for f in frames if f.left is not None and f.members > frame.members]
        return max(edges, default=-inf)


@dataclasses.dataclass
class _Frame:
    """The frame of a plate: the left edge is known when its first node is placed."""

    members: set[int]
    layers: set[int]
    left: float | None = None
    right: float = -inf

    def spans(self, layer: int) -> bool:
        return min(self.layers) <= layer <= max(self.layers)

    def is_left_of(self, node: int, layer: int) -> bool:
        return self.left is not None and node not in self.members and self.spans(layer)

    def is_before(self, other: _Frame) -> bool:
        apart = self.members.isdisjoint(other.members)
        return self.left is not None and apart and any(other.spans(layer) for layer in self._range())

    def _range(self) -> range:
        return range(min(self.layers), max(self.layers) + 1)


def _layers(graph: Graph) -> list[int]:
    """Each node one below its lowest parent, and those without parents just above their children."""
    layers: list[int] = []
    for parents in graph.parent_indices:
        layers.append(1 + max((layers[parent] for parent in parents), default=-1))
    for node, children in enumerate(graph.child_indices):
        if children and not graph.parent_indices[node]:
            layers[node] = min(layers[child] for child in children) - 1
    return layers


def _from_middle(row: Sequence[int]) -> dict[int, float]:
    """The place of each node of a layer, counted from its middle."""
    return {node: at - (len(row) - 1) / 2 for at, node in enumerate(row)}


def _mean(values: Sequence[float], default: float = 0.0) -> float:
    return sum(values) / len(values) if values else default


def _rising(values: Sequence[float]) -> list[float]:
    """The nearest sequence, in squares, that does not fall."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (b, m), (a, n) = blocks.pop(), blocks.pop()
            blocks.append(((a * n + b * m) / (n + m), n + m))
    return [value for value, n in blocks for _ in range(n)]
