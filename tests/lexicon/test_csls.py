"""CSLS against the whole table, and the lazy evaluation against the full one, to the bit."""

import numpy as np
import pytest

from isogloss.lexicon import csls_both, csls_means, csls_top_k, unit_rows
from isogloss.lexicon.retrieval import _csls as csls
from tests.oracles import topk as twin


def words(rng, n, d=12, noise=0.4):
    """Two vocabularies in one space, each word near to its translation, with hubs in the middle."""
    scale = np.arange(1, d + 1) ** -0.5
    x = rng.standard_normal((n, d)) * scale
    return unit_rows(x), unit_rows(x + noise * rng.standard_normal((n, d)) * scale)


@pytest.fixture
def small_bounds(monkeypatch):
    """Bounds from few sources, so that tests of a few hundred words go through every stage."""
    for name, size in (("_SAMPLE", 30), ("_NEARBY", 20), ("_FEW", 8)):
        monkeypatch.setattr(csls, name, size)


@pytest.mark.parametrize("neighbours", [1, 5, 10])
def test_scores_equal_the_whole_table(rng, neighbours):
    x, y = words(rng, 80)
    queries = x[:25]
    table = twin.csls(queries, y, x, neighbours)
    found = csls_top_k(queries, y, 7, sources=x, neighbours=neighbours, method="full")
    scores, indices = twin.best_of_rows(table, 7)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize("k", [1, 3, 10, 400])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_lazy_equals_full_to_the_bit(rng, k, n_jobs):
    x, y = words(rng, 400)
    queries = x[rng.choice(400, 23, replace=False)]
    full, lazy = (
        csls_top_k(queries, y, k, sources=x, method=method, n_jobs=n_jobs) for method in ("full", "lazy")
    )
    np.testing.assert_array_equal(lazy.indices, full.indices)
    np.testing.assert_array_equal(lazy.scores, full.scores)


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize("seed", range(12))
def test_lazy_equals_full_with_many_equal_words(seed):
    """Copies tie exactly; the smaller index comes first whichever way."""
    rng = np.random.default_rng(seed)
    x, y = words(rng, 60, d=4)
    x, y = x[rng.integers(0, 60, 300)], y[rng.integers(0, 60, 300)]
    y[::17] = 0
    full, lazy = (csls_top_k(x[:30], y, 9, sources=x, method=method) for method in ("full", "lazy"))
    np.testing.assert_array_equal(lazy.indices, full.indices)
    np.testing.assert_array_equal(lazy.scores, full.scores)
    assert (np.diff(full.scores, axis=1) == 0).any()


@pytest.mark.usefixtures("small_bounds")
def test_lists_that_are_too_short_are_made_longer(rng, monkeypatch):
    monkeypatch.setattr(csls, "_width", lambda k: k)
    x, y = words(rng, 400)
    full, lazy = (csls_top_k(x[:40], y, 3, sources=x, method=method) for method in ("full", "lazy"))
    np.testing.assert_array_equal(lazy.indices, full.indices)
    np.testing.assert_array_equal(lazy.scores, full.scores)


@pytest.mark.usefixtures("small_bounds")
def test_lazy_computes_few_means(rng, monkeypatch):
    settled = []
    settle = csls._Bounds.settle
    monkeypatch.setattr(
        csls._Bounds, "settle", lambda self, which: (settled.extend(which), settle(self, which))[1]
    )
    x, y = words(rng, 2000)
    csls_top_k(x[:10], y, 2, sources=x, method="lazy")
    assert len(set(settled)) == len(settled) < 200


@pytest.mark.usefixtures("small_bounds")
def test_bounds_are_bounds_and_become_exact(rng):
    x, y = words(rng, 300)
    exact = csls_means(y, x)[0]
    bounds = csls._Bounds(y, x, 10, None)
    assert (bounds.means <= exact).all()
    assert (bounds.means < exact).any()
    before = bounds.means.copy()
    some = np.arange(0, 300, 3)
    bounds.raise_with([(some, np.arange(100, 180)), (some[:5], np.arange(300))])
    assert (before <= bounds.means).all()
    assert (before < bounds.means).any()
    assert (bounds.means <= exact).all()
    bounds.settle(some)
    np.testing.assert_array_equal(bounds.means[some], exact[some])


