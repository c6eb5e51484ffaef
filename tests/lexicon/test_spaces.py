"""Spaces of several languages: models agree where they must, and what is saved projects the same."""

import numpy as np
import pytest

from isogloss import io
from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.lexicon import (
    BilingualDictionary,
    Procrustes,
    WordSpace,
    concept_table,
    evaluate_space,
    smoothed,
)
from isogloss.lexicon._spaces import _smoothing
from isogloss.stats import PatternMoments
from isogloss.views import Views
from tests.lexicon.data import dictionary, languages

PAIR = ("en", "de")


@pytest.fixture(scope="module")
def vectors():
    return languages()


def two(vectors):
    return {name: vectors[name] for name in PAIR}


@pytest.mark.parametrize("model", ["procrustes", "cca", "ibfa", "mbfa"])
def test_every_model_translates_words_it_has_not_seen(vectors, model):
    space = WordSpace.learn(two(vectors), [dictionary(*PAIR, range(200))], model)
    held = dictionary(*PAIR, range(200, 400))
    result = evaluate_space(space.place(two(vectors)), held)
    assert result.n_queries == 200
    assert result.precision(1) > (0.2 if model == "procrustes" else 0.6)


@pytest.mark.parametrize("weighting", [0.0, 0.5, 1.0])
def test_cca_and_inter_battery_factor_analysis_are_one_space(vectors, weighting):
    """Weighted variates and weighted posterior means have the same inner products (CCA divides by n - 1)."""
    seed = [dictionary(*PAIR, range(200))]
    ibfa = WordSpace.learn(two(vectors), seed, InterBatteryFA(4), weighting=weighting, smoothing=0.0)
    cca = WordSpace.learn(two(vectors), seed, "cca", n_components=4, weighting=weighting, smoothing=0.0)
    inner = [
        space.project("en", vectors["en"].matrix) @ space.project("de", vectors["de"].matrix).T
        for space in (ibfa, cca)
    ]
    np.testing.assert_allclose(inner[0], inner[1] * 200 / 199, atol=1e-6)


def test_words_missing_in_a_language_still_help(vectors):
    """Two dictionaries that share no concept connect languages that none of them connects."""
    seeds = [dictionary("en", "de", range(150)), dictionary("de", "it", range(150, 300))]
    space = WordSpace.learn(vectors, seeds, n_components=6)
    assert evaluate_space(space.place(vectors), dictionary("en", "it", range(300, 400))).precision(1) > 0.6


def test_a_model_can_be_an_estimator_and_is_not_changed(vectors):
    model = MultiBatteryFA(3)
    space = WordSpace.learn(two(vectors), [dictionary(*PAIR, range(200))], model)
    assert space.project("en", vectors["en"].matrix[:2]).shape == (2, 3)
    assert not hasattr(model, "parameters_")


def test_single_words_are_for_models_that_take_them(vectors):
    seed = [dictionary(*PAIR, range(200))]
    assert WordSpace.learn(two(vectors), seed, "ibfa").n_rows == 200
    assert WordSpace.learn(two(vectors), seed, "mbfa").n_rows == 200 + 200
    assert WordSpace.learn(two(vectors), seed, "mbfa", monolingual=1000).n_rows == 200 + 800
    assert WordSpace.learn(two(vectors), seed, "mbfa", monolingual=0).n_rows == 200


@pytest.mark.parametrize("model", ["procrustes", "cca", "ibfa", "mbfa"])
def test_a_saved_space_projects_the_same(tmp_path, vectors, model):
    space = WordSpace.learn(two(vectors), [dictionary(*PAIR, range(200))], model)
    io.save(space, tmp_path / "space.isogloss")
    again = io.load(tmp_path / "space.isogloss", expected=WordSpace)
    assert again.languages == space.languages
    for name in PAIR:
        x = vectors[name].matrix[:20]
        np.testing.assert_array_equal(again.project(name, x), space.project(name, x))


def test_new_words_are_projected_as_the_old_ones(vectors):
    space = WordSpace.learn(two(vectors), [dictionary(*PAIR, range(200))])
    whole = space.project("en", vectors["en"].matrix)
    np.testing.assert_allclose(
        space.project("en", vectors["en"].matrix[5:7]), whole[5:7], rtol=1e-5, atol=1e-6
    )


def test_the_density_ranks_like_the_posteriors_say(vectors):
    space = WordSpace.learn(two(vectors), [dictionary(*PAIR, range(200))], n_components=6, weighting=0.0)
    held = dictionary(*PAIR, range(200, 400))
    covariance = space.covariance(*PAIR)
    expected = sum(space.model.posterior_covariance([name]) for name in PAIR)
    np.testing.assert_allclose(covariance, expected, atol=1e-10)
    assert (
        evaluate_space(space.place(two(vectors)), held, rule="density", covariance=covariance).precision(1)
        > 0.6
    )
    rotations = WordSpace.learn(two(vectors), [dictionary(*PAIR, range(200))], "procrustes")
    with pytest.raises(ValueError, match="Procrustes has no posterior"):
        rotations.covariance(*PAIR)


