"""``isogloss views``: fit, certify, project and plot multi-view models."""

from __future__ import annotations

from typing import ClassVar

import typer

from isogloss.cli._lazy import LazyCommand, LazyGroup

_FIT, _USE = "isogloss.cli.views._fit", "isogloss.cli.views._use"


class _Commands(LazyGroup):
    """The commands about views."""

    lazy_commands: ClassVar = {
        "fit": LazyCommand(_FIT, "fit", "Find what several views of the same rows have in common."),
        "certify": LazyCommand(_USE, "certify", "Bound how far a SUMCOR model is from the global optimum."),
        "project": LazyCommand(_USE, "project", "Project rows of one or more views into the common space."),
        "plot": LazyCommand(_USE, "plot", "Draw correlations, projections, loadings or starts of a model."),
    }


views_group = typer.Typer(
    cls=_Commands,
    help="Fit multi-view models to tables: CCA, multi-set CCA, sparse CCA, factor analysis.\n\n"
    "Give one table per view, one table with --view, or an .npz file with an array per view.",
    no_args_is_help=True,
)


@views_group.callback()
def _group() -> None:
    """Commands about views."""
