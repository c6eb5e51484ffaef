"""The compiled mixture loops against their NumPy twins."""

import numpy as np
import pytest

from isogloss import kernels
from tests.oracles import mixture as twin

KINDS = [0, 1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 7])
def test_features(rng, kind, d):
    x = rng.normal(size=(11, d))
    expected = twin.quadratic_features(x, kind)
    out = np.empty_like(expected)
    kernels.quadratic_features(x, kind, out)
    np.testing.assert_allclose(out, expected, rtol=1e-14)


@pytest.mark.parametrize("spread", [0.1, 5.0, 1000.0])
def test_normalise(rng, spread):
    joint, weights = rng.normal(scale=spread, size=(50, 6)), rng.uniform(size=50)
    posterior, log_norm, entropy, active = twin.normalise(joint, weights, 1e-4)
    out_norm = np.empty(50)
    got_entropy, got_active = kernels.normalise_log_joint(joint, weights, 1e-4, out_norm)
    np.testing.assert_allclose(joint, posterior, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(out_norm, log_norm, rtol=1e-14)
    assert got_entropy == pytest.approx(entropy, rel=1e-12)
    assert got_active == active


def test_normalise_when_nothing_is_possible():
    joint, norm = np.full((1, 2), -np.inf), np.empty(1)
    kernels.normalise_log_joint(joint, np.ones(1), 0.5, norm)
    assert norm[0] == -np.inf


@pytest.mark.parametrize("kind", KINDS)
def test_active_lists_and_sums(rng, kind):
    n, d, k, threshold = 60, 3, 5, 0.05
    x, weights = rng.normal(size=(n, d)), rng.uniform(0.5, 2.0, size=n)
    theta = rng.normal(size=(k, twin.quadratic_features(x[:1], kind).shape[1]))
    posterior = rng.dirichlet(np.full(k, 0.3), size=n)
    lengths, free = np.empty(n, dtype=np.int64), np.empty(n)
    above = posterior > threshold
    several = above.sum(axis=1) > 1
    indices = np.empty(above[several].sum(), dtype=np.int32)
    kernels.list_active(posterior, threshold, lengths, indices, free)
    np.testing.assert_array_equal(lengths, above.sum(axis=1))
    np.testing.assert_allclose(free, np.where(above, posterior, 0.0).sum(axis=1), rtol=1e-14)
    lists = [np.flatnonzero(row) for row in above[several]]
    np.testing.assert_array_equal(indices, np.concatenate(lists))

    offsets = np.concatenate([[0], np.cumsum(lengths[several])])
    args = x[several], weights[several]
    sums = np.zeros_like(theta)
    entropy = kernels.expect_active(*args, theta, offsets, indices, free[several], kind, sums)
    expected, expected_entropy = twin.expect_active(*args, theta, lists, free[several], kind)
    np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=1e-12)
    assert entropy == pytest.approx(expected_entropy, rel=1e-11)


def test_outputs_must_be_the_callers_own_array(rng):
    """A Fortran-ordered output would be converted, and the result written into the copy."""
    x = rng.normal(size=(4, 3))
    with pytest.raises(TypeError):
        kernels.quadratic_features(x, 1, np.empty((4, 7), order="F"))


@pytest.mark.parametrize("kind", [-1, 4])
def test_unknown_kind(kind):
    with pytest.raises(ValueError, match="kind"):
        kernels.quadratic_features(np.ones((1, 1)), kind, np.empty((1, 3)))


def test_wrong_shapes():
    with pytest.raises(ValueError, match="wrong shape"):
        kernels.quadratic_features(np.ones((2, 2)), 1, np.empty((2, 4)))
    with pytest.raises(ValueError, match="lengths"):
        kernels.normalise_log_joint(np.zeros((2, 2)), np.ones(3), 0.1, np.empty(2))
    out = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int32), np.empty(1)
    with pytest.raises(ValueError, match="too short"):
        kernels.list_active(np.full((1, 2), 0.5), 0.1, *out)
