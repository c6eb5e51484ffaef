"""Getting matplotlib, or saying how."""

from __future__ import annotations

from typing import Any

__all__ = ["figure", "new_axes"]


def figure(width: float = 6.0, height: float = 4.0) -> Any:
    """An empty figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'isogloss[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def new_axes(ax: Any = None) -> Any:
    """The axes given, or those of a new figure."""
    return figure().subplots() if ax is None else ax
