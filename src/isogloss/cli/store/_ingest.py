"""``isogloss init | ingest | watch``: create a store, and add articles from files and feeds."""

from __future__ import annotations

import json
import shlex
import time
from array import array
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer
from rich.markup import escape
from rich.progress import Progress

from isogloss.cli._console import Console
from isogloss.cli._output import counted, echo, not_stdout, program
from isogloss.cli._progress import progress_bar, reading
from isogloss.cli.news._events import batches, cut_lines
from isogloss.cli.store._make_events import make_events, store_contents
from isogloss.cli.store._options import (
    DEFAULT_CONFIG,
    Config,
    JsonOutput,
    StorePlace,
    load_settings,
    make_folder,
    open_store,
)
from isogloss.events.ingest import Quarantine
from isogloss.exceptions import ArticleError, SettingsError
from isogloss.io import atomic_write

if TYPE_CHECKING:
    from isogloss.events import Article
    from isogloss.events.ingest import ArticleReader
    from isogloss.feeds import FeedState, Fetcher, Visit, Watcher
    from isogloss.service.settings import Settings
    from isogloss.service.worker import Retention
    from isogloss.store import Store

Events = Annotated[bool, typer.Option(help="Find events now, unless a service or worker does.")]

MAX_PENDING_RECORDS = 500
"""Invalid records that are held in memory before they are stored."""
_MAX_SHOWN = 5


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to set up.", callback=not_stdout)] = Path(),
    as_json: JsonOutput = False,
) -> None:
    """Create a settings file and an empty store.

    The file lists every setting with its default and a comment.
    """
    from isogloss.service.settings import Settings
    from isogloss.store import Store

    path = folder / DEFAULT_CONFIG
    if path.exists():
        raise SettingsError(f"{path}: already exists; edit it, or remove it first")
    make_folder(folder)
    settings = Settings()
    Store(folder / settings.store.place).close()
    with atomic_write(path, SettingsError) as file:
        file.write(settings.as_toml().encode())
    if as_json:
        echo(json.dumps({"settings": str(path), "store": str(folder / settings.store.place)}))
        return
    echo(f"settings: {path}\nstore: {folder / settings.store.place}")
    here = "" if folder == Path() else f" -c {shlex.quote(str(path))}"
    echo(f"next: {program()} ingest NEWS.jsonl{here}, then {program()} serve{here}")


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="NEWS...", help="JSON lines, WARC files or folders; - for standard input."),
    ],
    config: Config = None,
    store: StorePlace = None,
    events: Events = True,
    now: Annotated[datetime | None, typer.Option(help="Latest allowed article time; by default now.")] = None,
    as_json: JsonOutput = False,
) -> None:
    """Add articles to the store and find their events.

    An article that is already stored changes nothing. Invalid records go to the quarantine.
    """
    from isogloss.events.ingest import ArticleReader
    from isogloss.service.worker import Retention
    from isogloss.store import newest_article_time

    settings = load_settings(config, store)
    ArticleReader(*sources).check()
    with open_store(settings, new=True) as opened, progress_bar() as progress:
        _warn_of_clock(opened)
        refused = _StoreQuarantine(opened)
        moment = now.astimezone() if now else None
        newest = partial(newest_article_time, opened, moment, in_event=False)
        reader = ArticleReader(
            *sources, quarantine=refused, now=moment, newest=newest, **_text_limits(settings)
        )
        statuses, times = _add_all(opened, reader, progress)
        refused.flush()
        made = events and make_events(opened, settings, progress)
        counts, contents = opened.counts(), store_contents(opened)
        old = Retention(opened, settings).older(times)
    left_out = dict(reader.quarantine.reasons)
    if left_out and not statuses:
        raise ArticleError("no article", f"no record is a valid article: {reader.quarantine}")
    if as_json:
        report = {
            "articles": dict(statuses),
            "left_out": left_out,
            "cut": _cut(reader.report.notes),
            "events_made": made,
            "store": counts,
            "older_than_retention": old,
        }
        echo(json.dumps(report))
        return
    if left_out:
        Console(stderr=True).print(escape(str(reader.quarantine)))
    for line in cut_lines(reader.report.notes, **_text_limits(settings)):
        echo(line)
    kinds = ["new", "revised", "same", *(["deleted"] if statuses["deleted"] else [])]
    outcome = ", ".join(f"{statuses[kind]:,} {kind}" for kind in kinds)
    echo(f"{outcome}; {contents}")
    if events and not made:
        echo("another worker is processing this store and will find the events")
    if old:
        echo(
            f"older than store.keep_days = {settings.store.keep_days}: {counted(old, 'article')}; "
            "isogloss prune shows what would be deleted"
        )


