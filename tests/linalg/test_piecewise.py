"""Targets that come in pieces give the answer of all targets at once, or the query is called doubtful."""

import numpy as np

from isogloss.linalg import PiecewiseSearch, top_k


def test_pieces_give_the_answer_of_the_whole(rng):
    queries, targets = (rng.normal(size=(n, 12)).astype(np.float32) for n in (100, 6000))
    bias = np.where(rng.random(6000) < 0.1, -np.inf, rng.normal(size=6000).astype(np.float32))
    search = PiecewiseSearch(queries, 5, 12)
    for start, stop in ((0, 1), (1, 900), (900, 6000)):
        search.scan(targets[start:stop], bias[start:stop].astype(np.float32), start)
    found, doubtful = search.settle(lambda rows: targets[rows], bias)
    whole = top_k(queries, targets, 5, bias=bias)
    assert not doubtful.any()
    np.testing.assert_array_equal(found.indices[:, :5], whole.indices)
    np.testing.assert_allclose(found.scores[:, :5], whole.scores, rtol=1e-12)


def test_a_list_full_of_equal_targets_is_doubtful(rng):
    query = rng.normal(size=(1, 4)).astype(np.float32)
    for n, expected in ((8, False), (9, True)):
        search = PiecewiseSearch(query, 3, 9)
        search.scan(np.repeat(query, n, axis=0), np.zeros(n, np.float32), 0)
        found, doubtful = search.settle(lambda rows: np.repeat(query, len(rows), axis=0))
        assert doubtful.tolist() == [expected]
        assert np.isfinite(found.scores).sum() == n
        assert (found.indices >= 0).sum() == n


def test_the_length_of_targets_sets_the_margin():
    """A gap that float32 resolves between short targets is doubtful between long ones."""
    query = np.array([[1.0, 0.0]], np.float32)
    near = np.array([[1.0, 0.0], [1.0 - 2.0**-18, 0.0]], np.float32)
    for length, expected in ((0.0, False), (1e4, True)):
        search = PiecewiseSearch(query, 1, 2)
        search.scan(near, np.zeros(2, np.float32), 0, longest=length**2)
        assert search.settle(lambda rows: near[rows]).doubtful.tolist() == [expected]
