"""Sources and feeds: what the page and the API show, and to whom."""

from dataclasses import replace

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.client import Client
from isogloss.service.server import running
from tests.service import data

SECRET = "https://gull.example/feed?key=secret"
FEEDS = {
    "https://ok.example/feed": {
        "title": "Fine",
        "visited": 100.0,
        "succeeded": 100.0,
        "due": 700.0,
        "articles": 7,
    },
    SECRET: {
        "visited": 100.0,
        "failed": 100.0,
        "failures": 2,
        "error": f"{SECRET}: answered 500",
        "due": 900.0,
    },
    "https://new.example/feed": {"title": "<script>alert(1)</script>"},
}


@pytest.fixture
def filled(store):
    store.add([*data.ARTICLES, replace(data.ARTICLES[0], id="9", url="", source="")])
    for url, state in FEEDS.items():
        store.save_feed(url, state)
    return store


def visitor(store, **server):
    app = create_app(data.settings(server=server) if server else data.settings(), store)
    return TestClient(app, base_url=f"http://{server.get('host', '127.0.0.1')}")


def test_the_page_shows_sources_and_feeds_those_that_fail_first(filled):
    with visitor(filled) as client:
        page = client.get("/sources").text
    assert '<a href="/source/The%20Gull">The Gull</a>' in page
    assert "English, French, German" in page or "German, English, French" in page
    assert "without a name" in page
    assert "3 feeds, 1 failing." in page
    assert page.index("failed 2 times") < page.index("Fine") < page.index("not visited yet")
    assert "<script>alert" not in page


def test_an_empty_store_has_a_page_too(store):
    with visitor(store) as client:
        page = client.get("/sources").text
    assert "There are no articles yet." in page
    assert "No feeds are watched yet." in page


def test_feeds_are_shown_to_administrators_only(filled):
    """Their URLs may contain keys."""
    tokens = {scope: make_token(filled, [scope]) for scope in ("read", "admin")}
    with visitor(filled, host="192.0.2.7") as client:
        seen = {
            scope: client.get("/sources", headers={"Authorization": f"Bearer {token}"}).text
            for scope, token in tokens.items()
        } | {"nobody": client.get("/sources").text}
    for scope, page in seen.items():
        assert "The Gull" in page
        assert ("key=secret" in page) == (scope == "admin")


def test_the_api_and_its_client(filled):
    settings = data.settings(server={"port": 0})
    with running(create_app(settings, filled), settings) as url, Client(url) as client:
        gull, nameless = client.sources()
        assert (gull["source"], gull["articles"], gull["languages"]) == ("The Gull", 4, ["de", "en", "fr"])
        assert (nameless["source"], nameless["articles"]) == ("", 1)
        assert [each["source"] for each in client.sources(limit=1)] == ["The Gull"]
        assert [each["url"] for each in client.feeds()] == sorted(FEEDS)
        (failing,) = client.feeds(failing=True)
        assert (failing["status"], failing["failures"], failing["succeeded"]) == ("failing", 2, None)
        assert len(client.feeds(limit=2)) == 2


def test_a_page_of_many_feeds_is_bounded(store):
    store.add_feeds({f"https://f{n}.example/feed": f"Feed {n}" for n in range(300)})
    with visitor(store) as client:
        page = client.get("/sources").text
    assert "300 feeds, 0 failing; the first 200 are shown." in page
    assert page.count("not visited yet") == 200
