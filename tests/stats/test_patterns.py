"""Moments per presence pattern: the laws of addition, and what is kept of few and of many rows."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from isogloss import io
from isogloss.stats import PatternMoments, Statistic
from isogloss.views import Views

DIMS = (3, 1, 2)
seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(0, 60)


def draw(rng, n):
    """Columns near and far from zero; any view missing anywhere, none or nearly all."""
    x = rng.choice([0.0, 1000.0], 6) + rng.choice([1.0, 10.0], 6) * rng.standard_normal((n, 6))
    present = rng.random((n, 3)) >= rng.choice([0.0, 0.4, 0.9])
    return Views(np.split(x, np.cumsum(DIMS)[:-1], axis=1), present=present)


def of(views):
    return PatternMoments(DIMS).update(views)


def summary(moments):
    """Count, mean and second moment per pattern, whichever way it is kept."""
    return {
        p.views: (p.n, p.mean, p.rows.T @ p.rows if p.product is None else p.product)
        for p in moments.patterns()
        if p.n
    }


def assert_same(a, b, spread=10.0):
    left, right = summary(a), summary(b)
    assert left.keys() == right.keys()
    for views, (n, mean, second) in left.items():
        assert n == right[views][0]
        np.testing.assert_allclose(mean, right[views][1], rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(second, right[views][2], atol=1e-8 * spread**2 * max(n, 1))


def same_bits(a, b):
    left, right = a.arrays(), b.arrays()
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def three(rng, n):
    views, place = draw(rng, n), rng.integers(0, 3, n)
    return views, [of(views[np.flatnonzero(place == k)]) for k in range(3)]


@given(seed=seeds, n=lengths)
def test_it_is_a_two_pass_reference(seed, n):
    views = draw(np.random.default_rng(seed), n)
    found = summary(of(views))
    kinds = [(tuple(np.flatnonzero(p)), rows) for p, rows in views.patterns() if p.any()]
    assert list(found) == sorted(seen for seen, _ in kinds)
    for seen, rows in kinds:
        x = np.hstack([views[rows].arrays[v] for v in seen])
        count, mean, second = found[seen]
        assert count == len(rows)
        np.testing.assert_allclose(mean, x.mean(axis=0), rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(second, (x - x.mean(0)).T @ (x - x.mean(0)), atol=1e-8 * 100 * len(x))


@given(seed=seeds, n=lengths)
def test_order_and_grouping_do_not_matter(seed, n):
    views, (a, b, c) = three(np.random.default_rng(seed), n)
    whole = of(views)
    assert_same(copy.deepcopy(a).merge(b).merge(c), whole)
    assert_same(copy.deepcopy(c).merge(copy.deepcopy(b).merge(a)), whole)


@given(seed=seeds, n=lengths)
def test_an_empty_one_changes_nothing_and_the_other_is_left_alone(seed, n):
    _, (a, b, _) = three(np.random.default_rng(seed), n)
    assert same_bits(copy.deepcopy(a).merge(PatternMoments(DIMS)), a)
    assert same_bits(PatternMoments(DIMS).merge(a), a)
    before = copy.deepcopy(b)
    total = copy.deepcopy(a).merge(b)
    total.merge(a).subtract(b)
    assert same_bits(b, before)


@given(seed=seeds, n=lengths)
def test_any_batches_are_one_batch(seed, n):
    rng = np.random.default_rng(seed)
    views = draw(rng, n)
    cuts = np.sort(rng.integers(0, n + 1, 5))
    streamed = PatternMoments(DIMS)
    for part in np.split(rng.permutation(n), cuts):
        assert streamed.update(views[part]) is streamed
    assert_same(streamed, of(views))


@given(seed=seeds, n=lengths)
def test_what_was_added_can_be_taken_back(seed, n):
    _, (a, b, c) = three(np.random.default_rng(seed), n)
    together = copy.deepcopy(a).merge(b).merge(c)
    assert_same(copy.deepcopy(together).subtract(b), copy.deepcopy(a).merge(c))
    assert_same(together.subtract(c).subtract(b), a)


@given(seed=seeds, n=lengths)
def test_arrays_hold_the_whole_state(seed, n):
    _, (a, b, _) = three(np.random.default_rng(seed), n)
    again = PatternMoments.from_arrays(a.arrays())
    assert same_bits(again, a)
    before = copy.deepcopy(a)
    assert same_bits(again.merge(b), copy.deepcopy(a).merge(b))
    assert same_bits(a, before), "from_arrays copies"


def test_few_rows_are_kept_as_rows_and_many_as_moments(rng):
    x = [rng.standard_normal((8, d)) for d in DIMS]
    moments = of([part[:6] for part in x])
    (pattern,) = moments.patterns()
    assert pattern.product is None
    assert pattern.rows.shape == (6, 6)
    (pattern,) = moments.update([part[6:] for part in x]).patterns()
    assert pattern.rows is None
    assert pattern.product.shape == (6, 6)


def test_sparse_rows_are_dense_rows(rng):
    views = draw(rng, 50)
    csr = Views([sparse.csr_array(x) for x in views], present=views.present)
    assert same_bits(of(csr), of(views))


def test_float32_rows_are_summed_in_double(rng):
    x = (1000 + rng.standard_normal((5000, 1))).astype(np.float32)
    (pattern,) = PatternMoments([1]).update([x]).patterns()
    assert pattern.product[0, 0] / 5000 == pytest.approx(x.astype(float).var(), rel=1e-9)


def test_counts(rng):
    views = draw(rng, 40)
    present = views.present.astype(int)
    np.testing.assert_array_equal(of(views).counts, present.T @ present)
    assert of(views).n_rows == present.any(axis=1).sum()


def test_it_is_a_statistic_with_a_file(rng, tmp_path):
    moments = of(draw(rng, 40))
    assert isinstance(moments, Statistic)
    io.save(moments, tmp_path / "moments.isogloss")
    assert same_bits(io.load(tmp_path / "moments.isogloss", expected=PatternMoments), moments)


def test_what_does_not_fit_is_refused(rng):
    moments = of(draw(rng, 10))
    with pytest.raises(ValueError, match="cannot combine"):
        moments.merge(PatternMoments([3, 1]))
    with pytest.raises(ValueError, match="more rows than were added"):
        moments.subtract(of(draw(rng, 40)))
    with pytest.raises(ValueError, match="features"):
        moments.update([np.zeros((2, 3)), np.zeros((2, 2)), np.zeros((2, 2))])
    with pytest.raises(ValueError, match="number of features"):
        PatternMoments([])
    arrays = of([np.ones((2, d)) for d in DIMS]).arrays()
    with pytest.raises(ValueError, match="width"):
        PatternMoments.from_arrays(arrays | {"0.rows": np.ones((2, 5))})
    with pytest.raises(ValueError, match="patterns of shape"):
        PatternMoments.from_arrays(arrays | {"present": np.ones((1, 2), dtype=bool)})
