"""``isogloss views certify``, ``project`` and ``plot``: commands that use a saved model."""

from __future__ import annotations

import csv
import io as text_io
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import (
    check_outputs,
    counted,
    echo,
    echo_json,
    is_stdout,
    not_stdout,
    report_output,
    written,
)
from isogloss.cli.views._options import Files, IdColumn, ModelFile, ViewColumns
from isogloss.exceptions import ModelFileError, TableError

if TYPE_CHECKING:
    from isogloss.cli.views._input import NamedViews
    from isogloss.multiview import TableModel
    from isogloss.views import Views


class Picture(StrEnum):
    """Kinds of pictures."""

    correlations = "correlations"
    projections = "projections"
    loadings = "loadings"
    starts = "starts"


def certify(
    files: Files,
    *,
    model: ModelFile,
    view: ViewColumns = None,
    id_column: IdColumn = None,
    as_json: Json = False,
) -> None:
    """Bound how far the first component of a SUMCOR model is from the global optimum.

    Give the rows that the model was fitted on. SUMCOR has local maxima; a semidefinite relaxation shows how
    much higher the sum of correlations could be. If a proven bound is reached, no solution is better. The
    bound is for one component: a model of several maximises their total, so fit one with --components 1.
    """
    opened = _open(model)
    if not hasattr(opened.model, "certify"):
        kind = type(opened.model).__name__
        exact = kind in ("CCA", "MaxVar", "MinVar")
        raise ModelFileError(
            f"{model}: holds {kind}; certificates are for models of --kind sumcor"
            + (f" ({kind} is the solution of an eigenproblem, which has no local maxima)" if exact else "")
        )
    given = _all_views(opened, _read(files, view, id_column, opened), model)
    with Console(stderr=True).status("solving the relaxation"):
        certificate = opened.model.certify(opened.scaled(given.views))
    if as_json:
        solution, bound = (certificate.correlations(v) for v in (certificate.value, certificate.bound))
        echo_json(
            {
                "globally_optimal": bool(certificate.globally_optimal),
                "kind": certificate.kind,
                "sum_of_correlations": solution,
                "upper_bound": bound,
                "relative_gap": (certificate.bound - certificate.value) / certificate.bound,
            },
            indent=2,
        )
    else:
        echo(certificate)


def project(
    files: Files,
    *,
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The table to write: .csv, .parquet or .npz; - for CSV on stdout."
        ),
    ],
    view: ViewColumns = None,
    id_column: IdColumn = None,
    as_json: Json = False,
) -> None:
    """Project rows of one or more views into the common space.

    One view is enough, so rows of one table can be compared with rows of another. Columns are named
    view_component; cells are empty where a row lacks a view.
    """
    ending = ".csv" if is_stdout(output) else output.suffix
    if ending not in (".csv", ".parquet", ".npz"):
        raise typer.BadParameter(f"--output {output}: expected a name that ends in .csv, .parquet or .npz")
    check_outputs(as_json, output, error=TableError)
    opened = _open(model)
    given = _read(files, view, id_column, opened)
    projected = opened.project(given.views)
    with written(output, ending) as path:
        _write_table(path, ending, projected, id_column or "row")
    if as_json:
        echo_json(
            {
                "output": str(output),
                "rows": len(projected),
                "views": list(projected.names),
                "components": projected.dims[0],
            }
        )
    else:
        report_output(
            f"wrote {counted(len(projected), 'row')} of {', '.join(projected.names)} to {output}", output
        )


def plot(
    files: Files,
    *,
    model: ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The picture: .png, .svg or .pdf.", callback=not_stdout)
    ],
    picture: Annotated[
        Picture, typer.Option(metavar="NAME", help=f"What to draw: {', '.join(Picture)}.")
    ] = Picture.projections,
    component: Annotated[int, typer.Option(help="Which component.", min=1)] = 1,
    view: ViewColumns = None,
    id_column: IdColumn = None,
    as_json: Json = False,
) -> None:
    """Draw correlations, projections, loadings or starts of a model.

    projections: every view against every other. correlations: between all views. loadings: the features of
    each view that a component is most correlated with. starts: the local maxima that a fit of SUMCOR found,
    and the certificate.
    """
    from isogloss.extras import require_extra

    require_extra("plot", "a picture")
    from isogloss.plotting import save_picture

    check_outputs(as_json, output, error=TableError)
    opened = _open(model)
    given = _all_views(opened, _read(files, view, id_column, opened), model)
    projected = opened.project(given.views)
    if component > projected.dims[0]:
        raise typer.BadParameter(
            f"--component {component}: the model has {counted(projected.dims[0], 'component')}"
        )
    save_picture(_DRAWING[picture](opened, given, projected, component - 1), output)
    if as_json:
        echo_json({"output": str(output), "picture": str(picture), "component": component})
    else:
        echo(f"wrote {output}")


