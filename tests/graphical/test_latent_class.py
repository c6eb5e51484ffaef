"""Naive Bayes and mixtures of Bernoullis: closed forms, the graph they are, and what EM must keep."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.naive_bayes import CategoricalNB

from isogloss import io
from isogloss.engine import LocalEngine
from isogloss.graphical import BernoulliMixture, NaiveBayes

ROWS = [
    ["rain", "cold", "x"],
    ["rain", "warm", "y"],
    ["sun", "warm", "z"],
    ["sun", "cold", "x"],
    ["sun", "warm", "y"],
]
CLASSES = ["in", "in", "out", "out", "out"]


@pytest.fixture
def codes(rng):
    return rng.integers(0, 3, (300, 4)), rng.integers(0, 2, 300)


def joint(graph, row):
    factors = (graph.cpd(n).table[(*(row[q] for q in graph.parents(n)), row[n])] for n in graph.names)
    return float(np.prod(list(factors)))


def test_naive_bayes_equals_scikit_learns(codes):
    X, y = codes
    ours = NaiveBayes(smoothing=1.0, tol=1e-12).fit(X, y)
    theirs = CategoricalNB(alpha=1.0, class_prior=ours.parameters_.weights).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))


def test_known_classes_give_relative_frequencies():
    model = NaiveBayes().fit(ROWS, CLASSES)
    np.testing.assert_allclose(model.parameters_.weights, [0.4, 0.6])
    np.testing.assert_allclose(model.parameters_.tables[:2], [[1, 0], [0, 1]])
    np.testing.assert_allclose(model.parameters_.tables[2:4], [[1 / 2, 1 / 3], [1 / 2, 2 / 3]])


def test_the_graph_gives_the_same_posteriors():
    model = NaiveBayes(smoothing=0.5).fit(ROWS, CLASSES)
    graph = model.network(["sky", "air", "mood"])
    for row in ROWS:
        seen = dict(zip(["sky", "air", "mood"], row, strict=True))
        joints = np.array([joint(graph, seen | {"class": c}) for c in model.classes_])
        np.testing.assert_allclose(model.predict_proba([row])[0], joints / joints.sum(), rtol=1e-12)
        assert model.score_samples([row])[0] == pytest.approx(np.log(joints.sum()))


def test_a_missing_feature_is_summed_over():
    model = NaiveBayes(smoothing=0.5).fit(ROWS, CLASSES)
    total = sum(np.exp(model.score_samples([["sun", s, "x"]])[0]) for s in ("cold", "warm"))
    assert np.exp(model.score_samples([["sun", None, "x"]])[0]) == pytest.approx(total)


def test_rows_without_a_class_help(rng):
    y = rng.integers(0, 2, 600)
    X = (rng.random((600, 8)) < np.where(y[:, None] == 1, 0.85, 0.15)).astype(int)
    some = [int(c) if i < 6 else None for i, c in enumerate(y)]
    model = NaiveBayes(smoothing=0.5, random_state=0).fit(X, some)
    np.testing.assert_allclose(model.parameters_.tables[1::2], np.tile([0.15, 0.85], (8, 1)), atol=0.07)
    assert (model.predict(X) == y).mean() > 0.95
    assert np.diff([line.bound for line in model.trace_]).min() >= -1e-9


@pytest.fixture
def binary(rng):
    truth = np.array([[0.9, 0.9, 0.1, 0.1, 0.8, 0.2], [0.1, 0.2, 0.9, 0.8, 0.1, 0.9]])
    labels = (rng.random(1500) < 0.35).astype(int)
    return (rng.random((1500, 6)) < truth[labels]).astype(float), labels, truth


def test_a_planted_mixture_is_found(binary):
    X, labels, truth = binary
    mixture = BernoulliMixture(2, random_state=0).fit(X)
    order = np.argsort(-mixture.weights_)
    np.testing.assert_allclose(mixture.weights_[order], [0.65, 0.35], atol=0.04)
    np.testing.assert_allclose(mixture.probabilities_[order], truth, atol=0.06)
    assert (np.argsort(order)[mixture.predict(X)] == labels).mean() > 0.95
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    with_gaps = BernoulliMixture(2, random_state=0).fit(holes)
    order = np.argsort(-with_gaps.weights_)
    np.testing.assert_allclose(with_gaps.probabilities_[order], truth, atol=0.08)


def test_em_never_lets_the_bound_fall(binary):
    for smoothing in (0.0, 0.7):
        mixture = BernoulliMixture(4, smoothing=smoothing, tol=0.0, max_iter=60, random_state=1)
        with pytest.warns(ConvergenceWarning):
            mixture.fit(binary[0][:300])
        bounds = [line.bound for line in mixture.trace_]
        assert np.diff(bounds).min() >= -1e-9
        assert bounds[-1] > bounds[0] + 1


def test_bound_is_the_log_likelihood(binary):
    X = binary[0][:200]
    mixture = BernoulliMixture(3, random_state=0, tol=1e-4).fit(X)
    energy = mixture.trace_[-1].free_energy
    assert energy.kl == pytest.approx(0.0, abs=1e-8)
    assert energy.log_likelihood == pytest.approx(mixture.score_samples(X).sum())
    assert mixture.score(X) == pytest.approx(mixture.lower_bound_)


def test_the_mixture_is_naive_bayes_with_a_hidden_class(binary):
    X = binary[0][:300]
    mixture = BernoulliMixture(2, random_state=3, tol=1e-6).fit(X)
    hidden = NaiveBayes(classes=[0, 1], random_state=3, tol=1e-6, max_iter=500).fit(
        X.astype(int), [None] * 300
    )
    np.testing.assert_allclose(hidden.predict_proba(X.astype(int)), mixture.predict_proba(X), atol=1e-10)


def test_all_rows_have_probability_one_together(binary):
    mixture = BernoulliMixture(2, random_state=0, tol=1e-3).fit(binary[0][:, :4])
    every = np.array(list(itertools.product([0, 1], repeat=4)))
    assert np.exp(mixture.score_samples(every)).sum() == pytest.approx(1.0)
    graph = mixture.network()
    row = {f"X{i + 1}": s for i, s in enumerate("1010")}
    total = sum(joint(graph, row | {"component": c}) for c in "01")
    assert np.log(total) == pytest.approx(mixture.score_samples([[1, 0, 1, 0]])[0])


def test_a_weight_is_a_repetition(binary):
    X, weights = binary[0][:100], np.arange(100) % 3
    one = BernoulliMixture(1).fit(X, sample_weight=weights)
    two = BernoulliMixture(1).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(one.probabilities_, two.probabilities_, rtol=1e-10)


def test_samples_follow_the_model(binary):
    mixture = BernoulliMixture(2, random_state=0).fit(binary[0])
    assert [len(drawn) for drawn in mixture.sample()] == [1, 1]
    rows, labels = mixture.sample(4000)
    np.testing.assert_allclose(rows[labels == 1].mean(axis=0), mixture.probabilities_[1], atol=0.05)
    np.testing.assert_allclose(rows.mean(axis=0), binary[0].mean(axis=0), atol=0.05)


def test_threads_change_no_bit(binary):
    one, two = (BernoulliMixture(2, random_state=0, engine=LocalEngine(n)).fit(binary[0]) for n in (1, 2))
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)


@pytest.mark.parametrize(
    "model", [NaiveBayes(smoothing=1), BernoulliMixture(2, random_state=0, smoothing=0.1)]
)
def test_manners(model, tmp_path):
    X, y = [[1, 0], [1, 1], [0, 0], [0, 1]], [0, 0, 1, 1]
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    assert clone(model).get_params() == model.get_params()
    fitted, again = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), again.predict_proba(X))
    io.save(fitted, tmp_path / "model.isogloss")
    loaded = io.load(tmp_path / "model.isogloss", expected=type(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="features"):
        fitted.predict([[1, 0, 1]])


def test_bad_rows_are_refused():
    for rows, y, message in (
        ([], [], "no rows"),
        ([["a"], ["a", "b"]], [0, 1], "different lengths"),
        ([["a"], ["b"]], [0], "1 classes of 1 kinds for 2 rows"),
        ([["a", None], ["b", None]], [0, 1], "feature 1 is missing"),
        ([["a"]], [None], "0 kinds"),
    ):
        with pytest.raises(ValueError, match=message):
            NaiveBayes().fit(rows, y)
    with pytest.raises(ValueError, match="row 1 has 'c' as its class; expected one of 'a', 'b'"):
        NaiveBayes(classes=["a", "b"]).fit([[0], [1]], ["a", "c"])
    model = NaiveBayes().fit(ROWS, CLASSES)
    with pytest.raises(ValueError, match="row 0 has 'hail' as its feature 0; expected one of 'rain', 'sun'"):
        model.predict([["hail", "cold", "x"]])
    with pytest.raises(ValueError, match="probability 0 in every class"):
        model.predict([["rain", "warm", "z"]])
    loose = NaiveBayes(unseen="missing").fit(ROWS, CLASSES)
    np.testing.assert_array_equal(
        loose.predict_proba([["hail", "cold", "x"]]), loose.predict_proba([[None, "cold", "x"]])
    )


def test_bad_settings_are_refused():
    X = [[0, 1], [1, 0]]
    for settings, message in (
        ({"smoothing": -1}, "'smoothing'.* Got -1"),
        ({"n_init": 0}, "'n_init'.* Got 0"),
        ({"n_components": 0}, "'n_components'.* Got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            BernoulliMixture(**settings).fit(X)
    with pytest.raises(ValueError, match=r"row 1, feature 0 is 2.0; expected 0, 1 or NaN"):
        BernoulliMixture().fit([[0, 1], [2, 0]])
    with pytest.raises(ValueError, match=r"'unseen'.* Got 'ignore'"):
        NaiveBayes(unseen="ignore").fit(X, [0, 1])
