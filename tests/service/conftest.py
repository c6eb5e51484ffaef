"""An application around a small store."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.store import Store
from tests.service import data


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


@pytest.fixture
def filled(store):
    data.fill(store)
    return store


@pytest.fixture
def app(filled):
    """The application, with its index of articles up to date."""
    app = create_app(data.settings(), filled, models=data.models())
    data.store_points(app.state.isogloss.store)
    while app.state.isogloss.neighbours.catch_up():
        pass
    return app


@pytest.fixture
def client(app):
    with TestClient(app, base_url=data.BASE, raise_server_exceptions=False) as client:
        client.base_url = f"{data.BASE}/api/v1/"
        yield client
