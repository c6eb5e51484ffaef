"""``isogloss link``: train what links clusters across languages, and score it on labelled news."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._output import check_outputs, echo, not_stdout
from isogloss.exceptions import ModelFileError

if TYPE_CHECKING:
    from isogloss.events.link import Linker
    from isogloss.events.training import LabelledNews

link_group = typer.Typer(
    cls=CommandGroup, help="Train and score the linker of clusters across languages.", no_args_is_help=True
)

News = Annotated[
    Path | None,
    typer.Argument(metavar="[NEWS]", help="JSON lines with a field 'event'; the sample news by default."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@link_group.command("train")
def train(
    news: News = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write.", callback=not_stdout)
    ] = Path("linker.isogloss"),
    space: Annotated[
        Path | None,
        typer.Option(
            "--space",
            "-s",
            help="A document model made by 'similar fit'.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a linker on news with known events, once with bodies and once on titles alone."""
    from isogloss import io
    from isogloss.events.training import load_labelled_news, train_linker
    from isogloss.similarity import DocumentModel, installed_encoder

    check_outputs(as_json, output, error=ModelFileError)
    with Console(stderr=True).status("training"):
        labelled = load_labelled_news(news)
        model = None if space is None else io.load(space, expected=DocumentModel)  # type: ignore[type-abstract]
        linker = train_linker(labelled.articles, labelled.events, model=model, encoder=installed_encoder())
        io.save(linker, output)
    columns = ("with an encoder", "without")
    weights = {
        name: dict(zip(columns, pair, strict=True))
        for name, pair in zip(linker.features, linker.weights_.T.tolist(), strict=True)
    }
    if as_json:
        echo(json.dumps({"output": str(output), "C": linker.C_, "weights": weights}))
        return
    table = Table("feature", *columns, title=f"weights of standardised features, C = {linker.C_:g}")
    for name, pair in sorted(weights.items(), key=lambda item: -max(map(abs, item[1].values()))):
        table.add_row(name, *(f"{weight:+.2f}" for weight in pair.values()))
    Console().print(table)
    echo(f"written: {output}")


@link_group.command("score")
def score(
    news: News = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", "-m", help="A model made by 'link train'; by default the one that comes with isogloss."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score links and events on news with known events."""
    from isogloss import io
    from isogloss.events.link import Linker
    from isogloss.events.training import load_labelled_news

    with Console(stderr=True).status("clustering and linking"):
        linker = Linker.default() if model is None else io.load(model, expected=Linker)
        found = _scores(load_labelled_news(news), linker)
    if as_json:
        echo(json.dumps(found))
        return
    for title, rows in found.items():
        table = Table("", *next(iter(rows.values())), title=title)
        for name, row in rows.items():
            table.add_row(name, *(f"{value:.3f}" for value in row.values()))
        Console().print(table)


def _scores(labelled: LabelledNews, linker: Linker) -> dict[str, dict[str, dict[str, float]]]:
    """Scores of links in shares of one, and of events."""
    from isogloss.events.training import (
        bcubed,
        find_events,
        labelled_pairs,
        monolingual,
        pairwise,
        score_links,
    )
    from isogloss.similarity import installed_encoder

    encoder = installed_encoder()
    pairs = labelled_pairs(labelled.articles, labelled.events, encoder=encoder)
    links = score_links(pairs.labels, linker.predict(pairs.columns(linker.features)))
    events = find_events(labelled.articles, linker, encoder=encoder)
    gold = [labelled.events[article.id] for article in labelled.articles]
    found = [events[article.id] for article in labelled.articles]
    languages = [article.lang for article in labelled.articles]
    names = ("accuracy", "precision", "recall", "f1")
    return {
        "links": {"candidates": {name: value / 100 for name, value in zip(names, links, strict=True)}},
        "events": {
            "BCubed": bcubed(gold, found)._asdict(),
            "pairs": pairwise(gold, found)._asdict(),
            "BCubed, mean of languages": monolingual(gold, found, languages).macro._asdict(),
        },
    }
