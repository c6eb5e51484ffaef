"""Gaussian mixtures: against scikit-learn, against a textbook step, between variants, and on bad input."""

import dataclasses
import os
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture as Peer

from isogloss import io
from isogloss.em import FullExpectation, SparseExpectation, run_em
from isogloss.engine import Batches, Files, LocalEngine, Rows
from isogloss.exceptions import DecreaseError
from isogloss.mixture import SHAPES, EMVariants, GaussianMixture
from isogloss.mixture import _steps as mixture_steps
from tests.oracles import mixture as twin

TYPES = ["full", "tied", "diag", "spherical"]
ALGORITHMS = ["em", "sparse", "generalised", "incremental"]


def blobs(rng, n=600, d=3, k=3, spread=3.0):
    centres = rng.normal(scale=spread, size=(k, d))
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


def identity_start(x, k, covariance_type):
    d = x.shape[1]
    covariances = {
        "full": np.tile(np.eye(d), (k, 1, 1)),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }[covariance_type]
    return {"weights_init": np.full(k, 1 / k), "means_init": x[:k].copy(), "covariances_init": covariances}


@pytest.mark.parametrize("covariance_type", TYPES)
def test_reaches_the_peers_likelihood_from_the_same_start(rng, covariance_type):
    x = blobs(rng)
    start = identity_start(x, 3, covariance_type)
    ours = GaussianMixture(3, covariance_type=covariance_type, tol=1e-12, max_iter=3000, **start).fit(x)
    peer_start = start | {"precisions_init": start["covariances_init"]}
    del peer_start["covariances_init"]
    peer = Peer(3, covariance_type=covariance_type, tol=1e-12, max_iter=3000, reg_covar=1e-9, **peer_start)
    peer.fit(x)
    assert ours.score(x) == pytest.approx(peer.score(x), rel=1e-6)


def test_one_step_is_the_textbooks(rng):
    x = blobs(rng)
    start = identity_start(x, 3, "full")
    with pytest.warns(ConvergenceWarning):
        ours = GaussianMixture(3, tol=0, max_iter=1, **start).fit(x)
    weights, means, covariances, likelihood = twin.em_step(x, *start.values())
    np.testing.assert_allclose(ours.weights_, weights, rtol=1e-10)
    np.testing.assert_allclose(ours.means_, means, rtol=1e-9)
    np.testing.assert_allclose(ours.covariances_, covariances, rtol=1e-8)
    assert ours.trace_[0].bound == pytest.approx(likelihood, rel=1e-12)


@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize(
    ("algorithm", "accelerate"),
    [(name, False) for name in ALGORITHMS] + [("em", True), ("generalised", True)],
)
def test_variants_reach_the_same_bound_and_never_fall(rng, covariance_type, algorithm, accelerate):
    x = blobs(rng, spread=8.0)
    common = {
        "covariance_type": covariance_type,
        "tol": 1e-10,
        "max_iter": 5000,
        "batch_rows": 150,
        "random_state": 0,
    }
    plain = GaussianMixture(3, **common).fit(x)
    variant = {"algorithm": algorithm, "accelerate": accelerate, "variants": EMVariants(refresh=4)}
    other = GaussianMixture(3, **variant, **common).fit(x)
    bounds = np.array([line.bound for line in other.trace_])
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds).max()
    assert other.lower_bound_ == pytest.approx(plain.lower_bound_, rel=1e-5)
    energy = other.free_energy(x)
    assert energy.kl == pytest.approx(0.0, abs=1e-8 * abs(energy.log_likelihood))


@given(seed=st.integers(0, 10_000), covariance_type=st.sampled_from(TYPES), k=st.integers(1, 4))
def test_bound_never_falls_and_equals_the_likelihood(seed, covariance_type, k):
    x = np.random.default_rng(seed).standard_t(3, size=(40, 2))
    seen = []

    def identities(line, parameters):
        joint = mixture_steps.log_joint(SHAPES[covariance_type], x, parameters)
        exact = np.logaddexp.reduce(joint, axis=1).sum()
        seen.append((line.bound, exact, line.free_energy.kl))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture = GaussianMixture(
            k, covariance_type=covariance_type, random_state=seed, max_iter=30, tol=1e-9
        )
        mixture.fit(x, callbacks=[identities])
    bounds, exact, kl = map(np.array, zip(*seen, strict=True))
    assert np.diff(bounds).min(initial=0.0) >= -1e-9 * abs(bounds).max()
    np.testing.assert_allclose(bounds, exact, rtol=1e-9, atol=1e-9)
    assert abs(kl).max() <= 1e-8 * max(1.0, abs(bounds).max())


