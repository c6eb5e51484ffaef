"""block_cg against direct solution, and what it says when it cannot solve."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator, cg
from sklearn.exceptions import ConvergenceWarning

from isogloss.linalg import CentredOperator, block_cg


def positive_definite(n, seed=0, condition=100.0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    A = (Q * np.geomspace(1.0, condition, n)) @ Q.T
    return (A + A.T) / 2


A20 = positive_definite(20)
B20 = np.random.default_rng(1).standard_normal((20, 5))


@given(
    n=st.integers(1, 25),
    k=st.integers(1, 5),
    condition=st.sampled_from([1.0, 10.0, 1e4]),
    scale=st.sampled_from([1e-200, 1e-5, 1.0, 1e200]),
    jacobi=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_solution_equals_the_direct_one(n, k, condition, scale, jacobi, seed):
    A = positive_definite(n, seed, condition)
    B = np.random.default_rng(seed).standard_normal((n, k))
    result = block_cg(A, scale * B, tol=1e-12, preconditioner=np.diag(A) if jacobi else None)
    assert result.converged.all()
    np.testing.assert_allclose(result.x / scale, np.linalg.solve(A, B), atol=1e-7)


@pytest.mark.parametrize(
    ("form", "atol"),
    [
        (np.asarray, 1e-9),
        (sparse.csr_array, 1e-9),
        (aslinearoperator, 1e-9),
        (lambda A: lambda V: A @ V, 1e-9),
        (np.float32, 1e-4),
    ],
    ids=["dense", "sparse", "operator", "callable", "float32"],
)
def test_every_form_of_operator_gives_the_same(form, atol):
    result = block_cg(form(A20), B20, tol=1e-11)
    assert result.x.dtype == np.float64
    np.testing.assert_allclose(result.x, np.linalg.solve(A20, B20), atol=atol)


def test_every_column_follows_the_path_it_takes_alone():
    A = positive_definite(20, condition=10.0)
    B = np.column_stack([np.linalg.matrix_power(A, 4) @ B20[:, :2], B20[:, 2:]])
    together = block_cg(A, B, tol=1e-4)
    assert len(set(together.n_iter)) > 1
    for j in range(5):
        alone = block_cg(A, B[:, j], tol=1e-4)
        assert alone.x.shape == (20,)
        assert alone.n_iter[0] == together.n_iter[j]
        np.testing.assert_allclose(alone.x, together.x[:, j], rtol=1e-9)
        x, _ = cg(A, B[:, j], rtol=1e-4, atol=0)
        np.testing.assert_allclose(alone.x, x, rtol=1e-9)


def test_converged_columns_leave_the_work():
    # An eigenvector takes one step, a sum of two eigenvectors two.
    widths = []

    def product(V):
        widths.append(V.shape[1])
        return np.arange(1.0, 7.0)[:, None] * V

    B = np.zeros((6, 3))
    B[0, 0] = B[0, 1] = B[1, 1] = 1.0
    B[:, 2] = 1.0
    result = block_cg(product, B)
    np.testing.assert_array_equal(result.n_iter, [1, 2, 6])
    # First and last are the residual of the start and of the answer.
    assert widths == [3, 3, 2, 1, 1, 1, 1, 3]


def test_exact_in_as_many_steps_as_there_are_eigenvalues():
    A = np.diag(np.repeat([1.0, 5.0, 40.0], 10))
    assert block_cg(A, np.random.default_rng(0).standard_normal((30, 4))).n_iter.max() <= 3


def test_residual_is_the_measured_one():
    result = block_cg(A20, B20, tol=1e-3)
    measured = np.linalg.norm(B20 - A20 @ result.x, axis=0) / np.linalg.norm(B20, axis=0)
    np.testing.assert_allclose(result.residual, measured, rtol=1e-9)
    assert (result.residual <= 1e-3).all()
    assert (result.residual > 0).all()


def test_jacobi_cures_bad_scaling():
    D = np.geomspace(1, 1e3, 40)
    A = D[:, None] * positive_definite(40, condition=3.0) * D
    B = A @ np.ones((40, 2))
    plain, jacobi = (block_cg(A, B, preconditioner=M, max_iter=5000) for M in (None, np.diag(A)))
    assert jacobi.n_iter.max() < plain.n_iter.max() / 3
    np.testing.assert_allclose(jacobi.x, 1.0, atol=1e-3)


def test_a_perfect_preconditioner_takes_one_step():
    inverse = np.linalg.inv(A20)
    result = block_cg(A20, B20, preconditioner=lambda R: inverse @ R)
    np.testing.assert_array_equal(result.n_iter, 1)


def test_a_zero_right_hand_side_needs_no_work():
    B = np.column_stack([np.zeros(20), B20[:, 0]])
    result = block_cg(A20, B, x0=np.ones((20, 2)))
    np.testing.assert_array_equal(result.x[:, 0], 0.0)
    assert (result.n_iter[0], result.residual[0], result.converged[0]) == (0, 0.0, True)
    np.testing.assert_allclose(A20 @ result.x[:, 1], B[:, 1], atol=1e-6)


def test_a_warm_start_at_the_solution_takes_no_step():
    X = np.linalg.solve(A20, B20)
    before = X.copy()
    result = block_cg(A20, B20, x0=X)
    np.testing.assert_array_equal(result.n_iter, 0)
    np.testing.assert_allclose(result.x, X, rtol=1e-14)
    np.testing.assert_array_equal(X, before)


def test_ridge_regression_on_sparse_centred_data():
    X = sparse.random_array((300, 40), density=0.1, format="csr", rng=np.random.default_rng(0))
    C, D = CentredOperator(X), X.toarray() - X.toarray().mean(axis=0)
    Y = np.random.default_rng(1).standard_normal((300, 3))
    result = block_cg(lambda V: C.gram_matmat(V) + 0.5 * V, C.rmatmat(Y), tol=1e-11)
    np.testing.assert_allclose(result.x, np.linalg.solve(D.T @ D + 0.5 * np.eye(40), D.T @ Y), atol=1e-9)


def test_failure_to_converge_is_reported_with_figures():
    with pytest.warns(ConvergenceWarning, match=r"5 of 5 .* tol=1e-08 in 3 iterations; .* residual is \d"):
        result = block_cg(A20, B20, max_iter=3)
    assert not result.converged.any()
    np.testing.assert_array_equal(result.n_iter, 3)
    with pytest.warns(ConvergenceWarning):
        nothing = block_cg(A20, B20, max_iter=0)
    np.testing.assert_array_equal(nothing.x, 0.0)


def test_an_unreachable_tolerance_is_not_taken_for_success():
    # The recurrence falls to any tolerance; the residual of the answer stops near 1e-16 * 1e10.
    A = positive_definite(30, condition=1e10)
    with pytest.warns(ConvergenceWarning):
        result = block_cg(A, np.ones(30), tol=1e-15, max_iter=3000)
    assert not result.converged[0]
    assert result.residual[0] > 2e-15


def test_success_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        block_cg(A20, B20)


@pytest.mark.parametrize(
    "diagonal", [[1.0, -1.0, 2.0], [-1.0, -2.0, -3.0], [1.0, 0.0, 2.0]], ids=["mixed", "negative", "singular"]
)
def test_an_indefinite_operator_is_named(diagonal):
    B = np.column_stack([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    # Errors for warnings: it must be seen before the numbers overflow.
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(ValueError, match=r"operator is indefinite or singular: p'Ap = .* right-hand side \d"),
    ):
        block_cg(np.diag(diagonal), B)


@pytest.mark.parametrize(
    ("operator", "options", "message"),
    [
        (np.ones((20, 19)), {}, "square"),
        (np.eye(19), {}, r"operator has shape \(19, 19\); expected \(20, 20\)"),
        (aslinearoperator(np.ones((20, 19))), {}, "expected"),
        (np.triu(np.ones((20, 20))), {}, "not symmetric"),
        (sparse.csr_array(np.triu(np.ones((20, 20)))), {}, "not symmetric"),
        (np.full((20, 20), np.nan), {}, "NaN"),
        (lambda V: V * np.nan, {}, "NaN or infinity"),
        (lambda V: V[:, :1], {}, r"operator mapped .* \(20, 5\) to \(20, 1\)"),
        (A20, {"x0": np.zeros(20)}, "x0 has shape"),
        (A20, {"preconditioner": np.zeros(20)}, "all positive"),
        (A20, {"preconditioner": np.ones(3)}, "preconditioner has shape"),
        (A20, {"preconditioner": lambda R: -R}, "preconditioner is not positive definite"),
        (A20, {"tol": -1.0}, "tol=-1"),
        (A20, {"tol": np.nan}, "tol=nan"),
        (A20, {"max_iter": -1}, "max_iter=-1"),
    ],
)
def test_bad_arguments_are_refused(operator, options, message):
    with pytest.raises(ValueError, match=message):
        block_cg(operator, B20, **options)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_right_hand_sides_are_refused(value):
    with pytest.raises(ValueError, match="B contains"):
        block_cg(np.eye(2), np.array([1.0, value]))
    with pytest.raises(ValueError, match="minimum of 1"):
        block_cg(np.eye(2), np.empty((0, 2)))
