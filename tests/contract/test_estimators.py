"""What every estimator of the package keeps, now and later.

An estimator that is not in ``cases.py`` fails the first test, so a new one cannot be forgotten.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import isogloss.alignment.aligner
from isogloss import io
from isogloss.factor import InterBatteryFA, MultiBatteryFA, MultiViewVAE
from isogloss.mixture import GaussianMixture, KernelKMeans
from isogloss.multiview import ColumnViews, OptimalWeighting, SumCor
from isogloss.topics import LatentDirichletAllocation, PolylingualTopicModel
from isogloss.views import Views
from tests.contract.cases import CASES, ROWS_CASES, VIEWS_CASES, WITHOUT_FIT, every_estimator, rows_data

JOINT = {
    InterBatteryFA,
    MultiBatteryFA,
    MultiViewVAE,
    OptimalWeighting,
    PolylingualTopicModel,
}  # one output for all views, not one for each
FORGETS = {PolylingualTopicModel}  # partial_fit forgets the start slowly, and on purpose
SPLITTABLE = [
    kind
    for kind, case in VIEWS_CASES.items()
    if hasattr(case.estimator, "partial_fit") and kind not in FORGETS
]
COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}


def name_of(kind):
    return kind.__name__


@pytest.fixture(scope="module", params=CASES, ids=name_of)
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def fitted(case):
    return case.fitted()


def output_of(case, model):
    return np.asarray(case.output(model, case.data()))


def test_every_estimator_is_here():
    assert every_estimator() == {*CASES, *WITHOUT_FIT}


def expected_failures(estimator):
    if isinstance(estimator, GaussianMixture):
        same_start = "the start is drawn from the rows; from the same start weights are repetitions"
        return {"check_sample_weight_equivalence_on_dense_data": same_start}
    return {}


@parametrize_with_checks(
    [
        ROWS_CASES[GaussianMixture].estimator,
        KernelKMeans(3),
        ROWS_CASES[ColumnViews].estimator,
        ROWS_CASES[LatentDirichletAllocation].estimator,
    ],  # the others take counts, or 0 and 1, alone
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_own_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("kind", [*CASES, *WITHOUT_FIT], ids=name_of)
def test_constructor_only_stores(kind):
    made = CASES[kind].estimator if kind in CASES else WITHOUT_FIT[kind]
    params = made.get_params(deep=False)
    assert vars(made).keys() == params.keys()
    assert all(getattr(made, name) is value for name, value in params.items())
    again = clone(made)
    assert repr(again) == repr(made)
    assert clone(made).set_params(**params).get_params(deep=False) == params


@pytest.mark.parametrize("kind", [*CASES, *WITHOUT_FIT], ids=name_of)
def test_every_parameter_has_a_constraint(kind):
    assert set(kind._parameter_constraints) == set(kind._get_param_names())


def test_wrong_parameters_are_refused_by_name(case):
    for name in case.estimator.get_params(deep=False):
        wrong = clone(case.estimator).set_params(**{name: type("Wrong", (), {})()})
        with pytest.raises(ValueError, match=f"'{name}' parameter of {type(wrong).__name__} must be"):
            wrong.fit(*case.data(), **case.keywords)
        if hasattr(wrong, "partial_fit"):
            with pytest.raises(ValueError, match=f"'{name}' parameter of {type(wrong).__name__} must be"):
                wrong.partial_fit(*case.data())


def test_fit_gives_itself_and_sets_names_with_an_underscore(case):
    model = clone(case.estimator)
    assert model.fit(*case.data(), **case.keywords) is model
    learned = set(vars(model)) - set(model.get_params(deep=False))
    assert [name for name in learned if not name.endswith("_") and not name.startswith("_")] == []


def test_not_fitted(case):
    if case.works_unfitted:
        pytest.skip(case.works_unfitted)
    with pytest.raises(NotFittedError):
        output_of(case, clone(case.estimator))


def test_fit_twice_is_the_same(case, fitted):
    expected = output_of(case, fitted)
    again = case.fitted()
    np.testing.assert_array_equal(output_of(case, again), expected)
    np.testing.assert_array_equal(output_of(case, again.fit(*case.data(), **case.keywords)), expected)


def test_input_is_not_changed(case):
    data = case.data()
    before = pickle.dumps(copy.deepcopy(data))
    case.output(clone(case.estimator).fit(*data, **case.keywords), data)
    assert pickle.dumps(copy.deepcopy(data)) == before


def test_bad_input_is_refused_with_a_reason(case):
    for arguments, message in case.refused:
        with pytest.raises((ValueError, TypeError), match=message):
            clone(case.estimator).fit(*arguments)


def test_save_and_load_are_identical(case, fitted, tmp_path):
    if case.not_saved:
        pytest.skip(case.not_saved)
    io.save(fitted, tmp_path / "model.isogloss")
    loaded = io.load(tmp_path / "model.isogloss", expected=type(fitted))
    np.testing.assert_array_equal(output_of(case, loaded), output_of(case, fitted))
    assert repr(loaded) == repr(fitted)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_has_what_was_learned(case, fitted, copied):
    again = copied(fitted)
    assert repr(again) == repr(fitted)
    np.testing.assert_array_equal(output_of(case, again), output_of(case, fitted))


def test_every_name_can_be_asked_for_and_printed(fitted):
    for one in (fitted, clone(fitted)):
        for name in {*dir(one), *dir(type(one))}:
            hasattr(one, name)  # raises if the attribute fails with anything but AttributeError
    assert type(fitted).__name__ in repr(fitted)
    assert type(fitted).__name__ in fitted._repr_html_()


def test_listing_the_names_computes_nothing(monkeypatch):
    """scikit-learn's own ``__dir__`` reads every property, and some of ours take minutes on large data."""

    def fail(*_):
        raise AssertionError("dir() has computed a property")

    aligner, sumcor = CASES[isogloss.alignment.Aligner].fitted(), CASES[SumCor].fitted()
    monkeypatch.setattr(isogloss.alignment.aligner, "lexicon_rows", fail)
    monkeypatch.setattr(SumCor, "_judge_fit", fail)
    assert "translation_table_" in dir(aligner)
    assert "certificate_" in dir(sumcor)


