"""What one input may cost: CPU time, memory, and the exceptions that are allowed."""

import resource
import sys
import time
import traceback
from typing import NamedTuple

MAX_SECONDS = 1.0
"""CPU time of one input."""

MAX_GROWTH = 64 << 20
"""Bytes by which the peak of resident memory may exceed what was resident before."""


class Find(NamedTuple):
    """An input over its budget, and how."""

    target: str
    seed: int
    index: int
    kind: str
    what: str


class Cost(NamedTuple):
    """What an input cost: CPU seconds, bytes of growth, and the exception that left the target."""

    seconds: float
    growth: int
    failure: str = ""

    @property
    def kind(self):
        """What is over the budget; empty if nothing is."""
        if self.failure:
            return "exception"
        if self.seconds > MAX_SECONDS:
            return "time"
        return "memory" if self.growth > MAX_GROWTH else ""

    def __str__(self):
        return self.failure or f"{self.seconds:.2f} s, {self.growth / 1e6:.0f} MB"


def cost_of(target, given):
    """Run a target on an input once."""
    before, began = _reset_peak(), time.process_time()
    failure = ""
    try:
        target.run(given)
    except target.allowed:
        pass
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__}: {str(error)[:200]} ({place.filename}:{place.lineno})"
    return Cost(time.process_time() - began, _peak() - before, failure)


def checked(target, given):
    """The cost of an input; one that is over the budget counts if it is so a second time.

    The first time may have paid for a table that was read, or for what else happened on the machine.
    """
    cost = cost_of(target, given)
    return cost_of(target, given) if cost.kind in ("time", "memory") else cost


def _status(name):
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) << 10


def _reset_peak():
    """Have the kernel count the peak of memory from here, and return what is resident now."""
    if sys.platform != "linux":
        return _peak()
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return _peak()
    return _status("VmRSS")


def _peak():
    if sys.platform == "linux":
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
