"""``--set NAME=VALUE``: settings of a model that are seldom needed, and the options that they once were."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from isogloss.cli._output import echo


class CommandWithSettings(TyperCommand):
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
            echo(f"warning: {option} will be refused from version 0.3 on; use --set {name}={value}", err=True)
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
