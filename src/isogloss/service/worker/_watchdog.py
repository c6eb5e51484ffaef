"""Budgets of the worker process: CPU time for one record, and memory.

The worker counts the records that it starts in shared memory. A worker that exceeds its budget without
starting the next record, or whose processes together exceed the memory limit, is killed: code in an endless
loop cannot be asked to stop.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

WALL_TIME_FACTOR = 10
"""Maximum wall-clock time of a record, as a multiple of its CPU budget, for busy machines."""

CHECK_INTERVAL_S = 1.0
"""Seconds between two checks of a worker."""

MEMORY_SHARE = 0.8
"""The share of the memory of the machine or container that a worker may use by default."""

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_BUSY, _COUNT = 0, 1


class Heartbeat:
    """Whether a worker is processing records, and how many it has started.

    It is in memory that may be shared with a child process.
    """

    def __init__(self, *, shared: bool = True) -> None:
        self._cells: Any = RawArray("q", 2) if shared else [0, 0]

    @property
    def busy(self) -> bool:
        """Return whether the worker is processing records: it neither waits nor writes."""
        return bool(self._cells[_BUSY])

    @busy.setter
    def busy(self, value: bool) -> None:
        self._cells[_BUSY] = value

    @property
    def count(self) -> int:
        """Number of records started."""
        return int(self._cells[_COUNT])

    def beat(self) -> None:
        """Count the start of a record."""
        self._cells[_COUNT] += 1


class Watchdog:
    """Checks whether a worker process has exceeded its budget.

    Without ``psutil``, which the extra ``isogloss[service]`` installs, only the wall clock is checked. The
    limit of a record by the wall clock is ten times that of its CPU time; ``max_bytes`` is what the worker
    and its processes may use together.
    """

    def __init__(
        self, process: BaseProcess, heartbeat: Heartbeat, *, record_seconds: float, max_bytes: int
    ) -> None:
        self.heartbeat, self.record_seconds, self.max_bytes = heartbeat, record_seconds, max_bytes
        self._psutil_process = _psutil_process(process.pid or 0)
        self._record, self._cpu_start, self._wall_start = -1, 0.0, 0.0
        self._next_check = 0.0

    def check(self) -> tuple[str, str] | None:
        """Return the kind of excess and a message about it; None if there is none.

        It may be called often, and checks at most once in a second.
        """
        now = time.monotonic()
        if now < self._next_check:
            return None
        self._next_check = now + min(CHECK_INTERVAL_S, self.record_seconds)
        record = self.heartbeat.count if self.heartbeat.busy else -1
        used, total_cpu = self._usage()
        if used > self.max_bytes:
            limit = self.max_bytes >> 20
            return (
                "out of memory",
                f"the worker used {used >> 20:,} MB; worker.max_memory_mb allows {limit:,}",
            )
        if record < 0 or record != self._record:
            self._record, self._cpu_start, self._wall_start = record, total_cpu, now
            return None
        cpu, wall = total_cpu - self._cpu_start, now - self._wall_start
        if cpu > self.record_seconds or wall > WALL_TIME_FACTOR * self.record_seconds:
            return "too slow", (
                f"no result after {cpu:.1f} s of CPU time and {wall:.1f} s of wall time; "
                f"worker.record_seconds allows {self.record_seconds:g} and {WALL_TIME_FACTOR} times that"
            )
        return None

    def _usage(self) -> tuple[int, float]:
        """Return the resident bytes and CPU seconds of the process and its descendants."""
        used, cpu = 0, 0.0
        if self._psutil_process is None:
            return used, cpu
        import psutil

        with suppress(psutil.Error):
            for one in [self._psutil_process, *self._psutil_process.children(recursive=True)]:
                with suppress(psutil.Error):
                    used += one.memory_info().rss
                    cpu += sum(one.cpu_times()[:2])
        return used, cpu


def _psutil_process(pid: int) -> Any:
    with suppress(ModuleNotFoundError):
        import psutil

        with suppress(psutil.Error):
            return psutil.Process(pid)
    return None


def memory_limit(megabytes: int) -> int:
    """Return a memory limit in bytes; for 0, most of the memory of the machine or container.

    Examples
    --------
    >>> memory_limit(64) == 64 << 20
    True
    >>> memory_limit(0) > 0
    True
    """
    if megabytes:
        return megabytes << 20
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):
            limits.append(int(Path(name).read_text()))
    return int(MEMORY_SHARE * min(limits))


def limit_memory(max_bytes: int) -> None:
    """Make allocations of this process beyond a limit raise MemoryError, on Linux."""
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or max_bytes < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, hard))


def kill_group(process: BaseProcess) -> None:
    """Kill a process and the process group that it leads."""
    if process.pid is None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
