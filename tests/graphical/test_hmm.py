"""The hidden Markov model: against slow twins, against its own graph, and by what EM must keep."""

import itertools
import os
import pickle
import signal
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from isogloss import io
from isogloss.engine import Batches
from isogloss.graphical import Sequences, encode_sequences
from isogloss.kernels import hmm_best_paths, hmm_expect, hmm_posteriors
from isogloss.sequences import DiscreteHMM
from isogloss.sequences._hmm_steps import count_labelled, hmm_model
from tests.oracles import hmm as oracle

NO_LABELS = np.empty(0, dtype=np.int32)


def chain(rng, k, v):
    """A random chain; emissions have a row per symbol, as the kernels want them."""
    emission = np.ascontiguousarray(rng.dirichlet(np.ones(v), k).T)
    return rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), emission


def text(rng, k, v, lengths, *, labelled):
    """Random codes, some missing, and labels of some places."""
    n = int(np.sum(lengths))
    codes = rng.integers(-1, v, n).astype(np.int32)
    labels = np.where(rng.random(n) < 0.15, rng.integers(0, k, n), -1).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return codes, labels if labelled else NO_LABELS, offsets


def parts(values, offsets):
    return np.split(values, offsets[1:-1])


def all_labels(labels, codes):
    return labels if len(labels) else np.full(len(codes), -1)


def run_expect(codes, labels, offsets, weights, tables, threads):
    k, v = len(tables[0]), len(tables[2])
    out = np.zeros(k), np.zeros((k, k)), np.zeros((v, k)), np.zeros(len(weights))
    hmm_expect(codes, labels, offsets, weights, *tables, threads, *out)
    return out


shapes = pytest.mark.parametrize(("k", "v"), [(1, 3), (2, 4), (4, 2), (5, 7), (9, 30)])
labelled = pytest.mark.parametrize("labelled", [False, True])


@shapes
@labelled
def test_expected_counts_equal_the_slow_ones(rng, k, v, labelled):
    lengths = rng.integers(1, 90, 19)
    codes, labels, offsets = text(rng, k, v, lengths, labelled=labelled)
    tables, weights = chain(rng, k, v), rng.random(19)
    found = run_expect(codes, labels, offsets, weights, tables, 1)
    slow_labels = parts(all_labels(labels, codes), offsets)
    expected = oracle.expect(parts(codes, offsets), slow_labels, weights, *tables)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@shapes
@labelled
def test_posteriors_equal_the_slow_ones(rng, k, v, labelled):
    codes, labels, offsets = text(rng, k, v, [1, 40, 7, 7, 23], labelled=labelled)
    tables = chain(rng, k, v)
    posterior, likelihoods, alone = np.zeros((len(codes), k)), np.zeros(5), np.zeros(5)
    hmm_posteriors(codes, labels, offsets, *tables, 2, posterior, likelihoods)
    hmm_posteriors(codes, labels, offsets, *tables, 2, np.zeros((0, k)), alone)
    np.testing.assert_array_equal(alone, likelihoods)
    slow_labels = parts(all_labels(labels, codes), offsets)
    for codes_, labels_, ours, likelihood in zip(
        parts(codes, offsets), slow_labels, parts(posterior, offsets), likelihoods, strict=True
    ):
        expected, total = oracle.posteriors(codes_, labels_, *tables)
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-13)
        assert likelihood == pytest.approx(total, rel=1e-11, abs=1e-13)


@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.booleans())
def test_paths_and_likelihoods_equal_enumeration(seed, k, v, length, labelled):
    rng = np.random.default_rng(seed)
    codes, labels, offsets = text(rng, k, v, [length], labelled=labelled)
    tables = chain(rng, k, v)
    path, best, likelihood = np.zeros(length, dtype=np.int32), np.zeros(1), np.zeros(1)
    hmm_best_paths(codes, labels, offsets, *tables, 1, path, best)
    hmm_posteriors(codes, labels, offsets, *tables, 1, np.zeros((0, k)), likelihood)
    slow = all_labels(labels, codes)
    paths = dict(oracle.enumerate_paths(codes, slow, *tables))
    assert best[0] == pytest.approx(max(paths.values()), rel=1e-12, abs=1e-13)
    assert paths[tuple(path.tolist())] == pytest.approx(best[0], rel=1e-12, abs=1e-13)
    assert likelihood[0] == pytest.approx(np.logaddexp.reduce(list(paths.values())), rel=1e-12, abs=1e-13)


