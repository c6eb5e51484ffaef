"""The links of a graph index as plain arrays, out of ``faiss`` and back into it.

``faiss`` keeps for every node the number of its levels and, one level after the other, room for a fixed
number of neighbours, -1 where there are fewer. Where the links of a node begin follows from the levels of
those before it. A search follows links without looking whether they lead anywhere, so links that come from a
file are looked at here.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.extras import import_extra

_DAMAGED = "the links of the graph are damaged: {}; make the index anew of its documents"


class GraphLinks(NamedTuple):
    """A hierarchical graph."""

    levels: NDArray[np.int32]
    """Levels that each node is on, 1 or more. Shape (nodes,)."""
    neighbours: NDArray[np.int32]
    """Neighbours of the first node on its lowest level, then on the next ones, and so on for all nodes."""
    entry: NDArray[np.int64]
    """The node where searches begin; -1 in a graph without nodes. Shape (1,)."""

    @classmethod
    def of(cls, graph: Any) -> Self:
        """Read the links of a ``faiss`` index."""
        array, hnsw = load_faiss().vector_to_array, graph.hnsw
        return cls(array(hnsw.levels), array(hnsw.neighbors), np.array([hnsw.entry_point]))

    def put_into(self, graph: Any, vectors: NDArray[np.float32]) -> None:
        """Make an empty index of ``faiss`` the one that had these links and vectors.

        Levels of further nodes are drawn as they would have been there.
        """
        faiss, hnsw = load_faiss(), graph.hnsw
        offsets = self._check(faiss.vector_to_array(hnsw.cum_nneighbor_per_level).astype(np.int64))
        if len(vectors) != len(self.levels):
            raise ValueError(_DAMAGED.format(f"{len(self.levels)} nodes and {len(vectors)} vectors"))
        if not len(vectors):
            return
        graph.storage.add(np.ascontiguousarray(vectors))
        graph.ntotal = len(vectors)
        for name, values in (("levels", self.levels), ("neighbors", self.neighbours)):
            faiss.copy_array_to_vector(values.astype(np.int32), getattr(hnsw, name))
        faiss.copy_array_to_vector(offsets.astype(np.uint64), hnsw.offsets)
        hnsw.entry_point, hnsw.max_level = int(self.entry[0]), int(self.levels.max()) - 1
        for _ in range(len(vectors)):
            hnsw.random_level()

    def _check(self, room: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the offset of each node's links; ``room`` is the number of links by number of levels."""
        n, levels = len(self.levels), self.levels
        if n and (levels.min() < 1 or levels.max() >= len(room)):
            raise ValueError(_DAMAGED.format(f"nodes on {levels.min()} to {levels.max()} levels"))
        offsets = np.concatenate([[0], np.cumsum(room[levels])])
        if len(self.neighbours) != offsets[-1] or self.entry.shape != (1,):
            raise ValueError(_DAMAGED.format(f"{len(self.neighbours)} links, expected {offsets[-1]}"))
        if n and not (self.neighbours.min() >= -1 and self.neighbours.max() < n):
            raise ValueError(_DAMAGED.format(f"links to nodes beyond the {n} that there are"))
        if n and not (0 <= self.entry[0] < n and levels[self.entry[0]] == levels.max()):
            raise ValueError(_DAMAGED.format(f"a search cannot begin at node {self.entry[0]}"))
        self._check_levels(offsets, room)
        return offsets

    def _check_levels(self, offsets: NDArray[np.int64], room: NDArray[np.int64]) -> None:
        """A link of a level leads to a node on that level."""
        for level in range(1, int(self.levels.max(initial=1))):
            nodes = np.flatnonzero(self.levels > level)
            places = offsets[nodes][:, None] + np.arange(room[level], room[level + 1])
            to = self.neighbours[places.ravel()]
            if (self.levels[to[to >= 0]] <= level).any():
                raise ValueError(_DAMAGED.format(f"links of level {level} to nodes below it"))


def load_faiss() -> Any:
    """The package, or a sentence that says how to get it."""
    return import_extra("faiss", "ann", "the graph index")
