"""The whitened problem, and what it makes of ridges, ranks and missing rows."""

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.linalg import is_psd
from isogloss.multiview.solvers import check_ridges, lack_of_rows, whitened_problem
from isogloss.stats import ViewMoments
from isogloss.views import Views
from tests.multiview.data import latent_views, with_missing


def moments_of(views):
    dims = views.dims if isinstance(views, Views) else [x.shape[1] for x in views]
    return ViewMoments(dims).update(views)


@given(seed=st.integers(0, 1000), ridge=st.sampled_from([0.0, 0.1, 0.5, 1.0, (0.0, 0.3, 1.0)]))
def test_quadratic_form_is_the_covariance_of_unit_variates(seed, ridge):
    rng = np.random.default_rng(seed)
    moments = moments_of(latent_views(rng, n=60, dims=(3, 2, 4), k=2))
    problem = whitened_problem(moments, ridge)
    A, whitenings, sizes = problem
    np.testing.assert_array_equal(A, A.T)
    kappas = check_ridges(ridge, 3)
    for i, rows in enumerate(problem.slices):
        np.testing.assert_array_equal(A[rows, rows], np.eye(sizes[i]))
        R = (1 - kappas[i]) * moments.covariance(i) + kappas[i] * np.eye(moments.dims[i])
        W = whitenings[i].matrix
        np.testing.assert_allclose(W.T @ R @ W, np.eye(sizes[i]), atol=1e-10)
        for j, columns in enumerate(problem.slices):
            if i != j:
                expected = W.T @ moments.covariance(i, j) @ whitenings[j].matrix
                np.testing.assert_allclose(A[rows, columns], expected, atol=1e-10)


def test_sizes_are_ranks(rng):
    x, y = latent_views(rng, dims=(4, 3))
    constant, copy = np.full((len(x), 1), 7.0), 2 * x[:, :1]
    problem = whitened_problem(moments_of([np.hstack([x, constant, copy]), y]))
    assert problem.sizes == (4, 3)
    assert whitened_problem(moments_of([np.hstack([x, constant]), y]), 0.1).sizes == (5, 3)


def test_complete_rows_are_not_shrunk(rng):
    assert whitened_problem(moments_of(latent_views(rng))).shrinkage == 0.0


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_impossible_blocks_shrink_until_they_are_possible(rng, caplog, ridge):
    views = with_missing(rng, latent_views(rng, n=40, noise=0.1), share=0.6)
    moments = moments_of(views)
    assert np.linalg.eigvalsh(moments.joint_covariance()).min() < -1e-3
    with caplog.at_level(logging.WARNING, logger="isogloss"):
        problem = whitened_problem(moments, ridge)
    assert 0 < problem.shrinkage < 1
    assert "shrunk" in caplog.text
    A = problem.A + (1 / (1 - ridge) - 1) * np.eye(len(problem.A))
    assert is_psd(A, tol=1e-10)
    assert np.linalg.eigvalsh(A).min() < 1e-8


@pytest.mark.parametrize("ridge", [-0.1, 1.1, np.nan, (0.1, 2.0)])
def test_ridge_outside_the_unit_interval_is_refused(ridge):
    with pytest.raises(ValueError, match=r"expected numbers in \[0, 1\]"):
        check_ridges(ridge, 2)


def test_wrong_number_of_ridges_is_refused():
    with pytest.raises(ValueError, match="3 numbers for 2 views"):
        check_ridges([0.1, 0.2, 0.3], 2)


def test_too_few_rows_name_what_is_missing():
    assert lack_of_rows(np.full((2, 2), 10), 3) is None
    assert "view 1 has 3 row(s)" in lack_of_rows(np.array([[10, 3], [3, 3]]), 3)
    apart = np.array([[9, 9, 0], [9, 9, 1], [0, 1, 9]])
    assert "[[0, 1], [2]]" in lack_of_rows(apart, 3)