def test_threads_change_no_bit(rng):
    lengths = rng.integers(1, 60, 500)
    codes, labels, offsets = text(rng, 3, 5, lengths, labelled=True)
    tables, weights = chain(rng, 3, 5), rng.random(500)
    one, four = (run_expect(codes, labels, offsets, weights, tables, n) for n in (1, 4))
    for a, b in zip(one, four, strict=True):
        np.testing.assert_array_equal(a, b)


def test_long_sequences_do_not_underflow(rng):
    codes, labels, offsets = text(rng, 3, 50, [5_000], labelled=False)
    tables = chain(rng, 3, 50)
    *_, likelihood = run_expect(codes, labels, offsets, np.ones(1), tables, 1)
    assert np.isfinite(likelihood).all()
    _, total = oracle.posteriors(codes, all_labels(labels, codes), *tables)
    assert likelihood[0] == pytest.approx(total, rel=1e-11)


def test_unlikely_steps_do_not_underflow():
    tables = np.array([1.0]), np.array([[1.0]]), np.array([[1e-200], [1.0 - 1e-200]])
    offsets, likelihood = np.array([0, 5]), np.zeros(1)
    codes = np.array([0, 0, 1, 0, 0], dtype=np.int32)
    hmm_posteriors(codes, NO_LABELS, offsets, *tables, 1, np.zeros((0, 1)), likelihood)
    assert likelihood[0] == pytest.approx(4 * np.log(1e-200))


def test_kernels_refuse_codes_outside_the_tables(rng):
    tables, offsets, out = chain(rng, 2, 3), np.array([0, 2]), np.zeros(1)
    for codes, labels in (([0, 3], []), ([0, -2], []), ([0, 1], [0, 2]), ([0, 1], [0])):
        arrays = np.array(codes, dtype=np.int32), np.array(labels, dtype=np.int32)
        with pytest.raises(ValueError, match=r"code|label"):
            hmm_posteriors(*arrays, offsets, *tables, 1, np.zeros((0, 2)), out)
    with pytest.raises(ValueError, match="empty sequence"):
        hmm_posteriors(
            np.zeros(2, np.int32), NO_LABELS, np.array([0, 0, 2]), *tables, 1, np.zeros((0, 2)), out
        )


@pytest.fixture
def sentences(rng):
    return [rng.choice(list("abcd"), n).tolist() for n in rng.integers(2, 12, 60)]


def test_em_never_lets_the_bound_fall(sentences):
    for smoothing, accelerate in itertools.product((0.0, 0.5), (False, True)):
        hmm = DiscreteHMM(3, smoothing=smoothing, accelerate=accelerate, max_iter=40, tol=0, random_state=1)
        with pytest.warns(ConvergenceWarning):
            hmm.fit(sentences)
        bounds = np.array([line.bound for line in hmm.trace_])
        assert np.diff(bounds).min() >= -1e-8
        assert bounds[-1] > bounds[0] + 1


def test_bound_is_the_log_likelihood(sentences):
    hmm = DiscreteHMM(3, random_state=0, tol=1e-3).fit(sentences)
    energy = hmm.trace_[-1].free_energy
    assert energy.kl == pytest.approx(0.0, abs=1e-8)
    assert energy.log_likelihood == pytest.approx(hmm.score_samples(sentences).sum(), rel=1e-12)
    assert energy.entropy >= 0


def test_complete_labels_give_relative_frequencies():
    X, y = [["a", "b", "a"], ["b"]], [["u", "v", "v"], ["v"]]
    hmm = DiscreteHMM(2, states=["u", "v"]).fit(X, y)
    np.testing.assert_allclose(hmm.start_, [0.5, 0.5])
    np.testing.assert_allclose(hmm.transition_, [[0, 1], [0, 1]])
    np.testing.assert_allclose(hmm.emission_, [[1, 0], [1 / 3, 2 / 3]])


