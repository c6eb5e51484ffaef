"""Retrieval rules against whole tables."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from isogloss.lexicon import retrieve
from isogloss.lexicon.retrieval import _retrieval as retrieval
from isogloss.lexicon.retrieval._retrieval import RULES
from tests.oracles import topk as twin


def spaces(rng, n=60, m=90, d=8):
    return rng.standard_normal((n, d)), rng.standard_normal((m, d))


def covariance(rng, d=8):
    A = rng.standard_normal((d, 2 * d))
    return A @ A.T / d


def whole_table(rule, x, y, sources, C):
    if rule == "cosine":
        return twin.unit(x) @ twin.unit(y).T
    if rule == "csls":
        return twin.csls(x, y, sources, 10)
    if rule == "inverted_softmax":
        return twin.inverted_softmax(x, y, sources, 1 / 30)
    return np.stack([multivariate_normal(row, C).logpdf(y) for row in x])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scores_equal_the_whole_table(rng, monkeypatch, rule, n_jobs):
    monkeypatch.setattr(retrieval, "_BLOCK_SHAPE", (17, 13))
    (sources, y), C = spaces(rng), covariance(rng)
    x = sources[:25]
    found = retrieve(x, y, 6, rule=rule, sources=sources, covariance=C, n_jobs=n_jobs)
    scores, indices = twin.best_of_rows(whole_table(rule, x, y, sources, C), 7)
    np.testing.assert_array_equal(found.indices, indices[:, :6])
    np.testing.assert_allclose(found.scores, scores[:, :6], atol=2e-5)
    np.testing.assert_allclose(found.margins, scores[:, :-1] - scores[:, 1:], atol=2e-5)
    np.testing.assert_array_equal(found.ranks[0], [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("rule", RULES)
def test_threads_do_not_change_a_bit(rng, monkeypatch, rule):
    monkeypatch.setattr(retrieval, "_BLOCK_SHAPE", (17, 13))
    (x, y), C = spaces(rng), covariance(rng)
    one, three = (retrieve(x, y, 5, rule=rule, covariance=C, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.scores, three.scores)


@pytest.mark.parametrize("rule", ["csls", "inverted_softmax"])
def test_sources_are_the_queries_unless_given(rng, rule):
    x, y = spaces(rng)
    np.testing.assert_array_equal(
        retrieve(x, y, 3, rule=rule).scores, retrieve(x, y, 3, rule=rule, sources=x).scores
    )


def test_a_softmax_of_very_small_temperature_does_not_overflow(rng):
    x, y = spaces(rng)
    found = retrieve(x, y, 3, rule="inverted_softmax", temperature=1e-4)
    assert np.isfinite(found.scores).all()
    # Only the source nearest to a target counts then, and it has all the probability.
    nearest = (twin.unit(x) @ twin.unit(y).T).argmax(axis=0)
    best = found.indices[:, 0]
    sure = found.scores[:, 0] > np.log(0.5)
    assert sure.any()
    np.testing.assert_array_equal(nearest[best[sure]], np.flatnonzero(sure))


def test_density_does_not_depend_on_the_origin(rng):
    (x, y), C = spaces(rng), covariance(rng)
    near, far = (retrieve(x + shift, y + shift, 4, rule="density", covariance=C) for shift in (0.0, 1e4))
    np.testing.assert_array_equal(near.indices, far.indices)
    np.testing.assert_allclose(near.scores, far.scores, atol=1e-4)


def test_the_last_of_all_targets_has_no_rival(rng):
    x, y = spaces(rng, m=4)
    found = retrieve(x, y, 4, rule="cosine")
    assert np.isinf(found.margins[:, -1]).all()
    assert np.isfinite(found.margins[:, :-1]).all()
    assert np.isfinite(retrieve(x, y, 3, rule="cosine").margins).all()


def test_bad_input_is_refused_with_a_reason(rng):
    x, y = spaces(rng)
    with pytest.raises(ValueError, match="rule='nearest'; expected one of 'cosine', 'csls'"):
        retrieve(x, y, 2, rule="nearest")
    with pytest.raises(ValueError, match="k=91; expected an integer from 1 to 90"):
        retrieve(x, y, 91, rule="cosine")
    with pytest.raises(ValueError, match=r"temperature=0\.0; expected a positive number"):
        retrieve(x, y, 2, rule="inverted_softmax", temperature=0)
    with pytest.raises(ValueError, match="'density' needs covariance"):
        retrieve(x, y, 2, rule="density")
    with pytest.raises(ValueError, match=r"shape \(3, 3\); expected \(8, 8\)"):
        retrieve(x, y, 2, rule="density", covariance=np.eye(3))
    with pytest.raises(ValueError, match="not positive definite"):
        retrieve(x, y, 2, rule="density", covariance=-np.eye(8))
