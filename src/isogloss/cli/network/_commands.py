"""``isogloss network``: Bayesian networks."""

from __future__ import annotations

from typing import ClassVar

import typer

from isogloss.cli._lazy import LazyGroup, Place

__all__ = ["network_group"]

_ASK, _LEARN = "isogloss.cli.network._ask", "isogloss.cli.network._learn"


class _Commands(LazyGroup):
    """The commands about networks; only those that learn need all of the library."""

    places: ClassVar = {
        "show": Place(
            _ASK,
            "show_network",
            "Draw a network: its variables, graph, factorisation and number of parameters.",
        ),
        "query": Place(
            _ASK,
            "query",
            "Ask for probabilities, given what was observed: isogloss network query FILE I -g G=g3.",
        ),
        "explain": Place(
            _ASK, "explain", "Say whether two variables are independent once others are observed, and why."
        ),
        "learn": Place(_LEARN, "learn", "Learn the probabilities of a network's graph from rows."),
        "tree": Place(
            _LEARN,
            "tree",
            "Learn a tree over the columns of a file: the one with the highest likelihood (Chow and Liu).",
        ),
        "compare": Place(
            _LEARN,
            "compare",
            "Compare how well graphs fit complete rows: BIC and BDeu, the best first.",
        ),
        "sample": Place(_ASK, "sample", "Draw rows from a network."),
        "convert": Place(_ASK, "convert", "Write a network in another format."),
    }


network_group = typer.Typer(
    cls=_Commands,
    help="Ask, learn and draw Bayesian networks.\n\nFILE is BIF, XMLBIF, JSON or a model file.",
    no_args_is_help=True,
)


@network_group.callback()
def _group() -> None:
    """Commands about networks."""
