"""The linker: probabilities, missing values, contributions, files, and pairs from labelled news."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from isogloss import io
from isogloss.events.link import FEATURES, Linker
from isogloss.events.training import cross_validate_links, score_links

NAMES = ("likeness", "hours", "noise")


def _pairs(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    likeness = labels * 0.4 + rng.normal(0, 0.25, n)
    hours = np.exp(rng.normal(3 - labels, 1, n))
    return np.column_stack([likeness, hours, rng.normal(size=n)]), labels


@pytest.fixture(scope="module")
def fitted() -> Linker:
    return Linker(NAMES, log_features=("hours",), C=0.1).fit(*_pairs())


def test_it_learns_and_its_probabilities_are_calibrated(fitted: Linker) -> None:
    X, y = _pairs(2000, seed=1)
    chance = fitted.predict_proba(X)[:, 1]
    assert score_links(y, fitted.predict(X))[0] > 75
    for low, high in ((0.0, 0.2), (0.4, 0.6), (0.8, 1.0)):
        some = (chance >= low) & (chance <= high)
        assert abs(y[some].mean() - chance[some].mean()) < 0.15


def test_a_missing_feature_speaks_neither_for_nor_against(fitted: Linker) -> None:
    features = dict(zip(NAMES, (np.nan, 3.0, np.nan), strict=True))
    shares = fitted.contributions(features)
    assert shares["likeness"] == shares["noise"] == 0.0
    assert shares["hours"] != 0.0


def test_contributions_add_up_to_the_log_odds(fitted: Linker) -> None:
    features = dict(zip(NAMES, (0.7, 40.0, -0.3), strict=True))
    chance = fitted.probability(features)
    assert sum(fitted.contributions(features).values()) == pytest.approx(log(chance / (1 - chance)))


def test_one_odd_value_does_not_decide(fitted: Linker) -> None:
    far, farther = ([[value, 10.0, 0.0]] for value in (1e3, 1e9))
    assert fitted.decision_function(far)[0] == fitted.decision_function(farther)[0]


def test_scale_of_a_feature_does_not_matter() -> None:
    X, y = _pairs()
    one = Linker(NAMES, log_features=(), C=0.1).fit(X, y)
    other = Linker(NAMES, log_features=(), C=0.1).fit(X * [1000, 0.1, 7] + [5, 0, -3], y)
    expected = one.predict_proba(X)
    np.testing.assert_allclose(other.predict_proba(X * [1000, 0.1, 7] + [5, 0, -3]), expected, atol=1e-4)


def test_saved_and_loaded_it_says_the_same(fitted: Linker, tmp_path: Path) -> None:
    io.save(fitted, tmp_path / "linker.isogloss")
    again = io.load(tmp_path / "linker.isogloss", expected=Linker)
    X, _ = _pairs(20, seed=2)
    assert (again.predict_proba(X) == fitted.predict_proba(X)).all()
    assert tuple(again.features) == NAMES


def test_bad_input_is_refused(fitted: Linker) -> None:
    with pytest.raises(ValueError, match="expected a row of 3 features"):
        fitted.predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match="infinite"):
        fitted.predict([[1.0, np.inf, 0.0]])
    with pytest.raises(ValueError, match="expected labels 0 and 1"):
        Linker(NAMES).fit(np.zeros((4, 3)), [1, 1, 1, 1])
    with pytest.raises(ValueError, match="2 pairs and 3 labels"):
        Linker(NAMES).fit(np.zeros((2, 3)), [0, 1, 1])
    with pytest.raises(NotFittedError):
        Linker(NAMES).predict([[0.0, 0.0, 0.0]])


def test_the_shipped_linker_knows_all_features_and_prefers_what_is_alike() -> None:
    linker = Linker.default()
    assert tuple(linker.features) == FEATURES
    alike = dict.fromkeys(FEATURES, 0.5) | {
        "linkCount": 3.0,
        "timeDiff": 2.0,
        "timeGap": 0.0,
        "sameLanguage": 0.0,
    }
    unlike = dict.fromkeys(FEATURES, 0.0) | {"linkCount": 1.0, "timeDiff": 90.0, "timeGap": 70.0}
    assert linker.probability(alike) > 0.9
    assert linker.probability(unlike) < 0.1


def test_cross_validation_scores_pairs_that_were_not_trained_on() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 40)), np.arange(120) % 2
    linker = Linker([f"f{i}" for i in range(40)], log_features=(), C=10.0)
    assert score_links(y, linker.fit(X, y).predict(X))[0] > 70
    scores = cross_validate_links(linker, X, y, repeats=2, folds=4)
    assert 35 < scores.accuracy < 65
    assert scores.pairs == 120


def test_a_given_weight_is_added_and_not_learned() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 2)), np.arange(80) % 2
    X[:, 1] = y
    free = Linker(["a", "b"], log_features=(), given=(), C=1.0).fit(X, y)
    held = Linker(["a", "b"], log_features=(), given=(("b", -3.0),), C=1.0).fit(X, y)
    assert abs(free.weights_[1]) > 0.1
    assert held.weights_[1] == 0
    odds = held.decision_function([[0.3, 0.0], [0.3, 2.0], [np.nan, 0.0]])
    assert odds[1] - odds[0] == pytest.approx(-6.0)
    assert np.isfinite(odds).all()
    shares = held.contributions({"a": 0.3, "b": 2.0})
    assert shares["b"] == pytest.approx(-6.0)
    assert sum(shares.values()) == pytest.approx(odds[1])


def test_a_given_weight_moves_the_hyperplane_whatever_the_slope() -> None:
    """Labels are the sign of the log odds without their shift."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    linker = Linker(["a", "b"], log_features=(), given=(("b", -3.0),), C=1.0).fit(X, y)
    for slope in (0.2, 1.0, 5.0):
        linker.slope_ = slope
        np.testing.assert_array_equal(linker.predict(X), linker.decision_function(X) > linker.shift_)
