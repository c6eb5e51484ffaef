"""The pages of a place, a concept and a source, and the route that returns the same."""

import re

import pytest

from isogloss.store import ClusterRow, EventRow, Update
from tests.service import data

PLACE, CONCEPT, SOURCE = "/place/geo:1", "/concept/name:ottilie", "/source/The%20Gull"


@pytest.fixture
def pages(client):
    client.base_url = data.BASE
    return client


@pytest.mark.parametrize(
    ("path", "heading", "events"), [(PLACE, "geo:1", 1), (CONCEPT, "Ottilie", 1), (SOURCE, "The Gull", 2)]
)
def test_a_page_has_its_events_and_leads_to_the_list(pages, path, heading, events):
    page = pages.get(path).text
    assert re.search(rf"<h1[^>]*>{heading}</h1>", page)
    assert len(re.findall(r'<article class="card">', page)) == events
    assert "Storm Ottilie hits the coast" in page
    (list_url,) = set(re.findall(r'<a href="(/\?[^"]+)">\d+ events?</a>', page))
    assert pages.get(list_url.replace("&amp;", "&")).text.count('<article class="card">') == events


def test_pages_lead_to_each_other(pages):
    assert 'href="/concept/name%3Aottilie"' in pages.get(SOURCE).text
    assert 'href="/source/The%20Gull"' in pages.get(CONCEPT).text
    assert 'href="/concept/name%3Aottilie">About' in pages.get("/?concept=name:ottilie").text


def test_names_with_slashes_have_pages(pages, filled):
    filled.add([data.article(9, "en", "Rain")])
    with filled.database.write() as session:
        session.run("UPDATE article SET source = 'Gull/Auk?#' WHERE seq = 5")
    line = filled.position()
    row = EventRow("e5", 0, 0, 1, ["en"], (), {"title": {"en": "Rain"}})
    filled.apply(Update(line, line + 1, events=[row], clusters=[ClusterRow(9, "en", "e5", 0, 0, [5])]))
    assert ">Gull/Auk?#</h1>" in pages.get("/source/Gull%2FAuk%3F%23").text


@pytest.mark.parametrize("path", ["/place/none", "/concept/x:y/z", "/source/%00", "/source/%ED%A0%80"])
def test_without_events_there_is_no_page(pages, path):
    answer = pages.get(path)
    assert answer.status_code == 404
    assert "There are no events" in answer.text


def test_the_api_returns_the_same(client):
    found = client.get("overview", params={"kind": "source", "id": "The Gull"}).json()
    assert (found["events"], found["languages"]) == (2, {"de": 1, "en": 1})
    assert [(place["name"], place["events"]) for place in found["places"]] == [("Galway", 1)]
    assert (
        client.get("overview", params={"kind": "concept", "id": "name:ottilie"}).json()["details"]["label"]
        == "Ottilie"
    )


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"kind": "place", "id": "x"}, 404),
        ({"kind": "mood", "id": "x"}, 422),
        ({"kind": "place", "id": ""}, 422),
        ({}, 422),
    ],
)
def test_bad_queries(client, params, status):
    assert client.get("overview", params=params).status_code == status
