"""The backlog of the worker, cached so that the store is queried a few times a second at most."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from isogloss.store import Store


class Backlog:
    """Number of journal lines that the worker has not processed yet.

    A count is cached for ``ttl_s`` seconds.
    """

    def __init__(self, store: Store, *, ttl_s: float = 0.25, clock: Callable[[], float] = monotonic) -> None:
        self.store, self.ttl_s = store, ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._cached: tuple[float, int] | None = None

    def ready(self) -> bool:
        """Return whether the count is cached."""
        return self._cached is not None and self._clock() - self._cached[0] < self.ttl_s

    def waiting(self) -> int:
        """Return the number of waiting lines."""
        with self._lock:
            if self._cached is None or not self.ready():
                self._cached = self._clock(), max(0, self.store.last_line() - self.store.position())
            return self._cached[1]
