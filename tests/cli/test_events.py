"""``isogloss events`` and ``isogloss demo``."""

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.resources import files

import psutil
import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.cli.news._event_table import ShownEvent, event_table
from isogloss.cli.news._events import shown_event
from isogloss.engine import ProcessExecutor
from isogloss.events.analyse import _analyser as preparing
from isogloss.events.ingest import sample_news
from tests.waiting import LIMIT_S

runner = CliRunner()
START = datetime(2025, 3, 5, tzinfo=UTC)
SAMPLE = (
    files("isogloss.events.ingest").joinpath("sample", "news.jsonl").read_text(encoding="utf-8").splitlines()
)


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    path.write_text("\n".join([*SAMPLE[:60], "{broken", '{"title": "no time"}']) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def found(news):
    folder = news.parent
    arguments = [
        "--journal",
        folder / "journal",
        "--output",
        folder / "out.jsonl",
        "--quarantine",
        folder / "bad",
    ]
    return runner.invoke(app, ["events", str(news), "--json", *map(str, arguments)])


def test_events_as_json_with_names_of_places(found):
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["left_out"] == {"not JSON": 1, "without time": 1}
    first = told["events"][0]
    assert len(first["articles"]) >= 3
    assert set(first["titles"]) == set(first["articles"])
    assert first["place_names"]


def test_all_events_are_written_and_bad_records_kept(found, news):
    lines = (news.parent / "out.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    articles = [one for event in events for own in event["articles"].values() for one in own]
    assert sorted(articles) == sorted(article.id for article in sample_news().articles[:60])
    reprints = {one: first for one, first in sample_news().reprints.items() if int(one[1:]) <= 60}
    assert reprints
    assert {one: first for event in events for one, first in event["reprint_of"].items()} == reprints
    for event in events:
        own = {one for articles in event["articles"].values() for one in articles}
        assert {*event["reprint_of"], *event["reprint_of"].values()} <= own
    told = json.loads(found.stdout)
    assert (told["articles"], told["reprints"]) == (60, len(reprints))
    reasons = [json.loads(line)["reason"] for line in (news.parent / "bad").read_text().splitlines()]
    assert reasons == ["not JSON", "without time"]


def test_replaying_a_journal_gives_the_same_events(found, news):
    again = runner.invoke(app, ["events", "replay", str(news.parent / "journal"), "--json"])
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["events"] == json.loads(found.stdout)["events"]


@pytest.mark.usefixtures("leaves_no_processes")
def test_processes_find_the_same(found, news, monkeypatch):
    monkeypatch.setattr(preparing, "_BATCH_ARTICLES", 8)
    monkeypatch.setattr(preparing, "_MIN_POOL_ARTICLES", 16)
    monkeypatch.setattr(ProcessExecutor, "ready", property(lambda workers: workers.wait() is None))
    for arguments in (["events", str(news)], ["events", "replay", str(news.parent / "journal")]):
        again = runner.invoke(app, [*arguments, "--json", "--jobs", "2"])
        assert again.exit_code == 0, again.output
        assert json.loads(again.stdout)["events"] == json.loads(found.stdout)["events"]


INTERRUPTED = """
import signal, sys
from isogloss.cli.app import main
from isogloss.events.analyse import _analyser as preparing
from isogloss.engine import ProcessExecutor

def ready(workers):
    workers.wait()
    print("up", file=sys.stderr, flush=True)
    return True

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    preparing._BATCH_ARTICLES, preparing._MIN_POOL_ARTICLES, ProcessExecutor.ready = 8, 8, property(ready)
    main()
"""


def interrupt(process):
    """Press Ctrl-C, and again while it is lost, as in a callback that Python may not let fail."""
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=LIMIT_S / 2)
            return


def test_who_is_interrupted_leaves_nothing_behind(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    command = [sys.executable, script, "events", "-", "--jobs", "2", "--output", tmp_path / "out.jsonl"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
        process.stdin.write("\n".join(SAMPLE) + "\n")
        process.stdin.flush()
        assert process.stderr.readline() == "up\n"
        others = psutil.Process(process.pid).children(recursive=True)
        interrupt(process)
        told = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "Traceback" not in told[1]
    assert told[0] == ""
    assert len(others) >= 2
    _, left = psutil.wait_procs(others, timeout=LIMIT_S)
    assert not left
    assert not (tmp_path / "out.jsonl").exists()


def test_a_journal_in_use_is_not_written_to(found, news):
    result = runner.invoke(app, ["events", str(news), "--journal", str(news.parent / "journal")])
    assert result.exit_code == 1
    assert "choose another name for the journal" in str(result.exception)


def test_a_table_for_people(news):
    result = runner.invoke(app, ["events", str(news), "-n", "3"])
    assert result.exit_code == 0, result.output
    assert "60 articles" in result.stdout
    assert "(reprints)" in result.stdout
    assert "in two or more languages" in result.stdout


@pytest.mark.parametrize("width", [60, 80, 200])
def test_tables_fit_their_width(width):
    from rich.console import Console

    from isogloss.events import EventStream

    stream = EventStream()
    stream.add(sample_news().articles[:12])
    stream.update()
    written = io.StringIO()
    shown = [shown_event(event, {}) for event in stream.events()]
    Console(width=width, file=written).print(event_table(shown))
    lines = written.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert len(lines) == len(shown) + 5  # one line for each event
    if width >= 80:
        assert lines[2].split() == ["title", "id", "languages", "(reprints)", "days"]
        assert all("2025" in line for line in lines[4:-1])


def test_a_wide_table_is_wide_in_a_narrow_terminal(tmp_path, monkeypatch):
    news = tmp_path / "news.jsonl"
    news.write_text("".join(json.dumps(each.as_record()) + "\n" for each in sample_news().articles[:40]))
    shown = runner.invoke(app, ["events", str(news), "--wide", "-n", "3"], env={"COLUMNS": "80"}).output
    assert "confidence" in shown
    assert max(map(len, shown.splitlines())) > 100


def test_a_wide_table_leaves_nothing_out():
    from rich.console import Console

    long = ShownEvent("e7", "word " * 40, ["en", "de", "fr", "sl", "it"], 12, 3, START, START, ["Paris"], 0.5)
    narrow, wide = io.StringIO(), io.StringIO()
    Console(width=80, file=narrow).print(event_table([long]))
    Console(width=300, file=wide).print(event_table([long], wide=True))
    assert [part in narrow.getvalue() for part in ("…", " 5 ", "15 (3)", "Paris")] == [
        True,
        True,
        True,
        False,
    ]
    assert all(part in wide.getvalue() for part in (long.title.strip(), "en de fr sl it", "Paris", "0.50"))


@pytest.mark.parametrize("text", ["", "{broken\n", '{"title": "no time"}\n'])
def test_news_without_an_article(tmp_path, text):
    (tmp_path / "news.jsonl").write_text(text)
    result = runner.invoke(app, ["events", str(tmp_path / "news.jsonl"), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "no valid article" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_news_that_is_not_there():
    result = runner.invoke(app, ["events", "none.jsonl"])
    assert result.exit_code == 1
    assert "there is no such file" in str(result.exception)


def test_the_demo_scores_itself():
    result = runner.invoke(app, ["demo", "--json", "-n", "2"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["scores"]["bcubed"]["f1"] > 0.7
    assert told["scores"]["reprints_right"]
    assert len(told["events"][0]["articles"]) == 5
