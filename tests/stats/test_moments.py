"""ViewMoments and Sketch against two-pass references in higher precision."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from isogloss.stats import Sketch, Statistic, ViewMoments
from isogloss.stats import _cross as cross
from isogloss.stats._cross import CrossMoments, about_mean, row_blocks
from isogloss.views import Views


def cross_product(x, y):
    """The slow twin: two passes in long double."""
    x, y = (np.asarray(a, dtype=np.longdouble) for a in (x, y))
    return ((x - x.mean(axis=0)).T @ (y - y.mean(axis=0))).astype(np.float64)


def far_from_zero(rng, n, widths, ratio=1000.0):
    """Correlated float32 columns whose mean is ``ratio`` times their standard deviation."""
    common = rng.standard_normal((n, 1))
    return [(ratio + common + rng.standard_normal((n, p))).astype(np.float32) for p in widths]


def relative_error(got, expected, x, y):
    """Largest error, relative to the norms of the two centred columns."""
    norms = [np.sqrt(np.diag(cross_product(a, a))) for a in (x, y)]
    return (np.abs(got - expected) / np.outer(*norms)).max()


def test_moments_are_those_of_the_rows_two_views_share(rng):
    full = [rng.standard_normal((30, p)) for p in (3, 2, 4)]
    present = rng.random((30, 3)) > 0.4
    moments = ViewMoments([3, 2, 4]).update(Views(full, present=present))
    for i in range(3):
        for j in range(3):
            both = present[:, i] & present[:, j]
            x, y = full[i][both], full[j][both]
            n = int(both.sum())
            assert moments.count(i, j) == moments.counts[i, j] == n
            np.testing.assert_allclose(moments.mean(i, j), x.mean(axis=0), rtol=1e-12)
            np.testing.assert_allclose(moments.product(i, j), cross_product(x, y), atol=1e-12)
            np.testing.assert_allclose(moments.covariance(i, j), cross_product(x, y) / (n - 1), atol=1e-12)
            np.testing.assert_allclose(moments.covariance(i, j, ddof=0), cross_product(x, y) / n, atol=1e-12)
        assert moments.count(i) == present[:, i].sum()
        np.testing.assert_allclose(moments.mean(i), full[i][present[:, i]].mean(axis=0), rtol=1e-12)


def test_joint_covariance_of_complete_rows_is_numpys(rng):
    full = [rng.standard_normal((50, p)) for p in (3, 2)]
    joint = ViewMoments([3, 2]).update(full).joint_covariance()
    np.testing.assert_allclose(joint, np.cov(np.hstack(full).T), atol=1e-13)


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_covariance_is_zero_where_rows_do_not_suffice(ddof):
    moments = ViewMoments([1, 1])
    for n in range(ddof + 1):
        np.testing.assert_array_equal(moments.covariance(0, 1, ddof=ddof), [[0.0]])
        moments.update([np.array([[float(n)]]), np.array([[3.0 * n]])])
    assert moments.covariance(0, 1, ddof=ddof)[0, 0] > 0 or ddof == 0


@pytest.mark.parametrize("forms", ["dd", "ds", "sd", "ss"])
@pytest.mark.parametrize("batch_rows", [20_000, 700])
def test_float32_rows_far_from_zero_keep_their_digits(rng, forms, batch_rows):
    x, y = far_from_zero(rng, 20_000, (3, 2))
    form = {"d": np.asarray, "s": sparse.csr_array}
    moments = ViewMoments([3, 2])
    for start in range(0, 20_000, batch_rows):
        rows = slice(start, start + batch_rows)
        moments.update([form[f](a[rows]) for f, a in zip(forms, (x, y), strict=True)])
    for i, j, a, b in [(0, 0, x, x), (0, 1, x, y), (1, 1, y, y)]:
        assert relative_error(moments.product(i, j), cross_product(a, b), a, b) < 1e-10
    np.testing.assert_allclose(moments.mean(0), x.astype(np.longdouble).mean(axis=0), rtol=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_sketch_far_from_zero_keeps_its_digits(rng, form):
    x, y = far_from_zero(rng, 6_000, (4, 3))
    omega = rng.standard_normal((3, 2))
    sketch = Sketch([4, 3], {1: omega}, [(0, 1)])
    for start in range(0, 6_000, 600):
        sketch.update([form(x[start : start + 600]), form(y[start : start + 600])])
    expected = cross_product(x, y) @ omega
    assert relative_error(sketch.product(0, 1), expected, x, y @ omega.astype(np.longdouble)) < 1e-10


def test_a_nearly_full_sparse_column_far_from_zero(rng):
    """One row without it, the worst case for centring after the product."""
    x = far_from_zero(rng, 5_000, (2,))[0]
    x[17, 0] = 0.0
    product = ViewMoments([2]).update([sparse.csr_array(x)]).product(0, 0)
    assert relative_error(product, cross_product(x, x), x, x) < 1e-9


def test_sparse_rows_that_are_not_in_canonical_form():
    """Three stored values in three rows do not make a full column when two are in the same place."""
    x = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 0]), np.array([0, 2, 3, 3])), (3, 1))
    np.testing.assert_allclose(ViewMoments([1]).update([x]).product(0, 0), [[26 / 3]])
    assert x.nnz == 3, "the input is left as it was"
    np.testing.assert_array_equal(x.data, [1, 2, 4])


def test_full_sparse_columns_are_not_shifted_in_the_input():
    x = sparse.csr_array(np.array([[5.0], [6.0]]))
    ViewMoments([1]).update([x])
    np.testing.assert_array_equal(x.data, [5, 6])


def test_two_million_sparse_rows_stay_sparse(rng):
    n, p = 2_000_000, 200  # 3.2 GB when dense
    columns = rng.integers(0, p // 2, size=(n, 2), dtype=np.int32)
    columns[:, 1] += p // 2
    values = rng.standard_normal(2 * n).astype(np.float32)
    x = sparse.csr_array((values, columns.ravel(), np.arange(0, 2 * n + 1, 2, dtype=np.int32)), (n, p))
    views = Views([x])
    tracemalloc.start()
    moments = ViewMoments([p]).update(views)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20
    mean = np.asarray(x.astype(np.float64).sum(axis=0)).ravel() / n
    expected = (x.T.astype(np.float64) @ x.astype(np.float64)).toarray() - n * np.outer(mean, mean)
    np.testing.assert_allclose(moments.product(0, 0), expected, atol=1e-9 * expected.max())
    assert moments.count(0) == n


def test_dense_rows_are_taken_in_blocks(rng, monkeypatch):
    monkeypatch.setattr(cross, "_BLOCK_BYTES", 2**20)
    x = rng.standard_normal((20_000, 100)).astype(np.float32)
    views = Views([x])
    tracemalloc.start()
    moments = ViewMoments([100]).update(views)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20 < 8 * x.size / 3
    np.testing.assert_allclose(moments.covariance(0), np.cov(x.T.astype(np.float64)), atol=1e-12)


def test_blocks_are_all_the_rows_once(rng):
    x = rng.standard_normal((70_000, 80))
    present = rng.random((70_000, 2)) > 0.1
    views = Views([x, sparse.csr_array(x[:, :1])], present=present)
    blocks = list(row_blocks(views, views.dims))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([b.arrays[0] for b in blocks]), views.arrays[0])
    np.testing.assert_array_equal(np.concatenate([b.present for b in blocks]), present)


def test_rows_about_their_mean_sum_to_zero(rng):
    x = far_from_zero(rng, 10_000, (3,), ratio=1e6)[0]
    centred, mean = about_mean(x)
    assert centred.dtype == np.float64
    assert np.abs(centred.sum(axis=0)).max() < 1e-9
    np.testing.assert_allclose(mean, x.astype(np.longdouble).mean(axis=0), rtol=1e-15)


def test_a_batch_may_lack_a_view_altogether(rng):
    x, y = rng.standard_normal((6, 2)), rng.standard_normal((6, 3))
    moments = ViewMoments([2, 3]).update([x[:4], y[:4]]).update([x[4:], None])
    np.testing.assert_array_equal(moments.counts, [[6, 4], [4, 4]])
    np.testing.assert_allclose(moments.product(0, 1), cross_product(x[:4], y[:4]), atol=1e-13)
    omega = np.eye(3)
    sketch = Sketch([2, 3], {1: omega}, [(0, 1)]).update([x[:4], y[:4]]).update([x[4:], None])
    np.testing.assert_allclose(sketch.product(0, 1), moments.product(0, 1), atol=1e-13)


def test_a_window_slides(rng):
    rows = rng.standard_normal((60, 3)) + 50.0
    window = ViewMoments([3]).update([rows[:20]])
    for start in range(0, 40, 10):
        window.merge(ViewMoments([3]).update([rows[start + 20 : start + 30]]))
        window.subtract(ViewMoments([3]).update([rows[start : start + 10]]))
    np.testing.assert_allclose(window.product(0, 0), cross_product(rows[40:], rows[40:]), atol=1e-9)
    np.testing.assert_allclose(window.mean(0), rows[40:].mean(axis=0), rtol=1e-13)
    window.subtract(window)
    assert window.count(0) == 0
    np.testing.assert_array_equal(window.product(0, 0), np.zeros((3, 3)))
    np.testing.assert_array_equal(window.mean(0), np.zeros(3))


def test_what_moments_refuse(rng):
    moments = ViewMoments([2, 3]).update([np.ones((4, 2)), np.ones((4, 3))])
    before = {name: a.copy() for name, a in moments.arrays().items()}
    with pytest.raises(ValueError, match=r"the batch has views of \(3, 2\) features; expected \(2, 3\)"):
        moments.update(Views([np.ones((4, 3)), np.ones((4, 2))]))
    with pytest.raises(ValueError, match="cannot combine moments of views"):
        moments.merge(ViewMoments([3, 2]))
    with pytest.raises(ValueError, match="cannot take away more rows than were added"):
        moments.subtract(ViewMoments([2, 3]).update([np.ones((5, 2)), None]))
    with pytest.raises(ValueError, match="dims="):
        ViewMoments([])
    with pytest.raises(ValueError, match="dims="):
        ViewMoments([2, 0])
    for name, array in moments.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_sketch_is_the_product_of_the_moments(rng):
    full = [rng.standard_normal((40, p)) for p in (3, 5, 4)]
    views = Views([full[0], sparse.csr_array(full[1]), full[2]], present=rng.random((40, 3)) > 0.3)
    blocks = {1: rng.standard_normal((5, 2)), 0: rng.standard_normal((3, 2))}
    pairs = [(0, 1), (2, 1), (1, 0), (0, 0)]
    sketch = Sketch([3, 5, 4], blocks, pairs).update(views)
    moments = ViewMoments([3, 5, 4]).update(views)
    for i, j in pairs:
        np.testing.assert_allclose(sketch.product(i, j), moments.product(i, j) @ blocks[j], atol=1e-12)
        np.testing.assert_allclose(sketch.covariance(i, j), moments.covariance(i, j) @ blocks[j], atol=1e-13)
        assert sketch.count(i, j) == moments.count(i, j)
    with pytest.raises(ValueError, match=r"the pair \(1, 2\) was not sketched"):
        sketch.product(1, 2)


def test_a_sketch_of_wide_sparse_views_is_thin(rng):
    n, p = 3_000, 100_000
    x, y = (sparse.random_array((n, p), density=5e-5, format="csr", rng=rng) for _ in range(2))
    omega, views = rng.standard_normal((p, 4)), Views([x, y])
    tracemalloc.start()
    sketch = Sketch([p, p], {1: omega}, [(0, 1)]).update(views)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 2**20
    z = y @ omega
    np.testing.assert_allclose(sketch.product(0, 1), x.T @ (z - z.mean(axis=0)), atol=1e-12)


@pytest.mark.parametrize(
    ("blocks", "pairs", "words"),
    [
        ({1: np.ones((3, 2))}, [], "no pairs of views given"),
        ({1: np.ones((3, 2))}, [(0, 2)], "outside 0..1"),
        ({1: np.ones((3, 2))}, [(1, 0)], "needs a random block for view 0"),
        ({1: np.ones((2, 2))}, [(0, 1)], "one row for each feature"),
        ({1: np.ones(3)}, [(0, 1)], "one row for each feature"),
        ({0: np.ones((2, 1)), 1: np.ones((3, 2))}, [(0, 1)], "as many columns as the others"),
        ({1: np.ones((3, 2)), 5: np.ones((3, 2))}, [(0, 1)], "the block of view 5"),
    ],
)
def test_what_a_sketch_refuses(blocks, pairs, words):
    with pytest.raises(ValueError, match=words):
        Sketch([2, 3], blocks, pairs)


def test_sketches_of_other_blocks_do_not_add(rng):
    first, second = ({1: rng.standard_normal((3, 2))} for _ in range(2))
    sketch = Sketch([2, 3], first, [(0, 1)])
    for other in (Sketch([2, 3], second, [(0, 1)]), Sketch([2, 3], first, [(1, 1)])):
        with pytest.raises(ValueError, match="do not add"):
            sketch.merge(other)
    with pytest.raises(ValueError, match="the batch has views of"):
        sketch.update(Views([np.ones((1, 3)), np.ones((1, 2))]))


def test_arrays_that_lie_about_their_shapes_are_refused_before_anything_is_allocated():
    moments = ViewMoments([2, 3]).update([np.ones((4, 2)), np.ones((4, 3))])
    sketch = Sketch([2, 3], {1: np.ones((3, 2))}, [(0, 1)])
    huge = np.array([10**9, 10**9])
    for statistic in (moments, sketch):
        kind = type(statistic)
        for lie in ({"dims": huge}, {"0.1.mean_x": np.zeros(7)}, {"0.1.n": np.array(-1)}):
            with pytest.raises(ValueError, match="product"):
                kind.from_arrays(statistic.arrays() | lie)


@pytest.mark.parametrize(
    "statistic", [ViewMoments([2]), Sketch([2], {0: np.eye(2)}, [(0, 0)])], ids=lambda s: type(s).__name__
)
def test_they_are_statistics(statistic):
    assert isinstance(statistic, Statistic)


def test_a_cross_moment_takes_rows_back():
    pair = CrossMoments(1, 1)
    pair.add(2, np.array([1.0]), np.array([3.0]), np.array([[4.0]]))
    pair.add(1, np.array([4.0]), np.array([0.0]), np.array([[0.0]]))
    assert pair.n == 3
    np.testing.assert_allclose([pair.mean_x[0], pair.mean_y[0], pair.product[0, 0]], [2.0, 2.0, -2.0])
    pair.add(-1, np.array([4.0]), np.array([0.0]), np.array([[0.0]]))
    np.testing.assert_allclose([pair.mean_x[0], pair.mean_y[0], pair.product[0, 0]], [1.0, 3.0, 4.0])
