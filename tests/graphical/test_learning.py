"""Learning probabilities: counts, EM, scores and trees."""

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import isogloss.graphical.learning._em_steps as em_steps
from isogloss.engine import Batches, LocalEngine, Rows
from isogloss.graphical import (
    CPD,
    BayesianNetwork,
    FamilyCounts,
    Inference,
    NetworkLearner,
    NetworkParameters,
    Structure,
    Variable,
    asia,
    bdeu,
    bic,
    chow_liu,
    compare_structures,
    decode,
    likelihood_weighting,
    mutual_information,
    sample,
    student,
)
from isogloss.graphical.inference import Relevance
from isogloss.graphical.learning._em_steps import collapse, expect
from isogloss.graphical.learning._layout import Layout
from isogloss.graphical.learning._scores import log_likelihood
from tests.oracles.enumerate_network import expected_counts, posterior, random_network


def with_gaps(rows, rng, share):
    rows = rows.copy()
    rows[rng.random(rows.shape) < share] = -1
    return rows


def theta_of(network):
    return Layout.of(network).vector([cpd.values for cpd in network.cpds])


# ----------------------------------------------------------------------------------------------- counting


def test_maximum_likelihood_is_the_frequency(rng):
    network = student()
    rows = sample(network, 500, random_state=0)
    learned = NetworkLearner(network).fit(rows).network_
    for i in range(2):
        for d in range(2):
            chosen = rows[(rows[:, network.index("I")] == i) & (rows[:, network.index("D")] == d)]
            found = np.bincount(chosen[:, network.index("G")], minlength=3) / len(chosen)
            np.testing.assert_allclose(learned.cpd("G").values[i, d], found, rtol=1e-14)


def test_rows_of_every_form_teach_the_same():
    network = student()
    rows = sample(network, 60, random_state=1)
    dicts = decode(network, rows)
    columns = {name: [row[name] for row in dicts] for name in reversed(network.names)}
    expected = NetworkLearner(network, smoothing=1).fit(rows).network_
    assert NetworkLearner(network, smoothing=1).fit(dicts).network_ == expected
    assert NetworkLearner(network.structure, smoothing=1).fit(columns).network_ == expected
    assert NetworkLearner(network, smoothing=1).fit(Batches([dicts[:7], dicts[7:]])).network_ == expected


def test_smoothing_adds_to_every_cell_and_unseen_parents_are_uniform():
    a, b = Variable("a", ["x", "y"]), Variable("b", ["p", "q", "r"])
    graph, rows = Structure([a, b], {"b": ["a"]}), {"a": ["x", "x"], "b": ["p", "q"]}
    np.testing.assert_allclose(NetworkLearner(graph).fit(rows).network_.cpd("b").values[1], 1 / 3)
    smooth = NetworkLearner(graph, smoothing=0.5).fit(rows).network_
    np.testing.assert_allclose(smooth.cpd("a").values, [2.5 / 3, 0.5 / 3])
    np.testing.assert_allclose(smooth.cpd("b").values[0], [1.5 / 3.5, 1.5 / 3.5, 0.5 / 3.5])


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_family_counts_add_and_subtract_to_the_bit(seed, cuts):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    rows = np.stack([rng.integers(0, card, 40) for card in network.cards], axis=1)
    whole = FamilyCounts(network).update(rows)
    pieces = [FamilyCounts(network).update(part) for part in np.split(rows, sorted(cuts))]
    total = FamilyCounts(network)
    for piece in pieces:
        total.merge(piece)
    same(total, whole)
    same(FamilyCounts.from_arrays(whole.arrays()), whole)
    same(total.subtract(pieces[0]).merge(pieces[0]), whole)


def same(a, b):
    assert a.arrays().keys() == b.arrays().keys()
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name])


def test_counts_of_other_graphs_and_bad_rows_are_refused():
    counts = FamilyCounts(student()).update(sample(student(), 5, random_state=0))
    with pytest.raises(ValueError, match="another graph"):
        counts.merge(FamilyCounts(asia()))
    with pytest.raises(ValueError, match="more than was counted"):
        FamilyCounts(student()).subtract(counts)
    with pytest.raises(ValueError, match="complete rows"):
        counts.update(np.full((1, 5), -1))
    with pytest.raises(ValueError, match="5 columns"):
        counts.update(np.zeros((2, 3), dtype=int))
    assert counts.rows == 5


