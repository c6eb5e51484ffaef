"""The number of factors is found by held-out likelihood, by BIC, and by scikit-learn's search."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from isogloss.factor import InterBatteryFA, MultiBatteryFA, choose_components
from tests.factor.data import draw_parameters, draw_rows


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_true_number_is_found(rng, missing):
    views = draw_rows(rng, draw_parameters(rng, (6, 6, 6), k=3, strength=1.0), 500, missing)
    choice = choose_components(MultiBatteryFA(), views, range(2, 5))
    assert choice.best == choice.best_bic == 3
    assert choice.held_out.shape == (3, 5)
    assert choice.standard_errors[1] == 0


def test_it_is_what_fitting_and_scoring_each_fold_gives(rng):
    views = draw_rows(rng, draw_parameters(rng), 200, 0.3)
    cv = KFold(3, shuffle=True, random_state=0)
    choice = choose_components(MultiBatteryFA(tol=1e-6), views, [2], cv=cv)
    by_hand = [
        MultiBatteryFA(2, tol=1e-6).fit(views[train]).score(views[test]) for train, test in cv.split(views)
    ]
    np.testing.assert_allclose(choice.held_out[0], by_hand, rtol=1e-5)
    assert choice.bic[0] == pytest.approx(MultiBatteryFA(2, tol=1e-6).fit(views).bic(), rel=1e-6)


def test_scikit_learns_search_works_on_views(rng):
    views = draw_rows(rng, draw_parameters(rng, (6, 6, 6), k=3, strength=1.0), 400, 0.2)
    search = GridSearchCV(MultiBatteryFA(), {"n_components": [1, 3]}, cv=3).fit(views)
    assert search.best_params_ == {"n_components": 3}


def test_parameters_are_counted(rng):
    """Two full views: every covariance within, and a matrix of rank k between."""
    model = InterBatteryFA(2).fit(draw_rows(rng, draw_parameters(rng, (4, 5)), 100))
    assert model.n_parameters_ == 9 + 10 + 15 + 2 * (4 + 5 - 2)
    model = MultiBatteryFA(2, noise="diag").fit(draw_rows(rng, draw_parameters(rng, (4, 5, 3)), 100))
    assert model.n_parameters_ == 12 + 12 * 2 - 1 + 12
    model = MultiBatteryFA(2, noise="isotropic").fit(draw_rows(rng, draw_parameters(rng, (4, 5, 3)), 100))
    assert model.n_parameters_ == 12 + 12 * 2 - 1 + 3


def test_bic_of_other_rows(rng):
    p = draw_parameters(rng)
    views, others = draw_rows(rng, p, 100), draw_rows(rng, p, 70)
    model = MultiBatteryFA(2).fit(views)
    assert model.bic() == pytest.approx(model.bic(views), rel=1e-9)
    assert model.bic(others) == pytest.approx(
        model.n_parameters_ * np.log(70) - 2 * model.log_likelihood(others)
    )


def test_no_candidates(rng):
    with pytest.raises(ValueError, match="no candidates"):
        choose_components(MultiBatteryFA(), draw_rows(rng, draw_parameters(rng), 50), [])
