"""Less looking for garbage: a full look at models and at a long stream would hold everything up."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collected_seldom", "leave_alone_what_stays"]

THRESHOLDS = (20_000, 20, 20)
"""New objects after which cycles are looked for, and how many such looks make a longer one."""


def leave_alone_what_stays() -> None:
    """Have the collector of this process never look again at what there is, and seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


@contextmanager
def collected_seldom() -> Iterator[None]:
    """The same for a while.

    Examples
    --------
    >>> before = gc.get_threshold()
    >>> with collected_seldom():
    ...     print(gc.get_threshold())
    (20000, 20, 20)
    >>> gc.get_threshold() == before
    True
    """
    before = gc.get_threshold()
    leave_alone_what_stays()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
