"""What cannot be fitted is refused in a sentence that says what to do; what is odd but sound is fitted."""

import logging

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.stats import PatternMoments
from isogloss.views import Views
from tests.factor.data import draw_parameters, draw_rows


@pytest.fixture
def views(rng):
    return draw_rows(rng, draw_parameters(rng), 80)


def with_present(views, present):
    return Views(list(views), present=present)


def test_fewer_rows_than_features(views):
    few = views[:5]
    with pytest.raises(ValueError, match=r"'view2' has 5 rows and 5 features.*ridge > 0.*noise='diag'"):
        MultiBatteryFA(2).fit(few)
    assert np.isfinite(MultiBatteryFA(2, ridge=0.1).fit(few).score(views))
    assert np.isfinite(MultiBatteryFA(2, noise="diag").fit(few).score(views))


def test_a_view_that_no_row_has(views):
    rows = Views([views.arrays[0], views.arrays[1], None], dims=views.dims)
    with pytest.raises(ValueError, match="no row has the view 'view2'"):
        MultiBatteryFA(2).fit(rows)


def test_views_with_no_row_in_common(views):
    present = np.zeros((80, 3), dtype=bool)
    present[:40, :2], present[40:, 2] = True, True
    with pytest.raises(ValueError, match=r"no row links .*'view0', 'view1' \| 'view2'"):
        MultiBatteryFA(2).fit(with_present(views, present))


def test_a_chain_of_views_is_enough(views):
    present = np.zeros((80, 3), dtype=bool)
    present[:40, :2], present[40:, 1:] = True, True
    model = MultiBatteryFA(2).fit(with_present(views, present))
    assert np.isfinite(model.score(views))


@pytest.mark.parametrize(("noise", "most"), [("full", 7), ("diag", 11)])
def test_too_many_factors(views, noise, most):
    with pytest.raises(ValueError, match=f"at most {most} factors"):
        MultiBatteryFA(most + 1, noise=noise).fit(views)
    assert MultiBatteryFA(most, noise=noise, tol=1e-2).fit(views).transform(views).shape == (80, most)


def test_more_factors_than_rows(rng):
    rows = [rng.standard_normal((4, 6)), rng.standard_normal((4, 6))]
    with pytest.raises(ValueError, match="at most 3 factors"):
        MultiBatteryFA(4, noise="diag").fit(rows)


@pytest.mark.parametrize("noise", ["full", "diag", "isotropic"])
def test_constant_features(views, noise, caplog):
    arrays = [x.copy() for x in views]
    arrays[1][:, 0] = 7.0
    with caplog.at_level(logging.WARNING):
        model = MultiBatteryFA(2, noise=noise).fit(arrays)
    assert "1 of 12 features do not vary" in caplog.text
    assert np.isfinite(model.score(arrays))
    assert model.means_[1][0] == pytest.approx(7.0)
    assert np.abs(model.loadings_[1][0]).max() < 1e-3


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_copied_feature(rng, missing):
    views = draw_rows(rng, draw_parameters(rng), 200, missing)
    arrays = [x.copy() for x in views]
    arrays[0][:, 1] = arrays[0][:, 0]
    model = MultiBatteryFA(2, max_iter=200, tol=1e-2).fit(Views(arrays, present=views.present))
    assert np.isfinite(model.score(views))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(views, value):
    arrays = [x.copy() for x in views]
    arrays[0][3, 1] = value
    with pytest.raises(ValueError, match="NaN or infinite"):
        MultiBatteryFA(2).fit(arrays)


def test_one_view_alone(views):
    with pytest.raises(ValueError, match="nothing to share"):
        MultiBatteryFA(1).fit([views.arrays[0]])


def test_inter_battery_is_for_two_complete_views(views):
    with pytest.raises(ValueError, match="InterBatteryFA is for two"):
        InterBatteryFA(1).fit(views)
    present = np.ones((80, 2), dtype=bool)
    present[:7, 1] = False
    pair = Views(views.arrays[:2], present=present)
    with pytest.raises(ValueError, match=r"7 rows lack a view: use solver='em'"):
        InterBatteryFA(1, solver="closed").fit(pair)
    with pytest.raises(ValueError, match="noise='diag'"):
        InterBatteryFA(1, solver="closed", noise="diag").fit(pair[7:])
    assert not hasattr(InterBatteryFA(1).fit(pair[7:]).fit(pair), "correlations_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "'n_components'.* Got 0"),
        ({"noise": "pink"}, "'noise'.* among .*'isotropic'.* Got 'pink'"),
        ({"noise_floor": 0.0}, r"'noise_floor'.* \(0\.0, 1\.0\]\. Got 0"),
        ({"ridge": -1.0}, "'ridge'.* Got -1"),
        ({"init": "best"}, "'init'.* Got 'best'"),
        ({"tol": -1.0}, "'tol'.* Got -1"),
        ({"max_iter": -1}, "'max_iter'.* Got -1"),
        ({"on_decrease": "shrug"}, "'on_decrease'.* Got 'shrug'"),
    ],
)
def test_parameters(views, parameters, message):
    with pytest.raises(ValueError, match=message):
        MultiBatteryFA().set_params(**parameters).fit(views)
    with pytest.raises(ValueError, match=r"'solver'.* Got 'svd'"):
        InterBatteryFA(solver="svd").fit(views)


def test_rows_of_other_views(views):
    model = MultiBatteryFA(2).fit(views)
    with pytest.raises(ValueError, match="features"):
        model.transform([x[:, :2] for x in views])
    with pytest.raises(ValueError, match="has 3 features; view 'view0' has 4"):
        model.transform_view(np.zeros((1, 3)), 0)
    with pytest.raises(ValueError, match="no view named 'fr'"):
        model.predict(views, "fr")
    with pytest.raises(ValueError, match="no view 3"):
        model.predict(views, 3)
    with pytest.raises(ValueError, match="expected two views"):
        model.reconstruction_errors(views, 1, "view1")
    with pytest.raises(ValueError, match="these rows have views"):
        model.partial_fit(list(views)[:2])
    with pytest.raises(ValueError, match="2 names for 3 views"):
        model.fit_moments(PatternMoments(views.dims).update(views), ["en", "de"])


def test_a_model_that_was_not_fitted(views):
    model = MultiBatteryFA()
    asked = [model.transform, model.posterior, model.impute, model.score, model.bic]
    for ask in (*asked, lambda rows: model.predict(rows, 0), lambda rows: model.posterior_covariance([0])):
        with pytest.raises(NotFittedError):
            ask(views)


def test_a_first_batch_that_is_too_small_is_only_collected(views):
    model = MultiBatteryFA(2).partial_fit(views[:3])
    assert not hasattr(model, "parameters_")
    assert model.partial_fit(views[3:]).n_rows_ == 80
