"""Look at what was learned and linked: ``lexicon``, ``jumps``, ``fertility``, ``score``, ``show``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import check_outputs, echo, echo_json, report_output, written
from isogloss.cli.align._input import (
    Columns,
    First,
    Form,
    Languages,
    Model,
    Output,
    Source,
    Target,
    Tokenised,
    open_text,
    read_any_gold,
    read_any_links,
)
from isogloss.io import atomic_write

if TYPE_CHECKING:
    from isogloss.alignment import AlignmentPicture, Links


def lexicon(
    model: Model,
    *,
    output: Output,
    min_count: Annotated[
        float, typer.Option(help="Ignore pairs with a lower count than this.", min=0.0)
    ] = 0.5,
    translations: Annotated[
        int | None,
        typer.Option("--translations", "-k", help="Translations per word, in each direction.", min=1),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a table of translations with probabilities in both directions and counts."""
    from isogloss import io
    from isogloss.alignment import Aligner

    check_outputs(as_json, output)
    rows = [row for row in io.load(model, expected=Aligner).translation_table_ if row[4] >= min_count]
    rows = rows if translations is None else _best(rows, translations)
    with written(output) as path, atomic_write(path) as file:
        file.write(b"source\ttarget\tp(target|source)\tp(source|target)\tcount\n")
        for source, target, forward, backward, count in rows:
            file.write(f"{source}\t{target}\t{forward:.6g}\t{backward:.6g}\t{count:.4f}\n".encode())
    _report_rows(output, len(rows), "pairs", as_json)


def jumps(model: Model, *, output: Output, as_json: Json = False) -> None:
    """Write a table of jump counts, as input for --jumps."""
    from isogloss import io
    from isogloss.alignment import Aligner, write_jumps

    check_outputs(as_json, output)
    rows = io.load(model, expected=Aligner).jump_table_
    with written(output) as path:
        write_jumps(rows, path)
    _report_rows(output, len(rows), "jumps", as_json)


def fertility(model: Model, *, output: Output, as_json: Json = False) -> None:
    """Write a table of fertility counts, as input for --fertility."""
    from isogloss import io
    from isogloss.alignment import Aligner, write_fertilities

    check_outputs(as_json, output)
    try:
        rows = io.load(model, expected=Aligner).fertility_table_
    except AttributeError as reason:
        raise typer.BadParameter(f"{model}: {reason}") from reason
    with written(output) as path:
        write_fertilities(rows, path)
    _report_rows(output, len(rows), "fertilities", as_json)


def _report_rows(output: Path, n: int, what: str, as_json: bool) -> None:
    report_output(
        json.dumps({"output": str(output), what: n}) if as_json else f"{output}: {n} {what}", output
    )


Row: TypeAlias = tuple[str, str, float, float, float]


def _best(rows: list[Row], best: int) -> list[Row]:
    """Rows that are among the best of their source word or of their target word."""
    chosen: set[int] = set()
    for word, probability in ((0, 2), (1, 3)):
        ranks: dict[Any, int] = {}
        for number in sorted(range(len(rows)), key=lambda k: -float(rows[k][probability])):
            rank = ranks[rows[number][word]] = ranks.get(rows[number][word], 0) + 1
            if rank <= best:
                chosen.add(number)
    return [rows[number] for number in sorted(chosen)]


