"""The laws of addition, for every statistic: order, grouping, batches and copies do not matter.

Integer counts obey them to the bit, sums of floats to 1e-9 of the size of what was added.
"""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from isogloss.engine import tree_reduce
from isogloss.stats import Counts, CountTable, ExpectedCounts, Sketch, TripleCounts, ViewMoments
from isogloss.views import Views

DIMS = (3, 1, 2)
OMEGA = {
    0: np.random.default_rng(0).standard_normal((3, 2)),
    2: np.random.default_rng(1).standard_normal((2, 2)),
}
PAIRS = [(0, 2), (1, 0), (2, 2), (0, 0)]
TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True)
class Kind:
    """How to make a statistic of one kind from the rows ``draw(rng, n)``."""

    empty: Callable[[], Any]
    draw: Callable[[np.random.Generator, int], Any]
    add: Callable[[Any, Any], Any]
    take: Callable[[Any, np.ndarray], Any]
    """Some of the rows, as another batch would hold them."""

    def of(self, rows):
        return self.add(self.empty(), rows)


# --------------------------------------------------------------------------- rows of the statistics


def draw_views(rng, n):
    """Columns near and far from zero, some constant; dense or sparse; any view missing anywhere."""
    offset = rng.choice([0.0, 1.0, 1000.0], size=sum(DIMS))
    spread = rng.choice([0.0, 1.0, 10.0], size=sum(DIMS), p=[0.1, 0.6, 0.3])
    x = offset + spread * rng.standard_normal((n, sum(DIMS)))
    x[rng.random(x.shape) < rng.choice([0.0, 0.5, 0.95])] = 0.0
    full = np.split(x, np.cumsum(DIMS)[:-1], axis=1)
    return Views(full, present=rng.random((n, len(DIMS))) >= rng.choice([0.0, 0.3, 1.0]))


def take_views(views, rows):
    """The rows, each view dense or sparse, float64 values as they are."""
    part = views[rows]
    rng = np.random.default_rng(len(part))
    forms = rng.permutation([np.asarray, sparse.csr_array, sparse.csr_matrix])
    return Views([form(x) for form, x in zip(forms, part, strict=True)], present=part.present)


def count_one_by_one(counts, documents):
    for words in documents:
        counts.update(words)
    return counts


def take_list(documents, rows):
    return [documents[r] for r in rows]


def expected_of(rows):
    """An E-step in miniature: sums over rows."""
    tables = {"weight": rows.sum(axis=0), "second": rows.T @ rows, "active": np.array(float(len(rows)))}
    return ExpectedCounts(
        tables,
        rows=len(rows),
        entropy=float(np.abs(rows).sum()),
        log_likelihood=float(rows.sum()),
        parameters_id="p",
    )


KINDS = {
    "ViewMoments": Kind(lambda: ViewMoments(DIMS), draw_views, ViewMoments.update, take_views),
    "Sketch": Kind(lambda: Sketch(DIMS, OMEGA, PAIRS), draw_views, Sketch.update, take_views),
    "Counts": Kind(
        Counts,
        lambda rng, n: [[f"w{k}" for k in rng.integers(0, 6, rng.integers(0, 4))] for _ in range(n)],
        count_one_by_one,
        take_list,
    ),
    "CountTable": Kind(
        lambda: CountTable((3, 2)),
        lambda rng, n: np.column_stack([rng.integers(0, 3, n), rng.integers(0, 2, n)]),
        CountTable.update,
        lambda codes, rows: codes[rows],
    ),
    "TripleCounts": Kind(
        lambda: TripleCounts(3),
        lambda rng, n: rng.integers(-1, 3, (n, 3)),
        TripleCounts.update,
        lambda codes, rows: codes[rows],
    ),
    "ExpectedCounts": Kind(
        lambda: expected_of(np.zeros((0, 2))),
        lambda rng, n: rng.standard_normal((n, 2)),
        lambda total, rows: total.update(expected_of(rows)),
        lambda x, rows: x[rows],
    ),
}
SUBTRACTS = ("ViewMoments", "Counts", "CountTable")


# ----------------------------------------------------------------------------------------- comparisons


def same_bits(a, b):
    left, right = a.arrays(), b.arrays()
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype and np.array_equal(left[name], right[name], equal_nan=True)
        for name in left
    )


def assert_same(a, b, size):
    """Equal to the bit for integers, to 1e-9 of the size of ``size`` (which has seen all rows) for floats."""
    if isinstance(a, Counts):
        assert a == b
    elif isinstance(a, (CountTable, TripleCounts)):
        assert same_bits(a, b)
    elif isinstance(a, ExpectedCounts):
        assert a.parameters_id == b.parameters_id
        largest = {name: 1 + np.abs(array).max() for name, array in size.arrays().items() if array.size}
        for name, array in a.arrays().items():
            np.testing.assert_allclose(array, b.arrays()[name], rtol=0, atol=TOLERANCE * largest[name])
    else:
        assert_same_pairs(a, b, size)


def assert_same_pairs(a, b, size):
    pairs = PAIRS if isinstance(a, Sketch) else [(i, j) for i in range(3) for j in range(3)]
    sums = a._sums if isinstance(a, Sketch) else a._pairs
    others = b._sums if isinstance(b, Sketch) else b._pairs
    for i, j in pairs:
        assert a.count(i, j) == b.count(i, j)
    for key, mine in sums.items():
        norm_x, norm_y = column_norms(size, *key)
        other, n = others[key], max(mine.n, 1)
        for got, expected, norm in ((mine.mean_x, other.mean_x, norm_x), (mine.mean_y, other.mean_y, norm_y)):
            np.testing.assert_array_less(np.abs(got - expected), TOLERANCE * norm / np.sqrt(n) + 1e-300)
        bound = TOLERANCE * np.outer(norm_x, norm_y) + 1e-300
        np.testing.assert_array_less(np.abs(mine.product - other.product), bound)


