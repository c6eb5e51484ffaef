"""What every estimator of the package keeps, now and later.

An estimator that is not in ``CASES`` fails the first test, so a new one cannot be forgotten.
"""

import copy
import importlib
import pkgutil
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import isogloss
from isogloss import io
from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.mixture import GaussianMixture, KernelKMeans
from isogloss.multiview import (
    CCA,
    HubCCA,
    KernelCCA,
    KernelSumCor,
    MaxVar,
    Multiview,
    OptimalWeighting,
    RandomProjection,
    SSCor,
    SumCor,
)
from isogloss.views import Views

ROWS_CASES = {
    GaussianMixture: GaussianMixture(2, random_state=0, tol=1e-6),
    KernelKMeans: KernelKMeans(3, kernel="rbf", random_state=0),
}
VIEWS_CASES = {
    CCA: CCA(2),
    SumCor: SumCor(2, random_state=0),
    SSCor: SSCor(2, random_state=0),
    MaxVar: MaxVar(2),
    HubCCA: HubCCA(2, random_state=0),
    OptimalWeighting: OptimalWeighting(2),
    KernelCCA: KernelCCA(2),
    KernelSumCor: KernelSumCor(2, random_state=0),
    RandomProjection: RandomProjection(1, random_state=0),
    InterBatteryFA: InterBatteryFA(2),
    MultiBatteryFA: MultiBatteryFA(2, max_iter=2000),
}
OF_WORDS = {
    *("Aligner", "Procrustes"),
    *("BernoulliMixture", "DiscreteHMM", "NaiveBayes", "NetworkLearner", "NgramModel"),
    *("TermWeighting", "TextVectoriser"),
    *("CCASimilarity", "CombinedSimilarity", "DocumentModel", "HubSimilarity", "KMeansSimilarity"),
    *("LSISimilarity", "NameChannel", "EncodedHub", "EncoderSimilarity"),
}
"""Estimators that take neither rows nor views; their own tests hold them to the same manners."""
TWO_VIEWS = {CCA, InterBatteryFA, KernelCCA}
JOINT = {InterBatteryFA, MultiBatteryFA, OptimalWeighting}  # one output for all views, not one for each
CASES = ROWS_CASES | VIEWS_CASES
SPLITTABLE = [name for name, case in VIEWS_CASES.items() if hasattr(case, "partial_fit")]


def every_estimator():
    """Estimators that a package of isogloss exports."""
    found = set()
    packages = (module for module in pkgutil.walk_packages(isogloss.__path__, "isogloss.") if module.ispkg)
    for module in packages:
        loaded = importlib.import_module(module.name)
        for name in getattr(loaded, "__all__", ()):
            thing = getattr(loaded, name)
            if isinstance(thing, type) and issubclass(thing, BaseEstimator) and hasattr(thing, "fit"):
                found.add(thing)
    return found


def rows_data():
    rng = np.random.default_rng(7)
    return np.concatenate([rng.normal(-3, 1, (40, 3)), rng.normal(3, 1, (50, 3))])


def views_data(n_views=3):
    rng = np.random.default_rng(7)
    latent = rng.normal(size=(120, 3))
    data = [latent @ rng.normal(size=(3, p)) + 0.5 * rng.normal(size=(120, p)) for p in (5, 4, 6)[:n_views]]
    return Views(dict(zip(("en", "de", "sl"), data, strict=False)))


def data_for(kind):
    return rows_data() if kind in ROWS_CASES else views_data(2 if kind in TWO_VIEWS else 3)


def arrays_of(data):
    return [data] if isinstance(data, np.ndarray) else list(data.arrays)


def output_of(fitted, data):
    """One array that depends on everything the model has learned."""
    if isinstance(fitted, Multiview):
        projected = fitted.transform(data)
        return np.hstack(list(projected)) if isinstance(projected, Views) else projected
    if hasattr(fitted, "score_samples"):
        return fitted.score_samples(data)
    return fitted.transform(data)


