"""What the multi-view benchmarks measure with, checked on data small enough to know the answer."""

import importlib

import numpy as np
import pytest

from isogloss.multiview import SumCor

pytest.importorskip("psutil")


@pytest.fixture(scope="module")
def shared():
    return importlib.import_module("benchmarks._multiview")


@pytest.fixture(scope="module")
def fitted(shared):
    views = shared.unequal_views(600, (6, 5, 7), factors=4, seed=1)
    return SumCor(3, random_state=0).fit(views), views


def nothing():
    """Work for a new process."""


def test_the_sum_of_correlations_is_the_score_of_the_models(shared, fitted):
    model, views = fitted
    assert shared.correlation_sum(list(model.transform(views))) == pytest.approx(
        model.score(views), rel=1e-12
    )


def test_uncorrelated_projections_are_so_and_others_of_ours_stay(shared, fitted):
    model, views = fitted
    ours = [np.asarray(z) for z in model.transform(views)]
    mixed = [z @ (np.eye(3) + 0.3 * np.ones((3, 3))) for z in ours]
    for z in shared.uncorrelated(mixed, mixed):
        np.testing.assert_allclose(z.T @ z, np.eye(3), atol=1e-12)
    again = shared.uncorrelated(ours, ours)
    assert shared.correlation_sum(again) == pytest.approx(shared.correlation_sum(ours), rel=1e-12)


def test_new_rows_are_changed_as_those_of_the_fit_were(shared):
    rng = np.random.default_rng(0)
    old = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 3)) + 5.0
    whole = shared.uncorrelated([old], [old])[0]
    np.testing.assert_allclose(shared.uncorrelated([old], [old[:7]])[0], whole[:7], atol=1e-12)


@pytest.mark.parametrize("seen", ["in part", "in another order"])
def test_views_are_unequal_and_share_something(shared, seen):
    views = shared.unequal_views(4_000, (8, 8, 8), factors=5, seen=seen, seed=3)
    strengths = [np.linalg.svd(np.cov(x.T))[1] for x in views]
    score = SumCor(1, random_state=0).fit(views).objective_
    assert score > 1.0
    assert seen == "in another order" or not np.allclose(strengths[0], strengths[1], rtol=0.1)


def test_words_are_drawn_as_often_as_their_tables_say():
    draw = importlib.import_module("benchmarks.sumcor_sparse").draw
    tables = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])
    which = np.repeat([0, 1], 20_000)
    words = draw(tables, which, np.random.default_rng(0))
    for t in (0, 1):
        shares = np.bincount(words[which == t], minlength=3) / 20_000
        np.testing.assert_allclose(shares, tables[t], atol=0.02)


def test_retrieval_counts_own_translations():
    retrieval = importlib.import_module("benchmarks.sumcor_sparse").retrieval
    z = np.eye(4)
    assert retrieval([z, 3 * z, z]) == 1.0
    assert retrieval([z, np.roll(z, 1, axis=0)]) == 0.0


def test_rows_go_missing_everywhere_but_in_the_hub(shared):
    hub = importlib.import_module("benchmarks.hub_missing")
    views = [np.ones((hub.ROWS, 1))] * 3
    share = hub.with_missing_rows(views, seed=0).present.mean(axis=0)
    np.testing.assert_allclose(share, [1.0, 0.4, 0.4], atol=0.02)


def test_without_an_interpreter_for_mvlearn_the_details_say_how_to_get_one(shared, tmp_path, monkeypatch):
    monkeypatch.delenv(shared.MVLEARN_PYTHON, raising=False)
    with shared.Mvlearn(tmp_path, [np.ones((3, 1))], [np.ones((2, 1))]) as mvlearn:
        told = mvlearn.by_turns(lambda: None, 1, "MCCA")
    assert "pip install --no-deps mvlearn" in told["mvlearn"]
    assert not list(tmp_path.iterdir())


def test_the_memory_of_a_process_includes_its_libraries(shared):
    assert 20 < shared.peak_rss_mb(nothing) < 1_000
