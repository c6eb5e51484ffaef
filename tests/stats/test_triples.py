"""TripleCounts: a dense table, kept sparsely."""

import numpy as np
import pytest

from isogloss.stats import Statistic, TripleCounts


def dense(rows, weights, n):
    table = np.zeros((n, n, n))
    for (a, b, c), weight in zip(rows, weights, strict=True):
        if min(a, b, c) >= 0:
            table[a, b, c] += weight
    return table


@pytest.fixture
def case(rng):
    rows, weights = rng.integers(-1, 4, (200, 3)), rng.random(200)
    return TripleCounts(4).update(rows, weights), dense(rows, weights, 4)


def test_it_is_a_statistic(case):
    assert isinstance(case[0], Statistic)


def test_margins_and_contractions_are_those_of_the_dense_table(case, rng):
    counts, table = case
    assert counts.total == pytest.approx(table.sum())
    np.testing.assert_allclose(counts.values, table[tuple(counts.codes.T)])
    assert len(counts) == np.count_nonzero(table)
    for view, others in enumerate([(1, 2), (0, 2), (0, 1)]):
        np.testing.assert_allclose(counts.singles(view), table.sum(axis=others))
    np.testing.assert_allclose(counts.pairs(0, 2).toarray(), table.sum(axis=1))
    np.testing.assert_allclose(counts.pairs(2, 1).toarray(), table.sum(axis=0).T)
    F, S, T = (rng.normal(size=(4, k)) for k in (2, 3, 5))
    np.testing.assert_allclose(counts.contract(F, S, T), np.einsum("abc,ai,bj,cl->ijl", table, F, S, T))
    slices = dict(counts.slices(F, T))
    for value in range(4):
        np.testing.assert_allclose(slices[value], F.T @ table[:, value] @ T, atol=1e-12)


def test_nothing_seen_is_a_table_of_zeros():
    empty = TripleCounts(3).update([]).update([[-1, 0, 0]])
    assert (len(empty), empty.total) == (0, 0)
    assert not empty.contract(*[np.ones((3, 2))] * 3).any()
    assert empty.singles(1).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("rows", "weights", "message"),
    [
        ([[0, 1]], None, "three columns"),
        ([[0.5, 1, 1]], None, "expected integers"),
        ([[0, 1, 3]], None, "outside 0 ... 2"),
        ([[0, 1, -2]], None, "-1 if missing"),
        ([[0, 1, 2]], [-1.0], "not negative"),
        ([[0, 1, 2]], [1.0, 1.0], "one number"),
    ],
)
def test_bad_rows_are_refused(rows, weights, message):
    with pytest.raises(ValueError, match=message):
        TripleCounts(3).update(rows, weights)


def test_tables_of_other_sizes_are_not_merged():
    with pytest.raises(ValueError, match="4 values into those of 3"):
        TripleCounts(3).merge(TripleCounts(4))
    with pytest.raises(ValueError, match="expected between"):
        TripleCounts(1 << 22)
