"""Where a mixture begins."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from isogloss.engine import LocalEngine, Rows
from isogloss.mixture import SHAPES, summarise
from isogloss.mixture._start import STARTS, start_parameters


@pytest.mark.parametrize("batch_rows", [1, 7, 60, 1000])
def test_summary_of_any_split_is_the_summary_of_all(rng, batch_rows):
    x = rng.normal(5.0, 2.0, size=(200, 3))
    x[rng.random(x.shape) < 0.2] = np.nan
    summary = summarise(Rows(x, batch_rows=batch_rows), LocalEngine(), seed=0)
    np.testing.assert_allclose(summary.means, np.nanmean(x, axis=0), rtol=1e-12)
    np.testing.assert_allclose(summary.variances, np.nanvar(x, axis=0), rtol=1e-10)
    assert summary.rows == 200
    assert sorted(summary.sample[:, 0]) == pytest.approx(sorted(x[:, 0]), nan_ok=True)


def test_sample_is_uniform_over_the_rows_that_count(rng, monkeypatch):
    monkeypatch.setattr("isogloss.mixture._start._SAMPLE_ROWS", 500)
    x = np.arange(5000.0)[:, None]
    sample = summarise(Rows(x, batch_rows=300), LocalEngine(), seed=0).sample
    assert len(np.unique(sample)) == 500
    assert abs(sample.mean() - 2500) < 4 * 5000 / np.sqrt(12 * 500)
    weights = np.where(x[:, 0] < 2500, 0.0, 1.0)
    heavy = summarise(Rows(x, weights, batch_rows=300), LocalEngine(), seed=0).sample
    assert heavy.min() >= 2500


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_start_is_a_mixture(rng, how, shape):
    x = rng.normal(size=(50, 2))
    summary = summarise(Rows(x), LocalEngine(), seed=0)
    start = start_parameters(SHAPES[shape], summary, 5, how, 1e-6, check_random_state(0))
    assert start.weights.sum() == pytest.approx(1.0)
    assert start.weights.min() > 0
    full = SHAPES[shape].expand(start.covariances, 5, 2)
    assert np.linalg.eigvalsh(full).min() > 0