class _TextLimits(TypedDict):
    """Maximum lengths of titles and bodies, as arguments of ``parse_article``."""

    max_title: int
    max_text: int


def _text_limits(settings: Settings) -> _TextLimits:
    limits = settings.limits
    return {"max_title": limits.title_characters, "max_text": limits.article_characters}


def _cut(notes: Counter[str]) -> dict[str, int]:
    """Count the titles and bodies that were cut."""
    from isogloss.events.article import TRUNCATION_NOTES

    return {name: notes[note] for name, note in TRUNCATION_NOTES.items() if notes[note]}


def _add_all(store: Store, reader: ArticleReader, progress: Progress) -> tuple[Counter[str], array[float]]:
    """Add all articles; return the count of each status, and the times of the articles."""
    statuses: Counter[str] = Counter()
    times = array("d")
    with reading(progress, "reading articles", reader.total_bytes()) as describe:
        for batch in batches(reader):
            statuses.update(receipt.status for receipt in store.add(batch))
            times.extend(article.time.timestamp() for article in batch)
            describe(f"{len(times):,} articles")
    return statuses, times


def _warn_of_clock(store: Store) -> None:
    from isogloss.service.worker import clock_warning

    if warning := clock_warning(store):
        Console(stderr=True).print(f"[yellow]warning:[/] {escape(warning)}", highlight=False)


class _StoreQuarantine(Quarantine):
    """A quarantine that moves invalid records to the store in batches."""

    def __init__(self, store: Store) -> None:
        super().__init__(keep=MAX_PENDING_RECORDS)
        self.store, self._stored = store, 0

    def add(self, reason: str, what: str, file: str, line: int, record: bytes | str | None = None) -> None:
        """Add a record, and store the batch when it is full."""
        super().add(reason, what, file, line, record)
        if len(self.kept) >= self.keep:
            self.flush()

    def flush(self) -> None:
        """Store the pending records; keep the first few to show them."""
        new = self.kept[self._stored :]
        if new:
            rows = [(one.reason, f"{one.file}:{one.line}: {one.what}", one.record) for one in new]
            self.store.add([], refused=rows)
        del self.kept[_MAX_SHOWN:]
        self._stored = len(self.kept)


def watch(
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URL]...", help="Feeds and sitemaps; by default those of the settings."),
    ] = None,
    config: Config = None,
    store: StorePlace = None,
    once: Annotated[bool, typer.Option("--once", help="Visit each feed once, then stop.")] = False,
    events: Events = True,
    private: Annotated[
        bool,
        typer.Option("--private", help="Also allow private addresses and other ports."),
    ] = False,
    as_json: JsonOutput = False,
) -> None:
    """Visit feeds and store new articles.

    Then find events, unless a service or a worker does. Stop it with Ctrl-C, or use --once to visit each feed
    only once.
    """
    from isogloss.extras import require_extra
    from isogloss.feeds import FeedReader, Watcher
    from isogloss.service.worker import Retention

    settings = load_settings(config, store)
    require_extra("feeds", "watching feeds")
    with open_store(settings, new=True) as opened:
        _warn_of_clock(opened)
        feeds = _feeds(opened, urls or settings.feeds.urls)
        retention = Retention(opened, settings)
        watcher = Watcher(
            feeds,
            fetcher=_fetcher(private),
            interval=settings.feeds.minutes * 60,
            reader=FeedReader(settings.feeds.parse_seconds),
        )
        try:
            while True:
                errors = []
                waiting = [feed for feed in watcher.feeds if feed.due > time.time()]
                for visit in watcher.visit(time.time()):
                    result = _save_visit(opened, watcher, visit, retention, _text_limits(settings))
                    echo(json.dumps(result) if as_json else _visit_line(result))
                    errors.append(result["error"])
                if events and opened.last_line() > opened.position():
                    with progress_bar() as progress:
                        make_events(opened, settings, progress)
                if once:
                    for feed in waiting:
                        echo(_waiting_line(feed, as_json))
                    if not as_json:
                        echo(store_contents(opened))
                    raise typer.Exit(int(bool(errors) and all(errors)))
                time.sleep(max(1.0, min(feed.due for feed in watcher.feeds) - time.time()))
        finally:
            watcher.stop()


