"""How far events are behind the journal, asked of the store a few times a second at most."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from isogloss.store import Store

__all__ = ["Backlog"]


class Backlog:
    """Lines of the journal that wait to be made into events.

    Parameters
    ----------
    store : Store
        Whose journal.
    seconds : float
        How old an answer may be.
    clock : callable
        Seconds.
    """

    def __init__(
        self, store: Store, *, seconds: float = 0.25, clock: Callable[[], float] = monotonic
    ) -> None:
        self.store, self.seconds = store, seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, int] | None = None

    def ready(self) -> bool:
        """Whether the answer is known without the store."""
        known = self._known
        return known is not None and self._clock() - known[0] < self.seconds

    def waiting(self) -> int:
        """How many wait."""
        with self._lock:
            now = self._clock()
            if self._known is None or now - self._known[0] >= self.seconds:
                self._known = now, max(0, self.store.last_line() - self.store.position())
            return self._known[1]
