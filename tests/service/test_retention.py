"""Retention deletes nothing that nobody agreed to, and then whole stories that are old."""

import logging
import threading
from datetime import UTC, datetime, timedelta

import pytest

from isogloss.events import Article
from isogloss.exceptions import StoreBusyError
from isogloss.service.settings import Settings, StoreSettings, StreamSettings
from isogloss.service.worker import JournalProcessor, Retention, RetentionWorker, StreamFactory, clock_warning
from isogloss.store import Store, check_store

START = datetime(2025, 1, 1, tzinfo=UTC)
STORM = (
    "Storm Ottilie tore roofs off houses in Galway on the coast of Ireland, and the river Corrib flooded the "
    "old town while hundreds fled."
)
VOTE = (
    "Voters in Brest chose a new mayor on Sunday, and the harbour board promised cheaper ferries to Ushant."
)
ROUNDS = 25
ONE_OLD = 8500
"""Days of which one article of the archive is older."""
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


@pytest.fixture
def either(database):
    """A store in SQLite and one in PostgreSQL."""
    return Store(database)


def settings(keep_days=30, window_days=10.0, **how):
    return Settings(
        store=StoreSettings(keep_days=keep_days, **how), stream=StreamSettings(window_days=window_days)
    )


def tell(store, clock, number, title, body):
    said = f"{body} Report {number}."
    url = f"https://gull.example/{number}"
    store.add(
        [Article(str(number), "en", f"{title} {number}", said, clock.now, "The Gull", url)], now=clock.now
    )


def made_into_events(store):
    processor = JournalProcessor(store, StreamFactory())
    processor.catch_up()
    processor.save_checkpoint()
    processor.stream.close()


