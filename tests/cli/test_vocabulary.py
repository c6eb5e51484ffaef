"""One vocabulary of options in the whole tree of commands, and help in plain words."""

import re
from typing import NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from isogloss.cli._lazy import DefaultGroup
from isogloss.cli._options import RenamingCommand
from isogloss.cli.app import app

runner = CliRunner()
SHORT = {
    "-c": {"--config"},
    "-g": {"--given"},
    "-h": {"--help"},
    "-j": {"--jobs"},
    "-k": {"--translations", "-k"},  # how many per word or per language
    "-l": {"--lang"},
    "-m": {"--model"},
    "-n": {"--limit"},
    "-o": {"--output"},
    "-d": {"--dimensions"},
    "-v": {"--vectors"},
}
"""Names that each letter abbreviates."""
READ = {"--model", "--linker", "--concepts", "--corpus", "--config", "--gold", "--test"}
"""Files that are read, whatever the command."""
GONE = {"--space", "--save-model", "--language", "--least", "--best", "--number"}
SEEDED = {"dictionary build"}
"""Commands whose --seed is a seed dictionary, as the literature calls it."""


class Command(NamedTuple):
    path: str
    command: object

    def __str__(self):
        return self.path

    @property
    def options(self):
        return [each for each in self.command.params if each.param_type_name == "option"]


def tree(group, path=()):
    """All commands below a group, which are loaded."""
    lazy = getattr(group, "lazy_commands", {})
    for name, listed in group.commands.items():
        command = lazy[name].load(name) if name in lazy else listed
        yield Command(" ".join((*path, name)), command)
        if hasattr(command, "commands"):
            yield from tree(command, (*path, name))


EVERYTHING = list(tree(typer.main.get_command(app)))
COMMANDS = [each for each in EVERYTHING if not hasattr(each.command, "commands")]
GROUPS = [each for each in EVERYTHING if hasattr(each.command, "commands")]


def help_of(command):
    result = runner.invoke(app, [*command.path.split(), "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.output


def test_the_tree_is_whole():
    assert len(COMMANDS) > 50
    assert {"events list", "network sample", "serve", "align run"} <= {each.path for each in COMMANDS}


def test_a_letter_abbreviates_one_name():
    found = {}
    for command in COMMANDS:
        for option in command.options:
            names = [name for name in option.opts if name.startswith("--")] or option.opts
            for letter in (name for name in option.opts if not name.startswith("--")):
                found.setdefault(letter, set()).update(names)
    assert {letter: SHORT[letter] | {"--help"} & names for letter, names in found.items()} == found


def test_a_name_has_its_letter_everywhere():
    letters = {}
    for command in COMMANDS:
        for option in command.options:
            for name in (name for name in option.opts if name.startswith("--")):
                letters.setdefault(name, set()).add(tuple(x for x in option.opts if not x.startswith("--")))
    assert {name: found for name, found in letters.items() if len(found) > 1} == {}


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_options_are_those_of_the_vocabulary(command):
    names = {name for option in command.options for name in (*option.opts, *option.secondary_opts)}
    assert not names & GONE
    assert "--seed" not in names or command.path in SEEDED
    assert "--json" in names
    assert all(re.fullmatch(r"--[a-z][a-z-]*|-[a-z]", name) for name in names)


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_options_that_read_files_need_no_writing(command):
    for option in command.options:
        if READ & {*option.opts}:
            assert not re.match("(Also )?([Ss]ave|[Ww]rite)", option.help or "")


@pytest.mark.parametrize("command", EVERYTHING, ids=str)
def test_help_is_complete_and_plain(command):
    told = help_of(command)
    assert not re.search(r"<[a-z]|\{|\bbool\b", told)
    assert max(map(len, told.splitlines())) <= 80
    for parameter in command.command.params:
        if not parameter.hidden:
            assert (parameter.help or "").endswith("."), parameter.name
    assert command.command.help.partition("\n")[0].endswith((".", "..."))


@pytest.mark.parametrize(
    "group", [each for each in GROUPS if isinstance(each.command, DefaultGroup)], ids=str
)
def test_help_of_a_group_shows_the_options_of_its_default(group):
    default = next(iter(group.command.commands.values()))
    told = help_of(group).partition("the default command:")[2]
    shown = [option for option in default.params if not option.hidden and option.name != "help"]
    assert shown
    for option in shown:
        named = option.param_type_name == "option"
        assert (option.opts[0] if named else option.metavar or option.name.upper()) in told


@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if getattr(each.command, "renamed", None)], ids=str
)
def test_former_names_mean_the_new_ones_and_warn(command, capsys):
    assert isinstance(command.command, RenamingCommand)
    names = {name for option in command.options for name in option.opts}
    for former, new in command.command.renamed.items():
        assert new in names
        assert former not in names
        for given, wanted in (([former, "x"], [new, "x"]), ([f"{former}=x"], [f"{new}=x"])):
            if former.startswith("--"):
                assert command.command._with_new_names(given) == wanted
                assert f"warning: {former} will be refused" in capsys.readouterr().err
        assert command.command._with_new_names(["--", former]) == ["--", former]
        assert not capsys.readouterr().err


def test_commands_run_with_former_names(tmp_path):
    old = runner.invoke(app, ["network", "sample", "asia", "-n", "3", "--seed=4", "--json"])
    new = runner.invoke(app, ["network", "sample", "asia", "--rows", "3", "--random-state", "4", "--json"])
    assert old.exit_code == new.exit_code == 0, old.output
    assert old.stdout == new.stdout
    assert old.stderr.count("warning: ") == 2
    assert not new.stderr
    assert (
        runner.invoke(app, ["network", "sample", "asia", "-n3", "--seed", "4", "--json"]).stdout == new.stdout
    )
