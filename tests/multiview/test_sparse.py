"""Sparse CCA: which features it finds, and what it is without a penalty."""

import numpy as np
import pytest

from isogloss.multiview import SparseCCA, SumCor
from tests.multiview.data import latent_views, with_missing


def planted(rng, n=150, p=60, signal=4, n_views=3, units=1.0):
    """Views in which only the first features share a variable."""
    z = rng.normal(size=(n, 1))
    views = [rng.normal(size=(n, p)) for _ in range(n_views)]
    for x in views:
        x[:, :signal] += z
        x *= units
    return views


@pytest.mark.parametrize("n_views", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_features_that_share_something(seed, n_views):
    views = planted(np.random.default_rng(seed), n_views=n_views)
    model = SparseCCA(1, l1=0.25 * (n_views - 1)).fit(views)
    for weights in model.weights_:
        assert set(np.flatnonzero(weights)) <= set(range(4))
    assert model.n_nonzero_.sum() >= 3 * n_views
    assert model.score(planted(np.random.default_rng(seed + 100), n_views=n_views)) > 0.8 * model.score(views)


def test_without_a_penalty_it_is_sumcor_one_by_one(rng):
    views = latent_views(rng)
    expected = SumCor(3, algorithm="horst", tol=1e-18, random_state=0).fit(views)
    model = SparseCCA(3, l1=0.0, tol=1e-18, max_iter=5000).fit(views)
    np.testing.assert_allclose(model.objectives_, expected.objectives_, atol=1e-6)


def test_the_optimum_satisfies_the_conditions_of_the_lasso(rng):
    """At a maximum, ``b - R v`` is within the penalty, and meets it where a weight is not zero."""
    views = planted(rng, p=12)
    model = SparseCCA(1, l1=0.3, tol=1e-16).fit(views)
    z = [(x - x.mean(axis=0)) / x.std(axis=0, ddof=1) for x in views]
    v = [w[:, 0] * x.std(axis=0, ddof=1) for x, w in zip(views, model.weights_, strict=True)]
    for i in range(3):
        b = z[i].T @ sum(z[j] @ v[j] for j in range(3) if j != i) / (len(z[i]) - 1)
        Rv = z[i].T @ (z[i] @ v[i]) / (len(z[i]) - 1)
        length = v[i] @ b - 0.3 * np.abs(v[i]).sum()  # the multiplier of the constraint
        slack = b - length * Rv
        support = v[i] != 0
        np.testing.assert_allclose(slack[support], 0.3 * np.sign(v[i][support]), atol=1e-5)
        assert (np.abs(slack[~support]) <= 0.3 + 1e-5).all()


@pytest.mark.parametrize("ridge", [0.0, 0.2, 1.0])
def test_a_sweep_never_lowers_the_objective(rng, ridge):
    views = planted(rng, n=50, p=80)
    model = SparseCCA(2, l1=0.4, ridge=ridge, tol=1e-12).fit(views)
    for trace in model.objective_trace_:
        assert np.diff(trace).min(initial=0.0) >= -1e-7


def test_units_of_features_do_not_matter(rng):
    views = planted(rng)
    scales = [np.exp(rng.normal(size=60)) for _ in views]
    plain = SparseCCA(1, l1=0.3).fit(views)
    scaled = SparseCCA(1, l1=0.3).fit([x * s for x, s in zip(views, scales, strict=True)])
    for a, b, s in zip(plain.weights_, scaled.weights_, scales, strict=True):
        np.testing.assert_allclose(a[:, 0], b[:, 0] * s, atol=1e-5)


def test_more_penalty_leaves_fewer_features(rng):
    views = planted(rng, n=60, p=100)
    counts = [SparseCCA(1, l1=l1).fit(views).n_nonzero_.sum() for l1 in (0.1, 0.3, 0.6, 1.0)]
    assert (np.diff(counts) < 0).all()


def test_views_have_penalties_of_their_own(rng):
    views = planted(rng)
    one = SparseCCA(1, l1=[0.0, 0.4, 0.4]).fit(views)
    assert one.n_nonzero_[0, 0] == 60
    assert one.n_nonzero_[0, 1] < 10


def test_constant_features_get_no_weight(rng):
    views = planted(rng)
    views[1][:, 0] = 7.0
    model = SparseCCA(1, l1=0.3).fit(views)
    assert model.weights_[1][0, 0] == 0
    assert np.isfinite(model.objective_)


def test_it_takes_more_features_than_rows_and_missing_views(rng):
    views = with_missing(rng, planted(rng, n=120, p=300), share=0.2)
    model = SparseCCA(1, l1=0.5).fit(views)
    assert all(set(np.flatnonzero(w)) <= set(range(4)) for w in model.weights_)


@pytest.mark.parametrize(
    ("l1", "message"),
    [
        (5.0, "leaves view 0 without a feature: the largest covariance .* lower l1"),
        ([0.1, 0.2], "l1 gives 2 numbers for 3 views"),
        ([0.1, -0.2, 0.3], "expected finite numbers, 0 or larger"),
        ([0.1, np.nan, 0.3], "expected finite numbers"),
    ],
)
def test_penalties_that_cannot_be(rng, l1, message):
    with pytest.raises(ValueError, match=message):
        SparseCCA(1, l1=l1).fit(planted(rng))
