"""The state of a stream is kept in parts, and counts when it is whole."""

import time

import pytest

pytest.importorskip("fastapi")

from isogloss.events import EventStream
from isogloss.events.checkpoint import restore_stream, save_stream
from isogloss.events.ingest import sample_news
from isogloss.service.worker import Follower, StreamMaker
from isogloss.service.worker import _checkpoints as keeping
from isogloss.service.worker._checkpoints import Keeping, SavingApart, can_save_apart
from isogloss.store import Store, Update
from tests.service import data

NEWS = sample_news().articles[:130]
apart = pytest.mark.skipif(not can_save_apart(), reason="this system does not fork processes safely")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "PART", 10_000)
    with Store(tmp_path / "news.db") as store:
        store.add(data.ARTICLES)
        yield store


@pytest.fixture
def follower(store):
    follower = Follower(store, StreamMaker())
    follower.catch_up()
    yield follower
    follower.stream.close()


def written(store, keeping, line):
    """Write steps until there are none; how many there were."""
    steps = 0
    while (step := keeping.step()) or keeping.busy:
        if step:
            steps += 1
            store.apply(Update(line, line, **step))
            keeping.done(step)
        else:
            time.sleep(0.01)
    return steps


def test_a_state_counts_when_its_last_part_is_there(store, follower):
    line, state, keeps = follower.position, save_stream(follower.stream), Keeping(store)
    before = store.latest_checkpoint()
    keeps.begin(follower.stream, line)
    while not (step := keeps.step()):
        time.sleep(0.01)
    store.apply(Update(line, line, **step))
    assert store.latest_checkpoint() == before
    assert written(store, keeps, line) > 2
    assert store.latest_checkpoint() == (line, state)
    assert keeps.saved == line


def test_parts_of_old_states_are_taken_out(store, follower):
    keeps, line = Keeping(store), follower.position
    for number in range(3):
        keeps.begin(follower.stream, number + 1)
        written(store, keeps, line)
    with store.database.read() as session:
        kept = {seq for (seq,) in session.run("SELECT seq FROM snapshot")}
    assert kept == {2, 3}
    assert store.latest_checkpoint() == (3, save_stream(follower.stream))


def test_a_worker_keeps_its_state_and_goes_on_from_it(store):
    first = Follower(store, StreamMaker(), snapshot_every=1)
    first.catch_up()
    while first.keeping.busy or not first.keeping.saved:
        first._write(first.position)
    state = save_stream(first.stream)
    first.keeping.close()
    first.stream.close()
    second = Follower(store, StreamMaker())
    assert 0 < second.saved <= first.position
    assert save_stream(second.stream) == state
    second.stream.close()


def test_a_state_that_is_kept_at_once_is_in_parts_too_and_takes_out_older_ones(store, follower):
    keeps, line = Keeping(store), follower.position
    for _ in range(3):
        keeps.keep_now(follower.stream, line)
        assert keeps.saved == line
        store.apply(Update(line, line + 1))
        line += 1
    with store.database.read() as session:
        parts = session.run("SELECT seq, count(*), max(length(data)) FROM snapshot GROUP BY seq ORDER BY seq")
    assert [seq for seq, _, _ in parts] == [line - 2, line - 1]
    assert all(n > 2 and longest == 10_000 for _, n, longest in parts)
    assert store.latest_checkpoint() == (line - 1, save_stream(follower.stream))


def test_what_was_left_of_older_states_is_taken_out_after_a_start(store, follower):
    line = follower.position
    left = [("part 000000", number, b"x") for number in (1, 2)]
    whole = [("events", number, b"state") for number in (3, 4)]
    store.apply(Update(line, line, checkpoint_parts=[*left, *whole]))
    assert written(store, Keeping(store), line) == 2
    with store.database.read() as session:
        assert sorted(session.run("SELECT seq FROM snapshot")) == [(3,), (4,)]


def test_a_state_that_is_kept_at_once_takes_the_place_of_one_on_its_way(store, follower):
    keeps, line = Keeping(store), follower.position
    keeps.begin(follower.stream, line - 1)
    while not (step := keeps.step()):
        time.sleep(0.01)
    store.apply(Update(line, line, **step))
    keeps.keep_now(follower.stream, line)
    assert not keeps.busy
    assert store.latest_checkpoint() == (line, save_stream(follower.stream))
    with store.database.read() as session:
        assert session.run("SELECT DISTINCT seq FROM snapshot") == [(line,)]


@apart
def test_a_stream_goes_on_while_it_is_saved():
    stream, saving_ = EventStream(), SavingApart()
    stream.add(NEWS[:60])
    before = save_stream(stream)
    saving_.begin(stream)
    stream.add(NEWS[60:])
    with saving_.wait() as saved:
        assert saved.read() == before
    assert save_stream(stream) != before
    assert not saving_.busy
    assert saving_.take() is None


@apart
def test_one_state_at_a_time():
    saving_ = SavingApart()
    saving_.begin(EventStream())
    with pytest.raises(RuntimeError, match="is being saved"):
        saving_.begin(EventStream())
    saving_.close()
    saving_.begin(EventStream())
    with saving_.wait() as saved:
        assert restore_stream(saved.read()).count == 0


@apart
def test_a_state_that_cannot_be_saved_is_told(monkeypatch, caplog):
    monkeypatch.setattr(keeping, "save_stream", lambda stream: 1 / 0)
    saving_ = SavingApart()
    saving_.begin(EventStream())
    assert saving_.wait() is None
    assert "ended with status" in caplog.text
    assert not saving_.busy


@apart
def test_a_copy_that_does_not_end_is_given_up(monkeypatch, caplog):
    monkeypatch.setattr(keeping, "save_stream", lambda stream: keeping.time.sleep(3600))
    saving_ = SavingApart(longest=0.05)
    saving_.begin(EventStream())
    assert saving_.wait() is None
    assert "given up" in caplog.text
