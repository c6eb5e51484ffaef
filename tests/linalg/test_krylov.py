"""krylov_svd against LAPACK and against power iterations."""

import numpy as np
import pytest
from scipy import sparse

from isogloss.linalg import krylov_svd, randomized_svd


def matrix_with_spectrum(n, p, values, seed=0):
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((n, len(values))))
    V, _ = np.linalg.qr(rng.standard_normal((p, len(values))))
    return (U * values) @ V.T


TALL = matrix_with_spectrum(620, 200, 0.8 ** np.arange(200.0))


@pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_leading_triplets_equal_lapack(form, wide):
    A = TALL.T if wide else TALL
    U, s, Vt = krylov_svd(form(A), 6, n_basis=100, random_state=0)
    U_full, s_full, Vt_full = np.linalg.svd(A, full_matrices=False)
    assert U.shape == (A.shape[0], 6)
    assert Vt.shape == (6, A.shape[1])
    np.testing.assert_allclose(s, s_full[:6], rtol=1e-12)
    np.testing.assert_allclose((U * s) @ Vt, (U_full * s_full)[:, :6] @ Vt_full[:6], atol=1e-10)
    assert (U[np.abs(U).argmax(axis=0), range(6)] > 0).all()


def test_a_basis_as_long_as_the_smaller_side_gives_the_exact_decomposition():
    A = np.random.default_rng(0).standard_normal((130, 75))
    for X in (A, A.T):
        U, s, Vt = krylov_svd(X, 75, n_basis=1000, random_state=0)
        np.testing.assert_allclose(s, np.linalg.svd(X, compute_uv=False), rtol=1e-12)
        np.testing.assert_allclose((U * s) @ Vt, X, atol=1e-12)


def test_a_flat_spectrum_is_captured_better_than_by_power_iterations_with_as_many_products():
    A = sparse.random_array((900, 700), density=0.02, format="csr", rng=np.random.default_rng(0))
    k = 40
    krylov = krylov_svd(A, k, n_basis=160, random_state=0)[1]
    power = randomized_svd(A, k, n_iter=3, n_oversamples=0, random_state=0)[1]
    assert np.square(krylov).sum() > 1.01 * np.square(power).sum()


def test_vectors_are_orthonormal_and_singular_values_small_ones_survive():
    A = matrix_with_spectrum(600, 300, np.r_[10.0 ** -np.arange(8.0), np.zeros(200)])
    U, s, Vt = krylov_svd(A, 8, n_basis=120, random_state=0)
    np.testing.assert_allclose(s, 10.0 ** -np.arange(8.0), rtol=1e-7)
    np.testing.assert_allclose(U.T @ U, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(8), atol=1e-12)


@pytest.mark.parametrize("values", [[], [3.0, 2.0]], ids=["zero", "rank 2"])
def test_more_components_than_rank_give_zeros_and_orthonormal_vectors(values):
    A = matrix_with_spectrum(300, 200, np.array(values)) if values else np.zeros((300, 200))
    U, s, Vt = krylov_svd(A, 70, n_basis=150, random_state=0)
    np.testing.assert_allclose(s, np.r_[values, np.zeros(70 - len(values))], atol=1e-12)
    np.testing.assert_allclose(U.T @ U, np.eye(70), atol=1e-12)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(70), atol=1e-12)


def test_single_precision_stays_single():
    A = sparse.csr_array(TALL.astype(np.float32))
    U, s, Vt = krylov_svd(A, 5, n_basis=60, random_state=0)
    assert U.dtype == Vt.dtype == np.float32
    np.testing.assert_allclose(s, 0.8 ** np.arange(5), rtol=1e-5)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(5), atol=1e-5)


def test_few_components_go_through_the_matrix_several_times():
    s = krylov_svd(TALL, 2, random_state=0)[1]
    np.testing.assert_allclose(s, [1.0, 0.8], rtol=1e-6)


def test_same_seed_same_bits():
    first, again = (krylov_svd(TALL, 4, random_state=1) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0"),
        ({"n_components": 201}, ValueError, "from 1 to 200"),
        ({"n_components": 5, "n_basis": 4}, ValueError, "n_basis=4"),
        ({"n_components": 5, "n_basis": 7.5}, TypeError, "n_basis=7.5"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        krylov_svd(TALL, **options)


def test_missing_values_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        krylov_svd(np.array([[1.0, np.nan]]), 1)