def column_norms(size, i, j):
    """Norms of the columns of a pair about their means; a constant column counts by its last nine digits."""
    moments = size if isinstance(size, ViewMoments) else size.moments
    x, y = (
        np.sqrt(np.diag(moments.product(v, v)))
        + 1e-6 * (1 + np.abs(moments.mean(v))) * np.sqrt(moments.count(v))
        for v in (i, j)
    )
    return (x, y) if isinstance(size, ViewMoments) else (x, y @ np.abs(OMEGA[j]))


@dataclasses.dataclass
class SketchSize:
    """A sketch does not know the norms of its columns; the moments of the same rows do."""

    moments: ViewMoments


def size_of(kind, rows):
    if kind is KINDS["Sketch"]:
        return SketchSize(ViewMoments(DIMS).update(rows))
    return kind.of(rows)


# ------------------------------------------------------------------------------------------------ laws


def law(names=tuple(KINDS)):
    """A property of every kind of statistic, over rows from a seed."""

    def decorate(test):
        test = given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 40))(test)
        return pytest.mark.parametrize("name", names)(test)

    return decorate


def three_parts(name, seed, n):
    kind, rng = KINDS[name], np.random.default_rng(seed)
    rows = kind.draw(rng, n)
    place = rng.integers(0, 3, n)
    parts = [kind.of(kind.take(rows, np.flatnonzero(place == k))) for k in range(3)]
    return kind, rows, parts, size_of(kind, kind.take(rows, np.arange(n)))


def clone(statistic):
    return copy.deepcopy(statistic)


@law()
def test_order_does_not_matter(name, seed, n):
    _, _, (a, b, _), size = three_parts(name, seed, n)
    assert_same(clone(a).merge(b), clone(b).merge(a), size)


@law()
def test_grouping_does_not_matter(name, seed, n):
    _, _, (a, b, c), size = three_parts(name, seed, n)
    assert_same(clone(a).merge(b).merge(c), clone(a).merge(clone(b).merge(c)), size)


@law()
def test_an_empty_one_changes_nothing(name, seed, n):
    kind, _, (a, *_), _ = three_parts(name, seed, n)
    assert same_bits(clone(a).merge(kind.empty()), a)
    assert same_bits(kind.empty().merge(a), a)


@law()
def test_the_other_is_left_as_it_was(name, seed, n):
    _, _, (a, b, c), _ = three_parts(name, seed, n)
    before = clone(b)
    total = clone(a).merge(b)
    total.merge(c).merge(clone(a))
    assert same_bits(b, before)
    if name in SUBTRACTS:
        total.subtract(b)
        assert same_bits(b, before)


@law()
def test_any_batches_in_any_order_are_one_batch(name, seed, n):
    kind, rng = KINDS[name], np.random.default_rng(seed)
    rows = kind.draw(rng, n)
    whole = kind.of(rows)
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 8)))
    batches = [kind.take(rows, part) for part in np.split(rng.permutation(n), cuts)]
    streamed = kind.empty()
    for batch in batches:
        assert kind.add(streamed, batch) is streamed
    merged = tree_reduce((kind.of(batch) for batch in batches), lambda a, b: a.merge(b))
    size = size_of(kind, rows)
    assert_same(streamed, whole, size)
    assert_same(merged, whole, size)


@law(SUBTRACTS)
def test_what_was_added_can_be_taken_back(name, seed, n):
    _, _, (a, b, c), size = three_parts(name, seed, n)
    together = clone(a).merge(b).merge(c)
    assert_same(clone(together).subtract(b), clone(a).merge(c), size)
    assert_same(together.subtract(c).subtract(b), a, size)


@law()
def test_arrays_hold_the_whole_state(name, seed, n):
    _, _, (a, b, _), _ = three_parts(name, seed, n)
    again = type(a).from_arrays({key: array.copy() for key, array in a.arrays().items()})
    assert same_bits(again, a)
    assert same_bits(again.merge(b), clone(a).merge(b))
    again = type(a).from_arrays(a.arrays())
    before = clone(a)
    again.merge(b)
    assert same_bits(a, before), "from_arrays copies"


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 40))
def test_a_sketch_is_the_moments_times_its_blocks(seed, n):
    rng = np.random.default_rng(seed)
    rows = draw_views(rng, n)
    moments, sketch = (
        kind.of(take_views(rows, np.arange(n))) for kind in (KINDS["ViewMoments"], KINDS["Sketch"])
    )
    for i, j in PAIRS:
        assert sketch.count(i, j) == moments.count(i, j)
        norm_x, norm_y = column_norms(SketchSize(moments), i, j)
        error = np.abs(sketch.product(i, j) - moments.product(i, j) @ OMEGA[j])
        np.testing.assert_array_less(error, TOLERANCE * np.outer(norm_x, norm_y) + 1e-300)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 40))
def test_moments_are_those_of_a_two_pass_reference(seed, n):
    rng = np.random.default_rng(seed)
    rows = draw_views(rng, n)
    moments = ViewMoments(DIMS).update(take_views(rows, rng.permutation(n)))
    for i in range(3):
        for j in range(3):
            x, y = (a.astype(np.longdouble) for a in rows.shared(i, j))
            assert moments.count(i, j) == len(x)
            if len(x):
                product = (x - x.mean(axis=0)).T @ (y - y.mean(axis=0))
                error = np.abs(moments.product(i, j) - product).astype(float)
                bound = TOLERANCE * np.outer(*column_norms(moments, i, j))
                np.testing.assert_array_less(error, bound)
