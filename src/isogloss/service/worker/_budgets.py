"""What one record may cost the worker in time and memory, watched from outside its process.

The worker counts the records it begins in memory that both processes see. A worker that spends more than its
budget without beginning the next record, or whose processes together grow beyond their limit, is killed: code
that is caught in a loop cannot be asked to stop.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

__all__ = ["Heartbeat", "Watchdog", "kill_group", "limit_memory", "memory_limit"]

CLOCK_FACTOR = 10
"""How much longer than its CPU time a record may take by the clock, on a machine that is busy."""

LOOK_SECONDS = 1.0
"""Seconds between two looks at a worker."""

MEMORY_SHARE = 0.8
"""The part of the memory of the machine, or of its container, that a worker has by default."""

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_BUSY, _BEATS = 0, 1


class Heartbeat:
    """Whether a worker is at records, and how many it has begun.

    Parameters
    ----------
    shared : bool
        Whether it is in memory that a process sees which is started with it.
    """

    def __init__(self, *, shared: bool = True) -> None:
        self._cells: Any = RawArray("q", 2) if shared else [0, 0]

    @property
    def busy(self) -> bool:
        """Whether the worker is at records: it neither waits nor writes."""
        return bool(self._cells[_BUSY])

    @busy.setter
    def busy(self, value: bool) -> None:
        self._cells[_BUSY] = value

    @property
    def count(self) -> int:
        """Records that were begun."""
        return int(self._cells[_BEATS])

    def beat(self) -> None:
        """A record is begun."""
        self._cells[_BEATS] += 1


class Watchdog:
    """Tells when a worker process has used up its budget.

    Without ``psutil``, which the extra ``isogloss[service]`` installs, only the clock is looked at.

    Parameters
    ----------
    process : BaseProcess
        The worker, started.
    heartbeat : Heartbeat
        Its heartbeat.
    record_seconds : float
        CPU time that one record may take; ten times as much by the clock.
    max_bytes : int
        Memory that the worker and its processes may have together.
    """

    def __init__(
        self, process: BaseProcess, heartbeat: Heartbeat, *, record_seconds: float, max_bytes: int
    ) -> None:
        self.heartbeat, self.record_seconds, self.max_bytes = heartbeat, record_seconds, max_bytes
        self._tree = _Tree(process.pid or 0)
        self._seen, self._due = (-1, 0.0, 0.0), 0.0

    def check(self) -> tuple[str, str] | None:
        """The reason to kill the worker and a sentence about it; None as long as there is none.

        It may be called often: it looks once in a second at most.
        """
        now = time.monotonic()
        if now < self._due:
            return None
        self._due = now + min(LOOK_SECONDS, self.record_seconds)
        count = self.heartbeat.count if self.heartbeat.busy else -1
        used, total = self._tree.usage()
        if used > self.max_bytes:
            said = f"the worker had {used >> 20:,} MB; worker.max_memory_mb allows {self.max_bytes >> 20:,}"
            return "out of memory", said
        if count < 0 or count != self._seen[0]:
            self._seen = count, total, now
            return None
        cpu, clock = total - self._seen[1], now - self._seen[2]
        if cpu > self.record_seconds or clock > CLOCK_FACTOR * self.record_seconds:
            said = (
                f"no end after {cpu:.1f} s of CPU and {clock:.1f} s by the clock; "
                f"worker.record_seconds allows {self.record_seconds:g} and {CLOCK_FACTOR} times that"
            )
            return "too slow", said
        return None


class _Tree:
    """What a process and those that it started have used; nothing where that cannot be told."""

    def __init__(self, pid: int) -> None:
        self._process: Any = None
        with suppress(ModuleNotFoundError):
            import psutil

            self._gone: type[Exception] = psutil.Error
            with suppress(psutil.Error):
                self._process = psutil.Process(pid)

    def usage(self) -> tuple[int, float]:
        """Bytes in memory, and seconds of CPU time."""
        used, cpu = 0, 0.0
        if self._process is None:
            return used, cpu
        with suppress(self._gone):
            for one in [self._process, *self._process.children(recursive=True)]:
                with suppress(self._gone):
                    used += one.memory_info().rss
                    cpu += sum(one.cpu_times()[:2])
        return used, cpu


def memory_limit(megabytes: int) -> int:
    """The bytes that a worker may have: as many as are given, or most of what the machine has for 0.

    Examples
    --------
    >>> memory_limit(64) == 64 << 20
    True
    >>> memory_limit(0) > 0
    True
    """
    if megabytes:
        return megabytes << 20
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _CGROUPS:
        with suppress(OSError, ValueError):
            found.append(int(Path(name).read_text()))
    return int(MEMORY_SHARE * min(found))


def limit_memory(max_bytes: int) -> None:
    """Have allocations of this process beyond a limit fail with MemoryError, where the system can do that."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or max_bytes < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, hard))


def kill_group(process: multiprocessing.process.BaseProcess) -> None:
    """Kill a process that leads a group, and all of the group."""
    if process.pid is None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