def test_a_mean_is_the_same_alone_and_with_others(rng):
    x, y = words(rng, 150)
    of_x, of_y = csls_means(x, y)
    np.testing.assert_array_equal(csls_means(x[3:4], y)[0], of_x[3:4])
    np.testing.assert_array_equal(csls_means(y, x, n_jobs=3)[0], of_y)
    np.testing.assert_allclose(of_x, np.sort(x @ y.T, axis=1)[:, -10:].mean(axis=1), atol=1e-6)


def test_both_directions_at_once(rng):
    x, y = words(rng, 90)
    right, left = csls_both(x, y[:70], 4)
    for both, alone in ((right, csls_top_k(x, y[:70], 4)), (left, csls_top_k(y[:70], x, 4))):
        np.testing.assert_array_equal(both.indices, alone.indices)
        np.testing.assert_array_equal(both.scores, alone.scores)


def test_known_means_save_the_pass(rng, monkeypatch):
    x, y = words(rng, 100)
    expected, means = csls_top_k(x[:9], y, 5, sources=x), csls_means(x, y)[1]
    monkeypatch.setattr(csls, "_lazy", None)
    found = csls_top_k(x[:9], y, 5, target_means=means)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_fewer_words_than_neighbours(rng):
    x, y = words(rng, 6)
    found = csls_top_k(x, y[:4], 2, neighbours=10)
    indices = twin.best_of_rows(twin.csls(x, y[:4], x, 10), 2)[1]
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(csls_top_k(x, y[:4], 2, neighbours=10, method="lazy").indices, indices)


def test_it_takes_hubs_down(rng):
    """A target in the middle of everything is nobody's translation."""
    x = rng.standard_normal((200, 40))
    y = x + 1.5 * rng.standard_normal((200, 40))
    middle = np.full(40, 0.8)
    x, y = unit_rows(x + middle), unit_rows(y + middle)
    y[0] = unit_rows(middle[None])[0]
    by_cosine, by_csls = (x @ y.T).argmax(axis=1), csls_top_k(x, y, 1).indices[:, 0]
    truth = np.arange(200)
    assert (by_cosine == 0).sum() > 5 * (by_csls == 0).sum()
    assert (by_csls == truth).mean() > (by_cosine == truth).mean()


@pytest.mark.parametrize(
    ("sizes", "lazily"),
    [
        ((1500, 200_000, 200_000, 1), True),
        ((1500, 200_000, 200_000, 10), True),
        ((200, 12_000, 12_000, 1), False),
        ((200_000, 200_000, 200_000, 1), False),
    ],
)
def test_the_cheaper_way_is_taken(sizes, lazily):
    assert csls._lazy_pays(*sizes) is lazily


def test_unit_rows(rng):
    x = rng.normal(size=(30, 5)) * 1e3
    x[4] = 0
    unit = unit_rows(x)
    assert unit.dtype == np.float32
    assert (unit[4] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(np.delete(unit, 4, axis=0), axis=1), 1, atol=2e-7)
    assert unit_rows(unit) is unit


def test_bad_input_is_refused_with_a_reason(rng):
    x, y = words(rng, 9)
    with pytest.raises(ValueError, match="k=10; expected an integer from 1 to 9"):
        csls_top_k(x, y, 10)
    with pytest.raises(ValueError, match="neighbours=0"):
        csls_top_k(x, y, 2, neighbours=0)
    with pytest.raises(ValueError, match="method='quick'; expected 'auto', 'full' or 'lazy'"):
        csls_top_k(x, y, 2, method="quick")
    with pytest.raises(ValueError, match="target_means has shape"):
        csls_top_k(x, y, 2, target_means=np.zeros(3))
