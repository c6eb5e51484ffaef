"""The linker: probabilities, missing values, contributions, files, and pairs from labelled news."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from isogloss import io
from isogloss.events.link import FEATURES, LINKER_FEATURES, Linker
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


@pytest.mark.parametrize("encoder", [0.5, np.nan])
def test_the_shipped_linker_prefers_similar_clusters(encoder: float) -> None:
    linker = Linker.default()
    assert tuple(linker.features) == LINKER_FEATURES
    same = {"sameLanguage": 0.0, "alternatives": 1.0}
    asked = {"encoderCosSim": encoder, "encoderContrast": encoder - 0.2}
    alike = dict.fromkeys(FEATURES, 0.5) | same | {"timeDiff": 2.0, "nameConflict": 0.0} | asked
    neither = {"encoderCosSim": 0.0 * encoder, "encoderContrast": 0.0 * encoder - 0.2}
    unlike = dict.fromkeys(FEATURES, 0.0) | same | {"timeDiff": 90.0, "nameConflict": 1.0} | neither
    assert linker.probability(alike) > 0.9
    assert linker.probability(unlike) < 0.15
    assert linker.probability(alike | {"alternatives": 6.0}) < linker.probability(alike)


def test_the_shipped_weights_have_the_signs_that_make_sense() -> None:
    linker = Linker.default()
    for row in linker.weights_:
        weights = dict(zip(linker.features, row, strict=True))
        assert weights.pop("timeDiff") <= 0
        assert weights.pop("nameConflict") <= 0
        assert weights.pop("alternatives") == 0  # its weight is given
        weights.pop("sameLanguage")
        assert min(weights.values()) >= 0
        assert weights["sharedPlaces"] > 0
    text, one_language, encoder = (
        LINKER_FEATURES.index(name) for name in ("textCosSim", "sameLanguageSim", "encoderContrast")
    )
    assert min(linker.weights_[:2, text]) > 0
    assert min(linker.weights_[2:, one_language]) > 0
    assert (linker.weights_[:, encoder] > 0).tolist() == [True, False, True, False]
    conflict = LINKER_FEATURES.index("nameConflict")
    assert max(linker.weights_[:2, conflict]) < 0
    zeros = dict.fromkeys(LINKER_FEATURES, 0.0) | {"timeDiff": 400.0, "sameLanguage": 0.0}
    shares = linker.contributions(zeros)
    assert all(shares[name] <= 0 for name in LINKER_FEATURES if name != "sameLanguage")


def test_names_that_differ_speak_against_a_link_and_never_for_one() -> None:
    linker = Linker.default()
    same = dict.fromkeys(LINKER_FEATURES, 0.4) | {"sameLanguage": 0.0, "alternatives": 2.0, "timeDiff": 3.0}
    found = [linker.contributions(same | {"nameConflict": n})["nameConflict"] for n in (0.0, 1.0, 2.0)]
    assert found[0] == 0
    assert found == sorted(found, reverse=True)
    assert found[2] < found[1] < 0


def test_a_linker_without_the_newer_features_links_as_before(tmp_path: Path) -> None:
    newer = {"encoderContrast", "nameConflict"}
    older = tuple(name for name in LINKER_FEATURES if name not in newer)
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 60)
    fitted = Linker(older).fit(labels[:, None] + rng.random((60, len(older))), labels)
    io.save(fitted, tmp_path / "older.isogloss")
    again = io.load(tmp_path / "older.isogloss", expected=Linker)
    features = dict.fromkeys(FEATURES, 0.5)
    assert again.probability(features) == again.probability(features | dict.fromkeys(newer, 3.0))
    assert again.probability(features) == fitted.probability(features)


def test_pairs_without_an_embedding_have_weights_of_their_own() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 400)
    text = labels + rng.normal(0, 1.5, 400)
    encoded = np.where(rng.random(400) < 0.5, labels + rng.normal(0, 0.3, 400), np.nan)
    names = ("textCosSim", "encoderCosSim")
    linker = Linker(names, given=()).fit(np.column_stack([text, encoded]), labels)
    with_encoder, without, *one_language = linker.weights_
    assert with_encoder[1] > 1
    assert without[1] == 0
    np.testing.assert_array_equal(one_language, [without, without])  # no pair of one language was given
    text_only = Linker(names, given=()).fit(np.column_stack([text, np.full(400, np.nan)]), labels)
    np.testing.assert_allclose(text_only.weights_, [without] * 4, atol=1e-5)
    np.testing.assert_allclose(
        text_only.predict_proba([[0.3, np.nan]]), linker.predict_proba([[0.3, np.nan]])
    )


def test_a_feature_that_is_often_missing_has_a_constant_of_its_own() -> None:
    """Here news without places is one story more often than news with places that differ."""
    labels = np.array([1, 1, 1, 0] * 25 + [0, 0, 0, 1] * 25)
    places = np.array([np.nan] * 100 + [0.0] * 100)
    X = np.column_stack([places, np.linspace(0, 1, 200)])
    linker = Linker(("sharedPlaces", "textCosSim"), given=()).fit(X, labels)
    assert linker.missing_[1, 0] > 0.3
    assert linker.missing_[1, 1] == 0
    shares = linker.contributions({"sharedPlaces": np.nan, "textCosSim": 0.5})
    assert shares["sharedPlaces"] == 0
    assert sum(shares.values()) == pytest.approx(linker.decision_function([[np.nan, 0.5]])[0])


def test_weights_of_pairs_count_as_copies() -> None:
    X, y = _pairs(60)
    weights = np.tile([1.0, 2.0], 30)
    copies = np.repeat(np.arange(60), weights.astype(int))
    one = Linker(NAMES, log_features=("hours",), C=1e6).fit(X, y, weights)
    other = Linker(NAMES, log_features=("hours",), C=1e6).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-3)
    for bad in (np.ones(3), np.full(60, -1.0), np.zeros(60)):
        with pytest.raises(ValueError, match="sample_weight has shape"):
            Linker(NAMES).fit(X, y, bad)


def test_a_linker_of_version_0_1_gives_the_same_probabilities() -> None:
    """It was a hyperplane with a calibration, and imputed missing features by their means."""
    old = Linker(("likeness", "hours"), log_features=("hours",), given=())
    old.classes_, old.C_ = np.array([0, 1]), 0.1
    old.means_, old.scales_ = np.array([0.5, 2.0]), np.array([0.25, 1.0])
    old.weights_, old.offset_ = np.array([1.0, -0.5]), 0.2  # type: ignore[assignment]
    vars(old).update(slope_=2.0, shift_=-0.1)
    odds = old.decision_function([[0.75, np.expm1(3.0)], [np.nan, np.expm1(2.0)]])
    np.testing.assert_allclose(odds, [2.0 * (0.2 + 1.0 - 0.5) - 0.1, 2.0 * 0.2 - 0.1])
    assert sum(old.contributions({"likeness": 0.75, "hours": np.expm1(3.0)}).values()) == pytest.approx(
        odds[0]
    )


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
    assert (abs(free.weights_[:, 1]) > 0.1).all()
    assert (held.weights_[:, 1] == 0).all()
    odds = held.decision_function([[0.3, 0.0], [0.3, 2.0], [np.nan, 0.0]])
    assert odds[1] - odds[0] == pytest.approx(-6.0)
    assert np.isfinite(odds).all()
    shares = held.contributions({"a": 0.3, "b": 2.0})
    assert shares["b"] == pytest.approx(-6.0)
    assert sum(shares.values()) == pytest.approx(odds[1])
