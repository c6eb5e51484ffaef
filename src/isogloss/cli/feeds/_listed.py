"""The feeds that a command is about: URLs, OPML files and lists, given or from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli._output import echo
from isogloss.cli.store._options import is_url
from isogloss.exceptions import FeedError, SettingsError

if TYPE_CHECKING:
    from isogloss.feeds import ListedFeed
    from isogloss.service.settings import FeedSettings

Feeds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FEEDS]...",
        help="URLs of feeds and sitemaps, OPML files, or text files with one URL per line; by default those "
        "of the settings.",
    ),
]
Private = Annotated[bool, typer.Option("--private", help="Also allow private addresses and other ports.")]

MAX_SHOWN_PROBLEMS = 5


def listed_feeds(given: list[str] | None, settings: FeedSettings) -> list[ListedFeed]:
    """Return the feeds of some URLs and files, each once; by default the feeds in the settings.

    Entries of files that are not URLs are reported on standard error. Raises SettingsError if there are no
    feeds or too many, or a URL is not one, and FeedError if a file cannot be read or is not a list of feeds.
    """
    from isogloss.feeds import ListedFeed, read_feed_list

    feeds: dict[str, ListedFeed] = {}
    for each in given or [*settings.urls, *([settings.file] if settings.file else [])]:
        if not each.isprintable():
            raise SettingsError(f"{each!r}: not a URL; expected one such as https://gull.example/feed")
        if is_url(each):
            feeds.setdefault(each, ListedFeed(each))
            continue
        if given and not Path(each).exists():
            raise FeedError(
                f"{each}: neither a file nor a URL; expected one such as https://gull.example/feed"
            )
        found = read_feed_list(each, settings.max_feeds)
        _report(found.problems)
        feeds = {feed.url: feed for feed in found.feeds} | feeds
    if not feeds:
        raise SettingsError(
            "no feeds to visit; give some, or list them under [feeds] in the settings "
            "(isogloss feeds starter FILE writes a list to begin with)"
        )
    if len(feeds) > settings.max_feeds:
        raise SettingsError(f"{len(feeds):,} feeds; feeds.max_feeds allows {settings.max_feeds:,}")
    return [*feeds.values()]


def _report(problems: list[str]) -> None:
    for problem in problems[:MAX_SHOWN_PROBLEMS]:
        echo(f"left out: {problem}", err=True)
    if problems[MAX_SHOWN_PROBLEMS:]:
        echo(f"left out: {len(problems) - MAX_SHOWN_PROBLEMS:,} more", err=True)