def test_impossible_models_and_languages_are_refused(vectors):
    seeds = [dictionary("en", "de", range(50)), dictionary("en", "it", range(50))]
    with pytest.raises(ValueError, match="'cca' is for two languages, 3 were given"):
        WordSpace.learn(vectors, seeds, "cca")
    with pytest.raises(ValueError, match="model='lsi'"):
        WordSpace.learn(vectors, seeds, "lsi")
    with pytest.raises(ValueError, match="no language 'fr'; the space has en, de, it"):
        WordSpace.learn(vectors, seeds, "procrustes").project("fr", np.zeros((1, 10)))


def test_smoothing_is_a_ridge_for_every_pattern(rng):
    data = [rng.normal(size=(40, 3)), rng.normal(1.0, 2.0, size=(40, 2))]
    present = np.ones((40, 2), dtype=bool)
    present[:10, 0] = present[30:, 1] = False
    views = Views(data, names=PAIR, present=present)
    rows = smoothed(views, 0.5)
    assert len(rows) == 40 + 2 * (3 + 2) + 2 * 3 + 2 * 2
    before, after = (PatternMoments(views.dims).update(one).patterns() for one in (views, rows))
    variances = [x.var(axis=0).mean() for x in views.arrays]
    for old, new in zip(before, after, strict=True):
        assert old.views == new.views
        np.testing.assert_allclose(new.mean, old.mean, atol=1e-12)
        ridge = np.concatenate([np.full(views.dims[v], 0.5 * variances[v] * old.n) for v in old.views])
        np.testing.assert_allclose(scatter(new), scatter(old) + np.diag(ridge), atol=1e-10)
    assert smoothed(views, 0.0) is views
    with pytest.raises(ValueError, match="strength=-1"):
        smoothed(views, -1)


@pytest.mark.parametrize(("words", "strength"), [(20, 3.0), (200, 0.3)])
def test_fewer_pairs_are_smoothed_more(vectors, words, strength):
    """Six times the dimensions of the narrower vectors, ten, over the pairs."""
    seed = [dictionary("en", "fr", range(words))]
    two = {"en": vectors["en"], "fr": languages(("fr",), dims=(12,), seed=1)["fr"]}
    default, explicit, other = (
        WordSpace.learn(two, seed, "ibfa", n_components=2, smoothing=given)
        for given in (None, strength, 1.1 * strength)
    )
    np.testing.assert_array_equal(default.weight, explicit.weight)
    assert not np.allclose(default.weight, other.weight)


def test_smoothing_goes_by_the_pairs_of_two_languages(vectors):
    """Neither words of their own nor further dictionaries make it weaker, and it has bounds."""
    many = {f"x{v}": vectors["en"] for v in range(3)}
    tables = [concept_table(many, seeds(n), monolingual=alone) for n, alone in ((40, 0), (40, 400))]
    assert [_smoothing(many, table) for table in tables] == [1.5, 1.5]
    assert _smoothing(many, concept_table(many, seeds(2))) == 10.0
    wide = np.tile([[0, 0, -1]], (10_000, 1))
    assert _smoothing(many, wide) == 0.2


def seeds(n):
    """Three dictionaries of ``n`` pairs each between languages with the same words."""
    pairs = [(f"en{i}", f"en{i}") for i in range(n)]
    return [BilingualDictionary(f"x{v}", f"x{(v + 1) % 3}", pairs) for v in range(3)]


def scatter(pattern):
    return pattern.product if pattern.rows is None else pattern.rows.T @ pattern.rows


def test_procrustes_goes_by_way_of_other_views(rng):
    x = rng.normal(size=(60, 4))
    turns = [np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2)]
    present = np.ones((60, 3), dtype=bool)
    present[:30, 2] = present[30:, 0] = False
    views = Views({"a": x, "b": x @ turns[0], "c": x @ turns[1]}, present=present)
    model = Procrustes().fit(views)
    np.testing.assert_allclose(model.transform_view(x @ turns[1], "c"), x, atol=1e-10)


def test_procrustes_finds_a_rotation_and_nothing_but_a_rotation(rng):
    x = rng.normal(size=(60, 5))
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    y = x @ turn + 0.1 * rng.normal(size=(60, 5))
    present = np.ones((60, 2), dtype=bool)
    present[50:, 1] = False
    model = Procrustes(hub="b").fit(Views({"a": x, "b": y[:50]}, present=present))
    Q = model.weights_[0]
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-12)
    best = np.linalg.norm(x[:50] @ Q - y[:50])
    for seed in range(20):
        other = np.linalg.qr(Q + 0.05 * np.random.default_rng(seed).normal(size=(5, 5)))[0]
        other *= np.sign(np.sum(other * Q, axis=0))
        assert np.linalg.norm(x[:50] @ other - y[:50]) >= best
    with pytest.raises(ValueError, match="no rows connect the views view1 with the hub 'view0'"):
        Procrustes().fit(Views([x, y], present=np.repeat(np.eye(2, dtype=bool), 30, axis=0)))
