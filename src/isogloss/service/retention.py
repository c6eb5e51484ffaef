"""Stories that are too old are forgotten, on a schedule, by whoever makes the events of a store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from isogloss.exceptions import StoreError
from isogloss.service.background import Background
from isogloss.service.settings import Settings
from isogloss.store import Store, forget_before, from_micros

__all__ = ["Retention", "WithRetention"]

logger = logging.getLogger(__name__)

SLACK_DAYS = 1.0
"""What is kept beyond the window of the stream, whatever the settings say: the stream writes to that."""


def _now() -> datetime:
    """The time."""
    return datetime.now(UTC)


@dataclass
class Retention:
    """Forgets stories whose last article is older than the settings say, every so many hours.

    Days are counted back from the newest article that is in an event, so that an archive of another year is
    not gone as soon as it is served.

    Parameters
    ----------
    store : Store
        The store.
    settings : Settings
        ``store.keep_days`` and ``store.forget_hours``; 0 in the first keeps everything, in the second leaves
        it to ``isogloss doctor --forget``.
    clock : callable
        The time.

    Attributes
    ----------
    forgotten : int
        Articles that went, in all.

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
    forgotten: int = field(default=0, init=False)
    _last: datetime | None = field(default=None, init=False)

    @property
    def due(self) -> bool:
        """Whether it is time to look for what is old: at the start, and then every so many hours."""
        hours = self.settings.store.forget_hours
        if not hours or not self.settings.store.keep_days:
            return False
        return self._last is None or self.clock() - self._last >= timedelta(hours=hours)

    def run(self, *, go_on: Callable[[], bool] = lambda: True) -> int:
        """Forget what is old now, as long as ``go_on`` says so; how many articles went."""
        self._last = self.clock()
        moment = self.moment()
        gone = forget_before(self.store, moment, go_on=go_on) if moment is not None else 0
        self.forgotten += gone
        if gone:
            logger.info("%d articles of stories that ended before %s forgotten", gone, f"{moment:%Y-%m-%d}")
        return gone

    def moment(self) -> datetime | None:
        """Stories that ended before it are old; None when there are none."""
        keep = self.settings.store.keep_days
        with self.store.database.read() as session:
            row = session.one("SELECT max(last) FROM event")
        if not keep or row is None or row[0] is None:
            return None
        days = max(float(keep), self.settings.stream.window_days + SLACK_DAYS)
        return min(self.clock(), from_micros(int(row[0]))) - timedelta(days=days)


class _Worker(Protocol):
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def status(self) -> Mapping[str, object]: ...


class WithRetention(Background):
    """A worker, and beside it a thread that forgets what is old.

    Parameters
    ----------
    worker : Background
        What makes events.
    retention : Retention
        What forgets.
    pause : float
        Seconds between two looks at the clock.
    """

    def __init__(self, worker: _Worker, retention: Retention, *, pause: float = 60.0) -> None:
        super().__init__("isogloss-retention")
        self.worker, self.retention, self.pause = worker, retention, pause

    def start(self) -> None:
        """Begin both."""
        self.worker.start()
        super().start()

    def stop(self) -> None:
        """End both."""
        super().stop()
        self.worker.stop()

    def status(self) -> Mapping[str, object]:
        """How the worker is, and how many articles were forgotten."""
        return {**self.worker.status(), "forgotten": self.retention.forgotten}

    def run(self) -> None:
        """Forget what is old whenever it is time to."""
        while not self._stop.wait(self.pause):
            if self.retention.due:
                try:
                    self.retention.run(go_on=lambda: not self._stop.is_set())
                except StoreError as error:
                    logger.warning("what is old is not forgotten: %s", error)
