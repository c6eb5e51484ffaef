"""Every test of the store runs on SQLite and, where its programs are found, on a private PostgreSQL."""

import pytest

from isogloss.store import Store


@pytest.fixture
def store(database):
    return Store(database)
