"""Saved searches over HTTP: whose they are, and what is said of one that can no longer be run."""

import html
import json
import re

import pytest
from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from tests.service import data

STORMS = {"name": "Storms", "query": {"q": "storm -football", "lang": ["de"], "since": "2025-03-05"}}


def test_a_search_is_saved_changed_and_deleted(client):
    made = client.post("searches", json=STORMS)
    assert made.status_code == 201
    saved = made.json()
    assert saved["query"] == {"q": "storm -football", "lang": ["de"], "since": "2025-03-05T00:00:00"}
    assert (saved["name"], saved["shared"], saved["error"]) == ("Storms", True, "")
    assert client.get(f"searches/{saved['id']}").json() == saved
    assert client.get("searches").json() == [saved]
    changed = client.put(f"searches/{saved['id']}", json={"name": " Big \n storms\0", "query": {"q": "gale"}})
    assert (changed.json()["name"], changed.json()["query"]) == ("Big storms", {"q": "gale"})
    assert client.delete(f"searches/{saved['id']}").status_code == 204
    assert client.get("searches").json() == []
    for method in ("GET", "DELETE"):
        assert client.request(method, f"searches/{saved['id']}").status_code == 404
    assert client.put(f"searches/{saved['id']}", json=STORMS).status_code == 404


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"q": "-storm"}, "only excludes; add a word"),
        ({"lang": ["Englisch"]}, "near ones: en (English)"),
        ({"mood": "bad"}, "mood"),
        ({"sort": "best"}, "sort"),
        ({"min_size": 0}, "min_size"),
        ({"q": "x" * 2001}, "q"),
        ({"since": 7}, "since"),
        ({"until": "0001-13-01"}, "until"),
    ],
)
def test_a_search_that_could_not_be_run_is_not_saved(client, query, said):
    answer = client.post("searches", json={"name": "x", "query": query})
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]
    assert client.get("searches").json() == []


@pytest.mark.parametrize("name", ["", " \n", "x" * 201, None])
def test_a_search_has_a_name(client, name):
    assert client.post("searches", json={"name": name, "query": {}}).status_code == 422


def test_names_and_numbers_of_searches_are_bounded(filled):
    app = create_app(data.settings(saved_searches=2), filled)
    with TestClient(app, base_url=f"{data.BASE}/api/v1/") as client:
        first = client.post("searches", json=STORMS).json()
        again = client.post("searches", json=STORMS)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
        assert client.post("searches", json=STORMS | {"name": "b"}).status_code == 201
        assert "at most 2" in client.post("searches", json=STORMS | {"name": "c"}).json()["error"]["message"]
        renamed = client.put(f"searches/{first['id']}", json=STORMS | {"name": "b"})
        assert renamed.status_code == 409
        assert client.get("limits").json()["limits"]["saved_searches"] == 2


def test_a_search_that_a_later_version_cannot_run_says_so(client, filled):
    saved = client.post("searches", json=STORMS).json()
    for query, said in (
        ({"mood": "bad"}, "mood: "),
        ({"lang": ["qqq"]}, "qqq"),
        ({"q": "-x"}, "only excludes"),
    ):
        with filled.database.write() as session:
            session.run("UPDATE saved_search SET query = ?", [json.dumps(query)])
        found = client.get(f"searches/{saved['id']}").json()
        assert said in found["error"]
        assert found["query"] == query
        assert client.get("searches").json() == [found]


def test_searches_of_one_token_are_hidden_from_others(filled):
    app = create_app(data.settings(), filled)
    with TestClient(app, base_url=f"{data.BASE}/api/v1/") as client:
        shared = client.post("searches", json=STORMS).json()
        desk, other, admin = (
            {"Authorization": f"Bearer {make_token(filled, scopes)}"}
            for scopes in (["read", "write"], ["read", "write"], ["admin"])
        )
        own = client.post("searches", json=STORMS, headers=desk).json()
        assert (own["shared"], shared["shared"]) == (False, True)
        assert client.get("searches", headers=desk).json() == [shared, own]
        assert client.get("searches", headers=other).json() == [shared]
        assert client.get("searches").json() == []  # a visitor
        for headers in (other, admin):
            for method in ("GET", "PUT", "DELETE"):
                answer = client.request(method, f"searches/{own['id']}", headers=headers, json=STORMS)
                assert answer.status_code == 404
        refused = client.put(f"searches/{shared['id']}", headers=desk, json=STORMS)
        assert (refused.status_code, "admin token" in refused.text) == (403, True)
        assert client.delete(f"searches/{shared['id']}", headers=desk).status_code == 403
        assert client.delete(f"searches/{shared['id']}", headers=admin).status_code == 204
        assert client.delete(f"searches/{own['id']}", headers=desk).status_code == 204