def score(
    links: Annotated[
        Path, typer.Argument(metavar="LINKS", help="Links to score, in Pharaoh or NAACL format.")
    ],
    gold: Annotated[
        Path, typer.Argument(metavar="GOLD", help="Manual links: 0-0 sure, 0p0 possible; or NAACL format.")
    ],
    first: First = 0,
    gold_first: Annotated[
        int | None, typer.Option(help="Index of the first word in GOLD, if it differs.", min=0, max=1)
    ] = None,
    as_json: Json = False,
) -> None:
    """Score links against manual ones: precision, recall, F1, alignment error rate."""
    from isogloss.alignment import RATES, score_links

    found = read_any_links(links, first=first)
    people = read_any_gold(gold, n=len(found), first=first if gold_first is None else gold_first)
    summary = score_links(found, people).summary()
    if as_json:
        echo_json(summary, indent=2)
        return
    table = Table("", "percent", "standard error", title=escape(str(links)), title_justify="left")
    for name in RATES:
        table.add_row(
            name.upper() if len(name) < 4 else name,
            *(f"{100 * summary[k]:.2f}" for k in (name, f"{name}_se")),
        )
    Console().print(table)
    echo(f"{summary['sentences']} sentence pairs, {summary['links']} links, {summary['sure']} sure links")


def show(
    source: Source,
    target: Target = None,
    *,
    pair: Annotated[int, typer.Option(help="Number of the sentence pair, from 1.", min=1)] = 1,
    links: Annotated[Path | None, typer.Option(help="Links to draw.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A model; its posteriors shade the cells.")
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="Manual links, drawn as frames.")] = None,
    first: First = 0,
    svg: Annotated[
        Path | None,
        typer.Option(help="Write an SVG file instead of showing the picture; - for standard output."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page instead of showing the picture; - for standard output."),
    ] = None,
    form: Form = "auto",
    columns: Columns = "0,1",
    languages: Languages = None,
    tokenised: Tokenised = None,
    as_json: Json = False,
) -> None:
    """Draw the alignment matrix of one sentence pair, in the terminal or as SVG or HTML."""
    if links is None and model is None and gold is None:
        raise typer.BadParameter("nothing to draw; give --links, --model or --gold")
    check_outputs(as_json, svg, html)
    pairs = list(open_text(source, target, form, columns, languages, False, 1000, tokenised).with_offsets())
    if pair > len(pairs):
        raise typer.BadParameter(f"--pair {pair}: the text has {len(pairs)} sentence pairs")
    picture = _picture(pairs[pair - 1].words, pair - 1, links, model, gold, first, len(pairs))
    for output, drawn in ((svg, picture.svg), (html, picture.html)):
        if output is not None:
            with written(output) as path, atomic_write(path) as file:
                file.write(drawn().encode())
    if as_json:
        offsets = dict(zip(("source_offsets", "target_offsets"), pairs[pair - 1].offsets, strict=True))
        echo_json(_as_dict(picture) | offsets)
    elif svg is None and html is None:
        echo(picture.text())


def _as_dict(picture: AlignmentPicture) -> dict[str, Any]:
    """The words, and the links with their numbers from 0."""
    pairs = {"links": picture.links, "sure": picture.sure, "possible": picture.possible}
    words = {"source": picture.source, "target": picture.target}
    return words | {name: sorted(links) for name, links in pairs.items()}


def _picture(
    pair: tuple[list[str], list[str]],
    row: int,
    links: Path | None,
    model: Path | None,
    gold: Path | None,
    first: int,
    n: int,
) -> AlignmentPicture:
    from isogloss import io
    from isogloss.alignment import Aligner, AlignmentPicture

    options: dict[str, Any] = {}
    drawn: Any = ()
    if model is not None:
        aligner = io.load(model, expected=Aligner)
        options["posterior"] = aligner.posterior(*pair).agreed
        drawn = aligner.align([pair])[0]
    if links is not None:
        drawn = _row(read_any_links(links, first=first), row, links)
    if gold is not None:
        people = read_any_gold(gold, n=n, first=first)
        options["sure"], options["possible"] = (
            _row(side, row, gold) for side in (people.sure, people.possible)
        )
    return AlignmentPicture(*pair, drawn, **options)


def _row(links: Links, row: int, path: Path) -> Any:
    if row >= len(links):
        raise typer.BadParameter(f"{path} has only {len(links)} sentence pairs, not {row + 1}")
    return links[row]
