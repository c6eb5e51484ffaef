"""RELIABILITY 32: a record that fails twice is quarantined with its reason, and the stream goes on."""

import json
import multiprocessing
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.events.cluster import _clustering as clustering
from isogloss.events.ingest import sample_news
from isogloss.exceptions import StoreError
from isogloss.service.worker import (
    JournalProcessor,
    StreamFactory,
    WorkerProcess,
    _journal_processor,
    rebuild,
    rebuild_in_process,
)
from isogloss.service.worker._watchdog import Heartbeat, Watchdog, kill_group
from isogloss.store import Store
from isogloss.store.queries import WORKER_STOPPED
from isogloss.store.queries._attempts import MAX_FAILURES_WITH_STOP
from tests.growing import grow
from tests.service.poison import WORD, PoisonedFactory, StartedFactory
from tests.service.test_worker import tables, without_lines
from tests.waiting import LIMIT_S, wait_until

GOOD = sample_news().articles[:40]
BAD = replace(GOOD[3], id="poison", url="", title=f"{WORD} blooms in the valley", body="It is poisonous.")
NEWS = [*GOOD[:20], BAD, *GOOD[20:]]
LINE = 21
"""Of the poisonous article in the journal."""

RECORD_SECONDS = 0.5
"""CPU time that a record may take; a harmless one takes some milliseconds."""


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


def process_all(store):
    processor = JournalProcessor(store, PoisonedFactory())
    processor.catch_up()
    processor.close()


def members(store):
    with store.database.read() as session:
        return session.run("SELECT count(*) FROM member")[0][0]


def check_aftermath(store, reason):
    """All other articles are in events, a replay gives the same, and a retry without the bug takes it in."""
    assert members(store) == len(GOOD)
    (found,) = store.quarantined_articles()
    assert (found["line"], found["reason"], found["failures"]) == (LINE, reason, 2)
    assert found["title"] == BAD.title
    before = without_lines(tables(store))
    store.request_rebuild()
    JournalProcessor(store, PoisonedFactory()).close()
    assert without_lines(tables(store)) == before
    assert store.retry_quarantined() == [LINE]
    processor = JournalProcessor(store, PoisonedFactory())
    processor.catch_up()
    processor.close()
    assert members(store) == len(NEWS)
    assert store.quarantined_articles() == []
    before = without_lines(tables(store))
    store.request_rebuild()
    JournalProcessor(store, PoisonedFactory()).close()
    assert without_lines(tables(store)) == before


@pytest.mark.usefixtures("warm_processes")
@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        pytest.param("hang", "too slow", marks=pytest.mark.slow),
        pytest.param("die", "process died", marks=pytest.mark.slow),
        ("allocate", "out of memory"),
    ],
)
def test_a_record_that_crashes_the_worker_is_quarantined(store, harm, reason):
    store.add(NEWS)
    worker = WorkerProcess(
        store,
        PoisonedFactory(harm=harm),
        poll_seconds=0.01,
        stop_seconds=LIMIT_S,
        record_seconds=RECORD_SECONDS if harm == "hang" else LIMIT_S,
        max_memory_mb=1_500,
    )
    worker.start()
    try:
        wait_until(lambda: members(store) == len(GOOD), pause=0.2)
        wait_until(lambda: worker.status()["error"] == "", pause=0.2)
    finally:
        worker.stop()
    check_aftermath(store, reason)


@pytest.mark.usefixtures("warm_processes")
@pytest.mark.parametrize(
    ("harm", "reason"), [("hang", "too slow"), pytest.param("die", "process died", marks=pytest.mark.slow)]
)
def test_a_record_that_crashes_a_rebuild_is_quarantined(store, harm, reason):
    store.add(NEWS)
    process_all(store)
    store.request_rebuild()
    worker = WorkerProcess(
        store,
        PoisonedFactory(harm=harm),
        poll_seconds=0.01,
        stop_seconds=LIMIT_S,
        record_seconds=RECORD_SECONDS,
    )
    worker.start()
    try:
        wait_until(lambda: not store.rebuild_requested(), pause=0.2)
    finally:
        worker.stop()
    check_aftermath(store, reason)


@pytest.mark.usefixtures("warm_processes")
def test_doctor_rebuilds_events_without_a_record_that_hangs(tmp_path, monkeypatch):
    place = str(tmp_path / "news.db")
    with Store(place) as store:
        store.add(NEWS)
        process_all(store)
    monkeypatch.setattr(
        "isogloss.cli.store._make_events.stream_factory", lambda *_: PoisonedFactory(harm="hang")
    )
    monkeypatch.setenv("ISOGLOSS_WORKER__RECORD_SECONDS", str(RECORD_SECONDS))
    shown = CliRunner().invoke(app, ["doctor", "--rebuild", "--store", place]).output
    assert "1 article in quarantine" in shown
    assert "no problems found" in shown
    with Store(place) as store:
        check_aftermath(store, "too slow")


