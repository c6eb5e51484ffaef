"""Repair and proof of positive semi-definiteness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import block_diag

from isogloss.linalg import is_psd, nearest_psd, shrink_to_psd


def random_symmetric(p, seed=0):
    S = np.random.default_rng(seed).standard_normal((p, p))
    return (S + S.T) / 2


def pairwise_covariance(sizes=(4, 3, 5), n=24, seed=0):
    """Covariance of views of which a third of the rows are missing, one block per pair."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 2))
    views = [common @ rng.standard_normal((2, p)) + 0.1 * rng.standard_normal((n, p)) for p in sizes]
    seen = [rng.random(n) < 2 / 3 for _ in sizes]
    ends = np.cumsum(sizes)
    S = np.empty((ends[-1], ends[-1]))
    for i, j in np.ndindex(len(sizes), len(sizes)):
        rows = seen[i] & seen[j]
        X, Y = (v[rows] - v[rows].mean(axis=0) for v in (views[i], views[j]))
        S[ends[i] - sizes[i] : ends[i], ends[j] - sizes[j] : ends[j]] = X.T @ Y / rows.sum()
    return S


PAIRWISE = pairwise_covariance()


def smallest(S):
    return np.linalg.eigvalsh(S)[0]


def test_pairwise_covariances_are_indefinite_in_practice():
    assert smallest(PAIRWISE) < -0.01
    assert not is_psd(PAIRWISE)


@given(p=st.integers(1, 12), seed=st.integers(0, 1000), floor=st.sampled_from([0.0, 0.01, 3.0]))
def test_nearest_psd_clips_the_eigenvalues(p, seed, floor):
    S = random_symmetric(p, seed)
    nearest = nearest_psd(S, floor)
    values, V = np.linalg.eigh(S)
    np.testing.assert_allclose(nearest, (V * np.maximum(values, floor)) @ V.T, atol=1e-12)
    np.testing.assert_array_equal(nearest, nearest.T)
    assert is_psd(nearest)
    np.testing.assert_allclose(nearest_psd(nearest, floor), nearest, atol=1e-13)


def test_nearest_psd_is_no_farther_than_other_psd_matrices():
    S = random_symmetric(6)
    distance = np.linalg.norm(S - nearest_psd(S))
    for seed in range(50):
        F = np.random.default_rng(seed).standard_normal((6, 6))
        for other in (F @ F.T, nearest_psd(S) + 0.01 * F @ F.T, shrink_to_psd(S + 9 * np.eye(6)).matrix):
            assert np.linalg.norm(S - other) >= distance


def test_a_definite_matrix_is_left_alone_to_the_bit():
    S = random_symmetric(6) + 10 * np.eye(6)
    np.testing.assert_array_equal(nearest_psd(S), S)
    shrunk = shrink_to_psd(S)
    np.testing.assert_array_equal(shrunk.matrix, S)
    assert shrunk.weight == 0.0
    assert shrunk.smallest_before == shrunk.smallest_after == pytest.approx(smallest(S))


