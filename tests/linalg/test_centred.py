"""CentredOperator and centre_kernel against the dense computation they avoid."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import KernelCenterer

from isogloss.linalg import CentredOperator, centre_kernel, randomized_svd


def sparse_rows(n, p, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    return sparse.random_array((n, p), density=density, format="csr", rng=rng)


def dense_centred(X, mean=None, weights=None):
    """The slow twin: subtract, then weigh."""
    X = (X.toarray() if sparse.issparse(X) else X).astype(float)
    mean = np.average(X, axis=0, weights=weights) if mean is None else mean
    return (X - mean) * (1.0 if weights is None else np.sqrt(weights)[:, None])


@given(
    n=st.integers(1, 12),
    p=st.integers(1, 9),
    k=st.integers(1, 4),
    form=st.sampled_from(["dense", "csr", "csc", "float32"]),
    weighted=st.booleans(),
    given_mean=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_products_equal_the_dense_ones(n, p, k, form, weighted, given_mean, seed):
    rng = np.random.default_rng(seed)
    X = {
        "dense": lambda: sparse_rows(n, p, seed).toarray(),
        "csr": lambda: sparse_rows(n, p, seed),
        "csc": lambda: sparse_rows(n, p, seed).tocsc(),
        "float32": lambda: sparse_rows(n, p, seed).astype(np.float32),
    }[form]()
    weights = rng.uniform(0.1, 2.0, n) if weighted else None
    mean = rng.standard_normal(p) if given_mean else None
    A, D = CentredOperator(X, mean, weights), dense_centred(X, mean, weights)
    V, U = rng.standard_normal((p, k)), rng.standard_normal((n, k))
    for fast, slow in [
        (A @ V, D @ V),
        (A.rmatmat(U), D.T @ U),
        (A.T @ U, D.T @ U),
        (A @ V[:, 0], D @ V[:, 0]),
        (A.rmatvec(U[:, 0]), D.T @ U[:, 0]),
        (A.matvec(V[:, :1]), D @ V[:, :1]),
        (A.gram_matmat(V), D.T @ D @ V),
        (A.gram_matmat(V[:, 0]), D.T @ D @ V[:, 0]),
        (A.kernel_matmat(U), D @ D.T @ U),
        (A.kernel_matmat(U[:, 0]), D @ D.T @ U[:, 0]),
    ]:
        assert fast.dtype == np.float64
        np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_constant_columns_vanish():
    X = np.column_stack([np.full(6, 3.0), np.arange(6.0)])
    np.testing.assert_allclose(CentredOperator(X).gram_matmat(np.eye(2)), [[0, 0], [0, 17.5]], atol=1e-12)


def test_a_single_row_is_its_own_mean():
    A = CentredOperator(sparse.csr_array([[1.0, 0.0, 2.0]]))
    np.testing.assert_array_equal(A @ np.eye(3), np.zeros((1, 3)))


def test_large_means_cost_digits_once_and_not_twice():
    # Mean/std = 1e5: the Gram matrix from raw second moments would keep about six digits.
    X = np.random.default_rng(0).standard_normal((200, 3)) + 1e5
    D = dense_centred(X)
    np.testing.assert_allclose(CentredOperator(X).gram_matmat(np.eye(3)), D.T @ D, rtol=0, atol=1e-7)


def test_a_weight_of_zero_removes_the_row():
    X, weights = sparse_rows(8, 4), np.array([1, 1, 0, 1, 1, 0, 1, 1.0])
    all_rows = CentredOperator(X, weights=weights).gram_matmat(np.eye(4))
    np.testing.assert_allclose(all_rows, CentredOperator(X[weights > 0]).gram_matmat(np.eye(4)), atol=1e-14)


def test_sparse_data_are_never_densified():
    # Dense, this matrix takes 80 GB; the blocks below take 2 MB a column.
    n, p, stored = 200_000, 50_000, 100_000
    rng = np.random.default_rng(0)
    where = (rng.integers(n, size=stored), rng.integers(p, size=stored))
    X = sparse.coo_array((rng.uniform(1, 2, stored), where), shape=(n, p)).tocsr()
    tracemalloc.start()
    try:
        A = CentredOperator(X)
        A.gram_matmat(np.ones((p, 2)))
        A.kernel_matmat(np.ones((n, 2)))
        _, s, _ = randomized_svd(A, 2, n_oversamples=4, n_iter=1, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6
    assert s[0] > 0


def test_input_is_kept_by_reference_and_not_changed():
    X = sparse_rows(5, 4)
    before = X.toarray()
    A = CentredOperator(X)
    A.gram_matmat(np.eye(4))
    assert np.shares_memory(A.X.data, X.data)
    np.testing.assert_array_equal(X.toarray(), before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.array([[1.0, np.nan]])}, "NaN"),
        ({"X": sparse.csr_array([[1.0, np.inf]])}, "inf"),
        ({"X": np.empty((0, 3))}, "0 sample"),
        ({"X": np.eye(3), "mean": np.zeros(2)}, r"mean has shape \(2,\)"),
        ({"X": np.eye(3), "weights": np.ones(2)}, r"weights has shape \(2,\)"),
        ({"X": np.eye(3), "weights": [1.0, -1.0, 1.0]}, "non-negative"),
        ({"X": np.eye(3), "weights": np.zeros(3)}, "at least one"),
    ],
)
def test_bad_operators_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        CentredOperator(**arguments)


def test_wrong_block_length_is_refused():
    with pytest.raises(ValueError, match="dimension mismatch"):
        CentredOperator(np.eye(3)) @ np.ones((4, 2))


def test_kernel_centring_equals_centred_features():
    X, X_new = sparse_rows(9, 5).toarray(), sparse_rows(4, 5, seed=1).toarray()
    K, K_new = X @ X.T, X_new @ X.T
    mean = X.mean(axis=0)
    np.testing.assert_allclose(centre_kernel(K), (X - mean) @ (X - mean).T, atol=1e-13)
    expected = (X_new - mean) @ (X - mean).T
    np.testing.assert_allclose(centre_kernel(K_new, K), expected, atol=1e-13)
    np.testing.assert_allclose(centre_kernel(K_new, K.mean(axis=0)), expected, atol=1e-13)
    np.testing.assert_allclose(centre_kernel(K, K), centre_kernel(K), atol=1e-13)


def test_kernel_centring_equals_scikit_learn():
    rng = np.random.default_rng(0)
    X, X_new = rng.standard_normal((20, 2)), rng.standard_normal((6, 2))
    K, K_new = (np.exp(-((A[:, None] - X) ** 2).sum(axis=2)) for A in (X, X_new))
    peer = KernelCenterer().fit(K)
    np.testing.assert_allclose(centre_kernel(K), peer.transform(K), atol=1e-14)
    np.testing.assert_allclose(centre_kernel(K_new, K), peer.transform(K_new), atol=1e-14)


def test_centred_kernel_is_symmetric_to_the_bit():
    X = np.random.default_rng(0).standard_normal((30, 4))
    K = np.tanh(X @ X.T)
    before = K.copy()
    centred = centre_kernel(K)
    np.testing.assert_array_equal(centred, centred.T)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize(
    ("K", "K_train", "message"),
    [
        (np.ones((2, 3)), None, "square"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), None, "not symmetric"),
        (np.full((2, 2), np.nan), None, "NaN"),
        (np.ones((2, 3)), np.eye(4), "K_train"),
        (np.ones((2, 3)), np.ones(4), "K_train"),
    ],
)
def test_bad_kernels_are_refused(K, K_train, message):
    with pytest.raises(ValueError, match=message):
        centre_kernel(K, K_train)
