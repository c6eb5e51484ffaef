"""What all covariance models do with bad input, missing rows and wide sparse views."""

import logging
import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from isogloss.engine import Batches
from isogloss.multiview import CCA, MaxVar, SSCor, SumCor
from isogloss.views import Views
from tests.multiview.data import latent_views, sparse_views, with_missing

MODELS = [CCA, SumCor, SSCor, MaxVar]


def views_for(cls, views):
    return views[:2] if cls is CCA else views


@pytest.fixture(params=MODELS)
def cls(request):
    return request.param


def test_rank_deficient_views_and_constant_features(rng, cls):
    views = views_for(cls, latent_views(rng))
    plain = cls(2, random_state=0, tol=1e-14).fit(views)
    more = [np.hstack([x, x[:, :2] @ [[1.0], [2.0]], np.full((len(x), 1), 5.0)]) for x in views]
    model = cls(2, random_state=0, tol=1e-14).fit(more)
    np.testing.assert_allclose(model.correlations_, plain.correlations_, atol=1e-7)
    assert all(np.isfinite(W).all() for W in model.weights_)


def test_more_components_than_the_rank(rng, cls):
    views = views_for(cls, latent_views(rng, dims=(8, 3, 7)))
    views[1] = np.hstack([views[1], views[1]])
    with pytest.raises(ValueError, match="n_components=4 is more than view 1 has: its rank is 3"):
        cls(4).fit(views)
    with pytest.raises(ValueError, match="n_components=7"):
        cls(7, solver="operator", ridge=0.1).fit(views)


def test_fewer_rows_than_components(rng, cls):
    views = [x[:3] for x in views_for(cls, latent_views(rng))]
    with pytest.raises(ValueError, match=r"view 0 has 3 row\(s\); n_components=3 needs at least 4"):
        cls(3, ridge=0.5).fit(views)


def test_views_without_common_rows(rng, cls):
    views = views_for(cls, latent_views(rng, n=100))
    present = np.zeros((100, len(views)), dtype=bool)
    present[:50, 0] = present[50:, 1:] = True
    with pytest.raises(ValueError, match="share no rows"):
        cls(2).fit(Views(views, present=present))


@pytest.mark.parametrize("ridge", [-0.5, 1.5])
def test_kappa_outside_the_unit_interval(rng, cls, ridge):
    for solver in ("moments", "operator"):
        with pytest.raises(ValueError, match="ridge"):
            cls(2, ridge=ridge, solver=solver).fit(views_for(cls, latent_views(rng)))


def test_wrong_features_at_transform(rng, cls):
    views = views_for(cls, latent_views(rng))
    model = cls(2, random_state=0).fit(views)
    with pytest.raises(ValueError, match="features"):
        model.transform([x[:, 1:] for x in views])
    with pytest.raises(ValueError, match="X has 2 features; view 'view1' has 6"):
        model.transform_view(np.ones((3, 2)), 1)
    with pytest.raises(ValueError, match="no view named"):
        model.transform_view(views[0], "fr")


def test_not_fitted(cls):
    with pytest.raises(NotFittedError):
        cls().transform_view(np.ones((2, 2)), 0)


