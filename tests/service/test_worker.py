"""The worker: the read model follows the journal, and continues after a restart."""

import pytest

from isogloss.events import EventStream
from isogloss.events.annotate import Annotator
from isogloss.events.ingest import sample_news
from isogloss.exceptions import StoreError
from isogloss.service.worker import JournalProcessor, StreamFactory, _journal_processor
from isogloss.service.worker._worker_process import run_worker
from isogloss.store import Store, Update, check_store

ARTICLES = sample_news().articles[:90]


def tables(store):
    with store.database.read() as session:
        return [
            session.run(f"SELECT * FROM {table} ORDER BY {order}")
            for table, order in (
                ("cluster", "id"),
                ("member", "article"),
                ("link", "a, b"),
                ("event", "id"),
                ("event_term", "event, kind, term"),
                ("alias", "id"),
            )
        ]


def without_lines(rows):
    """Tables without the lines of the journal at which an event was new and at which it changed."""
    return [*rows[:3], [row[:5] + row[6:-1] for row in rows[3]], *rows[4:]]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("whole") / "news.db") as store:
        store.add(ARTICLES)
        JournalProcessor(store, StreamFactory()).catch_up()
        yield tables(store)


def test_every_article_is_in_a_cluster_of_an_event(store):
    store.add(ARTICLES)
    assert JournalProcessor(store, StreamFactory()).catch_up() == len(ARTICLES)
    with store.database.read() as session:
        assert session.run("SELECT count(*) FROM member") == [(len(ARTICLES),)]
        assert session.run("SELECT count(*) FROM cluster WHERE event NOT IN (SELECT id FROM event)") == [(0,)]
    assert check_store(store) == []
    event = max(store.events().events, key=lambda event: event["languages_count"])
    told = store.event(event["id"])
    assert sum(told["languages"].values()) == told["size"]
    assert {cluster["lang"] for cluster in told["clusters"]} == set(told["languages"])
    assert told["links"][0]["features"]["linkCount"] >= 0
    assert set(told["links"][0]["contributions"]) > {"textCosSim", "(constant)"}
    numbers = {number for cluster in told["clusters"] for number in cluster["articles"]}
    assert {number for one, other, _ in told["links"][0]["pairs"] for number in (one, other)} <= numbers


def test_tables_do_not_depend_on_when_they_are_written(store, whole):
    store.add(ARTICLES)
    processor = JournalProcessor(store, StreamFactory())
    while processor.process(11):
        pass
    processor.store.record_update()
    processor.process()
    assert without_lines(tables(store)) == without_lines(whole)


@pytest.mark.parametrize("every", [1, 1000])
def test_a_restarted_worker_continues(store, whole, every):
    store.add(ARTICLES[:50])
    JournalProcessor(store, StreamFactory(), checkpoint_every=every).process(37)
    store.add(ARTICLES[50:])
    JournalProcessor(store, StreamFactory(), checkpoint_every=every).process(40)
    JournalProcessor(store, StreamFactory(), checkpoint_every=every).catch_up()
    assert without_lines(tables(store)) == without_lines(whole)


def test_a_damaged_checkpoint_is_ignored(store, whole, caplog):
    store.add(ARTICLES)
    first = JournalProcessor(store, StreamFactory())
    first.process(60)
    first.save_checkpoint()
    with store.database.write() as session:
        session.run("UPDATE snapshot SET data = ?", [b"junk"])
    JournalProcessor(store, StreamFactory()).catch_up()
    assert "the journal from its beginning" in caplog.text
    assert without_lines(tables(store)) == without_lines(whole)


def test_the_heap_is_trimmed_at_intervals(store, monkeypatch):
    given = []
    monkeypatch.setattr(_journal_processor, "trim_heap", lambda: given.append(1))
    monkeypatch.setattr(_journal_processor, "TRIM_HEAP_LINES", 32)
    store.add(ARTICLES[:80])
    processor = JournalProcessor(store, StreamFactory())
    for _ in range(8):
        processor.process(10)
    assert len(given) == 2


def test_an_article_that_cannot_be_annotated_is_skipped(store, monkeypatch):
    annotate = Annotator.annotate
    monkeypatch.setattr(
        Annotator,
        "annotate",
        lambda self, one: 1 / 0 if one.title == ARTICLES[7].title else annotate(self, one),
    )
    store.add(ARTICLES)
    first = JournalProcessor(store, StreamFactory())
    first.process(60)
    first.save_checkpoint()
    JournalProcessor(store, StreamFactory()).catch_up()
    with store.database.read() as session:
        assert session.run("SELECT count(*) FROM member") == [(len(ARTICLES) - 1,)]
    assert [found["line"] for found in store.quarantined_articles()] == [8]


def test_a_rebuild_gives_the_same_tables(store, whole):
    store.add(ARTICLES)
    JournalProcessor(store, StreamFactory()).catch_up()
    store.request_rebuild()
    JournalProcessor(store, StreamFactory()).process()
    assert without_lines(tables(store)) == without_lines(whole)


def test_a_worker_that_failed_leaves_no_process_behind(store, monkeypatch):
    closed, told = [], []
    monkeypatch.setattr(EventStream, "close", lambda stream: closed.append(stream))
    monkeypatch.setattr(
        JournalProcessor, "process", lambda *_: (_ for _ in ()).throw(StoreError("the cable is out"))
    )
    run_worker(
        store,
        StreamFactory(),
        checkpoint_every=1,
        poll_seconds=0.0,
        wait=lambda _: bool(told),
        report=lambda *said: told.append(said),
    )
    assert (told, len(closed)) == ([(0, "the cable is out")], 1)


def test_a_revision_moves_nothing(store):
    store.add(ARTICLES[:20])
    JournalProcessor(store, StreamFactory()).catch_up()
    before = tables(store)
    from dataclasses import replace

    store.add([replace(ARTICLES[0], body="Something else entirely.")])
    JournalProcessor(store, StreamFactory()).catch_up()
    assert without_lines(tables(store)) == without_lines(before)


def test_the_update_of_a_second_worker_is_refused(store):
    store.add(ARTICLES[:20])
    first, second = (JournalProcessor(store, StreamFactory()) for _ in range(2))
    first.catch_up()
    with pytest.raises(Exception, match="another worker has written to them"):
        second.store.apply(Update(0, 5))
