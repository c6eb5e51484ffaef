"""Feeds: readers find every event and article under one id for ever, and fetch nothing twice."""

from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.store import ClusterRow, EventRow, Store, Update, to_micros
from tests.service import data

ATOM = "{http://www.w3.org/2005/Atom}"


def entries(answer):
    assert answer.status_code == 200, answer.text
    return ElementTree.fromstring(answer.content).findall(f"{ATOM}entry")


def text(entry, name):
    return entry.findtext(f"{ATOM}{name}")


def titles(answer):
    return [text(entry, "title") for entry in entries(answer)]


def test_a_feed_of_events(client):
    answer = client.get("feeds/events")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert titles(answer) == ["Élections à Brest", "Storm Ottilie hits the coast"]
    storm = entries(answer)[1]
    assert text(storm, "published") == "2025-03-05T08:00:00+00:00"
    # the events changed when the lines of their last articles were written
    assert text(storm, "updated") == "2025-03-07T08:00:00+00:00"
    assert storm.find(f"{ATOM}link").get("href") == "http://127.0.0.1/event/e1"
    assert "de: Sturm Ottilie erreicht die Küste" in text(storm, "summary")
    assert ElementTree.fromstring(answer.content).findtext(f"{ATOM}updated") == text(storm, "updated")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("place=geo:1", 1),
        ("lang=fr", 1),
        ("q=Ottilie", 1),
        ("concept=name:ottilie", 1),
        ("place=77", 0),
        ("", 2),
    ],
)
def test_every_list_search_and_place_has_a_feed(client, query, found):
    assert len(entries(client.get(f"feeds/events?{query}"))) == found


def test_feeds_of_different_searches_have_different_ids(client):
    def feed(query):
        return text(ElementTree.fromstring(client.get(f"feeds/events?{query}").content), "id")

    assert len({feed(query) for query in ("", "lang=de", "lang=fr", "place=1")}) == 4
    assert feed("lang=de") == feed("lang=de&format=atom")


def test_ids_stay_when_the_host_the_order_and_the_content_change(client, app, filled):
    before = {text(entry, "title"): text(entry, "id") for entry in entries(client.get("feeds/events"))}
    at = to_micros(data.START)
    row = EventRow("e1", at, at, 4, ["en", "de"], [], {"title": {"en": "Storm over"}})
    filled.add([data.article(9, "en", "Storm over")], now=data.START + timedelta(days=9))
    line = filled.last_line()
    filled.apply(Update(filled.position(), line, events=[row]))
    changed = entries(client.get("feeds/events", headers={"Host": "localhost"}))
    after = {text(entry, "title"): entry for entry in changed}
    assert text(after["Storm over"], "id") == before["Storm Ottilie hits the coast"]
    assert text(after["Storm over"], "updated") == "2025-03-14T08:00:00+00:00"
    assert text(after["Élections à Brest"], "id") == before["Élections à Brest"]
    assert changed[0] is after["Storm over"]


def test_another_store_has_other_ids(tmp_path):
    with Store(tmp_path / "a.db") as one, Store(tmp_path / "b.db") as other:
        assert one.instance_id() != other.instance_id()
        known = one.instance_id()
    with Store(tmp_path / "a.db") as again:
        assert again.instance_id() == known


def test_a_feed_of_an_event_has_its_articles(client, filled):
    answer = client.get("feeds/events/e0")  # a former id
    assert titles(answer) == [each.title for each in reversed(data.ARTICLES[:3])]
    newest = entries(answer)[0]
    assert newest.find(f"{ATOM}link").get("href") == "https://gull.example/3"
    assert text(newest, "published") == "2025-03-05T11:00:00+00:00"
    known = text(newest, "id")
    revised = replace(data.ARTICLES[2], body="anderer Text")
    filled.add([revised], now=data.START + timedelta(days=5))
    newest = entries(client.get("feeds/events/e1"))[0]
    assert text(newest, "id") == known
    assert text(newest, "updated") == "2025-03-10T08:00:00+00:00"
    assert client.get("feeds/events/e99").status_code == 404