def test_pieces_teach_the_same_as_the_whole():
    network = asia()
    rows = sample(network, 300, random_state=2)
    whole = NetworkLearner(network, smoothing=1).fit(rows)
    pieces = NetworkLearner(network, smoothing=1)
    for part in np.array_split(rows, 7):
        pieces.partial_fit(part)
    assert pieces.network_ == whole.network_
    assert pieces.n_rows_ == 300
    assert pieces.log_likelihood_ == whole.log_likelihood_
    batches = NetworkLearner(network, smoothing=1, batch_rows=11, engine=LocalEngine(2)).fit(rows)
    assert batches.network_ == whole.network_
    with pytest.raises(ValueError, match="complete rows"):
        pieces.partial_fit(np.full((1, 8), -1))


# ----------------------------------------------------------------------------------------------------- EM


@pytest.mark.parametrize("per_table", [0, 2000, 10**12], ids=["by kind", "mixed", "whole tree"])
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_expected_counts_are_those_of_enumeration(per_table, seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(2, 6)))
    rows = with_gaps(np.stack([rng.integers(0, c, 12) for c in network.cards], axis=1), rng, 0.4)
    rows = np.concatenate([rows, rows[:5]])
    layout, relevance = Layout.of(network), Relevance(network)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(em_steps, "_ENTRIES_PER_TABLE", per_table)
        collapsed = collapse(rows, layout, relevance)
    found = expect(layout, relevance, collapsed, NetworkParameters(theta_of(network)))
    _, likelihood = expected_counts(network, rows)
    np.testing.assert_allclose(found.log_likelihood, likelihood, rtol=1e-10)
    for v, (name, table) in enumerate(zip(network.names, layout.tables(found["counts"]), strict=True)):
        says_something = [row for row in rows if informative(network, row, v)]
        wanted, _ = expected_counts(network, says_something)
        np.testing.assert_allclose(table, wanted[name], rtol=1e-9, atol=1e-12)


def informative(network, row, v):
    """Whether a variable or one of its descendants is observed."""
    below = [network.index(name) for name in network.descendants(network.names[v])]
    return row[v] >= 0 or any(row[u] >= 0 for u in below)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5]), st.booleans())
def test_the_bound_never_falls_and_is_the_likelihood(seed, smoothing, accelerate):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 5)
    rows = with_gaps(sample(network, 80, random_state=seed % 1000), rng, 0.3)
    if rows.min() >= 0:
        return
    learner = NetworkLearner(
        network, smoothing=smoothing, accelerate=accelerate, tol=1e-7, max_iter=3000, random_state=0
    ).fit(rows)
    bounds = np.array([line.bound for line in learner.trace_])
    assert np.diff(bounds).min(initial=0) >= -1e-9 * abs(bounds[0])
    np.testing.assert_allclose(learner.log_likelihood_, learner.score(rows) * len(rows), rtol=1e-9)
    exact = [line.free_energy.kl for line in learner.trace_]
    np.testing.assert_allclose(exact, 0, atol=1e-8)


def hidden_class(rng, states=3, n=6):
    """A hidden class with observed children that tell the classes apart."""
    hidden = Variable("class", [f"c{k}" for k in range(states)])
    cpds = [CPD(hidden, [], [0.5, 0.3, 0.2])]
    for k in range(n):
        values = np.full((states, 3), 0.1)
        values[np.arange(states), rng.permutation(3)] = 0.8
        cpds.append(CPD(Variable(f"x{k}", ["a", "b", "c"]), [hidden], values))
    return BayesianNetwork(cpds)


