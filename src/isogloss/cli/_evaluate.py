"""``isogloss evaluate``: how good a fitted model is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import Json, Languages
from isogloss.cli._output import echo, echo_json
from isogloss.cli._progress import progress_bar
from isogloss.cli._similar_texts import EncoderModel, chosen_encoder, named_texts
from isogloss.cli.news._evaluate import clusters, links
from isogloss.cli.news._evaluate_search import search

if TYPE_CHECKING:
    from isogloss.similarity import RetrievalReport

Csls = Annotated[int, typer.Option(help="Neighbours used by CSLS; 0 for plain cosines.", min=0)]

evaluate_group = typer.Typer(cls=CommandGroup, help="Evaluate models.", no_args_is_help=True)


@evaluate_group.callback()
def _group() -> None:
    """Evaluations."""


@evaluate_group.command("retrieval")
def retrieval(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model made by 'similar fit'.")],
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="A corpus with rows that the model was not trained on.")
    ],
    csls: Csls = 0,
    languages: Languages = None,
    as_json: Json = False,
) -> None:
    """Evaluate how well documents find their versions in other languages (mate retrieval)."""
    from isogloss.corpora import ComparableCorpus
    from isogloss.similarity import evaluate, load_model

    only = languages.split(",") if languages else None
    with _counting_pairs("retrieving") as count:
        fitted = load_model(model)
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
        int, typer.Option(help="Cut documents into pieces of this many characters; 0 for no cutting.", min=0)
    ] = 300,
    encoder_model: EncoderModel = "universal",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Number of threads; -1 for one per core.")] = 1,
    as_json: Json = False,
) -> None:
    """Evaluate a sentence encoder by mate retrieval; documents with the same id are mates."""
    import numpy as np

    from isogloss.similarity import EncoderSimilarity, compare

    model = EncoderSimilarity(chosen_encoder(encoder_model, jobs), piece=piece or None)
    texts = named_texts(files)
    ids = sorted(set().union(*texts.values()))
    with _counting_pairs("retrieving") as count:
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
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus made by 'corpus build'.")],
    hub: Annotated[str | None, typer.Option(help="The language to pair the others with.")] = None,
    max_rows: Annotated[int, typer.Option(help="Number of rows to estimate ranks from.", min=1)] = 1000,
    as_json: Json = False,
) -> None:
    """Compare how much distinct content two languages have (dimensionality drift)."""
    from isogloss.corpora import ComparableCorpus
    from isogloss.similarity import find_drift

    with Console(stderr=True).status("estimating ranks"):
        found = find_drift(ComparableCorpus(corpus), hub=hub, max_rows=max_rows)
    if as_json:
        lines = {f"{a}-{b}": one._asdict() | {"gap": one.gap} for (a, b), one in found.items()}
        echo_json(lines)
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
evaluate_group.command("search")(search)


def _share(value: float) -> str:
    return f"{value:.3f}"


def _show(report: RetrievalReport, as_json: bool) -> None:
    if as_json:
        echo_json(report.as_dict())
        return
    Console().print(_table(report))
    echo(
        f"AMRR {report.amrr:.3f}, P@1 {report.p1:.3f}, P@10 {report.p10:.3f}, score {report.score:.1f} "
        f"over {len(report.pairs)} ordered pairs"
    )


def _table(report: RetrievalReport) -> Table:
    """MRR, queries in rows."""
    names = list(dict.fromkeys(a for a, _ in report.pairs))
    table = Table("MRR", *names, title="queries in rows, targets in columns")
    for a in names:
        cells = [f"{report.pairs[a, b].mrr:.3f}" if (a, b) in report.pairs else "" for b in names]
        table.add_row(a, *cells)
    return table
