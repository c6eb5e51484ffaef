"""Commands are listed without being imported, and the list says what the commands say."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from isogloss.cli.app import app

LAZY_COMMANDS = typer.main.get_group(app).lazy_commands


@pytest.mark.parametrize("name", LAZY_COMMANDS)
def test_the_list_says_what_the_command_says(name):
    command = LAZY_COMMANDS[name].load(name)
    assert command.name == name
    assert command.help.split("\n\n")[0].replace("\n", " ") == LAZY_COMMANDS[name].help


@pytest.mark.parametrize("name", LAZY_COMMANDS)
def test_every_command_runs_from_the_list(name):
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert f"isogloss {name}" in result.output or f" {name} " in result.output


def test_paragraphs_of_help_are_broken_where_the_terminal_ends():
    shown = CliRunner().invoke(app, ["dictionary", "build", "--help"], env={"COLUMNS": "80"}).output
    lines = [line.strip() for line in shown.splitlines()]
    first = next(number for number, line in enumerate(lines) if line.startswith("It starts from known"))
    assert lines[first + 1].startswith("alike. A part of them is held out and translated first.")


@pytest.mark.parametrize("name", LAZY_COMMANDS)
def test_every_command_that_prints_a_result_has_json(name):
    command = LAZY_COMMANDS[name].load(name)
    listed = {part: place.load(part) for part, place in getattr(command, "lazy_commands", {}).items()}
    parts = listed or getattr(command, "commands", {"": command})
    for part, one in parts.items():
        options = {option for parameter in one.params for option in parameter.opts}
        assert "--json" in options, part


def test_a_name_that_is_nearly_a_command_is_suggested():
    result = CliRunner().invoke(app, ["alin"])
    assert result.exit_code == 2
    assert "'align'" in result.output


def imported_by(*arguments):
    code = (
        "import sys\nfrom isogloss.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    return set(done.stderr.split())


def test_the_list_imports_no_command():
    assert not imported_by("--help") & {
        "sklearn",
        "scipy",
        *(place.module for place in LAZY_COMMANDS.values()),
    }


def test_a_command_imports_no_other():
    modules = imported_by("align", "--help")
    assert "isogloss.cli.align._commands" in modules
    assert not modules & {"isogloss.lexicon", "isogloss.mixture", "isogloss.cli.demo._commands"}
