"""Exact top-k against the whole table, to the bit, for every block and number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss import kernels
from isogloss.linalg import _topk as topk
from isogloss.linalg import rescore, top_k, top_k_both
from tests.oracles import topk as twin

BLOCKS = [(1, 1), (3, 5), (7, 64), (64, 33), (512, 2048)]


def vectors(rng, n, d=20):
    return rng.standard_normal((n, d), dtype=np.float32)


def near_copies(rng, n, d=20, steps=3):
    """Rows that differ by a few units in the last place: float32 products cannot tell them apart."""
    base = vectors(rng, 1, d)
    return (base * (1 + rng.integers(-steps, steps + 1, (n, d)) * 2.0**-23)).astype(np.float32)


def assert_same(got, expected):
    np.testing.assert_array_equal(got[1], expected[1])
    np.testing.assert_array_equal(got[0], expected[0])


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("n_jobs", [None, 3])
def test_equals_the_whole_table_to_the_bit(rng, block, n_jobs):
    x, y, bias = vectors(rng, 70), vectors(rng, 130), rng.normal(size=130)
    assert_same(top_k(x, y, 9, n_jobs=n_jobs, block=block), twin.top_k(x, y, 9))
    assert_same(top_k(x, y, 9, bias=bias, n_jobs=n_jobs, block=block), twin.top_k(x, y, 9, bias))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("n_jobs", [None, 3])
def test_both_sides_of_one_pass(rng, block, n_jobs):
    x, y, a, b = vectors(rng, 70), vectors(rng, 130), rng.normal(size=70), rng.normal(size=130)
    of_rows, of_columns = top_k_both(x, y, 6, row_bias=a, column_bias=b, n_jobs=n_jobs, block=block)
    assert_same(of_rows, twin.top_k(x, y, 6, b))
    assert_same(of_columns, twin.top_k(y, x, 6, a))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ties_of_float32_are_decided_in_float64(rng, n_jobs):
    x, y = vectors(rng, 20), near_copies(rng, 300)
    expected = twin.top_k(x, y, 5)
    crude = np.argsort(-(x @ y.T), axis=1, kind="stable")[:, :5]
    assert (crude != expected[1]).any()
    assert_same(top_k(x, y, 5, n_jobs=n_jobs), expected)
    of_rows, of_columns = top_k_both(x, y, 5, n_jobs=n_jobs, block=(8, 16))
    assert_same(of_rows, expected)
    assert_same(of_columns, twin.top_k(y, x, 5))


def test_the_second_search_sees_every_block(rng, monkeypatch):
    monkeypatch.setattr(topk, "BLOCK_SHAPE", (16, 50))
    x, y = vectors(rng, 20), near_copies(rng, 300)
    assert_same(top_k(x, y, 5), twin.top_k(x, y, 5))


def test_a_large_common_bias_does_not_hide_small_differences(rng):
    x, y = vectors(rng, 15), vectors(rng, 200)
    bias = 1e8 + 1e-3 * rng.normal(size=200)
    assert_same(top_k(x, y, 4, bias=bias), twin.top_k(x, y, 4, bias))


def test_equal_scores_keep_the_order_of_their_indices(rng):
    y = np.repeat(vectors(rng, 4), 40, axis=0)[rng.permutation(160)]
    x = np.vstack([vectors(rng, 5), np.zeros((2, 20), np.float32)])
    assert_same(top_k(x, y, 30, block=(2, 7)), twin.top_k(x, y, 30))
    both = top_k_both(y, x, 5, n_jobs=3, block=(9, 2))
    assert_same(both[0], twin.top_k(y, x, 5))
    assert_same(both[1], twin.top_k(x, y, 5))


def test_a_zero_query_is_not_searched_again(rng, monkeypatch):
    """All its products are exactly zero, so the first targets are right as they are."""
    searched = []
    monkeypatch.setattr(topk, "_search_again", lambda *arguments: searched.append(arguments))
    top = top_k(np.zeros((3, 20)), vectors(rng, 500), 4)
    assert searched == []
    np.testing.assert_array_equal(top.indices, np.tile(np.arange(4), (3, 1)))


def test_scores_are_exact_products_rounded_hardly_at_all(rng):
    x, y = vectors(rng, 3, 37), vectors(rng, 50, 37)
    scores, indices = top_k(x, y, 5)
    for i, row in enumerate(indices):
        for score, j in zip(scores[i], row, strict=True):
            assert abs(float(twin.exact_product(x[i], y[j]) - twin.Fraction(score))) < 1e-14


@pytest.mark.parametrize("k", [1, 4, 40, 41])
def test_any_number_up_to_all(rng, k):
    x, y = vectors(rng, 11, 3), vectors(rng, 41, 3)
    assert_same(top_k(x, y, k), twin.top_k(x, y, k))


def test_float64_input_is_rounded_to_float32(rng):
    x, y = rng.standard_normal((5, 8)), rng.standard_normal((30, 8))
    assert_same(top_k(x, y, 3), top_k(x.astype(np.float32), y.astype(np.float32), 3))


def test_one_set_with_itself(rng):
    x = vectors(rng, 90)
    of_rows, of_columns = top_k_both(x, x, 5, block=(32, 32))
    assert_same(of_rows, twin.top_k(x, x, 5))
    assert_same(of_columns, of_rows)


@given(st.integers(0, 2**31), st.integers(1, 40), st.integers(1, 60), st.integers(1, 40), st.integers(1, 9))
def test_properties(seed, n, m, d, levels):
    """Small integers, so that ties abound and every product is exact."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-levels, levels + 1, (size, d)) for size in (n, m))
    k = int(rng.integers(1, min(n, m) + 1))
    block = int(rng.integers(1, 70)), int(rng.integers(1, 70))
    of_rows, of_columns = top_k_both(x, y, k, block=block, n_jobs=int(rng.integers(1, 4)))
    assert_same(of_rows, twin.best_of_rows(x @ y.T, k))
    assert_same(of_columns, twin.best_of_rows(y @ x.T, k))


