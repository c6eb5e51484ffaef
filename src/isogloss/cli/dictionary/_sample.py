"""``isogloss dictionary sample``: a tale in two languages to try 'from-text' with."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli._options import Json
from isogloss.cli._output import echo, echo_json
from isogloss.exceptions import DictionaryError
from isogloss.io import atomic_write

_NAMES = ("tale.en.txt", "tale.es.txt")


def sample(
    folder: Annotated[Path, typer.Argument(help="The folder for tale.en.txt and tale.es.txt.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a fairy tale in English and in Spanish, to try 'from-text' with."""
    paths = [folder / name for name in _NAMES]
    for path in paths:
        if path.exists():
            raise DictionaryError(f"{path}: already exists; remove it, or give another folder")
        if not folder.is_dir():
            raise DictionaryError(f"{folder}: is not a folder; make it first")
    for path in paths:
        with atomic_write(path) as file:
            file.write(files("isogloss.lexicon").joinpath("sample", path.name).read_bytes())
    if as_json:
        echo_json({"files": [str(path) for path in paths]})
        return
    echo(f"written: {' and '.join(map(str, paths))}")
