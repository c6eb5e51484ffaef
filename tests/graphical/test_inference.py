"""Exact inference against enumeration of the joint table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isogloss.graphical.inference._batched as batched
from isogloss.graphical import CPD, BayesianNetwork, Inference, Variable, student
from isogloss.graphical.inference import JunctionTree, Relevance
from isogloss.graphical.inference._contraction import BATCH, Contraction
from isogloss.graphical.inference._relevance import bits, mask_of
from tests.oracles.enumerate_network import (
    best_configuration,
    joint_table,
    posterior,
    random_network,
    row_probability,
)

EXACT = 1e-12


@st.composite
def networks(draw, most=12):
    """A network of up to twelve variables, dense or sparse, with zeros or without."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, most))
    max_card = 3 if n < 9 else 2
    zeros = draw(st.sampled_from([0.0, 0.2]))
    return random_network(rng, n, max_card=max_card, max_parents=draw(st.integers(0, 4)), zeros=zeros), rng


def questions(network, rng):
    """Variables to ask for, and codes of some others."""
    names = [str(name) for name in rng.permutation(network.names)]
    k = int(rng.integers(1, min(3, len(names)) + 1))
    observed = names[k : k + int(rng.integers(0, len(names) - k + 1))]
    return names[:k], {name: int(rng.integers(network.variable(name).card)) for name in observed}


def states(network, codes):
    return {name: network.variable(name).states[code] for name, code in codes.items()}


def possible(network, codes):
    row = [codes.get(name, -1) for name in network.names]
    return row_probability(network, row) > 0


def rows_of(network, rng, n, gaps=0.4):
    rows = np.stack([rng.integers(0, card, n) for card in network.cards], axis=1)
    rows[rng.random(rows.shape) < gaps] = -1
    return rows


# --------------------------------------------------------------------------------------------- one question


@given(networks())
def test_posteriors_are_those_of_the_joint_table(drawn):
    network, rng = drawn
    targets, codes = questions(network, rng)
    ask, evidence = Inference(network), states(network, codes)
    if not possible(network, codes):
        with pytest.raises(ValueError, match="impossible"):
            ask.query(targets, evidence)
        with pytest.raises(ValueError, match="impossible"):
            ask.marginals(evidence)
        assert ask.probability(evidence) == 0.0
        return
    wanted = posterior(network, targets, codes)
    found = ask.query(targets, evidence)
    assert found.names == tuple(targets)
    np.testing.assert_allclose(found.values, wanted, rtol=0, atol=EXACT)
    np.testing.assert_allclose(ask.query(targets, evidence).values, wanted, rtol=0, atol=EXACT)
    total = ask.probability(evidence)
    np.testing.assert_allclose(ask.joint(targets, evidence).values, wanted * total, rtol=0, atol=EXACT)
    for name, table in ask.marginals(evidence).items():
        np.testing.assert_allclose(table.values, posterior(network, [name], codes), rtol=0, atol=EXACT)


@given(networks(most=10))
def test_the_most_probable_states_are_those_of_the_joint_table(drawn):
    network, rng = drawn
    targets, codes = questions(network, rng)
    ask, evidence = Inference(network), states(network, codes)
    if not possible(network, codes):
        with pytest.raises(ValueError, match="impossible"):
            ask.map(evidence)
        return
    everything, some = ask.map(evidence), ask.map(evidence, targets)
    assert everything.states.keys() == set(network.names) - codes.keys()
    assert list(some.states) == targets
    for found, variables in ((everything, None), (some, [*targets, *codes])):
        best = best_configuration(network, codes, variables)
        np.testing.assert_allclose(found.probability, best, rtol=EXACT)
        np.testing.assert_allclose(ask.probability({**found.states, **evidence}), best, rtol=1e-10)


