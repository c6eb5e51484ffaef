"""Articles are deleted on request with all traces of their text."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from isogloss.events.annotate import article_search_terms
from isogloss.store import Update, check_store, delete_articles, list_deletions
from isogloss.store.queries import GENERATION, ArticleText
from tests.service import data

MARKER = "Zanzibarquux"


@pytest.fixture
def filled(store):
    """Three stories; the marker is in every text that comes of article 1."""
    first = replace(data.ARTICLES[0], title=f"Storm {MARKER} hits", body=f"It hits {MARKER}.")
    articles = [first, *data.ARTICLES[1:]]
    store.add(articles, key="morning", refused=[("time", "no time", first.as_record() | {"time": ""})])
    store.add([replace(first, body=f"It hit {MARKER} again.")], now=data.START)
    saved = data.ARTICLES[:]
    try:
        data.ARTICLES[:] = [replace(first, body=f"It hit {MARKER} again."), *data.ARTICLES[1:]]
        data.fill(store)
    finally:
        data.ARTICLES[:] = saved
    store.save_feed(
        "https://gull.example/feed", {"seen": {first.url: "+1", first.id: "", "https://gull.example/2": "2"}}
    )
    with store.database.write() as session:
        old = json.dumps({"seen": [first.url, "https://gull.example/2"]})  # as version 0.1.0 saved it
        session.run("INSERT INTO feed VALUES ('https://gull.example/old', ?)", [old])
    terms = article_search_terms(first.title, first.body, first.lang)
    others = [ArticleText(number, f"storm {number}", "", "") for number in (2, 3, 4)]
    text = ArticleText(1, terms.title, terms.body, f"{terms.keys} name{MARKER.lower()}")
    store.apply(Update(4, 4, texts=[text, *others], text_version=1))
    store.apply(Update(4, 4, checkpoint_parts=[("part 0", 4, MARKER.encode()), ("events", 4, b"")]))
    with store.database.write() as session:
        session.run(
            "UPDATE event SET data = replace(data, '\"confidence\"', ?) WHERE id = 'e1'",
            [f'"summary":{{"en":"It hits {MARKER}."}},"confidence"'],
        )
        session.run("INSERT INTO event_term VALUES ('e1', 'concept', ?)", [f"name:{MARKER}"])
        session.run("INSERT INTO attempt VALUES (1, 2, 'slow', ?, 12, 13, 0)", [MARKER])
        session.run("INSERT INTO rebuilt_cluster VALUES (1, 'en', 'e1', 0, 0, 1, ?)", [MARKER])
        session.run(
            "INSERT INTO verdict (a, b, same, note, received, article_a, article_b) "
            "VALUES (1, 2, 1, '', 9, 1, 3)"
        )
    return store


def traces(store):
    """Tables with the marker in one of their rows."""
    with store.database.read() as session:
        if store.database.column_types["blob"] == "BLOB":
            tables = session.run("SELECT name FROM sqlite_master WHERE type = 'table'")
        else:
            tables = session.run("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        return sorted(
            name
            for (name,) in tables
            if any(
                MARKER.lower().encode() in _bytes(value).lower()
                for row in session.run(f"SELECT * FROM {name}")
                for value in row
            )
        )


def _bytes(value):
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def test_nothing_of_a_deleted_article_is_in_any_table(filled):
    before = set(traces(filled))
    assert {"article", "revision", "cluster", "event", "quarantine", "snapshot"} < before
    assert {"article_text", "article_text_data"} & before
    assert delete_articles(filled, [1, 99], who="desk", now=data.START) == [1]
    assert traces(filled) == []
    assert check_store(filled) == []
    assert filled.articles([1]) == {}
    assert [(each["article"], each["who"]) for each in list_deletions(filled)] == [(1, "desk")]
    assert delete_articles(filled, [1], who="desk") == []


def test_the_rest_of_the_story_stays_and_waits_for_its_rebuild(filled):
    delete_articles(filled, [1], who="desk")
    told = filled.event("e0")
    assert (told["id"], told["title"]["en"], told["languages"]) == (
        "e1",
        data.ARTICLES[1].title,
        {"en": 1, "de": 1},
    )
    assert [each["title"] for each in told["clusters"]] == [data.ARTICLES[1].title, data.ARTICLES[2].title]
    assert told["links"] == []
    assert filled.rebuild_requested()
    assert filled.checkpoint_lines() == []
    with filled.database.read() as session:
        assert session.run("SELECT article_a, article_b FROM verdict") == [(2, 3)]
        feeds = [json.loads(row[0])["seen"] for row in session.run("SELECT data FROM feed ORDER BY url")]
        assert session.run("SELECT count(*) FROM request") == [(0,)]
    assert feeds == [{"https://gull.example/2": "2"}, ["https://gull.example/2"]]


def test_lines_become_tombstones_and_a_later_delivery_is_not_stored(filled):
    lines = [(entry.seq, entry.kind) for entry in filled.journal()]
    delete_articles(filled, [1], who="desk")
    after = [(entry.seq, entry.kind, entry.article) for entry in filled.journal()]
    assert [each[:2] for each in after[: len(lines)]] == [
        (seq, "deleted" if seq in (1, 5) else kind) for seq, kind in lines
    ]
    assert after[0][2] is None
    again = replace(data.ARTICLES[0], time=data.START + timedelta(days=1))
    assert [(each.status, each.seq) for each in filled.add([again, data.ARTICLES[1]])] == [
        ("deleted", 1),
        ("same", 2),
    ]
    assert filled.counts()["article"] == 3


def test_a_worker_that_has_read_a_deleted_article_writes_nothing_more(filled):
    before = filled.position(GENERATION)
    delete_articles(filled, [1], who="desk")
    with pytest.raises(Exception, match="articles were deleted"):
        filled.apply(Update(4, 5, generation=before))


def test_an_article_that_no_worker_has_read_needs_no_rebuild(filled):
    (receipt,) = filled.add([data.article(9, "en", MARKER)])
    delete_articles(filled, [receipt.seq], who="desk")
    assert not filled.rebuild_requested()
    assert filled.checkpoint_lines() == [4]


def test_the_last_article_of_a_story_takes_it_along(filled):
    delete_articles(filled, [4], who="desk")
    assert filled.event("e2") is None
    assert check_store(filled) == []


def test_compacted_files_have_no_deleted_bytes(filled):
    delete_articles(filled, [1], who="desk")
    filled.database.compact()
    assert filled.counts()["article"] == 3
    if hasattr(filled.database, "path"):
        place = filled.database.path
        files = [file for file in place.parent.iterdir() if file.name.startswith(place.name)]
        assert not any(MARKER.encode() in file.read_bytes() for file in files)
