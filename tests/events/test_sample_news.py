"""The shipped sample news keeps the promises of its README."""

import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest

LANGUAGES = {"en", "de", "es", "fr", "ru"}
FIELDS = {"id", "lang", "title", "body", "time", "source", "url", "event"}
SAMPLE = files("isogloss.events.ingest") / "sample"


@pytest.fixture(scope="module")
def articles():
    return [json.loads(line) for line in (SAMPLE / "news.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def events(articles):
    grouped = defaultdict(list)
    for article in articles:
        grouped[article["event"]].append(article)
    return grouped


def instant(article):
    return datetime.fromisoformat(article["time"])


def sentences(text):
    return set(re.split(r"(?<=[.!?])[»\"”]?\s+", text))


def share_of_cyrillic(text):
    letters = [c for c in text if c.isalpha()]
    return sum("\u0400" <= c <= "\u04ff" for c in letters) / len(letters)


def test_size(articles, events):
    assert len(articles) >= 330
    assert len(events) == 46
    assert set(Counter(a["lang"] for a in articles)) == LANGUAGES
    assert min(Counter(a["lang"] for a in articles).values()) >= 50


def test_fields_ids_and_addresses(articles):
    for number, article in enumerate(articles, start=1):
        assert set(article) - {"duplicate_of"} == FIELDS
        assert all(isinstance(value, str) and value == value.strip() and value for value in article.values())
        assert article["id"] == f"n{number:04d}"
        assert article["url"] == f"https://news.example/{article['id']}"


def test_bodies_are_long_enough_and_in_their_script(articles):
    for article in articles:
        assert len(article["body"].split()) >= 65, article["id"]
        share = share_of_cyrillic(article["body"])
        assert share > 0.9 if article["lang"] == "ru" else share == 0, article["id"]


def test_times_have_zones_and_are_in_order(articles):
    times = [instant(article) for article in articles]
    assert all(time.utcoffset() is not None for time in times)
    assert times == sorted(times)
    assert datetime(2025, 3, 3, tzinfo=UTC) <= times[0]
    assert times[-1] < datetime(2025, 3, 25, tzinfo=UTC)


def test_shape_of_the_events(events):
    spread = Counter(len({a["lang"] for a in group}) for group in events.values())
    assert 6 <= spread[1] <= 10
    for event, group in events.items():
        assert 3 <= len(group) <= 14, event
        assert instant(group[-1]) - instant(group[0]) <= timedelta(days=5), event


def test_articles_share_no_sentence_unless_reprinted(articles):
    seen = {}
    for article in articles:
        if "duplicate_of" not in article:
            for sentence in sentences(article["body"]):
                assert sentence not in seen, (seen.get(sentence), article["id"], sentence)
                seen[sentence] = article["id"]


def test_reprints_repeat_an_earlier_text_of_another_outlet(articles):
    by_id = {article["id"]: article for article in articles}
    reprints = [article for article in articles if "duplicate_of" in article]
    assert 8 <= len(reprints) <= 12
    for reprint in reprints:
        original = by_id[reprint["duplicate_of"]]
        assert "duplicate_of" not in original
        assert (original["event"], original["lang"]) == (reprint["event"], reprint["lang"])
        assert original["source"] != reprint["source"]
        assert instant(original) < instant(reprint)
        assert original["body"] != reprint["body"]
        assert original["title"] != reprint["title"]
        assert len(sentences(original["body"]) & sentences(reprint["body"])) >= 2


def test_readme_table_agrees(events):
    rows = re.findall(
        r"^\| (e\d\d) \| [^|]+ \| ([a-z ]+) \| (\d+) \|",
        (SAMPLE / "README.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    told = {event: (set(languages.split()), int(count)) for event, languages, count in rows}
    assert told == {e: ({a["lang"] for a in group}, len(group)) for e, group in events.items()}
