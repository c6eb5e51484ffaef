"""Options of commands with a sentence encoder: its name, and texts, which a corpus does not keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

EncoderModel = Annotated[
    str,
    typer.Option(
        "--encoder-model",
        metavar="NAME",
        help="The sentence encoder: universal, or the folder of a sentence-transformers, model2vec or ONNX "
        "model; see 'Use a sentence encoder' in the documentation.",
    ),
]


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
