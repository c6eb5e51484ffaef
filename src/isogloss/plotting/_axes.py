"""Getting matplotlib, or saying how."""

from __future__ import annotations

from typing import Any

from isogloss.extras import import_extra


def figure(width: float = 6.0, height: float = 4.0) -> Any:
    """An empty figure that belongs to no window."""
    return import_extra("matplotlib.figure", "plot", "a picture").Figure(
        figsize=(width, height), layout="constrained"
    )


def new_axes(ax: Any = None) -> Any:
    """The axes given, or those of a new figure."""
    return figure().subplots() if ax is None else ax