def key_of(page):
    return re.search(r'name="key" value="([^"]+)"', page.text)[1]


def test_the_page_saves_lists_and_deletes_searches(client, filled):
    page = client.get(
        f"{data.BASE}/search?q=storm+-football&lang=de&since=2025-03-05&until=2025-03-06&sort=last"
    )
    hidden = html.unescape(re.search(r'name="query" value="([^"]+)"', page.text)[1])
    form = {"key": key_of(page), "name": "<b>Storms</b>", "query": hidden}
    assert client.post(f"{data.BASE}/saved", data=form | {"key": "x" * 43}).status_code == 403
    assert client.post(f"{data.BASE}/saved", data=form | {"name": " "}).status_code == 422
    listed = client.post(f"{data.BASE}/saved", data=form)
    assert (listed.status_code, listed.url.path) == (200, "/saved")
    assert "&lt;b&gt;Storms&lt;/b&gt;" in listed.text
    (saved,) = filled.saved_searches()
    assert saved.query == {
        "q": "storm -football",
        "lang": ["de"],
        "since": "2025-03-05T00:00:00",
        "until": "2025-03-06T23:59:59.999999Z",
        "sort": "last",
    }
    again = html.unescape(re.search(r'href="(/search\?q=[^"]+)"', listed.text)[1])
    reread = client.get(f"{data.BASE}{again}")
    assert html.unescape(re.search(r'name="query" value="([^"]+)"', reread.text)[1]) == hidden
    assert client.post(f"{data.BASE}/saved", data=form).status_code == 409
    with filled.database.write() as session:
        session.run('UPDATE saved_search SET query = \'{"mood":"bad"}\'')
    assert "This search can no longer be run: mood" in client.get(f"{data.BASE}/saved").text
    gone = client.post(f"{data.BASE}/saved/{saved.id}/delete", data={"key": form["key"]})
    assert "no saved searches" in gone.text
    assert client.post(f"{data.BASE}/saved/{saved.id}/delete", data={"key": form["key"]}).status_code == 404
    for number in ("-1", str(2**63), "x"):
        answer = client.post(f"{data.BASE}/saved/{number}/delete", data={"key": form["key"]})
        assert answer.status_code in (404, 422)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("q=-storm", "only excludes"),
        ("q=storm&lang=Englisch", "near ones"),
        ("q=storm&since=yesterday", "From: expected a time"),
        ("q=storm&sort=best", "Sorted by: "),
        ("place=" + "x" * 201, "Place: "),
    ],
)
def test_the_page_says_what_is_wrong_with_a_search(client, query, said):
    page = client.get(f"{data.BASE}/search?{query}")
    assert page.status_code == 422
    assert said.lower() in html.unescape(page.text).lower()


def test_the_page_links_to_weaker_matches_and_offers_all_languages(client):
    page = client.get(f"{data.BASE}/search?q=ottilie+storm+volcano")
    assert "No events found" in page.text
    weaker = html.unescape(re.search(r'href="(/search\?[^"]+)">Show weaker matches', page.text)[1])
    more = client.get(f"{data.BASE}{weaker}").text
    assert "<mark>Ottilie</mark>" in more
    assert "Show weaker matches" not in more
    assert 'class="reason" title="the words occur">text<' in more
    for code, name in (("de", "German"), ("en", "English"), ("fr", "French")):
        assert f'<option value="{code}">{name}</option>' in more
    assert '<option value="The Gull">' in more
