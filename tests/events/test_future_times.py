"""No time in the future moves the clock of the window: the rest of the stream is clustered as without it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from isogloss.events import EventStream, parse_article
from isogloss.events.ingest import ArticleReader, sample_news

NOW = datetime(2031, 4, 1, tzinfo=UTC)
BOGUS = {"id": "x", "lang": "en", "title": "Comet lands in 2205", "time": "2205-03-05T08:00:00Z"}


RECORDS = [article.as_record() for article in sample_news().articles[:100]]
"""Of 2025, years before now."""


def read(path, records, **how):
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return list(ArticleReader(path, now=NOW, **how))


@pytest.mark.parametrize("at", [0, 1, 50, 100])
def test_the_window_stays_where_it_was(tmp_path, at):
    with EventStream() as without, EventStream() as stream:
        without.add(read(tmp_path / "a.jsonl", RECORDS))
        stream.add(read(tmp_path / "b.jsonl", [*RECORDS[:at], BOGUS, *RECORDS[at:]]))
        assert stream.clusters.now == without.clusters.now
        assert stream.clusters.members.keys() == {*without.clusters.members, "x"}


def test_a_stream_of_nothing_but_the_future_is_of_now(tmp_path):
    found = read(tmp_path / "a.jsonl", [BOGUS | {"id": str(number)} for number in range(3)])
    assert [(each.id, each.time) for each in found] == [("0", NOW), ("1", NOW), ("2", NOW)]


def test_few_records_are_held_back(tmp_path, monkeypatch):
    monkeypatch.setattr("isogloss.events.ingest._readers.MAX_UNDATED_ARTICLES", 2)
    found = read(tmp_path / "a.jsonl", [*(BOGUS | {"id": f"x{n}"} for n in range(4)), RECORDS[0]])
    assert [each.id for each in found] == ["x0", "x1", "x2", "x3", RECORDS[0]["id"]]


def test_a_future_time_becomes_that_of_the_newest_known_article(tmp_path):
    known = datetime(2019, 1, 1, tzinfo=UTC)
    (found,) = read(tmp_path / "a.jsonl", [BOGUS], newest=lambda: known)
    assert found.time == known


def test_a_clock_that_is_a_little_behind_is_no_reason_to_doubt_a_time():
    soon = {"title": "Storm", "lang": "en", "time": (NOW + timedelta(hours=23)).isoformat()}
    later = soon | {"time": (NOW + timedelta(hours=25)).isoformat()}
    known = NOW - timedelta(days=9)
    assert parse_article(soon, now=NOW, newest=lambda: known).time == NOW
    assert parse_article(later, now=NOW, newest=lambda: known).time == known
    assert parse_article(later, now=NOW, newest=lambda: None).time == NOW
    assert parse_article(later, now=NOW, newest=lambda: NOW + timedelta(days=1)).time == NOW
    assert parse_article(later, now=NOW).time == NOW


def test_a_record_without_an_id_has_the_same_one_whenever_it_comes():
    plain = {"title": "Comet lands", "lang": "en", "time": BOGUS["time"]}
    assert parse_article(plain, now=NOW).id == parse_article(plain, now=NOW + timedelta(days=1)).id
    assert parse_article(plain, now=NOW).id != parse_article(plain | {"time": "2204-03-05T08:00:00Z"}).id
