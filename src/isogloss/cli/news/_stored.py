"""``isogloss events list`` and ``why``: the events of a store, and why their articles belong together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._output import echo, echo_json
from isogloss.cli.store._options import Config, JsonOutput, StorePlace, load_settings, open_store

if TYPE_CHECKING:
    from isogloss.store import EventQuery, Store

PAGE = 100


def list_events(
    config: Config = None,
    store: StorePlace = None,
    lang: Annotated[
        list[str] | None, typer.Option(help="Only events in this language. Repeat for several.")
    ] = None,
    place: Annotated[
        list[str] | None,
        typer.Option(help="Only events at this place: an English name, a country code or an id."),
    ] = None,
    concept: Annotated[
        list[str] | None, typer.Option(help="Only events about this concept: a name or an id.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(help="Only events with an article since this time (UTC).")
    ] = None,
    until: Annotated[datetime | None, typer.Option(help="Only events that began by this time (UTC).")] = None,
    languages: Annotated[int, typer.Option(help="Only events in at least this many languages.", min=1)] = 1,
    sort: Annotated[
        str, typer.Option(help="Sort by last, size, languages or changed, largest first.")
    ] = "last",
    limit: Annotated[int, typer.Option("--limit", "-n", help="Events to show.", min=1)] = 20,
    as_json: JsonOutput = False,
) -> None:
    """List the events of a store."""
    from isogloss.service.search import resolve_terms
    from isogloss.store import EventQuery, to_micros

    with open_store(load_settings(config, store)) as opened:
        query = EventQuery(
            since=to_micros(since.replace(tzinfo=UTC)) if since else None,
            until=to_micros(until.replace(tzinfo=UTC)) if until else None,
            terms=resolve_terms(opened, lang=lang or (), place=place or (), concept=concept or ()),
            min_languages=languages,
            sort=sort,
            limit=min(limit, PAGE),
        )
        events = list(islice(_all(opened, query), limit))
        articles = opened.article_counts([event["id"] for event in events])
    for event in events:
        event["reprints"] = articles[event["id"]] - event["size"]
    if as_json:
        echo_json({"events": [_dated(each) for each in events]})
    elif events:
        Console().print(_table(events))
    else:
        echo("no events found")


def explain_event(
    event: Annotated[str, typer.Argument(help="The id of an event, such as e42.")],
    config: Config = None,
    store: StorePlace = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Links to show.", min=1)] = 10,
    as_json: JsonOutput = False,
) -> None:
    """Explain why the articles of an event of a store belong together: the reasons for its links in words."""
    from isogloss.events.link import link_summary
    from isogloss.exceptions import StoreError

    with open_store(load_settings(config, store)) as opened:
        found = opened.event(event)
        if found is None:
            raise StoreError(f"there is no event {event!r}; isogloss events list shows the ids of events")
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


def shown_size(articles: int, reprints: int) -> str:
    """Format the number of articles including reprints, and the number of reprints."""
    return f"{articles + reprints:,} ({reprints:,})" if reprints else f"{articles:,}"


def _all(store: Store, query: EventQuery) -> Iterator[dict[str, Any]]:
    """Events of one page after the other."""
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


def _table(events: list[dict[str, Any]]) -> Table:
    from isogloss.store import from_micros

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("event", no_wrap=True)
    table.add_column("title")
    table.add_column("languages", max_width=12)
    table.add_column("articles\n(reprints)", justify="right", min_width=10)
    table.add_column("time", no_wrap=True)
    table.add_column("places", max_width=14)
    for event in events:
        titles = event.get("title") or {"": ""}
        table.add_row(
            event["id"],
            escape(titles.get("en") or next(iter(titles.values()))),
            " ".join(event.get("languages", {})),
            shown_size(event["size"], event["reprints"]),
            _days(from_micros(event["first"]), from_micros(event["last"])),
            escape(", ".join(place["name"] for place in event.get("places", [])[:3])),
        )
    return table


def _days(first: datetime, last: datetime) -> str:
    """The days from one to another; what they have in common once."""
    start = "%d-" if first.month == last.month else "%d %b-"
    if first.year != last.year:
        start = "%d %b %Y-"
    same = first.date() == last.date()
    return ("" if same else first.strftime(start)) + last.strftime("%d %b %Y")
