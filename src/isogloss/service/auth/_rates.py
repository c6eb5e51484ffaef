"""Rates: every client has an allowance that fills up with time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

__all__ = ["Rates"]

MAX_CLIENTS = 100_000


class Rates:
    """Token buckets, one for each client; the least recent are forgotten when there are too many.

    Parameters
    ----------
    per_second : float
        What a client may have in the mean.
    burst_seconds : float
        How much of it may be saved up.
    clock : callable
        Seconds.

    Examples
    --------
    >>> now = 0.0
    >>> rates = Rates(2.0, 1.0, clock=lambda: now)
    >>> [rates.wait("a") for _ in range(3)]
    [0.0, 0.0, 0.5]
    >>> now = 0.5
    >>> rates.wait("a")
    0.0
    """

    def __init__(
        self, per_second: float, burst_seconds: float, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self.per_second, self.size = per_second, max(per_second * burst_seconds, 1.0)
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, cost: float = 1.0) -> float:
        """Take from a client's allowance; 0, or the seconds until there is enough, and nothing is taken.

        A cost above the whole allowance is let through when the allowance is full, and owed afterwards.
        """
        now = self._clock()
        with self._lock:
            level, since = self._buckets.pop(client, (self.size, now))
            level = min(self.size, level + (now - since) * self.per_second)
            needed = min(cost, self.size)
            enough = level >= needed - 1e-9
            self._buckets[client] = (level - cost if enough else level, now)
            if len(self._buckets) > MAX_CLIENTS:
                self._buckets.popitem(last=False)
        return 0.0 if enough else (needed - level) / self.per_second
