"""``isogloss init | ingest | watch | backup | restore | doctor``: a store, what goes in, and its upkeep."""

from __future__ import annotations

import json
import shlex
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer
from rich.markup import escape
from rich.progress import Progress

from isogloss.cli._console import Console
from isogloss.cli._output import echo, not_stdout
from isogloss.cli._program import program
from isogloss.cli._progress import progress_bar, reading
from isogloss.cli.news._events import batches, cut_lines
from isogloss.cli.store._following import make_events, store_contents
from isogloss.cli.store._place import (
    DEFAULT,
    Config,
    JsonOutput,
    StorePlace,
    load_settings,
    make_folder,
    open_store,
)
from isogloss.cli.store._pruning import prune_now, retention_lines
from isogloss.events.ingest import Quarantine
from isogloss.exceptions import ArticleError, SettingsError, StoreError
from isogloss.io import replacing
from isogloss.service.settings import Settings

if TYPE_CHECKING:
    from isogloss.events import Article
    from isogloss.events.ingest import ArticleReader
    from isogloss.feeds import FeedState, Fetcher, Visit, Watcher
    from isogloss.service.worker import Preview, Retention
    from isogloss.store import Store

__all__ = ["backup", "doctor", "ingest", "init", "restore", "watch"]

Events = Annotated[bool, typer.Option(help="Make events of the articles, if no service does.")]

BATCH = 500
"""Refused records that are in memory at most."""
_SHOWN = 5


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to prepare.", callback=not_stdout)] = Path(),
    as_json: JsonOutput = False,
) -> None:
    """Create a settings file and an empty store.

    The file has every setting with its default and what it means.
    """
    from isogloss.store import Store

    path = folder / DEFAULT
    if path.exists():
        raise SettingsError(f"{path}: is there already; change it, or remove it first")
    make_folder(folder)
    settings = Settings()
    Store(folder / settings.store.place).close()
    with replacing(path, SettingsError) as file:
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
    now: Annotated[
        datetime | None, typer.Option(help="Later times become this one; the time of the machine by default.")
    ] = None,
    as_json: JsonOutput = False,
) -> None:
    """Add articles to the store, and make events.

    An article that is there already changes nothing. Records that are not articles go to the quarantine.
    """
    from isogloss.events.ingest import ArticleReader
    from isogloss.service.worker import Retention
    from isogloss.store import newest_article_time

    settings = load_settings(config, store)
    ArticleReader(*sources).check()
    with open_store(settings, new=True) as opened, progress_bar() as progress:
        _warn_of_clock(opened)
        refused = _Refused(opened)
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
        raise ArticleError("no article", f"none of the records is an article: {reader.quarantine}")
    if as_json:
        told = {
            "articles": dict(statuses),
            "left_out": left_out,
            "cut": _cut(reader.report.notes),
            "events_made": made,
            "store": counts,
            "older_than_retention": old,
        }
        echo(json.dumps(told))
        return
    if left_out:
        Console(stderr=True).print(escape(str(reader.quarantine)))
    for line in cut_lines(reader.report.notes, **_text_limits(settings)):
        echo(line)
    kinds = ["new", "revised", "same", *(["deleted"] if statuses["deleted"] else [])]
    said = ", ".join(f"{statuses[kind]:,} {kind}" for kind in kinds)
    echo(f"{said}; {contents}")
    if events and not made:
        echo("another worker follows this store and makes the events")
    if old:
        echo(
            f"{old:,} of the articles are older than store.keep_days = {settings.store.keep_days}; "
            "isogloss prune shows what would be deleted"
        )


class _TextLimits(TypedDict):
    """The longest title and body, as arguments of ``article_from``."""

    max_title: int
    max_text: int


def _text_limits(settings: Settings) -> _TextLimits:
    limits = settings.limits
    return {"max_title": limits.title_characters, "max_text": limits.article_characters}


def _cut(notes: Counter[str]) -> dict[str, int]:
    """How many titles and bodies were cut."""
    from isogloss.events.article import CUT

    return {name: notes[note] for name, note in CUT.items() if notes[note]}


def _add_all(store: Store, reader: ArticleReader, progress: Progress) -> tuple[Counter[str], array[float]]:
    """Add all articles; return how many there are of each status, and their times."""
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


class _Refused(Quarantine):
    """Records that are no articles, on their way to the quarantine of a store, some hundred at a time."""

    def __init__(self, store: Store) -> None:
        super().__init__(keep=BATCH)
        self.store, self._stored = store, 0

    def add(self, reason: str, what: str, file: str, line: int, record: bytes | str | None = None) -> None:
        """Count a record; when there are many, have the store keep them."""
        super().add(reason, what, file, line, record)
        if len(self.kept) >= self.keep:
            self.flush()

    def flush(self) -> None:
        """Have the store keep what it does not yet; the first few stay here, to be shown."""
        new = self.kept[self._stored :]
        if new:
            rows = [(one.reason, f"{one.file}:{one.line}: {one.what}", one.record) for one in new]
            self.store.add([], refused=rows)
        del self.kept[_SHOWN:]
        self._stored = len(self.kept)


