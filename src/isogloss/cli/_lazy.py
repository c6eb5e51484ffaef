"""Groups of commands: one that imports a command when it runs, one whose first command need not be named.

Each command needs its own part of the library; together they need all of it, which takes longer to
import than many a command takes to run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from inspect import cleandoc
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from isogloss.cli._options import renaming

VALUES = {
    "<(int|float)( range)?>": "NUMBER",
    r"<(path|list\[path\])>": "FILE",
    r"<(str|text|list\[str\])>": "TEXT",
    "<(datetime|time)>": "TIME",
    r"<([\w-]+(?:\|[\w-]+)+)>": r"\1",
}
"""Words for types of values, by how typer writes them in help."""


class LazyCommand(NamedTuple):
    """A command by module and attribute, imported when it runs, with its help line."""

    module: str
    attribute: str
    help: str
    renamed: Mapping[str, str] = {}
    """New names of options by former names."""

    def load(self, name: str) -> Any:
        """Import the command."""
        found = getattr(import_module(self.module), self.attribute)
        if isinstance(found, typer.Typer):
            found.rich_markup_mode = None
            command: Any = typer.main.get_group(found)
            command.name = name
        else:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name, cls=renaming(self.renamed))(found)
            command = typer.main.get_command(alone)
        for one in (command, *getattr(command, "commands", {}).values()):
            one.help = _paragraphs(one.help or "")
            one.short_help = one.help.partition("\n\n")[0]  # whole in lists, not cut off with "..."
            one.format_options = partial(_format_options, one.format_options)
            one.collect_usage_pieces = partial(_usage_pieces, one.collect_usage_pieces)
        return command


def _format_options(usual: Callable[..., None], ctx: Any, formatter: Any) -> None:
    """Write lists of options and arguments with plain words for the types of their values."""
    write = formatter.write_dl
    formatter.write_dl = lambda rows, **style: write([(_plain(name), text) for name, text in rows], **style)
    usual(ctx, formatter)


def _plain(name: str) -> str:
    """An option with its type in plain words, or an argument without a type.

    Examples
    --------
    >>> _plain("-n, --limit <int range>"), _plain("NEWS... <list[str]>"), _plain("event <str>")
    ('-n, --limit NUMBER', 'NEWS...', 'EVENT')
    >>> _plain("--preset <quick|default>")
    '--preset quick|default'
    """
    if not name.startswith("-"):
        name, typed, _ = name.partition(" <")
        return name.upper() if typed and name.islower() else name  # a command has no type
    for pattern, word in VALUES.items():
        name = re.sub(pattern, word, name)
    return name


def _usage_pieces(usual: Callable[[Any], list[str]], ctx: Any) -> list[str]:
    return [_usage_piece(piece) for piece in usual(ctx)]


def _usage_piece(piece: str) -> str:
    """An argument as manuals write it.

    Examples
    --------
    >>> _usage_piece("{event}"), _usage_piece("[[NEWS]]"), _usage_piece("{NEWS...}...")
    ('EVENT', '[NEWS]', 'NEWS...')
    """
    whole = piece.removesuffix("...")
    if not (whole.startswith(("[", "{")) and whole.endswith(("]", "}"))):
        return piece
    name = whole[1:-1].removesuffix("...")
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    name = name.upper() if name.islower() else name
    return (f"[{name}]" if whole.startswith("[") else name) + piece[len(whole) :]


def _paragraphs(text: str) -> str:
    """Paragraphs that the terminal may break where it likes; those of a docstring are broken already."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(text).split("\n\n"))


class CommandGroup(TyperGroup):
    """A group of commands whose help needs no pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options; flags that typer leaves at None, such as --help, are False.

        Typer takes False as it is, but imports pydantic to convert None.
        """
        params = super().get_params(ctx)
        for option in params:
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return params


class LazyGroup(CommandGroup):
    """Lists its commands from ``lazy_commands`` and loads the one that is called."""

    lazy_commands: ClassVar[Mapping[str, LazyCommand]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, place in self.lazy_commands.items():
            self.commands[name] = TyperCommand(name, help=place.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, loaded; a name that is none gets the usual error."""
        name, listed, rest = super().resolve_command(ctx, args)
        if name is None or listed is None:
            return name, listed, rest
        return name, self.lazy_commands[name].load(name), rest


class DefaultGroup(CommandGroup):
    """A group whose first command need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first command before arguments that do not begin with a command.

        No argument at all means the help of the group, where it says so, or else the first command.
        """
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        if not named and (args or not self.no_args_is_help):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of the group, its commands, and the options of the first command."""
        super().format_options(ctx, formatter)
        name, first = next(iter(self.commands.items()))
        shown = [record for param in first.params if (record := param.get_help_record(ctx)) is not None]
        if shown:
            with formatter.section(f"Options of {ctx.command_path} {name}, the default command"):
                formatter.write_dl(shown)
