"""isogloss prune: what it shows, deletes, approves and leaves alone."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from isogloss.cli._serve import _log_warnings as warn
from isogloss.cli.app import app
from isogloss.events import Article
from isogloss.exceptions import StoreError
from isogloss.service.settings import Settings
from isogloss.service.worker import Retention
from isogloss.store import Store, check_store

runner = CliRunner()
COUNT = 24
"""Articles, one a year from 2003 on."""


def run(*arguments, code=0):
    result = runner.invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def told(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def keep(folder, days, more=""):
    (folder / "isogloss.toml").write_text(f"[store]\nkeep_days = {days}\n{more}")


def articles():
    with Store("isogloss.db") as store:
        assert check_store(store) == []
        return store.counts()["article"]


@pytest.fixture(autouse=True)
def archive(tmp_path, monkeypatch):
    """A folder as a new user has it: ``isogloss init``, and an archive to ingest."""
    monkeypatch.chdir(tmp_path)
    run("init")
    records = [
        {
            "id": str(year),
            "lang": "en",
            "title": f"Report of {year}: harbour {year * 7919}" if year > 2003 else "Report of \x1b[31m2003",
            "body": f"Veldmar {year} flooded.",
            "time": f"{year}-03-05T08:00:00Z",
            "source": "The Gull",
        }
        for year in range(2003, 2003 + COUNT)
    ]
    path = tmp_path / "archive.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_an_archive_is_kept_by_default(archive):
    said = run("ingest", archive).stdout
    assert "older" not in said
    assert told("ingest", archive)["older_than_retention"] == 0
    with Store("isogloss.db") as store:
        assert Retention(store, Settings.load("isogloss.toml")).run() == 0
    assert "everything is kept: store.keep_days is 0" in run("prune").stdout
    assert told("prune", "--yes") == {"keep_days": 0, "articles": 0, "pruned": 0}
    assert articles() == COUNT


def test_ingest_says_how_many_articles_are_older_than_the_retention(tmp_path, archive):
    keep(tmp_path, 800)
    said = run("ingest", archive).stdout
    assert f"older than store.keep_days = 800: {COUNT - 3} articles" in said
    assert "isogloss prune shows" in said
    assert told("ingest", archive, "--no-events")["older_than_retention"] == COUNT - 3


def test_without_yes_nothing_is_deleted(tmp_path, archive):
    keep(tmp_path, 800)
    run("ingest", archive)
    said = run("prune").stdout
    assert "retention: 800 days, counted back from the newest article, 2026-03-05" in said
    assert f"old: {COUNT - 3} of {COUNT} articles (87.5 %)" in said
    assert "that ended before 2023-12-26" in said
    assert "from 2003-03-05 to 2023-03-05, the oldest first:" in said
    assert "  2003-03-05  Report of [31m2003\n" in said
    assert f"  and {COUNT - 3 - 5} more" in said
    assert said.endswith("nothing was deleted; --yes deletes them and approves 800 days for this store\n")
    preview = told("prune")
    assert (preview["articles"], preview["articles_in_store"], preview["pruned"]) == (COUNT - 3, COUNT, 0)
    assert preview["cutoff"] == "2023-12-26T08:00:00+00:00"
    assert not preview["approved"]
    assert articles() == COUNT


def test_yes_deletes_and_approves(tmp_path, archive):
    keep(tmp_path, 800)
    run("ingest", archive)
    said = run("prune", "--yes").stdout
    assert f"deleted: {COUNT - 3} articles" in said
    assert said.endswith("approved: a retention of 800 days for this store\n")
    assert articles() == 3
    assert told("prune")["approved"]
    with Store("isogloss.db") as store:
        assert Retention(store, Settings.load("isogloss.toml")).status()["approved"]


def test_a_setting_can_be_approved_before_anything_is_old(tmp_path):
    keep(tmp_path, 90)
    assert "nothing was deleted; --yes approves 90 days for this store" in run("prune").stdout
    assert "approved: a retention of 90 days" in run("prune", "--yes").stdout


def test_days_for_once(tmp_path, archive):
    run("ingest", archive)
    assert "nothing was deleted; --yes deletes them\n" in run("prune", "--keep-days", 8000).stdout
    pruned = told("prune", "--keep-days", 8000, "--yes")["pruned"]
    assert 0 < pruned < COUNT / 2
    assert articles() == COUNT - pruned
    keep(tmp_path, 8000)
    assert not told("prune")["approved"]
    run("prune", "--keep-days", "0", code=2)


def test_the_window_of_the_stream_is_kept(tmp_path, archive):
    run("ingest", archive)
    said = run("prune", "--keep-days", 1).stdout
    assert "retention: 11 days (not 1: the stream needs its window plus one day)" in said


def test_a_run_that_is_interrupted_has_deleted_whole_stories(archive, monkeypatch):
    run("ingest", archive)
    monkeypatch.setattr("isogloss.store._pruning.ARTICLES_PER_TRANSACTION", 1)
    parts = iter([None, None, None])

    def interrupt(*_):
        if next(parts, 1):
            raise KeyboardInterrupt

    monkeypatch.setattr("rich.progress.Progress.advance", interrupt)
    stopped = run("prune", "--keep-days", 800, "--yes", code=130)
    assert "interrupted after 4 articles, between two stories; run it again to continue" in stopped.stderr
    assert articles() == COUNT - 4
    monkeypatch.undo()


def test_a_clock_that_is_behind_is_reported(archive):
    now = datetime.now(UTC) + timedelta(hours=5, minutes=30)
    with Store("isogloss.db") as store:
        store.add([Article("1", "en", "Storm", "Roofs flew.", now, "The Gull")], now=now)
    assert "behind the last use of this store" in told("doctor")["clock"]
    for command in (["doctor"], ["ingest", archive]):
        said = " ".join(run(*command).output.split())
        assert re.search(r"warning: the clock of this machine, [^,]+, is 5 h \d+ min behind", said)


def test_a_service_says_at_the_start_that_the_clock_is_behind(caplog):
    now = datetime.now(UTC) + timedelta(hours=5, minutes=30)
    with Store("isogloss.db") as store:
        store.add([Article("1", "en", "Storm", "Roofs flew.", now, "The Gull")], now=now)
        warn(store)
    assert "behind the last use of this store" in caplog.text
    assert "Set the clock" in caplog.text


def test_there_must_be_a_store():
    result = runner.invoke(app, ["prune", "--store", "none.db"])
    assert isinstance(result.exception, StoreError)
    assert "create one with isogloss init" in str(result.exception)