def test_a_planted_hidden_variable_is_found(rng):
    network = hidden_class(rng)
    rows = sample(network, 20_000, random_state=3)
    learner = NetworkLearner(
        network.structure, hidden=["class"], n_init=4, tol=1e-8, max_iter=2000, random_state=0
    ).fit(rows)
    found = learner.network_
    prior = found.cpd("class").values
    order = np.argsort(-prior)
    np.testing.assert_allclose(prior[order], [0.5, 0.3, 0.2], atol=0.02)
    for k in range(6):
        name = f"x{k}"
        np.testing.assert_allclose(found.cpd(name).values[order], network.cpd(name).values, atol=0.03)
    blank = rows.copy()
    blank[:, 0] = -1
    assert learner.log_likelihood_ > Inference(network).log_likelihood(blank).sum()


def test_two_linked_hidden_variables_and_scattered_gaps_beat_the_truth(rng):
    """The maximum of the likelihood is above the parameters that made the rows."""
    network = asia()
    rows = sample(network, 3000, random_state=4)
    linked, scattered = rows.copy(), with_gaps(rows, rng, 0.2)
    linked[:, [network.index("lung"), network.index("either")]] = -1
    for data in (linked, scattered):
        truth = Inference(network).log_likelihood(data).sum()
        learner = NetworkLearner(network, warm_start=True, tol=1e-7, max_iter=5000).fit(data)
        assert learner.log_likelihood_ >= truth
        assert learner.converged_


def test_gaps_at_random_cost_little(rng):
    network = student()
    rows = with_gaps(sample(network, 20_000, random_state=5), rng, 0.2)
    learned = NetworkLearner(network.structure, random_state=0).fit(rows).network_
    for name in network.names:
        np.testing.assert_allclose(learned.cpd(name).values, network.cpd(name).values, atol=0.05)


def test_batches_and_engines_do_not_matter(rng):
    network = student()
    rows = with_gaps(sample(network, 400, random_state=6), rng, 0.3)
    one = NetworkLearner(network, random_state=0, tol=1e-7).fit(rows)
    for engine, batch_rows in ((LocalEngine(2), 37), (None, 101)):
        many = NetworkLearner(network, random_state=0, tol=1e-7, batch_rows=batch_rows, engine=engine).fit(
            rows
        )
        np.testing.assert_allclose(theta_of(many.network_), theta_of(one.network_), atol=1e-6)
        np.testing.assert_allclose(many.log_likelihood_, one.log_likelihood_, rtol=1e-9)


def test_several_starts_keep_the_best(rng):
    network = hidden_class(rng)
    rows = sample(network, 300, random_state=7)
    last_is_best = []
    for seed in range(3):
        ends = []
        learner = NetworkLearner(network, hidden=["class"], n_init=4, random_state=seed)
        learner.fit(rows, callbacks=[lambda line, _, ends=ends: note_end(ends, line)])
        assert len(ends) == 4
        assert learner.log_likelihood_ == pytest.approx(max(ends), rel=1e-12)
        last_is_best.append(ends[-1] > max(ends) - 1e-6)
    assert not all(last_is_best), "the rows do not tell the best start from the last"


def note_end(ends, line):
    """Keep the last bound of every start."""
    if line.index == 0:
        ends.append(line.bound)
    ends[-1] = line.bound


def test_the_learner_keeps_scikit_learns_manners(rng):
    network = student()
    rows = with_gaps(sample(network, 100, random_state=8), rng, 0.2)
    before = rows.copy()
    learner = NetworkLearner(network, random_state=0)
    assert clone(learner).get_params().keys() == learner.get_params().keys()
    assert learner.fit(rows) is learner
    first = learner.network_
    assert learner.fit(rows).network_ == first
    np.testing.assert_array_equal(rows, before)
    seen = []
    learner.fit(rows, callbacks=[lambda line, parameters: seen.append(line) or len(seen) == 2])
    assert len(learner.trace_) == 2
    for bad in ({"smoothing": -1}, {"n_init": 0}, {"max_iter": -1}, {"hidden": ["X"]}, {"on_decrease": "x"}):
        with pytest.raises(ValueError, match=r"must be|no variable"):
            NetworkLearner(network, **bad).fit(rows)
    for bad in ({"structure": 3}, {"hidden": "I"}, {"structure": network.structure, "warm_start": True}):
        with pytest.raises(TypeError):
            NetworkLearner(**{"structure": network, **bad}).fit(rows)
    with pytest.raises(ValueError, match="no rows"):
        NetworkLearner(network).fit(rows[:0])


