"""``isogloss network learn`` and ``tree``: networks from rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.markup import escape
from rich.table import Column, Table

from isogloss.cli._console import Console
from isogloss.cli._options import Json, RandomState
from isogloss.cli._output import check_outputs, echo_json, is_stdout, report_output, written
from isogloss.cli._progress import EMProgress
from isogloss.cli.network._input import File, Html, open_network, write_page
from isogloss.exceptions import NetworkFileError

RowsFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="ROWS", help="Comma- or tab-separated values; the first line names the variables."
    ),
]


NetworkOut: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="The network to write: .bif, .xml, .json or .isogloss; - for BIF on standard output.",
    ),
]
Smoothing: TypeAlias = Annotated[
    float, typer.Option(help="Constant added to every count; 0 for maximum likelihood.", min=0.0)
]


def _check_files(as_json: bool, output: Path, html: Path | None) -> None:
    """Refuse files that could not be written, before anything is learned."""
    from isogloss.graphical.formats import check_ending

    if not is_stdout(output):
        check_ending(output)
    check_outputs(as_json, output, html, error=NetworkFileError)


def learn(
    file: File,
    rows: RowsFile,
    *,
    output: NetworkOut,
    smoothing: Smoothing = 0.0,
    hidden: Annotated[
        list[str] | None, typer.Option("--hidden", help="A variable to treat as hidden. Repeat for several.")
    ] = None,
    starts: Annotated[int, typer.Option(help="Number of EM starts; the best is kept.", min=1)] = 1,
    max_iter: Annotated[int, typer.Option(help="Maximum number of EM steps.", min=1)] = 1000,
    tol: Annotated[
        float, typer.Option(help="Stop when the bound per row gains less than this.", min=0.0)
    ] = 1e-6,
    random_state: RandomState = 0,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Learn the probabilities of a network from rows.

    Complete rows are counted; missing cells (empty, ? or NA) and missing columns are learned by EM.
    """
    from isogloss.graphical import NetworkLearner, read_rows

    _check_files(as_json, output, html)
    network = open_network(file)
    codes = read_rows(rows, network).codes
    learner = NetworkLearner(
        network.structure,
        smoothing=smoothing,
        hidden=tuple(hidden or ()),
        n_init=starts,
        max_iter=max_iter,
        tol=tol,
        random_state=random_state,
    )
    with EMProgress("learning", max_iter) as progress:
        learner.fit(codes, callbacks=[progress])
    _finish(learner, network.name, output, html, as_json)


def tree(
    rows: RowsFile,
    *,
    output: NetworkOut,
    root: Annotated[str | None, typer.Option(help="The root of the tree.")] = None,
    smoothing: Smoothing = 0.0,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Learn the most likely tree over the columns of a file (Chow and Liu)."""
    from isogloss.graphical import NetworkLearner, chow_liu, read_rows

    _check_files(as_json, output, html)
    found = read_rows(rows)
    structure = chow_liu(found.structure, found.codes, root=root)
    columns = [found.structure.index(name) for name in structure.names]
    learner = NetworkLearner(structure, smoothing=smoothing, random_state=0)
    with EMProgress("learning", learner.max_iter) as progress:
        learner.fit(found.codes[:, columns], callbacks=[progress])
    _finish(learner, "", output, html, as_json)


def compare(
    rows: RowsFile,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Networks; only their graphs are used.")
    ],
    sample_size: Annotated[float, typer.Option(help="Equivalent sample size of the BDeu prior.")] = 10.0,
    as_json: Json = False,
) -> None:
    """Compare graphs on complete rows by BIC and BDeu, best first."""
    lines = [_scores(file, rows, sample_size) for file in files]
    lines.sort(key=lambda line: -line["bic"])
    if as_json:
        echo_json(lines, indent=2)
        return
    table = Table("graph", *(Column(head, justify="right") for head in _HEADS))
    for line in lines:
        figures = (f"{line[name]:,.1f}" for name in ("log_likelihood", "bic", "bdeu"))
        table.add_row(escape(line["name"]), f"{line['parameters']:,}", *figures)
    Console().print(table)


_HEADS = ("parameters", "log-likelihood", "BIC", "BDeu")


def _scores(file: Path, rows: Path, sample_size: float) -> dict[str, Any]:
    from isogloss.graphical import compare_structures, read_rows

    network = open_network(file)
    codes = read_rows(rows, network).codes
    return compare_structures({str(file): network}, codes, sample_size=sample_size)[0]


def _finish(learner: Any, name: str, output: Path, html: Path | None, as_json: bool) -> None:
    """Write the network, and say what was learned."""
    from isogloss.graphical import NetworkPicture, write_network

    network = type(learner.network_)(learner.network_.cpds, name)
    with written(output, ".bif") as path:
        write_network(network, path)
    if html is not None:
        write_page(html, NetworkPicture(network, tables=True))
    figures = {
        "output": str(output),
        "rows": learner.n_rows_,
        "parameters": network.n_parameters,
        "log_likelihood": learner.log_likelihood_,
        "em_steps": learner.n_iter_,
        "converged": bool(learner.converged_),
    }
    if as_json:
        echo_json(figures, indent=2)
        return
    steps = f" in {learner.n_iter_} steps of EM" if learner.n_iter_ else ""
    report_output(
        f"{output}: {network.n_parameters:,} parameters from {learner.n_rows_:,} rows{steps}, "
        f"log-likelihood {learner.log_likelihood_:.3f}",
        output if is_stdout(output) else html,
    )
