"""``isogloss network show``, ``query``, ``explain``, ``convert`` and ``sample``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli._options import Json, random_state_option
from isogloss.cli._output import check_outputs, echo, echo_json, echo_result, is_stdout, written
from isogloss.cli.network._input import Evidence, File, Html, as_evidence, open_network, write_page
from isogloss.exceptions import NetworkFileError
from isogloss.io import atomic_write

if TYPE_CHECKING:
    from isogloss.graphical import BayesianNetwork, Inference, Plate, Table


def show_network(
    file: File,
    tables: Annotated[bool, typer.Option("--tables", help="Also show the probability tables.")] = False,
    observed: Annotated[
        list[str] | None, typer.Option("--observed", help="A variable to shade. Repeat for several.")
    ] = None,
    plate: Annotated[
        list[str] | None,
        typer.Option("--plate", help="A plate such as 'n = 1..N: X, Y'. Repeat for several."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Write the picture to an SVG file; - for standard output.")
    ] = None,
    html: Html = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX: the factorisation and TikZ.")] = False,
    as_json: Json = False,
) -> None:
    """Draw a network: its variables, graph, factorisation and number of parameters."""
    from isogloss.graphical import NetworkPicture

    check_outputs(as_json or latex, svg, html)
    network = open_network(file)
    plates = [_plate(text) for text in plate or []]
    picture = NetworkPicture(network, plates=plates, observed=observed or (), tables=tables)
    if svg is not None:
        with written(svg) as path, atomic_write(path) as out:
            out.write(picture.svg().encode())
    if html is not None:
        write_page(html, picture)
    if as_json:
        echo_json(_described(network, tables=tables), indent=2)
    elif latex:
        echo(f"\\[ {network.factorisation(latex=True)} \\]\n{picture.latex()}", nl=False)
    elif svg is None and html is None:
        joint = f"{network.n_joint_parameters:,}" if len(network) < 40 else "very many"
        echo(f"{network.factorisation()}\n{network.n_parameters:,} parameters; a joint table has {joint}\n")
        echo(picture.text())


def _plate(text: str) -> Plate:
    from isogloss.graphical import Plate

    label, colon, names = text.rpartition(":")
    if not colon:
        raise typer.BadParameter(f"--plate {text!r}: expected a label, a colon and comma-separated names")
    return Plate(label.strip(), [name.strip() for name in names.split(",") if name.strip()])


def _described(network: BayesianNetwork, *, tables: bool) -> dict[str, Any]:
    content = network.to_dict()
    parents = {name: list(network.parents(name)) for name in network.names}
    return {
        "name": network.name,
        "variables": content["variables"],
        "parents": parents,
        "parameters": network.n_parameters,
        "joint_parameters": network.n_joint_parameters,
        "factorisation": network.factorisation(),
        **({"cpds": content["cpds"]} if tables else {}),
    }


def query(
    file: File,
    variables: Annotated[
        list[str] | None, typer.Argument(help="Variables to query; by default all that are not given.")
    ] = None,
    given: Evidence = None,
    joint: Annotated[bool, typer.Option("--joint", help="Show one joint table of the variables.")] = False,
    best: Annotated[bool, typer.Option("--map", help="Show the most probable joint state instead.")] = False,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Compute probabilities given evidence: isogloss network query FILE I -g G=g3."""
    from isogloss.graphical import Inference, NetworkPicture

    if joint and not variables:
        raise typer.BadParameter("--joint needs the names of the variables")
    if best and (joint or html is not None):
        raise typer.BadParameter("--map shows states, not tables; leave out --joint and --html")
    check_outputs(as_json, html)
    network = open_network(file)
    ask, evidence = Inference(network), as_evidence(given)
    if best:
        found = ask.map(evidence, variables or None)
        _tell_best(found.states, found.log_probability, evidence, as_json)
        return
    answers = _answers(ask, variables or [], evidence, joint=joint)
    if html is not None:
        write_page(html, NetworkPicture(network, observed=evidence), answers)
    if as_json:
        tables = {", ".join(table.names): table.to_dict() for table in answers.values()}
        content = {"evidence": evidence, "probability": ask.probability(evidence), "answers": tables}
        echo_json(content, indent=2)
    elif html is None:
        echo("\n\n".join(f"{title}\n{table}" for title, table in answers.items()))


def _answers(
    ask: Inference, variables: list[str], evidence: dict[str, str], *, joint: bool
) -> dict[str, Table]:
    """Tables with their titles."""
    if not variables:
        tables = list(ask.marginals(evidence).values())
    elif joint:
        tables = [ask.query(variables, evidence)]
    else:
        tables = [ask.query(name, evidence) for name in variables]
    knowing = ", ".join(f"{name}={state}" for name, state in evidence.items())
    bar = f" | {knowing}" if knowing else ""
    return {f"P({', '.join(table.names)}{bar})": table for table in tables}


def _tell_best(
    states: dict[str, str], log_probability: float, evidence: dict[str, str], as_json: bool
) -> None:
    if as_json:
        content = {"evidence": evidence, "states": states, "log_probability": log_probability}
        echo_json(content, indent=2)
        return
    width = max(map(len, states), default=0)
    for name, state in states.items():
        echo(f"{name:{width}}  {state}")
    echo(f"log probability together with the evidence: {log_probability:.6f}")


def explain(
    file: File,
    first: Annotated[str, typer.Argument(metavar="X", help="A variable.")],
    second: Annotated[str, typer.Argument(metavar="Y", help="Another variable.")],
    given: Annotated[
        list[str] | None, typer.Option("--given", "-g", help="An observed variable. Repeat for several.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain whether two variables are independent given others."""
    from isogloss.graphical import d_separated
    from isogloss.graphical import explain as explained

    network = open_network(file)
    words = explained(network, first, second, given or ())
    if as_json:
        separated = d_separated(network, first, second, given or ())
        echo_json({"independent": separated, "explanation": words}, indent=2)
    else:
        echo(words)


def convert(
    file: File,
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The file to write; its extension sets the format. - for BIF on standard output.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Write a network in another format."""
    from isogloss.graphical import write_network

    check_outputs(as_json, output, error=NetworkFileError)
    with written(output, ".bif") as path:
        write_network(open_network(file), path)
    if not is_stdout(output):
        echo_result({"output": str(output)}, f"{output}: written", as_json)


def sample(
    file: File,
    rows: Annotated[int, typer.Option(help="Number of rows.", min=0)] = 10,
    random_state: Annotated[int | None, random_state_option] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; by default or with -, print the rows."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Sample rows from a network."""
    from isogloss.graphical import decode, write_rows
    from isogloss.graphical import sample as sample_rows

    check_outputs(as_json, output)
    network = open_network(file)
    codes = sample_rows(network, rows, random_state=random_state)
    if output is not None and not is_stdout(output):
        write_rows(output, network, codes)
        summary = {"output": str(output), "rows": rows}
        echo_result(summary, f"{output}: {rows:,} rows", as_json)
    elif as_json:
        echo_json(decode(network, codes))
    else:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([network.names, *(row.values() for row in decode(network, codes))])
