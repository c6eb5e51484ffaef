"""``-`` is standard output for every output that is text; no command makes a file of that name."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from isogloss.cli._output import echo_json
from isogloss.cli.app import app
from isogloss.corpora import save_corpus
from isogloss.events.ingest import sample_news
from isogloss.graphical import read_network
from isogloss.lexicon import read_induced, write_dictionary, write_vectors
from tests.lexicon.data import dictionary, languages
from tests.similarity.data import comparable_corpus

runner = CliRunner()

BEGINS = {
    "events find --output": '{"id": ',
    "events replay --output": '{"id": ',
    "events export --output": "id,title,title_lang,",
    "align run --output": "0-0 1-1",
    "align apply --output": "0-0 1-1",
    "align lexicon --output": "source\ttarget\t",
    "align jumps --output": "direction\t",
    "align fertility --output": "direction\t",
    "align show --svg": "<svg",
    "align show --html": "<!doctype html>",
    "dictionary build --output": "source\ttarget\tscore",
    "dictionary plot --output": "<?xml",
    "similar map --output": "<svg",
    "similar topics --html": "<!doctype html>",
    "network show --svg": "<svg",
    "network show --html": "<!doctype html>",
    "network query --html": "<!doctype html>",
    "network learn --output": "network ",
    "network learn --html": "<!doctype html>",
    "network tree --output": "network ",
    "network tree --html": "<!doctype html>",
    "network sample --output": "asia,tub,",
    "network convert output": "network ",
    "feeds starter output": "# Public feeds",
    "views project --output": "row,",
}
"""Outputs that are text, and how it begins."""

REFUSED = {
    *("demo news --folder", "demo models --output", "events find --journal", "events find --quarantine"),
    *("init folder", "backup output", "concepts build --output", "link train --output", "align run --save"),
    *("align run --details", "align apply --details", "align view --output"),
    *(
        "corpus build --output",
        "corpus split --train",
        "corpus split --test",
        "dictionary build --save",
    ),
    *("similar fit --output", "similar pack --output"),
    *("align sentences --output", "align export --output", "dictionary from-text --output"),
    *("dictionary vectors --output", "views fit --save", "views plot --output"),
    "wikipedia build --output",
    "wikipedia plan --output",
}
"""Outputs that are folders, databases, models, or added to."""

INPUTS = {
    *(
        "concepts",
        "wordnet",
        "config",
        "copy",
        "corrections",
        "corpus",
        "dictionary",
        "disk",
        "dumps",
        "fertility",
        "file",
        "files",
        "gold",
    ),
    *("journal", "jumps", "lexicon", "linker", "links", "model", "news", "path", "prior", "rows"),
    *("queries", "sitelinks", "source", "space", "target", "test", "text", "folder"),
}


def every_command(name="", command=None):
    places = (
        typer.main.get_group(app).lazy_commands if command is None else getattr(command, "lazy_commands", {})
    )
    parts = {part: place.load(part) for part, place in places.items()} or getattr(command, "commands", {})
    if command is not None and not parts:
        yield name, command
    for part, one in parts.items():
        yield from every_command(f"{name} {part}".strip(), one)


COMMANDS = dict(every_command())


def path_parameters():
    for name, command in COMMANDS.items():
        hints = get_type_hints(inspect.unwrap(command.callback))
        for parameter in command.params:
            hint = hints[parameter.name]
            if Path in (hint, *getattr(hint, "__args__", ())):
                yield f"{name} {parameter.opts[0]}"


def test_every_output_is_here():
    others = set(path_parameters()) - set(BEGINS) - REFUSED
    assert set(BEGINS) | REFUSED <= set(path_parameters())
    assert {one.rpartition(" ")[2].lstrip("-") for one in others} <= INPUTS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What the commands read."""
    folder = tmp_path_factory.mktemp("files")
    pairs = ["the house ||| la maison", "the flower ||| la fleur", "blue flower ||| fleur bleue"]
    (folder / "pairs").write_text("\n".join(pairs) + "\n")
    run("align", folder / "pairs", "-o", folder / "links", "--model", folder / "aligner")
    run("align", folder / "pairs", "-o", folder / "l3", "--save", folder / "fertile", "--schedule", "1:2,3:1")
    for name, vectors in languages().items():
        write_vectors(vectors, folder / f"{name}.vec")
    write_dictionary(dictionary("en", "it", range(200)), folder / "seed")
    run("dictionary", *build(folder), "-o", folder / "en-it", "--save", folder / "space")
    save_corpus(comparable_corpus(n=60, languages=("en", "de")), folder / "corpus")
    run("similar", "fit", folder / "corpus", "-o", folder / "hub", "-d", 4)
    run("network", "sample", "asia", "--rows", 20, "--random-state", 0, "-o", folder / "rows")
    lines = [json.dumps(article.as_record()) + "\n" for article in sample_news().articles[:12]]
    (folder / "news").write_text("".join(lines))
    run("events", folder / "news", "--journal", folder / "journal")
    (folder / "table.csv").write_text("a__x,b__y\n" + "".join(f"{n % 5},{n % 7}\n" for n in range(30)))
    run("views", "fit", folder / "table.csv", "--components", 1, "--save", folder / "views")
    run("ingest", folder / "news", "--store", folder / "store.db")
    return folder


