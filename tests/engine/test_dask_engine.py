"""DaskEngine on a real cluster of processes, some of which are killed."""

import copy
import os
import pickle
import signal
import threading
import time
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed")
from distributed.scheduler import KilledWorker

from isogloss.engine import Batches, Engine, Files, LocalEngine, Rows, Source
from isogloss.engine.dask import DaskEngine
from isogloss.exceptions import EngineError
from isogloss.stats import Counts, ViewMoments
from isogloss.views import Views

pytestmark = pytest.mark.dask


@pytest.fixture
def engine(dask_client):
    return DaskEngine(dask_client)


@pytest.fixture
def files(tmp_path, rng):
    """Eight files of views with missing rows, and a note of every time one is read."""
    for k in range(8):
        x = rng.standard_normal((40, 3)) + 1000.0
        y = sparse.random_array((40, 4), density=0.3, format="csr", rng=rng)
        views = Views([x, y], names=["x", "y"], present=rng.random((40, 2)) > 0.2)
        (tmp_path / f"{k}.batch").write_bytes(pickle.dumps(views))
    return Files(sorted(tmp_path.glob("*.batch")), partial(read, tmp_path / "reads"))


def read(log, path):
    note(log)
    return pickle.loads(path.read_bytes())


def note(log):
    """One more line in a log that many processes write."""
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, f"{os.getpid()}\n".encode())
    os.close(fd)


def notes(log):
    return [int(line) for line in Path(log).read_text().split()] if Path(log).exists() else []


def moments_of(batch):
    return ViewMoments(batch.dims).update(batch)


def noted_moments(batch, log, go=None):
    """Moments of a batch, with a note before; they wait for a file if there is one to wait for."""
    note(log)
    while go is not None and not go.exists():
        time.sleep(0.01)
    return moments_of(batch)


def merge(left, right):
    return left.merge(right)


def add(left, right):
    return left + right


def itself(value):
    return value


def pair(left, right):
    return (left, right)


def assert_close(a, b):
    assert a.arrays().keys() == b.arrays().keys()
    for name, array in a.arrays().items():
        np.testing.assert_allclose(array, b.arrays()[name], rtol=1e-10, atol=1e-10)


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def kill_one_that_has_noted(log, go):
    """A thread that waits for the first note of a worker, kills it, and lets the others go on."""

    def watch():
        while not notes(log):
            time.sleep(0.01)
        kill(notes(log)[0])
        go.touch()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


# ------------------------------------------------------------------------------------ without accidents


def test_sums_are_those_of_this_process(engine, files, rng):
    local = LocalEngine().map_reduce(moments_of, merge, files)
    assert_close(engine.map_reduce(moments_of, merge, files), local)
    views = Views(
        [rng.standard_normal((50, 3)), rng.standard_normal((50, 2))], present=rng.random((50, 2)) > 0.3
    )
    rows = Rows(views, batch_rows=8)
    assert_close(
        engine.map_reduce(moments_of, merge, rows), LocalEngine().map_reduce(moments_of, merge, rows)
    )
    assert isinstance(engine, Engine)


def test_the_tree_is_that_of_this_process(engine):
    for n in (1, 2, 3, 5, 6, 7, 11):
        source = Batches(list(range(n)))
        assert engine.map_reduce(itself, pair, source) == LocalEngine().map_reduce(itself, pair, source)


def test_batches_are_read_once_and_stay(engine, dask_client, files, tmp_path):
    placed = engine.persist(files)
    assert isinstance(placed, Source)
    assert engine.persist(placed) is placed
    first = engine.map_reduce(moments_of, merge, placed)
    for _ in range(3):
        assert_close(engine.map_reduce(moments_of, merge, placed), first)
    reads = notes(tmp_path / "reads")
    assert len(reads) == 8
    assert set(reads) <= set(dask_client.run(os.getpid).values()), "read by the workers, not here"
    assert [len(load()) for load in placed.loaders()] == [40] * 8


def test_values_of_any_kind_are_broadcast(engine):
    def leaf(batch, *values):
        return [batch, values]

    values = ([1, 2], (3, 4), {"a": [5]}, "text", 0.5, None, np.arange(3.0))
    for given in (values, values[:1], ()):
        total = engine.map_reduce(leaf, add, Batches([0, 1]), *given)
        assert total[0::2] == [0, 1]
        for received in total[1::2]:
            assert len(received) == len(given)
            for a, b in zip(received, given, strict=True):
                assert np.array_equal(a, b) if isinstance(b, np.ndarray) else a == b


def test_mapped_values_stay_on_the_workers(engine, files, tmp_path):
    log = tmp_path / "maps"
    mapped = engine.map(noted_moments, files, log)
    local = LocalEngine().map_reduce(moments_of, merge, files)
    for _ in range(2):
        assert_close(engine.map_reduce(itself, merge, mapped), local)
    assert len(notes(log)) == 8


def test_combine_may_change_what_it_is_given(engine, rng):
    """The leaves are the batches themselves, which the next sum needs again as they were."""
    rows = [rng.standard_normal((5, 2)) for _ in range(5)]
    source = engine.persist(Batches([ViewMoments([2]).update([x]) for x in rows]))
    whole = ViewMoments([2]).update([np.concatenate(rows)])
    for _ in range(3):
        total = engine.map_reduce(itself, merge, source)
        assert total.count(0) == 25
        assert_close(total, whole)


