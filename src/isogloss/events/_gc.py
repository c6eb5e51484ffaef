"""Less looking for garbage, and more room for others after it.

A full look at models and at a long stream would hold everything up. And what a long stream has let go is free
in many small places, which the C library keeps for later unless it is told to give whole pages back.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

__all__ = ["infrequent_gc", "trim_heap", "freeze_gc"]

GC_THRESHOLDS = (20_000, 20, 20)
"""New objects after which cycles are looked for, and how many such looks make a longer one."""


def freeze_gc() -> None:
    """Have the collector of this process never look again at what there is, and seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """The same for a while.

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
    """Give pages of memory that nothing is on back to the system, where the C library has a way to."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    """The call of glibc for it; None elsewhere."""
    with suppress(OSError, AttributeError, TypeError):
        return ctypes.CDLL(None).malloc_trim
    return None
