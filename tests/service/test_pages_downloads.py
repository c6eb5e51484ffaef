"""Pages link to the feed and the exports of what they show."""

import csv
import html
import io
import re

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.settings import ServerSettings, Settings
from isogloss.store import Store
from tests.service import data


@pytest.fixture
def filled(store):
    data.fill(store)
    return store


@pytest.fixture
def visitor(filled):
    with TestClient(create_app(data.settings(), filled), base_url=data.BASE) as client:
        yield client


def _links(page):
    """The feed and the tables that a page links to."""
    found = re.findall(r'<a href="(/api/v1/[^"]+)">(Atom feed|events|articles)</a>', page.text)
    return {name: html.unescape(url) for url, name in found}


@pytest.mark.parametrize(
    ("path", "tables"),
    [
        ("/", ["events", "articles"]),
        ("/?lang=de&until=2025-12-31&min_languages=2&sort=size&after=1", ["events", "articles"]),
        ("/search?q=storm&until=2031-01-01&sort=last", ["events", "articles"]),
        ("/event/e1", ["articles"]),
    ],
)
def test_pages_link_to_the_feed_and_the_tables_of_their_events(visitor, path, tables):
    page = visitor.get(path)
    links = _links(page)
    assert list(links) == ["Atom feed", *tables]
    (alternate,) = re.findall(
        r'<link rel="alternate" type="application/atom\+xml"[^>]* href="([^"]+)">', page.text
    )
    assert html.unescape(alternate) == links["Atom feed"]
    assert visitor.get(links["Atom feed"]).headers["content-type"].startswith("application/atom+xml")
    for table in tables:
        answer = visitor.get(links[table])
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")


def test_the_table_of_a_search_has_the_events_of_the_page(visitor):
    page = visitor.get("/?lang=de&sort=size")
    rows = list(csv.DictReader(io.StringIO(visitor.get(_links(page)["events"]).text)))
    shown = re.findall(r'<h2><a href="/event/([^"]+)"', page.text)
    assert shown
    assert {row["id"] for row in rows} >= set(shown)
    assert all("de" in row["languages"].split("; ") for row in rows)


def test_a_saved_search_has_its_feed(visitor, filled):
    saved = {"name": "Storms", "query": {"q": "storm", "lang": ["de"]}}
    assert visitor.post("/api/v1/searches", json=saved).status_code == 201
    feed = _links(visitor.get("/saved"))["Atom feed"]
    assert feed == "/api/v1/feeds/events?q=storm&lang=de"
    assert visitor.get(feed).status_code == 200


def test_a_source_has_its_feed(visitor, filled):
    source = filled.sources()[0]
    feed = _links(visitor.get(f"/source/{source}"))["Atom feed"]
    assert "<atom:entry" in visitor.get(feed).text


def test_pages_that_need_a_token_have_no_links_that_would_be_refused(tmp_path):
    with Store(tmp_path / "news.db") as store:
        data.fill(store)
        token = make_token(store, ["read"])
        app = create_app(Settings(server=ServerSettings(public_read=False)), store)
        with TestClient(app, base_url=data.BASE) as client:
            key = re.search(r'name="key" value="([^"]+)"', client.get("/sign-in").text)[1]
            client.post("/sign-in", data={"key": key, "token": token})
            page = client.get("/event/e1")
            assert page.status_code == 200
            assert "/api/v1/feeds" not in page.text
