"""Arguments that the commands of ``isogloss network`` share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from isogloss.cli._output import written
from isogloss.io import atomic_write

if TYPE_CHECKING:
    from isogloss.graphical import BayesianNetwork, NetworkPicture, Table

EXAMPLES = ("student", "asia")

File: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="FILE", help=f"A network, or the name of an example: {', '.join(EXAMPLES)}."),
]
Evidence: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--given", "-g", help="Evidence, for example G=g3. Repeat for several variables."),
]
Html: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write an HTML page with picture and tables; - for standard output.")
]


def open_network(file: Path) -> BayesianNetwork:
    """The network in a file, or the example of that name."""
    from isogloss import graphical

    if str(file) in EXAMPLES and not file.exists():
        example: BayesianNetwork = getattr(graphical, str(file))()
        return example
    return graphical.read_network(file)


def as_evidence(given: list[str] | None) -> dict[str, str]:
    """States by variable, from texts such as ``G=g3``."""
    evidence: dict[str, str] = {}
    for text in given or []:
        name, equals, state = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--given {text!r}: expected a variable and its state, for example G=g3")
        if evidence.setdefault(name, state) != state:
            raise typer.BadParameter(f"--given {text!r}: {name} is already given as {evidence[name]}")
    return evidence


def write_page(path: Path, picture: NetworkPicture, answers: Mapping[str, Table] | None = None) -> None:
    """Write a page with a picture and tables."""
    with written(path) as place, atomic_write(place) as file:
        file.write(picture.html(answers=answers).encode())