def test_the_values_of_the_textbook():
    ask = Inference(student())
    known = [
        ("L", "l1", {}, 0.502),
        ("L", "l1", {"I": "i0"}, 0.389),
        ("L", "l1", {"I": "i0", "D": "d0"}, 0.513),
        ("I", "i1", {"G": "g3"}, 0.079),
        ("D", "d1", {"G": "g3"}, 0.629),
        ("I", "i1", {"G": "g3", "S": "s1"}, 0.578),
        ("D", "d1", {"G": "g3", "S": "s1"}, 0.760),
    ]
    for name, state, evidence, value in known:
        assert round(ask.query(name, evidence)[state], 3) == value


def test_the_order_of_evidence_and_of_variables_does_not_matter():
    ask = Inference(student())
    one = ask.query(["I", "D"], {"G": "g3", "S": "s1"})
    other = ask.query(["D", "I"], {"S": "s1", "G": "g3"})
    np.testing.assert_allclose(one.values, other.values.T, rtol=EXACT)
    third = ask.query(["D", "I"], {"G": "g1", "S": "s1"})
    np.testing.assert_allclose(third.values, posterior(student(), ["D", "I"], {"G": 0, "S": 1}), rtol=EXACT)


def test_evidence_far_from_the_question_may_make_it_impossible():
    coin, copy, again, other = (Variable(n, ["no", "yes"]) for n in ("coin", "copy", "again", "other"))
    network = BayesianNetwork(
        [
            CPD(coin, [], [0.5, 0.5]),
            CPD(copy, [coin], np.eye(2)),
            CPD(again, [coin], np.eye(2)),
            CPD(other, [], [0.2, 0.8]),
        ]
    )
    ask = Inference(network)
    with pytest.raises(ValueError, match="again=yes, given copy=no, has probability 0"):
        ask.query("other", {"copy": "no", "again": "yes"})
    with pytest.raises(ValueError, match="copy=no, given coin=yes, has probability 0"):
        ask.query("other", {"coin": "yes", "copy": "no"})
    assert ask.query("other", {"coin": "yes", "copy": "yes"})["yes"] == 0.8


def test_questions_that_make_no_sense_are_refused():
    ask = Inference(student())
    for bad, message in [
        (lambda: ask.query("X"), "no variable 'X'"),
        (lambda: ask.query("I", {"G": "g9"}), "G has no state 'g9'"),
        (lambda: ask.query("I", {"I": "i0"}), "both asked for and observed"),
        (lambda: ask.query(["I", "I"]), "asked for twice"),
        (lambda: ask.query([]), "no variables"),
        (lambda: ask.map({}, ["X"]), "no variable 'X'"),
        (lambda: ask.batch("I", [{"G": "g9"}]), "G has no state 'g9'"),
    ]:
        with pytest.raises(ValueError, match=message):
            bad()
    with pytest.raises(TypeError, match="list of names"):
        ask.map({}, "I")
    for bad in (lambda: ask.query("I", "G"), lambda: ask.map("G"), lambda: ask.marginals("G")):
        with pytest.raises(TypeError, match="evidence='G'; expected a dict"):
            bad()


# ---------------------------------------------------------------------------------------------- many rows


@pytest.mark.parametrize("compiled", [0, 20_000, 10**12], ids=["by kind", "mixed", "whole tree"])
@given(drawn=networks(most=7))
def test_batches_are_row_by_row(compiled, drawn):
    network, rng = drawn
    rows, ask = rows_of(network, rng, 20), Inference(network)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batched.split_rare, "__defaults__", (compiled,))
        together = ask.batch(list(network.names), rows)
        alone = ask.batch(network.names[0], rows)[network.names[0]]
        likelihoods = ask.log_likelihood(rows)
    np.testing.assert_allclose(
        np.exp(likelihoods), [row_probability(network, row) for row in rows], rtol=0, atol=EXACT
    )
    for row, values in zip(rows, alone, strict=True):
        _check_row(network, row, network.names[0], values)
    for name, found in together.items():
        for row, values in zip(rows, found, strict=True):
            _check_row(network, row, name, values)