def build(folder):
    return (
        *("build", "--src", folder / "en.vec", "--tgt", folder / "it.vec"),
        *("--seed", folder / "seed", "--kind", "procrustes", "--rounds", 0),
    )


def arguments(what, folder):
    """A command that writes ``what`` to standard output."""
    command, _, option = what.rpartition(" ")
    word = languages()["en"].words[0]
    given = {
        "events find": ["news"],
        "events replay": ["journal"],
        "events export": ["--store", "store.db"],
        "align run": ["pairs"],
        "align apply": ["aligner", "pairs"],
        "align lexicon": ["aligner"],
        "align jumps": ["aligner"],
        "align fertility": ["fertile"],
        "align show": ["pairs", "--links", "links"],
        "dictionary build": build(folder)[1:],
        "dictionary plot": [word, "-l", "en", "-m", "space", "-v", "en.vec", "-v", "it.vec"],
        "similar map": ["hub", "--corpus", "corpus", "--method", "pca"],
        "similar topics": ["hub"],
        "network show": ["asia"],
        "network query": ["asia", "tub"],
        "network learn": ["asia", "rows"],
        "network tree": ["rows"],
        "network sample": ["asia", "--random-state", 0],
        "network convert": ["asia"],
        "feeds starter": [],
        "views project": ["table.csv", "--model", "views"],
    }[command]
    needed = (
        ["-o", folder / "net.bif"]
        if option == "--html" and command in ("network learn", "network tree")
        else []
    )
    return [*command.split(), *given, *needed, *([option, "-"] if option.startswith("-") else ["-"])]


def run(*given, code=0):
    result = runner.invoke(app, [str(one) for one in given])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.mark.parametrize("what", BEGINS)
def test_text_goes_to_standard_output_and_nothing_else_does(what, files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    said = run(*arguments(what, tmp_path if "--html" in what else files)).stdout
    assert said.startswith(BEGINS[what])
    assert not (files / "-").exists()
    if what == "dictionary build --output":
        (tmp_path / "table").write_text(said)
        assert read_induced(tmp_path / "table").pairs == read_induced(files / "en-it").pairs
    if what in ("network convert output", "network learn --output"):
        (tmp_path / "net.bif").write_text(said)
        assert len(read_network(tmp_path / "net.bif")) == 8
    if what in ("events find --output", "events replay --output"):
        assert all(json.loads(line)["articles"] for line in said.splitlines())


@pytest.mark.parametrize("what", [what for what in BEGINS if not what.startswith("similar map")])
def test_only_one_result_goes_to_standard_output(what, files, tmp_path, monkeypatch):
    monkeypatch.chdir(files)
    done = run(*arguments(what, tmp_path if "--html" in what else files), "--json", code=2)
    assert "only one result can be written to standard output" in " ".join(
        done.stderr.replace("│", "").split()
    )


@pytest.mark.parametrize("what", sorted(REFUSED))
def test_what_is_no_text_is_refused_before_the_work(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, _, option = what.rpartition(" ")
    given = ["-"] if not option.startswith("-") else [option, "-"]
    for parameter in COMMANDS[command].params:
        if parameter.required and parameter.opts[0] != option and f"--{parameter.name}" != option:
            named = parameter.opts[0].startswith("-")
            given += [parameter.opts[0], "x"] if named else ["x"]
    said = run(*command.split(), *given, code=2).stderr
    assert "cannot be written to standard output" in " ".join(said.replace("│", "").split())
    assert not list(tmp_path.iterdir())


def test_a_store_is_not_standard_output(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("ingest", files / "news", "--store", "-", code=2)
    assert not list(tmp_path.iterdir())


def test_resuming_needs_a_file(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("align", files / "pairs", "-o", "-", "--resume", code=2)


@pytest.mark.parametrize("number", [1, 200_000])
def test_a_reader_that_stops_ends_the_command_quietly(number):
    command = [sys.executable, "-m", "isogloss", "network", "sample", "asia", "--rows", str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.parametrize("value", ["Łódź \u202e 7", "name-\udc80.txt", "tab\there"])
def test_json_is_readable_and_round_trips(value, capsys):
    echo_json({"value": value})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"value": value}
    assert ("Łódź" in value) == ("Łódź" in printed)
