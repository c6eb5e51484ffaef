"""Whitening: the defining equation, the rank, and the choice of route."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hilbert

from isogloss.linalg import regularise, whitening_matrix
from isogloss.linalg._whitening import _by_eigenvectors


def covariance(n, p, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, p))
    return np.cov(X, rowvar=False, bias=True).reshape(p, p)


def assert_whitens(white, C, atol=1e-9):
    np.testing.assert_allclose(white.matrix.T @ C @ white.matrix, np.eye(white.rank), atol=atol)


@given(
    n=st.integers(2, 30),
    p=st.integers(1, 12),
    ridge=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    seed=st.integers(0, 1000),
)
def test_whitened_covariance_is_the_identity(n, p, ridge, scale, seed):
    C = scale * covariance(n, p, seed)
    white = whitening_matrix(C, ridge=ridge)
    assert white.matrix.shape == (p, white.rank)
    assert white.rank == (min(p, n - 1) if ridge == 0 else p)
    assert_whitens(white, (1 - ridge) * C + ridge * np.eye(p), atol=1e-6)


def test_regularise_is_the_convex_combination():
    C = covariance(20, 4)
    before = C.copy()
    np.testing.assert_allclose(regularise(C, 0.3), 0.7 * C + 0.3 * np.eye(4), rtol=1e-15)
    np.testing.assert_array_equal(regularise(C, 0), C)
    np.testing.assert_array_equal(regularise(C, 1), np.eye(4))
    np.testing.assert_array_equal(C, before)


def test_a_well_conditioned_matrix_takes_the_cheap_route():
    C = covariance(100, 10)
    white = whitening_matrix(C)
    assert (white.method, white.rank, white.eigenvalues) == ("cholesky", 10, None)
    np.testing.assert_array_equal(white.matrix, np.triu(white.matrix))
    assert_whitens(white, C)


def test_constant_features_and_copies_are_dropped():
    X = np.random.default_rng(0).standard_normal((50, 5))
    X[:, 1] = 7.3
    X[:, 4] = X[:, 2]
    C = np.cov(X, rowvar=False)
    white = whitening_matrix(C)
    assert (white.method, white.rank) == ("eigh", 3)
    np.testing.assert_allclose(white.matrix[1], 0, atol=1e-12)
    np.testing.assert_allclose(white.eigenvalues, np.linalg.eigvalsh(C)[:1:-1])
    assert_whitens(white, C)


def test_ridge_keeps_directions_without_variance():
    white = whitening_matrix(np.diag([4.0, 0.0]), ridge=0.25)
    assert (white.method, white.rank) == ("cholesky", 2)
    np.testing.assert_allclose(np.diag(white.matrix), [1 / np.sqrt(3.25), 2.0])


def nearly_singular(ratio, p=30, seed=0):
    """Eigenvalues 1 but for one: ``ratio``, in a direction spread over all features."""
    v = np.random.default_rng(seed).standard_normal(p)
    v /= np.linalg.norm(v)
    return np.eye(p) - (1 - ratio) * np.outer(v, v)


@pytest.mark.parametrize("ratio", [1e-15, 1e-13, 5e-13])
def test_a_cholesky_factor_alone_is_no_proof_of_rank(ratio):
    # The factorisation of such a matrix often runs to completion, with garbage in the last row.
    white = whitening_matrix(nearly_singular(ratio))
    assert (white.method, white.rank) == ("eigh", 29)


@pytest.mark.parametrize("ratio", [2e-12, 1e-11, 1e-9, 1e-6, 1e-3])
def test_small_directions_above_the_tolerance_are_kept(ratio):
    white = whitening_matrix(nearly_singular(ratio))
    assert white.rank == 30
    assert_whitens(white, nearly_singular(ratio), atol=1e-3)


@pytest.mark.parametrize("p", range(2, 14))
@pytest.mark.parametrize("rank_tol", [1e-14, 1e-12, 1e-8, 1e-4])
def test_the_route_does_not_change_the_rank(p, rank_tol):
    H = hilbert(p)
    assert whitening_matrix(H, rank_tol=rank_tol).rank == _by_eigenvectors(H, rank_tol).rank


def test_zero_has_rank_zero_and_one_feature_is_a_number():
    nothing = whitening_matrix(np.zeros((3, 3)))
    assert (nothing.rank, nothing.matrix.shape) == (0, (3, 0))
    np.testing.assert_allclose(whitening_matrix([[4.0]]).matrix, [[0.5]])


def test_result_is_frozen():
    with pytest.raises(AttributeError):
        whitening_matrix(np.eye(2)).rank = 1


@pytest.mark.parametrize("ridge", [-0.1, 1.1, np.nan, np.inf])
def test_ridge_outside_the_unit_interval_is_refused(ridge):
    for function in (regularise, lambda C, ridge: whitening_matrix(C, ridge=ridge)):
        with pytest.raises(ValueError, match=r"ridge=.*\[0, 1\]"):
            function(np.eye(2), ridge)


@pytest.mark.parametrize(
    ("C", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.array([[1.0, np.inf], [np.inf, 1.0]]), "inf"),
        (np.empty((0, 0)), "0 sample"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semi-definite.*shrink_to_psd"),
        (-np.eye(2), "not positive semi-definite"),
    ],
)
def test_bad_covariances_are_refused(C, message):
    with pytest.raises(ValueError, match=message):
        whitening_matrix(C)


def test_text_for_a_number_is_a_type_error():
    with pytest.raises(TypeError, match="ridge='a lot' is a str"):
        regularise(np.eye(2), "a lot")
    with pytest.raises(ValueError, match="rank_tol=-1"):
        whitening_matrix(np.eye(2), rank_tol=-1)


@pytest.mark.parametrize(
    ("C", "method"), [([[4.0, 1.0], [1.0, 3.0]], "cholesky"), ([[4.0, 0.0], [0.0, 0.0]], "eigh")]
)
def test_rows_are_whitened_as_by_the_matrix(C, method):
    white, B = whitening_matrix(C), np.arange(6.0).reshape(2, 3)
    assert white.method == method
    for rows in (B, np.asfortranarray(B)):
        np.testing.assert_allclose(white.whiten_rows(rows), white.matrix.T @ rows, atol=1e-15)
    np.testing.assert_array_equal(B, np.arange(6.0).reshape(2, 3))
