"""Wait for a condition to hold, and bound what a call costs, on a machine that may be busy.

The limit only keeps a broken program from hanging the suite: it is many times longer than anything takes on a
busy machine, and no test may depend on how long it is.
"""

import time
from contextlib import contextmanager

LIMIT_S = 120.0
"""Upper bound of every wait: pass it wherever the code under test wants a timeout that must not expire."""


def wait_until(condition, *, pause=0.02, limit=LIMIT_S):
    """Call ``condition`` until it returns something true, and return that."""
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, f"still false after {limit:g} s"
        time.sleep(pause)
    return found


@contextmanager
def cpu_at_most(seconds):
    """Fail if the block takes more CPU time of this thread; how long it waits for a core does not count."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began <= seconds
