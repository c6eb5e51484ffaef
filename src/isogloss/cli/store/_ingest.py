"""``isogloss init | ingest``: create a store, and add articles from files."""

from __future__ import annotations

import shlex
from array import array
from collections import Counter
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer
from rich.markup import escape
from rich.progress import Progress

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import counted, echo, echo_json, not_stdout, program
from isogloss.cli._progress import progress_bar, reading
from isogloss.cli.news._events import batches, cut_lines
from isogloss.cli.store._make_events import make_events, store_contents
from isogloss.cli.store._options import (
    DEFAULT_CONFIG,
    Config,
    Events,
    StorePlace,
    check_no_settings,
    load_settings,
    make_folder,
    open_store,
    warn_of_clock,
    write_settings,
)
from isogloss.events.ingest import Quarantine
from isogloss.exceptions import ArticleError

if TYPE_CHECKING:
    from isogloss.events.ingest import ArticleReader
    from isogloss.service.settings import Settings
    from isogloss.store import Store

MAX_PENDING_RECORDS = 500
"""Invalid records that are held in memory before they are stored."""
_MAX_SHOWN = 5


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to set up.", callback=not_stdout)] = Path(),
    as_json: Json = False,
) -> None:
    """Create a settings file and an empty store.

    The file lists every setting with its default and a comment.
    """
    from isogloss.service.settings import Settings
    from isogloss.store import Store

    path = folder / DEFAULT_CONFIG
    check_no_settings(path)
    make_folder(folder)
    settings = Settings()
    Store(folder / settings.store.place).close()
    write_settings(path, settings)
    if as_json:
        echo_json({"settings": str(path), "store": str(folder / settings.store.place)})
        return
    echo(f"settings: {path}\nstore: {folder / settings.store.place}")
    here = "" if folder == Path() else f" -c {shlex.quote(str(path))}"
    echo(f"next: {program()} ingest NEWS.jsonl{here}, then {program()} serve{here}")


Sources = Annotated[
    list[str],
    typer.Argument(metavar="NEWS...", help="JSON lines, WARC files or folders; - for standard input."),
]
Now = Annotated[datetime | None, typer.Option(help="Latest allowed article time; by default now.")]


def ingest(
    sources: Sources,
    config: Config = None,
    store: StorePlace = None,
    events: Events = True,
    now: Now = None,
    as_json: Json = False,
) -> None:
    """Add articles to the store and find their events.

    An article that is already stored changes nothing. Invalid records, and articles that cannot be processed,
    go to the quarantine. The exit code is 1 if nothing else was found.
    """
    from isogloss.events.ingest import ArticleReader
    from isogloss.service.worker import Retention, count_truncated
    from isogloss.store import newest_article_time

    settings = load_settings(config, store)
    ArticleReader(*sources).check()
    with open_store(settings, new=True) as opened, progress_bar() as progress:
        warn_of_clock(opened)
        refused = _StoreQuarantine(opened)
        moment = now.astimezone() if now else None
        newest = partial(newest_article_time, opened, moment, in_event=False)
        reader = ArticleReader(
            *sources, quarantine=refused, now=moment, newest=newest, **_text_limits(settings)
        )
        statuses, numbers, times = _add_all(opened, reader, progress)
        refused.flush()
        made = events and make_events(opened, settings, progress)
        failed = opened.quarantined_article_numbers().intersection(numbers) if made else set()
        reasons = opened.quarantined_articles(1) if failed else []
        counts, contents = opened.counts(), store_contents(opened)
        old = Retention(opened, settings).older(times)
    left_out = dict(reader.quarantine.reasons)
    if left_out and not statuses:
        raise ArticleError("no article", f"no record is a valid article: {reader.quarantine}")
    if failed and len(failed) == len(set(numbers)):
        raise _nothing_processed(len(failed), reasons[0]["said"])
    if as_json:
        report = {
            "articles": dict(statuses),
            "left_out": left_out,
            "quarantined": len(failed),
            "cut": count_truncated(reader.report.notes),
            "events_made": made,
            "store": counts,
            "older_than_retention": old,
        }
        echo_json(report)
        return
    _warn_of_quarantine(reader, len(failed))
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


def _warn_of_quarantine(reader: ArticleReader, failed: int) -> None:
    console = Console(stderr=True)
    if reader.quarantine.reasons:
        console.print(escape(str(reader.quarantine)))
    if failed:
        message = f"{counted(failed, 'article')} could not be processed and went to the quarantine"
        console.print(escape(f"{message}; see isogloss doctor"))


def _nothing_processed(articles: int, reason: str) -> ArticleError:
    return ArticleError(
        "nothing processed",
        f"{counted(articles, 'article')} stored, but none could be processed ({reason}); look for the cause "
        "in the settings and the installation, then run isogloss doctor --retry-quarantined all",
    )


class _TextLimits(TypedDict):
    """Maximum lengths of titles and bodies, as arguments of ``parse_article``."""

    max_title: int
    max_text: int


def _text_limits(settings: Settings) -> _TextLimits:
    limits = settings.limits
    return {"max_title": limits.title_characters, "max_text": limits.article_characters}


def _add_all(
    store: Store, reader: ArticleReader, progress: Progress
) -> tuple[Counter[str], array[int], array[float]]:
    """Add all articles; return the count of each status, and the numbers and times of the articles."""
    statuses: Counter[str] = Counter()
    numbers, times = array("q"), array("d")
    with reading(progress, "reading articles", reader.total_bytes()) as describe:
        for batch in batches(reader):
            receipts = store.add(batch)
            statuses.update(receipt.status for receipt in receipts)
            numbers.extend(receipt.seq for receipt in receipts)
            times.extend(article.time.timestamp() for article in batch)
            describe(f"{len(times):,} articles")
    return statuses, numbers, times


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
