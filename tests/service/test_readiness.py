"""RELIABILITY 37: readiness means progress: the oldest waiting article, the last commit, free disk."""

import re
from collections import namedtuple
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.store import Update, to_micros
from isogloss.store.queries import LAST_COMMIT
from tests.service import data

LONG_AGO = datetime.now(UTC) - timedelta(days=1)


class Hung:
    """A worker that is alive and does nothing."""

    def start(self):
        """Begin."""

    def stop(self):
        """End."""

    def status(self):
        return {"alive": True, "position": 4, "error": "no end after 30 s"}


@pytest.fixture
def client(filled):
    with TestClient(create_app(data.settings(), filled, worker=Hung()), base_url=data.BASE) as client:
        yield client


def troubles(client):
    answer = client.get("/api/v1/ready")
    found = answer.json()["details"]["troubles"]
    assert answer.status_code == (503 if found else 200)
    return found


def committed(store, moment):
    with store.database.write() as session:
        session.run("UPDATE progress SET seq = ? WHERE name = ?", [to_micros(moment), LAST_COMMIT])


def test_a_worker_that_is_alive_and_makes_no_progress_is_not_ready(client, filled):
    committed(filled, LONG_AGO)
    assert troubles(client) == []  # nothing waits
    filled.add([data.article(5, "en", "Rain")], now=LONG_AGO)
    (said,) = troubles(client)
    assert re.search(r"has waited for 8\d,\d{3} s", said)
    assert "limits.stalled_seconds allows 300: no end after 30 s" in said
    filled.apply(Update(4, 4))
    assert troubles(client) == []  # behind, but something was written
    committed(filled, LONG_AGO)
    filled.apply(Update(4, 5))
    assert troubles(client) == []


def test_a_worker_that_never_wrote_anything_is_not_ready(client, filled):
    filled.add([data.article(5, "en", "Rain")], now=LONG_AGO)
    with filled.database.write() as session:
        session.run("DELETE FROM progress WHERE name = ?", [LAST_COMMIT])
    assert "never committed anything" in troubles(client)[0]


def test_a_disk_that_is_nearly_full_is_not_ready(client, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(1 << 40, 1 << 40, 200 << 20))
    (said,) = troubles(client)
    assert said == "the disk of the store has 200 MB free; limits.free_disk_mb requires 256"
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(1 << 40, 0, 1 << 40))
    assert troubles(client) == []


def test_limits_of_readiness_are_settings(filled):
    settings = data.settings(stalled_seconds=1e9, free_disk_mb=0)
    filled.add([data.article(5, "en", "Rain")], now=LONG_AGO)
    committed(filled, LONG_AGO)
    app = create_app(settings, filled, worker=Hung())
    with TestClient(app, base_url=data.BASE) as client:
        assert troubles(client) == []
        told = client.get("/api/v1/status").json()["details"]["progress"]
        assert told["oldest_waiting_seconds"] > 80_000
        assert told["free_disk_mb"] > 0
        assert told["quarantined"] == 0
