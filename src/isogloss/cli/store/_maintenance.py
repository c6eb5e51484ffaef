"""``isogloss backup | restore | doctor``: back up, restore and check a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import counted, echo, echo_json, echo_result, not_stdout
from isogloss.cli._progress import progress_bar
from isogloss.cli.store._make_events import make_events
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store
from isogloss.cli.store._prune import prune_now, retention_lines
from isogloss.exceptions import StoreError

if TYPE_CHECKING:
    from isogloss.service.settings import Settings
    from isogloss.service.worker import PrunePreview, Retention
    from isogloss.store import Store

MAX_SHOWN = 5
"""Quarantined records and lines that ``doctor`` lists."""

MAX_QUARANTINED_SHARE = 0.5
"""A larger share of all articles in quarantine is a problem of the store."""


def backup(
    output: Annotated[
        Path, typer.Argument(help="The file to write; it must not exist.", callback=not_stdout)
    ],
    config: Config = None,
    store: StorePlace = None,
    as_json: Json = False,
) -> None:
    """Back up the store, also while it is in use.

    The backup is a consistent copy as of one moment.
    """
    from isogloss.store import back_up

    if not output.parent.is_dir():
        raise StoreError(f"{output}: the folder {output.parent} does not exist; create it, or choose another")
    with open_store(load_settings(config, store)) as opened:
        path = back_up(opened, output)
    size = path.stat().st_size
    echo_result({"copy": str(path), "bytes": size}, f"{path}: {size:,} bytes", as_json)


def restore(
    copy: Annotated[Path, typer.Argument(help="A file written by 'backup'.")],
    config: Config = None,
    store: StorePlace = None,
    as_json: Json = False,
) -> None:
    """Restore a backup. The target store must not exist."""
    from isogloss.store import restore as restore_backup

    settings = load_settings(config, store)
    path = restore_backup(copy, settings.store.place)
    echo_result({"store": str(path)}, f"restored: {path}", as_json)


def doctor(
    config: Config = None,
    store: StorePlace = None,
    forget: Annotated[
        bool, typer.Option("--forget", hidden=True, help="Old name of 'isogloss prune --yes'.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="First rebuild all events with the current settings; stories keep their ids."
        ),
    ] = False,
    compact: Annotated[
        bool,
        typer.Option("--compact", help="Rewrite the database files to remove the bytes of deleted rows."),
    ] = False,
    retry_quarantined: Annotated[
        str | None,
        typer.Option(
            "--retry-quarantined",
            metavar="LINE|all",
            help="Retry a quarantined article, by journal line, or all of them.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the store and report problems.

    Checks the files and tables, and shows how far events lag behind articles, which records were rejected,
    and what retention would delete next.
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
        report = {
            "database": opened.database.describe(),
            "counts": opened.counts(),
            "events_stand_at_line": opened.position(),
            "rebuild_wanted": opened.rebuild_requested(),
            "left_out": [f"{each['reason']}: {each['said']}" for each in opened.quarantined(MAX_SHOWN)],
            "quarantined": opened.quarantined_articles(),
            "quarantined_articles": len(opened.quarantined_article_numbers()),
            "retried": retried,
            "troubles": [*check_store(opened), *_quarantine_troubles(opened)],
            "clock": clock_warning(opened),
            "retention": preview.as_json() if preview is not None else {"keep_days": 0},
            "pruned": pruned,
        }
    if as_json:
        echo_json(report)
    else:
        for line in _report_lines(report, preview):
            echo(line)
    if report["troubles"]:
        raise typer.Exit(1)


def _retry(store: Store, which: str) -> int:
    """Have quarantined lines tried again; return how many."""
    if which != "all" and not (which.isascii() and which.isdecimal()):
        raise typer.BadParameter(f"--retry-quarantined {which}: expected a line number or all")
    lines = [] if which == "all" else [int(which)]
    retried = store.retry_quarantined(lines)
    if lines and not retried:
        raise StoreError(f"line {which} of the journal is not in quarantine; see isogloss doctor")
    return len(retried)


def _quarantine_troubles(store: Store) -> Iterator[str]:
    """Report a quarantine that holds so many articles that they are hardly to blame."""
    failed, stored = len(store.quarantined_article_numbers()), store.counts()["article"]
    if failed > stored * MAX_QUARANTINED_SHARE:
        yield (
            f"{failed:,} of {counted(stored, 'article')} are in quarantine; look for the cause in the "
            "settings and the installation, then run isogloss doctor --retry-quarantined all"
        )


def _quarantine_lines(report: dict[str, Any]) -> Iterator[str]:
    """Describe the articles in quarantine."""
    if retried := report["retried"]:
        yield f"{retried} article{'s' * (retried != 1)} in quarantine will be retried by the worker"
    found = report["quarantined"]
    if number := report["quarantined_articles"]:
        yield (
            f"{counted(number, 'article')} in quarantine, not part of any event; "
            "to retry: isogloss doctor --retry-quarantined LINE|all"
        )
    for each in found[:MAX_SHOWN]:
        line = f"line {each['line']}: {each['reason']}: {each['title']!a:.60}: {each['said']}"
        yield f"  {' '.join(line.split())[:200]}"


def _rebuild(store: Store, settings: Settings) -> None:
    with progress_bar() as progress:
        if not make_events(store, settings, progress, rebuild=True):
            raise StoreError("another worker is processing this store; stop it, then rebuild")


def _forget(retention: Retention) -> int:
    """Do what ``doctor --forget`` did; to be removed after the next release."""
    notice = "doctor --forget is now isogloss prune --yes, and will be removed"
    Console(stderr=True).print(f"[yellow]warning:[/] {notice}", highlight=False)
    preview = retention.preview()
    return prune_now(retention, preview) if preview is not None else 0


def _report_lines(report: dict[str, Any], preview: PrunePreview | None) -> Iterator[str]:
    database = report["database"]
    yield f"{database['product']} {database['version']}, {database['place']}"
    if "warning" in database:
        yield f"warning: {database['warning']}"
    yield ", ".join(f"{count:,} {name}" for name, count in report["counts"].items())
    yield f"events are up to date with journal line {report['events_stand_at_line']:,}"
    if report["rebuild_wanted"]:
        yield "the next worker will rebuild all events; doctor --rebuild does it now"
    if report["left_out"]:
        yield "last rejected records:"
        yield from (f"  {' '.join(each.split())[:200]}" for each in report["left_out"])
    yield from _quarantine_lines(report)
    if report["pruned"]:
        yield f"{report['pruned']:,} old articles deleted"
    yield from retention_lines(preview)
    if report["clock"]:
        yield f"warning: {report['clock']}"
    yield from (f"problem: {each}" for each in report["troubles"])
    if not report["troubles"]:
        yield "no problems found"
