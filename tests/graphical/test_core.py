"""Variables, tables, distributions, structures and networks."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isogloss import graphical, io
from isogloss.exceptions import ModelFileError
from isogloss.graphical import CPD, BayesianNetwork, Structure, Table, Variable, asia, student
from tests.oracles.enumerate_network import joint_table, random_network

A, B, C = (Variable(name, ["no", "yes"]) for name in "ABC")
HALF = [0.5, 0.5]


def test_the_student_network_has_the_numbers_of_the_slides():
    network = student()
    assert network.names == ("D", "I", "G", "S", "L")
    assert (network.n_parameters, network.n_joint_parameters) == (15, 47)
    assert [cpd.n_parameters for cpd in network.cpds] == [1, 1, 8, 2, 3]
    joint = joint_table(network)
    intelligence_and_score = joint.sum(axis=(0, 2, 4))
    np.testing.assert_allclose(intelligence_and_score, [[0.665, 0.035], [0.06, 0.24]], atol=1e-15)
    assert joint[..., 1].sum() == pytest.approx(0.502, abs=5e-4)


def test_asia_has_the_marginals_of_its_authors():
    joint = joint_table(asia())
    marginals = {name: np.moveaxis(joint, k, 0)[0].sum() for k, name in enumerate(asia().names)}
    assert marginals["tub"] == pytest.approx(0.0104)
    assert marginals["either"] == pytest.approx(0.064828)
    assert marginals["dysp"] == pytest.approx(0.4359706)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Variable("", ["a"]), "a variable named ''"),
        (lambda: Variable("A", []), "A has no states"),
        (lambda: Variable("A", ["a", "a"]), "A has the state 'a' twice"),
        (lambda: Variable("A", ["a", ""]), "A has the state ''"),
        (lambda: Variable("A", ["a", 1]), "A has the state 1"),
        (lambda: A.code("maybe"), "A has no state 'maybe'; it has no, yes"),
        (lambda: A.code(["no"]), "A has no state"),
        (lambda: CPD(A, [], [0.5, 0.6]), r"P\(A\): the probabilities sum to 1.1; expected 1"),
        (lambda: CPD(A, [B], [HALF, [0.4, 0.5]]), r"P\(A \| B\): the probabilities for B=yes sum to 0.9"),
        (lambda: CPD(A, [B], [HALF, [1.5, -0.5]]), r"the probability -0.5 of yes for B=yes"),
        (lambda: CPD(A, [], [np.nan, 1]), "the probability nan of no"),
        (lambda: CPD(A, [], [np.inf, 1]), "the probability inf of no"),
        (lambda: CPD(A, [B], HALF), r"values of shape \(2,\); expected \(2, 2\), the states of B, A"),
        (lambda: CPD(A, [A], [HALF, HALF]), "not as its own parent"),
        (lambda: BayesianNetwork([]), "no variables"),
        (lambda: BayesianNetwork([CPD(A, [], HALF), CPD(A, [], HALF)]), "A has two CPDs"),
        (lambda: BayesianNetwork([CPD(A, [B], [HALF] * 2)]), "B, a parent of A, has no CPD"),
        (
            lambda: BayesianNetwork(
                [CPD(A, [B], [HALF] * 2), CPD(B, [C], [HALF] * 2), CPD(C, [A], [HALF] * 2)]
            ),
            "a cycle: (A -> C -> B -> A|B -> A -> C -> B|C -> B -> A -> C)",
        ),
        (
            lambda: BayesianNetwork([CPD(A, [], HALF), CPD(B, [Variable("A", ["x", "y"])], [HALF] * 2)]),
            "A has the states x, y as a parent of B and no, yes in its own CPD",
        ),
        (lambda: Structure([A, A]), "A is there twice"),
        (lambda: Structure([A], {"A": ["B"]}), "'B', named with the parents of A, is no variable"),
        (lambda: Structure([A], {"B": []}), "'B', named with the parents of B, is no variable"),
        (lambda: Structure([A, B], {"A": ["B", "B"]}), "A has the parents B, B"),
        (lambda: student().cpd("X"), "there is no variable 'X'; there are D, I, G, S, L"),
        (lambda: student().replace([CPD(A, [], HALF)]), "there is no variable 'A'"),
        (lambda: Table(HALF, [A, B]), r"values of shape \(2,\); expected \(2, 2\)"),
        (lambda: Table(HALF, [A])["no", "yes"], "2 states; expected one of each of A"),
        (lambda: Table(HALF, [A]).prob(B="no"), "has no variable 'B'"),
        (lambda: Table(HALF, [A]).transpose(["B"]), "expected all of A"),
        (lambda: student().cpd("S").table.prob(S="s1"), "conditioned on I; give its state"),
        (lambda: student().cpd("S").table.marginal("S"), "conditioned on I; keep it"),
        (lambda: BayesianNetwork.from_dict({"cpds": {}}), "the dict has no 'variables'"),
        (lambda: BayesianNetwork.from_dict({"variables": {"A": ["x"]}, "cpds": {}}), "A has no CPD"),
        (
            lambda: BayesianNetwork.from_dict({"variables": {"A": ["x"]}, "cpds": {"A": {"parents": ["B"]}}}),
            "'B', named with the CPD of A",
        ),
        (
            lambda: BayesianNetwork.from_dict({"variables": {"A": ["x"]}, "cpds": {"A": {}}}),
            "the CPD of A has no 'values'",
        ),
    ],
)
def test_bad_input_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make", [lambda: Variable("A", "ab"), lambda: Structure([A, B], {"A": "B"})])
def test_a_text_is_no_list_of_names(make):
    with pytest.raises(TypeError, match="expected a list of names"):
        make()


@pytest.mark.parametrize("make", [lambda: CPD("A", [], HALF), lambda: CPD(A, ["B"], [HALF] * 2)])
def test_a_name_is_no_variable(make):
    with pytest.raises(TypeError, match="is a str; a CPD is of Variables"):
        make()


def printed_by(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_imports_no_library_of_learning():
    modules = printed_by("import sys, isogloss.graphical; print(*sys.modules)")
    assert not {"sklearn", "scipy", "pandas", "dask", "cotengra", "isogloss.em"} & modules


def test_the_package_lists_what_is_not_imported_yet():
    assert set(graphical.__all__) <= printed_by("import isogloss.graphical as g; print(*dir(g))")
    assert all(hasattr(graphical, name) for name in graphical.__all__)


def test_nothing_can_be_changed():
    network = student()
    for array in (network.cpds[0].values, network.cpd("G").table.values, network.cards):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        network.name = "other"
    given = np.array(HALF)
    cpd = CPD(A, [], given)
    given[0] = 1
    assert cpd.values[0] == 0.5


def test_the_order_given_is_kept_wherever_possible():
    assert Structure([C, A, B]).names == ("C", "A", "B")
    assert Structure([C, A, B], {"C": ["B"]}).names == ("A", "B", "C")
    assert Structure([C, B, A], {"C": ["B"], "B": ["A"]}).names == ("A", "B", "C")


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_every_variable_comes_after_its_parents(seed, n):
    network = random_network(np.random.default_rng(seed), n)
    seen = set()
    for name in network.names:
        assert seen.issuperset(network.parents(name))
        assert all(name in network.parents(child) for child in network.children(name))
        seen.add(name)
    assert BayesianNetwork(network.cpds).names == network.names
    assert sum(len(network.children(name)) for name in network.names) == len(network.edges)
    assert network.n_parameters == sum(cpd.n_parameters for cpd in network.cpds)


def test_relatives_of_a_variable():
    network = asia()
    assert network.children("smoke") == ("lung", "bronc")
    assert network.ancestors("xray") == {"either", "lung", "tub", "smoke", "asia"}
    assert network.ancestors(["tub", "lung"]) == {"asia", "smoke"}
    assert network.descendants("tub") == {"either", "xray", "dysp"}
    assert "tub" in network
    assert "X" not in network
    assert network.parent_indices[network.index("dysp")] == (network.index("bronc"), network.index("either"))
    assert network.child_indices[network.index("asia")] == (network.index("tub"),)


def test_axes_of_a_table_have_names():
    table = student().cpd("G").table
    assert table["i0", "d1", "g3"] == 0.7 == table.prob(D="d1", G="g3", I="i0")
    assert table.transpose(["G", "D", "I"])["g3", "d1", "i0"] == 0.7
    assert table.select(I="i1").given == ("D",)
    assert table.select({"I": "i1"}, D="d0").to_dict() == {"g1": 0.9, "g2": 0.08, "g3": 0.02}
    assert table.to_dict()["i1"]["d0"]["g1"] == 0.9
    assert table.title == "P(G | I, D)"
    assert np.asarray(table).sum() == pytest.approx(4)


def test_a_table_sums_out_what_is_not_named(rng):
    p = rng.random((2, 2, 2))
    table = Table(p, [A, B, C])
    np.testing.assert_allclose(table.marginal(["C", "A"]).values, p.sum(axis=1).T)
    assert table.prob(B="yes") == pytest.approx(p[:, 1].sum())
    assert table.best() == {
        v.name: v.states[c] for v, c in zip((A, B, C), np.unravel_index(p.argmax(), p.shape), strict=True)
    }


def test_a_printed_table_is_aligned_and_keeps_small_numbers():
    table = Table([1 - 1e-9, 1e-9], [Variable("A", ["a<b", "long name"])])
    assert str(table).split("\n") == ["A          P(A)", "a<b        1.0000", "long name  1.0e-09"]
    assert "<td>a&lt;b</td>" in table._repr_html_()


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 7))
def test_networks_survive_dicts_files_and_pickles(tmp_path_factory, seed, n):
    network = random_network(np.random.default_rng(seed), n, zeros=0.2)
    path = tmp_path_factory.mktemp("networks") / "a.isogloss"
    io.save(network, path)
    copies = [
        BayesianNetwork.from_dict(network.to_dict()),
        io.load(path, expected=BayesianNetwork),
        pickle.loads(pickle.dumps(network)),
    ]
    for copy in copies:
        assert copy == network
        assert hash(copy) == hash(network)
        assert copy.structure == network.structure
    assert network != BayesianNetwork(network.cpds, "another name")
    io.save(network.structure, path)
    assert io.load(path, expected=Structure) == network.structure


def test_a_model_file_with_bad_probabilities_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(CPD, "_check_values", lambda self: None)
    io.save(BayesianNetwork([CPD(A, [], [0.5, 0.6])]), tmp_path / "bad")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"sum to 1\.1"):
        io.load(tmp_path / "bad")


def test_networks_with_other_numbers_differ():
    network = student()
    other = network.replace([CPD(network.variable("D"), [], HALF)])
    assert other != network
    assert other.structure == network.structure
    assert other.cpd("G") is network.cpd("G")
    assert network.cpd("D") != "D"
    assert network != "student"


def test_names_are_safe_in_latex():
    rain = Variable("rain_today 50%", ["no", "yes"])
    printed = Structure([rain, A], {"A": [rain.name]}).factorisation(latex=True)
    assert printed.endswith(r"P(\mathit{rain\_today\ 50\%})\,P(A \mid \mathit{rain\_today\ 50\%})")
