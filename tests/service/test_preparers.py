"""Articles that others prepare: the same events to the byte, whoever did it, and whatever became of them."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from isogloss.events.analyse import Preparer
from isogloss.events.annotate import Annotator
from isogloss.events.checkpoint import save_stream
from isogloss.events.ingest import sample_corpus, sample_news
from isogloss.exceptions import StoreError
from isogloss.service._metrics import Metrics
from isogloss.service.worker import Follower, PreparingWorker, StreamMaker, prepared_figures
from isogloss.service.worker._journal_reader import Lines
from isogloss.similarity import LSISimilarity
from isogloss.store import Store
from isogloss.store.queries import announcement
from tests.service.test_worker import tables, without_lines
from tests.store.conftest import database, postgres, server, store  # noqa: F401
from tests.waiting import wait_until

ARTICLES = sample_news().articles[:72]
N = len(ARTICLES)
MODEL = StreamMaker(model=LSISimilarity(20).fit(sample_corpus()), digest="ab12")


def followed(store, make=MODEL):  # noqa: F811
    """The tables and the state after all articles."""
    follower = Follower(store, make)
    follower.catch_up()
    return tables(store), save_stream(follower.stream)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What comes out if nobody helps."""
    with Store(tmp_path_factory.mktemp("whole") / "news.db") as alone:
        alone.add(ARTICLES)
        return followed(alone)


def helper(store, make=MODEL, **options):  # noqa: F811
    return PreparingWorker(store, make.preparer(), **options)


def counted(store):  # noqa: F811
    return {name.removeprefix("prepared_"): count for name, count in store.tallies().items()}


def test_what_others_prepared_changes_nothing(store, whole):  # noqa: F811
    store.add(ARTICLES)
    helping = helper(store, part=32)
    assert helping.prepare() == helping.done == N
    assert followed(store) == whole
    assert counted(store) == {"elsewhere": N}
    assert store.prepared(0, 10_000) == {}


def test_the_worker_does_the_rest(store, whole):  # noqa: F811
    store.add(ARTICLES)
    helper(store).prepare()
    with store.database.write() as session:
        session.run("DELETE FROM prepared WHERE seq < 20 OR seq IN (50, 52, 53, 60)")
    follower = Follower(store, MODEL)
    follower.catch_up()
    assert (tables(store), save_stream(follower.stream)) == whole
    assert counted(store) == {"elsewhere": N - 23, "here": 23}
    assert follower.stream.preparer.count == 23


def test_damaged_bytes_are_done_again_and_counted(store, whole, caplog):  # noqa: F811
    store.add(ARTICLES)
    helper(store).prepare()
    data = {line: found for line, (_, found) in store.prepared(0, 1000).items()}
    changed = {
        3: b"",
        4: b"junk",
        5: data[5][:-1],
        6: data[6] + b"\0",
        7: data[8],
        9: bytes([*data[9][:700], data[9][700] ^ 1, *data[9][701:]]),
    }
    with store.database.write() as session:
        session.run_many("UPDATE prepared SET data = ? WHERE seq = ?", [(b, n) for n, b in changed.items()])
    assert followed(store) == whole
    assert counted(store) == {"elsewhere": N - 6, "here": 6, "damaged": 6}
    assert caplog.text.count("cannot be used") == 1


def test_what_was_prepared_in_another_way_is_done_again_and_counted(store, whole, caplog):  # noqa: F811
    store.add(ARTICLES)
    helper(store, StreamMaker()).prepare()
    assert followed(store) == whole
    assert counted(store) == {"here": N, "stale": N}
    assert "in another way" in caplog.text


def test_who_prepares_in_another_way_has_nothing_to_do_and_says_so(store, caplog):  # noqa: F811
    Follower(store, MODEL)
    store.add(ARTICLES[:5])
    other = helper(store, StreamMaker())
    assert other._go() == other._go() == other.pause
    assert (other.done, other.status()["error"][:42]) == (0, "the worker that makes events has another i")
    assert caplog.text.count("install the same on both") == 1
    assert helper(store).prepare() == 5


def test_old_rows_are_prepared_again_in_the_way_of_the_worker(store, whole):  # noqa: F811
    store.add(ARTICLES)
    helper(store, StreamMaker()).prepare()
    store.apply(announcement(0, MODEL.preparer().way))
    assert helper(store).prepare() == N
    assert followed(store) == whole
    assert counted(store) == {"elsewhere": N}


def test_only_those_who_prepare_alike_have_the_same_number():
    ways = {
        StreamMaker().preparer().way,
        MODEL.preparer().way,
        StreamMaker(model=MODEL.model, digest="cd34").preparer().way,
        Preparer(Annotator(n_keywords=3)).way,
    }
    assert len(ways) == 4
    assert MODEL(None).preparer.way == MODEL.preparer().way
    assert StreamMaker(model=MODEL.model).preparer().way is None


def test_without_a_number_nobody_helps(store):  # noqa: F811
    nameless = StreamMaker(model=MODEL.model)
    with pytest.raises(StoreError, match="a model that has a digest"):
        helper(store, nameless)
    Follower(store, nameless)
    assert store.way_of_worker() is None


def test_a_stop_gives_back_what_was_not_done(store, monkeypatch):  # noqa: F811
    store.add(ARTICLES)
    helping = helper(store, part=16)
    keep = store.keep_prepared

    def failing(owner, rows):
        if helping.done:
            raise StoreError("the cable is out")
        return keep(owner, rows)

    monkeypatch.setattr(store, "keep_prepared", failing)
    with pytest.raises(StoreError, match="cable"):
        helping.prepare()
    monkeypatch.undo()
    assert list(store.prepared(0, 1000)) == list(range(1, 17))
    again = helper(store, part=16)
    assert again.prepare() == N - 32


