"""GENVAR and MINVAR: what each of them makes small."""

import numpy as np
import pytest

from isogloss.multiview import GenVar, MaxVar, MinVar, SSCor, SumCor
from tests.multiview.data import latent_views, with_missing


def test_the_generalised_variance_is_the_determinant_of_the_correlations(rng):
    model = GenVar(3, random_state=0).fit(latent_views(rng))
    np.testing.assert_allclose(model.generalised_variances_, np.linalg.det(model.correlations_), rtol=1e-9)
    np.testing.assert_allclose(model.objectives_, -np.log(model.generalised_variances_))
    assert (np.diff(model.generalised_variances_) >= 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_no_other_model_has_a_smaller_determinant_or_smallest_eigenvalue(seed):
    views = latent_views(np.random.default_rng(seed), n=60, dims=(3, 4, 2, 3))
    determinant = GenVar(1, random_state=0, tol=1e-12).fit(views).generalised_variances_[0]
    eigenvalue = MinVar(1).fit(views).eigenvalues_[0]
    for other in (SumCor(1), SSCor(1), MaxVar(1)):
        correlations = other.set_params(random_state=0).fit(views).correlations_[0]
        assert determinant <= np.linalg.det(correlations) + 1e-9
        assert eigenvalue <= np.linalg.eigvalsh(correlations)[0] + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_a_sweep_never_raises_the_determinant(seed):
    views = latent_views(np.random.default_rng(seed), n=40, dims=(5, 4, 6, 3))
    model = GenVar(3, ridge=0.05, n_init=3, random_state=seed).fit(views)
    for trace in model.objective_trace_:
        assert np.diff(trace).min(initial=0.0) >= -1e-10


def test_components_of_genvar_are_uncorrelated_within_each_view(rng):
    views = latent_views(rng)
    for x, W in zip(views, GenVar(3, random_state=0).fit(views).weights_, strict=True):
        np.testing.assert_allclose(np.cov(x @ W, rowvar=False), np.eye(3), atol=1e-9)


def test_linearly_dependent_views_have_no_generalised_variance(rng):
    x, y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2))
    model = GenVar(1, random_state=0).fit([x, y, x + y])
    assert model.generalised_variances_[0] == pytest.approx(0.0, abs=1e-9)
    assert np.isfinite(model.objective_)
    assert MinVar(1).fit([x, y, x + y]).eigenvalues_[0] == pytest.approx(0.0, abs=1e-9)


def test_minvar_is_the_other_end_of_maxvar(rng):
    """The eigenvalues of both are those of one matrix, here of two features a view."""
    views = [x[:, :2] for x in latent_views(rng)]
    both = np.concatenate([MaxVar(2).fit(views).eigenvalues_, MinVar(2).fit(views).eigenvalues_])
    white = [np.linalg.inv(np.linalg.cholesky(np.cov(x, rowvar=False))) for x in views]
    rows = np.hstack([(x - x.mean(axis=0)) @ w.T for x, w in zip(views, white, strict=True)])
    expected = np.linalg.eigvalsh(np.cov(rows, rowvar=False))
    np.testing.assert_allclose(both, expected[[5, 4, 0, 1]], atol=1e-9)


def test_both_take_rows_that_lack_views(rng):
    views = with_missing(rng, latent_views(rng), share=0.2)
    assert 0 < GenVar(1, random_state=0).fit(views).generalised_variances_[0] < 0.5
    assert MinVar(1).fit(views).eigenvalues_[0] > 0


def test_a_ridge_of_one_leaves_no_correlations(rng):
    with pytest.raises(ValueError, match=r"ridge=1\.0; expected numbers below 1"):
        GenVar(1, ridge=1.0).fit(latent_views(rng))
