"""Kernel k-means: its distances, its descent, its equalities with k-means in explicit features."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from isogloss.mixture import KernelKMeans
from isogloss.mixture._kernel_kmeans import _centroids, _descend, _fill_empty, _nearest, _start

BLOBS, BLOB = make_blobs(90, 3, centers=[[0, 0, 0], [9, 0, 1], [1, 8, 0]], random_state=0)
RINGS, RING = make_circles(200, factor=0.2, noise=0.05, random_state=0)
NOISE = np.random.default_rng(0).standard_normal((60, 3))


def quadratic_features(X, coef0=1.0):
    """The feature map of (x'y + coef0)^2."""
    pairs = np.einsum("ni,nj->nij", X, X).reshape(len(X), -1)
    return np.hstack([pairs, np.sqrt(2 * coef0) * X, np.full((len(X), 1), coef0)])


def quadratic(**settings):
    return KernelKMeans(kernel="poly", degree=2, gamma=1.0, coef0=1.0, **settings)


def squared_distances(features, labels, weight, n_clusters):
    """From every row to every centroid, in explicit features, one at a time."""
    out = np.empty((len(features), n_clusters))
    for k in range(n_clusters):
        centroid = np.average(features[labels == k], axis=0, weights=weight[labels == k])
        for i, row in enumerate(features):
            out[i, k] = np.sum((row - centroid) ** 2)
    return out


def data(draw):
    """Small data, on a grid half of the time, where rows repeat and distances are tied."""
    n, d, k = draw(st.integers(4, 20)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = rng.integers(0, 4, (n, d)).astype(float) if draw(st.booleans()) else rng.standard_normal((n, d))
    weight = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    return X, weight, k, draw(st.integers(0, 50))


small_data = st.composite(data)()


@parametrize_with_checks([KernelKMeans(n_clusters=3)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        KernelKMeans(5, kernel="rbf", gamma=0.3, n_init=2, max_iter=7, tol=0.0, random_state=3),
        KernelKMeans(2, kernel=np.dot, kernel_params={"out": None}),
    ],
)
def test_clone_keeps_settings_and_forgets_the_fit(model):
    before = model.get_params()
    copy = clone(model.fit(NOISE))
    assert copy.get_params() == before == model.get_params()
    assert not hasattr(copy, "labels_")


# Equalities with k-means in explicit features


def test_linear_is_kmeans_on_separated_blobs():
    ours = KernelKMeans(3, random_state=0).fit(BLOBS)
    theirs = KMeans(3, n_init=10, random_state=0).fit(BLOBS)
    assert adjusted_rand_score(ours.labels_, BLOB) == 1.0
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-12)
    np.testing.assert_allclose(
        ours.dual_coef_.T @ BLOBS, [BLOBS[ours.labels_ == k].mean(0) for k in range(3)]
    )


@pytest.mark.parametrize("seed", range(8))
def test_linear_is_kmeans_from_the_same_start(seed):
    weight = np.random.default_rng(seed).integers(1, 4, len(NOISE)).astype(float)
    rows = np.random.default_rng(seed).choice(len(NOISE), 5, replace=False)
    run = _descend(NOISE @ NOISE.T, weight, np.eye(len(NOISE))[:, rows], max_iter=100, tol=0.0)
    theirs = KMeans(5, init=NOISE[rows], n_init=1, tol=0.0).fit(NOISE, sample_weight=weight)
    np.testing.assert_array_equal(run.state.labels, theirs.labels_)
    assert run.trace[-1] == pytest.approx(theirs.inertia_, rel=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_kernel_pca_then_kmeans_has_the_same_inertia(kernel):
    ours = KernelKMeans(3, kernel=kernel, gamma=0.1, random_state=0).fit(BLOBS)
    features = KernelPCA(None, kernel=kernel, gamma=0.1).fit_transform(BLOBS)
    theirs = KMeans(3, n_init=10, random_state=0).fit(features)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-8)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_kernel_pca_then_kmeans_stays_where_kernel_kmeans_has_ended(kernel):
    ours = KernelKMeans(6, kernel=kernel, gamma=0.3, tol=0.0, random_state=0).fit(NOISE)
    features = KernelPCA(None, kernel=kernel, gamma=0.3).fit_transform(NOISE)
    theirs = KMeans(6, init=ours.dual_coef_.T @ features, n_init=1).fit(features)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-8)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)