def archive(store, *, first=2003, last=2026, per_year=2):
    """A story every few months through the years; when it arrived, and how many articles there are."""
    times = [
        datetime(year, 1 + month * 12 // per_year, 5, tzinfo=UTC)
        for year in range(first, last + 1)
        for month in range(per_year)
    ]
    received = times[-1] + timedelta(days=1)
    store.add(
        [
            Article(str(at), "en", f"Report {at} of Veldmar {at * 7919}", f"Harbour {at} flooded.", time, "G")
            for at, time in enumerate(times)
        ],
        now=received,
    )
    made_into_events(store)
    return received, len(times)


def test_by_default_an_archive_of_many_years_is_kept(either, clock):
    clock.now, count = archive(either)
    retention = Retention(either, Settings(), clock)
    for _ in range(3):
        assert retention.run() == 0
        clock.wait(days=1)
    assert retention.preview() is None
    assert either.counts()["article"] == count
    assert either.metadata("retention") == {}


def test_nothing_is_deleted_before_the_setting_was_approved(either, clock, caplog):
    clock.now, count = archive(either)
    retention = Retention(either, settings(keep_days=ONE_OLD), clock)
    preview = retention.preview(examples=3)
    assert (preview.plan.articles, preview.plan.total, preview.approved) == (1, count, False)
    assert [title for _, title in preview.plan.examples] == ["Report 0 of Veldmar 0"]
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert retention.run() == 0
            clock.wait(hours=1)
    assert either.counts()["article"] == count
    (logged,) = [record.getMessage() for record in caplog.records]
    assert "8500 days of retention were not approved for this store" in logged
    assert "isogloss prune --yes" in logged
    assert retention.status()["refusal"] in logged
    assert not retention.status()["approved"]


def test_what_was_approved_is_deleted_and_continues_by_itself(either, clock):
    clock.now, count = archive(either)
    told = settings(keep_days=ONE_OLD, prune_max_percent=3.0)
    assert Retention(either, told, clock).run() == 0
    retention = Retention(either, told, clock)
    assert retention.prune(retention.preview()) == 1
    assert retention.status() == {
        "keep_days": ONE_OLD,
        "approved": True,
        "checked": clock.now.isoformat(timespec="seconds"),
        "refusal": "",
    }
    for _ in range(4):
        clock.wait(days=29)
        assert retention.run() == 0
    tell(either, clock, 900, "Storm", STORM)
    made_into_events(either)
    assert retention.run() == 1  # the second oldest is older now
    assert either.counts()["article"] == count + 1 - 2
    assert check_store(either) == []


def test_another_number_of_days_has_to_be_approved_again(store, clock):
    clock.now, _ = archive(store)
    first = Retention(store, settings(keep_days=ONE_OLD), clock)
    first.prune(first.preview())
    second = Retention(store, settings(keep_days=8300, prune_max_percent=50.0), clock)
    assert second.run() == 0
    said = "8300 days of retention were not approved for this store; 8500 days were"
    assert said in second.status()["refusal"]
    assert second.prune(second.preview()) == 1
    assert second.run() == 0
    assert second.status()["refusal"] == ""
    assert second.status()["approved"]


def test_days_given_once_approve_nothing(store, clock):
    clock.now, _ = archive(store)
    retention = Retention(store, settings(keep_days=ONE_OLD), clock)
    once = retention.preview(9000)
    assert not once.configured
    assert retention.prune(once) == 0
    assert not retention.preview().approved
    assert retention.run() == 0


def test_keeping_everything_again_takes_the_approval_back(store, clock):
    clock.now, count = archive(store)
    told = settings(keep_days=9000)
    retention = Retention(store, told, clock)
    retention.prune(retention.preview())
    assert Retention(store, Settings(), clock).run() == 0
    clock.wait(days=800)
    assert Retention(store, told, clock).run() == 0
    assert not Retention(store, told, clock).preview().approved
    assert store.counts()["article"] == count


def test_more_than_a_small_share_is_refused_whatever_was_approved(either, clock):
    clock.now, count = archive(either)
    either.update_metadata("retention", approved_days=float(ONE_OLD))
    retention = Retention(either, settings(keep_days=ONE_OLD), clock)
    assert retention.preview().approved
    assert retention.run() == 0
    refusal = retention.preview().refusal
    assert refusal.kind == "cap"
    assert "it would delete 1 of 48 articles (2.1 %), more than the 1 %" in refusal.message
    assert either.counts()["article"] == count
    assert Retention(either, settings(keep_days=ONE_OLD, prune_max_percent=2.1), clock).run() == 1


def test_a_setting_says_explicitly_that_nobody_is_asked(either, clock):
    clock.now, count = archive(either)
    told = settings(keep_days=6000, prune_without_asking=True)
    gone = Retention(either, told, clock).run()
    assert 0.2 < gone / count < 0.5
    assert either.counts()["article"] == count - gone


def test_more_than_half_of_the_store_is_never_deleted_by_itself(either, clock):
    clock.now, count = archive(either)
    told = settings(keep_days=90, prune_without_asking=True, prune_max_percent=100.0)
    retention = Retention(either, told, clock)
    assert retention.run() == 0
    assert retention.preview().refusal.kind == "most"
    assert "more than half of the store" in retention.status()["refusal"]
    assert either.counts()["article"] == count
    assert retention.prune(retention.preview()) == count - 1
    assert either.counts()["article"] == 1


def approved(store, clock, **how):
    """Retention that was approved and looked at the store a day ago; one article has grown old since."""
    retention = Retention(store, settings(keep_days=ONE_OLD, prune_max_percent=5.0, **how), clock)
    retention.prune(retention.preview(keep_days=9000))
    store.update_metadata("retention", approved_days=float(ONE_OLD))
    clock.wait(days=1)
    return retention


def test_a_clock_an_hour_behind_is_reported_and_does_no_harm(store, clock):
    clock.now, count = archive(store)
    retention = approved(store, clock)
    tell(store, clock, 900, "Storm", STORM)
    made_into_events(store)
    clock.wait(hours=-1)
    said = clock_warning(store, clock.now)
    assert "is 1 h 0 min behind the last use of this store" in said
    assert retention.preview().refusal is None
    assert retention.run() == 1
    assert store.counts()["article"] == count + 1 - 1
    assert clock_warning(store, clock.now + timedelta(hours=1)) == ""


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        (timedelta(days=-3), "is 2 days behind the last use of this store"),
        (timedelta(days=-9000), "days behind the last use of this store"),
        (timedelta(days=31), "is 32 days after the last run"),
        (timedelta(days=14 * 365), "is 5,111 days after the last run"),
    ],
)
def test_a_clock_that_jumped_stops_scheduled_runs(either, clock, moved, said):
    clock.now, count = archive(either)
    retention = approved(either, clock, prune_without_asking=True)
    clock.now += moved
    for _ in range(2):  # a second run knows no better
        assert retention.run() == 0
    assert retention.preview().refusal.kind == "clock"
    assert said in retention.status()["refusal"]
    assert either.counts()["article"] == count
    retention.prune(retention.preview())
    assert either.metadata("retention")["checked"] == int(clock.now.timestamp() * 1e6)