class Picky(Annotator):
    """Fails at one article."""

    def annotate(self, article):
        if article.id == "7":
            raise ValueError("not this one")
        return super().annotate(article)


def test_an_article_that_cannot_be_prepared_is_left_to_the_worker(store, caplog):  # noqa: F811
    store.add(ARTICLES[:12])
    helping = helper(store)
    helping.preparer.annotator = Picky()
    assert (helping.prepare(), helping.done) == (12, 11)
    assert 7 not in store.prepared(0, 100)
    assert "line 7 of the journal could not be prepared" in caplog.text
    assert helping.prepare() == 0


def test_it_runs_until_it_is_stopped(store):  # noqa: F811
    helping = helper(store, pause=0.01)
    helping.start()
    store.add(ARTICLES[:30])
    wait_until(lambda: helping.status()["prepared"] == 30)
    store.add(ARTICLES[30:40])
    wait_until(lambda: helping.status()["prepared"] == 40)
    assert helping.status() == {"alive": True, "prepared": 40, "late": 0, "error": ""}
    helping.stop()
    assert helping.status()["alive"] is False


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_processes_of_the_worker_are_kept_busy(store, whole, monkeypatch):  # noqa: F811
    monkeypatch.setattr("isogloss.events.analyse._analyser._BATCH", 8)
    monkeypatch.setattr("isogloss.events.analyse._analyser._LEAST", 2)
    store.add(ARTICLES)
    helper(store).prepare()
    with store.database.write() as session:
        session.run("DELETE FROM prepared WHERE seq < 69")
    follower = Follower(store, StreamMaker(model=MODEL.model, digest="ab12", n_jobs=2))
    with follower.stream as stream:
        stream.preparer.start()
        assert follower.follow(10) == 10
        assert follower.lines.last == 10 + stream.preparer.ahead
        while follower.follow(10):
            pass
        follower.settle()
        assert stream.preparer.count == 0
        assert without_lines(tables(store)) == without_lines(whole[0])
        assert save_stream(stream) == whole[1]
    assert counted(store) == {"here": 68, "elsewhere": 4}


def test_lines_end_where_they_are_told_to(store):  # noqa: F811
    store.add(ARTICLES[:20])
    with store.database.write() as session:
        session.run("DELETE FROM journal WHERE seq = 5")
    lines = Lines(store, Preparer(Annotator()), 3)
    assert [entry.seq for entry in lines.take(10, until=6)] == [4, 6]
    assert [entry.seq for entry in lines.take(3)] == [7, 8, 9]
    assert [entry.seq for entry in lines.take(100)] == list(range(10, 21))
    assert lines.take(100) == []


def test_figures_are_told(store):  # noqa: F811
    store.add(ARTICLES[:10])
    helper(store).prepare()
    followed(store)
    told = Metrics(lambda: prepared_figures(store)).text().decode().splitlines()
    assert {"isogloss_prepared_elsewhere 10.0", "isogloss_prepared_here 0.0"} <= set(told)


HELP = """
import sys, time
from isogloss.events.analyse import _analyser as preparing
from isogloss.service.worker import StreamMaker
from isogloss.service.worker import PreparingWorker
from isogloss.store import PostgresDatabase, Store

url, schema, owner = sys.argv[1:]
preparing._BATCH = 8
store = Store(PostgresDatabase(url, schema=schema))
helping = PreparingWorker(store, StreamMaker().preparer(), part=8, seconds=4.0, pause=0.02)
helping.owner, keep = owner, store.keep_prepared

def hold(owner, rows):
    if helping.done and rows:
        print("holding", *(line for line, _ in rows), flush=True)
        time.sleep(600)
    return keep(owner, rows)

if owner == "first":
    store.keep_prepared = hold
print("up", flush=True)
sys.stdin.readline()
helping.start()
sys.stdin.readline()
helping.stop()
print(helping.done, flush=True)
"""


@contextmanager
def host(database, owner):  # noqa: F811
    command = [sys.executable, "-c", HELP, database.url, database.schema, owner]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


def tell(process):
    process.stdin.write("go on\n")
    process.stdin.flush()


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_two_hosts_share_the_work_and_one_is_killed_in_the_middle(store, tmp_path):  # noqa: F811
    def lines_of(owner):
        with store.database.read() as session:
            question = "SELECT seq FROM prepared WHERE owner = ? AND data IS NOT NULL"
            return {row[0] for row in session.run(question, [owner])}

    store.add(ARTICLES)
    with host(store.database, "first") as first, host(store.database, "second") as second:
        tell(first)
        wait_until(lambda: lines_of("first"))
        tell(second)
        held = {int(line) for line in first.stdout.readline().split()[1:]}
        first.kill()
        wait_until(lambda: len(lines_of("first") | lines_of("second")) == N)
        tell(second)
        done = int(second.stdout.readline())
    assert lines_of("first") == set(range(1, 9))
    assert len(held) == 8
    assert held <= lines_of("second")
    assert done == len(lines_of("second")) == N - 8
    with Store(tmp_path / "alone.db") as alone:
        alone.add(ARTICLES)
        assert followed(store, StreamMaker()) == followed(alone, StreamMaker())
    assert counted(store) == {"elsewhere": N}
