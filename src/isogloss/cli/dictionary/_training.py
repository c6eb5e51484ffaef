"""``isogloss dictionary vectors``: word vectors from the text of one language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import check_outputs, not_stdout, report_output
from isogloss.cli._progress import counting_steps
from isogloss.exceptions import VectorFileError


def vectors(
    text: Annotated[Path, typer.Argument(metavar="TEXT", help="Text in UTF-8, compressed or not.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The vectors to write, as text.", callback=not_stdout)
    ],
    lang: Annotated[str, typer.Option("--lang", "-l", help="The language of the text, such as en.")] = "",
    method: Annotated[
        Literal["pmi", "cca"],
        typer.Option(
            help="Singular vectors of pointwise mutual information, or CCA of words and their neighbours.",
        ),
    ] = "pmi",
    components: Annotated[int, typer.Option(help="Dimensions of the vectors.", min=1)] = 100,
    window: Annotated[int, typer.Option(help="Maximum distance of neighbours, in words.", min=1)] = 5,
    min_count: Annotated[int, typer.Option(help="Ignore words that occur less often.", min=1)] = 5,
    words: Annotated[int, typer.Option(help="Keep this many of the most frequent words.", min=2)] = 50_000,
    as_json: Json = False,
) -> None:
    """Train word vectors on the text of one language, for 'build'.

    Words are stretches of letters and digits in lower case. Neighbours are counted within lines. A few
    million words of text make useful vectors; text that is a translation of the other language's text makes
    better ones.
    """
    from isogloss.lexicon import train_vectors, write_vectors

    check_outputs(as_json, output, error=VectorFileError)
    with counting_steps("reading", 3, Console(stderr=True)) as say:
        found = train_vectors(
            _sentences(text, lang),
            lang,
            method="cca" if method == "cca" else "pmi",
            n_components=components,
            window=window,
            min_count=min_count,
            max_words=words,
            progress=say,
        )
    write_vectors(found, output)
    summary = {"output": str(output), "words": len(found), "dimensions": found.dim, "method": method}
    message = f"{output}: {len(found)} words, {found.dim} dimensions"
    report_output(json.dumps(summary) if as_json else message, output)


def _sentences(path: Path, lang: str) -> Iterator[list[str]]:
    """The words of every line."""
    from isogloss.io import read_lines
    from isogloss.text import Tokeniser

    tokeniser = Tokeniser(lang or "en")
    for number, line in enumerate(read_lines(path), 1):
        try:
            yield tokeniser(line.decode())
        except UnicodeDecodeError as reason:
            raise VectorFileError(f"{path}:{number}: is not UTF-8; convert the file to UTF-8") from reason
