"""``isogloss views fit``."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from isogloss.cli._console import Console
from isogloss.cli._options import Json, RandomState, Save
from isogloss.cli._output import check_outputs, counted, echo_json
from isogloss.cli.views._options import Files, IdColumn, ViewColumns
from isogloss.exceptions import ModelFileError

if TYPE_CHECKING:
    from isogloss.cli.views._input import NamedViews

KINDS = {
    "cca": "isogloss.multiview:CCA",
    "sumcor": "isogloss.multiview:SumCor",
    "sscor": "isogloss.multiview:SSCor",
    "maxvar": "isogloss.multiview:MaxVar",
    "minvar": "isogloss.multiview:MinVar",
    "genvar": "isogloss.multiview:GenVar",
    "sparse": "isogloss.multiview:SparseCCA",
    "hub": "isogloss.multiview:HubCCA",
    "factor": "isogloss.factor:MultiBatteryFA",
}
"""Classes of models by their kinds."""

_PARAMETERS = {"penalty": "l1"}
"""Parameters of models by options of other names."""

# Strongest features that the table shows.
_SHOWN = 3


def fit(
    files: Files,
    *,
    view: ViewColumns = None,
    id_column: IdColumn = None,
    kind: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(KINDS)}; 'auto' is cca for two views and sumcor for more.",
        ),
    ] = "auto",
    components: Annotated[int, typer.Option(help="Number of components.", min=1)] = 2,
    ridge: Annotated[
        float, typer.Option(help="Regularisation; needed with fewer rows than features.", min=0.0, max=1.0)
    ] = 0.0,
    penalty: Annotated[
        float | None, typer.Option(help="Penalty on weights, for --kind sparse; .1 by default.", min=0.0)
    ] = None,
    hub: Annotated[
        str | None,
        typer.Option(help="The view that links the others, for --kind hub; by default the first."),
    ] = None,
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Bring features to mean 0 and variance 1 first.")
    ] = False,
    save: Save = None,
    random_state: RandomState = 0,
    as_json: Json = False,
) -> None:
    """Find what several views of the same rows have in common.

    Prints the correlations of the views on each component, and the features that are most correlated with it.
    A row may lack a view: leave its cells empty or, with --id, leave the row out of that table.
    """
    from isogloss import io
    from isogloss.cli.views._input import read_views
    from isogloss.multiview import ScaleViews, TableModel

    check_outputs(as_json, save, error=ModelFileError)
    given = read_views(files, view, id_column)
    model = _make_model(kind, given, components, ridge, {"penalty": penalty, "hub": hub}, random_state)
    scaling = ScaleViews().fit(given.views) if standardise else None
    fitted = TableModel(model, given.columns, scaling)
    console = Console(stderr=True)
    with console.status(f"fitting {type(model).__name__}"):
        model.fit(fitted.scaled(given.views))
    if save is not None:
        io.save(fitted, save)
    report = _report(fitted, given)
    if as_json:
        echo_json(report | {"saved": None if save is None else str(save)}, indent=2)
        return
    _print_report(report)
    if save is not None:
        Console().print(escape(f"saved {save}"), highlight=False, soft_wrap=True)


def _make_model(
    kind: str,
    given: NamedViews,
    components: int,
    ridge: float,
    special: Mapping[str, Any],
    random_state: int,
) -> Any:
    from importlib import import_module

    if kind == "auto":
        kind = "cca" if given.views.n_views == 2 else "sumcor"
    if kind not in KINDS:
        raise typer.BadParameter(f"--kind {kind!r}: expected auto, {', '.join(KINDS)}")
    owners = {"penalty": "sparse", "hub": "hub"}
    for option, value in special.items():
        if value is not None and owners[option] != kind:
            raise typer.BadParameter(f"--{option} is for --kind {owners[option]}; the kind is {kind}")
    module, _, name = KINDS[kind].partition(":")
    own = {_PARAMETERS.get(option, option): value for option, value in special.items() if value is not None}
    return getattr(import_module(module), name)(components, ridge=ridge, random_state=random_state, **own)


def _report(fitted: Any, given: NamedViews) -> dict[str, Any]:
    from isogloss.multiview import view_correlations, view_loadings

    views = given.views
    projected = fitted.project(views)
    correlations, loadings = view_correlations(projected), view_loadings(views, projected)
    names = list(views.names)
    return {
        "model": type(fitted.model).__name__,
        "rows": len(views),
        "views": {
            name: {"features": width, "rows": int(present)}
            for name, width, present in zip(names, views.dims, views.present.sum(axis=0), strict=True)
        },
        "converged": bool(getattr(fitted.model, "converged_", True)),
        "components": [
            {
                "correlations": {
                    f"{names[i]}, {names[j]}": round(float(table[i, j]), 6)
                    for i in range(len(names))
                    for j in range(i + 1, len(names))
                },
                "features": {
                    name: _strongest(part, given.columns[name], k)
                    for name, part in zip(names, loadings, strict=True)
                },
            }
            for k, table in enumerate(correlations)
        ],
    }


def _strongest(loadings: Any, names: list[str], k: int) -> dict[str, float]:
    """The features that are most correlated with component ``k``."""
    first = (-abs(loadings[:, k])).argsort(kind="stable")[:_SHOWN]
    return {names[f]: round(float(loadings[f, k]), 4) for f in first}


def _print_report(report: Mapping[str, Any]) -> None:
    console = Console()
    sizes = ", ".join(
        f"{name} ({counted(view['features'], 'feature')}"
        + (f", {counted(view['rows'], 'row')})" if view["rows"] < report["rows"] else ")")
        for name, view in report["views"].items()
    )
    console.print(
        escape(f"{report['model']} on {counted(report['rows'], 'row')} of {sizes}"),
        highlight=False,
        soft_wrap=True,
    )
    if not report["converged"]:
        console.print("not converged: the figures are of the last iteration", highlight=False)
    table = Table(
        Column("component", justify="right"),
        Column("mean correlation", justify="right"),
        Column("strongest features"),
    )
    for number, component in enumerate(report["components"], start=1):
        mean = fmean(component["correlations"].values())
        features = "; ".join(
            f"{view}: " + ", ".join(f"{name} {value:+.2f}" for name, value in strongest.items())
            for view, strongest in component["features"].items()
        )
        table.add_row(str(number), f"{mean:.3f}", escape(features))
    console.print(table)
