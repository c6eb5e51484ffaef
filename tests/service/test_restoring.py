"""RELIABILITY 34: damaged states and missing journal lines never give ids to other stories."""

import shutil

import pytest

from isogloss.events.checkpoint import save_stream
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ReplayError
from isogloss.service.settings import StreamSettings
from isogloss.service.worker import JournalProcessor, StreamFactory
from isogloss.service.worker._worker_process import run_worker
from isogloss.store import Store, check_store, prune_before
from isogloss.store.queries import LAST_CLUSTER_ID, LAST_EVENT_ID

from .test_worker import tables, without_lines

ARTICLES = sample_news().articles[:160]
SAVED = 60, 110
"""Lines after which the state of ``followed`` is saved."""
LATER = 130
"""Articles from here on come when the others are followed, in ``begun``."""


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    """Stores that a worker followed once, to be copied."""
    folder = tmp_path_factory.mktemp("templates")
    for name, articles, save_at in (("followed", ARTICLES, SAVED), ("begun", ARTICLES[:LATER], [LATER])):
        with Store(folder / name) as store:
            store.add(articles)
            follow(store, save_at=save_at)
    return folder


def copied(template, tmp_path):
    with Store(shutil.copy(template, tmp_path / "news.db")) as store:
        yield store


@pytest.fixture
def followed(templates, tmp_path):
    """A store with all articles, events made of them, and two states."""
    yield from copied(templates / "followed", tmp_path)


@pytest.fixture
def begun(templates, tmp_path):
    """A store with the first articles, events made of them, and the state at their end."""
    yield from copied(templates / "begun", tmp_path)


def follow(store, *, save_at=()):
    """Follow the journal to its end, and save the state after some lines."""
    processor = JournalProcessor(store, StreamFactory())
    try:
        for line in save_at:
            processor.process(line - processor.position)
            processor.save_checkpoint()
        processor.catch_up()
    finally:
        processor.stream.close()
    return processor


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("whole") / "news.db") as store:
        store.add(ARTICLES)
        follow(store)
        yield tables(store)


def damage(store, line, byte=1000):
    """Turn one bit of a saved state."""
    with store.database.write() as session:
        ((name, data),) = session.run(
            "SELECT name, data FROM snapshot WHERE seq = ? AND name <> 'events' ORDER BY name LIMIT 1", [line]
        )
        bad = bytearray(data)
        bad[byte % len(bad)] ^= 4
        session.run("UPDATE snapshot SET data = ? WHERE seq = ? AND name = ?", [bytes(bad), line, name])


def lose(store, first, last):
    """Lose lines of the journal, with their articles in place."""
    with store.database.write() as session:
        session.run("DELETE FROM journal WHERE seq >= ? AND seq <= ?", [first, last])


def test_a_checkpoint_header_has_format_line_and_digest(store):
    store.add(ARTICLES[:60])
    processor = follow(store, save_at=[50])
    state = store.checkpoint(50)
    assert (state.line, state.lines) == (50, 50)
    assert store.checkpoint_lines() == [50]
    assert store.position(LAST_CLUSTER_ID) == processor.stream.clusters.last_id
    assert store.position(LAST_EVENT_ID) == processor.stream.tracker.ids.last


@pytest.mark.parametrize("byte", [0, 60, 20_000, -1])
def test_an_older_checkpoint_is_used_when_the_newest_is_damaged(followed, whole, byte, caplog):
    damage(followed, SAVED[1], byte)
    again = JournalProcessor(followed, StreamFactory())
    assert again.checkpoint_line == SAVED[0]
    again.stream.close()
    assert f"the checkpoint of line {SAVED[1]} is damaged" in caplog.text
    assert f"the checkpoint of line {SAVED[1]} is damaged" in check_store(followed)[0]
    follow(followed)
    assert without_lines(tables(followed)) == without_lines(whole)


def test_without_a_checkpoint_the_whole_journal_is_replayed(followed, whole):
    for line in SAVED:
        damage(followed, line)
    again = follow(followed)
    assert again.checkpoint_line == 0
    assert without_lines(tables(followed)) == without_lines(whole)


@pytest.mark.parametrize("damaged", [(), SAVED[1:], SAVED])
def test_a_worker_stops_where_lines_are_missing_and_suggests_a_rebuild(followed, damaged):
    before = tables(followed)
    lose(followed, *((1, 40) if len(damaged) == 2 else (80, 90) if damaged else (140, 141)))
    for line in damaged:
        damage(followed, line)
    with pytest.raises(ReplayError, match="isogloss doctor --rebuild") as error:
        JournalProcessor(followed, StreamFactory())
    assert "lines and has" in str(error.value)
    assert tables(followed) == before
    followed.request_rebuild()
    follow(followed)
    (trouble,) = check_store(followed)
    assert trouble.endswith("articles without a journal line")


def test_a_pruned_journal_and_a_damaged_checkpoint_stop_the_worker(followed):
    follow(followed, save_at=[len(ARTICLES)])
    assert prune_before(followed, ARTICLES[40].time) > 10
    before = tables(followed)
    follow(followed)
    for line in followed.checkpoint_lines():
        damage(followed, line)
    said = []
    run_worker(
        followed,
        StreamFactory(),
        checkpoint_every=1000,
        poll_seconds=0.0,
        wait=lambda _: len(said) > 2,
        report=lambda *told: said.append(told),
    )
    assert {told[0] for told in said} == {0}
    assert all("isogloss doctor --rebuild" in told[1] for told in said)
    assert tables(followed) == before


