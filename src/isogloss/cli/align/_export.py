"""``isogloss align export``: glossed text for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isogloss.cli._options import Json
from isogloss.cli._output import check_outputs, echo, echo_json, not_stdout
from isogloss.cli.align._input import (
    Columns,
    First,
    Form,
    Languages,
    MaxTokens,
    Source,
    Target,
    Tokenised,
    describe_tokens,
    open_text,
    read_any_links,
    two_values,
)


def export(
    source: Source,
    target: Target = None,
    *,
    links: Annotated[Path, typer.Option(help="Links of this text, as 'align' wrote them.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: NAME.flextext for FLEx, NAME.eaf for ELAN.",
            callback=not_stdout,
        ),
    ],
    title: Annotated[str, typer.Option(help="Title of the text; by default the name of the file.")] = "",
    first: First = 0,
    form: Form = "auto",
    columns: Columns = "0,1",
    languages: Languages = None,
    max_tokens: MaxTokens = 1000,
    tokenised: Tokenised = None,
    as_json: Json = False,
) -> None:
    """Write interlinear text for FLEx or ELAN: every word with its translation, and whole sentences.

    The gloss of a word is made of the words that it is linked to. --languages names the writing systems, for
    example seh,en.
    """
    from isogloss.alignment import write_interlinear

    check_outputs(as_json, output)
    text = open_text(source, target, form, columns, languages, False, max_tokens, tokenised)
    codes = ("und", "und") if languages is None else two_values(languages, "--languages")
    found = read_any_links(links, first=first)
    write_interlinear(text.with_offsets(), found, output, languages=codes, title=title)
    shown = text.report.pairs - text.report.bad
    if as_json:
        echo_json({"output": str(output), "pairs": text.report.pairs, "left_out": text.report.bad})
    else:
        echo(f"{output}: {shown} sentences with glosses, {text.report.bad} left out\n{describe_tokens(text)}")
