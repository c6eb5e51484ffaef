"""Pictures of words: a neighbourhood in several languages, and the precision of a dictionary."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from isogloss.exceptions import IsoglossError
from isogloss.io import PathLike, atomic_write
from isogloss.lexicon import Evaluation, Neighbourhood
from isogloss.plotting._axes import new_axes


def plot_neighbourhood(around: Neighbourhood, *, ax: Any = None) -> Any:
    """A word and its nearest words in the plane of their largest spread, one colour for each language."""
    ax = new_axes(ax)
    languages = list(dict.fromkeys(one.language for one in around.neighbours))
    for number, language in enumerate(languages):
        which = [at for at, one in enumerate(around.neighbours) if one.language == language]
        points = around.positions[which]
        ax.scatter(points[:, 0], points[:, 1], color=f"C{number}", s=18, label=language)
        for at, (x, y) in zip(which, points, strict=True):
            ax.annotate(
                around.neighbours[at].word.replace("$", r"\$"),
                (x, y),
                xytext=(4, 3),
                textcoords="offset points",
                color=f"C{number}",
                fontweight="bold" if at == 0 else "normal",
            )
    ax.set_title(f"around {around.word!r} ({around.language})".replace("$", r"\$"))
    ax.margins(0.2)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.legend(frameon=False)
    return ax


def plot_precision(evaluations: Mapping[str, Evaluation], *, ax: Any = None) -> Any:
    """Precision at one by frequency of the query, one line for each evaluation, with standard errors."""
    ax = new_axes(ax)
    starts = sorted({band.first for one in evaluations.values() for band in one.bands})
    for name, one in evaluations.items():
        at = np.array([starts.index(band.first) for band in one.bands])
        precision = [100 * band.precision for band in one.bands]
        errors = [100 * band.standard_error for band in one.bands]
        ax.errorbar(
            at, precision, yerr=errors, marker="o", capsize=3, label=f"{name} ({100 * one.precision():.1f})"
        )
    ax.set_xticks(range(len(starts)), [f"from {start:,}" for start in starts])
    ax.set_xlabel("frequency rank of the source word")
    ax.set_ylabel("precision at 1, %")
    ax.legend(frameon=False)
    return ax


def save_picture(ax: Any, path: PathLike) -> None:
    """Write the figure of some axes as .svg, .png or .pdf, whole or not at all."""
    kind = os.path.splitext(os.fspath(path))[1].lower().lstrip(".")
    if kind not in ("svg", "png", "pdf"):
        raise ValueError(f"{os.fspath(path)}: the name of a picture ends in .svg, .png or .pdf")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with atomic_write(path, IsoglossError) as file:
        ax.figure.savefig(file, format=kind, metadata=dates)