def test_nan_and_one_view_are_refused(rng, cls):
    views = views_for(cls, latent_views(rng))
    views[0][3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        cls().fit(views)
    with pytest.raises(ValueError, match="at least 2"):
        cls().fit(views[1:2])


def test_cca_is_for_two_views(rng):
    for solver in ("moments", "operator"):
        with pytest.raises(ValueError, match="CCA takes two views; got 3"):
            CCA(solver=solver).fit(latent_views(rng))
    with pytest.raises(ValueError, match="CCA takes two views"):
        CCA().partial_fit(latent_views(rng))


@pytest.mark.parametrize(
    "parameters",
    [{"n_components": 0}, {"n_components": 1.5}, {"solver": "lapack"}, {"max_iter": 0}, {"tol": -1}],
)
def test_bad_parameters(rng, cls, parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        cls(**parameters).fit(views_for(cls, latent_views(rng)))


@pytest.mark.parametrize(
    "model", [SumCor(algorithm="newton"), SumCor(n_init=0), SumCor(n_init="many"), SSCor(n_init=0)]
)
def test_bad_parameters_of_the_iterative(rng, model):
    with pytest.raises(ValueError, match=r"algorithm|n_init"):
        model.fit(latent_views(rng))


def test_singular_covariances_need_a_ridge_without_moments(rng, cls):
    views = views_for(cls, latent_views(rng, n=8, dims=(10, 10, 10)))
    with pytest.raises(ValueError, match="ridge > 0"):
        cls(2, solver="operator").fit(views)


def test_a_source_needs_moments(rng, cls):
    views = views_for(cls, latent_views(rng))
    with pytest.raises(ValueError, match="source"):
        cls(2, solver="operator").fit(Batches([Views(views)]))


def test_partial_fit_waits_for_rows_and_refuses_other_views(rng, cls, caplog):
    views = views_for(cls, latent_views(rng))
    model = cls(3, random_state=0)
    with caplog.at_level(logging.INFO, logger="isogloss"):
        model.partial_fit([x[:2] for x in views])
    assert "not fitted yet" in caplog.text
    with pytest.raises(NotFittedError):
        model.transform(views)
    model.partial_fit([x[2:] for x in views])
    np.testing.assert_allclose(
        model.correlations_, cls(3, random_state=0).fit(views).correlations_, atol=1e-6
    )
    with pytest.raises(ValueError, match="those before had"):
        model.partial_fit([x[:, 1:] for x in views])


def test_partial_fit_after_an_operator_fit_is_refused(rng, cls):
    views = views_for(cls, latent_views(rng))
    model = cls(2, solver="operator", random_state=0).fit(views).set_params(solver="auto")
    with pytest.raises(ValueError, match="solver='moments'"):
        model.partial_fit(views)
    assert model.set_params(solver="moments").fit(views).moments_.count(0) == 400


@pytest.mark.parametrize(
    "model",
    [SumCor(2, max_iter=1, tol=0, n_init=1, random_state=0), SSCor(2, max_iter=1, tol=0, random_state=0)],
)
@pytest.mark.parametrize("solver", ["moments", "operator"])
def test_stopping_early_is_reported(rng, model, solver):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model.set_params(solver=solver).fit(latent_views(rng))
    assert not model.converged_


def test_impossible_covariances_are_reported(rng, caplog, cls):
    views = with_missing(rng, views_for(cls, latent_views(rng, n=30, noise=0.05)), share=0.7)
    with caplog.at_level(logging.WARNING, logger="isogloss"):
        model = cls(1, random_state=0).fit(views)
    assert model.shrinkage_ > 0
    assert "shrunk" in caplog.text
    assert np.abs(model.correlations_).max() <= 1 + 1e-9


def test_pairs_without_rows_do_not_count(rng):
    """A chain: the first and the last view never meet."""
    views = latent_views(rng, n=600)
    present = np.ones((600, 3), dtype=bool)
    present[:300, 2] = present[300:, 0] = False
    views = Views(views, present=present)
    for cls in (SumCor, SSCor):
        for solver in ("moments", "operator"):
            model = cls(1, solver=solver, random_state=0).fit(views)
            assert model.correlations_[0, 0, 2] == 0
            possible = 0.8 * (1 - model.shrinkage_)
            assert model.correlations_[0, 0, 1] > possible
            assert model.correlations_[0, 1, 2] > possible


def test_wide_sparse_views_stay_sparse(rng, monkeypatch):
    views = sparse_views(rng)
    for x in views:
        monkeypatch.setattr(type(x), "toarray", None)
        monkeypatch.setattr(type(x), "todense", None)
    tracemalloc.start()
    model = SumCor(4, ridge=0.05, tol=1e-4, random_state=0).fit(Views(views)[:1500])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not hasattr(model, "moments_")
    assert peak < 8 * 3000**2 / 2
    assert model.score(Views(views)[1500:]) > 10
    assert np.diff(model.objective_trace_[0]).min() >= 0


@pytest.mark.parametrize(
    "model",
    [
        CCA(3, ridge=0.05, tol=1e-4),
        SSCor(2, ridge=0.05, tol=1e-4),
        MaxVar(3, ridge=0.05, tol=1e-4),
        SumCor(2, algorithm="horst", ridge=0.05, tol=1e-4),
    ],
)
def test_every_model_takes_wide_sparse_views(rng, model):
    views = views_for(type(model), sparse_views(rng, n=800, p=2500))
    model = model.set_params(random_state=0).fit(views)
    assert not hasattr(model, "moments_")
    assert model.score(views) > 2


def test_auto_takes_moments_where_they_are_small(rng):
    views = latent_views(rng)
    assert hasattr(SumCor(2, random_state=0).fit(views), "moments_")
    assert not hasattr(SumCor(2, solver="operator", random_state=0).fit(views), "moments_")
