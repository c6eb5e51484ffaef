"""RELIABILITY 4, 10: what came is there once, whatever happens on the way."""

import random
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from isogloss.events import Article
from isogloss.exceptions import StoreError
from isogloss.store import Store

DAY = datetime(2025, 3, 5, 8, tzinfo=UTC)


def article(number, body="It rains.", **changes):
    values = {
        "time": DAY + timedelta(minutes=number),
        "source": "The Gull",
        "url": f"https://g.example/{number}",
    }
    return Article(str(number), "en", f"Rain {number}", body, **values | changes)


def contents(store):
    """Everything the tables of articles hold, but for when it came."""
    with store.database.read() as session:
        return [
            session.run("SELECT seq, key, title, body, time, revision FROM article ORDER BY seq"),
            session.run("SELECT article, number, body, time FROM revision ORDER BY article, number"),
            session.run("SELECT kind, article, revision FROM journal ORDER BY seq"),
        ]


def test_articles_come_back_as_they_were(store):
    first, second = (
        article(1, "Ж — 雨 \U0001f327 'quoted' \"twice\" ?%s"),
        article(2, time=DAY.replace(microsecond=7)),
    )
    receipts = store.add([first, second])
    assert [receipt.status for receipt in receipts] == ["new", "new"]
    assert store.articles([receipt.seq for receipt in receipts]) == {
        receipts[0].seq: first,
        receipts[1].seq: second,
    }


@pytest.mark.parametrize("letter", ["x", "é", "雨", "\U0001f327"])
def test_keys_distinguish_articles_with_names_of_any_length(store, letter):
    """Letters at random, so that no index can pack them into less room than it has."""
    drawn = random.Random(0)
    long = ["".join(drawn.choices(f"0123456789abcdef{letter}", k=1_990)) for _ in range(2)]
    named = [article(1, source=long[0], url=f"https://g.example/{long[1]}{end}") for end in ("", "a", "b")]
    receipts = store.add(named)
    assert [receipt.seq for receipt in receipts] == [1, 2, 3]
    assert all(len(receipt.key.encode()) <= 2_000 for receipt in receipts)
    assert [receipt.status for receipt in store.add(named)] == ["same"] * 3
    assert store.add([replace(named[1], body="Snow.")])[0].status == "revised"
    assert store.articles([1])[1] == named[0]
    short = article(4, source="", url="u" * 1_999)
    assert store.add([short])[0].key == short.key


def test_articles_are_read_without_their_bodies(store):
    whole = article(1)
    (receipt,) = store.add([whole])
    assert whole.body
    assert store.articles([receipt.seq], bodies=False) == {receipt.seq: replace(whole, body="")}


@pytest.mark.parametrize("times", [1, 2, 10])
def test_redelivery_changes_nothing(store, times):
    articles = [article(number) for number in range(20)]
    store.add(articles)
    before = contents(store)
    again = articles * times
    random.Random(times).shuffle(again)
    for start in range(0, len(again), 7):
        statuses = {receipt.status for receipt in store.add(again[start : start + 7])}
        assert statuses == {"same"}
    assert contents(store) == before


def test_a_changed_text_is_a_revision(store):
    (first,) = store.add([article(1, "It rains.")])
    (second,) = store.add([article(1, "It pours.")])
    (third,) = store.add([article(1, "It stopped.")])
    assert (second.seq, second.status, third.seq) == (first.seq, "revised", first.seq)
    assert store.articles([first.seq])[first.seq].body == "It stopped."
    assert [old["body"] for old in store.revisions(first.seq)] == ["It rains.", "It pours."]
    assert [(entry.kind, entry.article.body) for entry in store.journal()] == [
        ("article", "It rains."),
        ("revision", "It pours."),
        ("revision", "It stopped."),
    ]


def test_the_journal_in_parts_is_the_journal(store):
    store.add([article(number) for number in range(10)])
    whole = store.journal()
    parts, after = [], 0
    while part := store.journal(after, 3):
        parts += part
        after = part[-1].seq
    assert parts == whole
    assert [entry.article.id for entry in whole] == [str(number) for number in range(10)]


def test_lines_and_articles_are_counted_between_bounds(store):
    assert store.last_line() == 0
    store.add([article(number) for number in range(4)])
    store.add([article(1, "Snow.")])
    assert store.last_line() == 5
    assert [store.count_lines(*span) for span in ((0, 5), (1, 4), (5, 9))] == [5, 3, 0]
    assert store.article_numbers_from(3) == [3, 4]