def test_a_saved_search_has_a_feed(client):
    made = client.post("searches", json={"name": "Storms & more", "query": {"q": "Ottilie"}}).json()
    answer = client.get(f"feeds/searches/{made['id']}")
    assert titles(answer) == ["Storm Ottilie hits the coast"]
    assert "isogloss: Storms &amp; more" in answer.text
    assert client.get("feeds/searches/999").status_code == 404


@pytest.mark.parametrize("path", ["feeds/events", "feeds/events/e1", "feeds/events?format=rss"])
def test_conditional_requests(client, path, filled):
    first = client.get(path)
    etag, modified = first.headers["etag"], first.headers["last-modified"]
    assert modified == "Fri, 07 Mar 2025 08:00:00 GMT"
    for header, value in (
        ("If-None-Match", etag),
        ("If-None-Match", f'"other", W/{etag}'),
        ("If-None-Match", "*"),
        ("If-Modified-Since", modified),
    ):
        again = client.get(path, headers={header: value})
        assert (again.status_code, again.content) == (304, b""), value
        assert again.headers["etag"] == etag
    for headers in (
        {"If-None-Match": '"other"', "If-Modified-Since": modified},
        {"If-Modified-Since": "Fri, 07 Mar 2025 07:59:59 GMT"},
        {"If-Modified-Since": "yesterday"},
    ):
        assert client.get(path, headers=headers).status_code == 200
    at = to_micros(data.START)
    filled.add([data.article(9, "en", "More")], now=data.START + timedelta(days=9))
    row = EventRow("e1", at, at, 4, ["en"], [], {"title": {"en": "New"}})
    cluster = ClusterRow(1, "en", "e1", at, at, [1, 2, 5])
    filled.apply(Update(4, 5, clusters=[cluster], events=[row]))
    for header, value in (("If-None-Match", etag), ("If-Modified-Since", modified)):
        assert client.get(path, headers={header: value}).status_code == 200


@pytest.mark.parametrize("format", ["atom", "rss"])
def test_readers_understand_the_feeds(client, format):
    feedparser = pytest.importorskip("feedparser")
    answer = client.get(f"feeds/events?format={format}")
    parsed = feedparser.parse(answer.content)
    assert not parsed.bozo
    assert [entry.title for entry in parsed.entries] == ["Élections à Brest", "Storm Ottilie hits the coast"]
    assert parsed.entries[1].id.startswith("urn:uuid:")
    assert parsed.entries[1].link == "http://127.0.0.1/event/e1"
    assert parsed.entries[1].updated_parsed[:3] == (2025, 3, 7)


@pytest.mark.parametrize("format", ["atom", "rss"])
def test_hostile_titles_and_links_stay_text(store, format):
    hostile = "<script>alert(1)</script> & ]]> \x0b\x01 \ufffe \U0001f600"
    store.add([replace(data.article(1, "en", hostile), url="javascript:alert(1)", source=hostile)])
    at = to_micros(data.START)
    cluster = ClusterRow(1, "en", "e1", at, at, [1])
    row = EventRow("e1", at, at, 1, ["en"], [], {"title": {"en": hostile}})
    store.apply(Update(0, 1, [cluster], [], [row]))
    with TestClient(create_app(data.settings(), store), base_url=f"{data.BASE}/api/v1/") as client:
        for path in ("feeds/events", "feeds/events/e1"):
            answer = client.get(path, params={"format": format})
            read = "".join(ElementTree.fromstring(answer.content).itertext())
            assert "<script>alert(1)</script> & ]]>" in read
            assert "javascript:" not in answer.text
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_bad_requests(client):
    assert client.get("feeds/events?format=html").status_code == 422
    assert client.get("feeds/events?cursor=x").status_code == 422
    assert client.get("feeds/events?lang=zzzz").status_code == 422
    assert client.get("feeds/events/%00").status_code == 404
