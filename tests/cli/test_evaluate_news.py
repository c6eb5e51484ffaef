"""``isogloss evaluate clusters`` and ``isogloss evaluate links``."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isogloss import io
from isogloss.cli._evaluate import evaluate_group
from isogloss.events.training import train_linker
from isogloss.events.training._training import read_labelled_news

RUN = CliRunner()


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first hundred articles of the sample."""
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    text = files("isogloss.events.ingest").joinpath("sample/news.jsonl").read_text(encoding="utf-8")
    path.write_text("".join(text.splitlines(keepends=True)[:100]), encoding="utf-8")
    return path


def told(*arguments: object) -> str:
    done = RUN.invoke(evaluate_group, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


def scores(*arguments: object) -> dict[str, Any]:
    return json.loads(told(*arguments, "--json"))


def test_clusters_are_scored_language_by_language(news: Path) -> None:
    found = scores("clusters", news)["BCubed"]
    own = [one["f1"] for one in found["languages"].values()]
    assert found["macro"]["f1"] == pytest.approx(sum(own) / len(own))
    assert sum(one["articles"] for one in found["languages"].values()) == 100
    assert found["macro"]["precision"] > 0.9
    assert "BCubed" in told("clusters", news)


def test_one_cluster_for_each_article_is_precise_and_finds_no_pair(news: Path) -> None:
    found = scores("clusters", news, "--threshold", 1, "--body-threshold", 1)["pairs"]
    assert found["macro"]["precision"] == 1.0
    loose = scores("clusters", news, "--threshold", 0.01, "--body-threshold", 0.01)["pairs"]
    assert loose["macro"]["recall"] > found["macro"]["recall"]
    assert loose["macro"]["precision"] < 1.0


def test_links_are_cross_validated(news: Path) -> None:
    found = scores("links", news, "--folds", 3)
    assert 0 < found["one_event"] < found["pairs"]
    assert found["accuracy"] > 100 * (1 - found["one_event"] / found["pairs"])
    assert "\u00b1" in told("links", news, "--folds", 3)


def test_a_trained_linker_is_scored_as_it_is(news: Path, tmp_path: Path) -> None:
    labelled, path = read_labelled_news(news), tmp_path / "linker.isogloss"
    io.save(train_linker(labelled.articles, labelled.events), path)
    found = scores("links", news, "--model", path)
    assert "deviations" not in found
    assert found["f1"] > 50
    assert "accuracy" in told("links", news, "--model", path)