def test_a_wrong_m_step_turns_the_check_red(rng):
    x = blobs(rng)
    mixture = GaussianMixture(3, random_state=0).fit(x)
    model = mixture._model()
    faulty = dataclasses.replace(
        model, solve=lambda s, p: dataclasses.replace(model.solve(s, p), means=p.means + 0.5)
    )
    with pytest.raises(DecreaseError):
        run_em(faulty, FullExpectation(faulty, Rows(x), LocalEngine()), mixture.parameters_)


def test_sparse_switches_on_only_where_it_pays(rng):
    options = {"algorithm": "sparse", "random_state": 0, "tol": 1e-6, "max_iter": 50}
    apart = GaussianMixture(8, **options).fit(blobs(rng, n=2000, k=8, spread=30.0))
    assert "sparse" in {line.kind for line in apart.trace_}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixed = GaussianMixture(8, **options).fit(rng.normal(size=(2000, 3)))
    assert {line.kind for line in mixed.trace_} == {"full"}


@pytest.mark.parametrize("covariance_type", TYPES)
def test_components_far_apart_keep_their_digits(rng, covariance_type):
    """At ten million standard deviations the quadratic form has no digits left; the other takes over."""
    near, far = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 1e7
    mixture = GaussianMixture(2, covariance_type=covariance_type, covariance_floor=1e-20, random_state=0).fit(
        np.concatenate([near, far])
    )
    first = np.argsort(mixture.means_[:, 0])[0]
    np.testing.assert_allclose(mixture.means_[first], near.mean(axis=0), atol=1e-9)
    matrices = [np.cov(part.T, bias=True) for part in (near, far)]
    expected = {
        "full": matrices[0],
        "tied": (matrices[0] + matrices[1]) / 2,
        "diag": np.diag(np.diag(matrices[0])),
        "spherical": np.trace(matrices[0]) / 2 * np.eye(2),
    }[covariance_type]
    fitted = SHAPES[covariance_type].expand(mixture.covariances_, 2, 2)[first]
    np.testing.assert_allclose(fitted, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_sparse_bound_is_a_bound(rng, covariance_type):
    """Between two refreshes the bound stays below the likelihood, and climbs."""
    centres = rng.normal(scale=2.5, size=(8, 3))
    x = centres[rng.integers(8, size=1500)] + rng.normal(size=(1500, 3))
    seen = []

    def look(line, parameters):
        joint = mixture_steps.log_joint(SHAPES[covariance_type], x, parameters)
        seen.append((line.kind, line.bound, np.logaddexp.reduce(joint, axis=1).sum()))

    mixture = GaussianMixture(8, covariance_type=covariance_type, algorithm="sparse", random_state=0)
    model = mixture.fit(x)._model()
    eager = dataclasses.replace(model, sparse=dataclasses.replace(model.sparse, worthwhile=1.0))
    expectation = SparseExpectation(eager, Rows(x, batch_rows=400), LocalEngine(), refresh=6, threshold=0.02)
    start = mixture_steps.MixtureParameters(
        np.full(8, 1 / 8),
        x[:8],
        mixture.covariances_,
        x.mean(axis=0),
        x[:8],
    )
    run_em(eager, expectation, start, tol=1e-7, max_iter=60, callbacks=[look])
    kinds, bounds, exact = zip(*seen, strict=True)
    assert kinds.count("sparse") > 10
    gaps = np.array(exact) - np.array(bounds)
    assert gaps.min() >= -1e-9 * abs(exact[0])
    assert max(gap for gap, kind in zip(gaps, kinds, strict=True) if kind == "sparse") > 1e-6
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0])