def watch(
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URL]...", help="Feeds and sitemaps; those of the settings."),
    ] = None,
    config: Config = None,
    store: StorePlace = None,
    once: Annotated[bool, typer.Option("--once", help="Visit each feed once, and stop.")] = False,
    events: Events = True,
    private: Annotated[
        bool,
        typer.Option("--private", help="Also visit addresses and ports inside one's own network."),
    ] = False,
    as_json: JsonOutput = False,
) -> None:
    """Visit feeds and add what is new to the store.

    Then make events, unless a service or a worker does that. Stops at Ctrl-C, or with --once after one visit
    to each feed.
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
                    told = _keep_visit(opened, watcher, visit, retention, _text_limits(settings))
                    echo(json.dumps(told) if as_json else _visit_line(told))
                    errors.append(told["error"])
                if events and opened.last_line() > opened.position():
                    with progress_bar() as progress:
                        make_events(opened, settings, progress)
                if once:
                    for feed in waiting:
                        echo(_waits(feed, as_json))
                    if not as_json:
                        echo(store_contents(opened))
                    raise typer.Exit(int(bool(errors) and all(errors)))
                time.sleep(max(1.0, min(feed.due for feed in watcher.feeds) - time.time()))
        finally:
            watcher.stop()


def _fetcher(private: bool) -> Fetcher:
    """What visits feeds: on the public internet only, or anywhere."""
    from isogloss.feeds import Fetcher, FetchLimits

    if not private:
        return Fetcher()
    return Fetcher(FetchLimits(ports=frozenset(range(1, 1 << 16))), allow=lambda _: True)


def _feeds(store: Store, urls: list[str]) -> list[FeedState]:
    from isogloss.feeds import FeedState

    if not urls:
        raise SettingsError("there is no feed to visit; name some, or put them under [feeds] in the settings")
    for url in urls:
        if not url.isprintable():
            raise SettingsError(f"{url!r}: is no URL; expected one such as https://gull.example/feed")
    known = store.feeds()
    return [FeedState(**known.get(url, {"url": url})) for url in dict.fromkeys(urls)]


def _keep_visit(
    store: Store, watcher: Watcher, visit: Visit, retention: Retention, limits: _TextLimits
) -> dict[str, Any]:
    """Store what a visit brought, and then what is known of the feed."""
    from isogloss.feeds import FeedState

    notes: Counter[str] = Counter()
    articles, refused = _articles(visit, store, limits, notes)
    receipts = store.add(articles, refused=refused)
    feed = next(each for each in watcher.feeds if each.url == visit.url)
    store.save_feed(feed.url, {name: getattr(feed, name) for name in FeedState.__slots__})
    new = sum(receipt.status == "new" for receipt in receipts)
    told = {"url": visit.url, "new": new, "left_out": len(refused), "error": visit.error}
    old = retention.older(article.time.timestamp() for article in articles)
    cut = _cut(notes)
    return told | ({"older_than_retention": old} if old else {}) | ({"cut": cut} if cut else {})


def _articles(
    visit: Visit, store: Store, limits: _TextLimits, notes: Counter[str]
) -> tuple[list[Article], list[tuple[str, str, Any]]]:
    from isogloss.events import article_from
    from isogloss.store import newest_article_time

    newest = partial(newest_article_time, store, in_event=False)
    articles: list[Article] = []
    refused: list[tuple[str, str, Any]] = []
    for record in visit.records:
        try:
            articles.append(article_from(record, newest=newest, notes=notes, **limits))
        except ArticleError as error:
            refused.append((error.reason, str(error), record))
    return articles, refused


def _waits(feed: FeedState, as_json: bool) -> str:
    """What is said of a feed that was visited not long ago."""
    due = datetime.fromtimestamp(feed.due, UTC).isoformat(timespec="seconds")
    told = {"url": feed.url, "new": 0, "left_out": 0, "error": "", "due": due}
    return json.dumps(told) if as_json else f"{feed.url}: was visited not long ago; the next time is {due}"


def _visit_line(told: dict[str, Any]) -> str:
    old, cut = told.get("older_than_retention"), told.get("cut", {})
    return str(told["error"]) or (
        f"{told['url']}: {told['new']} new"
        + (f", {old} older than store.keep_days" if old else "")
        + "".join(f", {n} with their {name} cut" for name, n in cut.items())
    )


def backup(
    output: Annotated[
        Path, typer.Argument(help="The file to write; it must not be there yet.", callback=not_stdout)
    ],
    config: Config = None,
    store: StorePlace = None,
    as_json: JsonOutput = False,
) -> None:
    """Copy the store to a file while it is in use.

    The copy is the state of the store at one moment.
    """
    from isogloss.store import back_up

    if not output.parent.is_dir():
        raise StoreError(f"{output}: there is no folder {output.parent}; make it, or name another")
    with open_store(load_settings(config, store)) as opened:
        path = back_up(opened, output)
    size = path.stat().st_size
    echo(json.dumps({"copy": str(path), "bytes": size}) if as_json else f"{path}: {size:,} bytes")


def restore(
    copy: Annotated[Path, typer.Argument(help="A file that 'backup' wrote.")],
    config: Config = None,
    store: StorePlace = None,
    as_json: JsonOutput = False,
) -> None:
    """Restore a backup; the target must not exist."""
    from isogloss.store import restore as restore_copy

    settings = load_settings(config, store)
    path = restore_copy(copy, settings.store.place)
    echo(json.dumps({"store": str(path)}) if as_json else f"restored: {path}")


def doctor(
    config: Config = None,
    store: StorePlace = None,
    forget: Annotated[
        bool, typer.Option("--forget", hidden=True, help="Old name of 'isogloss prune --yes'.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="First make all events again with the current settings; stories keep their ids."
        ),
    ] = False,
    compact: Annotated[
        bool,
        typer.Option("--compact", help="Rewrite the database files, without the bytes of deleted rows."),
    ] = False,
    retry_quarantined: Annotated[
        str | None,
        typer.Option(
            "--retry-quarantined",
            metavar="LINE|all",
            help="Try the article of a quarantined journal line again, or those of all.",
        ),
    ] = None,
    as_json: JsonOutput = False,
) -> None:
    """Check the store and report problems.

    Checks files and tables, shows how far events are behind and what was left out, and what retention would
    delete next.
    """
    from isogloss.service.worker import Retention, clock_warning
    from isogloss.store import check_store

    settings = load_settings(config, store)
    with open_store(settings) as opened:
        retried = _retry(opened, retry_quarantined) if retry_quarantined is not None else 0
        if rebuild:
            _rebuild(opened, settings)
        if compact:
            opened.database.compact()
        retention = Retention(opened, settings)
        pruned = _forget(retention) if forget else 0
        preview = retention.preview()
        told = {
            "database": opened.database.describe(),
            "counts": opened.counts(),
            "events_stand_at_line": opened.position(),
            "rebuild_wanted": opened.rebuild_requested(),
            "left_out": [f"{each['reason']}: {each['said']}" for each in opened.quarantined(_SHOWN)],
            "quarantined": opened.quarantined_articles(),
            "retried": retried,
            "troubles": check_store(opened),
            "clock": clock_warning(opened),
            "retention": preview.as_json() if preview is not None else {"keep_days": 0},
            "pruned": pruned,
        }
    if as_json:
        echo(json.dumps(told))
    else:
        for line in _told(told, preview):
            echo(line)
    if told["troubles"]:
        raise typer.Exit(1)


def _retry(store: Store, which: str) -> int:
    """Have quarantined lines tried again; how many."""
    if which != "all" and not (which.isascii() and which.isdecimal()):
        raise typer.BadParameter(f"--retry-quarantined {which}: expected the number of a line, or all")
    lines = [] if which == "all" else [int(which)]
    retried = store.retry_quarantined(lines)
    if lines and not retried:
        raise StoreError(f"line {which} of the journal is not in quarantine; isogloss doctor lists those")
    return len(retried)


def _quarantine_lines(told: dict[str, Any]) -> Iterator[str]:
    """What ``doctor`` says about articles that could not be taken in."""
    if retried := told["retried"]:
        yield f"{retried} article{'s' * (retried != 1)} of the quarantine will be tried again by the worker"
    if found := told["quarantined"]:
        yield (
            f"{len(found)} article{'s' * (len(found) != 1)} in quarantine, which events are made without; "
            "to try again: isogloss doctor --retry-quarantined LINE|all"
        )
    for each in found[:_SHOWN]:
        said = f"line {each['line']}: {each['reason']}: {each['title']!a:.60}: {each['said']}"
        yield f"  {' '.join(said.split())[:200]}"


def _rebuild(store: Store, settings: Settings) -> None:
    with progress_bar() as progress:
        if not make_events(store, settings, progress, anew=True):
            raise StoreError("another worker follows this store; stop it, then rebuild")


def _forget(retention: Retention) -> int:
    """What ``doctor --forget`` did; to be removed after the next release."""
    said = "doctor --forget is now isogloss prune --yes, and will be removed"
    Console(stderr=True).print(f"[yellow]warning:[/] {said}", highlight=False)
    preview = retention.preview()
    return prune_now(retention, preview) if preview is not None else 0


def _told(told: dict[str, Any], preview: Preview | None) -> Iterator[str]:
    database = told["database"]
    yield f"{database['product']} {database['version']}, {database['place']}"
    if "warning" in database:
        yield f"warning: {database['warning']}"
    yield ", ".join(f"{count:,} {name}" for name, count in told["counts"].items())
    yield f"events stand at line {told['events_stand_at_line']:,} of the journal"
    if told["rebuild_wanted"]:
        yield "the next worker makes all events anew; doctor --rebuild does it now"
    if told["left_out"]:
        yield "left out last:"
        yield from (f"  {' '.join(each.split())[:200]}" for each in told["left_out"])
    yield from _quarantine_lines(told)
    if told["pruned"]:
        yield f"{told['pruned']:,} old articles deleted"
    yield from retention_lines(preview)
    if told["clock"]:
        yield f"warning: {told['clock']}"
    yield from (f"trouble: {each}" for each in told["troubles"])
    if not told["troubles"]:
        yield "no trouble found"