def test_changed_settings_cannot_continue_the_tables(store):
    store.add(ARTICLES[:20])
    follow(store)
    other = StreamFactory(StreamSettings(threshold=0.99, window_days=1))
    with pytest.raises(ReplayError, match="the settings, the model or the version"):
        JournalProcessor(store, other)


def test_a_rebuild_of_the_whole_journal_changes_nothing(followed, whole):
    for _ in range(2):
        followed.request_rebuild()
        follow(followed)
        assert without_lines(tables(followed)) == without_lines(whole)
        assert check_store(followed) == []
    (line,) = followed.checkpoint_lines()
    assert followed.checkpoint(line).lines == followed.position("lines")


def test_ids_survive_a_rebuild_after_pruning_and_are_never_reused(begun):
    assert prune_before(begun, ARTICLES[40].time) > 10
    stories = assignment(begun)
    last = begun.position(LAST_CLUSTER_ID), begun.position(LAST_EVENT_ID)
    begun.request_rebuild()
    follow(begun)
    assert check_store(begun) == []
    assert same_share(stories, assignment(begun)) > 0.9
    begun.add(ARTICLES[LATER:])
    follow(begun)
    with begun.database.read() as session:
        clusters = {int(row[0]) for row in session.run("SELECT id FROM cluster")}
        events = {int(row[0][1:]) for row in session.run("SELECT id FROM event")}
    known = {cluster for cluster, _ in stories.values()}, {int(event[1:]) for _, event in stories.values()}
    assert all(each in known[0] or each > last[0] for each in clusters)
    assert all(each in known[1] or each > last[1] for each in events)
    assert len(clusters - known[0]) > 5
    assert check_store(begun) == []


def test_verdicts_are_about_the_same_stories_after_a_rebuild(begun):
    with begun.database.read() as session:
        pairs = session.run("SELECT a, b FROM link ORDER BY probability DESC, a, b LIMIT 24")
    titles = {}
    for a, b in pairs:
        _, *articles = begun.add_verdict(a, b, same=True, note="")
        titles[a, b] = [begun.articles([number])[number].title for number in articles]
    prune_before(begun, ARTICLES[40].time)
    begun.request_rebuild()
    follow(begun)
    now, left = assignment(begun), 0
    with begun.database.read() as session:
        verdicts = session.run("SELECT a, b, article_a, article_b FROM verdict")
    for a, b, one, other in verdicts:
        known = begun.articles([one, other])
        if len(known) == 2:  # the story was not pruned
            left += 1
            assert [known[one].title, known[other].title] == titles[a, b]
            assert (now[one][0], now[other][0]) == (a, b)
    assert left > 3


def test_a_worker_continues_after_a_rebuild(begun):
    prune_before(begun, ARTICLES[40].time)
    begun.request_rebuild()
    follow(begun)
    begun.add(ARTICLES[LATER:])
    first = follow(begun)
    second = JournalProcessor(begun, StreamFactory())
    assert save_stream(second.stream) == save_stream(first.stream)
    second.stream.close()


def test_aliases_of_merged_events_survive_a_rebuild(followed):
    with followed.database.write() as session:  # two events of before are one now
        (one,), (other,) = session.run("SELECT id FROM event ORDER BY size DESC, id LIMIT 2")
        ((most,),) = session.run(
            "SELECT id FROM cluster WHERE event = ? ORDER BY size DESC, id LIMIT 1", [other]
        )
        session.run("UPDATE cluster SET event = 'e9999' WHERE event = ? AND id <> ?", [other, most])
        session.run(
            "INSERT INTO event SELECT 'e9999', first, last, size, 1, changed, data, 0, 0, changed "
            "FROM event WHERE id = ?",
            [other],
        )
        session.run("INSERT INTO alias VALUES ('e8888', 'e9999')")
    followed.request_rebuild()
    follow(followed)
    kept = followed.event(other)["id"]
    assert {followed.event(name)["id"] for name in ("e9999", "e8888")} == {kept}
    assert followed.event(one)["id"] == one


def test_an_abandoned_rebuild_changes_nothing(followed, whole):
    from isogloss.service.worker import rebuild

    before = tables(followed)
    followed.request_rebuild()
    asked = []
    assert not rebuild(followed, StreamFactory(), should_continue=lambda: asked.append(1))
    assert tables(followed) == before
    assert followed.rebuild_requested()
    follow(followed)
    assert without_lines(tables(followed)) == without_lines(whole)


def test_doctor_finds_articles_in_clusters_of_other_languages_and_wrong_sizes(followed):
    assert check_store(followed) == []
    with followed.database.write() as session:
        ((one, lang),) = session.run("SELECT id, lang FROM cluster ORDER BY id LIMIT 1")
        ((other,),) = session.run("SELECT id FROM cluster WHERE lang <> ? ORDER BY id LIMIT 1", [lang])
        session.run("UPDATE member SET cluster = ? WHERE cluster = ?", [other, one])
    troubles = " ".join(check_store(followed))
    assert "in a cluster of another language" in troubles
    assert "clusters whose size differs from the number of their articles" in troubles


def assignment(store):
    """The cluster and the event of every article."""
    with store.database.read() as session:
        rows = session.run("SELECT m.article, c.id, c.event FROM member m JOIN cluster c ON c.id = m.cluster")
    return {article: (cluster, event) for article, cluster, event in rows}


def same_share(before, after):
    """Of the articles that are left, the share with the cluster and event that they had."""
    left = before.keys() & after.keys()
    return sum(before[each] == after[each] for each in left) / len(left)
