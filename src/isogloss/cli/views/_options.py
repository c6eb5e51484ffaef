"""Options that the commands of ``isogloss views`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Files: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Tables (.csv, .tsv, .parquet) with the same rows, one for each view; or one table or .npz.",
    ),
]
ViewColumns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        metavar="NAME=COLUMNS",
        help="Columns of a view of a single table: names or patterns, separated by commas, for example "
        "'blood=b_*,age'. Repeat for each view. By default, views are the parts of column names before '__'.",
    ),
]
IdColumn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that identifies rows; rows of several tables are matched by it.",
    ),
]
ModelFile: TypeAlias = Annotated[
    Path, typer.Option("--model", "-m", help="A model that 'isogloss views fit --save' wrote.")
]
