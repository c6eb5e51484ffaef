"""Hidden Markov models from moments: exact moments give exact answers, samples near ones, sums add."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from isogloss import io
from isogloss.engine import Batches
from isogloss.graphical import Sequences
from isogloss.sequences import DiscreteHMM, HMMMoments, HMMParameters, SpectralHMM
from isogloss.sequences._spectral import estimate_parameters


def random_chain(rng, k, v):
    """A chain whose states can be told apart."""
    transition = 0.5 * np.eye(k) + 0.5 * rng.dirichlet(np.ones(k), k)
    return HMMParameters(rng.dirichlet(np.ones(k)), transition, rng.dirichlet(np.full(v, 0.4), k))


def exact_moments(p):
    """The moments of all sequences of three symbols, each with its probability."""
    v = p.emission.shape[1]
    codes = np.array(list(itertools.product(range(v), repeat=3)))
    probabilities = []
    for x in codes:
        message = p.start
        for t, symbol in enumerate(x):
            message = (message if t == 0 else message @ p.transition) * p.emission[:, symbol]
        probabilities.append(message.sum())
    text = Sequences.from_lengths(codes.reshape(-1), [3] * len(codes))
    return HMMMoments(v).update(Sequences(text.codes, text.offsets, weights=np.array(probabilities)))


def drawn(p, n, length, seed):
    hmm = DiscreteHMM(len(p.start), symbols=p.emission.shape[1], max_iter=0, random_state=seed)
    hmm.set_params(start_init=p.start, transition_init=p.transition, emission_init=p.emission)
    return hmm.fit([[0]]).sample([length] * n)


def in_order(found, truth):
    """The found parameters, their states in the order of the true ones."""
    gaps = np.abs(truth.emission[:, None] - found.emission[None]).sum(axis=-1)
    order = linear_sum_assignment(gaps)[1]
    return HMMParameters(found.start[order], found.transition[np.ix_(order, order)], found.emission[order])


@pytest.mark.parametrize(("k", "v"), [(1, 2), (2, 2), (2, 4), (3, 5), (4, 9)])
def test_exact_moments_give_the_parameters(rng, k, v):
    truth = random_chain(rng, k, v)
    with np.errstate(all="raise"):
        found = estimate_parameters(_many(exact_moments(truth)), k, 0).parameters
    found = in_order(found, truth)
    for name in ("start", "transition", "emission"):
        np.testing.assert_allclose(getattr(found, name), getattr(truth, name), atol=1e-6)


def _many(moments):
    """The same moments as of a million windows, where nothing is put down to chance."""
    moments.triples._values *= 1e6 / moments.windows
    return moments


def test_operators_of_exact_moments_give_probabilities(rng):
    truth = random_chain(rng, 3, 5)
    model = SpectralHMM(3, symbols=5, random_state=0).fit(_many(exact_moments(truth)))
    X = [rng.integers(0, 5, length).tolist() for length in (1, 2, 5, 9)]
    reference = DiscreteHMM(3, symbols=5, max_iter=0)
    reference.set_params(
        start_init=truth.start, transition_init=truth.transition, emission_init=truth.emission
    ).fit([[0]])
    np.testing.assert_allclose(model.score_samples(X), reference.score_samples(X), rtol=1e-6)
    holes = [[0, None, 2], [None, 1], [3, None, None]]
    np.testing.assert_allclose(model.score_samples(holes), reference.score_samples(holes), rtol=1e-6)
    following = [[*X[2], symbol] for symbol in range(5)]
    expected = np.exp(reference.score_samples(following) - reference.score_samples([X[2]]))
    np.testing.assert_allclose(model.predict_next_proba([X[2]])[0], expected, rtol=1e-6)


def test_a_long_sample_gives_the_parameters_within_the_stated_error(rng):
    truth = random_chain(np.random.default_rng(3), 3, 8)
    X, _ = drawn(truth, 4000, 25, seed=0)
    found = in_order(SpectralHMM(3, symbols=8, random_state=0).fit(X).parameters_, truth)
    assert np.abs(found.emission - truth.emission).max() < 0.05
    assert np.abs(found.transition - truth.transition).max() < 0.06
    assert np.abs(found.start - truth.start).max() < 0.05


def test_the_spectral_start_is_as_good_as_many_random_ones():
    truth = random_chain(np.random.default_rng(5), 4, 12)
    X, _ = drawn(truth, 400, 25, seed=0)
    settings = {"symbols": 12, "tol": 1e-5, "max_iter": 500}
    spectral = DiscreteHMM(4, init="spectral", random_state=0, **settings).fit(X)
    random = [DiscreteHMM(4, random_state=seed, **settings).fit(X) for seed in range(20)]
    assert spectral.lower_bound_ > max(one.lower_bound_ for one in random) - 2e-4
    assert spectral.n_iter_ < np.median([one.n_iter_ for one in random])


def test_without_steps_the_start_is_the_estimate_with_nothing_impossible(rng):
    truth = random_chain(rng, 3, 6)
    X, _ = drawn(truth, 300, 20, seed=0)
    estimate = SpectralHMM(3, symbols=6, random_state=0).fit(X).parameters_
    start = DiscreteHMM(3, symbols=6, init="spectral", max_iter=0, random_state=0).fit(X)
    np.testing.assert_allclose(start.emission_, estimate.emission, atol=0.011)
    assert min(table.min() for table in (start.start_, start.transition_, start.emission_)) > 0


def test_labelled_states_keep_their_names():
    truth = random_chain(np.random.default_rng(5), 3, 9)
    X, paths = drawn(truth, 500, 20, seed=0)
    known = [[state if place < 2 else None for place, state in enumerate(path)] for path in paths]
    model = DiscreteHMM(3, symbols=9, init="spectral", max_iter=0, random_state=0).fit(X, known)
    np.testing.assert_allclose(model.emission_, truth.emission, atol=0.1)


@pytest.mark.filterwarnings("ignore:the moments of")
def test_batches_anywhere_and_moments_add_to_the_whole(rng):
    codes = rng.integers(-1, 5, 200)
    text = Sequences.from_lengths(codes, [40] * 5)
    whole = SpectralHMM(2, symbols=5, random_state=0).fit(text)
    parts = SpectralHMM(2, symbols=5, random_state=0).fit(text[:2]).partial_fit(text[2:])
    source = SpectralHMM(2, symbols=5, random_state=0).fit(Batches([text[:1], text[1:4], text[4:]]))
    moments = HMMMoments(5).update(text[:3]).merge(HMMMoments(5).update(text[3:]))
    merged = SpectralHMM(2, symbols=5, random_state=0).fit(moments)
    for other in (parts, source, merged):
        np.testing.assert_array_equal(other.parameters_.emission, whole.parameters_.emission)
    arrays = whole.moments_.arrays()
    again = HMMMoments.from_arrays(arrays).arrays()
    assert all((again[name] == arrays[name]).all() for name in arrays)


def test_windows_do_not_cross_sequences_and_skip_what_is_missing():
    moments = HMMMoments(3).update(Sequences.from_lengths([0, 1, 2, 2, 1, -1, 0, 1, 1], [3, 2, 4]))
    assert moments.triples.codes.tolist() == [[0, 1, 1], [0, 1, 2]]
    assert moments.first.tolist() == [1, 0, 1]
    weighted = Sequences.from_lengths([0, 1, 2, 0, 1, 2], [3, 3])
    weighted = Sequences(weighted.codes, weighted.offsets, weights=np.array([2.0, 0.5]))
    assert HMMMoments(3).update(weighted).windows == 2.5


def test_too_many_states_are_reported(rng):
    independent = rng.integers(0, 6, (400, 20))
    with pytest.warns(ConvergenceWarning, match="tell 1 of 3 states apart"):
        model = SpectralHMM(3, symbols=6, random_state=0).fit(independent)
    assert model.n_states_found_ == 1
    np.testing.assert_allclose(model.parameters_.transition.sum(axis=1), 1)
    assert np.isfinite(model.score(independent))


@pytest.mark.parametrize(
    ("X", "symbols", "message"),
    [
        ([["a", "b", "a"]], ["a", "b"], "n_components=3 with 2 symbols"),
        ([["a", "b"], ["c", "a"]], ["a", "b", "c"], "no three symbols in a row"),
        ([["a", "x", "a"]], ["a", "b", "c"], "'x'"),
        (HMMMoments(3), None, "give symbols"),
    ],
)
def test_what_cannot_be_learned_is_refused(X, symbols, message):
    with pytest.raises(ValueError, match=message):
        SpectralHMM(3, symbols=symbols).fit(X)


def test_the_model_of_states_decodes_and_goes_on_learning(rng, tmp_path):
    truth = random_chain(np.random.default_rng(3), 2, 5)
    X, _ = drawn(truth, 200, 20, seed=0)
    names = [[f"w{code}" for code in x] for x in X]
    model = SpectralHMM(2, random_state=0).fit(names)
    hmm = model.to_hmm(states=["a", "b"])
    assert hmm.score(names) == pytest.approx(model.score(names), rel=0.01)
    assert set(hmm.predict(names[:1])[0].tolist()) <= {"a", "b"}
    assert model.to_hmm(max_iter=50, tol=1e-5, smoothing=0.1).fit(names).score(names) > hmm.score(names)
    io.save(model, tmp_path / "model.isogloss")
    again = io.load(tmp_path / "model.isogloss")
    np.testing.assert_array_equal(again.score_samples(names), model.score_samples(names))
    with pytest.raises(NotFittedError):
        SpectralHMM(2).score(names)
