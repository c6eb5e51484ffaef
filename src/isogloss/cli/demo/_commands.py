"""``isogloss demo``: the sample news become events, and the models at work."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli._console import Console
from isogloss.cli._lazy import DefaultGroup
from isogloss.cli._options import Json, renaming
from isogloss.cli._output import echo_json, not_stdout, program
from isogloss.cli._progress import progress_bar
from isogloss.cli.demo._models import models
from isogloss.cli.demo._serving import check_serving, serve_sample
from isogloss.cli.news._event_table import event_table
from isogloss.cli.news._events import events_json, largest_first, shown_event

if TYPE_CHECKING:
    from isogloss.events import History
    from isogloss.events.ingest import SampleNews

COMPONENTS = 60
NEXT = {
    "events YOUR.jsonl": "your own news: one JSON object per line with title, body and time",
    "demo --serve": "the same events as pages in your browser",
    "demo models": "mixtures, missing values, certified optima, with pictures",
    "--help": "alignments, dictionaries, corpora, networks",
}
"""Commands to try after the demo, and what they show."""

demo_group = typer.Typer(cls=DefaultGroup, help="Show what isogloss does, on built-in sample data.")


@demo_group.command("news")
def news(
    limit: Annotated[int, typer.Option("--limit", "-n", help="Events to show.", min=1)] = 50,
    serve: Annotated[
        bool, typer.Option("--serve", help="Store the events and show them as web pages.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="With --serve: folder of the store; by default a temporary one.",
            callback=not_stdout,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="With --serve: port to listen on; 0 for any free port.", min=0, max=65535)
    ] = 8470,
    as_json: Json = False,
) -> None:
    """Learn a common space for five languages, find the events in invented news, and score them."""
    from isogloss.events import EventStream, History
    from isogloss.events.ingest import sample_corpus, sample_news
    from isogloss.similarity import HubSimilarity

    if as_json and serve:
        raise typer.BadParameter("--json cannot be combined with --serve")
    if serve:
        check_serving(folder, port)
    console = Console(quiet=as_json)
    news = sample_news()
    began = time.perf_counter()
    with console.status("learning a common space for five languages from 1,044 short texts"):
        model = HubSimilarity(COMPONENTS, random_state=0).fit(sample_corpus())
    learned = time.perf_counter()
    history = History(EventStream(model=model))
    with progress_bar(console) as progress:
        history.run(progress.track(news.articles, description="following articles"))
    ended = time.perf_counter()
    scores = _scores(news, history)
    reprints = history.reprints_by_event()
    events = largest_first(history.events.values(), reprints)
    if as_json:
        shown = {"events": events_json(events[:limit], reprints), "scores": scores}
        echo_json(shown)
        return
    console.print(event_table(shown_event(each, reprints) for each in events[:limit]))
    several = sum(len(event.languages) > 1 for event in events)
    whole, pairs = scores["bcubed"], scores["pairs"]
    console.print(
        f"{len(news.articles)} articles, {len(history.reprints)} of them reprints, became {len(events)} "
        f"events, {several} in two or more languages ({learned - began:.0f} s to learn, "
        f"{ended - learned:.0f} s to follow)."
    )
    console.print(
        f"Against the {len(set(news.events.values()))} events they were written for: BCubed precision "
        f"{whole['precision']:.2f}, recall {whole['recall']:.2f}, F1 {whole['f1']:.2f}; pairs of articles "
        f"F1 {pairs['f1']:.2f}.\nThe news and the truth have the same authors: "
        "this shows that it works, not how well."
    )
    if serve:
        serve_sample(news, model, folder, port)
    else:
        console.print(_next(), highlight=False)


demo_group.command("models", cls=renaming({"--seed": "--random-state"}))(models)


def _next() -> str:
    """The commands to try, as they can be copied to the shell."""
    lines = [f"{program()} {command:<19}{shown}" for command, shown in NEXT.items()]
    return "\nNext: " + "\n      ".join(lines)


def _scores(news: SampleNews, history: History) -> dict[str, Any]:
    """Compare events with those that the articles were written for, and reprints with the marked ones."""
    from isogloss.events.training import bcubed, pairwise

    found = history.assignment()
    names = [article.id for article in news.articles]
    gold, given = [news.events[name] for name in names], [found[name] for name in names]
    return {
        "bcubed": bcubed(gold, given)._asdict(),
        "pairs": pairwise(gold, given)._asdict(),
        "reprints_right": history.reprints == news.reprints,
    }
