"""Feeds of every kind into a store: nothing stalls, and the health of each feed is right."""

import pytest

pytest.importorskip("feedparser")
pytest.importorskip("trafilatura")
pytest.importorskip("protego")

from isogloss.exceptions import StoreError
from isogloss.feeds import ListedFeed
from isogloss.service.settings import FeedSettings, Settings
from isogloss.service.worker import FeedIngest, FeedThread
from tests.waiting import LIMIT_S, wait_until
from tools.feed_site import FAILING, KINDS, FeedSite


def settings(**feeds):
    limits = {"fetch_seconds": 2.0, "fetch_bytes": 1 << 20, "host_pause_seconds": 0.0, "minutes": 0.001}
    return Settings(feeds=FeedSettings(**limits | feeds))


def ingest_of(store, urls, **feeds):
    return FeedIngest(store, settings(**feeds), [ListedFeed(url) for url in urls], private=True)


def test_feeds_of_every_kind(store):
    """The slow feed answers after the deadline of the whole test: it must not keep the others waiting."""
    with FeedSite(len(KINDS), slow_seconds=LIMIT_S) as site:
        kinds = site.feeds()
        ingest = ingest_of(store, kinds)
        visits = []
        thread = FeedThread(ingest, visits.append)
        thread.start()
        again = {url for url, kind in kinds.items() if kind not in FAILING}
        wait_until(lambda: all(sum(each.url == url for each in visits) >= 3 for url in again))
        wait_until(lambda: {each.url for each in visits} == set(kinds))
        thread.stop()
        assert max(site.most.values()) == 1
        assert all(path != "/secret/" for _, path in site.requests)
    health = {kinds[each.url]: each for each in store.feed_health()}
    assert {kind for kind, each in health.items() if each.status == "failing"} == FAILING
    said = {
        "slow": "deadline of the fetch",
        "broken": "answered 500",
        "huge": "announced with 2,097,152 bytes",
        "gone": "answered 410",
        "busy": "answered 429",
        "page": "not an RSS or Atom feed",
        "bomb": "declares an entity",
    }
    for kind, message in said.items():
        assert message in health[kind].error
        assert health[kind].failures >= 1
        assert health[kind].articles == 0
    day, hour = 24 * 3600 * 10**6, 3600 * 10**6
    assert health["gone"].due == health["gone"].visited + day
    assert health["busy"].due == health["busy"].visited + hour
    assert [health[kind].articles for kind in ("good", "changing", "cached", "redirecting")] == [2, 1, 2, 2]
    assert health["growing"].articles >= 3
    assert sum(each.articles for each in health.values()) == store.counts()["article"]
    revised = [each for each in visits if each.revised]
    assert {kinds[each.url] for each in revised} == {"changing"}
    changed = next(each for each in store.articles([*range(1, 99)]).values() if "f1." in each.url)
    assert "of /page/0" in changed.body


def test_a_thread_stops_while_a_feed_is_silent(store):
    with FeedSite(len(KINDS), slow_seconds=LIMIT_S) as site:
        slow = [url for url, kind in site.feeds().items() if kind == "slow"]
        thread = FeedThread(ingest_of(store, slow, fetch_seconds=LIMIT_S), lambda _: None)
        thread.start()
        wait_until(lambda: site.requests)
        thread.stop()
        assert not thread.alive
    (health,) = store.feed_health()
    assert health.status == "new"


def test_articles_that_the_store_cannot_take_are_stored_later(store, monkeypatch, caplog):
    monkeypatch.setattr("isogloss.service.worker._feed_ingest.STORE_RETRY_S", 0.01)
    real, refusals = store.add, iter([True, True])

    def add(*arguments, **options):
        if next(refusals, False):
            raise StoreError("the database is busy")
        return real(*arguments, **options)

    monkeypatch.setattr(store, "add", add)
    with FeedSite(1) as site:
        visits = []
        thread = FeedThread(ingest_of(store, site.feeds()), visits.append)
        thread.start()
        wait_until(lambda: visits)
        thread.stop()
    assert visits[0].new == 2
    assert caplog.text.count("are stored later: the database is busy") == 2


def test_a_feed_is_visited_again_where_the_last_process_stopped(store):
    with FeedSite(1) as site:
        for expected in (2, 0):
            ingest = ingest_of(store, site.feeds(), minutes=1e-6)
            (visit,) = ingest.visit()
            ingest.stop()
            assert (visit.new, visit.pages) == (expected, expected)
    (health,) = store.feed_health()
    assert (health.articles, health.title) == (2, f"Feed of {site.host(0)}")


def test_ten_thousand_feeds_are_taken_and_listed(store):
    """None is visited: this is what starting costs."""
    ingest = ingest_of(store, (f"https://f{n}.example/feed" for n in range(10_000)))
    ingest.stop()
    assert len(ingest.watcher.feeds) == store.counts()["feed"] == 10_000
    assert all(each.status == "new" for each in store.feed_health())
