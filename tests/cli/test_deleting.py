"""``isogloss delete`` shows what would go, deletes it with --yes, and rebuilds the events."""

import json

import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi")

from isogloss.cli.app import app
from isogloss.events.ingest import sample_news
from isogloss.store import Store, check_store, list_deletions

ARTICLES = sample_news().articles[:40]


@pytest.fixture
def place(tmp_path):
    with Store(tmp_path / "news.db") as store:
        store.add(ARTICLES)
    return tmp_path / "news.db"


def run(*words):
    return CliRunner().invoke(app, [*words])


def test_without_yes_nothing_is_deleted(place):
    answer = run("delete", "3", "--store", str(place))
    assert answer.exit_code == 0
    assert ARTICLES[2].title in answer.output
    assert "1 articles would be deleted" in answer.output
    with Store(place) as store:
        assert store.counts()["article"] == len(ARTICLES)


def test_articles_go_by_number_and_url(place):
    url = ARTICLES[5].url
    named = ["--url", url] if url else ["6"]
    answer = run("delete", "3", *named, "--store", str(place), "--yes", "--who", "counsel", "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout) == {"articles": [3, 6], "deleted": [3, 6], "events_made": True}
    with Store(place) as store:
        assert store.counts()["article"] == len(ARTICLES) - 2
        assert {each["who"] for each in list_deletions(store)} == {"counsel"}
        assert check_store(store) == []
        assert store.counts()["event"] > 0


def test_unknown_articles_are_an_error_and_nothing_is_deleted(place):
    answer = run("delete", "3", "900", "--store", str(place), "--yes")
    assert answer.exit_code != 0
    with Store(place) as store:
        assert store.counts()["article"] == len(ARTICLES)


def test_doctor_compacts(place):
    answer = run("doctor", "--compact", "--store", str(place))
    assert answer.exit_code == 0, answer.output