def test_both_forms_agree(rng, monkeypatch):
    x = blobs(rng)
    for covariance_type in TYPES:
        mixture = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(x)
        shape = SHAPES[covariance_type]
        one = mixture_steps.expect(shape, x, mixture.parameters_, threshold=1e-4)
        monkeypatch.setattr(mixture_steps, "_CANCELLATION", 0.0)
        two = mixture_steps.expect(shape, x, mixture.parameters_, threshold=1e-4)
        monkeypatch.undo()
        for name in ("weight", "first", "second"):
            np.testing.assert_allclose(one[name], two[name], rtol=1e-8, atol=1e-8)
        assert one.log_likelihood == pytest.approx(two.log_likelihood, rel=1e-9)
        assert one.entropy == pytest.approx(two.entropy, rel=1e-8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_weight_of_two_is_the_row_twice(rng, algorithm):
    x = blobs(rng, n=200)
    weights = rng.integers(1, 4, size=200).astype(float)
    options = {"algorithm": algorithm, "tol": 1e-9, "max_iter": 2000} | identity_start(x, 3, "full")
    weighted = GaussianMixture(3, **options).fit(x, sample_weight=weights)
    repeated = GaussianMixture(3, **options).fit(np.repeat(x, weights.astype(int), axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-4, atol=1e-5)
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-7)


def test_any_batches_and_threads_give_the_same_fit(rng):
    x = blobs(rng)
    options = identity_start(x, 3, "full")
    whole = GaussianMixture(3, **options).fit(x)
    for split in (7, 100, 599):
        batched = GaussianMixture(3, batch_rows=split, n_jobs=2, **options).fit(x)
        np.testing.assert_allclose(batched.means_, whole.means_, rtol=1e-9)
    one = GaussianMixture(3, batch_rows=50, n_jobs=1, **options).fit(x)
    two = GaussianMixture(3, batch_rows=50, n_jobs=2, **options).fit(x)
    np.testing.assert_array_equal(one.means_, two.means_)


def test_float32_rows_and_double_sums(rng):
    x = (blobs(rng) + 1000.0).astype(np.float32)
    options = identity_start(x.astype(float), 3, "diag") | {"covariance_type": "diag"}
    single, double = GaussianMixture(3, **options).fit(x), GaussianMixture(3, **options).fit(x.astype(float))
    np.testing.assert_allclose(single.means_, double.means_, rtol=1e-7)


def test_files_as_a_source(rng, tmp_path):
    x = blobs(rng)
    paths = []
    for part, rows in enumerate(np.array_split(x, 4)):
        paths.append(tmp_path / f"{part}.npy")
        np.save(paths[-1], rows)
    options = identity_start(x, 3, "full")
    from_files = GaussianMixture(3, **options).fit(Files(paths, np.load))
    np.testing.assert_allclose(from_files.means_, GaussianMixture(3, **options).fit(x).means_, rtol=1e-9)


def test_partial_fit_learns_from_a_stream(rng):
    x = blobs(rng, n=4000, spread=5.0)
    mixture = GaussianMixture(3, random_state=0)
    for rows in np.array_split(x, 40):
        mixture.partial_fit(rows)
    whole = GaussianMixture(3, random_state=0).fit(x)
    assert mixture.score(x) > whole.score(x) - 0.02
    assert mixture.n_batches_ == 40


def test_partial_fit_continues_from_fit(rng):
    x = blobs(rng, n=1000)
    mixture = GaussianMixture(3, random_state=0).fit(x)
    before = mixture.score(x)
    mixture.partial_fit(x)
    assert mixture.score(x) >= before - 1e-3


def test_recovers_a_planted_mixture(rng):
    weights, means = np.array([0.5, 0.3, 0.2]), np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    covariances = np.array([[[1.0, 0.5], [0.5, 1.0]], [[2.0, 0.0], [0.0, 0.5]], [[1.0, -0.3], [-0.3, 1.0]]])
    labels = rng.choice(3, p=weights, size=20_000)
    noise = np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[labels], rng.normal(size=(20_000, 2)))
    mixture = GaussianMixture(3, n_init=3, tol=1e-6, random_state=0).fit(means[labels] + noise)
    order = [int(np.argmin(((mixture.means_ - m) ** 2).sum(axis=1))) for m in means]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(mixture.weights_[order], weights, atol=0.02)
    np.testing.assert_allclose(mixture.means_[order], means, atol=0.06)
    np.testing.assert_allclose(mixture.covariances_[order], covariances, atol=0.12)


