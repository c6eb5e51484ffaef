"""CCA: correlations, loadings, prediction, significance, cross-validation."""

import numpy as np
import pytest
from sklearn import cross_decomposition
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from isogloss.multiview import CCA, prediction_score
from isogloss.multiview._significance import permutation_test, wilks_test
from isogloss.views import Views
from tests.multiview.data import latent_views, with_missing


def test_correlations_are_those_of_the_variates(rng):
    views = latent_views(rng, dims=(8, 6))
    for ridge in (0.0, 0.3):
        model = CCA(3, ridge=ridge).fit(views)
        z, w = model.transform(views)
        expected = [np.corrcoef(z[:, c], w[:, c])[0, 1] for c in range(3)]
        np.testing.assert_allclose(model.correlations_, expected, atol=1e-12)
        np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-9)
    assert not np.allclose(model.correlations_, model.regularised_correlations_)


def test_one_component_agrees_with_scikit_learn(rng):
    x, y = latent_views(rng, dims=(5, 4))
    z, w = cross_decomposition.CCA(1, tol=1e-12, max_iter=5000).fit(x, y).transform(x, y)
    expected = np.corrcoef(z[:, 0], w[:, 0])[0, 1]
    assert CCA(1).fit([x, y]).correlations_[0] == pytest.approx(expected, abs=1e-8)


def test_correlations_solve_the_generalised_eigenproblem(rng):
    """Equation (3.8) of the thesis, by dense eigenvalues."""
    views = latent_views(rng, dims=(4, 3))
    C = np.cov(np.hstack(views), rowvar=False)
    M = np.linalg.solve(C[:4, :4], C[:4, 4:]) @ np.linalg.solve(C[4:, 4:], C[4:, :4])
    rho = np.sqrt(np.sort(np.linalg.eigvals(M).real)[::-1][:3])
    np.testing.assert_allclose(CCA(3).fit(views).spectrum_, rho, atol=1e-10)


def test_loadings_are_correlations_with_the_features(rng):
    x, y = latent_views(rng, dims=(5, 4))
    x = np.hstack([x, np.full((len(x), 1), 3.0)])
    model = CCA(2).fit([x, y])
    z = model.transform_view(x, 0)
    expected = [[np.corrcoef(x[:, f], z[:, c])[0, 1] for c in range(2)] for f in range(5)]
    np.testing.assert_allclose(model.loadings_[0][:5], expected, atol=1e-10)
    np.testing.assert_array_equal(model.loadings_[0][5], 0.0)


def test_prediction_with_all_components_is_least_squares(rng):
    x, y = latent_views(rng, dims=(4, 6))
    model = CCA(4).fit({"en": x, "de": y})
    np.testing.assert_allclose(
        model.predict(x, "en", "de"), LinearRegression().fit(x, y).predict(x), atol=1e-9
    )
    fewer = CCA(2).fit([y, x])
    scores = fewer.transform_view(x, 1)
    expected = LinearRegression().fit(scores, y).predict(scores)
    np.testing.assert_allclose(fewer.predict(x, 1, 0), expected, atol=1e-9)


def test_prediction_needs_two_views(rng):
    model = CCA(1).fit(latent_views(rng, dims=(3, 3)))
    with pytest.raises(ValueError, match="both 0"):
        model.predict(np.ones((2, 3)), 0, 0)


def test_more_features_than_rows(rng):
    train = latent_views(rng, n=40, dims=(60, 50), k=2)
    plain, ridged = CCA(2).fit(train), CCA(2, ridge=0.3).fit(train)
    np.testing.assert_allclose(plain.correlations_, 1.0, atol=1e-8)
    assert plain.ranks_ == (39, 39)
    assert (ridged.correlations_ < 1).all()


def test_missing_rows_give_the_covariances_of_what_is_there(rng):
    views = with_missing(rng, latent_views(rng, n=800, dims=(5, 4)))
    model = CCA(2).fit(views)
    complete = CCA(2).fit(views[views.present.all(axis=1)])
    np.testing.assert_allclose(model.correlations_, complete.correlations_, atol=0.05)
    assert model.shrinkage_ == 0


