"""``isogloss align view``: a corpus with its links as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli._options import Json
from isogloss.cli._output import check_outputs, echo, echo_json, not_stdout
from isogloss.cli.align._input import (
    Columns,
    CorrectionsFile,
    Form,
    Jobs,
    Languages,
    MaxTokens,
    Model,
    Source,
    Target,
    Tokenised,
    describe_tokens,
    open_text,
)
from isogloss.cli.align._options import corrections_of


def view(
    model: Model,
    source: Source,
    target: Target = None,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The HTML file to write.", callback=not_stdout)
    ],
    min_probability: Annotated[
        float, typer.Option(help="Leave out links less probable than this.", min=0.0, max=1.0)
    ] = 0.1,
    corrections: CorrectionsFile = None,
    form: Form = "auto",
    columns: Columns = "0,1",
    languages: Languages = None,
    max_tokens: MaxTokens = 1000,
    tokenised: Tokenised = None,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Write a whole corpus with its links as one HTML page, to look at and to correct.

    The page needs no network. It has a slider for the threshold, and saves corrections to a file for
    --corrections of the next run.
    """
    from isogloss import io
    from isogloss.alignment import Aligner, write_viewer

    check_outputs(as_json, output)
    text = open_text(source, target, form, columns, languages, False, max_tokens, tokenised)
    aligner = io.load(model, expected=Aligner).set_params(n_jobs=jobs)
    made = corrections_of(corrections, text)
    threshold = aligner.link_threshold
    links = aligner.set_params(threshold=min(min_probability, threshold)).align(text)
    write_viewer(text.with_offsets(), links, output, threshold=threshold, corrections=made)
    if as_json:
        echo_json({"output": str(output), "pairs": text.report.pairs, "left_out": text.report.bad})
        return
    shown = text.report.pairs - text.report.bad
    echo(f"{output}: {shown} sentence pairs, {text.report.bad} left out\n{describe_tokens(text)}")
