"""Which article is which: keys that no two articles share, and times that sources correct."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from isogloss.events import parse_article
from isogloss.exceptions import StoreError

from .test_articles import DAY, article

RECORD = {"id": "7", "source": "Daily", "title": "Rain", "body": "It rains.", "lang": "en"}
NOW = datetime(2031, 4, 1, tzinfo=UTC)


def statuses(store, *articles, **how):
    return [receipt.status for receipt in store.add(articles, **how)]


def test_a_blank_in_a_source_and_one_in_an_id_are_not_mixed_up(store):
    base = article(1, url="")
    two = [replace(base, source="Daily News", id="7"), replace(base, source="Daily", id="News 7")]
    assert statuses(store, *two) == ["new", "new"]
    assert statuses(store, *two) == ["same", "same"]


def test_a_corrected_time_is_a_revision_and_the_stored_time(store):
    first = article(1)
    later = replace(first, time=DAY + timedelta(hours=5))
    assert statuses(store, first, later) == ["new", "revised"]
    assert statuses(store, later) == ["same"]
    assert store.articles([1])[1].time == later.time
    assert [row["time"] for row in store.revisions(1)] == [int(first.time.timestamp() * 1e6)]
    assert [(entry.kind, entry.article.time) for entry in store.journal()] == [
        ("article", first.time),
        ("revision", later.time),
    ]


def test_a_time_of_the_future_is_the_same_at_every_delivery_until_it_is_corrected(store):
    def told(time, now):
        return parse_article(RECORD | {"time": time}, now=now)

    far = "2205-03-05T08:00:00+00:00"
    assert statuses(store, told(far, NOW)) == ["new"]
    assert statuses(store, told(far, NOW + timedelta(days=2))) == ["same"]
    assert statuses(store, told("2031-03-05T08:00:00Z", NOW + timedelta(days=3))) == ["revised"]
    assert store.articles([1])[1].time == datetime(2031, 3, 5, 8, tzinfo=UTC)


def test_a_time_that_was_a_little_in_the_future_is_the_same_when_it_has_come(store):
    soon = RECORD | {"time": "2031-04-01T00:30:00Z"}
    assert statuses(store, parse_article(soon, now=NOW)) == ["new"]
    assert statuses(store, parse_article(soon, now=NOW + timedelta(hours=1))) == ["same"]


def test_a_page_without_a_time_that_is_fetched_again_is_the_same(store):
    fetches = [RECORD | {"fetched": f"2031-03-{day:02}T08:00:00Z"} for day in (1, 2)]
    assert statuses(store, *(parse_article(each, now=NOW) for each in fetches)) == ["new", "same"]
    assert store.articles([1])[1].time == datetime(2031, 3, 1, 8, tzinfo=UTC)


def test_a_request_key_does_not_stand_for_another_time(store):
    first = article(1)
    assert statuses(store, first, key="morning") == ["new"]
    assert statuses(store, first, key="morning") == ["new"]
    with pytest.raises(StoreError, match="was used for other articles"):
        store.add([replace(first, time=DAY + timedelta(hours=5))], key="morning")
