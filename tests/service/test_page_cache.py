"""A page that is kept is the one that would be written now."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from isogloss.service._page_cache import PageCache
from isogloss.service.app import create_app
from isogloss.store import EventRow, Update
from tests.service import data


@pytest.fixture
def client(filled):
    with TestClient(create_app(data.settings(), filled), base_url=data.BASE) as client:
        client.store = filled
        yield client


def _event(title):
    told = {"title": {"en": title}, "languages": {"en": 1}}
    return EventRow("e9", 0, 0, 1, ["en"], [], told)


def _apply(store, event, seq):
    store.apply(Update(store.position(), seq, events=[event]))


def _written(client, address, **options):
    """The page, and how it is when nothing is kept."""
    kept = client.get(address, **options).text
    client.app.state.isogloss.pages = PageCache()
    return kept, client.get(address, **options).text


def test_a_page_is_rendered_once(client, monkeypatch):
    first = client.get("/").text
    monkeypatch.setattr("isogloss.service.web.pages._events.render_html", lambda *_, **__: "written again")
    assert client.get("/").text == first
    assert client.get("/?lang=de").text == "written again"
    assert client.get("/", headers={"Accept-Language": "de"}).text == "written again"


def test_changed_content_is_rendered_again(client):
    before = client.get("/").text
    line = client.store.position()
    _apply(client.store, _event("Rain in Galway"), line + 1)
    kept, anew = _written(client, "/")
    assert kept == anew != before
    assert "Rain in Galway" in kept


def test_content_that_changes_at_the_same_line_is_rendered_again(client):
    _apply(client.store, _event("Rain in Galway"), client.store.position() + 1)
    client.get("/")
    with client.store.database.write() as session:
        session.run("UPDATE event SET data = replace(data, 'Rain', 'Snow') WHERE id = 'e9'")
    kept, anew = _written(client, "/")
    assert kept == anew
    assert "Snow in Galway" in kept
    with client.store.database.write() as session:
        session.run("DELETE FROM event WHERE id = 'e9'")
    assert "Snow in Galway" not in client.get("/").text.partition('id="results"')[2]


def test_filters_and_readers_have_separate_pages(client):
    addresses = ["/", "/?lang=de", "/?lang=fr", "/?sort=size", "/?min_languages=2"]
    for _ in range(2):
        pages = [client.get(each).text for each in addresses]
        pages.append(client.get("/", headers={"Accept-Language": "de"}).text)
    assert len(set(pages)) == len(pages)
    for address, page in zip(addresses, pages, strict=False):
        assert _written(client, address) == (page, page)


def test_the_least_recently_used_pages_are_evicted():
    pages, made = PageCache(max_pages=2), []

    def page(name):
        return pages.get(name, "the same", lambda: made.append(name) or name)

    for name in "abacab":
        assert page(name) == name
    assert made == ["a", "b", "c", "b"]
