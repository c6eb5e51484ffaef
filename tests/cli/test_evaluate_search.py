"""``isogloss evaluate search``."""

import json

import pytest

pytest.importorskip("fastapi")

from typer.testing import CliRunner

from isogloss.cli._evaluate import evaluate_group
from isogloss.store import Store
from tests.service import data


def run(*arguments):
    return CliRunner().invoke(evaluate_group, ["search", *map(str, arguments)])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store("news.db") as store:
        data.fill(store)
        data.store_texts(store)
    return tmp_path


def test_queries_of_a_file_are_scored_on_a_store(place):
    queries = [
        {"q": "Ottilie", "articles": ["1", "2", "3"], "part": "a"},
        {"q": "storm", "articles": ["4"], "part": "b"},
        {"q": "rain", "articles": ["99"]},
    ]
    (place / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    done = run("--queries", "queries.jsonl", "--store", "news.db", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["means"]["a"] == {"queries": 1, "p_at_5": 1.0, "precision": 1.0, "recall": 1.0}
    assert told["means"]["b"]["precision"] == 0.0
    assert told["means"]["all"]["queries"] == 2
    assert [each["q"] for each in told["queries"]] == ["Ottilie", "storm"]
    shown = run("--queries", "queries.jsonl", "--store", "news.db")
    assert "storm: found 1, precision 0.00, recall 0.00" in shown.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--store", "news.db"], "give --queries"),
        (["--queries", "none.jsonl"], "none.jsonl: cannot be read"),
        (["--queries", "bad.jsonl"], "bad.jsonl:1: has no articles"),
        (["--queries", "good.jsonl", "--store", "other.db"], "other.db: no such store"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(place, arguments, said):
    (place / "bad.jsonl").write_text('{"q": "storm", "events": []}')
    (place / "good.jsonl").write_text('{"q": "storm", "articles": ["1"]}')
    done = run(*arguments)
    assert done.exit_code != 0
    assert said in " ".join((done.output + str(done.exception)).split())
