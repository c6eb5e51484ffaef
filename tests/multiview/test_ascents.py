"""Horst's algorithm and the block ascent on matrices given directly."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.multiview._sscor import sscor_ascent
from isogloss.multiview.solvers import (
    WhitenedProblem,
    block_ascent,
    block_slices,
    horst,
    leading_eigenvectors,
    polar,
    start_blocks,
)
from isogloss.multiview.solvers._block import rotate_to_order, sum_of_pairs
from isogloss.multiview.solvers._horst import horst_components


def random_problem(seed, sizes, definite=True):
    """A symmetric matrix with identities on the diagonal; positive semidefinite, or far from it."""
    rng = np.random.default_rng(seed)
    N = sum(sizes)
    F = rng.standard_normal((N, N + 2))
    A = F @ F.T
    for rows in block_slices(sizes):
        L = np.linalg.inv(np.linalg.cholesky(A[rows, rows]))
        A[rows], A[:, rows] = L @ A[rows], A[:, rows] @ L.T
    if not definite:
        A *= 5.0
    for rows, size in zip(block_slices(sizes), sizes, strict=True):
        A[rows, rows] = np.eye(size)
    return WhitenedProblem(0.5 * (A + A.T), (), tuple(sizes))


def random_starts(seed, problem, starts, k):
    X = np.random.default_rng(seed).standard_normal((len(problem.A), starts, k))
    for rows in problem.slices:
        X[rows] = polar(X[rows])
    return X


sizes_of_views = st.lists(st.integers(3, 6), min_size=2, max_size=5)


@given(st.integers(0, 10_000), sizes_of_views, st.booleans(), st.integers(1, 3))
def test_block_objective_never_falls_and_is_what_it_says(seed, sizes, definite, k):
    problem = random_problem(seed, sizes, definite)
    ascent = block_ascent(problem.A, sizes, random_starts(seed, problem, 4, k), tol=1e-12)
    assert np.diff(ascent.trace).min(initial=0.0) >= -1e-12
    for rows in problem.slices:
        np.testing.assert_allclose(ascent.X[rows].T @ ascent.X[rows], np.eye(k), atol=1e-12)
    assert ascent.objective == pytest.approx(sum_of_pairs(problem.A, ascent.X[:, None])[0], abs=1e-9)
    assert ascent.objective == pytest.approx(ascent.ends.max())


@given(st.integers(0, 10_000), sizes_of_views, st.booleans())
def test_horst_objective_never_falls_whatever_the_matrix(seed, sizes, definite):
    problem = random_problem(seed, sizes, definite)
    starts = random_starts(seed, problem, 5, 1)[:, :, 0]
    ascent = horst(problem.A, sizes, starts, tol=1e-12)
    assert np.diff(ascent.trace).min(initial=0.0) >= -1e-12
    x = ascent.X[:, 0]
    assert ascent.objective == pytest.approx((x @ problem.A @ x - len(sizes)) / 2, abs=1e-12)


@given(st.integers(0, 10_000), sizes_of_views)
def test_the_printed_sweep_does_not_fall_for_semidefinite_matrices(seed, sizes):
    problem = random_problem(seed, sizes)
    starts = random_starts(seed, problem, 5, 1)[:, :, 0]
    ascent = horst(problem.A, sizes, starts, sweep="jacobi", tol=1e-12)
    assert np.diff(ascent.trace).min(initial=0.0) >= -1e-12
    # Both sweeps stop at solutions of the multivariate eigenvalue problem (4.3).
    for rows in problem.slices:
        x, Ax = ascent.X[rows, 0], (problem.A @ ascent.X)[rows, 0]
        np.testing.assert_allclose(Ax, (x @ Ax) * x, atol=1e-4)


@given(st.integers(0, 10_000), sizes_of_views)
def test_sscor_objective_never_falls_and_is_what_it_says(seed, sizes):
    problem = random_problem(seed, sizes)
    starts = random_starts(seed, problem, 5, 1)[:, :, 0]
    ascent = sscor_ascent(problem.A, sizes, starts, tol=1e-12)
    assert np.diff(ascent.trace).min(initial=0.0) >= -1e-12
    parts = [problem.A[a, b] for a, b in itertools.combinations(problem.slices, 2)]
    ends = itertools.combinations([ascent.X[rows, 0] for rows in problem.slices], 2)
    squares = sum((x @ P @ y) ** 2 for P, (x, y) in zip(parts, ends, strict=True))
    assert ascent.objective == pytest.approx(squares, abs=1e-12)


def test_unknown_sweep_is_refused():
    with pytest.raises(ValueError, match="gauss-seidel"):
        horst(np.eye(2), [1, 1], np.ones((2, 1)), sweep="sor")


@pytest.mark.parametrize("seed", range(20))
def test_small_problems_are_solved_to_the_brute_force_optimum(seed):
    """Views of two features: all angles on a grid, then the ascent from the best of them."""
    problem = random_problem(seed, (2, 2, 2))
    grid = np.linspace(0, 2 * np.pi, 25)[:-1]
    angles = np.array(list(itertools.product(grid[:12], grid, grid))).T
    starts = np.vstack([f(a) for a in angles for f in (np.cos, np.sin)])
    best = horst(problem.A, problem.sizes, starts, tol=1e-13).objective
    rng = np.random.RandomState(0)
    found = horst_components(problem, 1, 10, rng, tol=1e-13)[0].objective
    assert found == pytest.approx(best, abs=1e-9)
    block = block_ascent(problem.A, problem.sizes, start_blocks(problem, 1, 10, rng), tol=1e-13)
    assert block.objective == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_deflated_components_are_orthogonal_in_every_view(seed):
    problem = random_problem(seed, (5, 4, 6))
    found = horst_components(problem, 4, 5, np.random.RandomState(seed), tol=1e-12)
    X = np.hstack([ascent.X for ascent in found])
    for rows in problem.slices:
        np.testing.assert_allclose(X[rows].T @ X[rows], np.eye(4), atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_all_components_at_once_reach_at_least_the_total_of_one_by_one(seed):
    problem = random_problem(seed, (6, 5, 7, 4))
    rng = np.random.RandomState(seed)
    one_by_one = sum(a.objective for a in horst_components(problem, 3, 10, rng, tol=1e-12))
    block = block_ascent(problem.A, problem.sizes, start_blocks(problem, 3, 10, rng), tol=1e-12)
    assert block.objective >= one_by_one - 1e-9


def test_starts_in_one_batch_go_their_own_ways():
    problem = random_problem(3, (2,) * 8)
    starts = random_starts(1, problem, 12, 1)
    together = block_ascent(problem.A, problem.sizes, starts, tol=1e-13).ends
    alone = [block_ascent(problem.A, problem.sizes, starts[:, [s]], tol=1e-13).objective for s in range(12)]
    np.testing.assert_allclose(together, alone, atol=1e-9)
    assert np.ptp(alone) > 1e-3
    flat = horst(problem.A, problem.sizes, starts[:, :, 0], tol=1e-13).ends
    single = [horst(problem.A, problem.sizes, starts[:, s], tol=1e-13).objective for s in range(12)]
    np.testing.assert_allclose(flat, single, atol=1e-9)


def test_rotation_separates_the_components_and_keeps_the_total():
    problem = random_problem(0, (5, 4, 6))
    X = block_ascent(problem.A, problem.sizes, random_starts(0, problem, 1, 3), tol=1e-14).X
    ordered, parts = rotate_to_order(problem.A, X)
    assert parts.sum() == pytest.approx(sum_of_pairs(problem.A, X[:, None])[0])
    np.testing.assert_allclose([sum_of_pairs(problem.A, ordered[:, None, [c]])[0] for c in range(3)], parts)
    assert (np.diff(parts) <= 0).all()


def test_ascent_says_when_it_was_stopped():
    problem = random_problem(0, (5, 4, 6))
    starts = random_starts(0, problem, 1, 2)
    assert not block_ascent(problem.A, problem.sizes, starts, tol=1e-15, max_iter=2).converged
    assert not horst(problem.A, problem.sizes, starts[:, :, 0], tol=1e-15, max_iter=2).converged
    assert block_ascent(problem.A, problem.sizes, starts, tol=1e-6).converged


def test_polar_maximises_and_survives_what_vanishes(rng):
    S = rng.standard_normal((6, 2, 3))
    X = polar(S)
    for s in range(2):
        np.testing.assert_allclose(X[:, s].T @ X[:, s], np.eye(3), atol=1e-12)
        assert np.vdot(X[:, s], S[:, s]) == pytest.approx(np.linalg.svd(S[:, s])[1].sum())
    for k in (1, 3):
        X = polar(np.zeros((6, 1, k)))[:, 0]
        np.testing.assert_allclose(X.T @ X, np.eye(k), atol=1e-12)


@pytest.mark.slow
def test_lanczos_and_lapack_find_the_same_eigenvectors(rng):
    sizes = (600, 450)
    problem = random_problem(0, sizes)
    values, vectors = leading_eigenvectors(problem.A, 3, np.random.RandomState(0))
    expected = np.linalg.eigvalsh(problem.A)[::-1][:3]
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    np.testing.assert_allclose(problem.A @ vectors, values * vectors, atol=1e-8)
