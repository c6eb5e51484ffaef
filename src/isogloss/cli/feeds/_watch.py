"""``isogloss watch``: visit feeds and store new articles."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli._options import Json
from isogloss.cli._output import echo, echo_result
from isogloss.cli._progress import progress_bar
from isogloss.cli._signals import stop_on_signals
from isogloss.cli.feeds._listed import Feeds, Private, listed_feeds
from isogloss.cli.store._make_events import make_events, store_contents
from isogloss.cli.store._options import (
    Config,
    Events,
    StorePlace,
    load_settings,
    open_store,
    warn_of_clock,
)
from isogloss.exceptions import StoreError

if TYPE_CHECKING:
    from isogloss.feeds import FeedState
    from isogloss.service.settings import Settings
    from isogloss.service.worker import FeedIngest, StoredVisit
    from isogloss.store import Store

EVENTS_INTERVAL_S = 60.0
"""Seconds between two times that waiting articles become events."""


def watch(
    feeds: Feeds = None,
    config: Config = None,
    store: StorePlace = None,
    once: Annotated[bool, typer.Option("--once", help="Visit each feed once, then stop.")] = False,
    events: Events = True,
    private: Private = False,
    as_json: Json = False,
) -> None:
    """Visit feeds and store new articles.

    Then find events, unless a service or a worker does. Stop it with Ctrl-C, or use --once to visit each feed
    only once.
    """
    from isogloss.extras import require_extra
    from isogloss.service.worker import FeedIngest

    settings = load_settings(config, store)
    require_extra("feeds", "watching feeds")
    listed = listed_feeds(feeds, settings.feeds)
    with open_store(settings, new=True) as opened:
        warn_of_clock(opened)
        ingest = FeedIngest(opened, settings, listed, private=private)
        try:
            if once:
                raise typer.Exit(int(_visit_once(opened, settings, ingest, events, as_json)))
            _watch(opened, settings, ingest, events, as_json)
        finally:
            ingest.stop()


def _visit_once(store: Store, settings: Settings, ingest: FeedIngest, events: bool, as_json: bool) -> bool:
    """Visit each feed that is due; return whether all of them failed."""
    waiting = ingest.waiting()
    errors = []
    for visit in ingest.visit():
        _show(visit, as_json)
        errors.append(visit.error)
    if events:
        _make_events(store, settings)
    for feed in waiting:
        echo(_waiting_line(feed, as_json))
    if not as_json:
        echo(store_contents(store))
    return bool(errors) and all(errors)


def _watch(store: Store, settings: Settings, ingest: FeedIngest, events: bool, as_json: bool) -> None:
    """Visit feeds in a thread until a signal, and make events now and then."""
    from isogloss.service.worker import FeedThread

    stop = stop_on_signals()
    arrived = threading.Event()

    def show(visit: StoredVisit) -> None:
        _show(visit, as_json)
        if visit.new or visit.revised:
            arrived.set()

    thread = FeedThread(ingest, show)
    thread.start()
    try:
        while not stop.wait(1.0 if arrived.is_set() or not thread.alive else EVENTS_INTERVAL_S):
            if not thread.alive:
                raise StoreError("visiting the feeds has stopped; see the log")
            arrived.clear()
            if events:
                _make_events(store, settings)
    finally:
        thread.stop()


def _make_events(store: Store, settings: Settings) -> None:
    if store.last_line() > store.position():
        with progress_bar() as progress:
            make_events(store, settings, progress)


def _show(visit: StoredVisit, as_json: bool) -> None:
    echo_result(visit.as_record(), visit_line(visit), as_json)


def visit_line(visit: StoredVisit) -> str:
    """Describe a visit in a line."""
    if visit.error:
        return visit.error
    parts = [f"{visit.new} new"]
    if visit.revised:
        parts.append(f"{visit.revised} revised")
    if visit.summaries:
        parts.append(f"{visit.summaries} without the text of their page")
    if visit.older_than_retention:
        parts.append(f"{visit.older_than_retention} older than store.keep_days")
    parts += [f"{count} with a truncated {name}" for name, count in visit.cut.items()]
    return f"{visit.url}: {', '.join(parts)}"


def _waiting_line(feed: FeedState, as_json: bool) -> str:
    """Describe a feed that is not due yet."""
    due = datetime.fromtimestamp(feed.due, UTC).isoformat(timespec="seconds")
    result: dict[str, Any] = {"url": feed.url, "new": 0, "left_out": 0, "error": "", "due": due}
    return json.dumps(result) if as_json else f"{feed.url}: visited recently; the next visit is due at {due}"
