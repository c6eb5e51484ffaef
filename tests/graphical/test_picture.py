"""Places of nodes, and pictures of networks."""

import itertools
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.graphical import NetworkPicture, Plate, Structure, Variable, asia, student
from isogloss.graphical.drawing._layers import places_of


@st.composite
def drawings(draw):
    """A graph with widths of its nodes, and plates that are nested or apart."""
    n = draw(st.integers(1, 9))
    names = [f"x{k}" for k in range(n)]
    pairs = list(itertools.combinations(range(n), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=14)) if pairs else []
    parents = {names[b]: [names[a] for a, c in chosen if c == b] for b in range(n)}
    graph = Structure([Variable(name, ["0", "1"]) for name in names], parents)
    widths = dict(zip(names, draw(st.lists(st.floats(0.5, 4), min_size=n, max_size=n)), strict=True))
    ends = sorted(draw(st.lists(st.integers(0, n), min_size=3, max_size=3)))
    shuffled = draw(st.permutations(names))
    parts = [shuffled[: ends[1]], shuffled[: ends[0]], shuffled[ends[1] : ends[2]]]
    return graph, widths, [Plate(f"p{k}", part) for k, part in enumerate(parts) if part]


@given(drawings())
def test_nodes_are_below_their_parents_and_apart(drawing):
    graph, widths, plates = drawing
    places = places_of(graph, widths, plates)
    assert places == places_of(graph, widths, plates)
    assert all(places.nodes[a][1] < places.nodes[b][1] for a, b in graph.edges)
    for (a, (x, layer)), (b, (z, other)) in itertools.combinations(places.nodes.items(), 2):
        assert layer != other or abs(x - z) >= (widths[a] + widths[b]) / 2 + 1 - 1e-9
    for (a, b), points in places.bends.items():
        assert [y for _, y in points] == list(range(places.nodes[a][1] + 1, places.nodes[b][1]))


@given(drawings())
def test_no_other_node_is_inside_a_plate(drawing):
    graph, widths, plates = drawing
    places = places_of(graph, widths, plates)
    for plate in plates:
        sides = [
            (places.nodes[n][0] - widths[n] / 2, places.nodes[n][0] + widths[n] / 2) for n in plate.names
        ]
        layers = [places.nodes[n][1] for n in plate.names]
        left, right = min(a for a, _ in sides), max(b for _, b in sides)
        for name in set(graph.names) - set(plate.names):
            x, layer = places.nodes[name]
            beside = x + widths[name] / 2 <= left - 1 or right + 1 <= x - widths[name] / 2
            assert beside or not min(layers) <= layer <= max(layers)


@pytest.mark.parametrize(
    "plates", [[], [Plate("both", ["a", "b"]), Plate("inner", ["b"])], [Plate("a", ["a"]), Plate("b", ["b"])]]
)
def test_plates_around_each_other_or_in_other_layers_do_not_push_nodes_aside(plates):
    chain = Structure([Variable(name, ["0", "1"]) for name in "ab"], {"b": ["a"]})
    nodes = places_of(chain, {"a": 1, "b": 1}, plates).nodes
    assert nodes["a"][0] == nodes["b"][0]


def test_a_tree_is_drawn_without_crossings():
    names = [f"n{k}" for k in range(15)]
    parents = {f"n{k}": [f"n{(k - 1) // 2}"] for k in range(1, 15)}
    order = [names[k] for k in (0, 2, 1, 6, 3, 5, 4, 14, 7, 9, 12, 8, 11, 10, 13)]
    tree = Structure([Variable(name, ["a"]) for name in order], parents)
    at = places_of(tree, dict.fromkeys(names, 1.0)).nodes
    for (a, b), (c, d) in itertools.combinations(tree.edges, 2):
        if at[a][1] == at[c][1]:
            assert (at[a][0] - at[c][0]) * (at[b][0] - at[d][0]) >= 0