def test_rbf_separates_rings_where_linear_cannot():
    rbf = KernelKMeans(2, kernel="rbf", gamma=2.0, random_state=0).fit(RINGS)
    linear = KernelKMeans(2, random_state=0).fit(RINGS)
    assert adjusted_rand_score(rbf.labels_, RING) == 1.0
    assert adjusted_rand_score(linear.labels_, RING) < 0.2


# Distances, prediction


def test_transform_is_the_distance_in_the_explicit_feature_map():
    weight = np.random.default_rng(1).random(len(NOISE))
    model = quadratic(n_clusters=4, random_state=0, tol=0.0).fit(NOISE, sample_weight=weight)
    features, new = quadratic_features(NOISE), np.random.default_rng(2).standard_normal((700, 3))
    centroids = [np.average(features[model.labels_ == k], 0, weight[model.labels_ == k]) for k in range(4)]
    brute = np.linalg.norm(quadratic_features(new)[:, None] - centroids, axis=2)
    np.testing.assert_allclose(model.transform(new), brute, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(new), brute.argmin(axis=1))
    assert model.score(new) == pytest.approx(-(brute.min(axis=1) ** 2).sum(), rel=1e-9)
    assert model.score(NOISE, sample_weight=weight) == pytest.approx(-model.inertia_, rel=1e-9)
    np.testing.assert_allclose(model.centroid_norms_, np.sum(np.square(centroids), axis=1), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(
    case=small_data, kernel=st.sampled_from(["linear", "rbf", "poly"]), max_iter=st.sampled_from([1, 2, 300])
)
def test_training_rows_are_predicted_as_labelled(case, kernel, max_iter):
    X, weight, k, seed = case
    model = KernelKMeans(k, kernel=kernel, max_iter=max_iter, random_state=seed).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    # Row by row the kernel is rounded differently; ties must not notice.
    np.testing.assert_array_equal([model.predict(x[None])[0] for x in X], model.labels_)
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_, rel=1e-8, abs=1e-8)
    assert model.inertia_ == model.inertia_trace_[-1]
    assert len(model.inertia_trace_) == model.n_iter_ + 1 <= max_iter + 1


def test_plain_arrays_are_all_that_prediction_needs():
    model = KernelKMeans(3, kernel="rbf", random_state=0).fit(BLOBS)
    copy = clone(model)
    for name in ("X_fit_", "dual_coef_", "centroid_norms_", "labels_", "inertia_trace_"):
        assert type(getattr(model, name)) is np.ndarray
        setattr(copy, name, getattr(model, name).copy())
    copy.n_features_in_ = model.n_features_in_
    np.testing.assert_array_equal(copy.predict(NOISE), model.predict(NOISE))
    np.testing.assert_array_equal(copy.transform(NOISE), model.transform(NOISE))


def test_later_changes_of_the_training_data_do_not_reach_the_model():
    X = BLOBS.copy()
    model = KernelKMeans(3, random_state=0).fit(X)
    before = model.predict(BLOBS)
    X[:] = 0
    np.testing.assert_array_equal(model.predict(BLOBS), before)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_precomputed_equals_named(kernel):
    params = {"gamma": 0.2} if kernel in ("rbf", "poly") else {}
    named = KernelKMeans(4, kernel=kernel, random_state=0, **params).fit(BLOBS)
    K, new = (
        pairwise_kernels(BLOBS, metric=kernel, **params),
        pairwise_kernels(NOISE, BLOBS, kernel, **params),
    )
    given = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K)
    diagonal = np.diagonal(pairwise_kernels(NOISE, metric=kernel, **params))
    np.testing.assert_array_equal(given.labels_, named.labels_)
    np.testing.assert_allclose(given.inertia_trace_, named.inertia_trace_)
    np.testing.assert_array_equal(given.predict(new), named.predict(NOISE))
    np.testing.assert_allclose(given.transform(new, self_kernel=diagonal), named.transform(NOISE), atol=1e-7)
    assert given.score(new, self_kernel=diagonal) == pytest.approx(named.score(NOISE))
    np.testing.assert_allclose(clone(given).fit_transform(K), clone(named).fit_transform(BLOBS), atol=1e-7)
    assert given.X_fit_ is None
    assert given.n_features_in_ == len(BLOBS)


