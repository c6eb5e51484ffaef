"""Models of several views among the steps of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from isogloss import io
from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.multiview import (
    CCA,
    ColumnViews,
    GenVar,
    HubCCA,
    JoinViews,
    KernelCCA,
    KernelSumCor,
    MaxVar,
    MinVar,
    OptimalWeighting,
    RandomProjection,
    SparseCCA,
    SSCor,
    SumCor,
)
from isogloss.views import Views

pd = pytest.importorskip("pandas", reason="pandas is not installed")

COLUMNS = {"a": slice(0, 4), "b": [4, 5, 6, 7], "c": slice(8, 12)}
TWO = {"a": slice(0, 6), "b": slice(6, 12)}
MODELS = [
    (CCA(2), TWO),
    (KernelCCA(2), TWO),
    (InterBatteryFA(2), TWO),
    (SumCor(2, random_state=0), COLUMNS),
    (SSCor(2, random_state=0), COLUMNS),
    (MaxVar(2), COLUMNS),
    (GenVar(2, random_state=0), COLUMNS),
    (MinVar(2), COLUMNS),
    (SparseCCA(2), COLUMNS),
    (HubCCA(2, random_state=0), COLUMNS),
    (KernelSumCor(2, random_state=0), COLUMNS),
    (OptimalWeighting(2), COLUMNS),
    (MultiBatteryFA(2), COLUMNS),
    (RandomProjection(2, random_state=0), COLUMNS),
]


def name_of(value):
    return type(value).__name__ if not isinstance(value, dict) else ""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    z = rng.normal(size=(120, 2))
    X = z @ rng.normal(size=(2, 12)) + 0.3 * rng.normal(size=(120, 12))
    return X, z[:, 0] > 0


@pytest.mark.parametrize(("model", "columns"), MODELS, ids=name_of)
class TestEveryModel:
    def test_in_a_pipeline_that_is_cross_validated(self, model, columns, rows):
        X, y = rows
        pipeline = make_pipeline(StandardScaler(), ColumnViews(columns), clone(model), LogisticRegression())
        assert (cross_val_predict(pipeline, X, y, cv=3) == y).mean() > 0.8

    def test_in_a_search_and_a_union(self, model, columns, rows):
        X, y = rows
        union = FeatureUnion(
            [("views", make_pipeline(ColumnViews(columns), clone(model))), ("all", StandardScaler())]
        )
        name = f"features__views__{type(model).__name__.lower()}__n_components"
        pipeline = make_pipeline(union, LogisticRegression()).set_params()
        pipeline.steps[0] = ("features", union)
        search = GridSearchCV(pipeline, {name: [1, 2]}, cv=2).fit(X, y)
        assert search.best_score_ > 0.8

    def test_a_frame_has_the_named_columns(self, model, columns, rows):
        frame = pd.DataFrame(rows[0], index=[f"row {n}" for n in range(len(rows[0]))])
        pipeline = make_pipeline(ColumnViews(columns), clone(model))
        views = pipeline[0].fit_transform(frame)
        plain = np.asarray(pipeline[1].fit(views).transform(views))
        out = pipeline[1].set_output(transform="pandas").transform(views)
        assert list(out.columns) == list(pipeline.get_feature_names_out())
        np.testing.assert_array_equal(out.to_numpy(), plain)
        assert len(set(out.columns)) == plain.shape[1]


def test_a_model_of_two_views_may_come_before_a_classifier(rows):
    X, y = rows
    views = Views({"a": X[:, :6], "b": X[:, 6:]})
    assert make_pipeline(CCA(2), LogisticRegression()).fit(views, y).score(views, y) > 0.8


def test_rows_without_a_view_have_nan_or_the_mean_of_the_others(rows):
    X, y = rows
    X = X.copy()
    X[::5, 4:8] = np.nan
    views = ColumnViews(COLUMNS).fit_transform(X)
    assert views.present.sum(axis=0).tolist() == [120, 96, 120]
    model = SumCor(2, random_state=0).fit(views)
    joined = JoinViews().fit_transform(model.transform(views))
    assert np.isnan(joined).any(axis=0).tolist() == [False, False, True, True, False, False]
    projected = model.transform(views)
    mean = JoinViews("mean").fit_transform(projected)
    np.testing.assert_allclose(mean[0], (projected["a"][0] + projected["c"][0]) / 2)
    trees = make_pipeline(ColumnViews(COLUMNS), SumCor(2), HistGradientBoostingClassifier(max_iter=20))
    assert trees.fit(X, y).score(X, y) > 0.8


def test_a_frame_with_two_levels_of_columns_is_views(rows):
    X, _ = rows
    columns = pd.MultiIndex.from_tuples([("left" if n < 6 else "right", f"f{n}") for n in range(12)])
    frame = pd.DataFrame(X.copy(), columns=columns)  # pandas 2 shares the memory of X
    frame.loc[3, "left"] = np.nan
    model = CCA(1).fit(frame)
    views = Views.from_frame(frame)
    assert (views.names, views.dims, views.present[3].tolist()) == (("left", "right"), (6, 6), [False, True])
    np.testing.assert_array_equal(np.asarray(model.transform(frame)), np.asarray(model.transform(views)))
    with pytest.raises(TypeError, match="two levels"):
        CCA(1).fit(pd.DataFrame(X))


def test_columns_by_name_mask_and_position_are_the_same(rows):
    X, _ = rows
    names = [f"f{n}" for n in range(12)]
    frame = pd.DataFrame(X, columns=names)
    mask = np.arange(12) < 6
    by_name = ColumnViews({"a": names[:6], "b": names[6:]}).fit(frame)
    others = ColumnViews({"a": mask, "b": slice(6, None)}).fit(frame)
    counted = ColumnViews({"a": range(6), "b": range(-6, 0)}).fit(X)
    for one in (others, counted):
        np.testing.assert_array_equal(np.asarray(one.transform(X)), np.asarray(by_name.transform(frame)))
    assert by_name.get_feature_names_out()[:2].tolist() == ["a__f0", "a__f1"]
    assert counted.get_feature_names_out()[-1] == "b__x11"


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({}, "views is empty"),
        ({"a": [12]}, "view 'a': no column 12; X has 12 feature"),
        ({"a": ["age"]}, "no column named 'age'; the array has no column names"),
        ({"a": []}, "view 'a' has no columns"),
        ({"a": [True, False]}, "the mask has 2 entries for 12 columns"),
        ({"a": [0.5]}, "expected positions, a mask or names"),
        ({"a": "age"}, "expected a slice or a sequence of columns, got 'age'"),
        ({"a": [0, "x"]}, "expected positions, a mask or names"),
    ],
)
def test_columns_that_are_not_there_are_refused(rows, views, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ColumnViews(views).fit(rows[0])


def test_views_of_unequal_width_have_no_mean():
    with pytest.raises(ValueError, match=r"one width; these have \(2, 3\) features"):
        JoinViews("mean").fit([np.ones((2, 2)), np.ones((2, 3))])


def test_sparse_views_stay_sparse_or_are_refused(rows):
    views = ColumnViews(TWO).fit_transform(sparse.csr_array(rows[0]))
    joined = JoinViews().fit_transform(views)
    assert sparse.issparse(joined)
    np.testing.assert_array_equal(joined.toarray(), rows[0])
    with pytest.raises(TypeError, match="view 'a' is sparse"):
        np.asarray(views)


def test_factors_give_the_expected_views_back(rows):
    views = Views({"a": rows[0][:, :6], "b": rows[0][:, 6:]})
    model = InterBatteryFA(2).fit(views)
    z = model.transform(views)
    back = model.inverse_transform(z)
    assert back.names == ("a", "b")
    assert np.corrcoef(back["a"].ravel(), views["a"].ravel())[0, 1] > 0.9
    with pytest.raises(ValueError, match="Z has 3 columns; the model has 2 factors"):
        model.inverse_transform(np.ones((1, 3)))


def test_a_step_with_columns_is_saved(rows, tmp_path):
    for columns in (TWO, {"a": [0, 1], "b": np.arange(12) > 5}, {"a": range(0, 12, 2)}):
        model = ColumnViews(columns).fit(rows[0])
        io.save(model, tmp_path / "columns.isogloss")
        again = io.load(tmp_path / "columns.isogloss")
        np.testing.assert_array_equal(
            np.asarray(again.transform(rows[0])), np.asarray(model.transform(rows[0]))
        )
