"""Garbage collection and heap trimming for processes with a large, long-lived state.

Full collections over the state of a long stream would stall the process. Memory that a long stream has freed
is scattered in small pieces, which the C library keeps unless it is told to return whole pages.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

GC_THRESHOLDS = (20_000, 20, 20)
"""Allocations between collections of the youngest generation, and how many of those make an older one."""


def freeze_gc() -> None:
    """Exempt all current objects from garbage collection, and collect the others less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Call :func:`freeze_gc` for the duration of a ``with`` block.

    Examples
    --------
    >>> before = gc.get_threshold()
    >>> with infrequent_gc():
    ...     print(gc.get_threshold())
    (20000, 20, 20)
    >>> gc.get_threshold() == before
    True
    """
    before = gc.get_threshold()
    freeze_gc()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def trim_heap() -> None:
    """Return free memory to the operating system, where the C library supports it."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    """Return glibc's ``malloc_trim``; None elsewhere."""
    with suppress(OSError, AttributeError, TypeError):
        return ctypes.CDLL(None).malloc_trim
    return None
