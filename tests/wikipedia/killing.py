"""A build in a process that dies at a chosen moment."""

import os
import signal
from pathlib import Path

from isogloss.wikipedia import BuildSettings, build

POINTS = ("fsync", "replace", "rename")
"""Calls that make files durable or move them: what is on the disk changes there."""


def build_until(point, folder, dumps, settings, n_jobs, said):
    """Build, and die without a word before the point-th of these calls; write how many there were."""
    count = 0

    def counted(name):
        original = getattr(os, name)

        def call(*arguments, **named):
            nonlocal count
            count += 1
            if count == point:
                os.kill(os.getpid(), signal.SIGKILL)
            return None if name == "fsync" else original(*arguments, **named)

        setattr(os, name, call)

    for name in POINTS:
        counted(name)
    build(folder, dumps, BuildSettings(**settings), n_jobs=n_jobs)
    Path(said).write_text(str(count))
