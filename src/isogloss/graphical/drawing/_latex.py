"""Networks in LaTeX: TikZ pictures and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from isogloss.graphical._markup import latex_name, latex_text
from isogloss.graphical._structure import Graph
from isogloss.graphical._table import Table
from isogloss.graphical.drawing._layers import Places, Plate


def latex_picture(
    graph: Graph, places: Places, plates: Sequence[Plate], observed: Collection[str], tables: Sequence[Table]
) -> str:
    """A TikZ picture of a graph, and tabulars of its probabilities."""
    lines = [
        r"\begin{tikzpicture}[>=stealth, every node/.style={font=\small},",
        r"  rv/.style={draw, ellipse, minimum height=7mm}, seen/.style={fill=black!12},",
        r"  plate/.style={draw, rounded corners, inner sep=3mm, inner ysep=4mm}]",
        *_nodes(graph, places, observed),
        *_edges(graph, places),
        *_plates(graph, plates),
        r"\end{tikzpicture}",
        *(latex_table(table) for table in tables),
    ]
    return "\n".join(lines) + "\n"


def latex_table(table: Table) -> str:
    r"""A tabular with the numbers of a table.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> print(latex_table(student().cpd("I").table))
    \begin{tabular}{lr}
    $I$ & $P(I)$ \\ \hline
    $\mathit{i0}$ & 0.7000 \\
    $\mathit{i1}$ & 0.3000 \\
    \end{tabular}
    """
    header, *rows = table.cells()
    keys = len(table.down)
    top = [_cell(name) for name in header]
    if keys == len(table.variables):
        top[-1] = f"$P({', '.join(map(latex_name, table.names))})$"
    lines = [[*map(_cell, row[:keys]), *row[keys:]] for row in rows]
    columns = "l" * keys + "r" * (len(header) - keys)
    body = [" & ".join(line) + r" \\" for line in lines]
    start = [rf"\begin{{tabular}}{{{columns}}}", " & ".join(top) + r" \\ \hline"]
    return "\n".join([*start, *body, r"\end{tabular}"])


def _cell(name: str) -> str:
    return f"${latex_name(name)}$"


def _nodes(graph: Graph, places: Places, observed: Collection[str]) -> Iterator[str]:
    for number, name in enumerate(graph.names):
        x, y = places.nodes[name]
        style = "rv, seen" if name in observed else "rv"
        yield rf"  \node[{style}] (n{number}) at ({x:.2f}, {-1.4 * y:.2f}) {{{_cell(name)}}};"


def _edges(graph: Graph, places: Places) -> Iterator[str]:
    for edge in graph.edges:
        a, b = (f"(n{graph.index(name)})" for name in edge)
        bends = places.bends.get(edge, [])
        if bends:
            through = " ".join(f"({x:.2f}, {-1.4 * y:.2f})" for x, y in bends)
            yield rf"  \draw[->] plot[smooth] coordinates {{{a} {through}}} -- {b};"
        else:
            yield rf"  \draw[->] {a} -- {b};"


def _plates(graph: Graph, plates: Sequence[Plate]) -> Iterator[str]:
    for number, plate in reversed(list(enumerate(plates))):
        inside = "".join(f"(n{graph.index(name)})" for name in plate.names)
        frames = "".join(
            f"(p{k})" for k, other in enumerate(plates) if k > number and set(other.names) <= set(plate.names)
        )
        yield rf"  \node[plate, fit={inside}{frames}] (p{number}) {{}};"
        label = latex_text(plate.label)
        yield rf"  \node[anchor=south east, inner sep=1mm] at (p{number}.south east) {{{label}}};"
