"""What a fitted model says about rows is what conditioning its joint Gaussian gives."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal, ortho_group
from sklearn.linear_model import LinearRegression

from isogloss import io
from isogloss.factor import MultiBatteryFA
from isogloss.multiview import OptimalWeighting
from isogloss.views import Views
from tests.factor.data import draw_parameters, draw_rows
from tests.oracles import factor as oracle

KINDS = ("full", "diag", "isotropic")


@pytest.fixture(params=KINDS)
def fitted(request, rng):
    views = draw_rows(rng, draw_parameters(rng, kind=request.param), 150, 0.4)
    return MultiBatteryFA(2, noise=request.param).fit(views), views


def joint_of(model):
    """Mean and covariance of all features and the factors."""
    p = model.parameters_
    Sigma = np.block([[p.covariance(), p.W], [p.W.T, np.eye(p.n_components)]])
    return np.r_[p.mean, np.zeros(p.n_components)], Sigma


def test_factors_of_every_row(fitted):
    model, views = fitted
    posterior, (mean, Sigma) = model.posterior(views), joint_of(model)
    for r, x in enumerate(oracle.dense_rows(views)):
        m, C = oracle.condition(mean, Sigma, np.r_[x, np.nan, np.nan])
        np.testing.assert_allclose(posterior.mean[r], m[-2:], atol=1e-9)
        np.testing.assert_allclose(posterior.covariance(r), C[-2:, -2:], atol=1e-9)
        np.testing.assert_array_equal(posterior.present[posterior.pattern[r]], views.present[r])
    np.testing.assert_array_equal(model.transform(views), posterior.mean)


def test_one_view_given_the_others(fitted):
    model, views = fitted
    mean, Sigma = joint_of(model)
    ends = np.cumsum(views.dims)
    for v, d in enumerate(views.dims):
        cut = slice(ends[v] - d, ends[v])
        predicted, rows = model.predict(views, v), oracle.dense_rows(views)
        rows[:, cut] = np.nan
        for r, x in enumerate(rows):
            m, C = oracle.condition(mean, Sigma, np.r_[x, np.nan, np.nan])
            np.testing.assert_allclose(predicted.mean[r], m[cut], atol=1e-9)
            np.testing.assert_allclose(predicted.covariance(r), C[cut, cut], atol=1e-9)


def test_imputed_rows_keep_what_was_seen_and_predict_the_rest(fitted):
    model, views = fitted
    filled = model.impute(views)
    assert filled.complete
    assert filled.names == views.names
    for v, x in enumerate(views.arrays):
        here = views.present[:, v]
        np.testing.assert_array_equal(filled.arrays[v][here], x)
        np.testing.assert_allclose(filled.arrays[v][~here], model.predict(views, v).mean[~here], atol=1e-12)


def test_densities(fitted):
    model, views = fitted
    p = model.parameters_
    expected = oracle.log_density(views, p.mean, p.W, p.noises)
    np.testing.assert_allclose(model.score_samples(views), expected, rtol=1e-9)
    assert model.score(views) == pytest.approx(expected.mean())
    assert model.log_likelihood(views) == pytest.approx(expected.sum())


def test_one_view_alone(fitted):
    model, views = fitted
    for v, name in enumerate(views.names):
        rows = Views(
            [x if u == v else None for u, x in enumerate(views.arrays)], dims=views.dims, present=None
        )
        np.testing.assert_allclose(model.transform_view(views[name], name), model.transform(rows), atol=1e-12)
        np.testing.assert_allclose(
            model.posterior_covariance([name]), model.posterior(rows).covariances[0], atol=1e-12
        )


def test_the_more_views_the_less_uncertain(fitted):
    model, views = fitted
    sizes = [np.trace(model.posterior_covariance(views.names[:n])) for n in range(4)]
    assert sizes[0] == pytest.approx(2.0)
    assert np.all(np.diff(sizes) < 0)


def test_reconstruction_errors_add_up_to_the_density(fitted):
    """Appendix D."""
    model, views = fitted
    p = model.parameters_
    errors = model.reconstruction_errors(views, 0, "view2")
    x, y = views.shared(0, 2)
    joint = multivariate_normal(np.r_[p.means[0], p.means[2]], p.covariance([0, 2]))
    total = errors.source + errors.target + errors.constant
    np.testing.assert_allclose(total, joint.logpdf(np.hstack([x, y])), rtol=1e-9)
    centred = x - p.means[0]
    squares = np.einsum("nd,nd->n", centred @ np.linalg.inv(p.covariance([0])), centred)
    np.testing.assert_allclose(errors.source, -0.5 * squares, rtol=1e-9)


def test_a_row_without_views_has_the_prior(fitted):
    model, views = fitted
    empty = Views([None] * 3, present=np.zeros((2, 3)), dims=views.dims)
    posterior = model.posterior(empty)
    np.testing.assert_array_equal(posterior.mean, np.zeros((2, 2)))
    np.testing.assert_allclose(posterior.covariances, [np.eye(2)])
    np.testing.assert_array_equal(model.score_samples(empty), np.zeros(2))
    np.testing.assert_allclose(model.impute(empty).arrays[1], np.tile(model.means_[1], (2, 1)))


def test_sparse_rows_are_dense_rows(fitted, rng):
    model, views = fitted
    csr = Views([sparse.csr_array(x) for x in views], present=views.present)
    np.testing.assert_allclose(model.transform(csr), model.transform(views), atol=1e-12)
    np.testing.assert_allclose(model.score_samples(csr), model.score_samples(views), rtol=1e-12)
    np.testing.assert_allclose(model.impute(csr).arrays[0], model.impute(views).arrays[0], rtol=1e-10)
    errors = [model.reconstruction_errors(rows).target for rows in (csr, views)]
    np.testing.assert_allclose(*errors, rtol=1e-10)
    again = MultiBatteryFA(2, noise=model.noise).fit(csr)
    assert again.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-9)


def test_a_model_file_holds_the_model(fitted, tmp_path):
    model, views = fitted
    io.save(model, tmp_path / "model.isogloss")
    loaded = io.load(tmp_path / "model.isogloss", expected=MultiBatteryFA)
    np.testing.assert_array_equal(loaded.transform(views), model.transform(views))
    more = loaded.partial_fit(views)
    assert more.n_rows_ == 2 * len(views)


def test_without_moments_a_model_holds_no_rows(rng):
    views = draw_rows(rng, draw_parameters(rng), 150, 0.4)
    model = MultiBatteryFA(2, keep_moments=False).fit(views)
    assert not hasattr(model, "moments_")
    with pytest.raises(ValueError, match="keep_moments"):
        model.partial_fit(views)


def weighting_loss(features, y, n):
    model = LinearRegression().fit(features[:n], y[:n])
    return np.mean((y[n:] - model.predict(features[n:])) ** 2)


@pytest.mark.parametrize("rotations", [True, False])
def test_the_posterior_mean_weighs_views_at_least_as_well_as_optimal_weighting(rng, rotations):
    """The generator of the three-view paper: k = 10, noise 2, 0.5 and 0.2; also far from orthogonal.

    Noise that is independent within views is what the generator has; full noise leaves more to be estimated.
    """
    k, n = 10, 20_000
    loadings = [
        ortho_group.rvs(k, random_state=seed) if rotations else rng.standard_normal((k, k)) / np.sqrt(k)
        for seed in range(3)
    ]
    h = rng.standard_normal((n, k))
    views = [
        h @ A.T + s * rng.standard_normal((n, k)) for A, s in zip(loadings, (2.0, 0.5, 0.2), strict=True)
    ]
    y = h @ rng.standard_normal(k) + rng.standard_normal(n)
    everything = weighting_loss(np.hstack(views), y, 500)
    ours = weighting_loss(MultiBatteryFA(k, noise="diag").fit(views).transform(views), y, 500)
    theirs = weighting_loss(OptimalWeighting(k).fit(views).transform(views), y, 500)
    assert ours < (1.01 if rotations else 0.95) * theirs
    assert ours < everything
