"""The best parameters of one view given the others, free and on the floor, against a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from isogloss.factor._one_view import OneView, one_view

FLOOR = 1e-3


def problem(rng, d, k=3, uncertainty=0.2):
    """A view of ``d`` features that depends on factors which the other views leave somewhat uncertain."""
    root, spread = rng.standard_normal((k, 2 * k)), rng.standard_normal((k, 2 * k))
    zz, C = root @ root.T / (2 * k), uncertainty * spread @ spread.T / (2 * k)
    W = rng.standard_normal((d, k))
    residual = rng.standard_normal((d, 3 * d))
    residual = residual @ residual.T / (3 * d)
    return W @ zz @ W.T + residual, W @ zz, zz, C


def general_maximum(view, d, k):
    """The same by a quasi-Newton method from many starts, over loadings and noise above the floor."""

    def unpack(x):
        root = np.tril(x[d * k :].reshape(d, d))
        return x[: d * k].reshape(d, k), root @ root.T + FLOOR * np.eye(d)

    starts = np.random.default_rng(0).standard_normal((8, d * k + d * d))
    ends = [minimize(lambda x: -view.likelihood(*unpack(x)), start, tol=1e-10) for start in starts]
    return -min(end.fun for end in ends)


@pytest.mark.parametrize("uncertainty", [0.05, 5.0])
@pytest.mark.parametrize("d", [1, 2])
def test_no_optimiser_finds_better(rng, d, uncertainty):
    """Little uncertainty leaves the maximum above the floor, much puts it there."""
    S, xz, zz, C = problem(rng, d, uncertainty=uncertainty)
    W = np.linalg.solve(zz, xz.T).T
    view = OneView(W, S - W @ xz.T, zz, C)
    free = view.free_maximum(FLOOR)
    assert (free is not None) == (uncertainty < 1)
    found = view.likelihood(*(free or view.floored_maximum(FLOOR)))
    best = general_maximum(view, d, 3)
    assert found <= best + 1e-6
    if free is not None or d == 1:
        assert found == pytest.approx(best, abs=1e-5)


def test_on_the_floor_only_what_is_better_counts(rng):
    S, xz, zz, C = problem(rng, 2, uncertainty=5.0)
    poor = 0.0 * xz, 100.0 * np.eye(2)
    W, noise = one_view(S, xz, zz, C, poor, FLOOR)
    assert np.linalg.eigvalsh(noise)[0] >= FLOOR * (1 - 1e-9)
    assert one_view(S, xz, zz, C, (W, noise), FLOOR) is None


def test_factors_that_do_not_vary_are_left_to_em(rng):
    S, xz, zz, C = problem(rng, 2)
    assert one_view(S, 0 * xz, 0 * zz, C, (0 * xz, S), FLOOR) is None
