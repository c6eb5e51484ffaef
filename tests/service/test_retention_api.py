"""What the API, the metrics and the status page say about retention."""

from datetime import UTC, datetime

import pytest
from fastapi.testclient import TestClient

from isogloss.events.ingest import sample_news
from isogloss.service.app import create_app
from isogloss.service.settings import StoreSettings
from isogloss.service.worker import JournalProcessor, Retention, StreamFactory
from isogloss.store import Update
from tests.service import data

OLD = {"id": "90", "lang": "en", "title": "Rain", "time": "2005-03-05T08:40:00Z", "source": "The Gull"}
NEW = OLD | {"id": "91", "time": data.START.isoformat()}


@pytest.fixture
def settings():
    return data.settings().model_copy(update={"store": StoreSettings(keep_days=30)})


@pytest.fixture
def client(filled, settings):
    app = create_app(settings, filled, models=data.models())
    with TestClient(app, base_url=data.BASE, raise_server_exceptions=False) as client:
        yield client


def status(client):
    return client.get("/api/v1/status").json()["details"]["retention"]


def test_by_default_everything_is_kept(filled):
    with TestClient(create_app(data.settings(), filled), base_url=data.BASE) as client:
        assert status(client) == {"keep_days": 0, "approved": False, "checked": None, "refusal": ""}
        assert "everything is kept" in client.get("/status").text
        assert client.post("/api/v1/articles", json=OLD).json()["older_than_retention"] == 0


def test_a_refusal_is_shown_everywhere(client, filled, settings):
    assert "isogloss_retention_refused 0.0" in client.get("/api/v1/metrics").text
    retention = Retention(filled, settings, clock=lambda: datetime(2025, 3, 7, 8, tzinfo=UTC))
    filled.apply(Update(4, 4, checkpoint_parts=[("events", 4, b"state")]))
    with filled.database.write() as session:
        session.run("UPDATE article SET time = 0 WHERE seq = 4")
        session.run("UPDATE event SET last = 0 WHERE id = 'e2'")
    assert retention.run() == 0
    told = status(client)
    assert told["refusal"].startswith("it would delete 1 of 4 articles (25.0 %), and 30 days of retention")
    assert told["checked"] == "2025-03-07T08:00:00+00:00"
    page = client.get("/status").text
    assert "Retention deletes nothing: it would delete 1 of 4 articles" in page
    assert "isogloss_retention_refused 1.0" in client.get("/api/v1/metrics").text
    retention.prune(retention.preview())
    assert status(client)["refusal"] == ""
    assert status(client)["approved"]
    assert "isogloss_pruned 1.0" in client.get("/api/v1/metrics").text


@pytest.mark.parametrize("sent", [OLD, [OLD, NEW], [NEW, OLD | {"time": "2005-03-05"}]])
def test_an_answer_says_how_many_articles_are_old(client, sent):
    answer = client.post("/api/v1/articles", json=sent)
    assert answer.status_code == 202
    assert answer.json()["older_than_retention"] == 1
    assert client.post("/api/v1/articles", json=NEW).json()["older_than_retention"] == 0


def test_one_article_of_the_future_moves_neither_the_window_nor_the_cutoff(store, settings):
    """Sample news of 2025, and then a record of 2205."""
    store.add(sample_news().articles)
    processor = JournalProcessor(store, StreamFactory())
    processor.catch_up()
    now, cutoff = processor.stream.clusters.now, Retention(store, settings).preview().plan.cutoff
    future = OLD | {"time": "2205-03-05T08:40:00Z", "title": "Comet lands", "body": "Nobody was hurt."}
    with TestClient(create_app(settings, store), base_url=data.BASE) as client:
        (receipt,) = client.post("/api/v1/articles", json=future).json()["receipts"]
    assert receipt["status"] == "new"
    processor.catch_up()
    processor.save_checkpoint()
    assert processor.stream.clusters.now == now
    preview = Retention(store, settings).preview()
    assert (preview.plan.cutoff, preview.plan.articles) == (cutoff, 0)
    assert Retention(store, settings).run() == 0
    assert store.counts()["article"] == len(sample_news().articles) + 1
