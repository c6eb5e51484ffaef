"""The graph index against the exact one: the same calls, nearly the same answers."""

import importlib

import numpy as np
import pytest

pytest.importorskip("faiss", reason="needs the extra isogloss[ann]")

from isogloss import io
from isogloss.similarity import GraphIndex, Index
from isogloss.similarity.index import _graph_index as index_graph
from isogloss.similarity.index._graph_links import load_faiss
from tests.oracles.topk import unit
from tests.similarity.test_index import Coming

N, DIMS = 6000, 24


class GraphComing(Coming):
    """The same life as the exact index has, in which few documents are looked at one by one."""

    def __init__(self):
        super().__init__()
        self.index = GraphIndex(3)


TestGraphComing = GraphComing.TestCase
TestGraphComing.settings = Coming.TestCase.settings


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((60, DIMS))
    return unit(centres[rng.integers(60, size=N)] + 0.7 * rng.standard_normal((N, DIMS))).astype(np.float32)


@pytest.fixture(scope="module")
def pair(vectors):
    """The exact index and the graph, with ids that are not in the order of adding."""
    ids = np.random.default_rng(1).permutation(N)
    times = ids / 100
    return Index(DIMS).add(ids, vectors, times), GraphIndex(DIMS).add(ids, vectors, times)


def recall(found, exact):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.indices, exact.indices, strict=True)])


@pytest.mark.parametrize(
    "filters", [{}, {"since": 8.0}, {"exclude": [1, 2, 3]}, {"until": 55.0, "since": 3.0}]
)
def test_most_of_the_nearest_are_found(pair, vectors, filters):
    exact, graph = (index.search(vectors[:300], k=10, **filters) for index in pair)
    assert recall(graph, exact) > 0.97


def test_what_is_found_has_the_exact_score_and_order(pair, vectors):
    exact, graph = (index.search(vectors[:50], k=5) for index in pair)
    same = exact.indices == graph.indices
    np.testing.assert_allclose(exact.scores[same], graph.scores[same], atol=1e-12)
    assert (np.diff(graph.scores, axis=1) <= 0).all()


def test_few_that_pass_a_filter_are_looked_at_one_by_one(pair, vectors):
    among = list(range(0, N, 7))
    exact, graph = (index.search(vectors[:40], k=10, among=among) for index in pair)
    np.testing.assert_array_equal(exact.indices, graph.indices)


def test_places_that_the_walk_does_not_reach_are_filled(pair, vectors, monkeypatch):
    monkeypatch.setattr(index_graph, "_FEW", 0)
    among = list(range(0, N, 500))
    exact, graph = (index.search(vectors[:40], k=11, among=among) for index in pair)
    np.testing.assert_array_equal(exact.indices, graph.indices)