def test_distances_under_a_precomputed_kernel_ask_for_the_diagonal():
    model = KernelKMeans(3, kernel="precomputed", random_state=0).fit(BLOBS @ BLOBS.T)
    with pytest.raises(ValueError, match="pass it as self_kernel"):
        model.transform(NOISE @ BLOBS.T)
    with pytest.raises(ValueError, match="expecting 90 features"):
        model.predict(NOISE @ NOISE.T)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_sparse_equals_dense(kernel):
    X = np.where(np.abs(NOISE) > 0.5, NOISE, 0.0)
    dense = KernelKMeans(3, kernel=kernel, random_state=0).fit(X)
    sparse = KernelKMeans(3, kernel=kernel, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_allclose(sparse.transform(sp.csr_array(X)), dense.transform(X), atol=1e-7)


def test_callable_kernel_with_parameters():
    def bell(x, y, width):
        return np.exp(-np.sum((x - y) ** 2) / width)

    ours = KernelKMeans(3, kernel=bell, kernel_params={"width": 5.0}, random_state=0).fit(NOISE)
    named = KernelKMeans(3, kernel="rbf", gamma=0.2, random_state=0).fit(NOISE)
    np.testing.assert_array_equal(ours.labels_, named.labels_)
    np.testing.assert_allclose(ours.transform(BLOBS[:5]), named.transform(BLOBS[:5]))


# Descent


@given(case=small_data)
def test_inertia_never_rises_and_every_step_is_that_of_the_slow_twin(case):
    X, weight, k, seed = case
    features, rows = quadratic_features(X), np.random.default_rng(seed).choice(len(X), k, replace=False)
    K, start = features @ features.T, np.eye(len(X))[:, rows]
    run = _descend(K, weight, start, max_iter=50, tol=0.0)
    assert run.converged
    assert not run.indefinite
    assert max(np.diff(run.trace)) <= 0.0
    partition, counted = np.where(start.any(axis=1), start.argmax(axis=1), -1), np.ones(len(X))
    for step, inertia in enumerate(run.trace):
        distances = squared_distances(features, partition, counted, k)
        assert inertia == pytest.approx(weight @ distances.min(axis=1), rel=1e-9, abs=1e-9)
        # Labels are taken over, because ties are for rounding to break; they must be of the nearest.
        state = _descend(K, weight, start, max_iter=step, tol=0.0).state
        chosen = distances[np.arange(len(X)), state.labels]
        np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=1e-8, atol=1e-8)
        partition, counted = _fill_empty(state.labels, state.gaps, weight, k), weight


@given(case=small_data, kernel=st.sampled_from(["linear", "rbf", "poly", "cosine"]))
def test_trace_of_a_fit_never_rises_under_definite_kernels(case, kernel):
    X, weight, k, seed = case
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="only . of . clusters have rows")
        model = KernelKMeans(k, kernel=kernel, n_init=2, tol=0.0, random_state=seed).fit(
            X, sample_weight=weight
        )
    assert np.diff(model.inertia_trace_).max() <= 0.0


def test_a_step_that_raises_the_inertia_is_not_taken():
    rng, refused = np.random.default_rng(0), 0
    for _ in range(20):
        S = rng.standard_normal((30, 30))
        run = _descend(S + S.T + 4 * np.eye(30), np.ones(30), np.eye(30)[:, :4], max_iter=50, tol=0.0)
        assert np.diff(run.trace).max() <= 0.0
        refused += run.trace[-1] == run.trace[-2]
    assert refused > 0


def test_indefinite_kernels_are_noticed_and_a_larger_diagonal_mends_them():
    S = np.random.default_rng(0).standard_normal((30, 30))
    K = S + S.T
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K)
    assert np.diff(model.inertia_trace_).max() <= 0.0
    assert np.isfinite(model.transform(K, self_kernel=np.diagonal(K))).all()
    shift = 1.001 * -np.linalg.eigvalsh(K)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelKMeans(4, kernel="precomputed", random_state=0).fit(K + shift * np.eye(30))


@pytest.mark.parametrize(
    ("sign", "seed"),
    [("only the inertia rises", 5), ("a later distance is negative", 9), ("one of the start is", 7)],
)
def test_each_sign_of_an_indefinite_kernel_is_enough(sign, seed):
    S = np.random.default_rng(seed).integers(-3, 4, (5, 5)).astype(float)
    run = _descend(S + S.T + 4 * np.eye(5), np.ones(5), np.eye(5)[:, :2], max_iter=50, tol=0.0)
    assert run.indefinite, sign