def test_a_clock_years_ahead_with_an_article_of_its_time_deletes_nothing(store, clock):
    clock.now, count = archive(store)
    retention = approved(store, clock)
    clock.wait(days=14 * 365)
    tell(store, clock, 900, "Storm", STORM)
    made_into_events(store)
    assert retention.run() == 0
    assert store.counts()["article"] == count + 1


def test_an_article_of_the_future_does_not_move_the_cutoff(either, clock):
    clock.now, count = archive(either, first=2024)
    retention = Retention(either, settings(keep_days=90), clock)
    before = retention.preview()
    future = Article("f", "en", "Comet lands", STORM, clock.now + timedelta(days=20_000), "The Gull")
    either.add([future], now=clock.now)
    made_into_events(either)
    after = retention.preview()
    assert (after.plan.cutoff, after.plan.articles) == (before.plan.cutoff, before.plan.articles)
    assert either.counts()["article"] == count + 1


def test_a_refused_run_is_tried_again_soon_after_it_was_approved(store, clock):
    clock.now, _ = archive(store)
    retention = Retention(store, settings(keep_days=ONE_OLD, prune_hours=24.0), clock)
    assert retention.due
    retention.run()
    assert not retention.due
    by_hand = Retention(store, settings(keep_days=ONE_OLD), clock)
    by_hand.prune(by_hand.preview())
    assert retention.due
    retention.run()
    assert not retention.due


def test_settings_with_which_every_run_would_delete_too_much_are_explained(store, clock):
    clock.now, _ = archive(store)
    told = settings(keep_days=30, prune_hours=24.0)
    assert "about 3.3 % grow old: lower store.prune_hours" in Retention(store, told, clock)._hint(30.0)
    assert Retention(store, settings(keep_days=30), clock)._hint(30.0) == ""


def test_it_is_due_at_the_start_and_then_every_so_many_hours(store, clock):
    retention = Retention(store, settings(prune_hours=6.0), clock)
    assert retention.due
    retention.run()
    assert not retention.due
    clock.wait(hours=5, minutes=59)
    assert not retention.due
    clock.wait(minutes=1)
    assert retention.due


def test_it_can_be_left_to_the_command(store, clock):
    assert not Retention(store, settings(prune_hours=0.0), clock).due


def test_days_are_counted_back_from_the_newest_article(store, clock):
    retention = Retention(store, settings(keep_days=30), clock)
    tell(store, clock, 1, "Storm", STORM)
    made_into_events(store)
    clock.wait(days=20)
    assert retention.preview().plan.cutoff == START - timedelta(days=30)
    clock.now = START - timedelta(days=5)
    assert retention.preview().plan.cutoff == clock.now - timedelta(days=30)