def test_an_svg_has_every_node_edge_and_table():
    picture = NetworkPicture(student(), observed=["G"], plates=[Plate("exams", ["G", "L"])], tables=True)
    svg = minidom.parseString(picture.svg())
    assert len(svg.getElementsByTagName("ellipse")) == 5
    assert len(svg.getElementsByTagName("path")) == 1 + 4
    texts = [text.firstChild.data for text in svg.getElementsByTagName("text")]
    assert {"D", "I", "G", "S", "L", "exams", "P(G | I, D)", "i1  d0  0.9000  0.0800  0.0200"} <= set(texts)
    assert sum('fill="#d5dde8"' in node.toxml() for node in svg.getElementsByTagName("ellipse")) == 1
    assert picture._repr_svg_() == picture.svg()


def test_everything_drawn_is_inside_the_picture():
    for picture in (
        NetworkPicture(asia()),
        NetworkPicture(asia(), plates=[Plate("a long label" * 5, ["asia"])]),
    ):
        svg = minidom.parseString(picture.svg()).documentElement
        width, height = float(svg.getAttribute("width")), float(svg.getAttribute("height"))
        for node in svg.getElementsByTagName("ellipse"):
            x, y, rx, ry = (float(node.getAttribute(key)) for key in ("cx", "cy", "rx", "ry"))
            assert 0 < x - rx < x + rx < width
            assert 0 < y - ry < y + ry < height
        for frame in svg.getElementsByTagName("rect")[1:]:
            x, y, w, h = (float(frame.getAttribute(key)) for key in ("x", "y", "width", "height"))
            assert 0 < x < x + w < width
            assert 0 < y < y + h < height


def test_names_cannot_break_out_of_the_picture():
    name = '<script>"&\x07'
    graph = Structure([Variable(name, ["</td>"])])
    picture = NetworkPicture(graph, plates=[Plate("<b>", [name])])
    assert minidom.parseString(picture.svg())
    assert "<script>" not in picture.html()
    assert r"\mathit" in picture.latex()


def test_a_page_shows_the_factorisation_and_the_numbers():
    page = NetworkPicture(student(), tables=True).html()
    assert "P(D, I, G, S, L) = P(D) P(I) P(G | I, D) P(S | I) P(L | G)" in page
    assert "15 independent parameters; a joint table has 47" in page
    assert page.count("<table>") == 5
    assert "<h1>student</h1>" in page
    many = Structure([Variable(f"v{k}", ["0", "1"]) for k in range(60)])
    assert "a joint table has about 10^18" in NetworkPicture(many).html("many")


def test_plain_text_has_the_tables_when_wanted():
    assert "P(S | I)\nI   s0      s1\ni0  0.9500  0.0500" in NetworkPicture(student(), tables=True).text()
    assert "P(S | I)" not in NetworkPicture(student()).text()


def test_latex_has_nodes_edges_plates_and_tables():
    plates = [Plate("50% of all", ["G", "L"]), Plate("inner", ["L"])]
    text = NetworkPicture(student(), observed=["L"], plates=plates, tables=True).latex()
    assert text.count(r"\node[rv") == 5
    assert text.count(r"\draw[->]") == 4
    assert r"\node[rv, seen] (n4)" in text
    assert r"\node[plate, fit=(n2)(n4)(p1)] (p0)" in text
    assert r"{50\% of all}" in text
    assert text.index("(p1) {}") < text.index("(p0) {}")
    assert text.count(r"\begin{tabular}") == 5
    assert r"$\mathit{i1}$ & $\mathit{d0}$ & 0.9000 & 0.0800 & 0.0200 \\" in text
    assert "plot[smooth]" in NetworkPicture(asia()).latex()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plates": [Plate("a", ["D", "I"]), Plate("b", ["I", "G"])]}, "the plates 'a' and 'b' overlap"),
        ({"plates": [Plate("a", [])]}, "the plate 'a' has no variables"),
        ({"plates": [Plate("a", ["X"])]}, "there is no variable 'X'"),
        ({"observed": ["X"]}, "there is no variable 'X'"),
        ({"tables": True}, "tables=True for a graph without probabilities"),
    ],
)
def test_bad_pictures_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        NetworkPicture(student().structure, **options)