def test_a_kernel_rounded_to_single_precision_is_not_called_indefinite():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((15, 3)), 4, axis=0) + 1e-5 * rng.standard_normal((60, 3)) + 5
    K = X.astype(np.float32) @ X.astype(np.float32).T
    run = _descend(K.astype(float), np.ones(60), np.eye(60)[:, ::4], max_iter=50, tol=0.0)
    assert run.state.gaps.min() < -1e-8
    assert not run.indefinite
    assert np.diff(run.trace).max() <= 0.0


def test_a_tie_that_rounding_hides_goes_to_the_lower_number():
    products = np.array([[0.3, 0.1 + 0.2], [0.1 + 0.2, 0.3]])
    np.testing.assert_array_equal(_nearest(products, np.array([1.0, 1.0])), [0, 0])
    np.testing.assert_array_equal(_nearest(products, np.array([1.0, 1.0 - 1e-9])), [1, 1])


def test_an_empty_cluster_gets_the_farthest_row_and_the_inertia_falls():
    K = BLOBS @ BLOBS.T
    start = np.eye(len(K))[:, [0, 0, 0]]
    run = _descend(K, np.ones(len(K)), start, max_iter=100, tol=0.0)
    far = np.linalg.norm(BLOBS - BLOBS[0], axis=1).argsort()[:-3:-1]
    labels = _fill_empty(
        np.zeros(len(K), dtype=int), np.sum((BLOBS - BLOBS[0]) ** 2, axis=1), np.ones(len(K)), 3
    )
    np.testing.assert_array_equal(labels[far], [1, 2])
    assert np.bincount(labels).tolist() == [len(K) - 2, 1, 1]
    assert np.diff(run.trace).max() <= 0.0
    assert len(np.unique(run.state.labels)) == 3


def test_filling_a_cluster_never_empties_another_nor_uses_a_weightless_row():
    labels, gaps = np.array([0, 0, 0, 1, 0]), np.array([1.0, 2.0, 3.0, 9.0, 99.0])
    filled = _fill_empty(labels, gaps, np.array([1.0, 1.0, 1.0, 1.0, 0.0]), 4)
    np.testing.assert_array_equal(filled, [0, 3, 2, 1, 0])
    np.testing.assert_array_equal(labels, [0, 0, 0, 1, 0])
    np.testing.assert_allclose(_centroids(filled, np.array([1.0, 1, 1, 1, 0]), 4).sum(axis=0), 1.0)


def test_a_loose_tolerance_stops_early():
    K, start = BLOBS @ BLOBS.T, np.eye(len(BLOBS))[:, [0, 1, 2]]
    tight, loose = (_descend(K, np.ones(len(K)), start, max_iter=100, tol=tol) for tol in (0.0, 10.0))
    assert len(loose.trace) == 2 < len(tight.trace)
    assert loose.trace == tight.trace[:2]


def test_a_cluster_that_empties_on_the_way_is_refilled_at_any_tolerance():
    X = np.array([[2.0, 3], [-3, 0], [-5, -5], [-1, -3], [4, 2], [5, -1]])
    start = np.eye(6)[:, [0, 4, 5]]
    stopped = _descend(X @ X.T, np.ones(6), start, max_iter=1, tol=10.0)
    assert len(np.unique(stopped.state.labels)) == 2
    assert not stopped.converged
    run = _descend(X @ X.T, np.ones(6), start, max_iter=2, tol=10.0)
    np.testing.assert_allclose(run.trace, [187, 152 / 3, 119 / 6])
    assert len(np.unique(run.state.labels)) == 3
    assert run.converged
    assert _descend(X @ X.T, np.ones(6), start, max_iter=2, tol=0.0).converged


# Starts, invariances, determinism


def test_starts_are_rows_far_apart_and_of_positive_weight():
    K, weight = BLOBS @ BLOBS.T, (np.arange(len(BLOBS)) % 2).astype(float)
    order = np.flatnonzero(weight)
    for seed in range(20):
        coef = _start(K, weight, order, 3, np.random.RandomState(seed))
        rows = coef.argmax(axis=0)
        np.testing.assert_array_equal(coef, np.eye(len(K))[:, rows])
        assert weight[rows].all()
        assert set(BLOB[rows]) == {0, 1, 2}


