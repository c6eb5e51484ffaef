"""Options of commands with a sentence encoder: its name, and texts, which a corpus does not keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from isogloss.similarity import Encoder

EncoderModel = Annotated[
    str,
    typer.Option(
        "--encoder-model",
        metavar="NAME",
        help="The sentence encoder: universal, or the folder of a sentence-transformers, model2vec or ONNX "
        "model; see 'Use a sentence encoder' in the documentation.",
    ),
]


def chosen_encoder(name: str, jobs: int) -> Encoder:
    """Open the encoder that an option names."""
    from isogloss.similarity import open_encoder

    encoder = open_encoder(name, n_jobs=jobs)
    if encoder is None:
        raise typer.BadParameter(f"{name}: expected the name of an encoder", param_hint="--encoder-model")
    return encoder


def named_texts(files: Sequence[str]) -> dict[str, dict[str, str]]:
    """Read title and text of the documents of each language by id, from JSON lines."""
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
