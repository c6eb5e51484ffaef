"""Mixtures of rows with missing values."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from isogloss.mixture import GaussianMixture

TYPES = ["full", "tied", "diag", "spherical"]


@pytest.fixture
def whole(rng):
    mixing = np.array([[1.0, 0.8, 0.3], [0.0, 0.6, 0.2], [0.0, 0.0, 0.5]])
    return np.concatenate([rng.normal(size=(500, 3)) @ mixing, rng.normal([5.0, -4.0, 3.0], size=(300, 3))])


@pytest.fixture
def gappy(rng, whole):
    x = whole.copy()
    x[rng.random(x.shape) < 0.25] = np.nan
    return x[~np.isnan(x).all(axis=1)]


def observed_likelihood(x, mixture, shape):
    """Sum of the log densities of what each row shows, by marginalising one row at a time."""
    total = 0.0
    for row in x:
        seen = ~np.isnan(row)
        joint = [
            np.log(w) + multivariate_normal(m[seen], c[np.ix_(seen, seen)]).logpdf(row[seen])
            for w, m, c in zip(mixture.weights_, mixture.means_, shape, strict=True)
        ]
        total += logsumexp(joint)
    return total


@pytest.mark.parametrize("covariance_type", TYPES)
def test_bound_is_the_likelihood_of_what_was_seen(gappy, covariance_type):
    mixture = GaussianMixture(
        2, covariance_type=covariance_type, missing="marginalise", tol=1e-8, max_iter=500, random_state=0
    ).fit(gappy)
    full = {
        "full": lambda c: c,
        "tied": lambda c: np.stack([c, c]),
        "diag": lambda c: np.stack([np.diag(v) for v in c]),
        "spherical": lambda c: np.stack([v * np.eye(3) for v in c]),
    }[covariance_type](mixture.covariances_)
    energy = mixture.free_energy(gappy)
    assert energy.log_likelihood == pytest.approx(observed_likelihood(gappy, mixture, full), rel=1e-10)
    assert energy.kl == pytest.approx(0.0, abs=1e-8)
    bounds = np.array([line.bound for line in mixture.trace_])
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds).max()
    assert mixture.score_samples(gappy).sum() == pytest.approx(energy.log_likelihood, rel=1e-10)


def test_no_gaps_is_the_plain_fit(whole):
    options = {"random_state": 0, "tol": 1e-8}
    plain = GaussianMixture(2, **options).fit(whole)
    allowed = GaussianMixture(2, missing="marginalise", **options).fit(whole)
    np.testing.assert_allclose(allowed.means_, plain.means_, rtol=1e-10)


def test_one_component_recovers_the_covariance(rng, whole):
    """One Gaussian with values missing at random: EM finds the covariance that pairs alone would distort."""
    rows = whole[:500]
    x = rows.copy()
    x[rng.random(x.shape) < 0.3] = np.nan
    x = x[~np.isnan(x).all(axis=1)]
    mixture = GaussianMixture(1, missing="marginalise", tol=1e-10, max_iter=1000).fit(x)
    np.testing.assert_allclose(mixture.covariances_[0], np.cov(rows.T), atol=0.2)


def test_impute_beats_the_mean(rng, whole, gappy):
    mixture = GaussianMixture(2, missing="marginalise", random_state=0, max_iter=300).fit(gappy)
    mask = rng.random(whole.shape) < 0.25
    mask[mask.all(axis=1)] = False
    hidden = np.where(mask, np.nan, whole)
    filled = mixture.impute(hidden)
    np.testing.assert_array_equal(filled[~mask], whole[~mask])
    error = ((filled - whole)[mask] ** 2).mean()
    baseline = ((np.nanmean(hidden, axis=0) - whole)[mask] ** 2).mean()
    assert error < 0.35 * baseline


def test_weights(rng, gappy):
    weights = rng.integers(1, 3, size=len(gappy))
    options = {
        "missing": "marginalise",
        "tol": 1e-9,
        "max_iter": 500,
        "means_init": [[0.0, 0, 0], [5.0, -4, 3]],
    }
    weighted = GaussianMixture(2, **options).fit(gappy, sample_weight=weights)
    repeated = GaussianMixture(2, **options).fit(np.repeat(gappy, weights, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-3, atol=1e-3)


def test_blank_row_and_blank_column(gappy):
    blank = gappy.copy()
    blank[4] = np.nan
    with pytest.raises(ValueError, match=r"row 4 .*no observed value"):
        GaussianMixture(1, missing="marginalise").fit(blank)
    column = gappy.copy()
    column[:, 1] = np.nan
    with pytest.raises(ValueError, match="feature 1 has no observed value"):
        GaussianMixture(1, missing="marginalise").fit(column[~np.isnan(column).all(axis=1)])
