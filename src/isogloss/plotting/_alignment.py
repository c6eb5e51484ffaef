"""The alignment matrix of a sentence pair."""

from __future__ import annotations

from typing import Any

from isogloss.alignment import AlignmentPicture
from isogloss.alignment.formats import COLOUR, GOLD
from isogloss.plotting._axes import new_axes


def plot_alignment(picture: AlignmentPicture, *, ax: Any = None) -> Any:
    """Posteriors as shades, links as dots, and frames around links of people (dashed: possible).

    Examples
    --------
    >>> from isogloss.alignment import AlignmentPicture
    >>> picture = AlignmentPicture(["the", "house"], ["la", "maison"], [(0, 0), (1, 1)])
    >>> ax = plot_alignment(picture)  # doctest: +SKIP
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    ax = new_axes(ax)
    ax.imshow(
        picture.shade, cmap=LinearSegmentedColormap.from_list("shade", ["#ffffff", COLOUR]), vmin=0, vmax=1
    )
    for cell in picture.cells():
        if cell.gold:
            style = "-" if cell.gold == "sure" else "--"
            corner = cell.target - 0.4, cell.source - 0.4
            ax.add_patch(Rectangle(corner, 0.8, 0.8, fill=False, color=GOLD, linewidth=1.5, linestyle=style))
        if cell.linked:
            ax.plot(
                cell.target, cell.source, "o", markersize=5, markerfacecolor="white", markeredgecolor="black"
            )
    ax.set_xticks(range(len(picture.target)), picture.target, rotation=60, ha="left")
    ax.set_yticks(range(len(picture.source)), picture.source)
    ax.xaxis.tick_top()
    return ax
