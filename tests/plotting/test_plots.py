"""Pictures are drawn, labelled, and of what they say."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from isogloss.em import Recorder
from isogloss.mixture import GaussianMixture
from isogloss.multiview import CCA, SumCor
from isogloss.plotting import (
    plot_canonical_correlations,
    plot_free_energy,
    plot_loadings,
    plot_mixture,
    plot_mixture_steps,
    plot_starts,
    plot_traces,
    plot_variates,
    plot_view_correlations,
)
from isogloss.views import Views


@pytest.fixture
def fit(rng):
    x = np.concatenate([rng.normal(-3, 1, (100, 2)), rng.normal(3, 1, (100, 2))])
    recorder = Recorder()
    return x, GaussianMixture(2, random_state=0).fit(x, callbacks=[recorder]), recorder


@pytest.fixture
def views(rng):
    shared = rng.normal(size=(100, 2))
    return Views(
        {n: shared @ rng.normal(size=(2, 4)) + rng.normal(size=(100, 4)) for n in ("en", "de", "sl")}
    )


def drawn(picture, tmp_path):
    figure = getattr(picture, "figure", picture) or picture
    figure.savefig(tmp_path / "picture.png", dpi=30)
    return (tmp_path / "picture.png").stat().st_size > 1000


def test_mixture(fit, tmp_path):
    x, mixture, _ = fit
    ax = plot_mixture(x, mixture.parameters_, "full")
    assert len(ax.patches) == 2
    centres = np.array([patch.center for patch in ax.patches])
    np.testing.assert_allclose(centres, mixture.means_)
    assert drawn(ax, tmp_path)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_ellipses_hold_most_of_the_rows(rng, covariance_type):
    x = rng.normal(size=(2000, 2))
    mixture = GaussianMixture(1, covariance_type=covariance_type).fit(x)
    ellipse = plot_mixture(x, mixture.parameters_, covariance_type).patches[0]
    inside = ellipse.get_transform().inverted().transform(ellipse.axes.transData.transform(x))
    assert np.mean((inside**2).sum(axis=1) <= 1) == pytest.approx(1 - np.exp(-2), abs=0.03)


def test_steps(fit, tmp_path):
    x, _, recorder = fit
    grid = plot_mixture_steps(x, recorder, "full", steps=[0, 1, 99])
    assert len(grid.axes) == 3
    assert drawn(grid, tmp_path)
    with pytest.raises(ValueError, match="empty"):
        plot_mixture_steps(x, Recorder(), "full")


def test_traces_and_free_energy(fit, tmp_path):
    _, mixture, _ = fit
    ax = plot_traces({"EM": mixture.trace_})
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(mixture.lower_bound_)
    assert plot_traces({"EM": mixture.trace_}, gap=True).get_yscale() == "log"
    assert drawn(plot_free_energy(mixture.trace_), tmp_path)


def test_multiview(views, tmp_path):
    pair = [views["en"], views["de"]]
    cca = CCA(2).fit(pair)
    ax = plot_canonical_correlations(cca, cca.permutation_test(pair, n_permutations=20, random_state=0))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), cca.correlations_)
    model = SumCor(1, n_init=5, random_state=0).fit(views)
    starts = plot_starts(model, model.certificate_)
    assert starts.lines[1].get_ydata()[0] >= max(starts.lines[0].get_ydata()) - 1e-9
    assert len(plot_variates(model, views).axes) == 9
    table = plot_view_correlations(model.correlations_, views.names)
    assert [text.get_text() for text in table.get_xticklabels()] == ["en", "de", "sl"]
    bars = plot_loadings(model.loadings_[0], most=2)
    assert len(bars.patches) == 2
    for picture in (ax, starts, table, bars):
        assert drawn(picture, tmp_path)
