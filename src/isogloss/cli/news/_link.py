"""``isogloss link``: train what links clusters across languages, and score it on labelled news."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import Json, renaming
from isogloss.cli._output import check_outputs, counted, echo, echo_json, not_stdout
from isogloss.cli.store._options import load_settings, open_store
from isogloss.exceptions import ModelFileError, StoreError

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
WEIGHT_SETS = ("encoder", "no encoder", "one language, encoder", "one language")
"""The four sets of weights of a linker."""
MAX_CHANGED_WEIGHTS = 10


@link_group.command("train", cls=renaming({"--space": "--model", "-s": "-m"}))
def train(
    news: News = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write.", callback=not_stdout)
    ] = Path("linker.isogloss"),
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A document model made by 'similar fit'.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", help="Train on the verdicts of this store instead: a SQLite file or postgresql://..."
        ),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            "--prior",
            help="With --store, the linker to start from; by default the one that comes with isogloss.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a linker on news with known events, or on the verdicts of a store.

    News are read once with bodies and once by titles alone. The more verdicts there are, the more
    they change the linker: its weights are shrunk to those that it starts from.
    """
    from isogloss import io
    from isogloss.events.training import load_labelled_news, train_linker
    from isogloss.similarity import TextModel, installed_encoder

    if store is not None and (news is not None or model is not None):
        raise typer.BadParameter("takes neither NEWS nor --model", param_hint="--store")
    if store is None and prior is not None:
        raise typer.BadParameter("needs --store", param_hint="--prior")
    check_outputs(as_json, output, error=ModelFileError)
    if store is not None:
        _train_on_verdicts(store, prior, output, as_json)
        return
    with Console(stderr=True).status("training"):
        labelled = load_labelled_news(news)
        space = None if model is None else io.load(model, expected=TextModel)
        linker = train_linker(labelled.articles, labelled.events, model=space, encoder=installed_encoder())
        io.save(linker, output)
    weights = {
        name: dict(zip(WEIGHT_SETS, values, strict=True))
        for name, values in zip(linker.features, linker.weights_.T.tolist(), strict=True)
    }
    if as_json:
        echo_json({"output": str(output), "C": linker.C_, "weights": weights})
        return
    table = Table("feature", *WEIGHT_SETS, title=f"weights of standardised features, C = {linker.C_:g}")
    for name, values in sorted(weights.items(), key=lambda item: -max(map(abs, item[1].values()))):
        table.add_row(name, *(f"{weight:+.2f}" for weight in values.values()))
    Console().print(table)
    echo(f"written: {output}")


def _train_on_verdicts(place: str, prior_file: Path | None, output: Path, as_json: bool) -> None:
    """Train a linker on the verdicts of a store; print scores before and after, and the changed weights."""
    from datetime import UTC, datetime

    from isogloss import io
    from isogloss.events.link import Linker
    from isogloss.events.training import judged_pairs, train_on_verdicts

    prior = Linker.default() if prior_file is None else io.load(prior_file, expected=Linker)
    with open_store(load_settings(None, place)) as store:
        pairs = judged_pairs(store.verdicts())
    skipped = "; ".join(f"{counted(n, 'verdict')} on {what} skipped" for what, n in pairs.skipped.items())
    if not len(pairs.labels):
        raise StoreError(
            f"{place}: no verdict on a link that still exists{f' ({skipped})' if skipped else ''}; judge "
            "links on the page of an event, or with POST /links/{a}/{b}/verdict"
        )
    linker = train_on_verdicts(pairs, prior, now=datetime.now(UTC))
    io.save(linker, output)
    training = linker.training_
    weights = linker.weight_changes()
    if as_json:
        scores = {name: training[name] for name in training if name != "weights_before"}
        found = {"output": str(output), **scores, "skipped": dict(pairs.skipped), "weights": weights}
        echo_json(found)
        return
    table = Table("", "log loss", "accuracy", title=f"{counted(training['verdicts'], 'verdict')}")
    for name, row in (("before", training["before"]), ("after, held out", training["after"])):
        table.add_row(name, *(f"{value:.3f}" for value in (row or {}).values()))
    Console().print(table)
    changed = Table("feature", *next(iter(weights.values())), title="weights that changed most")
    for name, values in list(weights.items())[:MAX_CHANGED_WEIGHTS]:
        changed.add_row(name, *(f"{value:+.3f}" for value in values.values()))
    Console().print(changed)
    if training["after"] is None:
        echo("all verdicts are on connected clusters, so that none can be held out for a score")
    if skipped:
        echo(skipped)
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
        echo_json(found)
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