@pytest.mark.dask
@pytest.mark.slow
def test_a_killed_worker_changes_nothing(rng, dask_client):
    from isogloss.engine.dask import DaskEngine

    network = student()
    rows = with_gaps(sample(network, 2000, random_state=9), rng, 0.3)
    local = NetworkLearner(network, random_state=0, batch_rows=250).fit(rows)
    complete = NetworkLearner(network, batch_rows=250).fit(sample(network, 2000, random_state=9))
    killed = threading.Event()

    def kill_once(line, parameters):
        if line.index == 2 and not killed.is_set():
            killed.set()
            os.kill(next(iter(dask_client.run(os.getpid).values())), signal.SIGKILL)

    far = NetworkLearner(network, random_state=0, batch_rows=250, engine=DaskEngine(dask_client))
    far.fit(rows, callbacks=[kill_once])
    counted = NetworkLearner(network, batch_rows=250, engine=DaskEngine(dask_client))
    counted.fit(sample(network, 2000, random_state=9))
    assert killed.is_set()
    assert far.n_iter_ == local.n_iter_
    np.testing.assert_allclose(theta_of(far.network_), theta_of(local.network_), rtol=1e-12)
    assert counted.network_ == complete.network_


# ------------------------------------------------------------------------------- rows, scores and trees


def test_samples_have_the_frequencies_of_the_network():
    network = student()
    rows = sample(network, 200_000, random_state=10)
    for name in network.names:
        found = np.bincount(rows[:, network.index(name)], minlength=network.variable(name).card) / len(rows)
        np.testing.assert_allclose(found, posterior(network, [name]), atol=0.005)
    pair = rows[:, [network.index("I"), network.index("G")]]
    table = np.zeros((2, 3))
    np.add.at(table, tuple(pair.T), 1 / len(rows))
    np.testing.assert_allclose(table, posterior(network, ["I", "G"]), atol=0.005)
    np.testing.assert_array_equal(sample(network, 50, random_state=1), sample(network, 50, random_state=1))
    assert sample(network, 0).shape == (0, 5)
    with pytest.raises(ValueError, match="n=-1"):
        sample(network, -1)


def test_states_of_probability_zero_are_never_drawn():
    a = Variable("a", ["never", "always", "no"])
    rows = sample(BayesianNetwork([CPD(a, [], [0.0, 1.0, 0.0])]), 1000, random_state=0)
    assert (rows == 1).all()


def test_weighted_rows_estimate_the_posterior():
    network = student()
    found = likelihood_weighting(network, ["I", "D"], {"G": "g3", "L": "l0"}, n=100_000, random_state=0)
    exact = Inference(network).query(["I", "D"], {"G": "g3", "L": "l0"})
    np.testing.assert_allclose(found.table.values, exact.values, atol=0.01)
    assert found.probability == pytest.approx(
        Inference(network).probability({"G": "g3", "L": "l0"}), abs=0.01
    )
    assert 1000 < found.effective_rows < 100_000
    zero = BayesianNetwork([CPD(Variable("a", ["x", "y"]), [], [1.0, 0.0]), *network.cpds])
    with pytest.raises(ValueError, match="impossible"):
        likelihood_weighting(zero, "I", {"a": "y"}, random_state=0)
    for variables, n in (([], 10), ("I", 0)):
        with pytest.raises(ValueError, match="at least one of each"):
            likelihood_weighting(network, variables, n=n)


def test_scores_by_hand():
    a, b = Variable("a", ["x", "y"]), Variable("b", ["p", "q"])
    rows = {"a": ["x", "x", "x", "y"], "b": ["p", "p", "q", "q"]}
    apart, together = Structure([a, b]), Structure([a, b], {"b": ["a"]})
    likelihood = 3 * np.log(3 / 4) + np.log(1 / 4) + 4 * np.log(1 / 2)
    assert log_likelihood(apart, rows) == pytest.approx(likelihood)
    assert bic(apart, rows) == pytest.approx(likelihood - np.log(4))
    # One imagined row: alpha 1/2 per cell of a root; 1/4 per cell of b given a.
    root = np.log([0.5 / 1, 1.5 / 2, 2.5 / 3, 0.5 / 4]).sum()
    child = np.log([0.25 / 0.5, 1.25 / 1.5, 0.25 / 2.5]).sum() + np.log(0.5)
    assert bdeu(together, rows, sample_size=1) == pytest.approx(root + child)
    with pytest.raises(ValueError, match="sample_size=0"):
        bdeu(apart, rows, sample_size=0)


