"""The command line in the process of the tests leaves that process as it is."""

import pytest


@pytest.fixture(autouse=True)
def process_stays_unbounded(monkeypatch):
    """A program bounds the threads of its process for good; later tests are not part of it."""
    monkeypatch.setattr("isogloss.cli.app.bound_process", lambda: None)
