"""What is old is forgotten when it is time, and what the stream still writes to is not."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from isogloss.events.article import Article
from isogloss.exceptions import StoreBusyError
from isogloss.service.making import StreamMaker
from isogloss.service.retention import Retention, WithRetention
from isogloss.service.settings import Settings, StoreSettings, StreamSettings
from isogloss.service.worker import Follower
from isogloss.store import Store, look_over

START = datetime(2025, 1, 1, tzinfo=UTC)
STORM = (
    "Storm Ottilie tore roofs off houses in Galway on the coast of Ireland, and the river Corrib flooded the "
    "old town while hundreds fled."
)
VOTE = (
    "Voters in Brest chose a new mayor on Sunday, and the harbour board promised cheaper ferries to Ushant."
)
ROUNDS = 25
ARTICLES = ROUNDS + len(range(0, ROUNDS, 8))


class Clock:
    """A time that goes on when a test says so."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def wait(self, **span):
        self.now += timedelta(**span)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


def settings(keep_days=30, forget_hours=24.0, window_days=10.0):
    return Settings(
        store=StoreSettings(keep_days=keep_days, forget_hours=forget_hours),
        stream=StreamSettings(window_days=window_days),
    )


def tell(store, clock, number, title, body):
    said = f"{body} Report {number}."
    url = f"https://gull.example/{number}"
    store.add(
        [Article(str(number), "en", f"{title} {number}", said, clock.now, "The Gull", url)], now=clock.now
    )


def test_it_is_due_at_the_start_and_then_every_so_many_hours(store, clock):
    retention = Retention(store, settings(forget_hours=6.0), clock)
    assert retention.due
    retention.run()
    assert not retention.due
    clock.wait(hours=5, minutes=59)
    assert not retention.due
    clock.wait(minutes=1)
    assert retention.due


@pytest.mark.parametrize("off", [{"forget_hours": 0.0}, {"keep_days": 0}])
def test_it_can_be_switched_off(store, clock, off):
    assert not Retention(store, settings(**off), clock).due


def test_without_a_limit_nothing_is_forgotten(store, clock):
    tell(store, clock, 1, "Storm", STORM)
    follower = Follower(store, StreamMaker())
    follower.catch_up()
    follower.save()
    clock.wait(days=4000)
    assert Retention(store, settings(keep_days=0), clock).run() == 0
    assert store.counts()["article"] == 1


def test_days_are_counted_back_from_the_newest_article_and_not_from_the_future(store, clock):
    retention = Retention(store, settings(keep_days=30), clock)
    assert retention.moment() is None
    tell(store, clock, 1, "Storm", STORM)
    Follower(store, StreamMaker()).catch_up()
    clock.wait(days=400)
    assert retention.moment() == START - timedelta(days=30)
    clock.now = START - timedelta(days=5)
    assert retention.moment() == clock.now - timedelta(days=30)


def test_the_window_of_the_stream_is_kept_whatever_the_settings_say(store, clock):
    tell(store, clock, 1, "Storm", STORM)
    Follower(store, StreamMaker()).catch_up()
    moment = Retention(store, settings(keep_days=2, window_days=10.0), clock).moment()
    assert moment == START - timedelta(days=11)


def through_the_year(store, clock, *, keep_days, save=True):
    """A story that goes on for months, others that end, and a look for what is old after each article."""
    told = settings(keep_days=keep_days)
    retention, follower = Retention(store, told, clock), Follower(store, StreamMaker(told.stream))
    for number in range(ROUNDS):
        tell(store, clock, number, "Storm Ottilie hits Galway", STORM)
        if number % 8 == 0:
            tell(store, clock, 1000 + number, f"Brest votes, round {number}", f"{VOTE} Round {number}.")
        follower.catch_up()
        if save:
            follower.save()
        retention.run()
        clock.wait(days=4)
    return retention, follower


def test_a_story_that_goes_on_is_kept_and_those_that_ended_are_not(store, clock):
    retention, _ = through_the_year(store, clock, keep_days=12)
    counts = store.counts()
    assert retention.forgotten > 0
    assert counts["article"] + retention.forgotten == ARTICLES
    events = [store.event(event["id"]) for event in store.events().events]
    assert max(event["size"] for event in events) > 5
    for event in events:
        assert sum(len(cluster["articles"]) for cluster in event["clusters"]) > 0
    oldest = clock.now - timedelta(days=4 + 12)
    assert min(event["last"] for event in events) >= oldest.timestamp() * 1e6
    assert look_over(store) == []


@pytest.mark.parametrize("save", [True, False])
def test_whoever_starts_again_is_where_it_was(store, clock, save):
    _, follower = through_the_year(store, clock, keep_days=12, save=save)
    again = Follower(store, StreamMaker(settings().stream))
    assert again.position == follower.position
    assert again.stream.tracker.ids.event_of == follower.stream.tracker.ids.event_of
    assert again.stream.clusters.now == follower.stream.clusters.now
    if not save:
        assert store.counts()["article"] == ARTICLES


class Worker:
    """Notes what it is told."""

    def __init__(self):
        self.told = []

    def start(self):
        self.told.append("start")

    def stop(self):
        self.told.append("stop")

    def status(self):
        return {"alive": True}


class Counted(Retention):
    """Says when it has run, and fails the first time."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ran = threading.Semaphore(0)
        self.fails = 1

    def run(self, **how):
        self._last = self.clock()
        self.ran.release()
        if self.fails:
            self.fails -= 1
            raise StoreBusyError("busy")
        self.forgotten += 3
        return 3


def test_a_worker_with_retention_forgets_beside_its_work(store, clock):
    worker, retention = Worker(), Counted(store, settings(), clock)
    both = WithRetention(worker, retention, pause=0.01)
    both.start()
    assert retention.ran.acquire(timeout=20)
    assert not retention.ran.acquire(timeout=0.2)
    clock.wait(hours=24)
    assert retention.ran.acquire(timeout=20)
    both.stop()
    assert worker.told == ["start", "stop"]
    assert not both.alive
    assert both.status() == {"alive": True, "forgotten": 3}


def test_a_stop_ends_it_between_two_parts(store, clock, monkeypatch):
    monkeypatch.setattr("isogloss.store.upkeep.PART", 1)
    for number in range(5):
        tell(store, clock, number, f"Brest votes, round {number}", VOTE)
    follower = Follower(store, StreamMaker())
    follower.catch_up()
    clock.wait(days=60)
    tell(store, clock, 9, "Storm", STORM)
    follower.catch_up()
    follower.save()
    asked = iter([True, True, False])
    assert Retention(store, settings(), clock).run(go_on=lambda: next(asked)) == 2
