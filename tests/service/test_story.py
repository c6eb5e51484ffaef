"""The story of a stored event: what the reader makes of a store, and what the API tells."""

from datetime import timedelta

import pytest

from isogloss.service.story import StoryReader
from tests.service.stories import TOLD, article, fill


@pytest.fixture
def news(store):
    return fill(store)


def read(store, name="e1", **options):
    return StoryReader(store, **options).read(store.event(name))


def test_titles_come_with_their_articles(news):
    titles = read(news).titles
    assert [(one.lang, one.article.source) for one in titles] == [
        ("de", "bote"),
        ("en", "gull"),
        ("fr", "phare"),
    ]
    assert all(one.article.title == one.title for one in titles)


def test_a_title_whose_article_was_not_read_stands_alone(news):
    story = read(news, max_articles=1)
    assert [one.article is None for one in story.titles] == [True, False, True]
    assert story.examined == 1


def test_links_between_events_are_no_links_of_the_event(news):
    assert news.event("e1")["links"] == []
    assert news.linked_events([1, 2, 3]) == {"e2": 0.64}
    assert news.linked_events([4]) == {"e1": 0.64}
    assert news.linked_events([1, 2, 3, 4, 5]) == {}
    assert news.linked_events([]) == {}


def test_follow_ups_are_found_from_both_sides(news):
    (later,) = read(news).related
    assert (later.related.id, later.related.relation, later.related.link) == ("e2", "later", 0.64)
    assert "linked with 64 %" in later.related.reason
    (earlier,) = read(news, "e2").related
    assert (earlier.related.id, earlier.related.relation) == ("e1", "earlier")
    assert read(news, "e3").related == []


def test_quantities_are_compared(news):
    (dead,) = read(news).quantities
    assert {lang: one.value for lang, one in dead.latest.items()} == {"en": 2, "de": 3, "fr": 2}
    assert dead.differing == {"de"}


def test_sources_and_languages_in_the_order_of_their_reports(news):
    story = read(news)
    assert [one.name for one in story.coverage.sources] == ["gull", "bote", "phare"]
    assert story.coverage.languages[1].lag == timedelta(days=0.1)
    assert story.absent_languages == ["ru"]
    assert story.absent_sources == []


def test_a_source_is_missed_where_it_usually_reports(store):
    many = {
        f"e{n}": [
            article(f"{n}{s}", "en", "News", day=n, source=s)
            for s in ("gull", "bote", *(["phare"] if n else []))
        ]
        for n in range(6)
    }
    (absent,) = read(fill(store, many), "e0").absent_sources
    assert (absent.source, absent.reported, absent.events) == ("phare", 5, 5)


def test_what_took_long_is_kept_until_an_article_changes(news, monkeypatch):
    computed = []
    original = StoryReader._study.__globals__["compare_quantities"]

    def counted(articles):
        computed.append(len(articles))
        return original(articles)

    monkeypatch.setitem(StoryReader._study.__globals__, "compare_quantities", counted)
    reader = StoryReader(news)
    first, again = (reader.read(news.event("e1")) for _ in range(2))
    assert (first, computed) == (again, [3])
    news.add([article("b", "de", "Großbrand in Antwerpen: vier Tote", day=0.1, source="bote")])
    assert reader.read(news.event("e1")).quantities[0].latest["de"].value == 4
    assert computed == [3, 3]


def test_the_beginning_of_a_body_is_enough(store):
    body = "Nothing is known. " * 200 + "12 dead"
    fill(store, {"e1": [article(s, "en", "Fire", day=0, source=s, body=body) for s in ("gull", "bote")]})
    assert read(store).quantities == []
    assert len(store.articles([1], max_body=5)[1].body) == 5


def test_an_event_of_one_article(store):
    story = read(fill(store, {"e1": TOLD["e1"][:1]}))
    assert (len(story.chapters), story.quantities, story.related) == (1, [], [])
    assert story.as_dict()["chapters"][0]["articles"] == 1


def test_the_story_by_the_api(client, filled):
    told = client.get("events/e1/story", params={"lang": ["fr", "deu"]}).json()
    assert [each["lang"] for each in told["titles"]] == ["en", "de"]
    assert told["titles"][0]["gloss"] is None
    assert told["titles"][0]["article"]["url"] == "https://gull.example/1"
    german = {"name": "de", "languages": ["de"], "articles": 1}
    assert told["languages"][1] == german | {"first": "2025-03-05T11:00:00Z", "lag_seconds": 10800}
    assert told["absent_languages"] == ["fr"]
    assert len(told["chapters"]) == 1
    assert client.get("events/e0/story").json()["id"] == "e1"
    gloss = client.get("events/e1/story").json()["titles"][1]["gloss"]
    assert gloss == {"lang": "en", "kind": "words", "text": "storm Ottilie erreicht the coast"}


def test_bad_input_of_the_story(client):
    assert client.get("events/nothing/story").status_code == 404
    answer = client.get("events/e1/story", params={"lang": "klingon"})
    assert (answer.status_code, "klingon" in answer.json()["error"]["message"]) == (422, True)
