"""Saved searches over HTTP: whose they are, and what is said of one that can no longer be run."""

import json

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
