"""The ``isogloss`` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import isogloss
from isogloss.cli import align, demo, dictionary, models
from isogloss.exceptions import IsoglossError

__all__ = ["main"]

app = typer.Typer(
    name="isogloss",
    help="One meaning space from many views, and the same story in every language.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.add_typer(models.model_group, name="model")
app.add_typer(align.align_group, name="align")
app.add_typer(dictionary.dictionary_group, name="dictionary")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"isogloss {isogloss.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options that come before the command."""


def main() -> None:
    """Run the command line; known errors end with one sentence and code 1."""
    try:
        app()
    except (IsoglossError, ValueError, OSError, ImportError) as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped")
        sys.exit(1)