def _fetcher(private: bool) -> Fetcher:
    """Create the fetcher: for public addresses only, or for any."""
    from isogloss.feeds import Fetcher, FetchLimits

    if not private:
        return Fetcher()
    return Fetcher(FetchLimits(ports=frozenset(range(1, 1 << 16))), allow=lambda _: True)


def _feeds(store: Store, urls: list[str]) -> list[FeedState]:
    from isogloss.feeds import FeedState

    if not urls:
        raise SettingsError("no feeds to visit; give some, or list them under [feeds] in the settings")
    for url in urls:
        if not url.isprintable():
            raise SettingsError(f"{url!r}: not a URL; expected one such as https://gull.example/feed")
    known = store.feeds()
    return [FeedState(**known.get(url, {"url": url})) for url in dict.fromkeys(urls)]


def _save_visit(
    store: Store, watcher: Watcher, visit: Visit, retention: Retention, limits: _TextLimits
) -> dict[str, Any]:
    """Store the new articles of a visit, then the state of the feed."""
    from isogloss.feeds import FeedState

    notes: Counter[str] = Counter()
    articles, refused = _articles(visit, store, limits, notes)
    receipts = store.add(articles, refused=refused)
    feed = next(each for each in watcher.feeds if each.url == visit.url)
    store.save_feed(feed.url, {name: getattr(feed, name) for name in FeedState.__slots__})
    new = sum(receipt.status == "new" for receipt in receipts)
    result = {"url": visit.url, "new": new, "left_out": len(refused), "error": visit.error}
    old = retention.older(article.time.timestamp() for article in articles)
    cut = _cut(notes)
    return result | ({"older_than_retention": old} if old else {}) | ({"cut": cut} if cut else {})


def _articles(
    visit: Visit, store: Store, limits: _TextLimits, notes: Counter[str]
) -> tuple[list[Article], list[tuple[str, str, Any]]]:
    from isogloss.events import parse_article
    from isogloss.store import newest_article_time

    newest = partial(newest_article_time, store, in_event=False)
    articles: list[Article] = []
    refused: list[tuple[str, str, Any]] = []
    for record in visit.records:
        try:
            articles.append(parse_article(record, newest=newest, notes=notes, **limits))
        except ArticleError as error:
            refused.append((error.reason, str(error), record))
    return articles, refused


def _waiting_line(feed: FeedState, as_json: bool) -> str:
    """Describe a feed that is not due yet."""
    due = datetime.fromtimestamp(feed.due, UTC).isoformat(timespec="seconds")
    result = {"url": feed.url, "new": 0, "left_out": 0, "error": "", "due": due}
    return json.dumps(result) if as_json else f"{feed.url}: visited recently; the next visit is due at {due}"


def _visit_line(result: dict[str, Any]) -> str:
    old, cut = result.get("older_than_retention"), result.get("cut", {})
    return str(result["error"]) or (
        f"{result['url']}: {result['new']} new"
        + (f", {old} older than store.keep_days" if old else "")
        + "".join(f", {n} with a truncated {name}" for name, n in cut.items())
    )
