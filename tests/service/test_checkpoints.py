"""Checkpoints are written in parts, and count when they are complete."""

import time

import pytest

pytest.importorskip("fastapi")

from isogloss.events import EventStream
from isogloss.events.checkpoint import restore_stream, save_stream
from isogloss.events.ingest import sample_news
from isogloss.service.worker import JournalProcessor, StreamFactory, _checkpoints
from isogloss.service.worker._checkpoints import CheckpointWriter, ForkedSave, can_fork
from isogloss.store import Store, Update
from tests.service import data

NEWS = sample_news().articles[:130]
needs_fork = pytest.mark.skipif(not can_fork(), reason="this platform does not fork safely")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(_checkpoints, "PART_BYTES", 10_000)
    with Store(tmp_path / "news.db") as store:
        store.add(data.ARTICLES)
        yield store


@pytest.fixture
def processor(store):
    processor = JournalProcessor(store, StreamFactory())
    processor.catch_up()
    yield processor
    processor.stream.close()


def write_all(store, writer, line):
    """Write all steps; return their number."""
    steps = 0
    while (step := writer.next_step()) or writer.busy:
        if step:
            steps += 1
            store.apply(Update(line, line, **step))
            writer.confirm(step)
        else:
            time.sleep(0.01)
    return steps


def wait_for(save):
    """Return the saved state as soon as it is there; None if it could not be saved."""
    while save.busy:
        if (file := save.take()) is not None:
            return file
        time.sleep(0.01)
    return None


def test_a_checkpoint_counts_when_its_header_is_written(store, processor):
    line, state, writer = processor.position, save_stream(processor.stream), CheckpointWriter(store)
    before = store.latest_checkpoint()
    writer.start(processor.stream, line)
    while not (step := writer.next_step()):
        time.sleep(0.01)
    store.apply(Update(line, line, **step))
    assert store.latest_checkpoint() == before
    assert write_all(store, writer, line) > 2
    assert store.latest_checkpoint() == (line, state)
    assert writer.line == line


def test_parts_of_old_checkpoints_are_deleted(store, processor):
    writer, line = CheckpointWriter(store), processor.position
    for number in range(3):
        writer.start(processor.stream, number + 1)
        write_all(store, writer, line)
    with store.database.read() as session:
        kept = {seq for (seq,) in session.run("SELECT seq FROM snapshot")}
    assert kept == {2, 3}
    assert store.latest_checkpoint() == (3, save_stream(processor.stream))


def test_a_worker_saves_checkpoints_and_restarts_from_them(store):
    first = JournalProcessor(store, StreamFactory(), checkpoint_every=1)
    first.catch_up()
    while first.checkpoints.busy or not first.checkpoints.line:
        first._write(first.position)
    state = save_stream(first.stream)
    first.checkpoints.close()
    first.stream.close()
    second = JournalProcessor(store, StreamFactory())
    assert 0 < second.checkpoint_line <= first.position
    assert save_stream(second.stream) == state
    second.stream.close()


def test_a_checkpoint_written_at_once_has_parts_and_deletes_older_ones(store, processor):
    writer, line = CheckpointWriter(store), processor.position
    for _ in range(3):
        writer.write_now(processor.stream, line)
        assert writer.line == line
        store.apply(Update(line, line + 1))
        line += 1
    with store.database.read() as session:
        parts = session.run("SELECT seq, count(*), max(length(data)) FROM snapshot GROUP BY seq ORDER BY seq")
    assert [seq for seq, _, _ in parts] == [line - 2, line - 1]
    assert all(n > 2 and longest == 10_000 for _, n, longest in parts)
    assert store.latest_checkpoint() == (line - 1, save_stream(processor.stream))


def test_stale_parts_are_deleted_after_a_restart(store, processor):
    line = processor.position
    left = [("part 000000", number, b"x") for number in (1, 2)]
    whole = [("events", number, b"state") for number in (3, 4)]
    store.apply(Update(line, line, checkpoint_parts=[*left, *whole]))
    assert write_all(store, CheckpointWriter(store), line) == 2
    with store.database.read() as session:
        assert sorted(session.run("SELECT seq FROM snapshot")) == [(3,), (4,)]


def test_a_checkpoint_written_at_once_replaces_an_incomplete_one(store, processor):
    writer, line = CheckpointWriter(store), processor.position
    writer.start(processor.stream, line - 1)
    while not (step := writer.next_step()):
        time.sleep(0.01)
    store.apply(Update(line, line, **step))
    writer.write_now(processor.stream, line)
    assert not writer.busy
    assert store.latest_checkpoint() == (line, save_stream(processor.stream))
    with store.database.read() as session:
        assert session.run("SELECT DISTINCT seq FROM snapshot") == [(line,)]


@needs_fork
def test_a_stream_continues_while_it_is_saved():
    stream, save = EventStream(), ForkedSave()
    stream.add(NEWS[:60])
    before = save_stream(stream)
    save.start(stream)
    stream.add(NEWS[60:])
    with wait_for(save) as saved:
        assert saved.read() == before
    assert save_stream(stream) != before
    assert not save.busy
    assert save.take() is None


@needs_fork
def test_one_save_at_a_time():
    save = ForkedSave()
    save.start(EventStream())
    with pytest.raises(RuntimeError, match="is being saved"):
        save.start(EventStream())
    save.close()
    save.start(EventStream())
    with wait_for(save) as saved:
        assert restore_stream(saved.read()).count == 0


@needs_fork
def test_a_failed_save_is_logged(monkeypatch, caplog):
    monkeypatch.setattr(_checkpoints, "save_stream", lambda stream: 1 / 0)
    save = ForkedSave()
    save.start(EventStream())
    assert wait_for(save) is None
    assert "ended with status" in caplog.text
    assert not save.busy


@needs_fork
def test_a_child_that_exceeds_the_timeout_is_killed(monkeypatch, caplog):
    monkeypatch.setattr(_checkpoints, "save_stream", lambda stream: _checkpoints.time.sleep(3600))
    save = ForkedSave(timeout_s=0.05)
    save.start(EventStream())
    assert wait_for(save) is None
    assert "killing it" in caplog.text


@needs_fork
@pytest.mark.parametrize("what", ["tempfile.TemporaryFile", "os.fork"])
def test_without_a_temporary_file_or_a_process_the_worker_saves_by_itself(
    what, store, processor, monkeypatch, caplog
):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    line, writer = processor.position, CheckpointWriter(store)
    with monkeypatch.context() as full:
        full.setattr(f"isogloss.service.worker._checkpoints.{what}", refuse)
        writer.start(processor.stream, line)
    assert "No space left on device" in caplog.text
    write_all(store, writer, line)
    assert store.latest_checkpoint() == (line, save_stream(processor.stream))
    writer.start(processor.stream, line)  # as usual
    write_all(store, writer, line)