@pytest.mark.usefixtures("warm_processes")
def test_a_rebuild_whose_process_always_dies_is_abandoned(store):
    """A command would try again forever; the present events stay in use."""
    store.add(NEWS)
    process_all(store)
    before = tables(store)
    store.request_rebuild()
    with pytest.raises(StoreError, match="died twice, whatever the article"):
        rebuild_in_process(store, end_process, record_seconds=LIMIT_S, max_memory_mb=0)
    assert tables(store) == before


def end_process(_):
    """Exit from the process that creates a stream."""
    os._exit(3)


def test_a_failure_after_a_change_starts_a_rebuild_over(store, monkeypatch):
    transition = clustering.transition

    def failing(state, article, *observed):
        decision = transition(state, article, *observed)
        if WORD in article.title:
            raise ZeroDivisionError("a bug in the fold")
        return decision

    store.add(NEWS)
    process_all(store)
    store.request_rebuild()
    with monkeypatch.context() as patched:
        patched.setattr("isogloss.events.stream.transition", failing)
        assert rebuild(store, PoisonedFactory())
    check_aftermath(store, "raised an error")


def test_a_line_of_a_finished_worker_does_not_fail_in_a_rebuild(store):
    store.add(NEWS)
    JournalProcessor(store, PoisonedFactory()).process()
    store.record_line_start(LINE)
    store.request_rebuild()
    assert store.crash_marker() == (True, 0)
    assert rebuild(store, PoisonedFactory())
    assert (store.failed_lines(), store.crash_marker()) == ({}, (False, 0))


def test_a_record_that_raises_is_quarantined(store, caplog):
    store.add(NEWS)
    processor = JournalProcessor(store, PoisonedFactory(harm="raise"))
    processor.catch_up()
    processor.close()
    assert "ZeroDivisionError: what nobody thought of" in store.quarantined_articles()[0]["said"]
    assert caplog.text.count("line 21 of the journal failed") == 2
    check_aftermath(store, "raised an error")


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug in the fold"), MemoryError()])
def test_a_failure_after_a_change_restores_the_stream(store, monkeypatch, error):
    transition = clustering.transition

    def failing(state, article, *observed):
        decision = transition(state, article, *observed)
        if WORD in article.title:
            raise error
        return decision

    store.add(NEWS)
    with monkeypatch.context() as patched:
        patched.setattr("isogloss.events.stream.transition", failing)
        processor = JournalProcessor(store, PoisonedFactory(), checkpoint_every=5)
        processor.catch_up()
        processor.close()
    check_aftermath(store, "out of memory" if isinstance(error, MemoryError) else "raised an error")


def test_a_record_that_fails_once_is_processed_and_its_failure_deleted(store, monkeypatch):
    failures = [MemoryError()]

    def annotate(self, article):
        if WORD in article.title and failures:
            raise failures.pop()
        return real(self, article)

    real = PoisonedFactory()(None).annotator.__class__.annotate
    monkeypatch.setattr("tests.service.poison.PoisonedAnnotator.annotate", annotate)
    store.add(NEWS)
    JournalProcessor(store, PoisonedFactory()).catch_up()
    assert (failures, members(store), store.failed_lines()) == ([], len(NEWS), {})


@pytest.mark.parametrize("where", ["pool", pytest.param("dask", marks=[pytest.mark.dask, pytest.mark.slow])])
def test_a_dead_analysis_process_costs_only_its_article(store, monkeypatch, request, where):
    monkeypatch.setattr("isogloss.events.analyse._analyser._MIN_POOL_ARTICLES", 1)
    monkeypatch.setattr("isogloss.events.analyse._analyser._BATCH_ARTICLES", 8)
    store.add(NEWS)
    if where == "dask":
        address = request.getfixturevalue("dask_client").scheduler.address
        factory = StartedFactory(harm="die", scheduler=address)
    else:
        factory = StartedFactory(harm="die", n_jobs=2)
    processor = JournalProcessor(store, factory)
    processor.catch_up()
    processor.close()
    check_aftermath(store, "process died")


