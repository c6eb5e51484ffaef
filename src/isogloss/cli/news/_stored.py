"""``isogloss events list``, ``show``, ``export`` and ``why``: the events of a store."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli._options import Json
from isogloss.cli._output import (
    check_outputs,
    counted,
    echo,
    echo_json,
    is_stdout,
    report_output,
    written,
)
from isogloss.cli._progress import progress_bar, reading
from isogloss.cli.news._event_table import ShownEvent, Wide, print_events
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store

if TYPE_CHECKING:
    from isogloss.exceptions import StoreError
    from isogloss.store import EventQuery, Store

PAGE = 100


Lang = Annotated[
    list[str] | None, typer.Option("--lang", "-l", help="Only events in this language. Repeat for several.")
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", help="Only events without an article in this language. Repeat for several."),
]
Place = Annotated[
    list[str] | None,
    typer.Option("--place", help="Only events at this place: an English name, a country code or an id."),
]
Concept = Annotated[
    list[str] | None, typer.Option("--concept", help="Only events about this concept: a name or an id.")
]


def parse_time(text: str) -> datetime:
    """Parse a time, which is in UTC unless it has a zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time; expected one such as 2025-03-05 or 2025-03-05T08:40"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def parse_end(text: str) -> datetime:
    """Parse a time; a day means its end."""
    time = parse_time(text)
    is_day = len(text) <= len("2025-03-05")
    return time.replace(hour=23, minute=59, second=59, microsecond=999_999) if is_day else time


Since = Annotated[
    datetime | None,
    typer.Option(
        "--since",
        parser=parse_time,
        metavar="<time>",
        help="Only events with an article on this day or later, such as 2025-03-05 (UTC).",
    ),
]
Until = Annotated[
    datetime | None,
    typer.Option(
        "--until",
        parser=parse_end,
        metavar="<time>",
        help="Only events with an article on this day or earlier, such as 2025-03-05 (UTC).",
    ),
]
MinLanguages = Annotated[
    int, typer.Option("--min-languages", help="Only events in at least this many languages.", min=1)
]
SortBy = Annotated[
    str, typer.Option("--sort", help="Sort by importance, last, size, languages or changed, largest first.")
]


def list_events(
    config: Config = None,
    store: StorePlace = None,
    lang: Lang = None,
    place: Place = None,
    concept: Concept = None,
    since: Since = None,
    until: Until = None,
    min_languages: MinLanguages = 1,
    without: Without = None,
    sort: SortBy = "importance",
    limit: Annotated[int, typer.Option("--limit", "-n", help="Events to show.", min=1)] = 20,
    wide: Wide = False,
    as_json: Json = False,
) -> None:
    """List the events of a store."""
    with open_store(load_settings(config, store)) as opened:
        query = _query(opened, lang, place, concept, since, until, min_languages, sort, without)
        events = list(islice(_all(opened, query, min(limit, PAGE)), limit))
        articles = opened.article_counts([event["id"] for event in events])
    for event in events:
        event["reprints"] = articles[event["id"]] - event["size"]
    if as_json:
        echo_json({"events": [_dated(each) for each in events]})
    elif events:
        print_events(map(_shown, events), wide=wide)
    else:
        echo("no events found")


Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="File to write, with the ending .csv, .jsonl or .parquet; - for standard output.",
    ),
]
Table = Annotated[str, typer.Option(help="One row per event, or per article: events or articles.")]
Format = Annotated[
    str | None, typer.Option(help="csv, jsonl or parquet; by default the ending of the file, or csv.")
]
Bodies = Annotated[bool, typer.Option("--bodies", help="Include the texts of the articles.")]
Event = Annotated[list[str] | None, typer.Option(help="Only the event with this id. Repeat for several.")]


