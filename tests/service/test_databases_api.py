"""The same answers on SQLite and on PostgreSQL."""

import pytest
from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.store import Store
from tests.service import data

GOOD = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z", "source": "The Gull"}


@pytest.fixture
def client(database):
    store = Store(database)
    data.fill(store)
    data.store_texts(store)
    app = create_app(data.settings(), store, models=data.models())
    with TestClient(app, base_url=f"{data.BASE}/api/v1/", raise_server_exceptions=False) as client:
        yield client


def test_articles_are_taken_once(client):
    key = {"Idempotency-Key": "k1"}
    sent = [GOOD, {"title": "no time"}, GOOD | {"id": "91"}]
    first = client.post("articles", json=sent, headers=key)
    assert [each["status"] for each in first.json()["receipts"]] == ["new", "new"]
    assert client.post("articles", json=sent, headers=key).json() == first.json()
    assert client.post("articles", json=GOOD | {"title": "Snow"}, headers=key).status_code == 409
    revised = client.post("articles", json=GOOD | {"title": "Snow"}).json()["receipts"][0]
    assert (revised["status"], revised["seq"]) == ("revised", first.json()["receipts"][0]["seq"])
    assert client.get("status").json()["details"]["counts"]["quarantine"] == 1


def test_events_are_found_and_explained(client):
    assert [each["id"] for each in client.get("events").json()["events"]] == ["e2", "e1"]
    assert [each["id"] for each in client.get("events?q=Оттилие&lang=de").json()["events"]] == ["e1"]
    assert client.get("events/e0").json()["links"][0]["probability"] == pytest.approx(0.93)
    assert client.get("events/%00").status_code == 404
    assert client.get("links/2/1").json()["features"]["dates"] is None
    assert client.post("links/2/1/verdict", json={"same": True, "note": "\x00"}).json()["seq"] == 1
    assert client.get("clusters/1").json()["articles"] == [1, 2]
    assert client.get(f"clusters/{2**63 - 1}").status_code == 404


def test_cursors_of_others_are_refused(client):
    page = client.get("events?limit=1").json()
    assert (
        client.get("events", params={"limit": 1, "cursor": page["cursor"]}).json()["events"][0]["id"] == "e1"
    )
    assert client.get("events", params={"cursor": page["cursor"], "sort": "size"}).status_code == 400


def test_tokens_and_status(client):
    made = client.post("tokens", json={"scopes": ["admin"], "label": "\x00desk"}).json()
    told = {"Authorization": f"Bearer {made['token']}"}
    assert client.get("tokens").status_code == 401
    assert client.get("tokens", headers=told).json()[0]["label"] == " desk"
    assert client.get("ready").status_code == 200
    assert "isogloss_stored_articles 4.0" in client.get("metrics", headers=told).text
    assert client.delete(f"tokens/{made['id']}", headers=told).status_code == 204
    assert client.get("limits", headers=told).status_code == 401


def test_articles_and_terms_are_found_by_what_they_belong_to(client):
    for asked, found in (({}, [4, 3, 2, 1]), ({"event": "e0"}, [3, 2, 1]), ({"cluster": 1}, [2, 1])):
        page = client.get("articles", params=asked).json()
        assert [line["seq"] for line in page["articles"]] == found
    first = client.get("articles", params={"limit": 3}).json()
    assert [
        line["seq"] for line in client.get("articles", params={"cursor": first["cursor"]}).json()["articles"]
    ] == [1]
    assert client.get("articles", params={"event": "e\x00", "cluster": 2**63 - 1}).json()["articles"] == []
    for asked in ({"concept": "Ottilie"}, {"lang": "DEU"}, {"place": "geo:1"}):
        assert [each["id"] for each in client.get("events", params=asked).json()["events"]] == ["e1"]
