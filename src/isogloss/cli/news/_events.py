"""``isogloss events``: what happened, in every language that reported it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer
from rich.markup import escape

from isogloss.cli._console import Console
from isogloss.cli._lazy import DefaultGroup
from isogloss.cli._options import Json, renaming
from isogloss.cli._output import (
    check_outputs,
    counted,
    echo_json,
    is_stdout,
    not_stdout,
    report_output,
    written,
)
from isogloss.cli._progress import progress_bar, reading
from isogloss.cli.news._event_table import ShownEvent, Wide, print_events
from isogloss.cli.news._stored import explain_event, export_events, list_events
from isogloss.cli.news._story import show_event
from isogloss.exceptions import ArticleError
from isogloss.io import atomic_write, total_size

if TYPE_CHECKING:
    from isogloss.events import Article, Event, History

Item = TypeVar("Item")
Reprints: TypeAlias = Mapping[int, Mapping[str, str]]
"""Reprints of each event, with the articles that they repeat."""

ARTICLES_PER_BATCH = 256

events_group = typer.Typer(
    cls=DefaultGroup,
    help="Find events in multilingual news.\n\nisogloss events NEWS is short for isogloss events find NEWS.",
    no_args_is_help=True,
)
Most = Annotated[int, typer.Option("--limit", "-n", help="Events to show, the largest first.", min=1)]
Model = Annotated[
    Path | None, typer.Option("--model", "-m", help="A model made by 'similar fit', to compare texts with.")
]
LinkerFile = Annotated[
    Path | None,
    typer.Option(
        "--linker", help="A model made by 'link train'; by default the one that comes with isogloss."
    ),
]
Concepts = Annotated[Path | None, typer.Option("--concepts", help="A dictionary made by 'concepts build'.")]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", help="Number of analysis processes; -1 for one per core, 1 for none."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write all events to this file, one JSON object per line; - for standard output.",
    ),
]


@events_group.command("find")
def find(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="NEWS...", help="JSON lines, WARC files or folders; - for standard input."),
    ],
    limit: Most = 20,
    output: Output = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="Write the articles to this journal; 'events replay' reproduces the events.",
            callback=not_stdout,
        ),
    ] = None,
    quarantine: Annotated[
        Path | None,
        typer.Option(help="Write invalid records to this file, with reasons.", callback=not_stdout),
    ] = None,
    now: Annotated[datetime | None, typer.Option(help="Latest allowed article time; by default now.")] = None,
    model: Model = None,
    linker: LinkerFile = None,
    concepts: Concepts = None,
    jobs: Jobs = 1,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Find the events in multilingual news."""
    from isogloss.events.ingest import ArticleReader, Quarantine

    check_outputs(as_json, output)
    moment = now.astimezone() if now is not None else None
    reader = ArticleReader(*sources, quarantine=Quarantine(quarantine), now=moment)
    reader.check()
    history = _history(model, linker, concepts, jobs)
    articles: Iterable[Article] = reader
    if journal is not None:
        articles = _kept(reader, journal)
    _run(history, articles, reader.total_bytes())
    _need_articles(history, str(reader.quarantine))
    if len(reader.quarantine):
        Console(stderr=True).print(escape(str(reader.quarantine)))
    for line in cut_lines(reader.report.notes, max_title=reader.max_title, max_text=reader.max_text):
        Console(stderr=True).print(line, highlight=False)
    _tell(history, limit, output, as_json, wide, {"left_out": dict(reader.quarantine.reasons)})