def _check_row(network, row, name, values):
    codes = {n: int(c) for n, c in zip(network.names, row, strict=True) if c >= 0}
    if possible(network, codes):
        np.testing.assert_allclose(values, posterior(network, [name], codes), rtol=0, atol=EXACT)


@pytest.mark.parametrize("compiled", [0, 10**12], ids=["by kind", "whole tree"])
def test_impossible_rows_are_nan_and_observed_variables_certain(compiled, monkeypatch):
    monkeypatch.setattr(batched.split_rare, "__defaults__", (compiled,))
    coin, copy = (Variable(n, ["no", "yes"]) for n in ("coin", "copy"))
    third = Variable("third", ["a", "b"])
    network = BayesianNetwork(
        [CPD(coin, [], [0.5, 0.5]), CPD(copy, [coin], np.eye(2)), CPD(third, [coin], [[1, 0], [0.5, 0.5]])]
    )
    rows = [{"copy": "no", "third": "b"}, {"copy": "yes"}, {"coin": "yes"}]
    found = Inference(network).batch("coin", rows)["coin"]
    np.testing.assert_array_equal(found, [[np.nan, np.nan], [0, 1], [0, 1]])
    assert Inference(network).log_likelihood(rows)[0] == -np.inf


def test_thousands_of_improbable_observations_do_not_underflow():
    """A chain of 400 variables whose observations have probability 1e-3 each."""
    n = 400
    hidden = [Variable(f"h{k}", ["a", "b"]) for k in range(n)]
    seen = [Variable(f"o{k}", ["x", "y"]) for k in range(n)]
    cpds = [CPD(hidden[0], [], [0.5, 0.5])]
    cpds += [CPD(hidden[k], [hidden[k - 1]], [[0.9, 0.1], [0.2, 0.8]]) for k in range(1, n)]
    cpds += [CPD(seen[k], [hidden[k]], [[0.999, 0.001], [0.998, 0.002]]) for k in range(n)]
    network = BayesianNetwork(cpds)
    ask, evidence = Inference(network), {f"o{k}": "y" for k in range(n)}
    alpha, scale = np.array([0.5, 0.5]), 0.0
    for k in range(n):
        alpha = (alpha if k == 0 else alpha @ np.array([[0.9, 0.1], [0.2, 0.8]])) * [0.001, 0.002]
        scale, alpha = scale + np.log(alpha.sum()), alpha / alpha.sum()
    last = f"h{n - 1}"
    np.testing.assert_allclose(ask.query(last, evidence).values, alpha, rtol=1e-10)
    np.testing.assert_allclose(ask.log_probability(evidence), scale, rtol=1e-12)
    np.testing.assert_allclose(ask.log_likelihood([evidence]), [scale], rtol=1e-12)
    np.testing.assert_allclose(ask.batch(last, [evidence, {}])[last][0], alpha, rtol=1e-10)
    np.testing.assert_allclose(ask.marginals(evidence)[last].values, alpha, rtol=1e-10)
    assert ask.map(evidence).log_probability < scale


# --------------------------------------------------------------------------------------------- the parts