def test_smoothing_adds_pseudo_counts():
    X, y = [["a", "b", "a"], ["b"]], [["u", "v", "v"], ["v"]]
    hmm = DiscreteHMM(2, states=["u", "v"], smoothing=1.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(hmm.start_, [0.5, 0.5])
    np.testing.assert_allclose(hmm.transition_, [[1 / 3, 2 / 3], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(hmm.emission_, [[2 / 3, 1 / 3], [2 / 5, 3 / 5]])


def test_a_weight_is_a_repetition(sentences):
    start = DiscreteHMM(2, random_state=0, max_iter=0).fit(sentences)
    known = {f"{n}_init": getattr(start.parameters_, n) for n in ("start", "transition", "emission")}
    hmm = DiscreteHMM(2, max_iter=20, tol=1e-3, **known)
    weights = np.arange(len(sentences)) % 3
    repeated = [s for s, w in zip(sentences, weights, strict=True) for _ in range(w)]
    one, two = clone(hmm).fit(sentences, sample_weight=weights), clone(hmm).fit(repeated)
    np.testing.assert_allclose(one.emission_, two.emission_, rtol=1e-8)
    assert one.lower_bound_ == pytest.approx(two.lower_bound_, rel=1e-10)


def test_batches_are_one_batch(sentences):
    some = [[i % 2 if i % 5 == 0 else None] * len(s) for i, s in enumerate(sentences)]
    whole = DiscreteHMM(2, random_state=0, tol=1e-4).fit(sentences, some)
    cut = DiscreteHMM(2, random_state=0, tol=1e-4, batch_sequences=7).fit(sentences, some)
    np.testing.assert_allclose(cut.emission_, whole.emission_, rtol=1e-8)


def test_a_source_of_batches(rng):
    batches = [Sequences.from_lengths(rng.integers(0, 3, 40), [10] * 4) for _ in range(3)]
    codes, labels, offsets = (np.concatenate([b.codes for b in batches]), NO_LABELS, np.arange(0, 121, 10))
    one = DiscreteHMM(2, symbols=3, random_state=0).fit(Batches(batches))
    two = DiscreteHMM(2, symbols=3, random_state=0).fit(Sequences(codes, offsets, labels))
    np.testing.assert_allclose(one.transition_, two.transition_, rtol=1e-8)
    with pytest.raises(ValueError, match="symbols"):
        DiscreteHMM(2).fit(Batches(batches))


def test_steps_travel_to_workers(sentences):
    hmm = DiscreteHMM(2, random_state=0, tol=1e-2).fit(sentences)
    model, text = hmm_model(smoothing=0.5, learn=["emission"], threads=1), encode_sequences(sentences, "abcd")
    sent = pickle.loads(pickle.dumps((model, text, hmm.parameters_)))
    here, there = model.expect(text, hmm.parameters_), sent[0].expect(*sent[1:])
    np.testing.assert_array_equal(here["transition"], there["transition"])
    after = sent[0].solve(there, sent[2])
    np.testing.assert_array_equal(after.emission, model.solve(here, hmm.parameters_).emission)


def test_likelihood_and_steps_equal_hmmlearns(rng):
    peer = pytest.importorskip("hmmlearn.hmm").CategoricalHMM(3, n_iter=4, tol=-np.inf, init_params="")
    start, transition, emission = chain(rng, 3, 5)
    lengths = rng.integers(1, 30, 25)
    codes = rng.integers(0, 5, int(lengths.sum()))
    peer.startprob_, peer.transmat_, peer.emissionprob_ = start, transition, emission.T
    ours = DiscreteHMM(3, symbols=5, start_init=start, transition_init=transition, emission_init=emission.T)
    text_ = Sequences.from_lengths(codes, lengths)
    before = ours.set_params(max_iter=0).fit(text_).score_samples(text_).sum()
    assert before == pytest.approx(peer.score(codes[:, None], lengths), abs=1e-8)
    peer.fit(codes[:, None], lengths)
    with pytest.warns(ConvergenceWarning):
        ours.set_params(max_iter=4, tol=0.0).fit(text_)
    after = ours.score_samples(text_).sum()
    assert after == pytest.approx(peer.score(codes[:, None], lengths), abs=1e-8)
    assert after > before + 1


@pytest.mark.dask
@pytest.mark.slow
def test_a_killed_worker_changes_nothing(rng, dask_client):
    from isogloss.engine.dask import DaskEngine

    text_ = Sequences.from_lengths(rng.integers(0, 4, 3000), [15] * 200)
    settings = {"symbols": 4, "random_state": 0, "batch_sequences": 25, "tol": 1e-5, "max_iter": 500}
    local = DiscreteHMM(3, **settings).fit(text_)
    killed = threading.Event()

    def kill_once(line, parameters):
        if line.index == 2 and not killed.is_set():
            killed.set()
            os.kill(next(iter(dask_client.run(os.getpid).values())), signal.SIGKILL)

    far = DiscreteHMM(3, engine=DaskEngine(dask_client), **settings).fit(text_, callbacks=[kill_once])
    assert killed.is_set()
    assert far.n_iter_ == local.n_iter_
    np.testing.assert_allclose(far.transition_, local.transition_, rtol=1e-12)
    np.testing.assert_allclose(far.emission_, local.emission_, rtol=1e-12)


def test_a_planted_chain_is_found(rng):
    truth = DiscreteHMM(
        2,
        symbols="xyz",
        start_init=[0.8, 0.2],
        transition_init=[[0.9, 0.1], [0.2, 0.8]],
        emission_init=[[0.7, 0.2, 0.1], [0.05, 0.15, 0.8]],
        max_iter=0,
        random_state=3,
    ).fit([["x"]])
    X, y = truth.sample([40] * 150)
    assert {len(s) for s in X} == {40}
    hmm = DiscreteHMM(2, n_init=3, tol=1e-6, max_iter=500, accelerate=True, random_state=0).fit(X)
    order = np.argsort(hmm.emission_[:, 2])
    np.testing.assert_allclose(hmm.emission_[order], truth.emission_, atol=0.05)
    np.testing.assert_allclose(hmm.transition_[np.ix_(order, order)], truth.transition_, atol=0.05)
    agree = np.mean(
        [
            np.argsort(order)[p] == t
            for s, z in zip(X, y, strict=True)
            for p, t in zip(hmm.predict([s])[0], z, strict=True)
        ]
    )
    assert agree > 0.85


def test_partial_labels_name_the_states(rng):
    truth = DiscreteHMM(
        2,
        states=["rain", "sun"],
        symbols=["wet", "dry"],
        start_init=[0.5, 0.5],
        transition_init=[[0.8, 0.2], [0.2, 0.8]],
        emission_init=[[0.9, 0.1], [0.1, 0.9]],
        max_iter=0,
        random_state=0,
    ).fit([["wet"]])
    X, y = truth.sample([30] * 60)
    some = [[z if i < 3 else None for z in path] for i, path in enumerate(y)]
    hmm = DiscreteHMM(2, states=["rain", "sun"], symbols=["wet", "dry"], random_state=0).fit(X, some)
    np.testing.assert_allclose(hmm.emission_, truth.emission_, atol=0.07)
    assert hmm.predict([["wet"]], [["sun"]])[0].tolist() == ["sun"]


def test_zeros_of_the_start_stay(sentences):
    ladder = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    hmm = DiscreteHMM(3, transition_init=ladder, start_init=[1, 0, 0], smoothing=0.1, random_state=0)
    hmm.fit(sentences)
    assert hmm.transition_[1, 0] == hmm.transition_[2, 1] == hmm.start_[1] == 0
    assert hmm.n_parameters_ == 0 + 2 + 9


def test_acceleration_keeps_zeros(sentences):
    ladder = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    hmm = DiscreteHMM(3, transition_init=ladder, start_init=[1, 0, 0], accelerate=True, random_state=0)
    hmm.fit(sentences)
    assert "squarem" in {line.kind for line in hmm.trace_}
    assert hmm.transition_[1, 0] == hmm.transition_[2, 0] == hmm.transition_[2, 1] == hmm.start_[2] == 0


def test_labels_are_counted_within_sequences():
    text = encode_sequences([["a", "b"], ["b", "a"]], "ab").labelled([[0, 1], [0, None]], {0: 0, 1: 1})
    counts = count_labelled(2, 2, text)
    assert counts["start"].tolist() == [2, 0]
    assert counts["transition"].tolist() == [[0, 1], [0, 0]]
    assert counts["emission"].tolist() == [[1, 1], [0, 1]]
    assert counts["symbols"].tolist() == [2, 2]


def test_a_state_that_is_never_visited_keeps_its_probabilities(sentences):
    hmm = DiscreteHMM(2, start_init=[1, 0], transition_init=[[1, 0], [0.3, 0.7]], symbols="abcd")
    hmm.set_params(emission_init=[[0.25] * 4, [0.1, 0.2, 0.3, 0.4]]).fit(sentences)
    np.testing.assert_array_equal(hmm.emission_[1], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(hmm.transition_[1], [0.3, 0.7])


def test_learning_only_a_part(sentences):
    fixed = [[0.7, 0.3], [0.4, 0.6]]
    hmm = DiscreteHMM(2, transition_init=fixed, learn=["start", "emission"], random_state=0).fit(sentences)
    np.testing.assert_array_equal(hmm.transition_, fixed)


def test_unseen_symbols(sentences):
    hmm = DiscreteHMM(2, random_state=0, tol=1e-2).fit(sentences)
    with pytest.raises(ValueError, match="symbol 'q' at place 1"):
        hmm.score([["a", "q"]])
    hmm.set_params(unseen="missing")
    np.testing.assert_array_equal(hmm.score_samples([["a", "q"]]), hmm.score_samples([["a", None]]))


def test_missing_symbols_are_summed_over(sentences):
    hmm = DiscreteHMM(2, random_state=0, tol=1e-2).fit(sentences)
    filled = [hmm.score_samples([["a", s, "b"]])[0] for s in "abcd"]
    assert hmm.score_samples([["a", None, "b"]])[0] == pytest.approx(np.logaddexp.reduce(filled))


def test_impossible_sequences():
    hmm = DiscreteHMM(1, symbols="ab").fit([["a", "a"]])
    assert hmm.score_samples([["a"], ["b"]]).tolist() == [0.0, -np.inf]
    for ask in (hmm.predict, hmm.predict_proba):
        with pytest.raises(ValueError, match=r"sequence 1 \(1 in all\) has probability 0"):
            ask([["a"], ["a", "b"]])
    stuck = DiscreteHMM(1, symbols="ab", emission_init=[[1, 0]])
    with pytest.raises(ValueError, match="cannot come from this chain"):
        stuck.fit([["a", "b"]])


def test_the_unrolled_graph_is_the_same_distribution(sentences):
    hmm = DiscreteHMM(2, states=["u", "v"], random_state=0, tol=1e-2).fit(sentences)
    graph, symbols = hmm.network(3), ["a", "c", "a"]
    total, posterior = 0.0, np.zeros((3, 2))
    for path in itertools.product(range(2), repeat=3):
        states = {f"Z{t + 1}": hmm.states_[z] for t, z in enumerate(path)}
        row = states | {f"X{t + 1}": x for t, x in enumerate(symbols)}
        joint = float(
            np.prod([graph.cpd(n).table[(*(row[q] for q in graph.parents(n)), row[n])] for n in graph.names])
        )
        total += joint
        posterior[np.arange(3), path] += joint
    assert np.log(total) == pytest.approx(hmm.score_samples([symbols])[0], rel=1e-12)
    np.testing.assert_allclose(hmm.predict_proba([symbols])[0], posterior / total, rtol=1e-11)


def test_manners(sentences, tmp_path):
    hmm = DiscreteHMM(2, random_state=0, tol=1e-2)
    with pytest.raises(NotFittedError):
        hmm.predict(sentences)
    assert clone(hmm).get_params() == hmm.get_params()
    before = [list(s) for s in sentences]
    fitted, again = hmm.fit(sentences), clone(hmm).fit(sentences)
    assert before == sentences
    np.testing.assert_array_equal(fitted.score_samples(sentences), again.score_samples(sentences))
    io.save(fitted, tmp_path / "hmm.isogloss")
    loaded = io.load(tmp_path / "hmm.isogloss", expected=DiscreteHMM)
    np.testing.assert_array_equal(loaded.score_samples(sentences), fitted.score_samples(sentences))
    assert loaded.predict(sentences)[0].tolist() == fitted.predict(sentences)[0].tolist()
    assert fitted.bic(sentences) > fitted.aic(sentences)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "'n_components'.* Got 0"),
        ({"smoothing": -1}, "'smoothing'.* Got -1"),
        ({"unseen": "ignore"}, "'unseen'.* Got 'ignore'"),
        ({"learn": ["jump"]}, "learn="),
        ({"states": ["a", "a"]}, "different names"),
        ({"start_init": [0.5, 0.6]}, "start_init has a row"),
        ({"transition_init": [[1.0]]}, "transition_init has shape"),
        ({"symbols": ["a", "a"]}, "one twice"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DiscreteHMM(**{"n_components": 2, **settings}).fit([["a", "b"]])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], None, "no sequences|not one symbol"),
        ([["a"], []], None, "sequence 1 is empty"),
        (["abc"], None, r"list\(text\)"),
        ([1, 2], None, "list of sequences"),
        ([[None]], None, "not one symbol"),
        ([["a", "b"]], [[0]], "y does not fit X"),
        ([["a", "b"]], [[0, 7]], "state 7 at place 1"),
    ],
)
def test_bad_sequences_are_refused(X, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DiscreteHMM(2).fit(X, y)


def test_bad_weights_are_refused(sentences):
    for weights, message in (
        ([1.0], "one for each"),
        (-np.ones(60), "not negative"),
        (np.zeros(60), "above zero"),
    ):
        with pytest.raises(ValueError, match=message):
            DiscreteHMM(2).fit(sentences, sample_weight=weights)


def test_codes_and_lengths():
    for codes, lengths, message in (
        ([0, 1], [3], "sum to 3"),
        ([0, -5], [2], "codes from -5"),
        ([0.5], [1], "integers"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            Sequences.from_lengths(codes, lengths)
    with pytest.raises(ValueError, match="codes from 0 to 4"):
        DiscreteHMM(2, symbols=3).fit(Sequences.from_lengths([0, 4], [2]))
