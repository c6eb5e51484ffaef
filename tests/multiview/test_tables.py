"""Standardised views, and models that remember their columns."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from isogloss import io
from isogloss.multiview import CCA, ScaleViews, TableModel, view_correlations, view_loadings
from isogloss.views import Views
from tests.multiview.data import latent_views, with_missing


def test_views_are_scaled_as_scikit_learn_scales_rows(rng):
    views = with_missing(rng, latent_views(rng))
    scaled = ScaleViews().fit_transform(views)
    np.testing.assert_array_equal(scaled.present, views.present)
    for x, z in zip(views, scaled, strict=True):
        np.testing.assert_allclose(z, StandardScaler().fit_transform(x))


def test_sparse_views_stay_sparse_and_constant_features_finite(rng):
    dense = rng.normal(size=(30, 3))
    dense[:, 1] = 2.0
    scaled = ScaleViews().fit_transform([sparse.csr_array(dense), dense])
    assert sparse.issparse(scaled["view0"])
    np.testing.assert_allclose(scaled["view0"].toarray()[:, 0], dense[:, 0] / dense[:, 0].std())
    np.testing.assert_array_equal(scaled["view1"][:, 1], 0.0)


def test_with_a_ridge_units_matter_unless_views_are_scaled(rng):
    views = latent_views(rng, dims=(5, 4))
    views[0][:, 0] = rng.normal(size=len(views[0]))  # noise, which dominates in another unit
    units = [views[0] * np.array([1e3, 1, 1, 1, 1]), views[1]]
    plain, scaled = (
        [model.fit(x).score(x) for x in (views, units)]
        for model in (CCA(1, ridge=0.99), make_pipeline(ScaleViews(), CCA(1, ridge=0.99)))
    )
    assert scaled[0] == pytest.approx(scaled[1])
    assert plain[0] > plain[1] + 0.01


def test_a_table_model_is_saved_with_its_columns_and_scaling(rng, tmp_path):
    views = Views(dict(zip(("a", "b"), latent_views(rng, dims=(3, 2)), strict=True)))
    scaling = ScaleViews().fit(views)
    columns = {"a": ["x", "y", "z"], "b": ["u", "v"]}
    model = TableModel(CCA(2).fit(scaling.transform(views)), columns, scaling)
    io.save(model, tmp_path / "m.isogloss")
    loaded = io.load(tmp_path / "m.isogloss", expected=TableModel)
    assert loaded.columns == columns
    expected = model.model.transform(scaling.transform(views))
    for name in ("a", "b"):
        np.testing.assert_array_equal(loaded.project(views)[name], expected[name])
    alone = loaded.project(Views({"b": views["b"][:5]}))
    np.testing.assert_array_equal(alone["b"], expected["b"][:5])


def test_loadings_of_projections_are_those_of_the_model(rng):
    views = Views(latent_views(rng, dims=(3, 2)))
    model = CCA(2).fit(views)
    projected = model.transform(views)
    for found, expected in zip(view_loadings(views, projected), model.loadings_, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(view_correlations(projected)[:, 0, 1], model.correlations_, atol=1e-10)
