"""``isogloss wikipedia`` from a mirror on this machine to a folder that the service uses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.exceptions import CorpusError
from isogloss.service.settings import Settings
from isogloss.wikipedia import _plan as planning
from tests.wikipedia.mirror import FaultyMirror

runner = CliRunner()
SMALL = ("-d", 8, "--min-df", 1, "-j", 1)


def call(*arguments):
    return runner.invoke(app, ["wikipedia", *map(str, arguments)])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server():
    assert call("sample", "mirror", "--languages", "en,sl", "--articles", 40).exit_code == 0
    mirror = FaultyMirror("mirror")
    yield mirror
    mirror.close()


def test_one_command_from_a_mirror_to_a_service(server):
    from_mirror = ("--mirror", server.url, "--contact", "me@example.org")
    server.fail("slwiki-20250101-pages-articles-multistream.xml.bz2", "short")
    result = call("en", "sl", "-o", "wiki", "--download", *from_mirror, *SMALL, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["evaluation"]["plain"]["amrr"] > 0.3
    settings = Settings.load(said["config"])
    assert settings.models.similarity == str(Path("wiki/similarity.isogloss").absolute())
    assert Path(settings.models.concepts).is_dir()
    assert len(list(Path("dumps").rglob("*.bz2"))) == 2
    assert "of en" in result.stderr
    # What is finished is not made again, and settings that were edited are left alone.
    Path("wiki/isogloss.toml").write_text("[server]\nport = 9\n")
    asked = len(server.requests)
    again = call("build", "en,sl", "-o", "wiki", *SMALL)
    assert again.exit_code == 0, again.output
    assert "similarity model" in again.stdout
    assert len(server.requests) == asked
    assert Settings.load("wiki/isogloss.toml").server.port == 9


def test_a_plan_names_dumps_and_costs(server):
    result = call("plan", "en", "sl", "--mirror", server.url, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert not said["tried"]
    assert said["download"] == sum(each["bytes"] for each in said["files"]) > 20_000
    assert not list(Path().glob("dumps"))
    shown = call("plan", "en", "sl", "--dumps", "mirror").stdout
    assert "on disk" in shown
    assert "links" in shown
    local = json.loads(call("plan", "en", "sl", "--dumps", "mirror", "-j", 1, "--json").stdout)
    assert local["tried"]
    assert local["download"] == 0
    assert all(step["seconds"] >= 0 for step in local["steps"])
    offline = json.loads(call("plan", "en", "sl", "de", "--dumps", "mirror", "--offline", "--json").stdout)
    assert [each["bytes"] for each in offline["files"] if "dewiki" in each["name"]] == [-1]


def test_a_build_that_does_not_fit_is_refused(server, monkeypatch):
    monkeypatch.setattr(planning, "free_memory", lambda: 10_000_000)
    result = call("en", "sl", "--dumps", "mirror", "-o", "wiki", *SMALL)
    assert isinstance(result.exception, CorpusError)
    assert "GB of memory, and 0.0 GB are free; fewer --dimensions" in str(result.exception)
    assert not Path("wiki").exists()
    assert "not enough" in call("plan", "en", "sl", "--dumps", "mirror").stdout
    assert call("en", "sl", "--dumps", "mirror", "-o", "wiki", "--force", *SMALL).exit_code == 0


def test_downloads_alone(server):
    result = call("download", "en", "sl", "--links", "langlinks", "--mirror", server.url, "--dumps", "d")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.split()) == 8
    assert all(Path(line).is_file() for line in result.stdout.splitlines())
    asked = len(server.requests)
    again = call(
        "download", "en", "sl", "--links", "langlinks", "--dumps", "d", "--mirror", server.url, "--json"
    )
    assert len(json.loads(again.stdout)["files"]) == 8
    assert len(server.requests) == asked


def test_wrong_usage():
    assert "expected your e-mail or web address" in call("download", "en", "sl").output
    assert "wikidata" in call("plan", "en", "sl", "--links", "x").output
    missing = call("en", "sl", "-o", "wiki", "--force")
    assert "has no enwiki-DATE-pages-articles-multistream.xml.bz2" in str(missing.exception)
    Path("mine").mkdir()
    assert "already exists" in str(call("sample", "mine").exception)
    assert "is not a code" in str(call("plan", "../x", "en", "--offline").exception)