def test_sample_has_the_moments_of_the_mixture(rng):
    mixture = GaussianMixture(3, random_state=1).fit(blobs(rng))
    rows, labels = mixture.sample(50_000)
    np.testing.assert_allclose(np.bincount(labels) / 50_000, mixture.weights_, atol=0.01)
    np.testing.assert_allclose(rows.mean(axis=0), mixture.weights_ @ mixture.means_, atol=0.1)


def test_bic_finds_the_number_of_components(rng):
    x = blobs(rng, n=1500, k=3, spread=8.0)
    bic = [GaussianMixture(k, random_state=0, n_init=2, max_iter=500).fit(x).bic(x) for k in (1, 2, 3, 4, 5)]
    assert int(np.argmin(bic)) == 2
    peer = Peer(3, random_state=0).fit(x)
    ours = GaussianMixture(3, random_state=0).fit(x)
    assert ours._n_parameters() == peer._n_parameters()


def test_warm_start(rng):
    x = blobs(rng)
    mixture = GaussianMixture(3, warm_start=True, max_iter=2, tol=0.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = mixture.fit(x).lower_bound_
        assert mixture.fit(x).lower_bound_ > first


class TestBadInput:
    def test_more_components_than_rows(self):
        with pytest.raises(ValueError, match=r"n_components=5.*n_samples = 3"):
            GaussianMixture(5).fit(np.ones((3, 2)))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_not_finite(self, rng, value):
        x = blobs(rng)
        x[3, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            GaussianMixture(2).fit(x)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            GaussianMixture(2).fit(Batches([x]))

    def test_empty(self):
        with pytest.raises(ValueError, match="0 sample"):
            GaussianMixture(1).fit(np.empty((0, 2)))
        with pytest.raises(ValueError, match="no batches"):
            GaussianMixture(1).fit(Batches([]))

    def test_one_row_and_constant_columns_are_points(self):
        one = GaussianMixture(1).fit([[1.0, 2.0]])
        np.testing.assert_allclose(one.means_, [[1.0, 2.0]])
        np.testing.assert_allclose(one.covariances_[0], 1e-6 * np.eye(2))
        flat = GaussianMixture(1).fit(np.column_stack([np.arange(50.0), np.full(50, 7.0)]))
        assert flat.means_[0, 1] == pytest.approx(7.0)
        assert flat.covariances_[0, 1, 1] == pytest.approx(flat.floor_)

    def test_words(self):
        with pytest.raises(ValueError, match=r"could not convert|dtype"):
            GaussianMixture(1).fit([["a", "b"], ["c", "d"]])

    def test_ragged_batches(self):
        with pytest.raises(ValueError, match="2 and 3 features"):
            GaussianMixture(1).fit(Batches([np.zeros((4, 2)), np.zeros((4, 3))]))

    def test_wrong_number_of_features_later(self, rng):
        mixture = GaussianMixture(2).fit(blobs(rng))
        with pytest.raises(ValueError, match="expecting 3 features"):
            mixture.predict(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="features"):
            mixture.partial_fit(np.zeros((2, 2)))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("covariance_type", "round"),
            ("algorithm", "fast"),
            ("init_params", "guess"),
            ("missing", "ignore"),
            ("n_components", 0),
            ("n_init", 0),
            ("max_iter", -1),
            ("batch_rows", 0),
            ("covariance_floor", 0.0),
            ("variants", EMVariants(refresh=0)),
            ("variants", EMVariants(active_threshold=1.0)),
            ("variants", EMVariants(step=0.0)),
            ("variants", EMVariants(decay=0.4)),
            ("on_decrease", "hide"),
        ],
    )
    def test_parameters(self, rng, name, value):
        with pytest.raises(ValueError, match="EMVariants must be" if name == "variants" else f"'{name}'"):
            GaussianMixture(2).set_params(**{name: value}).fit(blobs(rng))

    def test_settings_of_variants_by_their_old_names(self):
        with pytest.warns(FutureWarning, match=r"use variants=EMVariants\(step=\.\.\.\)") as caught:
            mixture = GaussianMixture(2, step=0.25, tol=0.1)
        assert caught[0].filename == __file__
        assert mixture.get_params()["variants"] == EMVariants(step=0.25)
        with pytest.warns(FutureWarning, match="decay"):
            mixture.set_params(decay=0.9, tol=0.2)
        assert (mixture.variants, mixture.tol) == (EMVariants(step=0.25, decay=0.9), 0.2)
        assert mixture.set_params(tol=0.3).variants == EMVariants(step=0.25, decay=0.9)
        assert clone(mixture).variants == mixture.variants

    def test_files_with_the_old_names_open_without_a_warning(self, rng, tmp_path, monkeypatch):
        mixture = GaussianMixture(2, random_state=0).fit(blobs(rng))
        flat = {**mixture.get_params(), "refresh": 10, "step": 0.25}
        del flat["variants"]
        with monkeypatch.context() as patch:
            patch.setattr(GaussianMixture, "get_params", lambda self, deep=True: flat)
            io.save(mixture, tmp_path / "old.isogloss")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = io.load(tmp_path / "old.isogloss", expected=GaussianMixture)
        assert loaded.variants == EMVariants(step=0.25)
        np.testing.assert_array_equal(loaded.means_, mixture.means_)

    @pytest.mark.parametrize("algorithm", ["sparse", "incremental"])
    def test_acceleration_needs_full_steps(self, rng, algorithm):
        with pytest.raises(ValueError, match="accelerate"):
            GaussianMixture(2, algorithm=algorithm, accelerate=True).fit(blobs(rng))

    def test_starts(self, rng):
        x = blobs(rng)
        with pytest.raises(ValueError, match="means_init"):
            GaussianMixture(2, means_init=np.zeros((3, 3))).fit(x)
        with pytest.raises(ValueError, match="weights_init"):
            GaussianMixture(2, weights_init=[0.9, 0.9]).fit(x)

    def test_weights(self, rng):
        x = blobs(rng)
        with pytest.raises(ValueError, match="zero"):
            GaussianMixture(2).fit(x, sample_weight=np.zeros(len(x)))
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            GaussianMixture(2).fit(x, sample_weight=-np.ones(len(x)))
        with pytest.raises(ValueError, match="carries its own weights"):
            GaussianMixture(2).fit(Batches([x]), sample_weight=np.ones(len(x)))

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            GaussianMixture(2).predict([[0.0]])

    def test_identical_rows(self):
        mixture = GaussianMixture(2, random_state=0).fit(np.ones((10, 2)))
        assert np.isfinite(mixture.score(np.ones((1, 2))))