@pytest.fixture(params=CASES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def fitted(kind):
    return clone(CASES[kind]).fit(data_for(kind))


def test_every_estimator_is_here():
    assert {found.__name__ for found in every_estimator()} == {kind.__name__ for kind in CASES} | OF_WORDS


def expected_failures(estimator):
    if isinstance(estimator, GaussianMixture):
        same_start = "the start is drawn from the rows; from the same start weights are repetitions"
        return {"check_sample_weight_equivalence_on_dense_data": same_start}
    return {}


@parametrize_with_checks(
    [ROWS_CASES[GaussianMixture], KernelKMeans(3)], expected_failed_checks=expected_failures
)
def test_scikit_learns_own_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_constructor_only_stores(kind):
    case = CASES[kind]
    for name, value in case.get_params(deep=False).items():
        assert getattr(case, name) is value
    again = clone(case)
    assert again.get_params() == case.get_params()
    assert clone(case).set_params(**case.get_params()).get_params() == case.get_params()
    assert not [name for name in vars(case) if name.endswith("_")]


def test_not_fitted(kind):
    with pytest.raises(NotFittedError):
        output_of(clone(CASES[kind]), data_for(kind))


def test_fit_twice_is_the_same(kind, fitted):
    data = data_for(kind)
    again = clone(CASES[kind]).fit(data)
    np.testing.assert_array_equal(output_of(fitted, data), output_of(again, data))
    refitted = again.fit(data)
    np.testing.assert_array_equal(output_of(fitted, data), output_of(refitted, data))


def test_input_is_not_changed(kind):
    data = data_for(kind)
    before = copy.deepcopy(arrays_of(data))
    output_of(clone(CASES[kind]).fit(data), data)
    for was, now in zip(before, arrays_of(data), strict=True):
        np.testing.assert_array_equal(was, now)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite_is_refused(kind, value):
    data = data_for(kind)
    arrays = copy.deepcopy(arrays_of(data))
    arrays[0][3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|inf"):
        clone(CASES[kind]).fit(arrays[0] if kind in ROWS_CASES else arrays)


def test_feature_count_is_checked(kind, fitted):
    if kind in ROWS_CASES:
        with pytest.raises(ValueError, match="features"):
            output_of(fitted, data_for(kind)[:, :2])
    else:
        narrow = [x[:, :3] for x in data_for(kind)]
        with pytest.raises(ValueError, match="features"):
            fitted.transform(narrow)
        with pytest.raises(ValueError, match="features"):
            fitted.transform_view(narrow[0], 0)
        with pytest.raises(ValueError, match="view"):
            fitted.transform_view(data_for(kind).arrays[0], "xx")


def test_save_and_load_are_identical(kind, fitted, tmp_path):
    path = tmp_path / "model.isogloss"
    io.save(fitted, path)
    loaded = io.load(path, expected=kind)
    data = data_for(kind)
    np.testing.assert_array_equal(output_of(loaded, data), output_of(fitted, data))
    assert loaded.get_params().keys() == fitted.get_params().keys()


@pytest.mark.parametrize("kind", VIEWS_CASES, ids=lambda kind: kind.__name__)
class TestViews:
    def test_one_view_alone(self, kind):
        if kind in JOINT:
            pytest.skip("a view alone gives an estimate of the joint output")
        data = data_for(kind)
        fitted = clone(CASES[kind]).fit(data)
        whole = fitted.transform(data)
        for v, name in enumerate(data.names):
            np.testing.assert_allclose(fitted.transform_view(data[name], name), whole.arrays[v], rtol=1e-12)

    def test_sparse_equals_dense(self, kind):
        data = data_for(kind)
        dense = clone(CASES[kind]).fit(data)
        csr = Views([sparse.csr_matrix(x) for x in data], names=data.names)
        other = clone(CASES[kind]).fit(csr)
        np.testing.assert_allclose(output_of(other, csr), output_of(dense, data), rtol=1e-6, atol=1e-7)

    def test_score_is_a_number(self, kind):
        data = data_for(kind)
        score = clone(CASES[kind]).fit(data).score(data)
        assert isinstance(score, float)
        assert np.isfinite(score)

    def test_lists_and_dicts_do_too(self, kind):
        data = data_for(kind)
        one = clone(CASES[kind]).fit(list(data))
        two = clone(CASES[kind]).fit(dict(zip(data.names, data, strict=True)))
        np.testing.assert_array_equal(output_of(one, list(data)), output_of(two, data))

    def test_shape_errors_are_clear(self, kind):
        data = list(data_for(kind))
        with pytest.raises(ValueError, match="unequal numbers of rows"):
            clone(CASES[kind]).fit([data[0][:-1], *data[1:]])
        with pytest.raises((TypeError, ValueError), match=r"Views|view"):
            clone(CASES[kind]).fit(data[0])


@pytest.mark.parametrize("kind", SPLITTABLE, ids=lambda kind: kind.__name__)
def test_any_batches_are_one_batch(kind):
    data = data_for(kind)
    whole = clone(CASES[kind]).fit(data)
    parts = clone(CASES[kind])
    for rows in (slice(0, 50), slice(50, 57), slice(57, None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            parts.partial_fit(data[rows])
    np.testing.assert_allclose(output_of(parts, data), output_of(whole, data), rtol=1e-6, atol=1e-8)
