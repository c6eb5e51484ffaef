"""``isogloss evaluate``: how good a fitted model is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from isogloss import io
from isogloss.corpora.comparable import ComparableCorpus
from isogloss.similarity import DocumentModel, RetrievalReport, evaluate

__all__ = ["evaluate_group"]

evaluate_group = typer.Typer(help="How good a fitted model is.", no_args_is_help=True)


@evaluate_group.callback()
def _group() -> None:
    """Evaluations."""


@evaluate_group.command("retrieval")
def retrieval(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'similar fit' made.")],
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="Rows that the model has not seen.")],
    csls: Annotated[int, typer.Option(help="Neighbours of the CSLS correction; 0 for cosines.", min=0)] = 0,
    languages: Annotated[str | None, typer.Option(help="Only these languages, as en,de,fr.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Mate retrieval: how far up each document finds its versions in other languages."""
    only = languages.split(",") if languages else None
    with Console(stderr=True).status("looking for mates"):
        fitted = io.load(model, expected=DocumentModel)
        report = evaluate(fitted, ComparableCorpus(corpus), csls=csls, languages=only)
    if as_json:
        typer.echo(json.dumps(report.as_dict()))
        return
    Console().print(_table(report))
    typer.echo(
        f"AMRR {report.amrr:.3f}, P@1 {report.p1:.3f}, P@10 {report.p10:.3f}, score {report.score:.1f} "
        f"over {len(report.pairs)} ordered pairs"
    )


def _table(report: RetrievalReport) -> Table:
    """MRR, queries in rows."""
    names = list(dict.fromkeys(a for a, _ in report.pairs))
    table = Table("MRR", *names, title="queries in rows, documents to find in columns")
    for a in names:
        cells = [f"{report.pairs[a, b].mrr:.3f}" if (a, b) in report.pairs else "" for b in names]
        table.add_row(a, *cells)
    return table
