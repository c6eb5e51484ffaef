"""``isogloss newsroom``: from a list of feeds to pages of events, in one command."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import counted, echo, echo_json
from isogloss.cli._serve import Host, LogJson, Port, check_service, run_service, with_address
from isogloss.cli.feeds._listed import Feeds, Private, listed_feeds
from isogloss.cli.feeds._watch import visit_line
from isogloss.cli.store._options import (
    DEFAULT_CONFIG,
    Config,
    StorePlace,
    is_url,
    load_settings,
    open_store,
    warn_of_clock,
    write_settings,
)
from isogloss.exceptions import SettingsError, StoreError
from isogloss.io import TerminalFormatter

if TYPE_CHECKING:
    from isogloss.service.worker import FeedIngest, StoredVisit

logger = logging.getLogger(__name__)

REFRESH_S = 2.0
"""Seconds between two looks at the numbers that the display shows."""


def newsroom(
    feeds: Feeds = None,
    config: Config = None,
    store: StorePlace = None,
    host: Host = None,
    port: Port = None,
    private: Private = False,
    log_json: LogJson = False,
    as_json: Json = False,
) -> None:
    """Watch feeds, find events, and serve the pages, all in one.

    In a folder without isogloss.toml this first writes one that names the feeds, and creates the store;
    afterwards "isogloss newsroom" is enough. Nothing that exists is overwritten. Stop it with Ctrl-C or
    SIGTERM.
    """
    from isogloss.extras import require_extra
    from isogloss.service.worker import FeedIngest

    settings = with_address(load_settings(config, store), host, port)
    require_extra("feeds", "watching feeds")
    listed = listed_feeds(feeds, settings.feeds)
    check_service(settings)
    if config is None and store is None and not DEFAULT_CONFIG.exists():
        _set_up(feeds or [])
    console = Console(stderr=True)
    shown = console.is_terminal and not as_json
    _log(console, shown=shown, as_json=log_json)
    with open_store(settings, new=True) as opened:
        warn_of_clock(opened)
        ingest = FeedIngest(opened, settings, listed, private=private)
        watching = _Watching(ingest, console, shown=shown, as_json=as_json)
        run_service(settings, opened, as_json=as_json, beside=watching)


def _set_up(feeds: list[str]) -> None:
    """Write a settings file that names the feeds."""
    from isogloss.service.settings import FeedSettings, Settings

    files = [each for each in feeds if not is_url(each)]
    if len(files) > 1:
        raise SettingsError(
            f"{', '.join(files)}: a new settings file names one list of feeds; put them into one, or write "
            "the settings with isogloss init first"
        )
    listed = FeedSettings(urls=[each for each in feeds if is_url(each)], file="".join(files))
    write_settings(DEFAULT_CONFIG, Settings(feeds=listed))
    echo(f"settings: {DEFAULT_CONFIG}", err=True)


def _log(console: Console, *, shown: bool, as_json: bool) -> None:
    """Log to standard error; above the display, warnings only."""
    from isogloss.service import log_to_stderr

    log_to_stderr(as_json=as_json)
    if shown and not as_json:
        handler = _ConsoleHandler(console)
        handler.setFormatter(TerminalFormatter())
        logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


class _ConsoleHandler(logging.Handler):
    """Prints records above the display."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            self.console.print(escape(self.format(record)), highlight=False)


class _Watching:
    """Visits feeds while the service runs, and shows what comes of it.

    Each visit is printed as a JSON object (``as_json``), drawn in a display (``shown``), or else logged.
    """

    def __init__(self, ingest: FeedIngest, console: Console, *, shown: bool, as_json: bool) -> None:
        from isogloss.service.worker import FeedThread

        self.ingest, self.as_json, self.shown = ingest, as_json, shown
        self._thread = FeedThread(ingest, self._visited)
        self._stopped = threading.Event()
        self._progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console,
            transient=True, disable=not shown, refresh_per_second=2,
        )  # fmt: skip
        self._task = self._progress.add_task("visiting feeds", total=None)
        self._refresher = threading.Thread(target=self._refresh, name="isogloss-display", daemon=True)
        self._visits = 0

    def start(self) -> None:
        """Start visiting."""
        self._progress.start()
        self._thread.start()
        if self.shown:
            self._refresher.start()

    def stop(self) -> None:
        """Stop visiting, and remove the display."""
        self._stopped.set()
        self._thread.stop()
        if self.shown:
            self._refresher.join()
        self._progress.stop()

    def _visited(self, visit: StoredVisit) -> None:
        self._visits += 1
        if self.as_json:
            echo_json(visit.as_record())
        elif not self.shown:
            logger.log(logging.WARNING if visit.error else logging.INFO, "%s", visit_line(visit))

    def _refresh(self) -> None:
        while not self._stopped.is_set():
            with suppress(StoreError):
                self._progress.update(self._task, description=escape(self._line()))
            self._stopped.wait(REFRESH_S)

    def _line(self) -> str:
        """Describe the newsroom in a line."""
        feeds = self.ingest.watcher.feeds
        visited = sum(feed.visited > 0 for feed in feeds)
        failing = sum(feed.failures > 0 for feed in feeds)
        counts = self.ingest.store.counts()
        parts = [
            f"{visited:,} of {counted(len(feeds), 'feed')} visited"
            if visited < len(feeds)
            else counted(visited, "feed"),
            *([f"{failing:,} failing"] if failing else []),
            counted(counts["article"], "article"),
            counted(counts["event"], "event"),
        ]
        if visited == len(feeds):
            due = datetime.fromtimestamp(min(feed.due for feed in feeds)).astimezone()
            parts.append(f"next visit {due:%H:%M}")
        return " · ".join(parts)
