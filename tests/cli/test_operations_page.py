"""Commands of the operations page are commands, with options that they have."""

import re
import shlex

import pytest
import typer

from isogloss.cli._lazy import LazyCommand
from isogloss.cli._serve import work
from isogloss.cli.app import app
from isogloss.cli.news._stored import list_events

ELSEWHERE = {("work",): work, ("events", "list"): list_events}


def printed(root):
    text = (root / "docs" / "howto" / "operations.rst").read_text()
    return re.findall(r"^   \$ isogloss (.+)$", text, re.MULTILINE)


def command_of(words):
    """The command that words begin with, and the words that are left."""
    for names, function in ELSEWHERE.items():
        if tuple(words[: len(names)]) == names:
            alone = typer.Typer()
            alone.command()(function)
            return typer.main.get_command(alone), words[len(names) :]
    place = typer.main.get_command(app).lazy_commands[words[0]]
    assert isinstance(place, LazyCommand)
    command, rest = place.load(words[0]), words[1:]
    while hasattr(command, "commands") and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def test_there_are_commands_to_look_at(request):
    assert len(printed(request.config.rootpath)) > 12


def test_every_command_takes_what_is_printed(request):
    for line in printed(request.config.rootpath):
        command, rest = command_of(shlex.split(line))
        command.make_context(line, rest)


def test_a_wrong_option_would_be_seen():
    command, rest = command_of(["doctor", "--mend"])
    with pytest.raises(Exception, match="--mend"):
        command.make_context("doctor", rest)
