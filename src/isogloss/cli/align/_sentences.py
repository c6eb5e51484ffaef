"""``isogloss align sentences``: sentence pairs out of raw text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import check_outputs, counted, echo, echo_json, not_stdout
from isogloss.cli._progress import counting_steps
from isogloss.cli.align._input import Jobs, two_values
from isogloss.cli.align._options import LexiconFile, priors_of

if TYPE_CHECKING:
    from isogloss.alignment.sentences import ReadText, SentenceAlignment, Trust

Form = Literal["tsv", "tmx", "lines"]
Layout = Literal["auto", "paragraphs", "wrapped", "sentences"]
PASSES = 2
MAX_LISTED = 5
"""Warnings of one kind that are printed in full."""


Source = Annotated[Path, typer.Argument(metavar="SRC", help="A text file, or a folder of them.")]
Target = Annotated[Path, typer.Argument(metavar="TGT", help="Its translation, or a folder of them.")]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", help="The file to write.", callback=not_stdout),
]
OutputFormat = Annotated[
    Form | None,
    typer.Option(
        "--format",
        help="A table (source, target, probability), a translation memory, or two files of lines whose "
        "names end in the languages. By default decided by the ending of the output.",
    ),
]
Languages = Annotated[
    str | None,
    typer.Option(
        metavar="SRC,TGT", help="Languages, for example en,cs: for abbreviations, and for TMX files."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of both sides, or SRC,TGT; detected by default. Example: utf-8,cp1250.",
    ),
]
LayoutOption = Annotated[
    Layout,
    typer.Option(
        help="Each line is a paragraph; or lines were wrapped and blank lines separate paragraphs; or "
        "each line is a sentence.",
    ),
]
Passes = Annotated[
    int,
    typer.Option(help="Number of times a lexicon is learned; 0 to align by lengths only.", min=0, max=10),
]
MinProbability = Annotated[
    float, typer.Option(help="Leave out pairs that are less probable.", min=0.0, max=1.0)
]
Unaligned = Annotated[bool, typer.Option("--unaligned", help="Also write sentences without a partner.")]


def sentences(
    source: Source,
    target: Target,
    *,
    output: Output,
    form: OutputFormat = None,
    languages: Languages = None,
    encoding: Encoding = None,
    layout: LayoutOption = "auto",
    lexicon: LexiconFile = None,
    passes: Passes = PASSES,
    min_probability: MinProbability = 0.0,
    unaligned: Unaligned = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Align the sentences of two texts that are translations of each other.

    Reads text files in any encoding and script, splits them into sentences, and writes which sentences
    correspond, for the other commands. The texts must be in the same order; sentences may be left out, added,
    merged or split. In two folders, files with the same name, without endings such as .en.txt, are aligned.
    """
    from isogloss.alignment.sentences import SentenceOptions, Trust, align_documents, match_files, write_beads

    form = _form(form, output)
    codes = two_values(languages, "--languages") if languages else ("", "")
    if form == "tmx" and not all(codes):
        raise typer.BadParameter("a TMX file needs --languages, for example --languages en,cs")
    check_outputs(as_json, output)
    console = Console(stderr=True)
    pairs, alone = match_files(source, target)
    documents = _read(pairs, codes, _encodings(encoding), layout, console)
    priors = priors_of(lexicon, None, None, 1.0)
    with counting_steps("splitting into words", passes + 1, console) as begin:
        aligned = align_documents(
            [(left.text, right.text) for left, right in documents],
            lexicon=priors,
            options=SentenceOptions(passes=passes, n_jobs=jobs),
            on_pass=lambda done, steps: begin(f"pass {done} of {steps}"),
        )
    trust = Trust.of(aligned)
    rows = {"languages": codes, "min_probability": min_probability, "unaligned": unaligned}
    files = write_beads(aligned, output, form, **rows)  # type: ignore[arg-type]
    warnings = [*_warnings_of_input(documents, alone), *_named(trust.warnings, documents)]
    if as_json:
        echo_json(_described(documents, aligned, trust, files, warnings), indent=2)
        return
    _report(documents, trust, files, warnings, console)


def _form(form: Form | None, output: Path) -> Form:
    """The form of the output, from its name unless it is given."""
    if form is None:
        return "tmx" if ".tmx" in output.suffixes else "tsv"
    return form


