"""Signals that end commands that run until they are stopped."""

from __future__ import annotations

import signal
import threading


def stop_on_signals() -> threading.Event:
    """Return an event that Ctrl-C, SIGTERM and SIGHUP set.

    Signals that are ignored, as under ``nohup``, stay ignored.
    """
    from isogloss.service import SIGNALS

    stop = threading.Event()
    for each in SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, lambda *_: stop.set())
    return stop
