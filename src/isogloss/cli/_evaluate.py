"""``isogloss evaluate``: how good a fitted model is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._output import echo
from isogloss.cli._progress import progress_bar
from isogloss.cli._similar_texts import named_texts
from isogloss.cli.news._evaluate import clusters, links

if TYPE_CHECKING:
    from isogloss.similarity import RetrievalReport

__all__ = ["evaluate_group"]

Csls = Annotated[int, typer.Option(help="Neighbours of the CSLS correction; 0 for cosines.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

evaluate_group = typer.Typer(help="Measure how good a model is.", no_args_is_help=True)


@evaluate_group.callback()
def _group() -> None:
    """Evaluations."""


@evaluate_group.command("retrieval")
def retrieval(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'similar fit' made.")],
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="Rows that the model has not seen.")],
    csls: Csls = 0,
    languages: Annotated[str | None, typer.Option(help="Only these languages, as en,de,fr.")] = None,
    as_json: Json = False,
) -> None:
    """Mate retrieval: how far up each document finds its versions in other languages."""
    from isogloss import io
    from isogloss.corpora import ComparableCorpus
    from isogloss.similarity import evaluate
    from isogloss.similarity.models import TextModel

    only = languages.split(",") if languages else None
    with _counting_pairs("looking for mates") as count:
        fitted = io.load(model, expected=TextModel)
        report = evaluate(fitted, ComparableCorpus(corpus), csls=csls, languages=only, progress=count)
    _show(report, as_json)


@evaluate_group.command("encoder")
def encoder(
    files: Annotated[
        list[str],
        typer.Argument(metavar="LANGUAGE=FILE...", help="Documents of each language, as JSON lines."),
    ],
    csls: Csls = 0,
    piece: Annotated[
        int, typer.Option(help="Characters of the pieces that documents are cut into; 0 for none.", min=0)
    ] = 300,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 for all cores.")] = 1,
    as_json: Json = False,
) -> None:
    """Mate retrieval by a sentence encoder, which learns from no corpus: documents with one id are mates."""
    import numpy as np

    from isogloss.extras import require_extra
    from isogloss.similarity import EncoderSimilarity, UniversalEncoder, compare

    require_extra("encoder", "this evaluation")
    model = EncoderSimilarity(UniversalEncoder(n_jobs=jobs), piece=piece or None)
    texts = named_texts(files)
    ids = sorted(set().union(*texts.values()))
    with _counting_pairs("looking for mates") as count:
        presence = np.array([[one in column for column in texts.values()] for one in ids], dtype=bool)
        projected = {
            code: model.project([column[one] for one in ids if one in column], code)
            for code, column in texts.items()
        }
        presence = presence.reshape(len(ids), len(texts))
        report = compare(projected, presence=presence, csls=csls, progress=count)
    _show(report, as_json)


@evaluate_group.command("drift")
def drift(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="A folder that 'corpus build' made.")],
    hub: Annotated[str | None, typer.Option(help="The language that others are paired with.")] = None,
    max_rows: Annotated[int, typer.Option(help="Rows that ranks are estimated from.", min=1)] = 1000,
    as_json: Json = False,
) -> None:
    """Dimensionality drift: whether the two sides of a pair of languages tell as much."""
    from isogloss.corpora import ComparableCorpus
    from isogloss.similarity import find_drift

    with Console(stderr=True).status("finding ranks"):
        found = find_drift(ComparableCorpus(corpus), hub=hub, max_rows=max_rows)
    if as_json:
        lines = {f"{a}-{b}": one._asdict() | {"gap": one.gap} for (a, b), one in found.items()}
        echo(json.dumps(lines))
        return
    table = Table("pair", "rows", "ranks", "gap", "distinct documents")
    for (a, b), one in found.items():
        ranks, distinct = (" / ".join(map(str, both)) for both in (map(_share, one.ranks), one.distinct))
        table.add_row(f"{a}-{b}", str(one.rows), ranks, _share(one.gap), distinct)
    Console().print(table)


@contextmanager
def _counting_pairs(description: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar of pairs of languages; gives a function that takes how many are done, and of how many."""
    with progress_bar() as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


evaluate_group.command("clusters")(clusters)
evaluate_group.command("links")(links)


def _share(value: float) -> str:
    return f"{value:.3f}"


def _show(report: RetrievalReport, as_json: bool) -> None:
    if as_json:
        echo(json.dumps(report.as_dict()))
        return
    Console().print(_table(report))
    echo(
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
