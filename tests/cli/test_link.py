"""``isogloss link``: what it writes can be loaded, what it prints are scores, what is wrong is said."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss import io
from isogloss.cli.news._link import link_group
from isogloss.events.link import LINKER_FEATURES, Linker
from isogloss.events.training._training import read_labelled_news
from isogloss.exceptions import CorpusError

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
