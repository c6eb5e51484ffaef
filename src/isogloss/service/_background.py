"""Background threads, and the interface of workers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from typing import Any, Protocol

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that stop a service: Ctrl-C, the system, a closed terminal (SIGHUP, which Windows lacks)."""


class Worker(Protocol):
    """Makes events of articles while the service runs."""

    def start(self) -> None:
        """Start, in a thread or process of its own."""

    def stop(self) -> None:
        """Stop, and return when that is done."""

    def status(self) -> Mapping[str, Any]:
        """Return the state of the worker; ``alive`` is False when it does not run."""


class BackgroundThread:
    """A daemon thread that can be started and stopped; subclasses implement :meth:`run`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Return whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._stop.clear()
        self._thread = threading.Thread(target=self.run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None

    def join(self, seconds: float) -> bool:
        """Wait for the thread to end, at most so many seconds; return whether it has ended."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.alive

    def run(self) -> None:
        """Work until ``self._stop`` is set."""
        raise NotImplementedError
