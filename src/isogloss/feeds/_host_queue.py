"""A queue of requests that is polite to hosts: one at a time, with a pause between two.

Threads never wait for a host. A host is idle, waiting for its next request to be due, or busy, and a thread
takes whatever is due first.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

Task = Callable[[], bool]
"""Returns whether it sent a request; after one that did not, the host is free at once."""

MAX_IDLE_HOSTS = 10_000
"""Idle hosts whose last request is remembered."""


class Turn(NamedTuple):
    """A task to run now and its host; or, without a task, the seconds until the next is due."""

    host: str
    task: Task | None
    wait: float | None
    """None if nothing is waiting."""


class HostSchedule:
    """Decides which task may run next. It knows no threads and no clock.

    The pause is from the end of a request to a host to the start of the next one, in seconds.

    Examples
    --------
    >>> schedule = HostSchedule(pause=1.0)
    >>> for host in ("a.example", "a.example", "b.example"):
    ...     schedule.add(host, lambda: True, now=0.0)
    >>> [schedule.take(now=0.0).host for _ in range(2)]
    ['a.example', 'b.example']
    >>> schedule.done("a.example", now=5.0)
    >>> schedule.take(now=5.0).wait, schedule.take(now=6.0).host
    (1.0, 'a.example')
    """

    def __init__(self, pause: float) -> None:
        self.pause = pause
        self._waiting: dict[str, deque[Task]] = {}
        self._due: list[tuple[float, int, str]] = []
        self._count = itertools.count()
        self._next_request: dict[str, float] = {}

    def add(self, host: str, task: Task, now: float, *, first: bool = False) -> None:
        """Add a task; ``first`` puts it before the other tasks of its host."""
        tasks = self._waiting.get(host)
        if tasks is None:
            tasks = self._waiting[host] = deque()
            self._schedule(host, max(now, self._next_request.get(host, now)))
        if first:
            tasks.appendleft(task)
        else:
            tasks.append(task)

    def take(self, now: float) -> Turn:
        """Return a task whose host is due, and mark the host as busy."""
        if not self._due:
            return Turn("", None, None)
        due, _, host = self._due[0]
        if due > now:
            return Turn("", None, due - now)
        heapq.heappop(self._due)
        return Turn(host, self._waiting[host].popleft(), 0.0)

    def done(self, host: str, now: float, pause: float | None = None) -> None:
        """Mark a busy host as free; its next request may start after the usual pause or another one."""
        due = now + (self.pause if pause is None else pause)
        if self._waiting[host]:
            self._schedule(host, due)
            return
        del self._waiting[host]
        self._next_request[host] = due
        if len(self._next_request) > MAX_IDLE_HOSTS:
            self._next_request = {name: at for name, at in self._next_request.items() if at > now}

    def _schedule(self, host: str, due: float) -> None:
        heapq.heappush(self._due, (due, next(self._count), host))


class HostQueue:
    """Runs tasks in threads, one at a time per host.

    ``pause`` is the time between two requests to one host, in seconds.
    """

    def __init__(self, n_threads: int, pause: float) -> None:
        self.n_threads = n_threads
        self._schedule = HostSchedule(pause)
        self._pauses: dict[str, float] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._threads: list[threading.Thread] = []

    def add(self, host: str, task: Task, *, first: bool = False) -> None:
        """Run a task when its host is free. A task must not raise an exception."""
        with self._changed:
            self._schedule.add(host, task, time.monotonic(), first=first)
            if len(self._threads) < self.n_threads and not self._stopped:
                name = f"isogloss-fetch-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._changed.notify()

    def set_pause(self, host: str, seconds: float) -> None:
        """Wait longer than usual between two requests to a host."""
        with self._changed:
            if seconds > self._schedule.pause:
                self._pauses[host] = seconds
            else:
                self._pauses.pop(host, None)

    def stop(self) -> None:
        """Start no further task. Tasks that run are left to end by themselves."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _work(self) -> None:
        while (turn := self._take()) is not None:
            host, task, _ = turn
            requested = task is not None and task()
            with self._changed:
                pause = self._pauses.get(host) if requested else 0.0
                self._schedule.done(host, time.monotonic(), pause)
                self._changed.notify()

    def _take(self) -> Turn | None:
        """Wait for a task; None when the queue has stopped."""
        with self._changed:
            while not self._stopped:
                turn = self._schedule.take(time.monotonic())
                if turn.task is not None:
                    return turn
                self._changed.wait(turn.wait)
        return None
