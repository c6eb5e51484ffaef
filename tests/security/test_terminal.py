"""What articles, labels and files say reaches no terminal as a control character, and no log as a line."""

import io
import json
import logging
import os
from pathlib import Path

import pytest
from rich.progress import Progress
from rich.table import Table
from typer.testing import CliRunner

from isogloss.cli import app as command
from isogloss.cli._console import Console
from isogloss.cli._output import echo, echo_json, written
from isogloss.io import TerminalFormatter, escape_controls, strip_controls

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x85\u202egnp\u2066\u2029\r\x08\x7f"
ODD = {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x2028, 0x2029)}
ODD |= {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
ARTICLES = [
    {"id": "1", "lang": "en", "title": f"Storm {HOSTILE} in Galway", "body": "storm", "source": HOSTILE},
    {"id": "2", "lang": "en", "title": f"Storm in Galway {HOSTILE}", "body": f"storm {HOSTILE}"},
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def news(tmp_path):
    lines = [json.dumps(each | {"time": "2025-03-05T08:00:00Z"}) for each in ARTICLES]
    lines += [json.dumps({"title": HOSTILE, "time": HOSTILE, "id": HOSTILE})]
    (tmp_path / "news.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "news.jsonl"


def run(*arguments):
    """All that a command prints, which has no control characters."""
    done = CliRunner().invoke(command.app, [str(each) for each in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert not ODD & set(done.output.replace("\r\n", "\n"))
    return done.stdout


def test_commands_that_print_articles(news):
    assert "Storm" in run("events", news)
    run("ingest", news)
    for arguments in (["events", "list"], ["prune", "--keep-days", "1"], ["doctor"]):
        run(*arguments)
    assert "Storm" in run("events", "list")
    assert "owned" in run("doctor")


def test_json_has_the_data_as_they_are(news):
    run("ingest", news)
    (event,) = json.loads(run("events", "list", "--json"))["events"][:1]
    assert "\u202egnp" in event["title"]["en"]
    run("events", news, "-o", "events.jsonl")
    with open("events.jsonl", encoding="utf-8") as file:
        assert "\u202egnp" in file.read()


def test_labels_of_tokens(news):
    run("ingest", news)
    run("token", "make", "read", "--label", HOSTILE)
    assert "owned" in run("token", "list")


def test_alignments(tmp_path):
    for name, text in (("a", f"the house{HOSTILE}"), ("b", f"das haus{HOSTILE}"), ("links", "0-0 1-1")):
        (tmp_path / name).write_text(text.replace("\r", "").replace("\x85", "").replace("\u2029", "") + "\n")
    assert "house" in run("align", "show", "a", "b", "--links", "links")


def test_errors(capsys):
    with pytest.raises(SystemExit):
        command._fail(f"the file {HOSTILE} is not there")
    said = capsys.readouterr().err
    assert "owned" in said
    assert not ODD & set(said)


def test_a_table_a_bar_and_a_status_on_a_terminal():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="truecolor", width=100)
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    console.print(table)
    console.print(f"[red]{HOSTILE}[/]")
    with Progress(console=console) as bar, console.status(HOSTILE):
        bar.add_task(HOSTILE)
        bar.refresh()
    said = file.getvalue()
    assert "\x1b[31m" in said
    for sequence in ("\x1b]0;", "\x9b", "\u202e", "\x1b[2J", "\x07"):
        assert sequence not in said


def test_what_goes_to_standard_output_is_safe_on_a_terminal_and_unchanged_in_a_pipe(monkeypatch):
    pty = pytest.importorskip("pty")
    for opened, wanted in ((pty.openpty, strip_controls(HOSTILE)), (os.pipe, HOSTILE)):
        reader, writer = opened()
        with os.fdopen(writer, "w", encoding="utf-8") as stream, monkeypatch.context() as patched:
            patched.setattr("sys.stdout", stream)
            with written(Path("-")) as path:
                path.write_text(f"{HOSTILE}|", encoding="utf-8", newline="")
            stream.flush()
            said = b""
            while not said.endswith(b"|"):
                said += os.read(reader, 1000)
        os.close(reader)
        assert said.decode() == f"{wanted}|"


def test_echo(capsys):
    echo(f"{HOSTILE}\n\tx")
    echo_json({"a": HOSTILE})
    said = capsys.readouterr().out
    assert not ODD & set(said)
    plain, _, coded = said.partition("\n\tx\n")
    assert plain == strip_controls(HOSTILE)
    assert json.loads(coded) == {"a": HOSTILE}
    assert json.loads(escape_controls(json.dumps([HOSTILE], ensure_ascii=False))) == [HOSTILE]


def test_lines_of_logs():
    try:
        raise ValueError(f"{HOSTILE}\nINFO isogloss: forged in an exception")
    except ValueError as error:
        record = logging.LogRecord("x", 30, "x", 1, "title %s\n%s", (HOSTILE, "INFO forged"), None)
        failed = logging.LogRecord("x", 40, "x", 1, "failed", (), (ValueError, error, error.__traceback__))
    said = TerminalFormatter("%(levelname)s %(message)s").format(record)
    assert not ODD & set(said)
    assert said.startswith("WARNING title ")
    assert "\n" not in said
    assert not ODD & set(TerminalFormatter().format(failed))


def test_every_language_is_printed_as_it_is():
    for text in ("Оттилие", "سلام\u200c دنیا", "日本語\tx\ny", "e\u0301", "👩\u200d👧", "\u200fא"):
        assert strip_controls(text) == text