@pytest.mark.dask
class TestDask:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_agrees_with_local(self, rng, dask_client, algorithm):
        from isogloss.engine.dask import DaskEngine

        x = blobs(rng, spread=6.0)
        options = identity_start(x, 3, "full") | {"algorithm": algorithm, "batch_rows": 150, "tol": 1e-6}
        local = GaussianMixture(3, **options).fit(x)
        dask = GaussianMixture(3, engine=DaskEngine(dask_client), **options).fit(x)
        np.testing.assert_allclose(dask.means_, local.means_, rtol=1e-10)
        assert dask.lower_bound_ == pytest.approx(local.lower_bound_, rel=1e-10)

    @pytest.mark.parametrize("algorithm", [pytest.param("em", marks=pytest.mark.slow), "sparse"])
    def test_a_worker_killed_in_the_middle_changes_nothing(self, rng, dask_client, algorithm):
        from isogloss.engine.dask import DaskEngine

        x = blobs(rng, n=1000, spread=6.0)
        options = identity_start(x, 3, "full") | {
            "algorithm": algorithm,
            "batch_rows": 100,
            "tol": 1e-6,
            "max_iter": 200,
        }
        killed = []

        def kill_once(line, _parameters):
            if line.index == 2 and not killed:
                killed.extend(list(dask_client.run(os.getpid).values())[:1])
                os.kill(killed[0], 9)

        local = GaussianMixture(3, **options).fit(x)
        dask = GaussianMixture(3, engine=DaskEngine(dask_client), **options).fit(x, callbacks=[kill_once])
        assert killed
        np.testing.assert_allclose(dask.means_, local.means_, rtol=1e-10)
        np.testing.assert_allclose(dask.covariances_, local.covariances_, rtol=1e-9, atol=1e-12)
