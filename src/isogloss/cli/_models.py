"""``isogloss model``: look at model files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import Json
from isogloss.cli._output import echo_json

model_group = typer.Typer(cls=CommandGroup, help="Inspect model files.", no_args_is_help=True)


@model_group.callback()
def _group() -> None:
    """Commands about model files."""


@model_group.command("info")
def info(
    path: Annotated[Path, typer.Argument(help="A model file.")],
    as_json: Json = False,
) -> None:
    """Describe a model file without loading its arrays."""
    from isogloss.io import describe

    described = describe(path)
    if as_json:
        echo_json(described, indent=2)
        return
    table = Table(title=str(path), show_header=False, title_justify="left")
    for key, value in described.items():
        text = json.dumps(value) if isinstance(value, (dict, list)) else str(value)
        table.add_row(key, text if len(text) < 200 else text[:200] + " ...")
    Console().print(table)