def test_the_input_is_not_changed(rng):
    x, y, bias, listed = vectors(rng, 6), vectors(rng, 9), np.ones(9), np.array([[3, 1, 2]] * 6, np.int32)
    copies = [a.copy() for a in (x, y, bias, listed)]
    top_k_both(x, y, 2, column_bias=bias)
    rescore(x, y, listed, bias=bias)
    for a, b in zip((x, y, bias, listed), copies, strict=True):
        np.testing.assert_array_equal(a, b)


def test_candidates_are_ranked_by_the_same_numbers(rng):
    x, y, bias = vectors(rng, 12), vectors(rng, 40), rng.normal(size=40)
    listed = np.stack([rng.permutation(40) for _ in range(12)])
    assert_same(rescore(x, y, listed, bias=bias), twin.top_k(x, y, 40, bias))


def test_bad_input_is_refused_with_a_reason(rng):
    x, y = vectors(rng, 4), vectors(rng, 9)
    with pytest.raises(ValueError, match="k=10; expected an integer from 1 to 9"):
        top_k(x, y, 10)
    with pytest.raises(ValueError, match="20 dimensions and targets 7"):
        top_k(x, y[:, :7], 2)
    with pytest.raises(ValueError, match="bias of targets has shape"):
        top_k(x, y, 2, bias=np.zeros(4))
    with pytest.raises(ValueError, match="NaN"):
        top_k(x * np.nan, y, 2)
    with pytest.raises(ValueError, match="beyond float32; scale the vectors down"):
        top_k(x * np.float32(1e30), y * np.float32(1e30), 2)
    with pytest.raises(ValueError, match="n_jobs=0"):
        top_k(x, y, 2, n_jobs=0)
    with pytest.raises(ValueError, match=r"block\[1\]=0"):
        top_k(x, y, 2, block=(5, 0))
    with pytest.raises(ValueError, match="one row for each of 4 queries"):
        rescore(x, y, [[1, 2]])
    with pytest.raises(ValueError, match="not a row of targets"):
        rescore(x, y, [[9]] * 4)


def heaps(n, size):
    return np.full((n, size), -np.inf, np.float32), np.full((n, size), -1, np.int32)


@pytest.mark.parametrize("width", [1, 31, 32, 33, 200])
def test_kernels_against_their_twins(rng, width):
    block = rng.integers(-50, 50, (9, width)).astype(np.float32)
    column_bias, row_bias = (rng.integers(-9, 9, n).astype(np.float32) for n in (width, 9))
    size = min(5, width)
    alone, rows, columns = heaps(9, size), heaps(9, size), heaps(width, 5)
    floors = np.full(width, -np.inf, np.float32)
    kernels.select_rows(block, column_bias, 100, *alone)
    kernels.select_both(block, column_bias, row_bias, 1000, 100, *rows, *columns, floors)
    across, down = twin.best_of_rows(block + column_bias, size), twin.best_of_rows((block.T + row_bias), 5)
    for got, first, expected in ((alone, 100, across), (rows, 100, across), (columns, 1000, down)):
        order = np.lexsort((got[1], -got[0]), axis=1)
        np.testing.assert_array_equal(np.take_along_axis(got[0], order, axis=1), expected[0])
        np.testing.assert_array_equal(np.take_along_axis(got[1], order, axis=1) - first, expected[1])
    np.testing.assert_array_equal(floors, columns[0].min(axis=1))


def test_kernels_refuse_wrong_shapes():
    block, bias = np.zeros((2, 3), np.float32), np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="wrong shape"):
        kernels.select_rows(block, bias, 0, *heaps(3, 1))
    with pytest.raises(ValueError, match="lengths differ"):
        kernels.select_rows(block, bias[:2], 0, *heaps(2, 1))
    with pytest.raises(TypeError):
        kernels.select_rows(block, bias, 0, np.zeros((2, 1)), heaps(2, 1)[1])


@pytest.mark.parametrize("n_jobs", [None, 3])
@pytest.mark.parametrize("kept", [0, 2, 9, 40])
def test_targets_can_be_left_out(rng, kept, n_jobs):
    x, y, bias = vectors(rng, 30), vectors(rng, 60), np.full(60, -np.inf)
    chosen = np.sort(rng.permutation(60)[:kept])
    bias[chosen] = rng.normal(size=kept)
    got = top_k(x, y, 5, bias=bias, n_jobs=n_jobs, block=(8, 16))
    if kept:
        expected = twin.top_k(x, y[chosen], min(kept, 5), bias[chosen])
        np.testing.assert_array_equal(got.indices[:, :kept], chosen[expected[1]])
        np.testing.assert_array_equal(got.scores[:, :kept], expected[0])
    assert (got.indices[:, kept:] == -1).all()
    assert np.isneginf(got.scores[:, kept:]).all()