@given(st.integers(0, 2**32 - 1))
def test_contractions_equal_one_einsum(seed):
    rng = np.random.default_rng(seed)
    sizes = {axis: int(rng.integers(1, 5)) for axis in range(6)}
    scopes = [tuple(rng.permutation(6)[: rng.integers(1, 4)].tolist()) for _ in range(rng.integers(1, 6))]
    with_cases = rng.random(len(scopes)) < 0.5
    used = sorted({axis for scope in scopes for axis in scope})
    output = tuple(rng.permutation(used)[: rng.integers(0, 3)].tolist())
    tables = [
        rng.random([sizes[a] for a in s] + [7] * int(b)) for s, b in zip(scopes, with_cases, strict=True)
    ]
    named = [(*s, BATCH) if b else s for s, b in zip(scopes, with_cases, strict=True)]
    result = (*output, BATCH) if with_cases.any() else output
    constants = {k: tables[k] for k in range(len(scopes)) if rng.random() < 0.3}
    given_tables = [table for k, table in enumerate(tables) if k not in constants]
    letters = [[9 if a == BATCH else a for a in s] for s in named]
    plain = [part for pair in zip(tables, letters, strict=True) for part in pair]
    wanted = np.einsum(*plain, [9 if a == BATCH else a for a in result])
    contraction = Contraction(named, sizes, result, constants)
    np.testing.assert_allclose(contraction(given_tables), wanted, rtol=1e-12)
    scaled, log_scale = contraction.scaled(given_tables)
    np.testing.assert_allclose(scaled * np.exp(log_scale), wanted, rtol=1e-12)


def test_products_over_a_grid_stay_small():
    """Eliminating a 6 x 6 grid needs no table over more than seven of its variables."""
    n = 6
    cells = [(n * row + column) for row in range(n) for column in range(n)]
    edges = [(a, b) for a in cells for b in (a + 1, a + n) if b in cells and (b == a + n or b % n)]
    sizes = dict.fromkeys(cells, 2)
    assert Contraction(edges, sizes, (0,)).largest <= 2**7
    assert Contraction([(*edge, BATCH) for edge in edges], sizes, (0, BATCH)).largest <= 2**7


def test_large_tables_go_through_matrix_products(rng):
    sizes = dict.fromkeys(range(4), 20)
    a, b, c = rng.random((20, 20, 20)), rng.random((20, 20, 20)), rng.random((20, 20))
    wanted = np.einsum("abc,bcd,db->ad", a, b, c)
    np.testing.assert_allclose(
        Contraction([(0, 1, 2), (1, 2, 3), (3, 1)], sizes, (0, 3))([a, b, c]), wanted, rtol=1e-12
    )


def test_a_junction_tree_takes_forests_and_numbers(rng):
    tables = [rng.random((2, 3, 1)), rng.random((3, 5)), rng.random((4, 5)), rng.random(5)]
    tree = JunctionTree([(0, 1), (1,), (2,), ()], {0: 2, 1: 3, 2: 4})
    found = tree.calibrate(tables)
    joint = np.einsum("abx,bx,cx,x->abcx", np.broadcast_to(tables[0], (2, 3, 5)), *tables[1:])
    np.testing.assert_allclose(np.exp(found.log_z), joint.sum(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(tree.calibrate(tables, outward=False).log_z, found.log_z, rtol=1e-12)
    normal = joint / joint.sum(axis=(0, 1, 2))
    np.testing.assert_allclose(found.marginal((1, 0)), normal.sum(axis=2).transpose(1, 0, 2), rtol=1e-12)
    np.testing.assert_allclose(found.marginal((2,)), normal.sum(axis=(0, 1)) + np.zeros(5), rtol=1e-12)


@given(networks(most=8))
def test_parts_hold_what_matters_and_nothing_else(drawn):
    """Parts do not overlap, share no table, and leave out only barren variables."""
    network, rng = drawn
    relevance = Relevance(network)
    observed = mask_of(np.flatnonzero(rng.random(len(network)) < 0.4).tolist())
    parts = relevance.parts(observed)
    assert (
        sum(part.hidden.bit_count() for part in parts)
        == mask_of(v for part in parts for v in bits(part.hidden)).bit_count()
    )
    assert (
        sum(part.families.bit_count() for part in parts)
        == mask_of(f for part in parts for f in bits(part.families)).bit_count()
    )
    left_out = relevance.everything & ~observed & ~mask_of(v for p in parts for v in bits(p.hidden))
    for v in bits(left_out):
        below = network.descendants(network.names[v])
        assert not any(observed >> network.index(name) & 1 for name in below)
    assert joint_table(network).sum() == pytest.approx(1)