def test_equivalent_graphs_score_the_same_and_the_true_one_best():
    network = student()
    rows = sample(network, 5000, random_state=11)
    mind, score_ = network.variable("I"), network.variable("S")
    there, back = Structure([mind, score_], {"S": ["I"]}), Structure([score_, mind], {"I": ["S"]})
    two = {name: [row[name] for row in decode(network, rows)] for name in ("I", "S")}
    for score in (bic, bdeu):
        assert score(there, two) == pytest.approx(score(back, two), rel=1e-12)
    missing_edge = {name: network.parents(name) for name in network.names} | {"G": ["I"]}
    one_more = {name: network.parents(name) for name in network.names} | {"L": ["G", "S"]}
    graphs = {
        "true": network,
        "missing": Structure(network.variables, missing_edge),
        "more": Structure(network.variables, one_more),
    }
    lines = compare_structures(graphs, rows)
    assert lines[0]["name"] == "true"
    assert max(lines, key=lambda line: line["bdeu"])["name"] == "true"
    assert max(lines, key=lambda line: line["log_likelihood"])["name"] == "more"
    assert compare_structures(graphs, decode(network, rows)) == lines


def test_codes_and_counts_of_other_graphs_are_not_scored():
    network = student()
    rows = sample(network, 50, random_state=0)
    tree = chow_liu(network, rows, root="L")
    with pytest.raises(ValueError, match="codes do not mean the same"):
        compare_structures({"student": network, "tree": tree}, rows)
    assert len(compare_structures({"student": network, "tree": tree}, decode(network, rows))) == 2
    with pytest.raises(ValueError, match="counts of another graph"):
        bic(tree, FamilyCounts(network).update(rows))


def test_no_rows_have_no_score():
    for score in (bic, bdeu):
        with pytest.raises(ValueError, match="there are no rows"):
            score(student(), sample(student(), 0))


def test_a_planted_tree_is_found_from_any_root(rng):
    variables = [Variable(f"x{k}", ["a", "b", "c"]) for k in range(7)]
    parents = {k: int(rng.integers(k)) for k in range(1, 7)}
    noisy = 0.7 * np.eye(3) + 0.1
    cpds = [CPD(variables[0], [], [0.3, 0.3, 0.4])]
    cpds += [CPD(variables[k], [variables[p]], noisy) for k, p in parents.items()]
    network = BayesianNetwork(cpds)
    rows = sample(network, 5000, random_state=12)
    edges = {frozenset(edge) for edge in network.edges}
    trees = [chow_liu(network, rows), chow_liu(network, with_gaps(rows, rng, 0.1), root="x5")]
    for tree in trees:
        assert {frozenset(edge) for edge in tree.edges} == edges
    assert trees[1].parents("x5") == ()
    named = decode(network, rows)
    other = chow_liu(network, named, root="x3")
    assert log_likelihood(trees[0], named) == pytest.approx(log_likelihood(other, named))
    assert log_likelihood(other, named) > log_likelihood(Structure(variables), named)


def test_mutual_information_by_hand():
    a, b = Variable("a", ["x", "y"]), Variable("b", ["p", "q"])
    rows = {"a": ["x", "x", "y", "y"], "b": ["p", "p", "q", "q"]}
    np.testing.assert_allclose(mutual_information(Structure([a, b]), rows), np.log(2))
    rows["b"] = ["p", "q", "p", "q"]
    np.testing.assert_allclose(mutual_information(Structure([a, b]), rows)[0, 1], 0, atol=1e-15)


def test_a_source_of_rows_is_read_as_it_comes():
    rows = sample(student(), 100, random_state=13)
    source = Rows(rows, batch_rows=9)
    assert NetworkLearner(student()).fit(source).network_ == NetworkLearner(student()).fit(rows).network_
