"""d-separation, open trails, Markov blankets, statements of independence and I-maps."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.graphical import (
    Statement,
    Structure,
    Table,
    Variable,
    active_trail,
    asia,
    check_imap,
    d_separated,
    explain,
    global_statements,
    holds,
    local_statements,
    markov_blanket,
    student,
)
from tests.oracles.enumerate_network import joint_table, random_network
from tests.oracles.separation import is_open, separated_by_trails, separated_in_moral_graph


@st.composite
def graphs(draw, most=7):
    """Any directed acyclic graph of a few variables, given in any order."""
    n = draw(st.integers(2, most))
    names = [f"x{k}" for k in range(n)]
    pairs = list(itertools.combinations(range(n), 2))
    coin = st.sampled_from([False, False, True])
    edges = draw(st.lists(coin, min_size=len(pairs), max_size=len(pairs)))
    parents = {name: [] for name in names}
    for (a, b), there in zip(pairs, edges, strict=True):
        if there:
            parents[names[b]].append(names[a])
    return Structure([Variable(name, ["0", "1"]) for name in draw(st.permutations(names))], parents)


@st.composite
def questions(draw, most=7):
    """A graph, and three sets of its variables, the first two not empty."""
    graph = draw(graphs(most))
    place = st.sampled_from(["left", "right", "given", "out"])
    places = draw(st.lists(place, min_size=len(graph), max_size=len(graph)))
    first, second = draw(st.permutations(range(len(graph))))[:2]
    places[first], places[second] = "left", "right"
    return graph, *(
        [n for n, p in zip(graph.names, places, strict=True) if p == w] for w in ("left", "right", "given")
    )


@given(questions())
def test_d_separation_equals_its_definition(question):
    assert d_separated(*question) == separated_by_trails(*question)


@given(questions(most=12))
def test_d_separation_equals_separation_in_the_moral_graph(question):
    assert d_separated(*question) == separated_in_moral_graph(*question)
    graph, left, right, seen = question
    assert d_separated(graph, right, left, seen) == d_separated(*question)


@given(questions())
def test_a_trail_that_is_found_is_open_and_simple(question):
    graph, (x, *_), (y, *_), seen = question
    trail = active_trail(graph, x, y, seen)
    assert (trail is None) == d_separated(graph, x, y, seen)
    if trail is not None:
        assert (trail[0], trail[-1]) == (x, y)
        assert len(set(trail)) == len(trail)
        assert is_open(graph, trail, seen)
        assert all(b in (*graph.parents(a), *graph.children(a)) for a, b in itertools.pairwise(trail))
    said = explain(graph, x, y, seen)
    assert ("may depend" in said) == (trail is not None)


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_what_the_graph_separates_is_independent_in_the_distribution(seed, n):
    network = random_network(np.random.default_rng(seed), n)
    joint = Table(joint_table(network), network.variables)
    assert all(holds(statement, joint) for statement in local_statements(network))
    assert all(holds(statement, joint) for statement in global_statements(network))


@given(graphs())
def test_the_blanket_separates_and_nothing_smaller_does(graph):
    for name in graph.names:
        blanket = markov_blanket(graph, name)
        others = [other for other in graph.names if other not in (name, *blanket)]
        assert not others or d_separated(graph, name, others, blanket)
        for one in blanket:
            rest = [other for other in blanket if other != one]
            assert not d_separated(graph, name, one, rest)


@given(graphs(most=5))
def test_local_statements_are_what_the_graph_separates(graph):
    for statement in local_statements(graph):
        assert d_separated(graph, statement.left, statement.right, statement.given)
    for statement in global_statements(graph):
        assert separated_by_trails(graph, statement.left, statement.right, statement.given)


def test_the_independencies_of_the_slides_hold_and_the_false_ones_do_not():
    network = student()
    assert d_separated(network, "L", ["I", "D", "S"], "G")
    assert d_separated(network, "S", ["D", "G", "L"], "I")
    assert d_separated(network, "D", ["I", "S"])
    assert d_separated(network, "G", "S", "I")
    assert not d_separated(network, "D", "I", "G")
    assert not d_separated(network, "D", "I", "L")
    assert not d_separated(network, "D", "S", "G")
    assert not d_separated(network, "L", "I")
    assert not d_separated(network, "L", "S")
    assert not d_separated(network, "G", "S")
    joint = Table(joint_table(network), network.variables)
    for statement in ("DI|G", "DI|L", "DS|G", "LI|", "LS|", "GS|"):
        pair, seen = statement.split("|")
        assert not holds(Statement((pair[0],), (pair[1],), tuple(seen)), joint)


def test_the_factorisation_of_the_student_is_a_minimal_imap():
    network = student()
    joint = Table(joint_table(network), network.variables)
    assert check_imap(network, joint).is_minimal
    more = Structure(network.variables, {**network.structure.parent_names, "S": ("I", "D")})
    found = check_imap(more, joint)
    assert found.is_imap
    assert not found.is_minimal
    assert found.removable == (("D", "S"),)
    less = Structure(network.variables, {**network.structure.parent_names, "S": ()})
    found = check_imap(less, joint)
    assert not found.is_imap
    assert Statement(("S",), ("D", "I", "G", "L")) in found.broken


def test_a_node_that_copies_needs_no_second_arrow():
    copy = Structure([Variable(name, ["0", "1"]) for name in "XYZ"], {"Y": ["X"], "Z": ["X", "Y"]})
    joint = np.zeros((2, 2, 2))
    joint[0, 0], joint[1, 1] = [0.1, 0.3], [0.4, 0.2]
    found = check_imap(copy, Table(joint, copy.variables))
    assert found.removable == (("X", "Z"), ("Y", "Z"))


def test_trails_are_explained_in_words():
    network = asia()
    assert explain(network, "asia", "dysp").split("\n") == [
        "asia and dysp may depend on each other: the trail asia -> tub -> either -> dysp is open.",
        "- tub passes on what asia does to either, and is not observed.",
        "- either passes on what tub does to dysp, and is not observed.",
    ]
    assert explain(network, "dysp", "asia", ["tub"]).endswith(
        "- It is blocked at tub: tub passes on what asia does to either, and is observed."
    )
    assert "- lung and tub meet in either, which is observed" in explain(network, "lung", "tub", "either")
    assert "smoke is a common cause of lung and bronc, and is not observed" in explain(
        network, "lung", "bronc"
    )
    assert "smoke is a common cause of lung and bronc, and is observed" in explain(
        network, "lung", "bronc", "smoke"
    )
    two = Structure([Variable("A", ["a"]), Variable("B", ["b"])])
    assert explain(two, "A", "B") == "A and B are independent: no trail joins them."


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (("D", "D"), "D is named twice"),
        (("D", "I", "D"), "D is named twice"),
        (("D", []), "a set is empty"),
        (("D", "X"), "there is no variable 'X'"),
    ],
)
def test_bad_questions_are_refused(sets, message):
    with pytest.raises(ValueError, match=message):
        d_separated(student(), *sets)


def test_a_joint_table_of_other_variables_is_refused():
    with pytest.raises(ValueError, match="expected the variables of the graph"):
        check_imap(student(), student().cpd("D").table)
