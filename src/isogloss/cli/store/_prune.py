"""``isogloss prune``: show what retention would delete, and delete it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli._options import Json
from isogloss.cli._output import echo, echo_json
from isogloss.cli._progress import progress_bar
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store

if TYPE_CHECKING:
    from isogloss.service.worker import PrunePreview, Retention

MAX_EXAMPLES = 5
"""Titles to show."""

LABEL_CHARS = 64


def prune(
    config: Config = None,
    store: StorePlace = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete the stories, and approve store.keep_days for this store.")
    ] = False,
    keep_days: Annotated[
        int | None,
        typer.Option(
            "--keep-days", min=1, help="Use this many days instead of store.keep_days, this time only."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show old stories, or delete them with --yes.

    A story is old when its last article is more than store.keep_days older than the newest article of
    the store. Once --yes has approved store.keep_days, the service deletes old stories automatically, a
    small share of the store at a time, until the setting changes.
    """
    from isogloss.service.worker import Retention

    settings = load_settings(config, store)
    with open_store(settings) as opened:
        retention = Retention(opened, settings)
        preview = retention.preview(keep_days, examples=MAX_EXAMPLES)
        if preview is not None and not as_json:
            for line in _preview_lines(preview):
                echo(line)
        pruned = prune_now(retention, preview) if preview is not None and yes else 0
    if as_json:
        report = preview.as_json() if preview is not None else {"keep_days": 0, "articles": 0}
        echo_json(report | {"pruned": pruned})
        return
    for line in _outcome_lines(preview, pruned, yes=yes):
        echo(line)


def prune_now(retention: Retention, preview: PrunePreview) -> int:
    """Delete what a preview shows, with a progress bar; Ctrl-C stops between two stories."""
    pruned = 0

    def advance(count: int) -> None:
        nonlocal pruned
        pruned += count
        progress.advance(task, count)

    with progress_bar() as progress:
        task = progress.add_task("articles deleted", total=preview.plan.articles)
        try:
            return retention.prune(preview, progress=advance)
        except KeyboardInterrupt:
            message = f"interrupted after {pruned:,} articles, between two stories; run it again to continue"
            echo(message, err=True)
            raise


def retention_lines(preview: PrunePreview | None) -> Iterator[str]:
    """Describe what the next scheduled run would do."""
    if preview is None:
        yield "retention: everything is kept (store.keep_days = 0)"
        return
    yield f"retention: {preview.days:g} days; the next run would delete {_amount(preview)}"
    if preview.refusal is not None:
        yield f"retention needs isogloss prune --yes: {preview.refusal.message}"
    elif not preview.approved:
        yield "retention is not approved yet; run isogloss prune --yes once for this store"


def _preview_lines(preview: PrunePreview) -> Iterator[str]:
    plan = preview.plan
    kept = f"{preview.days:g} days"
    if preview.days > preview.keep_days:
        kept += f" (not {preview.keep_days}: the stream needs its window plus one day)"
    yield f"retention: {kept}, counted back from the newest article, {preview.reference:%Y-%m-%d}"
    yield f"old: {_amount(preview)}"
    if plan.oldest and plan.newest:
        yield f"from {plan.oldest:%Y-%m-%d} to {plan.newest:%Y-%m-%d}, the oldest first:"
    for time, title in plan.examples:
        yield f"  {time:%Y-%m-%d}  {_printable(title)}"
    if plan.articles > len(plan.examples) > 0:
        yield f"  and {plan.articles - len(plan.examples):,} more"
    if preview.refusal is not None and preview.refusal.kind == "clock":
        yield f"warning: {preview.refusal.message}"


def _outcome_lines(preview: PrunePreview | None, pruned: int, *, yes: bool) -> Iterator[str]:
    if preview is None:
        yield "everything is kept: store.keep_days is 0; use --keep-days to delete old stories once"
    elif yes:
        yield f"deleted: {pruned:,} articles"
        if preview.configured:
            yield f"approved: a retention of {preview.days:g} days for this store"
    else:
        if preview.approved:
            yield f"approved: a retention of {preview.days:g} days for this store"
        effects = ["deletes them"] * bool(preview.plan.articles)
        if preview.configured and not preview.approved:
            effects.append(f"approves {preview.days:g} days for this store")
        yield "nothing was deleted" + (f"; --yes {' and '.join(effects)}" if effects else "")


def _amount(preview: PrunePreview) -> str:
    plan = preview.plan
    if not plan.articles:
        return f"no article; no story ended before {plan.cutoff:%Y-%m-%d}"
    return (
        f"{plan.articles:,} of {plan.total:,} articles ({plan.percent:.1f} %) in {plan.events:,} events "
        f"that ended before {plan.cutoff:%Y-%m-%d}"
    )


def _printable(title: str) -> str:
    """Format a title on one line, without control characters."""
    shown = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    return shown if len(shown) <= LABEL_CHARS else shown[: LABEL_CHARS - 3] + "..."
