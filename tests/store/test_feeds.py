"""Feeds in the store: their states, their health, and the sources of articles."""

from dataclasses import asdict, replace
from datetime import timedelta

from isogloss.feeds import FeedState
from isogloss.store import SourceCount, to_micros
from tests.service import data

URL = "https://gull.example/feed"
STATE = FeedState(
    URL, etag='"7"', seen={"b": "2", "a": "+1"}, failures=2, due=900.5, title="The Gull", visited=300.25,
    succeeded=100.0, failed=300.25, error="answered 500", articles=7,
)  # fmt: skip


def test_a_state_comes_back_as_it_was_saved_with_its_entries_in_order(store):
    store.save_feed(URL, asdict(STATE))
    found = FeedState(**store.feeds()[URL])
    assert found == STATE
    assert list(found.seen) == ["b", "a"]
    later = replace(STATE, failures=0, error="", articles=9)
    store.save_feed(URL, asdict(later))
    assert FeedState(**store.feeds()[URL]) == later


def test_the_health_of_a_feed(store):
    store.save_feed(URL, asdict(STATE))
    (health,) = store.feed_health()
    assert health.as_record() == {
        "url": URL,
        "title": "The Gull",
        "status": "failing",
        "error": "answered 500",
        "failures": 2,
        "articles": 7,
        "visited": "1970-01-01T00:05:00.250000+00:00",
        "succeeded": "1970-01-01T00:01:40+00:00",
        "failed": "1970-01-01T00:05:00.250000+00:00",
        "due": "1970-01-01T00:15:00.500000+00:00",
    }


def test_feeds_are_added_once(store):
    store.save_feed(URL, asdict(STATE))
    store.add_feeds({URL: "Another title", "https://b.example/f": "B\0\ud800" + "x" * 1000})
    assert FeedState(**store.feeds()[URL]) == STATE
    new = next(each for each in store.feed_health() if each.url != URL)
    assert (new.status, len(new.title), new.as_record()["visited"]) == ("new", 500, None)
    assert FeedState(**store.feeds()["https://b.example/f"]).due == 0.0
    store.add_feeds({})
    assert store.counts()["feed"] == 2


def test_a_feed_of_an_earlier_version_has_no_health_and_keeps_its_state(store):
    with store.database.write() as session:
        session.run(
            "INSERT INTO feed VALUES (?, ?)", [URL, '{"due": 9.0, "seen": ["a", "b"], "failures": 1}']
        )
    assert store.feed_health() == []
    found = FeedState(**store.feeds()[URL])
    assert (found.due, found.failures, found.seen) == (9.0, 1, {"a": "", "b": ""})


def test_sources_are_counted_the_largest_first(store):
    found = [("en", "Gull"), ("de", "Gull"), ("en", "Gull"), ("de", "Möwe")]
    articles = [
        replace(data.article(n, lang, "Rain"), source=source) for n, (lang, source) in enumerate(found)
    ]
    newest = articles[0].time + timedelta(hours=1)
    store.add([*articles[:3], replace(articles[3], time=newest)])
    time = to_micros(articles[0].time)
    assert store.source_counts() == [
        SourceCount("Gull", 3, ("de", "en"), time),
        SourceCount("Möwe", 1, ("de",), to_micros(newest)),
    ]
    assert [each.source for each in store.source_counts(limit=1)] == ["Gull"]
