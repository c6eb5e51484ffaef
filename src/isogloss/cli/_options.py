"""Options that mean the same in every command, and options under their former names.

The vocabulary is described in CONTRIBUTING.md and checked by ``tests/cli/test_vocabulary.py``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from isogloss.cli._output import echo, not_stdout

REFUSED_FROM = "0.3"
"""Version that no longer knows former names of options."""

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
random_state_option = typer.Option("--random-state", help="Seed of the random number generator.", min=0)
RandomState = Annotated[int, random_state_option]
Save = Annotated[
    Path | None,
    typer.Option("--save", help="Also save the model, for the other commands.", callback=not_stdout),
]
Languages = Annotated[
    str | None, typer.Option("--languages", help="Only these languages, for example en,de,fr.")
]


class RenamingCommand(TyperCommand):
    """A command that accepts options under former names, with a warning."""

    renamed: ClassVar[Mapping[str, str]] = {}
    """New names of options by former names, both with hyphens: ``{"--seed": "--random-state"}``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments in which former names are replaced, with a warning for each."""
        return super().parse_args(ctx, self._with_new_names(args))

    def _with_new_names(self, args: Sequence[str]) -> list[str]:
        out: list[str] = []
        for position, argument in enumerate(args):
            if argument == "--":
                return [*out, *args[position:]]
            option, equals, value = argument.partition("=")
            if not option.startswith("--"):  # -cVALUE is -c VALUE
                option, equals, value = argument[:2], "=" * bool(argument[2:]), argument[2:]
            new = self.renamed.get(option)
            if new is not None:
                _warn(option, new)
                argument = new + equals + value
            out.append(argument)
        return out


def _warn(former: str, new: str) -> None:
    echo(f"warning: {former} will be refused from version {REFUSED_FROM} on; use {new}", err=True)


def renaming(renamed: Mapping[str, str]) -> type[RenamingCommand]:
    """Return a class of commands that accept options under former names; a value for ``cls``."""
    return type("RenamingCommand", (RenamingCommand,), {"renamed": renamed})


class CommandWithSettings(RenamingCommand):
    """A command whose former options are settings: ``--null 0.2`` is read as ``--set null=0.2``.

    ``former_options`` and ``former_flags`` name the settings; the options had hyphens for underscores.
    """

    former_options: ClassVar[Collection[str]] = ()
    former_flags: ClassVar[Collection[str]] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments in which former options are rewritten, with a warning for each."""
        return super().parse_args(ctx, self._rewritten(args))

    def _rewritten(self, args: Sequence[str]) -> list[str]:
        out: list[str] = []
        left = iter(args)
        for argument in left:
            if argument == "--":
                return [*out, argument, *left]
            option, has_value, value = argument.partition("=")
            name = option.removeprefix("--").replace("-", "_")
            if not option.startswith("--") or name not in {*self.former_options, *self.former_flags}:
                out.append(argument)
                continue
            if not has_value:
                value = "true" if name in self.former_flags else next(left, "")
            _warn(option, f"--set {name}={value}")
            out += ["--set", f"{name}={value}"]
        return out


def parse_settings(given: Sequence[str], known: Collection[str]) -> dict[str, Any]:
    """Parse ``name=value`` pairs: values as in JSON (numbers, true, false, null), anything else as text.

    Examples
    --------
    >>> parse_settings(["null=0.2", "bayes=true"], ("null", "bayes"))
    {'null': 0.2, 'bayes': True}
    """
    settings = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in known:
            raise typer.BadParameter(f"--set {pair}: expected NAME=VALUE, NAME one of {', '.join(known)}")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings
