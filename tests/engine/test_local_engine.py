"""LocalEngine, the reduction tree and the sources: the same sums whatever the threads, little memory."""

import math
import pickle
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from isogloss.engine import Batches, Engine, Files, LocalEngine, Rows, Source, tree_reduce
from isogloss.stats import Counts, ViewMoments
from isogloss.views import Views
from tests.waiting import LIMIT_S


def pair(left, right):
    """A combination that remembers how it was made."""
    return (left, right)


def balanced(values):
    """The tree by its definition: the largest power of two that leaves something on the right."""
    if len(values) == 1:
        return values[0]
    left = 2 ** ((len(values) - 1).bit_length() - 1)
    return (balanced(values[:left]), balanced(values[left:]))


def flatten(tree):
    return [tree] if not isinstance(tree, tuple) else flatten(tree[0]) + flatten(tree[1])


def moments_of(batch):
    return ViewMoments(batch.dims).update(batch)


def merge(left, right):
    return left.merge(right)


def same_bits(a, b):
    return all(np.array_equal(array, b.arrays()[name]) for name, array in a.arrays().items())


# ------------------------------------------------------------------------------------------ the tree


@given(n=st.integers(1, 200))
def test_the_tree_depends_on_the_number_of_values_alone(n):
    values = list(range(n))
    tree = tree_reduce(iter(values), pair)
    assert tree == balanced(values)
    assert flatten(tree) == values, "in order"


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, 8, -1])
def test_threads_build_the_same_tree(n_jobs):
    def leaf(batch):
        time.sleep(0.002 * (batch % 3))  # so that they finish out of order
        return batch

    for n in (1, 2, 5, 11):
        assert LocalEngine(n_jobs).map_reduce(leaf, pair, Batches(list(range(n)))) == balanced(list(range(n)))


def test_nothing_to_reduce_is_an_error():
    with pytest.raises(ValueError, match="the source has no batches"):
        tree_reduce([], pair)
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="the source has no batches"):
            LocalEngine(n_jobs).map_reduce(moments_of, merge, Batches([]))


class Partial:
    """A result that knows how many of its kind are alive."""

    lock = threading.Lock()
    alive = most = 0

    def __init__(self):
        with Partial.lock:
            Partial.alive += 1
            Partial.most = max(Partial.most, Partial.alive)

    def __del__(self):
        with Partial.lock:
            Partial.alive -= 1


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("n", [1, 2, 15, 16, 64, 100])
@pytest.mark.parametrize("keep", ["left", "new"])
def test_few_partial_results_are_alive(workers, n, keep):
    def leaf(batch):
        time.sleep(0.0005)
        return Partial()

    def combine(left, right):
        return left if keep == "left" else Partial()

    Partial.alive = Partial.most = 0
    total = LocalEngine(workers).map_reduce(leaf, combine, Batches(list(range(n))))
    assert Partial.most <= math.ceil(math.log2(n)) + workers + (keep == "new")
    assert Partial.alive == 1
    del total


# ---------------------------------------------------------------------------------------- LocalEngine


def test_results_do_not_depend_on_the_number_of_threads(rng):
    """Wide enough that BLAS itself would split its sums differently on one and on two threads."""
    x, y = rng.standard_normal((4_000, 1000)), rng.standard_normal((4_000, 7))
    y[:, 0] = 1000.0 + rng.standard_normal(4_000)
    source = Rows(Views([x, sparse.csr_array(y)], present=rng.random((4_000, 2)) > 0.1), batch_rows=777)
    alone = LocalEngine().map_reduce(moments_of, merge, source)
    assert alone.count(0) < 4_000
    for n_jobs in (1, 2, 3, -1):
        assert same_bits(LocalEngine(n_jobs).map_reduce(moments_of, merge, source), alone)


def test_broadcast_values_reach_every_leaf():
    for n_jobs in (1, 2):
        engine = LocalEngine(n_jobs)
        total = engine.map_reduce(lambda b, s, t: s * b + t, lambda a, b: a + b, Batches([1, 2, 3]), 10, 0.5)
        assert total == 61.5


def test_map_gives_a_source_of_the_values_in_order():
    for n_jobs in (1, 2):
        engine = LocalEngine(n_jobs)
        mapped = engine.map(lambda b, k: b + k, Batches([1, 2, 3]), 100)
        assert isinstance(mapped, Source)
        assert [load() for load in mapped.loaders()] == [101, 102, 103]
        assert engine.map_reduce(lambda b: b, lambda a, b: a + b, mapped) == 306
        assert engine.persist(mapped) is mapped
        assert isinstance(engine, Engine)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("bad", [0, 3, 9])
def test_an_error_in_a_leaf_comes_out(n_jobs, bad):
    def leaf(batch):
        if batch == bad:
            raise ZeroDivisionError(f"batch {batch}")
        return batch

    before = threadpool_info()
    with pytest.raises(ZeroDivisionError, match=f"batch {bad}"):
        LocalEngine(n_jobs).map_reduce(leaf, pair, Batches(list(range(10))))
    with pytest.raises(ZeroDivisionError, match=f"batch {bad}"):
        LocalEngine(n_jobs).map(leaf, Batches(list(range(10))))
    assert threadpool_info() == before


