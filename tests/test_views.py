"""Views: names, presence, joins, row indexing as scikit-learn does it, and errors that say what is wrong."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline

from isogloss.stats import ViewMoments
from isogloss.views import Views, check_views


def dense(x):
    return x.toarray() if sparse.issparse(x) else np.asarray(x)


def some_views(n=12, seed=0, missing=0.3, ids=False):
    """A dense float64, a sparse and a dense float32 view, with missing rows."""
    rng = np.random.default_rng(seed)
    full = [
        rng.standard_normal((n, 3)),
        sparse.random_array((n, 4), density=0.5, format="csr", rng=rng),
        rng.standard_normal((n, 2)).astype(np.float32),
    ]
    present = rng.random((n, 3)) >= missing
    names = ["en", "de", "sl"]
    views = Views(full, names=names, present=present, ids=[f"row{r}" for r in range(n)] if ids else None)
    return views, full, present


# ------------------------------------------------------------------------------------ what they hold


def test_list_dict_and_packed_rows_are_the_same_views():
    views, full, present = some_views()
    by_name = Views(dict(zip(["en", "de", "sl"], full, strict=True)), present=present)
    packed = Views([x[mask] for x, mask in zip(full, present.T, strict=True)], present=present)
    for v, other in enumerate(zip(by_name, packed, strict=True)):
        for x in other:
            np.testing.assert_array_equal(dense(x), dense(full[v])[present[:, v]])
    assert by_name.names == views.names == ("en", "de", "sl")
    assert packed.names == ("view0", "view1", "view2")
    assert views.dims == (3, 4, 2)
    assert views.shape == (12, 9)
    assert len(views) == 12
    assert views.n_views == 3
    assert not views.complete
    assert Views(full).complete


def test_nothing_is_stored_for_what_is_missing():
    views, full, present = some_views()
    for v, x in enumerate(views):
        assert x.shape[0] == present[:, v].sum() < 12
    assert sparse.issparse(views["de"])
    assert views["de"].format == "csr"
    assert views["sl"].dtype == np.float32
    assert Views(full).arrays[0] is full[0], "a float matrix is not copied"


def test_absent_rows_may_hold_anything():
    x = np.array([[1.0], [np.nan], [np.inf]])
    views = Views([x, np.ones((3, 1))], present=[[1, 1], [0, 1], [0, 1]])
    np.testing.assert_array_equal(views["view0"], [[1.0]])
    assert np.isnan(x[1, 0]), "the input is left as it was"


def test_mapping_in_the_order_asked_for():
    views = Views({"b": np.ones((2, 1)), "a": np.zeros((2, 2))}, names=["a", "b"])
    assert views.names == ("a", "b")
    assert views.dims == (2, 1)


def test_none_is_a_view_that_no_row_has():
    views = Views([np.ones((3, 2)), None], dims=[2, 5])
    np.testing.assert_array_equal(views.present, [[1, 0]] * 3)
    assert views.arrays[1].shape == (0, 5)
    assert Views([None, None], dims=[2, 5], present=np.zeros((4, 2))).shape == (4, 7)
    assert check_views([None, np.ones((3, 2))], dims=(4, 2)).dims == (4, 2)


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dia", "bsr", "dok"])
def test_every_sparse_format_and_integers_come_in_as_float_csr(form):
    x = sparse.csr_array(np.array([[0, 2], [3, 0]]))
    for given_form in (x.asformat(form), sparse.csr_matrix(x).asformat(form)):
        got = Views([given_form]).arrays[0]
        assert got.format == "csr"
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got.toarray(), [[0, 2], [3, 0]])
    assert Views([[[1, 2], [3, 4]]]).arrays[0].dtype == np.float64
    assert Views([np.array([[True, False]])]).arrays[0].dtype == np.float64


def test_repr_index_and_pickle():
    views, *_ = some_views(ids=True)
    assert repr(views).startswith("Views(12 rows; en: 3 features, ")
    assert [views.index(v) for v in ("de", 1, -1)] == [1, 1, 2]
    again = pickle.loads(pickle.dumps(views))
    assert again.names == views.names
    np.testing.assert_array_equal(again.ids, views.ids)
    np.testing.assert_array_equal(again["en"], views["en"])


def test_shared_and_patterns_name_the_same_rows():
    views, full, present = some_views(40)
    x, y = views.shared(0, 2)
    both = present[:, 0] & present[:, 2]
    np.testing.assert_array_equal(x, full[0][both])
    np.testing.assert_array_equal(y, full[2][both])
    rows = np.concatenate([rows for _, rows in views.patterns()])
    assert sorted(rows) == list(range(40))
    for pattern, rows in views.patterns():
        assert (present[rows] == pattern).all()
        assert (np.diff(rows) > 0).all()
    assert list(views[[]].patterns()) == []
    assert [x.shape for x in views[[]].shared(0, 1)] == [(0, 3), (0, 4)]


@pytest.mark.parametrize("n_views", [1, 8, 63, 64, 65, 130])
def test_patterns_of_many_views_are_sorted_and_distinct(n_views):
    rng = np.random.default_rng(n_views)
    kinds = rng.random((12, n_views)) < 0.5
    kinds[1:3] = kinds[0]
    kinds[1, -1], kinds[2, 0] = ~kinds[0, -1], ~kinds[0, 0]
    present = kinds[rng.integers(len(kinds), size=200)]
    views = Views([np.ones((200, 1))] * n_views, present=present)
    expected, inverse = np.unique(present, axis=0, return_inverse=True)
    found = list(views.patterns())
    np.testing.assert_array_equal([pattern for pattern, _ in found], expected)
    for k, (_, rows) in enumerate(found):
        np.testing.assert_array_equal(rows, np.flatnonzero(inverse.ravel() == k))


# --------------------------------------------------------------------------------------------- joins


def test_tables_join_on_ids_in_order_of_first_sight():
    en = (["b", "a", "d"], np.array([[2.0], [1.0], [4.0]]))
    de = (["c", "a"], sparse.csr_array([[30.0, 0.0], [10.0, 1.0]]))
    views = Views.from_tables({"en": en, "de": de})
    assert list(views.ids) == ["b", "a", "d", "c"]
    np.testing.assert_array_equal(views.present, [[1, 0], [1, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(views["en"], [[2], [1], [4]])
    np.testing.assert_array_equal(views["de"].toarray(), [[10, 1], [30, 0]])
    inner = Views.from_tables({"en": en, "de": de}, how="inner")
    assert list(inner.ids) == ["a"]
    assert inner.complete
    np.testing.assert_array_equal(inner["de"].toarray(), [[10, 1]])


def test_ids_may_be_numbers_or_tuples_of_any_length():
    assert list(Views([np.ones((2, 1))], ids=np.array([7, 3])).ids) == [7, 3]
    keys = [("en", 1), ("en", 2, "b"), "x"]
    assert list(Views([np.ones((3, 1))], ids=keys).ids) == keys
    same_length = [("en", 1), ("en", 2)]
    assert list(Views.from_tables({"a": (same_length, np.ones((2, 1)))}).ids) == same_length


@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    how=st.sampled_from(["outer", "inner"]),
)
def test_a_join_keeps_every_measurement_with_its_id(seed, sizes, how):
    rng = np.random.default_rng(seed)
    tables = {}
    for v, size in enumerate(sizes):
        ids = rng.permutation(10)[:size].tolist()
        tables[f"v{v}"] = (ids, 100.0 * v + np.array(ids, dtype=float).reshape(-1, 1))
    views = Views.from_tables(tables, how=how)
    known = [set(ids) for ids, _ in tables.values()]
    expected = set.union(*known) if how == "outer" else set.intersection(*known)
    assert set(views.ids) == expected
    for v, x in enumerate(views):
        np.testing.assert_array_equal(x[:, 0] - 100 * v, views.ids[views.present[:, v]].astype(float))


# ---------------------------------------------------------------------------------------------- rows


def row_keys(n):
    integers = st.lists(st.integers(-n, n - 1), max_size=8)
    bounds = st.one_of(st.none(), st.integers(-n - 1, n + 1))
    steps = st.one_of(st.none(), st.sampled_from([1, 2, -1, -3]))
    return st.one_of(
        integers,
        integers.map(lambda rows: np.array(rows, dtype=np.int64)),
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n).map(np.array),
        st.builds(slice, bounds, bounds, steps),
    )


@given(key=row_keys(12), seed=st.integers(0, 50), missing=st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_rows_of_views_are_the_rows_of_their_matrices(key, seed, missing):
    views, full, present = some_views(12, seed, missing, ids=True)
    rows = np.arange(12)[np.array(key, dtype=int) if isinstance(key, list) and not key else key]
    for part in (views[key], views[key, ...]):
        np.testing.assert_array_equal(part.present, present[rows])
        np.testing.assert_array_equal(part.ids, views.ids[rows])
        assert part.dims == views.dims
        assert part.names == views.names
        for v, x in enumerate(part):
            np.testing.assert_array_equal(dense(x), dense(full[v])[rows][present[rows, v]])


def test_every_slice_of_consecutive_rows():
    views, full, present = some_views(7)
    for start in range(8):
        for stop in range(8):
            rows = slice(start, stop)
            for v, x in enumerate(views[rows]):
                np.testing.assert_array_equal(dense(x), dense(full[v])[rows][present[rows, v]])


def test_one_row_and_rows_of_rows():
    views, full, _ = some_views(missing=0.0)
    np.testing.assert_array_equal(views[3]["en"], full[0][[3]])
    np.testing.assert_array_equal(views[2:10][[1, 3]]["en"], full[0][[3, 5]])


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        ([0.5], TypeError, "indexed by rows"),
        ((0, 1), TypeError, "indexed by rows"),
        ([[0, 1]], TypeError, "indexed by rows"),
        (None, TypeError, "indexed by rows"),
        ([True, False], IndexError, "2 entries for 12 rows"),
        (np.zeros(0, dtype=bool), IndexError, "0 entries for 12 rows"),
        ([12], IndexError, "12"),
        ("fr", ValueError, "the views are en, de, sl"),
    ],
)
def test_bad_rows_are_refused(key, error, words):
    with pytest.raises(error, match=words):
        some_views()[0][key]


# -------------------------------------------------------------------------------------- scikit-learn


class Predicted(BaseEstimator):
    """Ridge regression of the last view on the first, from moments; scored by minus the squared error."""

    def __init__(self, ridge=1.0):
        self.ridge = ridge

    def fit(self, views, y=None):
        views = check_views(views)
        moments = ViewMoments(views.dims).update(views)
        last = views.n_views - 1
        gram = moments.covariance(0) + self.ridge * np.eye(views.dims[0])
        self.coef_ = np.linalg.solve(gram, moments.covariance(0, last))
        self.intercept_ = moments.mean(last, 0) - moments.mean(0, last) @ self.coef_
        return self

    def score(self, views, y=None):
        x, target = check_views(views).shared(0, views.n_views - 1)
        return -float(np.mean((x @ self.coef_ + self.intercept_ - target) ** 2))


class Halved(TransformerMixin, BaseEstimator):
    """Views in, Views out."""

    def fit(self, views, y=None):
        self.names_ = check_views(views).names
        return self

    def transform(self, views):
        return Views([x / 2 for x in views], names=self.names_, present=views.present, ids=views.ids)


def test_cross_val_score_is_a_loop_over_folds():
    views, *_ = some_views(40, missing=0.2, ids=True)
    folds = KFold(4, shuffle=True, random_state=0)
    by_hand = [Predicted().fit(views[train]).score(views[test]) for train, test in folds.split(views)]
    np.testing.assert_array_equal(cross_val_score(Predicted(), views, cv=folds), by_hand)
    assert np.isfinite(by_hand).all()


def test_grid_search_through_a_pipeline():
    views, *_ = some_views(60, missing=0.2)
    pipeline = make_pipeline(Halved(), Predicted())
    search = GridSearchCV(pipeline, {"predicted__ridge": [1e-3, 1.0, 1e3]}, cv=3, error_score="raise")
    search.fit(views)
    assert search.best_params_["predicted__ridge"] in (1.0, 1e3)
    again = clone(search.best_estimator_).fit(views)
    assert again.score(views) == search.score(views)
    assert search.best_estimator_["halved"].names_ == ("en", "de", "sl")


def test_splitters_that_look_at_y():
    views, *_ = some_views(30, missing=0.2, ids=True)
    y = np.arange(30) % 3
    scores = cross_validate(Predicted(), views, y, cv=StratifiedKFold(3), return_train_score=True)
    assert np.isfinite(scores["test_score"]).all()
    train, test, _, y_test = train_test_split(views, y, test_size=10, random_state=0)
    assert isinstance(train, Views)
    assert (len(train), len(test)) == (20, 10)
    rows = [int(key[3:]) for key in test.ids]
    np.testing.assert_array_equal(y_test, y[rows])


def test_an_array_has_the_views_side_by_side_and_nan_where_one_is_missing():
    views = Views({"a": [[1.0], [2.0]], "b": [[3.0, 4.0]]}, present=[[1, 1], [1, 0]])
    np.testing.assert_array_equal(np.asarray(views), [[1, 3, 4], [2, np.nan, np.nan]])
    assert np.asarray(views, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="only by copying"):
        views.__array__(copy=False)


def test_a_dense_array_is_not_made_of_sparse_views():
    with pytest.raises(TypeError, match="view 'de' is sparse"):
        np.asarray(some_views()[0])


def test_a_row_of_nan_is_a_missing_one():
    views = Views([[[1.0, 2.0], [np.nan, np.nan]], [[np.nan], [5.0]]])
    assert views.present.tolist() == [[True, False], [False, True]]
    with pytest.raises(ValueError, match="view 'view0' has NaN"):
        Views([[[1.0, 2.0], [np.nan, 3.0]]])


# -------------------------------------------------------------------------------------------- errors


x3, x2 = np.ones((3, 1)), np.ones((2, 1))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Views([]), "no views given"),
        (lambda: Views({}), "no views given"),
        (lambda: Views([x3, x2]), "unequal numbers of rows: {'view0': 3, 'view1': 2}"),
        (lambda: Views({"en": x3, "de": np.ones((3, 0))}), "view 'de' has no features"),
        (lambda: Views({"en": [[np.nan, 1.0]]}), "view 'en' has NaN or infinite values"),
        (lambda: Views({"en": [[np.inf]]}), "NaN throughout"),
        (lambda: Views({"en": sparse.csr_array([[np.nan]])}), "view 'en' has NaN"),
        (lambda: Views({"en": np.array([["a", "b"]])}), "view 'en' is not a matrix of numbers"),
        (lambda: Views({"en": [["1", "2"]]}), "view 'en' is not a matrix of numbers"),
        (lambda: Views({"en": np.array([["2020-01-01"]], dtype="M8[D]")}), "datetime64"),
        (lambda: Views({"en": [[1j]]}), "Complex"),
        (lambda: Views({"en": [[None, 1.0]]}), "view 'en' is not a matrix of numbers"),
        (lambda: Views({"en": [[1.0, 2.0], [3.0]]}), "view 'en' is not a matrix of numbers"),
        (lambda: Views({"en": np.ones(3)}), "Expected 2D array, got 1D array instead$"),
        (lambda: Views({"en": sparse.coo_array(np.ones(3))}), "Expected 2D"),
        (lambda: Views({"en": np.ones((1, 1, 1))}), "dim 3"),
        (lambda: Views(np.ones((3, 2))), "view 'view0' is not a matrix"),
        (lambda: Views([x3], names=["a", "b"]), "does not give 1 views one distinct name"),
        (lambda: Views([x3, x3], names=["a", "a"]), "does not give 2 views one distinct name"),
        (lambda: Views({0: x3}), "does not give 1 views one distinct name"),
        (lambda: Views({"a": x3}, names=["b"]), "names asks for 'b'; the views given are \\['a'\\]"),
        (lambda: Views([x3], ids=["a", "b"]), "2 ids for 3 rows"),
        (lambda: Views([x3], ids=["a", "b", "a"]), "id 'a' occurs again at row 2"),
        (lambda: Views([x3], present=[1, 1, 1]), "one column for each of the 1 views"),
        (lambda: Views([x3], present=[[2], [0], [1]]), "expected truth values"),
        (lambda: Views([x2, x3], present=[[1, 1]] * 3), "view 'view0' has 2 rows; expected 3"),
        (lambda: Views([None, None], dims=[1, 1]), "every view is None"),
        (lambda: Views([x3, None]), "view 'view1' is None: give `dims`"),
        (lambda: Views([x3, None], dims=[1]), "dims gives 1 feature counts for 2 views"),
        (lambda: Views([x3], dims=[4]), "has 1 features; dims says 4"),
        (lambda: Views([None], dims=[1], present=[[1]]), "is None but present marks 1 of its rows"),
        (lambda: Views.from_tables({}), "no tables given"),
        (lambda: Views.from_tables({"en": (["a"], x2)}), "table 'en' has 1 ids and 2 rows"),
        (lambda: Views.from_tables({"en": (["a", "a"], x2)}), "table 'en': id 'a' occurs again at row 1"),
        (lambda: Views.from_tables({"en": (["a", "b"], x2)}, how="left"), "use 'outer' or 'inner'"),
        (lambda: check_views([np.ones((0, 2))]), "0 row\\(s\\); at least 1"),
        (lambda: check_views([x3], min_views=2), "1 view\\(s\\) given; at least 2"),
        (lambda: Views([x3]).index(1), "there are 1 views, counted from 0"),
    ],
)
def test_errors_say_what_is_wrong(build, words):
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize("wrong", [np.ones((3, 2)), "text", 3, None])
def test_check_views_wants_views(wrong):
    with pytest.raises(TypeError, match="expected Views, or a list or dict of 2-D arrays"):
        check_views(wrong)


def test_zero_rows_are_a_batch_like_any_other():
    views = Views([np.zeros((0, 2)), sparse.csr_array((0, 3))])
    assert len(views) == 0
    assert views.complete
    assert check_views(views, min_rows=0) is views
    assert ViewMoments(views.dims).update(views).count(0, 1) == 0
