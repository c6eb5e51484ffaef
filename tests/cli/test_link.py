"""``isogloss link``: what it writes can be loaded, what it prints are scores, what is wrong is said."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss import io
from isogloss.cli.news._events import events_group
from isogloss.cli.news._link import link_group
from isogloss.events.ingest import sample_news
from isogloss.events.link import LINKER_FEATURES, Linker
from isogloss.events.training._training import read_labelled_news
from isogloss.exceptions import CorpusError, StoreError
from isogloss.service.worker import JournalProcessor, StreamFactory
from isogloss.store import EventQuery, Store

RUN = CliRunner()


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first hundred articles of the sample."""
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    text = files("isogloss.events.ingest").joinpath("sample/news.jsonl").read_text(encoding="utf-8")
    path.write_text("".join(text.splitlines(keepends=True)[:100]), encoding="utf-8")
    return path


def test_a_linker_is_trained_and_scored(news: Path, tmp_path: Path) -> None:
    model = tmp_path / "linker.isogloss"
    done = RUN.invoke(link_group, ["train", str(news), "-o", str(model), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["weights"].keys() == set(LINKER_FEATURES)
    assert isinstance(io.load(model), Linker)
    done = RUN.invoke(link_group, ["score", str(news), "-m", str(model), "--json"])
    scores = json.loads(done.stdout)
    assert scores["links"]["candidates"]["accuracy"] > 0.7
    assert scores["events"]["BCubed"]["f1"] > 0.5


def test_scores_are_shown_as_tables(news: Path) -> None:
    done = RUN.invoke(link_group, ["score", str(news)])
    assert done.exit_code == 0
    assert "BCubed" in done.stdout


def test_news_without_events_are_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "news.jsonl"
    path.write_text('{"id": "1", "lang": "en", "title": "Storm", "time": "2031-03-05T08:00:00Z"}\n')
    with pytest.raises(CorpusError, match=r'news.jsonl:1: is not an article with a field "event"'):
        read_labelled_news(path)
    path.write_text("")
    with pytest.raises(CorpusError, match="is empty"):
        read_labelled_news(path)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which all links of the largest events were judged to be wrong, and one article deleted."""
    path = tmp_path_factory.mktemp("judged") / "news.db"
    with Store(path) as store:
        store.add(sample_news().articles[:120])
        JournalProcessor(store, StreamFactory()).catch_up()
        for event in store.events(EventQuery(sort="size", limit=5)).events:
            found = store.event(event["id"])
            assert found is not None
            for link in found["links"]:
                store.add_verdict(link["a"], link["b"], same=False, note="")
        with store.database.write() as session:
            session.run("UPDATE verdict SET article_a = NULL WHERE seq = 1")
    return path


def test_verdicts_of_a_store_train_a_linker(judged: Path, tmp_path: Path) -> None:
    model = tmp_path / "linker.isogloss"
    done = RUN.invoke(link_group, ["train", "--store", str(judged), "-o", str(model), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["skipped"] == {"articles that are no longer stored": 1}
    assert told["wrong_links"] == told["verdicts"] > 5
    assert told["after"]["log_loss"] < told["before"]["log_loss"]
    linker = io.load(model, expected=Linker)
    assert linker.training_["verdicts"] == told["verdicts"]
    done = RUN.invoke(link_group, ["train", "--store", str(judged), "-o", str(model), "--prior", str(model)])
    assert done.exit_code == 0, done.output
    assert "1 verdict on articles that are no longer stored skipped" in done.stdout
    assert "weights that changed most" in done.stdout


def test_a_store_without_verdicts_and_wrong_options_are_refused(tmp_path: Path) -> None:
    Store(tmp_path / "empty.db").close()
    place = ["train", "--store", str(tmp_path / "empty.db"), "-o", str(tmp_path / "linker.isogloss")]
    done = RUN.invoke(link_group, place)
    assert isinstance(done.exception, StoreError)
    assert "no verdict on a link that still exists" in str(done.exception)
    assert not (tmp_path / "linker.isogloss").exists()
    assert RUN.invoke(link_group, [*place, "news.jsonl"]).exit_code == 2
    assert RUN.invoke(link_group, ["train", "--prior", "x.isogloss"]).exit_code == 2


def test_links_of_an_event_are_explained_in_words(judged: Path) -> None:
    with Store(judged) as store:
        event = store.events(EventQuery(sort="languages", limit=1)).events[0]["id"]
    done = RUN.invoke(events_group, ["why", event, "--store", str(judged), "--json"])
    links = json.loads(done.stdout)["links"]
    assert links
    assert all(1 <= len(link["summary"]) <= 3 and len(link["titles"]) == 2 for link in links)
    shown = RUN.invoke(events_group, ["why", event, "--store", str(judged)]).stdout
    assert f"- {links[0]['summary'][0]}" in shown
    missing = RUN.invoke(events_group, ["why", "e0", "--store", str(judged)])
    assert "there is no event 'e0'" in str(missing.exception)
