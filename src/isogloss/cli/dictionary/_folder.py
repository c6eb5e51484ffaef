"""The folder of a dictionary: refused if something else is in it, and replaced as a whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isogloss.exceptions import DictionaryError

_OURS = "static/site.js"
"""A file by which a folder that we wrote is recognised."""


def check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that could not be written, before the work."""
    if folder.exists() and not folder.is_dir():
        raise DictionaryError(f"{folder}: is a file; give the name of a folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / _OURS).is_file():
            raise DictionaryError(
                f"{folder}: the folder is not empty, and what is in it is not a dictionary; give another name"
            )
        if not overwrite:
            raise DictionaryError(
                f"{folder}: has a dictionary already; replace it with --overwrite, or give another name"
            )
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise DictionaryError(f"{folder}: the folder {parent} does not exist; make it first")
    if not os.access(parent, os.W_OK):
        raise DictionaryError(f"{folder}: no permission to write in {parent}")


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill that takes the place of another when all went well, and leaves no trace otherwise."""
    target = folder.absolute()
    stem = f".isogloss-{secrets.token_hex(8)}"
    new, old = target.with_name(f"{stem}.tmp"), target.with_name(f"{stem}.old")
    try:
        new.mkdir()
        yield new
        if target.exists():
            target.rename(old)
        new.rename(target)
    except OSError as reason:
        raise DictionaryError(f"{folder}: cannot be written: {reason.strerror or reason}") from reason
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)