def test_after_a_crash_lines_are_processed_one_at_a_time(store, monkeypatch):
    store.add(NEWS)
    begun = []
    monkeypatch.setattr(Store, "record_line_start", lambda self, line: begun.append(line))
    processor = JournalProcessor(store, PoisonedFactory())
    processor.process()
    assert begun == []
    store.add([replace(GOOD[0], id="later", url="", title="Something else happens", body="")])
    JournalProcessor(store, PoisonedFactory()).process()
    assert begun == [len(NEWS) + 1]
    processor = JournalProcessor(store, PoisonedFactory())
    processor.close()
    assert store.crash_marker() == (False, 0)


def test_a_stop_of_the_whole_service_counts_against_a_line_only_from_the_third_time(store):
    store.add(NEWS)
    JournalProcessor(store, PoisonedFactory()).process(20)
    for n in range(1, MAX_FAILURES_WITH_STOP + 1):
        assert store.quarantined_lines(0, 99) == set()
        store.record_line_start(LINE)
        JournalProcessor(store, PoisonedFactory())
        with store.database.read() as session:
            assert session.run("SELECT failures, reason FROM attempt") == [(n, WORKER_STOPPED)]
    assert store.quarantined_lines(0, 99) == {LINE}
    JournalProcessor(store, PoisonedFactory()).catch_up()
    assert members(store) == len(GOOD)


def test_a_store_error_is_not_counted_against_a_line(store):
    store.add(NEWS)
    JournalProcessor(store, PoisonedFactory()).process(20)
    store.record_line_start(LINE)
    JournalProcessor(store, PoisonedFactory(), restarted=True)
    assert store.failed_lines() == {}


def test_a_processed_line_is_never_quarantined(store):
    store.add(NEWS)
    JournalProcessor(store, PoisonedFactory()).process()
    with pytest.raises(StoreError, match=r"line 21 .* doctor --rebuild"):
        JournalProcessor(store, PoisonedFactory(harm="raise"))
    assert store.quarantined_lines(0, 99) == set()


def test_doctor_lists_and_retries_quarantined_lines(tmp_path):
    place = str(tmp_path / "news.db")
    with Store(place) as store:
        store.add(NEWS)
        processor = JournalProcessor(store, PoisonedFactory(harm="raise"))
        processor.catch_up()
        processor.close()
    run = CliRunner().invoke
    shown = run(app, ["doctor", "--store", place]).output
    assert "1 article in quarantine" in shown
    assert f"line {LINE}" in shown
    assert BAD.title in shown
    told = json.loads(run(app, ["doctor", "--store", place, "--json"]).output)
    assert told["quarantined"][0]["reason"] == "raised an error"
    refused = run(app, ["doctor", "--store", place, "--retry-quarantined", "7"])
    assert (refused.exit_code, "line 7" in str(refused.exception)) == (1, True)
    again = run(app, ["doctor", "--store", place, "--retry-quarantined", str(LINE)]).output
    assert "1 article in quarantine will be retried" in again
    with Store(place) as store:
        JournalProcessor(store, PoisonedFactory()).catch_up()
        assert members(store) == len(NEWS)
    assert "in quarantine" not in run(app, ["doctor", "--store", place]).output


def test_the_watchdog_detects_excess_memory():
    process = multiprocessing.get_context("spawn").Process(target=grow)
    process.start()
    try:
        watchdog = Watchdog(process, Heartbeat(), record_seconds=0.01, max_bytes=200 << 20)
        reason, said = wait_until(watchdog.check)
        assert (reason, "worker.max_memory_mb allows 200" in said) == ("out of memory", True)
    finally:
        kill_group(process)


def test_a_waiting_worker_is_never_too_slow(monkeypatch):
    now = [0.0]
    # Its name there, not the function of the module: other threads of this process wait by that clock.
    monkeypatch.setattr("isogloss.service.worker._watchdog.time", SimpleNamespace(monotonic=lambda: now[0]))
    process, heartbeat = multiprocessing.current_process(), Heartbeat(shared=False)
    watchdog = Watchdog(process, heartbeat, record_seconds=1e9, max_bytes=1 << 60)
    watchdog.record_seconds = 5.0
    for _ in range(3):
        now[0] += 1000.0
        assert watchdog.check() is None
    heartbeat.busy = True
    for _ in range(3):
        heartbeat.beat()
        now[0] += 1000.0
        assert watchdog.check() is None
    now[0] += 49.0
    assert watchdog.check() is None
    now[0] += 2.0
    assert watchdog.check()[0] == "too slow"


def test_careful_lines_cover_two_batches():
    assert _journal_processor.CAREFUL_LINES >= 2 * _journal_processor.BATCH_LINES
    assert StreamFactory()(None).current == ""
