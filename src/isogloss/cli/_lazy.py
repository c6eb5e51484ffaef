"""Groups of commands: one that imports a command when it runs, one whose first command need not be named.

Each command needs its own part of the library; together they need all of it, which takes longer to
import than many a command takes to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import cleandoc
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class LazyCommand(NamedTuple):
    """A command by module and attribute, imported when it runs, with its help line."""

    module: str
    attribute: str
    help: str

    def load(self, name: str) -> Any:
        """Import the command."""
        found = getattr(import_module(self.module), self.attribute)
        if isinstance(found, typer.Typer):
            found.rich_markup_mode = None
            command: Any = typer.main.get_group(found)
            command.name = name
        else:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name)(found)
            command = typer.main.get_command(alone)
        for one in (command, *getattr(command, "commands", {}).values()):
            one.help = _paragraphs(one.help or "")
            one.short_help = one.help.partition("\n\n")[0]  # whole in lists, not cut off with "..."
        return command


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
