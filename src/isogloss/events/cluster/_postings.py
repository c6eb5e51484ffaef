"""Bounded inverted index: the clusters that each term was last seen in.

The posting list of a term has a fixed length; when it is full, the oldest entry is overwritten. A look-up
therefore costs the same however long the stream is. It returns candidates that the caller compares exactly:
clusters that no longer exist stay listed until they are overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.events.cluster._terms import N_TERMS, Ids
from isogloss.events.cluster._vectors import Vector
from isogloss.kernels import find_clusters, list_cluster


class PostingLists:
    """Posting lists of fixed length for all terms.

    Memory: four bytes for each posting of each of ``N_TERMS`` terms; the system allocates what is used. The
    terms of a vector with the largest weights are indexed and looked up.

    Examples
    --------
    >>> storm = Vector(np.array([3, 7], dtype=np.int32), np.array([0.8, 0.6]))
    >>> flood = Vector(np.array([7, 9], dtype=np.int32), np.array([0.6, 0.8]))
    >>> index = PostingLists()
    >>> index.add(1, storm)
    >>> index.add(2, flood)
    >>> index.find(storm, 10), index.find(flood, 1)
    ([1, 2], [2])
    """

    def __init__(self, max_postings: int = 32, max_terms: int = 64) -> None:
        self.max_postings = max_postings
        self.max_terms = max_terms
        self._lists = np.zeros((N_TERMS, max_postings), dtype=np.int32)
        self._next = np.zeros(N_TERMS, dtype=np.uint8)

    def add(self, cluster: int, vector: Vector) -> None:
        """Index a cluster, an integer from 1 on, under the terms of a vector."""
        list_cluster(self._lists, self._next, *vector, self.max_terms, cluster)

    def find(self, vector: Vector, limit: int) -> list[int]:
        """Return the clusters that share most of the weight of a vector, the best first."""
        clusters = np.empty(limit, dtype=np.int32)
        n = find_clusters(self._lists, *vector, self.max_terms, clusters)
        found: list[int] = clusters[:n].tolist()
        return found

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return the whole state as named arrays."""
        used = np.flatnonzero(self._lists.any(axis=1)).astype(np.int32)
        return {"terms": used, "lists": self._lists[used], "next": self._next[used]}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Restore a state of :meth:`state_dict`."""
        used: Ids = arrays["terms"]
        self._lists[used] = arrays["lists"]
        self._next[used] = arrays["next"]
        return self