def test_articles_that_wait_to_be_made_into_events_do_not_move_the_cutoff(store, clock):
    clock.now, _ = archive(store, first=2003, last=2004)
    retention = Retention(store, settings(keep_days=30), clock)
    before = retention.preview().plan
    clock.now = START
    tell(store, clock, 1, "Storm", STORM)
    assert retention.preview().plan.cutoff == before.cutoff


def test_the_window_of_the_stream_is_kept_whatever_the_settings_say(store, clock):
    tell(store, clock, 1, "Storm", STORM)
    made_into_events(store)
    preview = Retention(store, settings(keep_days=2, window_days=10.0), clock).preview()
    assert (preview.plan.cutoff, preview.days) == (START - timedelta(days=11), 11.0)


def test_articles_that_are_older_than_the_setting_are_counted(store, clock):
    clock.now, count = archive(store)
    times = [entry.article.time.timestamp() for entry in store.journal() if entry.article]
    assert Retention(store, Settings(), clock).older(times) == 0
    assert Retention(store, settings(keep_days=90), clock).older(times) == count - 1
    assert Retention(store, settings(keep_days=ONE_OLD), clock).older(times) == 1


def through_the_year(store, clock, *, keep_days, save=True):
    """A story that goes on for months, others that end, and a run after each article."""
    told = settings(keep_days=keep_days, prune_without_asking=True)
    retention, processor = Retention(store, told, clock), JournalProcessor(store, StreamFactory(told.stream))
    for number in range(ROUNDS):
        tell(store, clock, number, "Storm Ottilie hits Galway", STORM)
        if number % 8 == 0:
            tell(store, clock, 1000 + number, f"Brest votes, round {number}", f"{VOTE} Round {number}.")
        processor.catch_up()
        if save:
            processor.save_checkpoint()
        retention.run()
        clock.wait(days=4)
    return retention, processor


def test_a_story_that_continues_is_kept_and_those_that_ended_are_not(store, clock):
    retention, _ = through_the_year(store, clock, keep_days=12)
    counts = store.counts()
    assert retention.pruned > 0
    assert counts["article"] + retention.pruned == ARTICLES
    events = [store.event(event["id"]) for event in store.events().events]
    assert max(event["size"] for event in events) > 5
    for event in events:
        assert sum(len(cluster["articles"]) for cluster in event["clusters"]) > 0
    oldest = clock.now - timedelta(days=4 + 12)
    assert min(event["last"] for event in events) >= oldest.timestamp() * 1e6
    assert check_store(store) == []


@pytest.mark.parametrize("save", [True, False])
def test_whoever_starts_again_is_where_it_was(store, clock, save):
    _, processor = through_the_year(store, clock, keep_days=12, save=save)
    again = JournalProcessor(store, StreamFactory(settings().stream))
    assert again.position == processor.position
    assert again.stream.tracker.ids.event_of == processor.stream.tracker.ids.event_of
    assert again.stream.clusters.now == processor.stream.clusters.now
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
        self._looked = self.clock()
        self.ran.release()
        if self.fails:
            self.fails -= 1
            raise StoreBusyError("busy")
        self.pruned += 3
        return 3


def test_a_worker_with_retention_prunes_beside_its_work(store, clock):
    worker, retention = Worker(), Counted(store, settings(), clock)
    both = RetentionWorker(worker, retention, poll_seconds=0.01)
    both.start()
    assert retention.ran.acquire(timeout=60)
    clock.wait(hours=1)
    assert retention.ran.acquire(timeout=60)
    both.stop()
    assert worker.told == ["start", "stop"]
    assert not both.alive
    assert both.status() == {"alive": True, "pruned": 3}


def test_a_stop_ends_a_run_between_two_parts(store, clock, monkeypatch):
    monkeypatch.setattr("isogloss.store._pruning.ARTICLES_PER_TRANSACTION", 1)
    clock.now, count = archive(store)
    told = settings(keep_days=6000, prune_without_asking=True)
    asked = iter([True, True, False])
    assert Retention(store, told, clock).run(should_continue=lambda: next(asked)) == 2
    assert store.counts()["article"] == count - 2