def test_errors_of_leaf_combine_and_loader_come_out_as_they_are(engine, tmp_path):
    def bad(*_):
        raise ZeroDivisionError("in the worker")

    for sum_up in (
        lambda: engine.map_reduce(bad, add, Batches([1, 2])),
        lambda: engine.map_reduce(itself, bad, Batches([1, 2])),
        lambda: engine.map(bad, Batches([1, 2])),
    ):
        with pytest.raises(ZeroDivisionError, match="in the worker"):
            sum_up()
    path = tmp_path / "later"
    path.write_text("a")
    placed = Files([path], lambda path: path.read_text())
    path.unlink()
    placed = engine.persist(placed)
    with pytest.raises(FileNotFoundError):
        engine.map_reduce(itself, add, placed)
    path.write_text("b")
    assert engine.map_reduce(itself, add, placed) == "b", "a batch that failed is loaded again"


def test_an_empty_source_is_an_error(engine):
    for sum_up in (engine.persist, partial(engine.map_reduce, itself, add), partial(engine.map, itself)):
        with pytest.raises(ValueError, match="the source has no batches"):
            sum_up(Batches([]))


def test_a_placed_source_can_be_taken_apart(engine):
    """Incremental EM visits one batch at a time."""

    class One:
        def __init__(self, load):
            self.load = load

        def loaders(self):
            return [self.load]

    placed = engine.persist(Batches([10, 20, 30]))
    parts = [engine.persist(One(load)) for load in placed.loaders()]
    assert [engine.map_reduce(itself, add, part) for part in parts] == [10, 20, 30]


# --------------------------------------------------------------------------------------- with accidents


def test_a_worker_killed_in_a_leaf(engine, files, tmp_path):
    log, go = tmp_path / "leaves", tmp_path / "go"
    placed = engine.persist(files)
    local = LocalEngine().map_reduce(moments_of, merge, files)
    thread = kill_one_that_has_noted(log, go)
    assert_close(engine.map_reduce(noted_moments, merge, placed, log, go), local)
    thread.join()
    assert len(notes(log)) > 8, "at least one leaf was computed twice"
    for _ in range(2):
        assert_close(engine.map_reduce(moments_of, merge, placed), local)


def test_a_worker_killed_after_combine_has_changed_its_argument(engine, tmp_path):
    """The sums of the first attempt must not be in those of the second."""
    log = tmp_path / "combines"

    def combine(left, right):
        left.merge(right)
        if not notes(log):
            note(log)
            kill(os.getpid())
        return left

    words = [["a"], ["b", "a"], ["c"], ["a"]]
    total = engine.map_reduce(lambda batch: Counts().update(batch), combine, Batches(words))
    assert total == LocalEngine().map_reduce(lambda batch: Counts().update(batch), merge, Batches(words))
    assert notes(log), "a worker was killed, or both, if they began at the same moment"


def test_everything_lost_between_two_sums(engine, dask_client, files, tmp_path):
    """Batches are read again; mapped values, whose broadcast values died too, are computed again."""
    log = tmp_path / "maps"
    placed = engine.persist(files)
    mapped = engine.map(noted_moments, placed, log)
    local = LocalEngine().map_reduce(moments_of, merge, files)
    for pid in dask_client.run(os.getpid).values():
        kill(pid)
    assert_close(engine.map_reduce(itself, merge, mapped), local)
    assert_close(engine.map_reduce(moments_of, merge, placed), local)
    assert len(notes(log)) == 16


def test_a_cluster_that_cannot_finish_says_so_and_is_still_of_use(engine, dask_client, tmp_path):
    log, path = tmp_path / "deaths", tmp_path / "batch"
    path.write_text("")

    def fragile(path):
        if not notes(log):
            note(log)
            kill(os.getpid())
        return 1

    scheduler = dask_client.cluster.scheduler
    allowed, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        placed = engine.persist(Files([path, path], fragile))
        with pytest.raises(EngineError, match="lost its workers 1 times in one sum"):
            DaskEngine(dask_client, retries=0).map_reduce(itself, add, placed)
    finally:
        scheduler.allowed_failures = allowed
    assert engine.map_reduce(itself, add, placed) == 2, "a batch that was given up is loaded again"


@pytest.mark.parametrize("failures", [0, 2, 3])
def test_a_sum_is_started_again_as_often_as_was_asked(dask_client, failures):
    left = [CancelledError(), TimeoutError(), KilledWorker("task", None, 3)][:failures]

    def attempt():
        if left:
            raise left.pop()
        return "done"

    engine = DaskEngine(dask_client, retries=2)
    if failures < 3:
        assert engine._with_retries(attempt) == "done"
    else:
        with pytest.raises(EngineError, match="lost its workers 3 times") as caught:
            engine._with_retries(attempt)
        assert isinstance(caught.value.__cause__, CancelledError)


def test_an_estimator_that_is_copied_keeps_its_cluster(dask_client):
    engine = DaskEngine(dask_client)
    assert copy.deepcopy(engine) is engine