def test_the_same_calls_give_the_same_answers(vectors):
    found = [
        GraphIndex(DIMS, n_jobs=jobs).add(np.arange(N), vectors).search(vectors[:200], k=10)
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(found[0].indices, found[1].indices)


def test_documents_that_left_are_not_found_and_the_graph_is_rebuilt(vectors):
    graph = GraphIndex(DIMS).add(np.arange(N), vectors, times=np.arange(N))
    assert graph.expire(before=1000) == 1000
    assert graph.search(vectors[:100], k=10).indices.min() >= 1000
    nodes = graph._nodes.n
    assert graph.remove(range(3500)) == 2500
    assert (nodes, graph._nodes.n, len(graph)) == (N, 2500, 2500)
    assert graph.search(vectors[4000:4050], k=1).indices[:, 0].tolist() == list(range(4000, 4050))
    assert graph.nbytes < GraphIndex(DIMS).add(np.arange(N), vectors).nbytes
    assert 3000 not in graph
    assert graph.ids.tolist() == list(range(3500, N))


def test_half_precision_finds_nearly_the_same(pair, vectors):
    half = GraphIndex(DIMS, storage="float16").add(np.arange(N), vectors)
    exact = Index(DIMS).add(np.arange(N), vectors).search(vectors[:200], k=10)
    assert recall(half.search(vectors[:200], k=10), exact) > 0.95


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_a_graph_is_saved_with_its_links(vectors, tmp_path, storage, monkeypatch):
    graph = GraphIndex(DIMS, storage=storage, width=40).add(np.arange(4500), vectors[:4500], np.arange(4500))
    graph.expire(before=200)
    graph.add([7], vectors[7:8])
    io.save(graph, tmp_path / "index")
    with monkeypatch.context() as patch:
        patch.setattr(GraphIndex, "_append", None)
        again = io.load(tmp_path / "index")
    assert repr(again) == repr(graph) == f"GraphIndex(4301 vectors of {DIMS} dimensions as {storage})"
    assert again.width == 40
    assert again.ids.tolist() == graph.ids.tolist()
    for more in ([], np.arange(4500, N)):
        found = [index.add(more, vectors[more].reshape(-1, DIMS)) for index in (graph, again)]
        before, after = (index.search(vectors[:200], k=10, exclude=[9]) for index in found)
        np.testing.assert_array_equal(before.indices, after.indices)
        np.testing.assert_array_equal(before.scores, after.scores)
    assert 7 in again
    assert 8 not in again


def test_an_empty_graph_is_saved_and_grows(tmp_path):
    io.save(GraphIndex(2), tmp_path / "index")
    assert io.load(tmp_path / "index").add([3], [[1, 0]]).search([[1, 0]], k=1).indices.tolist() == [[3]]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("neighbours", lambda a: np.where(np.arange(len(a)) == 5, N, a), "beyond the 6000"),
        ("neighbours", lambda a: np.where(np.arange(len(a)) == 5, -2, a), "beyond the 6000"),
        ("neighbours", lambda a: a[:-1], "links, expected"),
        ("levels", lambda a: np.where(np.arange(N) == 5, 0, a), "nodes on 0 to"),
        ("levels", lambda a: np.where(np.arange(N) == 5, 99, a), "to 99 levels"),
        ("levels", lambda a: a[:-1], "links, expected"),
        ("entry", lambda a: a * 0 + N, "cannot begin at node 6000"),
        ("vectors", lambda a: np.full_like(a, np.nan), "contains NaN"),
        ("vectors", lambda a: a[:, 1:], "23 dimensions"),
        ("vectors", lambda a: a[1:], "6000 nodes and 5999 vectors"),
    ],
)
def test_damaged_links_are_refused(pair, name, change, said):
    arrays = pair[1].arrays()
    with pytest.raises(ValueError, match=said):
        GraphIndex.from_arrays(arrays | {name: change(arrays[name])})


def test_links_to_nodes_below_their_level_are_refused(pair):
    arrays = pair[1].arrays()
    high = int(np.flatnonzero(arrays["levels"] > 1)[0])
    low = int(np.flatnonzero(arrays["levels"] == 1)[0])
    room = load_faiss().vector_to_array(pair[1]._graph.hnsw.cum_nneighbor_per_level)
    place = int(room[arrays["levels"][:high]].sum()) + int(room[1])
    neighbours = arrays["neighbours"].copy()
    neighbours[place] = low
    with pytest.raises(ValueError, match="links of level 1 to nodes below it"):
        GraphIndex.from_arrays(arrays | {"neighbours": neighbours})


def test_bad_input_is_refused_as_by_the_exact_index(monkeypatch):
    graph = GraphIndex(2).add([1], [[1, 0]])
    with pytest.raises(ValueError, match="1 of 2 ids are in the index"):
        graph.add([1, 2], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="3 dimensions"):
        graph.search([[1, 2, 3]])
    with pytest.raises(ValueError, match="storage='int8'"):
        GraphIndex(2, storage="int8")
    assert len(graph.add([], np.empty((0, 2)))) == 1
    assert GraphIndex(2).search([[1, 0]], k=2).indices.tolist() == [[-1, -1]]

    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match=r"isogloss\[ann\]"):
        GraphIndex(2)
