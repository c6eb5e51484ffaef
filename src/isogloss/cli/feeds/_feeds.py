"""``isogloss feeds``: the health of feeds, a check of a list, a list to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import Json
from isogloss.cli._output import check_outputs, counted, echo, echo_json, is_stdout, report_output, written
from isogloss.cli._progress import progress_bar
from isogloss.cli.feeds._listed import Feeds, Private, listed_feeds
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store
from isogloss.exceptions import FeedError

if TYPE_CHECKING:
    from isogloss.feeds import ListedFeed, Visit

feeds_group = typer.Typer(cls=CommandGroup, help="Show and check feeds.", no_args_is_help=True)


@feeds_group.command("list")
def list_feeds(
    config: Config = None,
    store: StorePlace = None,
    failing: Annotated[bool, typer.Option("--failing", help="Only feeds whose last visit failed.")] = False,
    as_json: Json = False,
) -> None:
    """Show the feeds of the store: when they were visited, what failed, and how many articles they had."""
    with open_store(load_settings(config, store)) as opened:
        feeds = [each for each in opened.feed_health() if not failing or each.status == "failing"]
    records = [each.as_record() for each in feeds]
    if as_json:
        echo_json({"feeds": records})
        return
    if not feeds:
        echo(
            "no feed is failing"
            if failing
            else "no feeds yet; isogloss watch and isogloss newsroom visit some"
        )
        return
    table = _table("feed", "status", "articles", "next visit")
    for each in records:
        table.add_row(
            escape(each["title"] or each["url"]),
            each["status"],
            f"{each['articles']:,}",
            _minute(each["due"]),
        )
    console = Console()
    console.print(table)
    for each in records:
        if each["error"]:
            times = counted(each["failures"], "time")
            echo(f"{each['error']} (failed {times}; last success: {_minute(each['succeeded']) or 'never'})")


@feeds_group.command("check")
def check(
    feeds: Feeds = None,
    config: Config = None,
    private: Private = False,
    as_json: Json = False,
) -> None:
    """Visit feeds once, store nothing, and show which answer, with how many entries in which language.

    The exit code is 1 if a feed failed.
    """
    from isogloss.extras import require_extra
    from isogloss.feeds import FeedState
    from isogloss.service.worker import make_watcher

    settings = load_settings(config).feeds
    require_extra("feeds", "checking feeds")
    listed = listed_feeds(feeds, settings)
    states = [FeedState(each.url) for each in listed]
    watcher = make_watcher(states, settings.model_copy(update={"pages": False}), private=private)
    try:
        with progress_bar() as progress:
            visits = list(progress.track(watcher.visit(0.0), total=len(states), description="visiting feeds"))
    finally:
        watcher.stop()
    found = {visit.url: visit for visit in visits}
    records = [_checked(each, found[each.url]) for each in listed]
    if as_json:
        echo_json({"feeds": records})
    else:
        _show_checked(records)
    raise typer.Exit(int(any(each["error"] for each in records)))


@feeds_group.command("starter")
def starter(
    output: Annotated[Path, typer.Argument(help="The file to write; - for standard output.")],
    as_json: Json = False,
) -> None:
    """Write a list of public feeds in many languages, to be edited.

    The list is a suggestion: addresses of feeds change, and the terms of use are those of the publishers.
    """
    from isogloss.feeds import parse_feed_list, starter_list

    check_outputs(as_json, output, error=FeedError)
    if not is_stdout(output) and output.exists():
        raise FeedError(f"{output}: already exists; choose another name")
    with written(output) as path:
        path.write_text(starter_list(), encoding="utf-8")
    if as_json:
        count = len(parse_feed_list(starter_list().encode()).feeds)
        echo_json({"file": str(output), "feeds": count})
        return
    report_output(f"feeds: {output}\nnext: edit it, then isogloss newsroom {output}", output)


def _checked(feed: ListedFeed, visit: Visit) -> dict[str, Any]:
    times = [str(record["time"]) for record in visit.records if "time" in record]
    return {
        "url": feed.url,
        "title": visit.state.title or feed.title,
        "entries": len(visit.records),
        "languages": sorted({str(record["lang"]) for record in visit.records if "lang" in record}),
        "newest": max(times, default=None),
        "error": visit.error,
    }


def _show_checked(records: list[dict[str, Any]]) -> None:
    table = _table("feed", "languages", "entries", "newest")
    for each in records:
        name = escape(each["title"] or each["url"])
        if not each["error"]:
            table.add_row(
                name, escape(" ".join(each["languages"])), str(each["entries"]), _minute(each["newest"])
            )
    failed = [each["error"] for each in records if each["error"]]
    if len(failed) < len(records):
        Console().print(table)
    for error in failed:
        echo(error)
    echo(f"{counted(len(records) - len(failed), 'feed')} can be read, {len(failed)} failed")


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        number = name in ("articles", "entries")
        table.add_column(name, justify="right" if number else "left", no_wrap=True, overflow="ellipsis")
    return table


def _minute(time: str | None) -> str:
    """Shorten a time in ISO 8601 to its minute."""
    return (time or "")[:16].replace("T", " ")