@pytest.mark.parametrize("kind", ROWS_CASES, ids=name_of)
def test_features_of_rows_are_counted(kind):
    case = ROWS_CASES[kind]
    model, (rows,) = case.fitted(), case.data()
    assert model.n_features_in_ == rows.shape[1]
    with pytest.raises(ValueError, match="features"):
        case.output(model, (rows[:, :2],))


@pytest.mark.parametrize("kind", VIEWS_CASES, ids=name_of)
class TestViews:
    def test_features_of_views_are_counted(self, kind):
        model, (data,) = VIEWS_CASES[kind].fitted(), VIEWS_CASES[kind].data()
        assert (model.view_names_, model.dims_) == (data.names, data.dims)
        narrow = [x[:, :3] for x in data]
        for wrong in (narrow, list(data)[:-1]):
            with pytest.raises(ValueError, match="features"):
                model.transform(wrong)
        with pytest.raises(ValueError, match="features"):
            model.transform_view(narrow[0], 0)
        with pytest.raises(ValueError, match="view"):
            model.transform_view(data.arrays[0], "xx")

    def test_one_view_alone(self, kind):
        if kind in JOINT:
            pytest.skip("a view alone gives an estimate of the joint output")
        model, (data,) = VIEWS_CASES[kind].fitted(), VIEWS_CASES[kind].data()
        whole = model.transform(data)
        for v, name in enumerate(data.names):
            np.testing.assert_allclose(model.transform_view(data[name], name), whole.arrays[v], rtol=1e-12)

    def test_sparse_equals_dense(self, kind):
        case = VIEWS_CASES[kind]
        model, (data,) = case.fitted(), case.data()
        csr = Views([sparse.csr_matrix(x) for x in data], names=data.names)
        other = clone(case.estimator).fit(csr)
        np.testing.assert_allclose(case.output(other, (csr,)), output_of(case, model), rtol=1e-6, atol=1e-7)

    def test_score_is_a_number(self, kind):
        score = VIEWS_CASES[kind].fitted().score(*VIEWS_CASES[kind].data())
        assert isinstance(score, float)
        assert np.isfinite(score)

    def test_lists_and_dicts_do_too(self, kind):
        case = VIEWS_CASES[kind]
        (data,) = case.data()
        one = clone(case.estimator).fit(list(data))
        two = clone(case.estimator).fit(dict(zip(data.names, data, strict=True)))
        np.testing.assert_array_equal(case.output(one, (list(data),)), output_of(case, two))


@pytest.mark.parametrize("kind", SPLITTABLE, ids=name_of)
def test_any_batches_are_one_batch(kind):
    case = VIEWS_CASES[kind]
    (data,) = case.data()
    parts = clone(case.estimator)
    for rows in (slice(0, 50), slice(50, 57), slice(57, None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            parts.partial_fit(data[rows])
    np.testing.assert_allclose(output_of(case, parts), output_of(case, case.fitted()), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", [GaussianMixture, KernelKMeans], ids=name_of)
def test_sample_weights_are_routed_through_a_pipeline(kind):
    X, weights = rows_data(), np.arange(90) % 3 + 1.0
    alone = clone(ROWS_CASES[kind].estimator)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, clone(alone).set_fit_request(sample_weight=True))
        pipeline.fit(X, sample_weight=weights)
        expected = alone.fit(StandardScaler().fit_transform(X), sample_weight=weights)
        np.testing.assert_array_equal(
            pipeline.predict(X), expected.predict(StandardScaler().fit_transform(X))
        )
        refusing = make_pipeline(scaler, clone(ROWS_CASES[kind].estimator))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            refusing.fit(X, sample_weight=weights)
