"""Tensors with orthogonal components, and distributions nearest to rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.linalg import decompose_tensor, frequency_scale, project_to_simplex


def planted(rng, k):
    weights = np.linspace(3.0, 1.0, k)
    vectors = np.linalg.qr(rng.normal(size=(k, k)))[0]
    return weights, vectors, np.einsum("ia,ja,la,a->ijl", vectors, vectors, vectors, weights)


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_components_are_found(rng, k):
    weights, vectors, tensor = planted(rng, k)
    found, columns = decompose_tensor(tensor, random_state=0)
    np.testing.assert_allclose(found, weights, atol=1e-8)
    np.testing.assert_allclose(columns, vectors, atol=1e-7)


def test_noise_is_not_amplified(rng):
    weights, vectors, tensor = planted(rng, 10)
    noise = 0.05 * rng.normal(size=tensor.shape)
    found, columns = decompose_tensor(tensor + noise, random_state=0)
    assert np.abs(found - weights).max() < 0.15
    assert np.abs(columns.T @ vectors).diagonal().min() > 0.99
    np.testing.assert_allclose(columns.T @ columns, np.eye(10), atol=1e-12)


def test_only_the_symmetric_part_counts(rng):
    _, _, tensor = planted(rng, 4)
    skewed = rng.normal(size=(4, 4, 4))
    skewed -= skewed.transpose(1, 0, 2)  # vanishes when symmetrised
    for one, other in zip(
        decompose_tensor(tensor, random_state=0),
        decompose_tensor(tensor + skewed, random_state=0),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-7)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (np.zeros((2, 2)), "three equal sides"),
        (np.zeros((2, 2, 3)), "three equal"),
        (np.full((1, 1, 1), np.nan), "NaN"),
    ],
)
def test_what_is_no_tensor_is_refused(tensor, message):
    with pytest.raises(ValueError, match=message):
        decompose_tensor(tensor)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_projections_are_nearest_distributions(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0])
    (p,) = project_to_simplex(x)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)
    others = rng.dirichlet(np.ones(n), 50)
    # The angle between x - p and every way into the simplex is obtuse.
    assert ((others - p) @ (x - p)).max() < 1e-9 * max(1.0, np.abs(x).max())
    np.testing.assert_allclose(project_to_simplex(p)[0], p, atol=1e-12)


def test_rare_symbols_are_scaled_less():
    scale = frequency_scale([0.9, 0.1, 0.0])
    assert scale.tolist() == sorted(scale)
    assert scale[0] == pytest.approx(0.9**-0.5, rel=0.02)
    assert np.isfinite(scale[2])