@events_group.command("replay")
def replay(
    journal: Annotated[Path, typer.Argument(help="A file written by 'events find --journal'.")],
    limit: Most = 20,
    output: Output = None,
    model: Model = None,
    linker: LinkerFile = None,
    concepts: Concepts = None,
    jobs: Jobs = 1,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """Find the events again from a journal."""
    from isogloss.events import read_journal

    check_outputs(as_json, output)
    history = _history(model, linker, concepts, jobs)
    _run(history, read_journal(journal), total_size([journal]))
    _need_articles(history, f"{journal} has no complete line")
    _tell(history, limit, output, as_json, wide, {})


_RENAMED = {"--languages": "--min-languages"}

events_group.command("list", cls=renaming(_RENAMED))(list_events)
events_group.command("export", cls=renaming(_RENAMED))(export_events)
events_group.command("show")(show_event)
events_group.command("why")(explain_event)


def _history(model: Path | None, linker: Path | None, concepts: Path | None, jobs: int) -> History:
    from isogloss import io
    from isogloss.events import EventStream, History
    from isogloss.events.annotate import Annotator, ConceptDictionary
    from isogloss.events.link import Linker
    from isogloss.similarity import TextModel

    stream = EventStream(
        annotator=Annotator(concepts=ConceptDictionary(concepts) if concepts else None),
        linker=io.load(linker, expected=Linker) if linker else None,
        model=io.load(model, expected=TextModel) if model else None,
        n_jobs=jobs,
    )
    return History(stream)


def _kept(articles: Iterable[Article], path: Path) -> Iterator[Article]:
    """Articles, each written to the journal before it is handed on."""
    from isogloss.events import Journal

    if path.exists() and path.stat().st_size:
        raise ArticleError(
            "journal in use", f"{path}: already has articles; choose another name for the journal"
        )
    with Journal(path) as journal:
        for batch in batches(articles):
            journal.add(batch)
            yield from batch


def cut_lines(notes: Counter[str], *, max_title: int, max_text: int) -> Iterator[str]:
    """Sentences about titles and bodies that were too long."""
    from isogloss.events.article import TRUNCATION_NOTES

    for name, limit in (("title", max_title), ("body", max_text)):
        if n := notes[TRUNCATION_NOTES[name]]:
            yield f"{counted(n, 'article')} had a {name} of more than {limit:,} characters (truncated)"


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items some hundred at a time."""
    batch: list[Item] = []
    for item in items:
        batch.append(item)
        if len(batch) == ARTICLES_PER_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _run(history: History, articles: Iterable[Article], total_bytes: int | None) -> None:
    from isogloss.events import infrequent_gc

    with (
        infrequent_gc(),
        progress_bar() as progress,
        reading(progress, "reading articles", total_bytes) as describe,
        history.stream,
        closing(_counted(articles, describe)) as counted,
    ):
        history.run(counted)


def _counted(articles: Iterable[Article], describe: Callable[[str], None]) -> Generator[Article, None, None]:
    """Articles, which are counted as they are taken."""
    count = 0
    for batch in batches(articles):
        yield from batch
        count += len(batch)
        describe(f"{count:,} articles")


def _need_articles(history: History, why: str) -> None:
    if not history.cluster_of:
        raise ArticleError("no article", f"no valid article: {why}")


def _tell(
    history: History, limit: int, output: Path | None, as_json: bool, wide: bool, more: dict[str, Any]
) -> None:
    reprints = history.reprints_by_event()
    events = largest_first(history.events.values(), reprints)
    if output is not None:
        lines = [json.dumps(event, ensure_ascii=False) + "\n" for event in events_json(events, reprints)]
        with written(output) as path, atomic_write(path) as file:
            file.write("".join(lines).encode())
    articles = len(history.cluster_of) + len(history.reprints)
    if as_json:
        counts = {"articles": articles, "reprints": len(history.reprints)}
        result = {"events": events_json(events[:limit], reprints), **counts, **more}
        echo_json(result)
        return
    if not is_stdout(output):
        print_events((shown_event(each, reprints) for each in events[:limit]), wide=wide)
    several = sum(len(event.languages) > 1 for event in events)
    report_output(
        f"{counted(articles, 'article')}, {len(history.reprints):,} of them reprints: "
        f"{counted(len(events), 'event')}, {several:,} in two or more languages",
        output,
    )


def largest_first(events: Iterable[Event], reprints: Reprints) -> list[Event]:
    """Events in many languages first, then those with many articles or reprints, then the oldest."""

    def key(event: Event) -> tuple[int, int, int]:
        return -len(event.languages), -len(event) - len(reprints.get(event.id, ())), event.id

    return sorted(events, key=key)


def shown_event(event: Event, reprints: Reprints) -> ShownEvent:
    """Return an event as the table of events shows it."""
    from isogloss.events.annotate import place_labels

    return ShownEvent(
        id=str(event.id),
        title=event.titles.get("en", event.title),
        languages=event.languages,
        articles=len(event),
        reprints=len(reprints.get(event.id, ())),
        first=event.first,
        last=event.last,
        places=place_labels(event.places, 3),
        confidence=event.confidence if len(event.clusters) > 1 else None,
    )


def events_json(events: Iterable[Event], reprints: Reprints) -> list[dict[str, Any]]:
    """Events as JSON can hold them, with names of places and concepts.

    Reprints are among the articles, after the others of their language; ``reprint_of`` says what they repeat.
    """
    from isogloss.events.annotate import concept_labels, place_labels

    def as_dict(event: Event) -> dict[str, Any]:
        own = reprints.get(event.id, {})
        lang_of = {article: lang for lang, articles in event.articles.items() for article in articles}
        everything = {lang: list(articles) for lang, articles in event.articles.items()}
        for copy, first in own.items():
            everything[lang_of[first]].append(copy)
        return event.as_dict() | {
            "articles": everything,
            "reprint_of": own,
            "place_names": place_labels(event.places, 10),
            "concept_names": concept_labels(event.concepts),
        }

    return [as_dict(event) for event in events]
