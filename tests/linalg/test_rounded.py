"""Nearest neighbours among rounded vectors: the kernel to the bit, the answers against the exact ones."""

import numpy as np
import pytest

from isogloss import kernels
from isogloss.linalg import RoundedVectors, top_k, top_k_rounded
from isogloss.linalg import _piecewise as piecewise
from isogloss.linalg import _rounded as module
from tests.oracles import topk as twin

SHAPES = [(1, 1, 1), (4, 16, 4), (5, 17, 3), (3, 40, 30), (9, 33, 129)]


def bytes_of(rng, n, m, d):
    codes = rng.integers(0, 128, (n, d)).astype(np.uint8)
    targets = rng.integers(-127, 128, (m, d)).astype(np.int8)
    codes[0], targets[0] = 127, -127
    return codes, targets


def packed(kernel, values, panel):
    out = np.empty(module._packed_size(values.shape, panel), values.dtype)
    kernel(values, out)
    return out


def selected(codes, worth, targets, scales, bias, size, portable, first=0):
    n = len(codes)
    scores, indices = np.full((n, size), -np.inf, np.float32), np.full((n, size), -1, np.int32)
    kernels.select_rounded(
        packed(kernels.pack_queries, codes, 4),
        worth,
        packed(kernels.pack_targets, targets, 16),
        targets.sum(axis=1, dtype=np.int32),
        scales,
        bias,
        codes.shape[1],
        first,
        portable,
        scores,
        indices,
    )
    order = np.lexsort((indices, -scores), axis=1)
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(indices, order, axis=1)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize(("n", "m", "d"), SHAPES)
def test_kernel_equals_its_twin_to_the_bit(rng, n, m, d, portable):
    codes, targets = bytes_of(rng, n, m, d)
    worth, scales = rng.random(n).astype(np.float32), rng.random(m).astype(np.float32)
    bias, size = rng.normal(size=m).astype(np.float32), min(m, 6)
    table = twin.rounded_scores(codes, worth, targets, scales, bias)
    expected = twin.best_of_rows(table, size)
    got = selected(codes, worth, targets, scales, bias, size, portable, first=100)
    np.testing.assert_array_equal(got[1], expected[1] + 100)
    np.testing.assert_array_equal(got[0], expected[0].astype(np.float32))


def test_equal_scores_come_in_the_order_of_their_indices(rng):
    codes, targets = np.full((2, 8), 70, np.uint8), np.full((40, 8), 3, np.int8)
    one = np.ones(40, np.float32)
    _, indices = selected(codes, one[:2], targets, one, 0 * one, 5, False)
    np.testing.assert_array_equal(indices, [[0, 1, 2, 3, 4]] * 2)


@pytest.mark.parametrize("skew", [0.0, 0.7])
def test_hardly_an_answer_is_missed(rng, skew):
    weights = np.arange(1, 101) ** -skew
    x, y = (twin.unit(rng.normal(size=(n, 100)) * weights).astype(np.float32) for n in (200, 5000))
    exact, got = top_k(x, y, 10), top_k_rounded(x, RoundedVectors.of(y), y, 10)
    assert np.mean([np.isin(a, b).mean() for a, b in zip(exact.indices, got.indices, strict=True)]) >= 0.999
    same = exact.indices == got.indices
    np.testing.assert_array_equal(exact.scores[same], got.scores[same])


def test_all_candidates_give_the_exact_answer(rng):
    x, y, bias = rng.normal(size=(30, 7)), rng.normal(size=(50, 7)).astype(np.float32), rng.normal(size=50)
    got = top_k_rounded(x, RoundedVectors.of(y), y, 8, candidates=50, bias=bias)
    expected = top_k(x, y, 8, bias=bias)
    np.testing.assert_array_equal(got.indices, expected.indices)
    np.testing.assert_array_equal(got.scores, expected.scores)


def test_threads_and_blocks_change_nothing(rng, monkeypatch):
    x, y = rng.normal(size=(70, 12)), rng.normal(size=(300, 12)).astype(np.float32)
    rounded = RoundedVectors.of(y)
    expected = top_k_rounded(x, rounded, y, 5)
    monkeypatch.setattr(piecewise, "QUERIES_PER_BLOCK", 16)
    for n_jobs in (None, 3):
        got = top_k_rounded(x, rounded, y, 5, n_jobs=n_jobs)
        np.testing.assert_array_equal(got.indices, expected.indices)
        np.testing.assert_array_equal(got.scores, expected.scores)


def test_targets_can_be_left_out(rng):
    x, y = rng.normal(size=(4, 6)), rng.normal(size=(20, 6)).astype(np.float32)
    bias = np.full(20, -np.inf)
    bias[[3, 11]] = 0.0
    got = top_k_rounded(x, RoundedVectors.of(y), y, 3, bias=bias)
    np.testing.assert_array_equal(np.sort(got.indices, axis=1), [[-1, 3, 11]] * 4)
    assert np.isneginf(got.scores[:, 2]).all()


def test_scores_from_half_floats(rng):
    x, y = rng.normal(size=(5, 6)), rng.normal(size=(20, 6)).astype(np.float16)
    got = top_k_rounded(x, RoundedVectors.of(y), y, 2, candidates=20)
    expected = top_k(x, y.astype(np.float32), 2)
    np.testing.assert_array_equal(got.scores, expected.scores)


def test_zero_vectors_are_no_trouble():
    y = np.zeros((3, 5), np.float32)
    got = top_k_rounded(y[:1], RoundedVectors.of(y), y, 2)
    np.testing.assert_array_equal(got.indices, [[0, 1]])
    np.testing.assert_array_equal(got.scores, [[0.0, 0.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries": np.ones((1, 4))}, "4 dimensions"),
        ({"vectors": np.ones((9, 3), np.float32)}, "9 vectors"),
        ({"k": 11}, "k=11"),
        ({"candidates": 1}, "candidates=1"),
        ({"bias": np.full(10, np.nan)}, "NaN"),
        ({"bias": np.zeros(9)}, "bias"),
    ],
)
def test_bad_input_is_refused(change, message):
    y = np.ones((10, 3), np.float32)
    given = {"queries": y[:1], "rounded": RoundedVectors.of(y), "vectors": y, "k": 2} | change
    with pytest.raises(ValueError, match=message):
        top_k_rounded(
            given.pop("queries"), given.pop("rounded"), given.pop("vectors"), given.pop("k"), **given
        )
