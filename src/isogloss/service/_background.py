"""Something that runs in a thread of its own until it is told to stop."""

from __future__ import annotations

import signal
import threading

__all__ = ["SIGNALS", "Background"]

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What stops a service: Ctrl-C, the system, and a terminal that is closed (SIGHUP, which Windows lacks)."""


class Background:
    """A thread that can be started, stopped and asked after; what it does is :meth:`run`.

    Parameters
    ----------
    name : str
        What the thread is called.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._stop.clear()
        self._thread = threading.Thread(target=self.run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Have it finish what it is at, and come back when that is done."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None

    def ended(self, seconds: float) -> bool:
        """Wait so long for it to end; whether it has."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.alive

    def run(self) -> None:
        """Do it, until ``self._stop`` is set."""
        raise NotImplementedError