def _read(files: list[Path], view: list[str] | None, id_column: str | None, opened: TableModel) -> NamedViews:
    from isogloss.cli.views._input import read_views

    return read_views(files, view, id_column, opened.columns)


def _open(path: Path) -> TableModel:
    from isogloss import io
    from isogloss.multiview import TableModel

    return io.load(path, expected=TableModel)


def _all_views(opened: TableModel, given: NamedViews, path: Path) -> NamedViews:
    absent = [name for name in opened.columns if name not in given.columns]
    if absent:
        raise TableError(
            f"{path}: was fitted on the views {', '.join(opened.columns)}; {absent[0]!r} is not given"
        )
    return given


def _write_table(path: Path, ending: str, projected: Views, id_name: str) -> None:
    import numpy as np

    from isogloss.io import atomic_write

    names = [f"{view}_{k + 1}" for view in projected.names for k in range(projected.dims[0])]
    values = np.asarray(projected)
    with atomic_write(path, TableError) as file:
        if ending == ".npz":
            parts = np.split(values, projected.n_views, axis=1)
            arrays: dict[str, Any] = dict(zip(projected.names, parts, strict=True))
            np.savez(file, **arrays)
            return
        ids = list(range(1, len(values) + 1)) if projected.ids is None else list(projected.ids)
        if ending == ".parquet":
            from isogloss.extras import import_extra

            arrow, parquet = (
                import_extra(name, "export", "a Parquet file") for name in ("pyarrow", "pyarrow.parquet")
            )
            columns = {id_name: ids} | {name: values[:, k] for k, name in enumerate(names)}
            parquet.write_table(arrow.table(columns), file)
            return
        lines = text_io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow([id_name, *names])
        for row, numbers in zip(ids, values, strict=True):
            writer.writerow([row, *("" if np.isnan(value) else repr(float(value)) for value in numbers)])
        lines.flush()
        lines.detach()


def _draw_correlations(opened: TableModel, given: NamedViews, projected: Views, component: int) -> Any:
    from isogloss.multiview import view_correlations
    from isogloss.plotting import plot_view_correlations

    return plot_view_correlations(view_correlations(projected), projected.names, component=component)


def _draw_projections(opened: TableModel, given: NamedViews, projected: Views, component: int) -> Any:
    from isogloss.plotting import plot_variates

    return plot_variates(opened.model, opened.scaled(given.views), component=component)


def _draw_loadings(opened: TableModel, given: NamedViews, projected: Views, component: int) -> Any:
    from isogloss.multiview import view_loadings
    from isogloss.plotting import figure, plot_loadings

    drawing = figure(5.0 * projected.n_views, 4.5)
    axes = drawing.subplots(1, projected.n_views, squeeze=False)[0]
    for ax, name, loadings in zip(axes, projected.names, view_loadings(given.views, projected), strict=True):
        plot_loadings(loadings, given.columns[name], component=component, ax=ax)
        ax.set_title(name)
        ax.set_xlim(-1.05, 1.05)
    return drawing


def _draw_starts(opened: TableModel, given: NamedViews, projected: Views, component: int) -> Any:
    from isogloss.multiview import SumCor
    from isogloss.plotting import plot_starts

    if not isinstance(opened.model, SumCor) or component > 0 or projected.dims[0] > 1:
        raise typer.BadParameter(
            "--picture starts is for one component of SUMCOR; fit with --kind sumcor --components 1"
        )
    return plot_starts(opened.model, opened.model.certify(opened.scaled(given.views)))


_DRAWING = {
    Picture.correlations: _draw_correlations,
    Picture.projections: _draw_projections,
    Picture.loadings: _draw_loadings,
    Picture.starts: _draw_starts,
}