def export_events(
    output: Output,
    table: Table = "events",
    format: Format = None,
    bodies: Bodies = False,
    event: Event = None,
    config: Config = None,
    store: StorePlace = None,
    lang: Lang = None,
    place: Place = None,
    concept: Concept = None,
    since: Since = None,
    until: Until = None,
    min_languages: MinLanguages = 1,
    without: Without = None,
    sort: SortBy = "importance",
    as_json: Json = False,
) -> None:
    """Export the events of a store, or all of their articles, as CSV, JSON lines or Parquet."""
    from isogloss.exceptions import StoreError
    from isogloss.io import atomic_write
    from isogloss.service.exports import export

    format = format or (output.suffix.removeprefix(".") if not is_stdout(output) else "") or "csv"
    if is_stdout(output) and format == "parquet":
        raise typer.BadParameter("Parquet cannot be written to standard output; give a file name")
    check_outputs(as_json, output, error=StoreError)
    rows = 0

    def count_row() -> None:
        nonlocal rows
        rows += 1

    with open_store(load_settings(config, store)) as opened:
        query = _query(opened, lang, place, concept, since, until, min_languages, sort, without)
        if event:
            query = dataclasses.replace(query, ids=[_current_id(opened, each) for each in event])
        chunks = export(opened, table, format, query, bodies=bodies, on_row=count_row)
        with (
            progress_bar() as progress,
            reading(progress, "writing", None) as describe,
            written(output) as path,
            atomic_write(path) as file,
        ):
            for chunk in chunks:
                file.write(chunk)
                describe(f"{rows:,} {table}")
    if as_json:
        echo_json({"output": str(output), "table": table, "format": format, "rows": rows})
        return
    report_output(f"{output}: {counted(rows, table.removesuffix('s'))} as {format}", output)


def _query(
    store: Store,
    lang: list[str] | None,
    place: list[str] | None,
    concept: list[str] | None,
    since: datetime | None,
    until: datetime | None,
    min_languages: int,
    sort: str,
    without: list[str] | None,
) -> EventQuery:
    from isogloss.service.search import language_codes, resolve_terms
    from isogloss.store import EventQuery, to_micros

    return EventQuery(
        since=to_micros(since) if since else None,
        until=to_micros(until) if until else None,
        terms=resolve_terms(store, lang=lang or (), place=place or (), concept=concept or ()),
        without=language_codes(without or ()),
        min_languages=min_languages,
        sort=sort,
    )


def _current_id(store: Store, event: str) -> str:
    found = store.current_event_id(event)
    if found is None:
        raise _no_event(event)
    return found


def _no_event(event: str) -> StoreError:
    from isogloss.exceptions import StoreError

    return StoreError(f"there is no event {event!r}; isogloss events list shows the ids of events")


def explain_event(
    event: Annotated[str, typer.Argument(help="The id of an event, such as e42.")],
    config: Config = None,
    store: StorePlace = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Links to show.", min=1)] = 10,
    as_json: Json = False,
) -> None:
    """Explain why the articles of an event of a store belong together: the reasons for its links in words."""
    from isogloss.events.link import link_summary

    with open_store(load_settings(config, store)) as opened:
        found = opened.event(event)
        if found is None:
            raise _no_event(event)
        links = found["links"][:limit]
        nearest = [number for link in links for pair in link.get("pairs", [])[:1] for number in pair[:2]]
        articles = opened.articles(nearest, bodies=False)
    titles = {number: article.title for number, article in articles.items()}
    explained = [
        {
            "a": link["a"],
            "b": link["b"],
            "probability": link["probability"],
            "summary": list(link_summary(link, titles)),
            "titles": [titles.get(number, "") for pair in link.get("pairs", [])[:1] for number in pair[:2]],
        }
        for link in links
    ]
    if as_json:
        echo_json({"event": found["id"], "links": explained})
        return
    for one in explained:
        echo(f"clusters {one['a']} and {one['b']}: one story with probability {one['probability']:.2f}")
        for line in [*(f"- {reason}" for reason in one["summary"]), *filter(None, one["titles"])]:
            echo(f"  {line}")
    if not explained:
        echo("all articles are in one cluster, or the links between the clusters have expired")


def _all(store: Store, query: EventQuery, limit: int) -> Iterator[dict[str, Any]]:
    """Events of one page after the other."""
    query = dataclasses.replace(query, limit=limit)
    while True:
        page = store.events(query)
        yield from page.events
        if not page.cursor:
            return
        query = dataclasses.replace(query, cursor=page.cursor)


def _dated(event: dict[str, Any]) -> dict[str, Any]:
    """An event with its times as the API writes them."""
    from isogloss.store import from_micros

    return event | {name: from_micros(event[name]).isoformat() for name in ("first", "last")}


def _shown(event: Mapping[str, Any]) -> ShownEvent:
    """An event as the table of events shows it."""
    from isogloss.store import event_title, from_micros

    return ShownEvent(
        id=event["id"],
        title=event_title(event)[0],
        languages=[*event.get("languages", {})],
        articles=event["size"],
        reprints=event["reprints"],
        first=from_micros(event["first"]),
        last=from_micros(event["last"]),
        places=[place["name"] for place in event.get("places", [])[:3]],
        confidence=event.get("confidence"),
    )
