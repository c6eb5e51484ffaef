"""randomized_svd and randomized_eigh against LAPACK."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from isogloss.linalg import CentredOperator, randomized_eigh, randomized_svd


def matrix_with_spectrum(n, p, values, seed=0):
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((n, len(values))))
    V, _ = np.linalg.qr(rng.standard_normal((p, len(values))))
    return (U * values) @ V.T


# Beyond the exact path in both directions: the longer side is above 500.
SPECTRUM = 2.0 ** -np.arange(40.0)
TALL = matrix_with_spectrum(620, 90, SPECTRUM)


@pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
def test_leading_triplets_equal_lapack(form, wide):
    A = TALL.T if wide else TALL
    k = 6
    U, s, Vt = randomized_svd(form(A), k, random_state=0)
    U_full, s_full, Vt_full = np.linalg.svd(A, full_matrices=False)
    assert U.shape == (A.shape[0], k)
    assert Vt.shape == (k, A.shape[1])
    np.testing.assert_allclose(s, s_full[:k], rtol=1e-10)
    np.testing.assert_allclose(np.abs((U * U_full[:, :k]).sum(axis=0)), 1.0, atol=1e-10)
    np.testing.assert_allclose((U * s) @ Vt, (U_full * s_full)[:, :k] @ Vt_full[:k], atol=1e-10)


def test_the_exact_and_the_randomised_path_agree_to_the_sign():
    sketched = randomized_svd(TALL, 5, random_state=3)
    exact = randomized_svd(TALL, 5, n_oversamples=85)
    for ours, theirs in zip(sketched, exact, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_largest_loading_of_every_left_vector_is_positive():
    for A in (TALL, TALL.T, TALL[:30]):
        U, _, _ = randomized_svd(A, 5, random_state=0)
        assert (U[np.abs(U).argmax(axis=0), range(5)] > 0).all()


def test_same_seed_same_bits_other_seed_same_answer():
    first, again, other = (randomized_svd(TALL, 4, random_state=seed) for seed in (1, 1, 2))
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, atol=1e-8)
    # Without power iterations the answer is an approximation and does depend on the seed.
    rough = [randomized_svd(TALL, 4, n_iter=0, n_oversamples=0, random_state=seed)[1] for seed in (1, 2)]
    assert not np.allclose(*rough)


def test_power_iterations_resolve_a_slowly_falling_spectrum():
    values = 0.9 ** np.arange(80.0)
    A = matrix_with_spectrum(600, 80, values)
    error = [abs(randomized_svd(A, 5, n_iter=q, random_state=0)[1] - values[:5]).max() for q in (0, 2, 7)]
    assert error[0] > error[1] > error[2]
    assert error[2] < 1e-3


def test_small_singular_values_survive_many_power_iterations():
    # Without a QR after every product all columns would collapse onto the first vector.
    values = np.r_[10.0 ** -np.arange(6.0), np.zeros(30)]
    A = matrix_with_spectrum(600, 60, values)
    s = randomized_svd(A, 6, n_iter=20, random_state=0)[1]
    np.testing.assert_allclose(s, values[:6], rtol=1e-9)


def test_more_components_than_rank_give_zeros_and_orthonormal_vectors():
    for n in (40, 600):
        A = matrix_with_spectrum(n, 30, np.array([3.0, 2.0]))
        U, s, Vt = randomized_svd(A, 6, random_state=0)
        np.testing.assert_allclose(s, [3, 2, 0, 0, 0, 0], atol=1e-13)
        np.testing.assert_allclose(U.T @ U, np.eye(6), atol=1e-12)
        np.testing.assert_allclose(Vt @ Vt.T, np.eye(6), atol=1e-12)


def test_a_zero_matrix_has_zero_singular_values():
    _, s, _ = randomized_svd(sparse.csr_array((700, 600)), 3, random_state=0)
    np.testing.assert_array_equal(s, 0)


def test_principal_components_of_sparse_data_without_densifying():
    X = sparse.random_array((700, 60), density=0.1, format="csr", rng=np.random.default_rng(0))
    X = X + sparse.csr_array(matrix_with_spectrum(700, 60, np.array([30.0, 20.0])))
    _, s, _ = randomized_svd(CentredOperator(X), 2, random_state=0)
    dense = X.toarray() - X.toarray().mean(axis=0)
    np.testing.assert_allclose(s, np.linalg.svd(dense, compute_uv=False)[:2], rtol=1e-10)


def test_one_row_and_float32():
    U, s, Vt = randomized_svd(np.array([[3.0, 4.0]], dtype=np.float32), 1)
    assert U.dtype == s.dtype == Vt.dtype == np.float64
    np.testing.assert_allclose([U[0, 0], s[0], *Vt[0]], [1.0, 5.0, 0.6, 0.8])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0"),
        ({"n_components": 91}, ValueError, "from 1 to 90"),
        ({"n_components": 2.5}, TypeError, "n_components=2.5"),
        ({"n_components": 2, "n_oversamples": -1}, ValueError, "n_oversamples=-1"),
        ({"n_components": 2, "n_iter": -1}, ValueError, "n_iter=-1"),
        ({"n_components": 2, "n_iter": "auto"}, TypeError, "n_iter='auto'"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        randomized_svd(TALL, **options)


def test_bad_operators_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        randomized_svd(np.array([[1.0, np.nan]]), 1)
    with pytest.raises(ValueError, match="NaN or infinity"):
        randomized_svd(LinearOperator((600, 600), matvec=lambda v: v * np.nan, dtype=float), 2)
    with pytest.raises(TypeError, match=r"adjoint of operator.*rmatvec"):
        randomized_svd(LinearOperator((600, 600), matvec=lambda v: v, dtype=float), 2)
    with pytest.raises(TypeError, match="complex"):
        randomized_svd(LinearOperator((3, 3), matvec=lambda v: v * 1j, dtype=complex), 2)
    with pytest.raises(ValueError, match="0 sample"):
        randomized_svd(np.empty((0, 3)), 1)


@pytest.mark.parametrize("n", [50, 620])
def test_leading_eigenpairs_equal_lapack(n):
    A = TALL[:n] @ TALL[:n].T
    values, vectors = randomized_eigh(A, 4, random_state=0)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[:-5:-1], rtol=1e-10)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)
    assert (vectors[np.abs(vectors).argmax(axis=0), range(4)] > 0).all()


def test_eigenvalues_of_an_operator_without_adjoint():
    A = CentredOperator(TALL)
    gram = LinearOperator((90, 90), matvec=A.gram_matmat, matmat=A.gram_matmat, dtype=float)
    kernel = LinearOperator((620, 620), matvec=A.kernel_matmat, matmat=A.kernel_matmat, dtype=float)
    singular = randomized_svd(A, 3, random_state=0)[1]
    for operator in (gram, kernel):
        np.testing.assert_allclose(randomized_eigh(operator, 3, random_state=0)[0], singular**2, rtol=1e-9)


@pytest.mark.parametrize("n", [20, 600])
def test_operators_that_are_not_semi_definite_are_refused(n):
    with pytest.raises(ValueError, match="not positive semi-definite"):
        randomized_eigh(sparse.diags_array(np.r_[-5.0, np.ones(n - 1)]).tocsr(), 3, random_state=0)
    with pytest.raises(ValueError, match="not symmetric"):
        randomized_eigh(np.triu(np.ones((n, n))), 2, random_state=0)
    with pytest.raises(ValueError, match="square"):
        randomized_eigh(np.ones((n, n + 1)), 2)
