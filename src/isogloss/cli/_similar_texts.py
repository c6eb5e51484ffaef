"""Texts of documents, which a corpus does not keep, given as LANGUAGE=FILE on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer


def named_texts(files: Sequence[str]) -> dict[str, dict[str, str]]:
    """For each language title and text of its documents by their ids, from files of JSON lines."""
    from isogloss.corpora import JsonLines

    return {
        code: {one.id: f"{one.title}\n{one.text}".strip() for one in JsonLines(path, lang=code)}
        for code, path in map(_named, files)
    }


def _named(text: str) -> tuple[str, Path]:
    code, equals, path = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text}: expected LANGUAGE=FILE, as en={text}")
    return code, Path(path)
