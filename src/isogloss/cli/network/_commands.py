"""``isogloss network``: Bayesian networks."""

from __future__ import annotations

from typing import ClassVar

import typer

from isogloss.cli._lazy import LazyCommand, LazyGroup

_ASK, _LEARN = "isogloss.cli.network._ask", "isogloss.cli.network._learn"


class _Commands(LazyGroup):
    """The commands about networks; only those that learn need all of the library."""

    lazy_commands: ClassVar = {
        "show": LazyCommand(
            _ASK,
            "show_network",
            "Draw a network: its variables, graph, factorisation and number of parameters.",
        ),
        "query": LazyCommand(
            _ASK,
            "query",
            "Compute probabilities given evidence: isogloss network query FILE I -g G=g3.",
        ),
        "explain": LazyCommand(
            _ASK, "explain", "Explain whether two variables are independent given others."
        ),
        "learn": LazyCommand(
            _LEARN,
            "learn",
            "Learn the probabilities of a network from rows.",
            renamed={"--seed": "--random-state"},
        ),
        "tree": LazyCommand(
            _LEARN,
            "tree",
            "Learn the most likely tree over the columns of a file (Chow and Liu).",
        ),
        "compare": LazyCommand(
            _LEARN,
            "compare",
            "Compare graphs on complete rows by BIC and BDeu, best first.",
        ),
        "sample": LazyCommand(
            _ASK,
            "sample",
            "Sample rows from a network.",
            renamed={"--seed": "--random-state", "--number": "--rows", "-n": "--rows"},
        ),
        "convert": LazyCommand(_ASK, "convert", "Write a network in another format."),
    }


network_group = typer.Typer(
    cls=_Commands,
    help="Query, learn and draw Bayesian networks.\n\nFILE is BIF, XMLBIF, JSON or a model file.",
    no_args_is_help=True,
)


@network_group.callback()
def _group() -> None:
    """Commands about networks."""
