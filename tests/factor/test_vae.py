"""The variational autoencoder of several views, beside factor analysis."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from isogloss import io
from isogloss.extras import has_module
from isogloss.factor import MultiBatteryFA, MultiViewVAE
from isogloss.views import Views

needs_torch = pytest.mark.skipif(not has_module("torch"), reason="PyTorch is not installed: isogloss[torch]")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def linear(rng, n=600, k=2, dims=(4, 5, 6), share=0.2):
    z = rng.normal(size=(n, k))
    data = [5 + z @ rng.normal(size=(k, p)) * 1.5 + rng.normal(size=(n, p)) for p in dims]
    return Views(data, present=rng.random((n, len(dims))) > share)


def test_without_torch_one_sentence_says_what_to_install(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs torch, .*pip install 'isogloss\[torch\]'"):
        MultiViewVAE().fit(linear(rng, n=20))


@pytest.fixture(scope="module")
def both():
    """Linear views, the autoencoder without hidden layers, and factor analysis."""
    views = linear(np.random.default_rng(3), share=0.0)
    train, test = views[:500], views[500:]
    model = MultiViewVAE(
        2, hidden_layer_sizes=(), single_view_share=0.1, learning_rate=0.02, max_iter=150, random_state=0
    ).fit(train)
    return model, MultiBatteryFA(2, noise="diag").fit(train), train, test


@needs_torch
class TestTrained:
    def test_its_bound_is_below_the_density_of_factor_analysis_and_near(self, both):
        model, exact, train, test = both
        assert model.score(train) < exact.score(train)
        assert model.score(train) > exact.score(train) - 0.5
        assert model.score(test) > exact.score(test) - 0.6

    def test_it_imputes_as_factor_analysis_does(self, both):
        model, exact, _, test = both
        hidden = Views([test.arrays[0], test.arrays[1], None], dims=test.dims)
        truth = test.arrays[2]
        errors = [((np.asarray(m.impute(hidden)["view2"]) - truth) ** 2).mean() for m in (model, exact)]
        assert errors[0] < 1.25 * errors[1]
        assert errors[0] < 0.6 * truth.var(axis=0).mean()

    def test_more_samples_tighten_the_bound(self, both):
        model, _, _, test = both
        bounds = [model.score_samples(test, n_samples=n).mean() for n in (1, 10, 200)]
        assert bounds[0] < bounds[1] < bounds[2]

    def test_the_trace_is_in_the_units_of_the_rows_and_rises(self, both):
        model, _, train, _ = both
        assert model.trace_[-1, 0] > model.trace_[0, 0] + 1
        assert abs(model.trace_[-1, 0] - model.score_samples(train, n_samples=1).mean()) < 1.0

    def test_missing_views_leave_the_posterior_wider(self, both):
        model, _, _, test = both
        variances = []
        for names in ((0,), (0, 1), (0, 1, 2)):
            some = [x if v in names else None for v, x in enumerate(test.arrays)]
            variances.append(model.posterior(Views(some, dims=test.dims))[1])
        assert (variances[0] > variances[1]).all()
        assert (variances[1] > variances[2]).all()
        assert (variances[0] < 1).all()

    def test_a_row_without_views_has_the_prior(self, both):
        model, _, _, test = both
        present = np.ones((len(test), 3), dtype=bool)
        present[0] = False
        mean, variance = model.posterior(Views([np.asarray(x) for x in test.arrays], present=present))
        assert (mean[0] == 0).all()
        assert (variance[0] == 1).all()

    def test_one_view_alone_is_that_view_in_a_row_without_the_others(self, both):
        model, _, _, test = both
        alone = Views([None, test.arrays[1], None], dims=test.dims)
        np.testing.assert_allclose(model.transform_view(test.arrays[1], 1), model.transform(alone))

    def test_a_saved_model_needs_no_torch(self, both, tmp_path, monkeypatch):
        model, _, _, test = both
        io.save(model, tmp_path / "vae.isogloss")
        monkeypatch.setitem(sys.modules, "torch", None)
        loaded = io.load(tmp_path / "vae.isogloss", expected=MultiViewVAE)
        np.testing.assert_array_equal(loaded.transform(test), model.transform(test))
        np.testing.assert_array_equal(loaded.score_samples(test), model.score_samples(test))

    def test_decoding_the_latent_vectors_gives_the_views(self, both):
        model, _, _, test = both
        decoded = model.inverse_transform(model.transform(test))
        for x, guess in zip(test, decoded, strict=True):
            assert ((x - guess) ** 2).mean() < 0.7 * x.var(axis=0).mean()
        with pytest.raises(ValueError, match="Z has 3 columns; the model has 2"):
            model.inverse_transform(np.zeros((1, 3)))


@needs_torch
def test_curved_views_are_fitted_better_than_by_lines():
    rng = np.random.default_rng(0)
    z = rng.uniform(-2, 2, size=(800, 1))
    curve = np.column_stack([np.sin(2 * z[:, 0]), np.cos(2 * z[:, 0]), z[:, 0]])
    views = Views([curve @ rng.normal(size=(3, p)) + 0.2 * rng.normal(size=(800, p)) for p in (5, 6)])
    train, test = views[:600], views[600:]
    model = MultiViewVAE(1, hidden_layer_sizes=(32,), learning_rate=0.01, max_iter=120, random_state=0)
    assert model.fit(train).score(test) > MultiBatteryFA(1, noise="diag").fit(train).score(test) + 1.0


@needs_torch
def test_the_same_seed_gives_the_same_model(rng):
    views = linear(rng, n=80)
    models = [MultiViewVAE(2, max_iter=4, random_state=seed).fit(views) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(models[0].transform(views), models[1].transform(views))
    assert np.abs(models[0].transform(views) - models[2].transform(views)).max() > 1e-3


@needs_torch
def test_it_says_when_it_stopped_too_early(rng):
    with pytest.warns(ConvergenceWarning, match="max_iter=2 passes"):
        MultiViewVAE(1, max_iter=2, random_state=0).fit(linear(rng, n=60))


@needs_torch
def test_sparse_views_and_constant_features(rng):
    dense = rng.normal(size=(60, 4)) * (rng.random((60, 4)) > 0.5)
    dense[:, 2] = 3.0
    other = rng.normal(size=(60, 3))
    fitted = [
        MultiViewVAE(1, max_iter=3, random_state=0).fit([x, other]) for x in (dense, sparse.csr_array(dense))
    ]
    np.testing.assert_array_equal(fitted[0].transform([dense, other]), fitted[1].transform([dense, other]))
    assert np.isfinite(fitted[0].score([dense, other]))


@needs_torch
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"learning_rate": 1e30}, "diverged in pass .* lower learning_rate"),
    ],
)
def test_bad_parameters(rng, parameters, message):
    with pytest.raises(ValueError, match=message):
        MultiViewVAE(random_state=0).set_params(**parameters).fit(linear(rng, n=40))