def test_a_request_is_answered_once(store):
    first = store.add([article(1), article(2)], key="a")
    before = contents(store)
    assert store.add([article(1), article(2)], key="a") == first
    assert contents(store) == before
    with pytest.raises(StoreError, match="use a new key"):
        store.add([article(3)], key="a")
    assert contents(store) == before


def test_an_article_from_the_future_that_comes_again_is_the_same(store):
    far = "2205-03-05T08:00:00+00:00"
    store.add([article(1, claimed=far)])
    (receipt,) = store.add([article(1, claimed=far, time=DAY + timedelta(hours=3))])
    assert receipt.status == "same"


def test_only_a_time_that_the_source_states_corrects_another(store):
    later = DAY + timedelta(hours=3)
    store.add([article(1), article(2, claimed="2205-03-05T08:00:00+00:00")])
    assert store.add([article(1, time=later, claimed="")])[0].status == "same"
    assert store.add([article(2, time=later, claimed="")])[0].status == "same"
    assert store.add([article(1, time=later)])[0].status == "revised"
    assert store.articles([1])[1].time == later


class Failing:
    """A database whose k-th statement fails."""

    def __init__(self, database, k):
        self.database, self.k, self.column_types = database, k, database.column_types

    def write(self):
        import contextlib

        @contextlib.contextmanager
        def session():
            with self.database.write() as inner:
                yield FailingSession(inner, self)

        return session()

    def __getattr__(self, name):
        return getattr(self.database, name)


class FailingSession:
    def __init__(self, session, owner):
        self.session, self.owner = session, owner

    def step(self):
        self.owner.k -= 1
        if self.owner.k == 0:
            raise StoreError("planted")

    def run(self, *arguments):
        self.step()
        return self.session.run(*arguments)

    def one(self, *arguments):
        self.step()
        return self.session.one(*arguments)

    def run_many(self, *arguments):
        self.step()
        return self.session.run_many(*arguments)


def test_whichever_statement_fails_a_retry_gives_the_same(store):
    batch = [article(1), article(2, "It pours."), article(1, "It stopped."), article(3)]
    store.add([article(2)])
    before = contents(store)
    database, failures = store.database, 0
    for k in range(1, 100):
        store.database = Failing(database, k)
        try:
            store.add(batch, key="k", refused=[("bad time", "said", {"a": 1})])
        except StoreError:
            failures += 1
            store.database = database
            assert contents(store) == before
        else:
            break
    store.database = database
    assert failures > 10
    assert [row[3] for row in contents(store)[0]] == ["It pours.", "It stopped.", "It rains."]
    assert len(store.quarantined()) == 1


def test_writers_of_many_threads_leave_no_gap_behind_a_reader(store):
    seen, stop = [], threading.Event()

    def read():
        after = 0
        while not stop.is_set() or store.journal(after, 1):
            for entry in store.journal(after, 50):
                seen.append(entry.seq)
                after = entry.seq

    def write(part):
        for number in range(25):
            store.add([article(part * 100 + number)])

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(part,)) for part in range(3)]
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert len(seen) == 75
    assert seen == sorted(seen)


def test_records_that_were_refused_are_kept_with_their_reason(store):
    store.add([], refused=[("without time", "field time is missing", {"title": "\ud800 lone"})])
    (kept,) = store.quarantined()
    assert (kept["reason"], kept["record"]) == ("without time", '{"title": "\\ud800 lone"}')


def test_opening_again_finds_everything(tmp_path):
    with Store(tmp_path / "news.db") as store:
        store.add([article(1)])
    with Store(tmp_path / "news.db") as store:
        assert store.counts()["article"] == 1
    assert not (tmp_path / "news.db-wal").exists()


@pytest.mark.parametrize(
    ("place", "said"), [("mysql://x", "expected a file name"), ("no/such/folder/x.db", "cannot be opened")]
)
def test_places_that_cannot_be(tmp_path, monkeypatch, place, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=said):
        Store(place)


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "news.db").write_bytes(b"certainly not a database" * 100)
    with pytest.raises(StoreError, match="restore a backup"):
        Store(tmp_path / "news.db")
    assert (tmp_path / "news.db").read_bytes() == b"certainly not a database" * 100


def test_metadata_is_kept_by_name(store):
    assert store.metadata("retention") == {}
    store.update_metadata("retention", approved_days=90, refusal="größer")
    store.update_metadata("retention", approved_days=30, at=7)
    assert store.metadata("retention") == {"approved_days": 30, "at": 7, "refusal": "größer"}
    store.update_metadata("retention", refusal=None)
    assert store.metadata("retention") == {"approved_days": 30, "at": 7}
    assert store.metadata("other") == {}
