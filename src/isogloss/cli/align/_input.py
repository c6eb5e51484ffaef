"""Options of ``isogloss align``, and reading of text and links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer
from rich.markup import escape

from isogloss.cli._console import Console
from isogloss.cli._output import not_stdout

if TYPE_CHECKING:
    from isogloss.alignment import Gold, Links
    from isogloss.corpora import PairReport, ParallelText, WordPairs

Source: TypeAlias = Annotated[
    Path, typer.Argument(metavar="SRC", help="Source sentences, or a file of pairs.")
]
Target: TypeAlias = Annotated[
    Path | None, typer.Argument(metavar="TGT", help="Target sentences; not with a file of pairs.")
]
Form: TypeAlias = Annotated[
    Literal["auto", "lines", "columns", "bars", "tmx", "zip"],
    typer.Option(
        "--format",
        help="Two files of lines, or one file: tab-separated columns, 'source ||| target', TMX or zip.",
    ),
]
Columns: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="SRC,TGT", help="Columns of a table, as numbers from 0 or as names in the first line."
    ),
]
Languages: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SRC,TGT",
        help="Languages of the sides, for example en,fr; needed for TMX files, zip archives and 'export'.",
    ),
]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Stop at the first bad pair instead of writing an empty line.")
]
MaxTokens: TypeAlias = Annotated[int, typer.Option(help="Maximum sentence length in words.", min=1)]
Tokenised: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--tokenised/--raw",
        help="Take the words between spaces as they are, or split raw text into words, in scripts without "
        "spaces too; by default, whichever the text of each side looks like.",
        show_default=False,
    ),
]
Details: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write JSON Lines: text, words, their offsets in characters, and links of every pair.",
        callback=not_stdout,
    ),
]
CorrectionsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--corrections",
        metavar="FILE",
        help="Corrections saved on the page of 'view'; these links are fixed.",
    ),
]
Output: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", help="The file to write; - for standard output.")
]
Model: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved with --save.")]
First: TypeAlias = Annotated[
    int, typer.Option("--first", help="Index of the first word of a sentence.", min=0, max=1)
]
Jobs: TypeAlias = Annotated[int, typer.Option("--jobs", "-j", help="Number of threads; -1 for one per core.")]


def open_text(
    source: Path,
    target: Path | None,
    form: str,
    columns: str,
    languages: str | None,
    strict: bool,
    max_tokens: int,
    tokenised: bool | None = None,
) -> WordPairs:
    """The words of the files and options of a command."""
    from isogloss.corpora import WordPairs

    return WordPairs(_reader(source, target, form, columns, languages, strict, max_tokens), tokenised)


def describe_tokens(text: WordPairs) -> str:
    """Say what was done about the words of each side."""
    as_is, split = "tokenised text, taken as it is", "raw text, split into words"
    source, target = (as_is if tokenised else split for tokenised in text.tokenised_sides)
    description = f"both sides: {source}" if source == target else f"source: {source}; target: {target}"
    return (
        description
        if text.tokenised is not None
        else f"{description} (detected; override with --tokenised or --raw)"
    )


def warn_of_problems(report: PairReport, console: Console, as_json: bool) -> None:
    """Say which pairs were left out."""
    if report.bad and not as_json:
        console.print(f"[yellow]warning:[/] {escape(str(report))}", highlight=False)


def _reader(
    source: Path,
    target: Path | None,
    form: str,
    columns: str,
    languages: str | None,
    strict: bool,
    max_tokens: int,
) -> ParallelText:
    from isogloss.corpora import BarPairs, ColumnPairs, LinePairs, TmxPairs, ZipPairs

    form = _guess(source, target) if form == "auto" else form
    if (form == "lines") != (target is not None):
        raise typer.BadParameter(
            "give two files of lines, or one file of pairs" + (f" for --format {form}" if target else "")
        )
    bad = "raise" if strict else "skip"
    if target is not None:
        return LinePairs(source, target, on_bad=bad, max_tokens=max_tokens)
    if form == "bars":
        return BarPairs(source, on_bad=bad, max_tokens=max_tokens)
    if form == "columns":
        left, right = two_values(columns, "--columns")
        numbers = left.isdigit() and right.isdigit()
        asked = (int(left), int(right)) if numbers else (left, right)
        return ColumnPairs(source, *asked, on_bad=bad, max_tokens=max_tokens)
    if languages is None:
        raise typer.BadParameter("choose two languages of the file with --languages, for example en,fr")
    reader = TmxPairs if form == "tmx" else ZipPairs
    return reader(source, *two_values(languages, "--languages"), on_bad=bad, max_tokens=max_tokens)


def _guess(source: Path, target: Path | None) -> str:
    """The form of a file from its name."""
    if target is not None:
        return "lines"
    endings = {".tmx": "tmx", ".zip": "zip", ".tsv": "columns", ".tab": "columns"}
    return next((form for ending, form in endings.items() if ending in source.suffixes), "bars")


def two_values(text: str | None, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in (text or "").split(",")]
    if len(parts) != 2 or not all(parts):
        raise typer.BadParameter(f"{option} {text or ''}: expected two values separated by a comma")
    return parts[0], parts[1]


def read_any_gold(path: Path, *, n: int, first: int) -> Gold:
    """Sure and possible links, in the form of NAACL or a line per sentence pair."""
    from isogloss.alignment import read_gold, read_naacl

    return read_naacl(path, n=n) if _is_naacl(path) else read_gold(path, first=first)


def read_any_links(path: Path, *, first: int) -> Links:
    """Links in the form of NAACL or a line per sentence pair."""
    from isogloss.alignment import read_naacl, read_pharaoh

    return read_naacl(path).possible if _is_naacl(path) else read_pharaoh(path, first=first)


def _is_naacl(path: Path) -> bool:
    from isogloss.io import read_lines

    line = next((line for line in read_lines(path) if line.strip()), b"")
    return re.match(rb"\A\s*+\d++\s++\d++\s++\d++(\s|$)", line) is not None
