"""Retention: delete old stories on a schedule, and never more than somebody agreed to.

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
from typing import Any, NamedTuple, Protocol

from isogloss.exceptions import StoreError
from isogloss.service._background import Background
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

__all__ = ["Preview", "PruneRefusal", "Retention", "WithRetention", "clock_warning"]

logger = logging.getLogger(__name__)

SLACK_DAYS = 1.0
"""Days kept beyond the window of the stream, whatever the settings say: the stream writes to that window."""

MAX_CLOCK_BEHIND = timedelta(days=1)
"""How far the clock may be behind the last article that came, or the last run."""

MAX_CLOCK_AHEAD = timedelta(days=30)
"""How far the clock may have moved since the last run."""

CLOCK_SKEW = timedelta(minutes=5)
"""How far the clock may be behind without a warning."""

MOST_PERCENT = 50.0
"""Share of the store above which a scheduled run never deletes anything."""

CUTOFF_SECONDS = 60.0
"""How long a cutoff is good enough to count the articles that are older."""

NAME = "retention"
"""Where the store remembers what was approved, and how the last run went."""


class PruneRefusal(NamedTuple):
    """Why a scheduled run deletes nothing: the kind of reason, and a sentence that says what to do."""

    kind: str
    sentence: str


@dataclass(frozen=True)
class Preview:
    """What the next run would delete, and whether it would.

    Attributes
    ----------
    keep_days : int
        The setting, or what was given in its place.
    days : float
        Days that are kept: at least the window of the stream and a day more.
    reference : datetime
        The moment they are counted back from.
    plan : PrunePlan
        What is older.
    configured : bool
        Whether these are the days of the settings.
    approved : bool
        Whether they were approved for the store.
    refusal : PruneRefusal or None
        Why a scheduled run deletes nothing.
    """

    keep_days: int
    days: float
    reference: datetime
    plan: PrunePlan
    configured: bool
    approved: bool
    refusal: PruneRefusal | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
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
            "refusal": self.refusal.sentence if self.refusal else "",
        }


def _now() -> datetime:
    """Return the time of the machine."""
    return datetime.now(UTC)


@dataclass
class Retention:
    """Prunes stories whose last article is older than the settings say.

    Days are counted back from the newest article that is in an event and not in the future, so an archive of
    another year is not old as a whole, and no article can move the cutoff beyond the clock.

    Parameters
    ----------
    store : Store
        The store.
    settings : Settings
        ``store.keep_days`` and the ``store.prune_...`` settings.
    clock : callable
        Tells the time.

    Attributes
    ----------
    pruned : int
        Articles that scheduled runs of this process deleted.

    Examples
    --------
    >>> store = Store("kept.db")
    >>> Retention(store, Settings()).run()
    0
    >>> store.close()
    """

    store: Store
    settings: Settings
    clock: Callable[[], datetime] = _now
    pruned: int = field(default=0, init=False)
    _looked: datetime | None = field(default=None, init=False)
    _refused: str = field(default="", init=False)
    _by_hand: int | None = field(default=None, init=False)
    _cutoff: tuple[float, float] | None = field(default=None, init=False)

    @property
    def due(self) -> bool:
        """Whether it is time for a run: at the start, every few hours, and after ``isogloss prune --yes``."""
        hours = self.settings.store.prune_hours
        if not hours:
            return False
        if self._looked is None:
            return True
        if not self.settings.store.keep_days:
            return False
        if self._refused and self.store.metadata(NAME).get("by_hand") != self._by_hand:
            return True
        return abs(self.clock() - self._looked) >= timedelta(hours=hours)

    def run(self, *, should_continue: Callable[[], bool] = lambda: True) -> int:
        """Do a scheduled run while ``should_continue`` returns true; count the deleted articles."""
        self._looked = self.clock()
        remembered = self.store.metadata(NAME)
        self._by_hand = remembered.get("by_hand")
        preview = self.preview()
        if preview is None:
            if remembered:  # what was approved is another setting than this
                self.store.update_metadata(NAME, approved_days=None, checked=None, refusal=None)
            return 0
        refusal = preview.refusal
        self._note(refusal)
        checked = None if refusal and refusal.kind == "clock" else to_micros(self._looked)
        self.store.update_metadata(
            NAME,
            checked=checked or remembered.get("checked"),
            refusal=refusal.sentence if refusal else None,
        )
        if refusal is not None:
            return 0
        pruned = prune_before(self.store, preview.plan.cutoff, should_continue=should_continue)
        self.pruned += pruned
        if pruned:
            cutoff = f"{preview.plan.cutoff:%Y-%m-%d}"
            logger.info("%s articles of stories that ended before %s were pruned", f"{pruned:,}", cutoff)
        return pruned

    def prune(self, preview: Preview, *, progress: Callable[[int], None] = lambda _: None) -> int:
        """Delete what somebody agreed to, whatever a scheduled run would refuse, and approve the setting.

        Days other than those of the settings are approved for this once only.
        """
        pruned = prune_before(self.store, preview.plan.cutoff, progress=progress)
        now = to_micros(self.clock())
        approved = {"approved_days": preview.days} if preview.configured else {}
        self.store.update_metadata(NAME, by_hand=now, checked=now, refusal=None, **approved)
        return pruned

    def preview(self, keep_days: int | None = None, *, examples: int = 0) -> Preview | None:
        """Work out what would be deleted; None when everything is kept.

        Parameters
        ----------
        keep_days : int, optional
            Days in place of those of the settings.
        examples : int
            Articles to name.
        """
        keep = self.settings.store.keep_days if keep_days is None else keep_days
        if not keep:
            return None
        now, days = self.clock(), self._days(keep)
        reference = self._reference(now)
        plan = plan_prune(self.store, reference - timedelta(days=days), examples=examples)
        remembered = self.store.metadata(NAME)
        return Preview(
            keep,
            days,
            reference,
            plan,
            configured=keep == self.settings.store.keep_days,
            approved=remembered.get("approved_days") == days,
            refusal=self._refusal(plan, days, now, remembered),
        )

    def older(self, times: Iterable[float]) -> int:
        """Count the articles, given by their times, that are older than the settings keep them."""
        if not self.settings.store.keep_days:
            return 0
        if self._cutoff is None or not self.ready():
            reference = self._reference(self.clock(), in_event=False)
            self._cutoff = monotonic(), (reference - timedelta(days=self._days())).timestamp()
        cutoff = self._cutoff[1]
        return sum(time < cutoff for time in times)

    def ready(self) -> bool:
        """Whether :meth:`older` can answer without asking the store."""
        if not self.settings.store.keep_days:
            return True
        return self._cutoff is not None and monotonic() - self._cutoff[0] < CUTOFF_SECONDS

    def status(self) -> dict[str, Any]:
        """Return the setting, and how the last scheduled run went, in whichever process that was."""
        remembered = self.store.metadata(NAME) if self.settings.store.keep_days else {}
        checked = remembered.get("checked")
        return {
            "keep_days": self.settings.store.keep_days,
            "approved": bool(remembered) and remembered.get("approved_days") == self._days(),
            "checked": _iso(from_micros(checked)) if checked else None,
            "refusal": remembered.get("refusal", ""),
        }

    def _days(self, keep_days: int | None = None) -> float:
        keep = self.settings.store.keep_days if keep_days is None else keep_days
        return max(float(keep), self.settings.stream.window_days + SLACK_DAYS)

    def _reference(self, now: datetime, *, in_event: bool = True) -> datetime:
        """The newest article that is not in the future; the clock where there is none."""
        return newest_article_time(self.store, now, in_event=in_event) or now

    def _refusal(
        self, plan: PrunePlan, days: float, now: datetime, remembered: Mapping[str, Any]
    ) -> PruneRefusal | None:
        """Why a scheduled run would not delete what a plan says."""
        if trouble := self._clock_trouble(now, remembered):
            return PruneRefusal("clock", f"{trouble}; check the clock, then run isogloss prune --yes")
        if not (plan.articles or plan.events or plan.records):
            return None
        store = self.settings.store
        would = f"it would delete {plan.articles:,} of {plan.total:,} articles ({plan.percent:.1f} %)"
        look = "isogloss prune shows them, isogloss prune --yes deletes them"
        approved = remembered.get("approved_days")
        if plan.percent > MOST_PERCENT:
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
        """A word on settings with which every run deletes too much."""
        store = self.settings.store
        usual = 100 * store.prune_hours / 24 / days
        if usual <= store.prune_max_percent:
            return ""
        return f" (every {store.prune_hours:g} hours about {usual:.1f} % grow old: lower store.prune_hours)"

    def _clock_trouble(self, now: datetime, remembered: Mapping[str, Any]) -> str:
        """What makes the clock look wrong, as a sentence; empty if nothing does."""
        checked = from_micros(remembered["checked"]) if "checked" in remembered else None
        last = max(filter(None, (checked, _last_received(self.store))), default=now)
        if last - now > MAX_CLOCK_BEHIND:
            return _behind(now, last)
        if checked is not None and now - checked > MAX_CLOCK_AHEAD:
            days = (now - checked).days
            return f"the clock of this machine, {_minute(now)}, is {days:,} days after the last run"
        return ""

    def _note(self, refusal: PruneRefusal | None) -> None:
        """Log a refusal once, as long as its reason stays the same."""
        kind = refusal.kind if refusal else ""
        if refusal is not None and kind != self._refused:
            logger.warning("retention deletes nothing: %s", refusal.sentence)
        self._refused = kind


def clock_warning(store: Store, now: datetime | None = None) -> str:
    """Say that the clock is behind the last article that came; empty if it is not."""
    now = now or _now()
    last = _last_received(store)
    if last is None or last - now <= CLOCK_SKEW:
        return ""
    return f"{_behind(now, last)}; articles that are dated later get the time of the clock. Set the clock"


def _last_received(store: Store) -> datetime | None:
    """When the last article came."""
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


class _Worker(Protocol):
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def status(self) -> Mapping[str, object]: ...


class WithRetention(Background):
    """A worker, and beside it a thread that prunes old stories.

    Parameters
    ----------
    worker : Background
        What makes events.
    retention : Retention
        What prunes.
    pause : float
        Seconds between two looks at the schedule.
    """

    def __init__(self, worker: _Worker, retention: Retention, *, pause: float = 60.0) -> None:
        super().__init__("isogloss-retention")
        self.worker, self.retention, self.pause = worker, retention, pause

    def start(self) -> None:
        """Start both."""
        self.worker.start()
        super().start()

    def stop(self) -> None:
        """Stop both."""
        super().stop()
        self.worker.stop()

    def status(self) -> Mapping[str, object]:
        """How the worker is, and how many articles were pruned."""
        return {**self.worker.status(), "pruned": self.retention.pruned}

    def run(self) -> None:
        """Prune whenever it is time to."""
        while not self._stop.wait(self.pause):
            try:
                if self.retention.due:
                    self.retention.run(should_continue=lambda: not self._stop.is_set())
            except StoreError as error:
                logger.warning("old stories could not be pruned: %s", error)
