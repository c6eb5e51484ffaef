"""Fits climb, end where nothing is gained, and agree with closed forms, peers and the truth."""

import warnings

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

from isogloss.engine import Batches
from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.multiview import CCA
from isogloss.stats import PatternMoments
from isogloss.views import Views
from tests.factor.data import draw_parameters, draw_rows, worst
from tests.oracles import factor as oracle

KINDS = ("full", "diag", "isotropic")


def climbs(model):
    bounds = np.array([line.bound for line in model.trace_])
    return np.diff(bounds).min() >= -1e-9 * np.abs(bounds).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("init", ["maxvar", "random"])
def test_likelihood_never_falls(rng, kind, missing, accelerate, init):
    views = draw_rows(rng, draw_parameters(rng, kind=kind), 200, missing)
    model = MultiBatteryFA(
        3,
        noise=kind,
        init=init,
        accelerate=accelerate,
        tol=0.0,
        max_iter=40,
        on_decrease="raise",
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(views)
    assert len(model.trace_) > 5
    assert climbs(model)
    assert model.trace_[-1].bound == pytest.approx(model.log_likelihood_, rel=1e-9)
    assert model.log_likelihood_ == pytest.approx(model.log_likelihood(views), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_at_the_end_the_gradient_vanishes(rng, kind, missing):
    views = draw_rows(rng, draw_parameters(rng, (5, 6, 4), kind=kind), 1000, missing)
    model = MultiBatteryFA(2, noise=kind, tol=1e-14, max_iter=5000).fit(views)
    p = model.parameters_
    in_mean, in_W, in_noises = oracle.gradient(views, p.mean, p.W, p.noises)
    if kind == "diag":
        in_noises = [np.diag(g) for g in in_noises]
    elif kind == "isotropic":
        in_noises = [np.trace(g) for g in in_noises]
    assert max(np.abs(g).max() for g in (in_mean, in_W, *in_noises)) < 1e-6


@pytest.mark.parametrize("accelerate", [False, True])
def test_two_views_em_ends_at_the_closed_form(rng, accelerate):
    views = draw_rows(rng, draw_parameters(rng, (6, 5), k=3, strength=1.0), 600)
    closed = InterBatteryFA(3, solver="closed").fit(views)
    em = InterBatteryFA(
        3, solver="em", init="random", accelerate=accelerate, tol=1e-13, max_iter=50_000, random_state=0
    ).fit(views)
    assert em.log_likelihood_ == pytest.approx(closed.log_likelihood_, rel=1e-8)
    for a, b in zip(em.loadings_, closed.loadings_, strict=True):
        assert subspace_angles(a, b).max() < 1e-4
    np.testing.assert_allclose(
        em.parameters_.covariance(), closed.parameters_.covariance(), rtol=1e-4, atol=1e-4
    )


def test_the_closed_form_is_cca(rng):
    views = draw_rows(rng, draw_parameters(rng, (6, 5), k=3), 500)
    model, cca = InterBatteryFA(2).fit(views), CCA(2).fit(views)
    np.testing.assert_allclose(model.correlations_[:2], cca.correlations_, rtol=1e-9)
    for v, x in enumerate(views):
        variates = cca.transform_view(x, v) * np.sqrt(cca.correlations_)
        factors = model.transform_view(x, v)
        scale = (factors * variates).sum(axis=0) / (variates**2).sum(axis=0)
        np.testing.assert_allclose(factors, variates * scale, atol=1e-8)
        np.testing.assert_allclose(np.abs(scale), np.sqrt(500 / 499), rtol=1e-6)
        np.testing.assert_allclose(model.parameters_.covariance([v]), np.cov(x.T, ddof=0), atol=1e-9)


def test_nothing_near_the_closed_form_is_more_likely(rng):
    views = draw_rows(rng, draw_parameters(rng, (4, 3), k=2), 300)
    p = InterBatteryFA(2).fit(views).parameters_
    in_mean, in_W, in_noises = oracle.gradient(views, p.mean, p.W, p.noises)
    assert max(np.abs(g).max() for g in (in_mean, in_W, *in_noises)) < 1e-9


def test_a_simulated_model_is_recovered(rng):
    truth = draw_parameters(rng, (6, 5, 7), k=3, strength=1.0)
    views = draw_rows(rng, truth, 40_000, 0.2)
    p = MultiBatteryFA(3, tol=1e-8).fit(views).parameters_
    scale = np.sqrt(np.diag(truth.covariance()))
    assert subspace_angles(p.W, truth.W).max() < 0.02
    assert np.abs((p.W @ p.W.T - truth.W @ truth.W.T) / np.outer(scale, scale)).max() < 0.03
    for a, b in zip(p.noises, truth.noises, strict=True):
        assert np.abs(a - b).max() < 0.06
    assert np.abs((p.mean - truth.mean) / scale).max() < 0.03


def test_rows_with_missing_views_teach(rng):
    """A third of each view is missing; a third of the rows is complete."""
    truth = draw_parameters(rng, (8, 8, 8), k=4, strength=1.0)
    views, held_out = draw_rows(rng, truth, 150, 0.3), draw_rows(rng, truth, 2000)
    complete = views[views.present.all(axis=1)]
    every, some = (MultiBatteryFA(4).fit(rows).score(held_out) for rows in (views, complete))
    assert every > some + 0.5


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_batches_sources_and_threads_agree(rng, missing):
    views = draw_rows(rng, draw_parameters(rng), 300, missing)
    options = {"tol": 1e-3}
    whole = MultiBatteryFA(2, **options).fit(views)
    shards = [views[:40], views[40:41], views[41:]]
    others = [
        MultiBatteryFA(2, batch_rows=17, n_jobs=2, **options).fit(views),
        MultiBatteryFA(2, **options).fit(Batches(shards)),
        MultiBatteryFA(2, **options).partial_fit(shards[0]).partial_fit(shards[1]).partial_fit(shards[2]),
        MultiBatteryFA(2, **options).fit_moments(PatternMoments(views.dims).update(views)),
    ]
    for other in others:
        assert other.log_likelihood_ == pytest.approx(whole.log_likelihood_, rel=1e-9)
        assert worst(other, whole) < 1e-6


@pytest.mark.dask
def test_dask_agrees(rng, dask_client):
    from isogloss.engine.dask import DaskEngine

    views = draw_rows(rng, draw_parameters(rng), 300, 0.3)
    local = MultiBatteryFA(2, batch_rows=50).fit(views)
    far = MultiBatteryFA(2, batch_rows=50, engine=DaskEngine(dask_client)).fit(views)
    assert far.log_likelihood_ == pytest.approx(local.log_likelihood_, rel=1e-12)
    assert worst(far, local) < 1e-9


@pytest.mark.parametrize("columns", [True, False])
def test_one_column_per_view_is_scikit_learns_factor_analysis(rng, columns):
    truth = draw_parameters(rng, (10,), k=3, kind="diag")
    views = draw_rows(rng, truth, 500)
    (x,) = views.arrays
    peer = FactorAnalysis(3, tol=1e-10, max_iter=10_000, svd_method="lapack").fit(x)
    rows = [x[:, [j]] for j in range(10)] if columns else [x]
    model = MultiBatteryFA(3, noise="full" if columns else "diag", tol=1e-12).fit(rows)
    assert model.score(rows) == pytest.approx(peer.score(x), rel=1e-8)
    np.testing.assert_allclose(
        model.parameters_.covariance(), peer.get_covariance(), rtol=1e-3, atol=1e-3 * np.var(x)
    )


def test_one_view_with_isotropic_noise_is_probabilistic_pca(rng):
    x = rng.standard_normal((400, 6)) @ rng.standard_normal((6, 6))
    values = np.sort(np.linalg.eigvalsh(np.cov(x.T, ddof=0)))[::-1]
    spectrum = np.r_[values[:2], np.full(4, values[2:].mean())]
    likelihood = -0.5 * (np.log(2 * np.pi * spectrum) + values / spectrum).sum()
    assert MultiBatteryFA(2, noise="isotropic", tol=1e-12).fit([x]).score([x]) == pytest.approx(likelihood)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_units_of_features_do_not_matter(rng, kind):
    views = draw_rows(rng, draw_parameters(rng, kind=kind), 200, 0.3)
    scales = [10.0 ** rng.uniform(-3, 3, d) for d in views.dims]
    other = Views([x * s for x, s in zip(views, scales, strict=True)], present=views.present)
    a, b = MultiBatteryFA(2, noise=kind).fit(views), MultiBatteryFA(2, noise=kind).fit(other)
    assert a.n_iter_ == b.n_iter_
    np.testing.assert_allclose(b.parameters_.W, np.concatenate(scales)[:, None] * a.parameters_.W, rtol=1e-5)


def test_a_common_scale_does_not_matter_to_isotropic_noise(rng):
    views = draw_rows(rng, draw_parameters(rng, kind="isotropic"), 200)
    other = [1000.0 * x for x in views]
    a, b = (MultiBatteryFA(2, noise="isotropic").fit(rows) for rows in (views, other))
    np.testing.assert_allclose(b.parameters_.noise, 1e6 * a.parameters_.noise, rtol=1e-6)


def weak_factors(rng):
    """Views whose factors fade away, on which plain EM is slow."""
    W = rng.standard_normal((60, 10)) * np.linspace(1.0, 0.1, 10)
    z, e = rng.standard_normal((4000, 10)), rng.standard_normal((4000, 60))
    mixing = [rng.standard_normal((20, 20)) / np.sqrt(20) for _ in range(3)]
    noise = np.hstack([part @ mix for part, mix in zip(np.split(e, 3, axis=1), mixing, strict=True)])
    return Views(np.split(z @ W.T + noise + 0.1 * e, 3, axis=1))


def steps_to(model, bound):
    return next(line.index for line in model.trace_ if line.bound >= bound)


def test_ten_times_fewer_steps_than_plain_em(rng):
    views = weak_factors(rng)
    plain = MultiBatteryFA(10, accelerate=False, tol=1e-5, max_iter=5000).fit(views)
    fast = MultiBatteryFA(10, tol=1e-5).fit(views)
    reached = plain.trace_[-1].bound
    assert steps_to(fast, reached) <= plain.n_iter_ / 10


def test_callbacks_see_parameters_in_the_units_of_the_rows(rng):
    views = draw_rows(rng, draw_parameters(rng), 200)
    seen = []
    model = MultiBatteryFA(2).fit(views, callbacks=[lambda line, p: seen.append(p)])
    assert len(seen) == len(model.trace_)
    np.testing.assert_array_equal(seen[-1].W, model.parameters_.W)


def test_a_warning_when_it_does_not_converge(rng):
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        MultiBatteryFA(2, tol=0.0, max_iter=3).fit(draw_rows(rng, draw_parameters(rng), 100))