def test_an_error_in_combine_leaves_no_threads_behind():
    def combine(left, right):
        raise ZeroDivisionError("no sum")

    before, threads = threadpool_info(), threading.active_count()
    with pytest.raises(ZeroDivisionError, match="no sum") as caught:
        LocalEngine(3).map_reduce(lambda b: b, combine, Batches(list(range(10))))
    assert caught.value.__traceback__ is not None, "its frames are still alive, and must not hold the pool"
    assert threading.active_count() <= threads
    assert threadpool_info() == before


def pool_threads(_=None):
    return [max(lib["num_threads"] for lib in threadpool_info())]


def test_libraries_have_one_thread_per_batch_and_as_many_as_configured_for_a_single_one(monkeypatch):
    monkeypatch.setenv("ISOGLOSS_NUM_THREADS", "3")
    with threadpool_limits(2):
        for n_jobs in (1, 2):
            engine = LocalEngine(n_jobs)
            assert engine.map_reduce(pool_threads, lambda a, b: a + b, Batches([0] * 4)) == [1] * 4
            assert engine.map_reduce(pool_threads, lambda a, b: a + b, Batches([0])) == [3]
        monkeypatch.delenv("ISOGLOSS_NUM_THREADS")
        assert LocalEngine().map_reduce(pool_threads, lambda a, b: a + b, Batches([0])) == [1]
        assert pool_threads() == [2]


def test_zero_threads_are_refused():
    for call in (
        lambda engine: engine.map_reduce(moments_of, merge, Batches([1, 2])),
        lambda engine: engine.map(moments_of, Batches([1])),
    ):
        with pytest.raises(ValueError, match="n_jobs=0 is no threads at all"):
            call(LocalEngine(n_jobs=0))


def test_threads_work_at_the_same_time():
    barrier = threading.Barrier(3, timeout=LIMIT_S)

    def leaf(batch):
        barrier.wait()
        return [batch]

    assert LocalEngine(3).map_reduce(leaf, lambda a, b: a + b, Batches([0, 1, 2])) == [0, 1, 2]


# ------------------------------------------------------------------------------------------- sources


def test_rows_are_cut_into_slices_of_a_fixed_size():
    x, w = np.arange(10).reshape(5, 2), np.arange(5.0)
    batches = [load() for load in Rows(x, None, w, batch_rows=2).loaders()]
    assert [b[0].tolist() for b in batches] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9]]]
    assert [b[1] for b in batches] == [None] * 3
    assert [b[2].tolist() for b in batches] == [[0, 1], [2, 3], [4]]
    assert [load().shape for load in Rows(np.zeros((0, 2)), batch_rows=2).loaders()] == [(0, 2)]
    assert len(Rows(x).loaders()) == 1


def test_rows_of_views_and_sparse_matrices(rng):
    x = sparse.random_array((10, 3), density=0.5, format="csr", rng=rng)
    views = Views([x, rng.standard_normal((10, 2))], present=rng.random((10, 2)) > 0.3)
    batches = [load() for load in Rows(views, batch_rows=4).loaders()]
    assert [len(b) for b in batches] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([b.arrays[1] for b in batches]), views.arrays[1])


def test_a_loader_travels_with_its_own_rows_and_no_others():
    x = np.arange(100_000.0).reshape(-1, 10)
    for data in (x, sparse.csr_array(x), Views([x])):
        loaders = Rows(data, batch_rows=100).loaders()
        size = len(pickle.dumps(loaders[3]))
        assert size < 20_000 < x.nbytes
        again = pickle.loads(pickle.dumps(loaders[3]))()
        for a, b in ((again, loaders[3]()),):
            a, b = (v.arrays[0] if isinstance(v, Views) else v for v in (a, b))
            np.testing.assert_array_equal(
                a.toarray() if sparse.issparse(a) else a, b.toarray() if sparse.issparse(b) else b
            )


class Cut:
    """Something with rows that tells when it is cut."""

    shape = (10, 1)

    def __init__(self):
        self.cuts = 0

    def __getitem__(self, rows):
        self.cuts += 1
        return [rows.start]


def test_rows_are_cut_when_they_are_needed():
    data = Cut()
    source = Rows(data, batch_rows=2)
    loaders = source.loaders()
    assert data.cuts == 0
    assert loaders[1]() == [2]
    assert data.cuts == 1
    assert LocalEngine().map_reduce(lambda b: b, lambda a, b: a + b, source) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Rows(), "no data given"),
        (lambda: Rows(None, np.ones(3)), "no data given"),
        (lambda: Rows(np.ones(3), np.ones(4)), "unequal numbers of rows: \\[3, 4\\]"),
        (lambda: Rows(np.ones(3), batch_rows=0), "batch_rows=0; expected at least 1"),
    ],
)
def test_what_rows_refuse(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_files_are_read_again_in_every_pass(tmp_path):
    paths = [tmp_path / f"{k}.txt" for k in range(3)]
    for path in paths:
        path.write_text("a b")
    source = Files([str(path) for path in paths], lambda path: path.read_text().split())

    def count():
        return LocalEngine(2).map_reduce(lambda words: Counts().update(words), merge, source)

    assert count()["a"] == 3
    paths[1].write_text("a a a")
    assert (count()["a"], count()["b"]) == (5, 2)
    assert isinstance(source, Source)
    paths[1].unlink()
    with pytest.raises(FileNotFoundError):
        count()
    with pytest.raises(FileNotFoundError, match=r"1 of 3 files are missing: .*1\.txt"):
        Files(paths, len)


def test_batches_can_be_read_again():
    source = Batches(iter([1, 2]))
    assert [[load() for load in source.loaders()] for _ in range(2)] == [[1, 2], [1, 2]]
