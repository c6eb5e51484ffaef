"""``isogloss events show``."""

import json

import pytest
from typer.testing import CliRunner

from isogloss.cli.news._events import events_group
from isogloss.exceptions import StoreError
from isogloss.store import Store
from tests.service.stories import LONG, TOLD, fill

SHOWN = """\
Fire at solvent warehouse in Antwerp: 2 dead
5 Mar 2025, 3 articles, 3 languages

titles
  de  Großbrand in Antwerpen: drei Tote
  en  Fire at solvent warehouse in Antwerp: 2 dead
  fr  Incendie à Anvers : deux morts

related events
  e2  later: Police raid owner of Antwerp warehouse (5 days later; \
"""


def show(path, *options):
    return CliRunner().invoke(events_group, ["show", "e1", "--store", str(path), *options])


@pytest.fixture
def news(tmp_path):
    with Store(tmp_path / "news.db") as store:
        fill(store, TOLD)
    return tmp_path / "news.db"


def test_the_story_of_an_event_as_text(news):
    shown = show(news)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(SHOWN)
    assert "numbers\n  dead: fr 2, de 3 (differs), en 2\n" in shown.stdout
    assert "  bote: 1 article, 2 hours later\n" in shown.stdout
    assert shown.stdout.endswith("no article in\n  ru\n")
    assert show(news, "--lang", "de").stdout.startswith("Großbrand in Antwerpen")


def test_sources_that_are_left_out_are_counted(news, monkeypatch):
    monkeypatch.setattr("isogloss.cli.news._story.MAX_SOURCES", 1)
    assert "sources\n  gull: 1 article, first\n  and 2 more; --json lists all of them\n" in show(news).stdout


def test_the_same_as_json(news):
    told = json.loads(show(news, "--json").stdout)
    assert (told["id"], told["examined"]) == ("e1", 3)
    assert [one["id"] for one in told["related"]] == ["e2"]
    assert told["quantities"][0]["differing"] == ["de"]


def test_chapters_as_text(tmp_path):
    with Store(tmp_path / "news.db") as store:
        fill(store, LONG)
    shown = show(tmp_path / "news.db").stdout
    assert "chapters\n  1. 5-9 Mar 2025: Earthquake in Vienna" in shown
    assert "  2. 19-22 Mar 2025: Court in Graz" in shown


def test_an_event_that_is_not_there(tmp_path):
    Store(tmp_path / "news.db").close()
    failed = show(tmp_path / "news.db")
    assert isinstance(failed.exception, StoreError)
    assert "there is no event 'e1'; isogloss events list shows the ids" in str(failed.exception)