def _encodings(encoding: str | None) -> tuple[str | None, str | None]:
    if encoding is None or "," not in encoding:
        return encoding, encoding
    return two_values(encoding, "--encoding")


def _read(
    pairs: list[tuple[Path, Path]],
    codes: tuple[str, str],
    encodings: tuple[str | None, str | None],
    layout: Layout,
    console: Console,
) -> list[tuple[ReadText, ReadText]]:
    from isogloss.alignment.sentences import ReadText

    documents = []
    with counting_steps("reading", len(pairs), console) as begin:
        for files in pairs:
            begin(f"reading {files[0].name}")
            left, right = (
                ReadText.of(file, code, encoding=encoding, layout=layout)
                for file, code, encoding in zip(files, codes, encodings, strict=True)
            )
            documents.append((left, right))
    return documents


def _warnings_of_input(documents: list[tuple[ReadText, ReadText]], alone: list[Path]) -> list[str]:
    """Return warnings about the input files."""
    warnings = []
    if alone:
        named = ", ".join(map(str, alone[:MAX_LISTED])) + (", ..." if len(alone) > MAX_LISTED else "")
        warnings.append(f"{counted(len(alone), 'file')} without a partner: {named}")
    for side in (0, 1):
        mixed = [pair[side] for pair in documents if pair[side].scripts]
        for one in mixed[:MAX_LISTED]:
            letters = ", ".join(f"{script} {n:,}" for script, n in one.scripts.items())
            warnings.append(
                f"{one.path}: the text is in more than one script ({letters} letters); words are compared as "
                "they are written, so convert it to one script if it is one language"
            )
    return warnings


def _named(warnings: tuple[str, ...], documents: list[tuple[ReadText, ReadText]]) -> list[str]:
    """Warnings of the alignment, with the files of a single document."""
    where = f"{documents[0][0].path} and {documents[0][1].path}: " if len(documents) == 1 else ""
    return [f"{where}{warning}" for warning in warnings]


def _encodings_read(documents: list[tuple[ReadText, ReadText]]) -> list[list[str]]:
    return [sorted({pair[side].encoding for pair in documents}) for side in (0, 1)]


def _described(
    documents: list[tuple[ReadText, ReadText]],
    aligned: list[SentenceAlignment],
    trust: Trust,
    files: list[Path],
    warnings: list[str],
) -> dict[str, Any]:
    return {
        "output": [str(file) for file in files],
        "documents": len(aligned),
        "encodings": _encodings_read(documents),
        "sentences": trust.sentences,
        "pairs": sum(n for kind, n in trust.kinds.items() if "0" not in kind),
        "kinds": trust.kinds,
        "one_to_one": round(trust.one_to_one, 4),
        "unaligned": [round(share, 4) for share in trust.unaligned],
        "probability": round(trust.probability, 4),
        "order": round(trust.order, 4),
        "runs": [
            {"source_file": documents[k][0].path, "source": [s.start, s.stop], "target": [t.start, t.stop]}
            for k, s, t in trust.runs
        ],
        "warnings": warnings,
    }


def _report(
    documents: list[tuple[ReadText, ReadText]],
    trust: Trust,
    files: list[Path],
    warnings: list[str],
    console: Console,
) -> None:
    for warning in warnings:
        console.print(f"[yellow]warning:[/] {escape(warning)}", highlight=False)
    pairs = sum(n for kind, n in trust.kinds.items() if "0" not in kind)
    read = "; ".join(
        f"{counted(n, 'sentence')} in {', '.join(found) or 'no file'}"
        for n, found in zip(trust.sentences, _encodings_read(documents), strict=True)
    )
    kinds = ", ".join(f"{kind}: {n:,}" for kind, n in trust.kinds.items())
    echo(
        f"{' and '.join(map(str, files))}: {counted(pairs, 'pair')} of {counted(len(documents), 'document')}"
    )
    echo(f"source and target: {read}")
    echo(f"beads by source-target sentences: {kinds or 'none'}")
    echo(
        f"without a partner: {trust.unaligned[0]:.1%} of the source, {trust.unaligned[1]:.1%} of the target; "
        f"mean probability of pairs {trust.probability:.3f}"
    )