def test_more_starts_are_never_worse_and_one_seed_gives_one_result():
    few, many, again = (
        KernelKMeans(8, kernel="rbf", n_init=n, random_state=0).fit(NOISE) for n in (1, 10, 10)
    )
    assert many.inertia_ < few.inertia_
    np.testing.assert_array_equal(many.labels_, again.labels_)
    np.testing.assert_array_equal(many.inertia_trace_, again.inertia_trace_)


@given(seed=st.integers(0, 1000), kernel=st.sampled_from(["linear", "rbf"]))
def test_order_of_rows_does_not_matter(seed, kernel):
    model = KernelKMeans(3, kernel=kernel, random_state=seed)
    for X in (BLOBS, NOISE):
        order = np.random.default_rng(seed).permutation(len(X))
        np.testing.assert_array_equal(clone(model).fit(X[order]).labels_, clone(model).fit(X).labels_[order])


@given(seed=st.integers(0, 1000), kernel=st.sampled_from(["linear", "rbf", "poly"]))
def test_weights_are_repetitions_and_zero_is_absence(seed, kernel):
    weight = np.random.default_rng(seed).integers(0, 3, len(NOISE))
    model = KernelKMeans(4, kernel=kernel, random_state=seed)
    weighted = clone(model).fit(NOISE, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(NOISE, weight, axis=0))
    np.testing.assert_array_equal(repeated.labels_, np.repeat(weighted.labels_, weight))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    np.testing.assert_allclose(weighted.transform(BLOBS), repeated.transform(BLOBS))


def test_clusters_are_numbered_from_the_mean_outwards():
    model = KernelKMeans(6, kernel="poly", random_state=0).fit(NOISE)
    features = KernelPCA(None, kernel="poly").fit_transform(NOISE)
    _, first = np.unique(model.labels_[np.linalg.norm(features, axis=1).argsort()], return_index=True)
    assert len(first) == 6
    assert (np.diff(first) > 0).all()


# What is refused, and what is said


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_clusters": 61}, ValueError, r"n_clusters=61.*n_samples=60"),
        ({"n_clusters": 0}, ValueError, r"'n_clusters'.* \[1, inf\)\. Got 0"),
        ({"n_clusters": 2.0}, TypeError, r"'n_clusters'.* an int .* Got 2\.0"),
        ({"kernel": "gauss"}, ValueError, r"'kernel'.* among .*'rbf'.* Got 'gauss'"),
        ({"n_init": 0}, ValueError, "'n_init'.* Got 0"),
        ({"max_iter": 0}, ValueError, "'max_iter'.* Got 0"),
        ({"tol": -1.0}, ValueError, r"'tol'.* Got -1\.0"),
        ({"kernel": "poly", "degree": 400, "gamma": 9.0}, ValueError, "kernel matrix .* contains infinity"),
    ],
)
def test_wrong_settings_are_refused(settings, error, message):
    with np.errstate(over="ignore"), pytest.raises(error, match=message):
        KernelKMeans(**settings).fit(NOISE)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(60), "zero"),
        (np.r_[-1.0, np.ones(59)], "negative"),
        (np.r_[np.nan, np.ones(59)], "NaN"),
        (np.ones(59), "60"),
        (np.r_[np.ones(2), np.zeros(58)], r"n_clusters=3.*n_samples=2"),
    ],
)
def test_wrong_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(3).fit(NOISE, sample_weight=weight)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (NOISE, "square symmetric"),
        (np.triu(np.ones((9, 9))), "not symmetric"),
        (np.full((9, 9), np.nan), "NaN"),
        (np.full((9, 9), np.inf), "infinity"),
    ],
)
def test_wrong_precomputed_kernels_are_refused(K, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(2, kernel="precomputed").fit(K)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        KernelKMeans(2, kernel="precomputed").fit(sp.eye_array(9).tocsr())


def test_unfinished_and_degenerate_fits_say_so():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        KernelKMeans(8, max_iter=1, random_state=0).fit(NOISE)
    with pytest.warns(ConvergenceWarning, match="only 2 of 4 clusters"):
        model = KernelKMeans(4, random_state=0).fit(np.repeat([[0.0, 1.0], [3.0, 1.0]], 5, axis=0))
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    assert set(model.labels_) == {0, 1}
    assert np.isfinite(model.dual_coef_).all()
