"""Articles are found by their words, on both databases in the same way."""

import pytest

from isogloss.events.annotate import (
    SearchTerms,
    article_search_terms,
    query_forms,
    query_keys,
    search_forms,
)
from isogloss.store import Update, check_store, prune_before
from isogloss.store.queries import (
    ArticleText,
    articles_without_text,
    events_with_terms,
    match_articles,
    match_phrase,
)
from tests.service import data

TEXTS = [
    ArticleText(1, "storm hits coast", "roofs flew in the storm", "meaningstorm nameatal"),
    ArticleText(2, "roofs fly", "a storm of the_century 東京 京都", "meaningstorm"),
    ArticleText(3, "sturm trifft küste", "", "meaningstorm nameatal"),
    ArticleText(4, "élections à brest", "coast storm", ""),
]


@pytest.fixture
def filled(store):
    data.fill(store)
    store.apply(Update(4, 4, texts=TEXTS, text_version=1))
    return store


def found(store, column, words, limit=100, **among):
    with store.database.read() as session:
        count, matches = match_articles(session, column, words, limit, **among)
        return count, [match[:2] for match in matches]


@pytest.mark.parametrize(
    ("column", "words", "expected"),
    [
        ("text", [["storm"]], (3, [("e2", 4), ("e1", 2)])),
        ("title", [["storm"]], (1, [("e1", 1)])),
        ("title", [["storm", "sturm"]], (2, [("e1", 3)])),
        ("text", [["storm"], ["coast"]], (2, [("e2", 4), ("e1", 1)])),
        ("keys", [["nameatal"]], (2, [("e1", 3)])),
        ("text", [["nameatal"]], (0, [])),
        ("text", [["küste"]], (1, [("e1", 3)])),
        ("text", [["kuste"]], (0, [])),
        ("text", [["京都"]], (1, [("e1", 2)])),
        ("text", [["the_century"]], (1, [("e1", 2)])),
        ("text", [["stor"]], (0, [])),
    ],
)
def test_words_are_found_where_they_are(filled, column, words, expected):
    assert found(filled, column, words) == expected


@pytest.mark.parametrize(
    "word", ["AND", "NOT", "NEAR", "*", "title", '"', "'", ":", "(", "{", "}", "\\", "%", "?", "^", "-", ","]
)
def test_operators_are_words(filled, word):
    assert found(filled, "text", [[word]]) == (0, [])
    assert found(filled, "text", [["storm", word]])[0] == 3


def test_the_newest_articles_are_found_first_and_events_can_be_given(filled):
    assert found(filled, "text", [["storm"]], 2) == (2, [("e2", 4), ("e1", 2)])
    assert found(filled, "text", [["storm"]], 1) == (1, [("e2", 4)])
    assert found(filled, "text", [["storm"]], 1, among=["e1", "e9"])[1] == [("e1", 2)]
    assert found(filled, "text", [["storm"]], 1, among=[])[1] == []
    with filled.database.read() as session:
        _, matches = match_articles(session, "text", [["storm", "sturm"]], 100)
    assert [(match.event, match.articles) for match in matches] == [("e2", 1), ("e1", 3)]


def test_words_of_a_phrase_follow_each_other(filled):
    with filled.database.read() as session:
        for phrase, expected in (
            ([["hits"], ["coast"]], ["e1"]),
            ([["hits"], ["storm"]], []),
            ([["coast", "coasts"], ["storm"]], ["e2"]),
            ([["coast"], ["roofs"]], []),  # the end of a title and the beginning of a body
            ([["fly"], ["fly"]], []),
        ):
            assert [match.event for match in match_phrase(session, phrase, 10)] == expected


def test_terms_of_events(filled):
    with filled.database.read() as session:
        assert events_with_terms(session, [("place", "geo:1"), ("lang", "fr")], 9) == ["e2", "e1"]
        assert events_with_terms(session, [], 9) == []


def test_texts_are_replaced_and_their_versions_known(filled):
    filled.apply(Update(4, 4, texts=[ArticleText(1, "rain", "", "")], text_version=2))
    assert found(filled, "text", [["hits"]]) == (0, [])
    assert found(filled, "text", [["rain"]]) == (1, [("e1", 1)])
    with filled.database.read() as session:
        assert articles_without_text(session, 1, 10**9, 9) == [1]
        assert articles_without_text(session, 2, 10**9, 9) == [4, 3, 2]
        assert articles_without_text(session, 2, 4, 1) == [3]
    filled.apply(Update(4, 4, texts=[ArticleText(77, "rain", "", "")], text_version=2))
    assert found(filled, "text", [["rain"]])[0] == 1, "of an article that was deleted meanwhile"


def test_pruned_articles_are_found_no_more(filled):
    filled.apply(Update(4, 4, checkpoint_parts=[("events", 4, b"")]))
    prune_before(filled, data.START.replace(year=2026))
    assert filled.counts()["article"] == 0
    assert found(filled, "text", [["storm"]]) == (0, [])
    assert check_store(filled) == []
    with filled.database.read() as session:
        assert session.run("SELECT count(*) FROM article_text") == [(0,)]


def test_search_terms_without_an_article_are_a_problem(filled):
    if filled.database.column_types["blob"] == "BLOB":
        with filled.database.write() as session:
            session.run(
                "INSERT INTO article_text (rowid, version, title, body, keys) VALUES (9, 1, '', '', '')"
            )
        assert check_store(filled) == ["1 search terms of missing articles"]


@pytest.mark.parametrize(
    ("title", "lang", "wanted"),
    [
        ("Ελλάδα: σεισμός", "el", ["ελλαδ", "σεισμ"]),
        ("हिन्दी समाचार", "hi", []),
        ("地震 in 東京都", "ja", ["地震", "in", "東京", "京都"]),
        ("\uff26\uff35\uff2c\uff2c\uff11\uff12", "en", ["full12"]),
        ("\ud800 \0 \u202e x\u200dy", "en", None),
        ("<b>&'\"--/*", "en", None),
    ],
)
def test_any_text_has_terms_that_can_be_stored_and_found(filled, title, lang, wanted):
    terms = article_search_terms(title, "", lang)
    if wanted:
        assert terms.title.split() == wanted
    filled.apply(Update(4, 4, texts=[ArticleText(4, terms.title, "", terms.keys)], text_version=1))
    for word in terms.title.split():
        assert ("e2", 4) in found(filled, "text", [[word]])[1], word
    assert article_search_terms("", "", lang) == SearchTerms()


def test_latin_words_in_texts_of_other_scripts_stay_as_they_are():
    """Korean words are cut to two letters, under which English words must not be found."""
    assert search_forms("Microsoft 지진으로", "ko") == ["microsoft", "지진"]
    assert query_forms("turkey", ["ko", "en", "sq"]) == {"turkey", "turke"}


def test_what_a_word_means_in_few_languages_does_not_count():
    assert query_keys("europe", ["en", "fr", "de", "it", "sl", "hr"]) == {"meaningeurope"}
    assert query_keys("Erdbeben", ["en", "de"]) == {"meaningearthquake"}
