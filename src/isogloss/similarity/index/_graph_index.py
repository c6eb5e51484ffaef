"""Nearest documents by a graph of neighbours: not exact, and for large collections much faster.

A search with :class:`~isogloss.similarity.Index` looks at every vector, which is exact, and as fast as a core
multiplies. When a window has millions of documents and questions come one at a time, that is too slow. Here
vectors are nodes of a hierarchical graph (HNSW, as in ``faiss``), through which a search walks towards the
query, looking at some thousand of them. The price: some of the nearest are missed, adding takes longer than
searching, and memory is that of the vectors and of 32 neighbours each.

Scores are computed again from the vectors that were found, so a document that is found has the score and the
place among the others that the exact index gives it.

A saved index holds the graph as plain arrays of numbers, which are looked at before they are used, and not in
the form of ``faiss``, whose reader trusts its files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from isogloss.linalg import TopK, check_count, top_k
from isogloss.similarity.index._collection import Collection, SearchFilters, check_vectors, ordered
from isogloss.similarity.index._graph_links import GraphLinks, load_faiss
from isogloss.similarity.index._segment import Ids, Mask, Rows
from isogloss.threads import count_threads

GraphStorage = Literal["float32", "float16"]

# Links of a node; more find more, and take more memory and time.
_LINKS = 32
_WIDTH_OF_ADDING = 200
# Documents up to which all that pass a filter are looked at, which is then faster than the graph, and exact.
_FEW = 4096
# Documents that are looked at together when all are.
_GRAPH_BLOCK_ROWS = 65_536


class GraphIndex(Collection):
    """Vectors with ids and times, and most of the nearest of them to any query.

    Takes the calls of :class:`Index`, and needs the extra ``isogloss[ann]``.

    Parameters
    ----------
    dims : int
        Dimensions of the vectors, which should have length one.
    storage : {'float32', 'float16'}
        Bytes per component: four, or two, scores being those of the rounded vectors.
    width : int
        Nodes that a search keeps in view; more find more of the nearest and take longer.
    n_jobs : int or None
        Threads of a search over many queries; ``None`` is one, ``-1`` one per core.

    Notes
    -----
    The same calls in the same order give the same graph and the same answers: nodes are added by one thread.
    Documents that leave are passed over; when half of the nodes have left, the graph is made anew of the
    others, which takes as long as adding them. Where fewer than some thousand documents pass the filters of
    a search, all of them are looked at, and the answer is exact.

    Examples
    --------
    >>> index = GraphIndex(2).add([7, 3, 5], [[1, 0], [0, 1], [1, 0]], times=[10, 20, 30])
    >>> index.search([[2, 1]], k=2)
    TopK(scores=array([[2., 2.]]), indices=array([[5, 7]]))
    >>> index.search([[2, 1]], k=2, since=20).indices
    array([[5, 3]])
    >>> index.expire(before=20), len(index), 7 in index
    (1, 2, False)
    """

    def __init__(
        self,
        dims: int,
        *,
        storage: GraphStorage = "float32",
        width: int = 128,
        n_jobs: int | None = None,
    ) -> None:
        if storage not in get_args(GraphStorage):
            raise ValueError(f"storage={storage!r}; expected one of {', '.join(get_args(GraphStorage))}")
        self.dims = check_count(dims, "dims", 1, 2**20, "dimensions of the vectors")
        self.width = check_count(width, "width", 1, 2**20, "nodes in view")
        self.storage, self.n_jobs = storage, n_jobs
        self._restart()

    def _restart(self) -> None:
        self._graph = _new_graph(self.dims, self.storage)
        self._nodes = _Nodes()

    def _append(self, rows: Rows) -> None:
        with _threads(1):
            self._graph.add(np.ascontiguousarray(rows[1]))
        self._nodes.append(rows)

    def _remove(self, ids: Ids) -> int:
        places = self._nodes.places(ids)
        return self._forget(places[places >= 0])

    def _expire(self, before: float) -> int:
        return self._forget(np.flatnonzero(self._nodes.live & (self._nodes.times < before)))

    def _find(self, queries: NDArray[np.float32], k: int, filters: SearchFilters) -> TopK:
        wanted = filters.pass_rows(self._nodes) & self._nodes.live
        if int(wanted.sum()) <= max(_FEW, k):
            return self._look_at_all(queries, k, wanted)
        places = self._walk(queries, k, wanted)
        found = ordered(self._scores(queries, places), self._nodes.names(places), k)
        short = np.flatnonzero((found.indices < 0).any(axis=1))
        if len(short):
            found.scores[short], found.indices[short] = self._look_at_all(queries[short], k, wanted)
        return found

    def _walk(self, x: NDArray[np.float32], k: int, wanted: Mask) -> Ids:
        """Nodes near each query that pass the filters; -1 where fewer were met."""
        faiss = load_faiss()
        settings = faiss.SearchParametersHNSW(efSearch=max(self.width, k))
        bits = np.packbits(wanted, bitorder="little")
        settings.sel = chosen = faiss.IDSelectorBitmap(bits)
        with _threads(count_threads(self.n_jobs)):
            _, places = self._graph.search(x, k, params=settings)
        del chosen, bits
        return np.asarray(places, dtype=np.int64)

    def _scores(self, x: NDArray[np.float32], places: Ids) -> NDArray[np.float64]:
        """Inner products with the vectors of nodes, minus infinity where there is none."""
        vectors = self._vectors(np.maximum(places, 0).ravel()).reshape(*places.shape, self.dims)
        scores = np.einsum("qd,qkd->qk", x.astype(np.float64), vectors.astype(np.float64))
        return np.where(places < 0, -np.inf, scores)

    def _look_at_all(self, x: NDArray[np.float32], k: int, wanted: Mask) -> TopK:
        """The nearest of all documents that pass the filters, exactly."""
        places = np.flatnonzero(wanted)
        scores, names = np.full((len(x), k), -np.inf), np.full((len(x), k), -1, dtype=np.int64)
        for start in range(0, len(places), _GRAPH_BLOCK_ROWS):
            some = places[start : start + _GRAPH_BLOCK_ROWS]
            # In the order of ids, so that equal scores come in that order.
            some = some[np.argsort(self._nodes.ids[some], kind="stable")]
            best = top_k(x, self._vectors(some), min(k, len(some)))
            scores = np.concatenate([scores, best.scores], axis=1)
            names = np.concatenate([names, self._nodes.ids[some[best.indices]]], axis=1)
            scores, names = ordered(scores, names, k)
        return TopK(scores, names)

    def _vectors(self, places: Ids) -> NDArray[np.float32]:
        if not len(places):
            return np.empty((0, self.dims), dtype=np.float32)
        return np.asarray(self._graph.reconstruct_batch(places), dtype=np.float32)

    def _vectors_of(self, ids: Ids) -> NDArray[np.float32]:
        return self._vectors(self._nodes.places(ids))

    def _forget(self, places: Ids) -> int:
        self._nodes.live[places] = False
        if self._nodes.n > _FEW and 2 * len(self) <= self._nodes.n:
            self._make_anew()
        return len(places)

    def _make_anew(self) -> None:
        """A graph of the documents that are there, in the order in which they came."""
        rows = self._remaining()
        self._restart()
        self.add(*rows)

    def _remaining(self) -> Rows:
        kept = np.flatnonzero(self._nodes.live)
        return self._nodes.ids[kept], self._vectors(kept), self._nodes.times[kept]

    def __len__(self) -> int:
        return int(self._nodes.live.sum())

    def _among(self, ids: Ids) -> Mask:
        return self._nodes.places(ids) >= 0

    @property
    def ids(self) -> Ids:
        """All ids, ascending."""
        return np.sort(self._nodes.ids[self._nodes.live])

    @property
    def nbytes(self) -> int:
        """Memory of the vectors, their links and what is kept with them, about."""
        component = 4 if self.storage == "float32" else 2
        return self._nodes.n * (self.dims * component + 2 * _LINKS * 4 + 25)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays: all nodes, those that have left too, and their links."""
        nodes = self._nodes
        settings = [self.dims, self.width, get_args(GraphStorage).index(self.storage)]
        vectors = self._vectors(np.arange(nodes.n)).astype(self.storage)
        documents = {"ids": nodes.ids, "vectors": vectors, "times": nodes.times, "live": nodes.live}
        return {"settings": np.array(settings)} | documents | GraphLinks.of(self._graph)._asdict()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The index that gave these arrays; it grows as that one would."""
        dims, width, storage = arrays["settings"].tolist()
        out = cls(dims, width=width, storage=get_args(GraphStorage)[storage])
        rows, live = (arrays["ids"], arrays["vectors"], arrays["times"]), arrays["live"].astype(bool)
        links = GraphLinks(*(arrays[name] for name in GraphLinks._fields))
        links.put_into(out._graph, check_vectors(rows[1], dims))
        out._nodes.append(rows)
        out._nodes.live[~live] = False
        return out


class _Nodes:
    """Ids and times of the nodes, in the order in which they came, and which of them are still there."""

    def __init__(self) -> None:
        self.n = 0
        self._ids, self._times = np.empty(0, np.int64), np.empty(0)
        self._live = np.empty(0, dtype=bool)
        self._place: dict[int, int] = {}

    @property
    def ids(self) -> Ids:
        return self._ids[: self.n]

    @property
    def times(self) -> NDArray[np.float64]:
        return self._times[: self.n]

    @property
    def live(self) -> Mask:
        return self._live[: self.n]

    def append(self, rows: Rows) -> None:
        end = self.n + len(rows[0])
        if end > len(self._ids):
            more = partial(np.resize, new_shape=max(end, 2 * self.n))
            self._ids, self._times, self._live = more(self._ids), more(self._times), more(self._live)
        self._ids[self.n : end], self._times[self.n : end], self._live[self.n : end] = rows[0], rows[2], True
        self._place.update(zip(rows[0].tolist(), range(self.n, end), strict=True))
        self.n = end

    def places(self, ids: Ids) -> Ids:
        """Return the positions of documents; -1 for unknown ones."""
        at = np.array([self._place.get(one, -1) for one in ids.tolist()], dtype=np.int64)
        there = at >= 0
        there[there] = self.live[at[there]]
        return np.where(there, at, -1)

    def names(self, places: Ids) -> Ids:
        """Ids of nodes; -1 stays."""
        return np.where(places < 0, -1, self.ids[places])


def _new_graph(dims: int, storage: str) -> Any:
    faiss = load_faiss()
    if storage == "float32":
        graph = faiss.IndexHNSWFlat(dims, _LINKS, faiss.METRIC_INNER_PRODUCT)
    else:
        halves = faiss.ScalarQuantizer.QT_fp16
        graph = faiss.IndexHNSWSQ(dims, halves, _LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.train(np.zeros((1, dims), dtype=np.float32))
    graph.hnsw.efConstruction = _WIDTH_OF_ADDING
    return graph


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """Set the number of faiss threads, and restore it afterwards."""
    faiss = load_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(number)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
