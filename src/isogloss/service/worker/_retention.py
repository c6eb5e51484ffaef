"""Retention: delete old stories on a schedule, and never more than the operator has approved.

Everything is kept unless ``store.keep_days`` says otherwise. Even then the scheduled run deletes nothing
before ``isogloss prune --yes`` has approved that setting for the store, nor more than a small share of the
store, nor anything while the clock of the machine looks wrong.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, NamedTuple

from isogloss.exceptions import StoreError
from isogloss.service._background import BackgroundThread, Worker
from isogloss.service.settings import Settings
from isogloss.store import (
    PrunePlan,
    Store,
    from_micros,
    newest_article_time,
    plan_prune,
    prune_before,
    to_micros,
)

logger = logging.getLogger(__name__)

SLACK_DAYS = 1.0
"""Days that are always kept beyond the window of the stream, to which the stream may still write."""

MAX_CLOCK_BEHIND = timedelta(days=1)
"""Maximum time that the clock may be behind the last received article or the last run."""

MAX_CLOCK_AHEAD = timedelta(days=30)
"""Maximum time since the last run."""

CLOCK_SKEW = timedelta(minutes=5)
"""Time that the clock may be behind without a warning."""

MAX_SCHEDULED_PERCENT = 50.0
"""A scheduled run never deletes more than this share of the store."""

CUTOFF_TTL_S = 60.0
"""Lifetime of the cached cutoff by which old articles are counted."""

METADATA_NAME = "retention"
"""The name of the metadata that hold the approval and the outcome of the last run."""


class PruneRefusal(NamedTuple):
    """Why a scheduled run deletes nothing: the kind of reason, and a message that says what to do."""

    kind: str
    message: str


@dataclass(frozen=True)
class PrunePreview:
    """A preview of the next run: what it would delete, and whether it may."""

    keep_days: int
    """The setting, or the value given instead."""
    days: float
    """Days that are kept: at least the window of the stream plus one day."""
    reference: datetime
    """The time from which they are counted back."""
    plan: PrunePlan
    """The older articles and events."""
    configured: bool
    """Whether ``keep_days`` is the setting."""
    approved: bool
    """Whether they were approved for the store."""
    refusal: PruneRefusal | None
    """Why a scheduled run deletes nothing."""

    def as_json(self) -> dict[str, Any]:
        """Return the preview as a JSON object."""
        plan = self.plan
        return {
            "keep_days": self.keep_days,
            "reference": _iso(self.reference),
            "cutoff": _iso(plan.cutoff),
            "articles": plan.articles,
            "events": plan.events,
            "quarantined_records": plan.records,
            "articles_in_store": plan.total,
            "percent": round(plan.percent, 2),
            "oldest": _iso(plan.oldest),
            "newest": _iso(plan.newest),
            "examples": [{"time": _iso(time), "title": title} for time, title in plan.examples],
            "approved": self.approved,
            "refusal": self.refusal.message if self.refusal else "",
        }


def _now() -> datetime:
    """Return the time of the machine, in UTC."""
    return datetime.now(UTC)


@dataclass
class Retention:
    """Prunes stories whose last article is older than the settings say.

    Days are counted back from the newest article that is in an event and not in the future, so an archive of
    another year is not old as a whole, and no article can move the cutoff beyond the clock. ``pruned`` counts
    the articles that scheduled runs of this process deleted.

    Examples
    --------
    >>> store = Store("kept.db")
    >>> Retention(store, Settings()).run()
    0
    >>> store.close()
    """

    store: Store
    settings: Settings
    """``store.keep_days`` and the ``store.prune_...`` settings."""
    clock: Callable[[], datetime] = _now
    """Returns the time."""
    pruned: int = field(default=0, init=False)
    _last_run: datetime | None = field(default=None, init=False)
    _refused: str = field(default="", init=False)
    _by_hand: int | None = field(default=None, init=False)
    _cutoff: tuple[float, float] | None = field(default=None, init=False)

    @property
    def due(self) -> bool:
        """Return whether a run is due: at the start, every few hours, and after ``isogloss prune --yes``."""
        hours = self.settings.store.prune_hours
        if not hours:
            return False
        if self._last_run is None:
            return True
        if not self.settings.store.keep_days:
            return False
        if self._refused and self.store.metadata(METADATA_NAME).get("by_hand") != self._by_hand:
            return True
        return abs(self.clock() - self._last_run) >= timedelta(hours=hours)

    def run(self, *, should_continue: Callable[[], bool] = lambda: True) -> int:
        """Do a scheduled run while ``should_continue`` returns true; count the deleted articles."""
        self._last_run = self.clock()
        metadata = self.store.metadata(METADATA_NAME)
        self._by_hand = metadata.get("by_hand")
        preview = self.preview()
        if preview is None:
            if metadata:  # the approval was for another setting
                self.store.update_metadata(METADATA_NAME, approved_days=None, checked=None, refusal=None)
            return 0
        refusal = preview.refusal
        self._log_refusal(refusal)
        checked = None if refusal and refusal.kind == "clock" else to_micros(self._last_run)
        self.store.update_metadata(
            METADATA_NAME,
            checked=checked or metadata.get("checked"),
            refusal=refusal.message if refusal else None,
        )
        if refusal is not None:
            return 0
        pruned = prune_before(self.store, preview.plan.cutoff, should_continue=should_continue)
        self.pruned += pruned
        if pruned:
            cutoff = f"{preview.plan.cutoff:%Y-%m-%d}"
            logger.info("%s articles of stories that ended before %s were pruned", f"{pruned:,}", cutoff)
        return pruned

    def prune(self, preview: PrunePreview, *, progress: Callable[[int], None] = lambda _: None) -> int:
        """Delete what the operator agreed to, even if a scheduled run would refuse, and approve the setting.

        A number of days that differs from the setting is approved only once.
        """
        pruned = prune_before(self.store, preview.plan.cutoff, progress=progress)
        now = to_micros(self.clock())
        approved = {"approved_days": preview.days} if preview.configured else {}
        self.store.update_metadata(METADATA_NAME, by_hand=now, checked=now, refusal=None, **approved)
        return pruned

    def preview(self, keep_days: int | None = None, *, examples: int = 0) -> PrunePreview | None:
        """Return what would be deleted; None when everything is kept.

        ``keep_days`` replaces the setting; ``examples`` is the number of articles to list.
        """
        keep = self.settings.store.keep_days if keep_days is None else keep_days
        if not keep:
            return None
        now, days = self.clock(), self._days(keep)
        reference = self._reference(now)
        plan = plan_prune(self.store, reference - timedelta(days=days), examples=examples)
        metadata = self.store.metadata(METADATA_NAME)
        return PrunePreview(
            keep,
            days,
            reference,
            plan,
            configured=keep == self.settings.store.keep_days,
            approved=metadata.get("approved_days") == days,
            refusal=self._refusal(plan, days, now, metadata),
        )

    def older(self, times: Iterable[float]) -> int:
        """Count the times of articles that are before the cutoff."""
        if not self.settings.store.keep_days:
            return 0
        if self._cutoff is None or not self.ready():
            reference = self._reference(self.clock(), in_event=False)
            self._cutoff = monotonic(), (reference - timedelta(days=self._days())).timestamp()
        cutoff = self._cutoff[1]
        return sum(time < cutoff for time in times)

    def ready(self) -> bool:
        """Return whether :meth:`older` can answer without a query to the store."""
        if not self.settings.store.keep_days:
            return True
        return self._cutoff is not None and monotonic() - self._cutoff[0] < CUTOFF_TTL_S

    def status(self) -> dict[str, Any]:
        """Return the setting and the outcome of the last scheduled run of any process."""
        metadata = self.store.metadata(METADATA_NAME) if self.settings.store.keep_days else {}
        checked = metadata.get("checked")
        return {
            "keep_days": self.settings.store.keep_days,
            "approved": bool(metadata) and metadata.get("approved_days") == self._days(),
            "checked": _iso(from_micros(checked)) if checked else None,
            "refusal": metadata.get("refusal", ""),
        }

    def _days(self, keep_days: int | None = None) -> float:
        keep = self.settings.store.keep_days if keep_days is None else keep_days
        return max(float(keep), self.settings.stream.window_days + SLACK_DAYS)

    def _reference(self, now: datetime, *, in_event: bool = True) -> datetime:
        """Return the time of the newest article that is not in the future; the clock if there is none."""
        return newest_article_time(self.store, now, in_event=in_event) or now

    def _refusal(
        self, plan: PrunePlan, days: float, now: datetime, metadata: Mapping[str, Any]
    ) -> PruneRefusal | None:
        """Return why a scheduled run would not carry out a plan; None if it would."""
        if problem := self._clock_problem(now, metadata):
            return PruneRefusal("clock", f"{problem}; check the clock, then run isogloss prune --yes")
        if not (plan.articles or plan.events or plan.records):
            return None
        store = self.settings.store
        would = f"it would delete {plan.articles:,} of {plan.total:,} articles ({plan.percent:.1f} %)"
        look = "isogloss prune shows them, isogloss prune --yes deletes them"
        approved = metadata.get("approved_days")
        if plan.percent > MAX_SCHEDULED_PERCENT:
            return PruneRefusal("most", f"{would}, more than half of the store; {look}")
        if store.prune_without_asking:
            return None
        if approved != days:
            before = f"; {approved:g} days were" if approved else ""
            unapproved = f"{days:g} days of retention were not approved for this store{before}"
            return PruneRefusal("approval", f"{would}, and {unapproved}; {look} and approves the setting")
        if plan.percent > store.prune_max_percent:
            cap = f"more than the {store.prune_max_percent:g} % of store.prune_max_percent"
            return PruneRefusal("cap", f"{would}, {cap}{self._hint(days)}; {look}")
        return None

    def _hint(self, days: float) -> str:
        """Return a hint if every run exceeds the cap with these settings."""
        store = self.settings.store
        percent_per_run = 100 * store.prune_hours / 24 / days
        if percent_per_run <= store.prune_max_percent:
            return ""
        aged = f"every {store.prune_hours:g} hours about {percent_per_run:.1f} % grow old"
        return f" ({aged}: lower store.prune_hours)"

    def _clock_problem(self, now: datetime, metadata: Mapping[str, Any]) -> str:
        """Return why the clock looks wrong; an empty string if it does not."""
        checked = from_micros(metadata["checked"]) if "checked" in metadata else None
        last = max(filter(None, (checked, _last_received(self.store))), default=now)
        if last - now > MAX_CLOCK_BEHIND:
            return _behind(now, last)
        if checked is not None and now - checked > MAX_CLOCK_AHEAD:
            days = (now - checked).days
            return f"the clock of this machine, {_minute(now)}, is {days:,} days after the last run"
        return ""

    def _log_refusal(self, refusal: PruneRefusal | None) -> None:
        """Log a refusal once, as long as its reason stays the same."""
        kind = refusal.kind if refusal else ""
        if refusal is not None and kind != self._refused:
            logger.warning("retention deletes nothing: %s", refusal.message)
        self._refused = kind


def clock_warning(store: Store, now: datetime | None = None) -> str:
    """Return a warning if the clock is behind the last received article; otherwise an empty string."""
    now = now or _now()
    last = _last_received(store)
    if last is None or last - now <= CLOCK_SKEW:
        return ""
    return f"{_behind(now, last)}; articles that are dated later get the time of the clock. Set the clock"


def _last_received(store: Store) -> datetime | None:
    """Return when the last article was received."""
    with store.database.read() as session:
        row = session.one("SELECT received FROM journal WHERE kind <> 'update' ORDER BY seq DESC LIMIT 1")
    return from_micros(int(row[0])) if row else None


def _behind(now: datetime, last: datetime) -> str:
    return (
        f"the clock of this machine, {_minute(now)}, is {_span(last - now)} behind "
        f"the last use of this store, {_minute(last)}"
    )


def _span(span: timedelta) -> str:
    minutes = round(span / timedelta(minutes=1))
    if minutes >= 2 * 24 * 60:
        return f"{minutes // (24 * 60):,} days"
    return f"{minutes // 60} h {minutes % 60} min"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None


class RetentionWorker(BackgroundThread):
    """A worker with a second thread that prunes old stories.

    ``poll_seconds`` is the time between two checks of the schedule.
    """

    def __init__(self, worker: Worker, retention: Retention, *, poll_seconds: float = 60.0) -> None:
        super().__init__("isogloss-retention")
        self.worker, self.retention, self.poll_seconds = worker, retention, poll_seconds

    def start(self) -> None:
        """Start the worker and the thread."""
        self.worker.start()
        super().start()

    def stop(self) -> None:
        """Stop the thread and the worker."""
        super().stop()
        self.worker.stop()

    def status(self) -> Mapping[str, object]:
        """Return the status of the worker with the number of pruned articles."""
        return {**self.worker.status(), "pruned": self.retention.pruned}

    def run(self) -> None:
        """Prune whenever a run is due."""
        while not self._stop.wait(self.poll_seconds):
            try:
                if self.retention.due:
                    self.retention.run(should_continue=lambda: not self._stop.is_set())
            except StoreError as error:
                logger.warning("old stories could not be pruned: %s", error)
