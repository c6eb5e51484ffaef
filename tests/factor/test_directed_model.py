"""Appendix F: the noise term does not change the predictions of a directed linear model."""

import numpy as np
import pytest
from scipy.optimize import minimize

from isogloss.factor import InterBatteryFA


def log_likelihood(W, Psi, X, Y):
    residuals = Y - X @ W.T
    squares = np.einsum("nd,de,ne->", residuals, np.linalg.inv(Psi), residuals)
    return -0.5 * (squares + len(X) * np.linalg.slogdet(2 * np.pi * Psi)[1])


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((60, 3))
    noise = rng.standard_normal((60, 2)) @ np.array([[2.0, 1.5], [0.0, 0.3]])
    return X, X @ rng.standard_normal((3, 2)) + noise


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_noise_the_best_weights_are_those_of_least_squares(rows, seed):
    X, Y = rows
    root = np.random.default_rng(seed).standard_normal((2, 4))
    Psi = root @ root.T
    found = minimize(lambda w: -log_likelihood(w.reshape(2, 3), Psi, X, Y), np.zeros(6), tol=1e-12)
    np.testing.assert_allclose(found.x.reshape(2, 3), np.linalg.lstsq(X, Y, rcond=None)[0].T, atol=1e-5)


def test_estimating_the_noise_as_well_changes_the_likelihood_and_not_the_weights(rows):
    X, Y = rows
    W = np.linalg.lstsq(X, Y, rcond=None)[0].T
    residuals = Y - X @ W.T
    Psi = residuals.T @ residuals / len(X)
    assert log_likelihood(W, Psi, X, Y) > log_likelihood(W, np.eye(2), X, Y) + 1
    steps = np.random.default_rng(0).standard_normal((50, 2, 3))
    assert max(log_likelihood(W + 0.01 * step, Psi, X, Y) for step in steps) < log_likelihood(W, Psi, X, Y)


def test_in_a_model_with_factors_the_noise_does_matter(rng):
    """A noisier source is trusted less: the prediction of the other view shrinks towards its mean."""
    z = rng.standard_normal((2000, 1))
    target = z @ np.ones((1, 3)) + 0.1 * rng.standard_normal((2000, 3))
    clean, noisy = (z @ np.ones((1, 3)) + s * rng.standard_normal((2000, 3)) for s in (0.1, 2.0))
    slopes = [
        np.ptp(InterBatteryFA(1).fit([x, target]).predict([np.outer([-1, 1], np.ones(3)), None], 1).mean)
        for x in (clean, noisy)
    ]
    assert slopes[1] < 0.6 * slopes[0]
