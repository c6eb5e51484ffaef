"""A deleted article leaves no trace in events and states, and the journal still leads to the same tables."""

import shutil
from dataclasses import replace

import pytest

from isogloss.events.checkpoint import restore_stream
from isogloss.events.ingest import sample_news
from isogloss.service.worker import JournalProcessor, StreamFactory, WorkerProcess
from isogloss.service.worker._worker_process import run_worker
from isogloss.store import Store, check_store, delete_articles
from tests.waiting import LIMIT_S, wait_until

from .test_restoring import assignment, follow
from .test_worker import tables, without_lines

MARKER = "Zanzibarquux"
ARTICLES = sample_news().articles[:120]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A store whose worker followed an article with the marker."""
    place = tmp_path_factory.mktemp("template") / "news.db"
    with Store(place) as store:
        marked = replace(
            ARTICLES[70], title=f"{MARKER} {ARTICLES[70].title}", body=f"{MARKER}. {ARTICLES[70].body}"
        )
        store.add([*ARTICLES[:70], marked, *ARTICLES[71:110]])
        follow(store, save_at=[90])
    return place


@pytest.fixture
def store(template, tmp_path):
    with Store(shutil.copy(template, tmp_path / "news.db")) as store:
        yield store


def all_bytes(store):
    """The files of a store, and what its states hold."""
    place = store.database.path
    files = [file.read_bytes() for file in place.parent.iterdir() if file.name.startswith(place.name)]
    states = [restore_stream(store.checkpoint(line).data) for line in store.checkpoint_lines()]
    texts = [
        f"{one.title} {one.sentence} {one.entities} {one.keywords}"
        for each in states
        for one in each.links.articles.values()
    ]
    return b"".join([*files, *(text.encode() for text in texts)])


def test_no_trace_is_left_and_a_replay_gives_the_tables(store, tmp_path):
    stories = assignment(store)
    assert MARKER.encode() in all_bytes(store)
    assert delete_articles(store, [71], who="desk") == [71]
    follow(store)
    store.database.compact()
    assert MARKER.lower().encode() not in all_bytes(store).lower()
    assert check_store(store) == []
    after = assignment(store)
    assert after.keys() == stories.keys() - {71}
    assert sum(after[each] == stories[each] for each in after) > 0.9 * len(after)
    store.add(ARTICLES[110:])
    follow(store)
    now = tables(store)
    store.request_rebuild()
    follow(store)
    assert without_lines(tables(store)) == without_lines(now)


def test_events_are_those_of_a_store_that_never_had_the_article(store, tmp_path):
    delete_articles(store, [71], who="desk")
    follow(store)
    with Store(tmp_path / "other.db") as other:
        other.add([*ARTICLES[:70], *ARTICLES[71:110]])
        follow(other)
        assert groups(store) == {
            frozenset(number + (number >= 71) for number in group) for group in groups(other)
        }


def test_a_worker_that_runs_notices_and_rebuilds_events(store):
    told = []

    def wait(_):
        if len(told) == 1:
            delete_articles(store, [71], who="desk")
        return len(told) > 6

    run_worker(
        store,
        StreamFactory(),
        checkpoint_every=1000,
        poll_seconds=0.0,
        wait=wait,
        report=lambda *said: told.append(said),
    )
    assert any("articles were deleted" in said for _, said in told)
    assert told[-1][1] == ""
    assert not store.rebuild_requested()
    assert 71 not in assignment(store)
    processor = JournalProcessor(store, StreamFactory())
    assert "71" not in processor.stream.links.articles
    processor.stream.close()


@pytest.mark.usefixtures("warm_processes")
def test_a_worker_in_its_own_process_rebuilds_events_once(store):
    worker = WorkerProcess(store, poll_seconds=0.01, stop_seconds=LIMIT_S)
    worker.start()
    try:
        wait_until(lambda: worker.status()["position"] >= 110)
        delete_articles(store, [71], who="desk")
        wait_until(lambda: not store.rebuild_requested())
        base = store.position("cluster_base")
        store.add(ARTICLES[110:])
        wait_until(lambda: len(assignment(store)) == len(ARTICLES) - 1)
    finally:
        worker.stop()
    assert store.position("cluster_base") == base
    assert check_store(store) == []


def groups(store):
    """Articles of every event."""
    found = {}
    for article, (_, event) in assignment(store).items():
        found.setdefault(event, set()).add(article)
    return {frozenset(each) for each in found.values()}
