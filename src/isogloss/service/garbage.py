"""Less looking for garbage: a full look at models and states would hold everybody up."""

from __future__ import annotations

import gc

__all__ = ["leave_alone_what_stays"]

THRESHOLDS = (20_000, 20, 20)
"""New objects after which cycles are looked for, and how many such looks make a longer one."""


def leave_alone_what_stays() -> None:
    """Have the collector of this process never look again at what there is, and seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
