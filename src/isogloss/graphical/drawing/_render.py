"""The picture of a network: plain text, SVG, HTML and LaTeX, without other libraries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from isogloss.graphical._markup import xml_text
from isogloss.graphical._structure import Graph
from isogloss.graphical._table import Table
from isogloss.graphical.drawing._latex import latex_picture
from isogloss.graphical.drawing._layers import Places, Plate, nested_plates, places_of
from isogloss.graphical.network import BayesianNetwork

LETTER, HEIGHT, STEP, GAP = 9.0, 36, 90, 28.0
"""Width of a letter, height of a node, distance of layers and of neighbours, in pixels."""
MARGIN, PLATE = 16.0, 10.0
LINE, COLUMN = 16, 7.3
"""Height of a line and width of a letter in tables."""
FILL, SHADE, COLOUR = "#ffffff", "#d5dde8", "#1f3d5c"
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
:root{color-scheme:light dark} svg{max-width:100%;height:auto}
table{border-collapse:collapse;margin:.5rem 0 1.5rem} th,td{padding:.1rem .7rem;text-align:left}
th{border-bottom:1px solid GrayText} .tables{display:flex;flex-wrap:wrap;gap:0 3rem}"""


class NetworkPicture:
    """A network or its structure, ready to be drawn.

    Parameters
    ----------
    graph : Structure or BayesianNetwork
        What to draw.
    plates : sequence of Plate
        Frames around variables that are repeated.
    observed : iterable of str
        Variables to shade.
    tables : bool, default=False
        Draw the probabilities too; needs a network.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> picture = NetworkPicture(student(), observed=["G"])
    >>> print(picture.text())
    D  d0, d1
    I  i0, i1
    G  g1, g2, g3  <- I, D
    S  s0, s1      <- I
    L  l0, l1      <- G
    >>> picture.svg()[:4]
    '<svg'

    In a notebook a picture draws itself.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        plates: Sequence[Plate] = (),
        observed: Iterable[str] = (),
        tables: bool = False,
    ) -> None:
        if tables and not isinstance(graph, BayesianNetwork):
            raise ValueError("tables=True for a graph without probabilities; give a BayesianNetwork")
        self.graph = graph
        self.plates = nested_plates(graph, plates)
        self.observed = {graph.names[graph.index(name)] for name in observed}
        self.tables: list[Table] = []
        if tables and isinstance(graph, BayesianNetwork):
            self.tables = [cpd.table for cpd in graph.cpds]

    def text(self) -> str:
        """Names, states and parents, a line each, and the tables if they are wanted."""
        variables = self.graph.variables
        widest = max(len(variable.name) for variable in variables)
        states = [", ".join(variable.states) for variable in variables]
        long = max(map(len, states))
        lines = []
        for variable, states_text in zip(variables, states, strict=True):
            parents = ", ".join(self.graph.parents(variable.name))
            arrow = f"  <- {parents}" if parents else ""
            lines.append(f"{variable.name:{widest}}  {states_text:{long}}{arrow}".rstrip())
        return "\n".join([*lines, *(f"\n{table.title}\n{table}" for table in self.tables)])

    def latex(self) -> str:
        """A TikZ picture, which needs the TikZ libraries ``fit`` and ``shapes.geometric``, and the tables."""
        places = self._places(dict.fromkeys(self.graph.names, 1.0), 0.6)
        return latex_picture(self.graph, places, self.plates, self.observed, self.tables)

    def svg(self) -> str:
        """The picture as an SVG file."""
        places = self._places({name: _node_width(name) for name in self.graph.names}, GAP)
        body, width, height = _drawing(self, places)
        if self.tables:
            below, width, height = _drawn_tables(self.tables, width, height)
            body = [*body, *below]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="14" role="img" '
            f'aria-label="{xml_text(self.graph.factorisation())}">\n'
            f'<rect width="100%" height="100%" fill="{FILL}"/>\n' + "\n".join(body) + "\n</svg>\n"
        )

    def html(self, title: str = "", answers: Mapping[str, Table] | None = None) -> str:
        """A page with the picture, the factorisation, the number of parameters, and tables.

        Parameters
        ----------
        title : str
            The heading; the name of the network by default.
        answers : dict of str to Table, optional
            Tables to show under the picture, each with its heading.
        """
        heading = xml_text(title or getattr(self.graph, "name", "") or "Network")
        bare = NetworkPicture(self.graph, plates=self.plates, observed=self.observed)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
            f"<style>{STYLE}</style></head><body><h1>{heading}</h1>\n{bare.svg()}"
            f"{_html_tables(answers or {})}"
            f"<p>{xml_text(self.graph.factorisation())}</p>\n"
            f"<p>{self.graph.n_parameters:,} independent parameters; a joint table has "
            f"{_large(self.graph.n_joint_parameters)}.</p>\n"
            f"{_html_tables({table.title: table for table in self.tables})}</body></html>\n"
        )

    def _places(self, widths: dict[str, float], gap: float) -> Places:
        return places_of(self.graph, widths, self.plates, gap)

    def _repr_svg_(self) -> str:
        return self.svg()


def _drawing(picture: NetworkPicture, places: Places) -> tuple[list[str], float, float]:
    """The elements of the graph, and the width and height they take."""
    room = MARGIN + len(picture.plates) * PLATE
    sides = [(x - _node_width(n) / 2, x + _node_width(n) / 2) for n, (x, _) in places.nodes.items()]
    sides += [(x - GAP / 2, x + GAP / 2) for points in places.bends.values() for x, _ in points]
    left, top = room - min(a for a, _ in sides), room + HEIGHT / 2
    at = {name: (left + x, top + STEP * y) for name, (x, y) in places.nodes.items()}
    bends = {e: [(left + x, top + STEP * y) for x, y in points] for e, points in places.bends.items()}
    edges = [_edge(at[a], bends.get((a, b), []), at[b], _node_width(b)) for a, b in picture.graph.edges]
    nodes = [_node(name, *at[name], shaded=name in picture.observed) for name in picture.graph.names]
    frames = [_frame(plate, picture.plates, at) for plate in picture.plates]
    width = max([left + max(b for _, b in sides) + room, *(f.right + MARGIN for f in frames)])
    height = max([max(y for _, y in at.values()) + HEIGHT / 2 + room, *(f.bottom + MARGIN for f in frames)])
    body = [_ARROW, *(f.rectangle() for f in frames), *edges, *nodes, *(f.caption() for f in frames)]
    return body, width, height


_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
    f'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="{COLOUR}"/></marker></defs>'
)


class _Frame(NamedTuple):
    """A plate in pixels."""

    label: str
    left: float
    top: float
    right: float
    bottom: float

    def rectangle(self) -> str:
        return (
            f'<rect x="{self.left:.1f}" y="{self.top:.1f}" width="{self.right - self.left:.1f}" '
            f'height="{self.bottom - self.top:.1f}" rx="6" fill="none" stroke="{COLOUR}" '
            'stroke-opacity="0.6"/>'
        )

    def caption(self) -> str:
        return (
            f'<text x="{self.right - 6:.1f}" y="{self.bottom - 5:.1f}" text-anchor="end" font-size="12" '
            f'fill="{COLOUR}" stroke="{FILL}" stroke-width="3" paint-order="stroke">'
            f"{xml_text(self.label)}</text>"
        )


def _frame(plate: Plate, plates: Sequence[Plate], at: dict[str, tuple[float, float]]) -> _Frame:
    """The frame around the nodes of a plate, with room for the frames inside."""
    inner = sum(set(other.names) < set(plate.names) for other in plates)
    room = PLATE * (1 + inner)
    left = min(at[name][0] - _node_width(name) / 2 for name in plate.names) - room
    right = max(at[name][0] + _node_width(name) / 2 for name in plate.names) + room
    top = min(at[name][1] for name in plate.names) - HEIGHT / 2 - room
    bottom = max(at[name][1] for name in plate.names) + HEIGHT / 2 + room + LINE * (1 + inner) / 2
    return _Frame(plate.label, left, top, max(right, left + COLUMN * len(plate.label)), bottom)


def _node(name: str, x: float, y: float, *, shaded: bool) -> str:
    return (
        f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{_node_width(name) / 2:.1f}" ry="{HEIGHT / 2}" '
        f'fill="{SHADE if shaded else FILL}" stroke="{COLOUR}" stroke-width="1.5"/>'
        f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle" fill="#111">{xml_text(name)}</text>'
    )


def _edge(
    start: tuple[float, float], bends: Sequence[tuple[float, float]], end: tuple[float, float], width: float
) -> str:
    """A curve from centre to the border of the child, through the bends."""
    points = [start, *bends, end]
    points[-1] = _border(points[-2], end, width)
    path = f"M{start[0]:.1f} {start[1]:.1f}"
    for (ax, ay), (bx, by) in itertools.pairwise(points):
        middle = (ay + by) / 2
        bow = f"C{ax:.1f} {middle:.1f} {bx:.1f} {middle:.1f} " if bends else "L"
        path += f"{bow}{bx:.1f} {by:.1f}"
    return f'<path d="{path}" fill="none" stroke="{COLOUR}" stroke-width="1.3" marker-end="url(#arrow)"/>'


def _border(start: tuple[float, float], centre: tuple[float, float], width: float) -> tuple[float, float]:
    """Return the point where the line from a point to the centre of an ellipse meets the ellipse."""
    dx, dy = start[0] - centre[0], start[1] - centre[1]
    scale = ((dx / (width / 2)) ** 2 + (dy / (HEIGHT / 2)) ** 2) ** 0.5 or 1.0
    return centre[0] + dx / scale, centre[1] + dy / scale


def _drawn_tables(tables: Sequence[Table], width: float, height: float) -> tuple[list[str], float, float]:
    """Tables in rows under the graph, and the width and height of all."""
    blocks = [[table.title, *str(table).split("\n")] for table in tables]
    widths = [max(map(len, block)) * COLUMN + 2 * GAP for block in blocks]
    page = max([width, 720.0, *(w + 2 * MARGIN for w in widths)])
    parts, x, y, tallest = [], MARGIN, height + LINE, 0
    for block, wide in zip(blocks, widths, strict=True):
        if x > MARGIN and x + wide > page:
            x, y, tallest = MARGIN, y + (tallest + 1) * LINE, 0
        parts += [_line(text, x, y + LINE * k, heading=k == 0) for k, text in enumerate(block)]
        x, tallest = x + wide, max(tallest, len(block))
    return parts, page, y + tallest * LINE + MARGIN


def _line(text: str, x: float, y: float, *, heading: bool) -> str:
    weight = ' font-weight="bold"' if heading else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="monospace" font-size="12" fill="#111"{weight} '
        f'xml:space="preserve">{xml_text(text)}</text>'
    )


def _node_width(name: str) -> float:
    return max(44.0, 24 + LETTER * len(name))


def _html_tables(tables: Mapping[str, Table]) -> str:
    parts = (f"<div><h3>{xml_text(title)}</h3>{t._repr_html_()}</div>" for title, t in tables.items())
    return f'<div class="tables">{"".join(parts)}</div>\n'


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"
