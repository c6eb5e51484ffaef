"""The worker process: its writes go through the parent, and it ends with it."""

import multiprocessing
import os
import signal
from dataclasses import replace

import psutil
import pytest

from isogloss.events.analyse import _analyser as preparing
from isogloss.events.ingest import sample_news
from isogloss.exceptions import StoreFullError
from isogloss.service.worker import JournalProcessor, StreamFactory, WorkerProcess
from isogloss.service.worker._worker_process import _StoreProxy
from isogloss.store import Store, Update
from tests.service.test_worker import tables, without_lines
from tests.waiting import LIMIT_S, wait_until

ARTICLES = sample_news().articles[:120]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


def followed(store):
    with store.database.read() as session:
        return session.run("SELECT count(*) FROM member")[0][0]


@pytest.mark.usefixtures("warm_processes")
def test_the_worker_process_is_restarted_when_it_is_killed_and_stops(store, tmp_path):
    worker = WorkerProcess(store, poll_seconds=0.01, stop_seconds=LIMIT_S)
    worker.start()
    try:
        store.add(ARTICLES[:64])
        wait_until(lambda: followed(store) == 64)
        first = worker.process.pid
        os.kill(first, signal.SIGKILL)
        store.add(ARTICLES[64:])
        wait_until(lambda: followed(store) == len(ARTICLES))
        wait_until(lambda: worker.status()["error"] == "")
        assert worker.process.pid != first
        assert worker.status()["alive"]
    finally:
        worker.stop()
    assert worker.status()["alive"] is False
    assert worker.process.exitcode == 0
    assert store.latest_checkpoint()[0] == store.position()
    with Store(tmp_path / "again.db") as again:
        for entry in store.journal():
            again.record_update() if entry.kind == "update" else again.add([entry.article])
        JournalProcessor(again, StreamFactory()).process()
        assert without_lines(tables(again)) == without_lines(tables(store))


@pytest.mark.slow
def test_the_worker_process_stops_its_children(store, tmp_path):
    news = [
        replace(article, source=f"copy {n}", body=f"{article.body} {n}" * (n + 1))
        for n in range(4)
        for article in sample_news().articles
    ]
    worker = WorkerProcess(store, StreamFactory(n_jobs=2), poll_seconds=0.01, stop_seconds=LIMIT_S)
    worker.start()
    try:
        for start in range(0, len(news), 200):
            store.add(news[start : start + 200])
        wait_until(lambda: store.position() >= 600)
        wait_until(lambda: len(psutil.Process(worker.process.pid).children(recursive=True)) >= 3)
        wait_until(lambda: store.position() >= len(news))
        others = psutil.Process(worker.process.pid).children(recursive=True)
    finally:
        worker.stop()
    assert worker.process.exitcode == 0
    wait_until(lambda: not any(one.is_running() for one in others))
    with Store(tmp_path / "again.db") as again:
        for entry in store.journal(limit=10_000):
            again.record_update() if entry.kind == "update" else again.add([entry.article])
        JournalProcessor(again, StreamFactory()).process()
        assert without_lines(tables(again)) == without_lines(tables(store))


class Breaking(StreamFactory):
    """A stream that fails between two lines as soon as it has processes of its own."""

    def __call__(self, saved):
        preparing._MIN_POOL_ARTICLES = preparing._BATCH_ARTICLES = 8  # in that process alone
        stream = super().__call__(saved)
        begin = stream.analyser.begin

        def failing(*articles):
            if multiprocessing.active_children():
                raise RuntimeError("what nobody thought of")
            return begin(*articles)

        stream.analyser.begin = failing
        return stream


def test_a_worker_process_that_fails_ends_its_children(store, capfd):
    news = sample_news().articles
    worker = WorkerProcess(store, Breaking(n_jobs=2), poll_seconds=0.01)
    worker.start()
    try:
        wait_until(lambda: worker.process is not None and worker.process.pid is not None)
        first = worker.process.pid
        for start in range(0, len(news), 100):
            store.add(news[start : start + 100])
        wait_until(lambda: worker.process.pid != first)
        assert "what nobody thought of" in capfd.readouterr().err
    finally:
        worker.stop()


class _Pipe:
    """The parent end of a pipe: answers are given in order when they are received."""

    def __init__(self, *errors):
        self.errors, self.sent, self.fetched = list(errors), [], 0

    def send(self, message):
        self.sent.append(message)

    def recv(self):
        assert self.fetched < len(self.sent), "no message was sent that this would answer"
        self.fetched += 1
        return (self.errors.pop(0) if self.errors else None), False


@pytest.fixture
def proxy(tmp_path):
    """Creates a store proxy whose parent answers with the given errors."""
    Store(tmp_path / "read.db").close()
    return lambda *errors: _StoreProxy((str(tmp_path / "read.db"), ""), _Pipe(*errors))


def test_an_update_waits_only_for_the_one_before(proxy):
    store = proxy()
    store.apply(Update(0, 1))
    store.report(1, "")
    assert store.pipe.fetched == 0
    store.apply(Update(1, 2))
    assert store.pipe.fetched == 2
    store.flush()
    assert store.pipe.fetched == 3


def test_a_failed_update_is_raised_before_the_next_and_the_pipe_is_drained(proxy):
    store = proxy(("StoreFullError", "the disk is full"), None)
    store.apply(Update(0, 1))
    store.report(1, "")
    with pytest.raises(StoreFullError, match="the disk is full"):
        store.apply(Update(1, 2))
    assert [what for what, _ in store.pipe.sent] == ["apply", "status"]
    assert store.pipe.fetched == 2
    store.apply(Update(0, 1))


def test_an_update_that_completes_a_checkpoint_is_waited_for(proxy):
    store = proxy()
    store.apply(Update(0, 1, checkpoint_parts=[("part 000000", 1, b"abc")]))
    assert store.pipe.fetched == 0
    store.apply(Update(1, 2, checkpoint_parts=[("events", 1, b"")]))
    assert store.pipe.fetched == 2