@pytest.mark.parametrize("scoring", [None, prediction_score], ids=["score", "prediction"])
def test_grid_search_works_on_views(rng, scoring):
    views = Views(latent_views(rng, dims=(8, 6), k=2, noise=1.5))
    search = GridSearchCV(CCA(), {"n_components": [1, 2, 5]}, cv=4, scoring=scoring).fit(views)
    assert search.best_estimator_.weights_[0].shape[0] == 8
    if scoring is not None:
        assert search.best_params_ == {"n_components": 2}
    scores = cross_val_score(clone(search.best_estimator_), views, cv=3)
    assert (scores > 0).all()


def test_prediction_score_takes_sparse_views(rng):
    from scipy import sparse

    views = [np.maximum(x, 0) for x in latent_views(rng, dims=(5, 4))]
    model = CCA(2).fit(views)
    dense = prediction_score(model, views)
    assert prediction_score(model, [sparse.csr_array(x) for x in views]) == pytest.approx(dense)


# -- significance -----------------------------------------------------------------------------------


def test_wilks_agrees_with_the_published_example():
    """600 students, three psychological and five academic variables (UCLA, R's CCP::p.asym)."""
    wilks = np.array([0.7543611, 0.9614300, 0.9891858])
    rho = np.sqrt(1 - wilks / np.append(wilks[1:], 1.0))
    test = wilks_test(rho, 600, 3, 5)
    np.testing.assert_allclose(test.wilks, wilks, rtol=1e-7)
    np.testing.assert_allclose(test.f, [11.715733, 2.944459, 2.164612], rtol=1e-5)
    np.testing.assert_allclose(test.df1, [15, 8, 3])
    np.testing.assert_allclose(test.df2, [1634.653, 1186.0, 594.0], rtol=1e-6)
    np.testing.assert_allclose(test.p_values, [0.0, 0.002905057, 0.09109218], atol=1e-6)


def test_wilks_with_one_feature_is_the_regression_f_test(rng):
    x, y = latent_views(rng, n=30, dims=(3, 1), k=1, noise=4.0)
    test = CCA(1).fit([x, y]).wilks_test()
    r2 = LinearRegression().fit(x, y).score(x, y)
    assert test.f[0] == pytest.approx(r2 / 3 / ((1 - r2) / 26))
    assert (test.df1[0], test.df2[0]) == (3, 26)


def test_significance_finds_the_number_of_shared_variables(rng):
    views = latent_views(rng, n=500, dims=(8, 6), k=2)
    model = CCA(4).fit(views)
    wilks = model.wilks_test()
    assert (wilks.p_values <= 0.01).sum() == 2
    assert wilks.chi2_p_values.shape == (4,)
    test = model.permutation_test(views, 99, random_state=0)
    assert test.n_significant() == 2
    np.testing.assert_allclose(test.correlations, model.correlations_, atol=1e-10)
    low, high = test.band(0.9)
    assert (low < high).all()
    assert (model.correlations_[:2] > high[:2]).all()
    assert (np.diff(test.p_values) >= 0).all()


def test_permutation_p_values_are_uniform_without_dependence():
    """Under the null the first p-value is at most u with probability u."""
    p_values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        white = [np.linalg.qr(x - x.mean(axis=0))[0] * np.sqrt(29) for x in rng.standard_normal((2, 30, 3))]
        p_values.append(permutation_test(*white, 1, 19, random_state=seed).p_values[0])
    counts = np.histogram(p_values, bins=[0, 0.251, 0.501, 0.751, 1.01])[0]
    assert (np.abs(counts - 50) < 4 * np.sqrt(50 * 0.75)).all()


def test_tests_refuse_what_they_are_not_for(rng):
    views = latent_views(rng, dims=(5, 4))
    with pytest.raises(ValueError, match="ridge=0"):
        CCA(2, ridge=0.1).fit(views).wilks_test()
    rows = CCA(2, solver="operator", random_state=0).fit(views)
    with pytest.raises(ValueError, match="solver='moments'"):
        rows.permutation_test(views)
    with pytest.raises(ValueError, match="too few"):
        wilks_test([0.5, 0.1], 5, 2, 2)
    with pytest.raises(ValueError, match="expected all 2"):
        wilks_test([0.5], 50, 2, 2)
    with pytest.raises(ValueError, match="n_permutations"):
        CCA(2).fit(views).permutation_test(views, 0)
    with pytest.raises(ValueError, match="level"):
        CCA(1).fit(views).permutation_test(views, 1).band(1.5)