def sound_blocks_unsound_whole(p, seed):
    """Two positive definite blocks (eigenvalues above 0.5) and covariances beyond any correlation."""
    rng = np.random.default_rng(seed)
    T = block_diag(
        *(F @ F.T + 0.5 * np.eye(len(F)) for F in (rng.standard_normal((q, q)) for q in halves(p)))
    )
    S = T.copy()
    S[: p // 2, p // 2 :] = rng.standard_normal((p // 2, p - p // 2))
    S[0, -1] = 2 * np.sqrt(S[0, 0] * S[-1, -1])
    S[p // 2 :, : p // 2] = S[: p // 2, p // 2 :].T
    return S, T


def halves(p):
    return [p // 2, p - p // 2]


@given(
    p=st.integers(2, 10),
    seed=st.integers(0, 1000),
    kind=st.sampled_from(["diagonal", "blocks", "identity"]),
    floor=st.sampled_from([0.0, 0.3]),
)
def test_the_weight_is_sufficient_and_the_smallest(p, seed, kind, floor):
    S, T = sound_blocks_unsound_whole(p, seed)
    T, options = {
        "diagonal": (np.diag(np.diag(S)), {}),
        "blocks": (T, {"blocks": halves(p)}),
        "identity": (np.eye(p), {"target": np.eye(p)}),
    }[kind]
    shrunk = shrink_to_psd(S, floor=floor, **options)
    t = shrunk.weight
    assert 0 < t < 1
    np.testing.assert_allclose(shrunk.matrix, (1 - t) * S + t * T, atol=1e-13)
    assert shrunk.smallest_before == pytest.approx(smallest(S), abs=1e-12)
    assert shrunk.smallest_after == pytest.approx(smallest(shrunk.matrix), abs=1e-12)
    assert shrunk.smallest_after >= floor - 1e-12
    less = t * (1 - 1e-6)
    assert smallest((1 - less) * S + less * T) < floor


def test_blocks_on_the_diagonal_keep_their_values():
    sizes = [4, 3, 5]
    shrunk = shrink_to_psd(PAIRWISE, blocks=sizes)
    assert 0 < shrunk.weight < 1
    assert is_psd(shrunk.matrix, tol=1e-12)
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        block = slice(end - size, end)
        np.testing.assert_allclose(shrunk.matrix[block, block], PAIRWISE[block, block], rtol=1e-13)
    cross = np.s_[:4, 4:7]
    np.testing.assert_allclose(shrunk.matrix[cross], (1 - shrunk.weight) * PAIRWISE[cross], rtol=1e-13)


def test_an_indefinite_block_is_no_target():
    with pytest.raises(ValueError, match="target has the eigenvalue -"):
        shrink_to_psd(PAIRWISE, blocks=[12])


def test_constant_features_are_no_obstacle():
    S = np.zeros((3, 3))
    S[:2, :2] = [[1.0, 2.0], [2.0, 1.0]]
    shrunk = shrink_to_psd(S)
    assert shrunk.weight == pytest.approx(0.5)
    assert shrunk.smallest_after == pytest.approx(0.0, abs=1e-15)
    nothing = shrink_to_psd(np.zeros((2, 2)))
    assert (nothing.weight, nothing.smallest_after) == (0.0, 0.0)


def test_blocks_of_deficient_rank_are_no_obstacle():
    # More features than rows: both blocks are singular, in directions the cross block misses too.
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((5, 8)), rng.standard_normal((5, 7))
    S = np.block([[X.T @ X, 3 * X.T @ Y], [3 * Y.T @ X, Y.T @ Y]])
    shrunk = shrink_to_psd(S, blocks=[8, 7])
    assert shrunk.weight == pytest.approx(2 / 3)
    assert is_psd(shrunk.matrix, tol=1e-10)


def test_a_target_singular_where_S_is_not_is_refused():
    with pytest.raises(ValueError, match="rank 1 of 2, and S is not zero"):
        shrink_to_psd([[0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="rank 0 of 2"):
        shrink_to_psd([[1.0, 2.0], [2.0, 1.0]], floor=1.0)


def test_is_psd_at_the_edge():
    flat = np.ones((5, 5))
    assert is_psd(flat)
    assert is_psd(np.zeros((2, 2)))
    assert is_psd(np.diag([1.0, -1e-9]), tol=1.1e-9)
    assert not is_psd(np.diag([1.0, -1e-9]), tol=0.9e-9)
    assert not is_psd(np.diag([1.0, -1e-9]))
    assert not is_psd(-np.eye(2))
    assert not is_psd([[-1e-300]])


@given(
    p=st.integers(1, 40),
    rank=st.integers(0, 40),
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1e-9, 1e9]),
)
def test_is_psd_accepts_gram_matrices_of_any_rank_and_refuses_less(p, rank, seed, scale):
    F = np.random.default_rng(seed).standard_normal((p, min(p, rank)))
    S = scale * F @ F.T
    assert is_psd(S)
    S[0, 0] -= S[0, 0] + 1e-6 * (np.trace(S) + scale)
    assert not is_psd(S)


def test_one_negative_direction_in_many_is_found():
    # A Lanczos run started at right angles to it would never see it.
    S = np.eye(300)
    S[-1, -1] = -1e-6
    assert not is_psd(S)
    assert is_psd(S, tol=2e-6)


def test_input_is_not_changed():
    before = PAIRWISE.copy()
    is_psd(PAIRWISE), nearest_psd(PAIRWISE), shrink_to_psd(PAIRWISE)
    np.testing.assert_array_equal(PAIRWISE, before)


@pytest.mark.parametrize("function", [is_psd, nearest_psd, shrink_to_psd])
@pytest.mark.parametrize(
    ("S", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 1.0], [0.0, 1.0]]), "not symmetric"),
        (np.array([[np.nan]]), "NaN"),
        (np.array([[np.inf]]), "inf"),
        (np.empty((0, 0)), "0 sample"),
    ],
)
def test_bad_matrices_are_refused(function, S, message):
    with pytest.raises(ValueError, match=message):
        function(S)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"floor": -1.0}, "floor=-1"),
        ({"floor": np.nan}, "floor=nan"),
        ({"floor": 2.0}, "below floor=2"),
        ({"target": np.eye(3)}, "expected that of S"),
        ({"target": -np.eye(2)}, "target has the eigenvalue -1"),
        ({"blocks": [1, 2]}, "sum to 3; expected positive sizes with sum 2"),
        ({"blocks": [2, 0]}, "expected positive sizes"),
        ({"blocks": [2], "target": np.eye(2)}, "both target and blocks"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        shrink_to_psd(np.array([[1.0, 2.0], [2.0, 1.0]]), **options)


@pytest.mark.parametrize("tol", [-1.0, np.nan, np.inf])
def test_bad_tolerances_are_refused(tol):
    with pytest.raises(ValueError, match="tol="):
        is_psd(np.eye(2), tol)
