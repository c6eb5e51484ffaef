"""The client's exports, DataFrames, feeds and alerts."""

import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from isogloss.exceptions import ServiceClientError
from isogloss.service.alerts import make_secret, sign
from isogloss.service.client import Client, verify_webhook
from isogloss.service.server import running
from tests.service import data


@pytest.fixture
def client(app):
    with running(app, data.settings()) as url, Client(url, retries=0) as client:
        yield client


def test_exports_are_files(client, tmp_path):
    client.export_events(tmp_path / "events.csv", lang="de")
    assert (tmp_path / "events.csv").read_text().splitlines()[1].startswith("e1,Storm Ottilie")
    client.export_articles(tmp_path / "articles.jsonl", event="e1")
    assert len((tmp_path / "articles.jsonl").read_text().splitlines()) == 3


def test_a_failed_export_leaves_no_file(client, tmp_path):
    with pytest.raises(ServiceClientError, match="422"):
        client.export_events(tmp_path / "events.xlsx")
    with pytest.raises(ServiceClientError, match="404: there is no event"):
        client.export_events(tmp_path / "events.csv", event="e99")
    assert list(tmp_path.glob("*events*")) == []


def test_an_export_that_breaks_off_leaves_no_file(client, app, tmp_path, monkeypatch):
    def breaks(*given, **options):
        yield b"id,title\r\n"
        raise OSError("the disk is gone")

    monkeypatch.setattr("isogloss.service.api.routes._exports.export", breaks)
    with pytest.raises(ServiceClientError, match="the export is incomplete"):
        client.export_events(tmp_path / "events.csv")
    assert list(tmp_path.glob("*events*")) == []


def test_frames(client):
    pytest.importorskip("pandas")
    events = client.events_frame(sort="size")
    assert list(events["id"]) == ["e1", "e2"]
    assert str(events["first"].dtype).startswith("datetime64")
    articles = client.articles_frame(event="e1", bodies=True)
    assert list(articles["body"]) == [each.body for each in data.ARTICLES[:3]]
    assert client.events_frame(place="geo:77").empty


def test_feeds(client):
    assert "Storm Ottilie" in client.events_feed(q="Ottilie")
    assert "<rss" in client.event_feed("e1", format="rss")
    saved = client.save_search("storms", q="Ottilie")
    assert "storms" in client.search_feed(saved["id"])


def test_following(client):
    made = client.follow(event="e1", webhook="https://desk.example/hook")
    assert [each["id"] for each in client.alerts()] == [made["id"]]
    assert client.alert(made["id"])["address"] == "https://desk.example/hook"
    client.unfollow(made["id"])
    assert client.alerts() == []
    with pytest.raises(ValueError, match="either webhook or mail"):
        client.follow(event="e1")


def test_webhooks_are_verified():
    secret, body, now = make_secret(), b'{"type": "event.changed"}', int(time.time())
    signature = sign(secret, "msg_1", now, body)
    headers = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(now), "Webhook-Signature": f"v1,x {signature}"}
    assert verify_webhook(secret, headers, body) == {"type": "event.changed"}
    for wrong in ({"Webhook-Id": "msg_2"}, {"Webhook-Timestamp": str(now + 1)}, {"Webhook-Signature": ""}):
        with pytest.raises(ServiceClientError, match="the signature of the webhook is wrong"):
            verify_webhook(secret, headers | wrong, body)
    with pytest.raises(ServiceClientError, match="signature"):
        verify_webhook(secret, headers, body + b" ")
    old = {"Webhook-Timestamp": "1614265330", "Webhook-Signature": sign(secret, "msg_1", 1614265330, body)}
    with pytest.raises(ServiceClientError, match="more than 300 seconds ago"):
        verify_webhook(secret, headers | old, body)
