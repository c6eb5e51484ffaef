"""The certificate that comes with every SUMCOR fit: from moments, from rows, from kernels."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from isogloss import io
from isogloss.multiview import KernelSumCor, RandomProjection, SumCor, certify
from isogloss.multiview import _coordinates as coordinates
from isogloss.multiview import _kernel as kernel
from isogloss.multiview._coordinates import (
    MomentCoordinates,
    OperatorCoordinates,
    RowCoordinates,
    row_coordinates,
)
from isogloss.multiview.solvers import InverseRoot, RowProducts, relaxed_components, whitened_problem
from isogloss.stats import ViewMoments
from isogloss.views import Views
from tests.multiview.data import latent_views, sparse_views, with_missing


def small_views(rng, n_views=4, rows=60):
    shared = rng.normal(size=(rows, 1))
    return Views([shared @ rng.normal(size=(1, 3)) + rng.normal(size=(rows, 3)) for _ in range(n_views)])


def wide_views(rng, rows=40, dims=(90, 60, 70)):
    """More features than rows; sparse, of variances about one in all."""
    shared = rng.normal(size=(rows, 3))
    views = [shared @ rng.normal(size=(3, p)) + rng.normal(size=(rows, p)) for p in dims]
    return Views([sparse.csr_array(x * (rng.random(x.shape) < 0.3) / np.sqrt(x.shape[1])) for x in views])


def signs_at_odds():
    """Views of one feature, where the best guess leads to a local optimum."""
    return Views([x[:, None] for x in np.random.default_rng(37).normal(size=(12, 9)).T])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_its_value_is_the_objective_and_its_bound_is_above_every_start(rng, ridge):
    model = SumCor(1, n_init=30, ridge=ridge, random_state=0).fit(small_views(rng))
    certificate = model.certificate_
    assert certificate.correlations(certificate.value) == pytest.approx(model.objective_, rel=1e-8)
    assert certificate.correlations(certificate.bound) >= model.start_objectives_.max() - 1e-9
    assert certificate.globally_optimal


def test_a_poor_solution_is_not_called_optimal(rng):
    model = SumCor(1, random_state=0).fit(small_views(rng))
    model.weights_ = [rng.normal(size=w.shape) for w in model.weights_]
    certificate = model.certificate_
    assert not certificate.globally_optimal
    assert certificate.gap > 0.01


def test_several_components_by_horst_certify_the_first(rng):
    views = small_views(rng)
    first = SumCor(1, algorithm="horst", n_init=10, random_state=0).fit(views)
    both = SumCor(2, algorithm="horst", n_init=10, random_state=0).fit(views)
    np.testing.assert_allclose(both.certificate_.bound, first.certificate_.bound, rtol=1e-9)
    assert both.certificate_.globally_optimal


def test_regularised_correlations_above_one_switch_off_what_rests_on_correlations(rng):
    """With a ridge of 0.9 and large variances x'Ax passes m^2, so nothing that says otherwise is reported."""
    x = 10 * rng.normal(size=(50, 2))
    certificate = SumCor(1, ridge=0.9, random_state=0).fit([x, x + 0.1, 2 * x]).certificate_
    assert certificate.value > 9
    assert certificate.globally_optimal
    assert certificate.trivial_bounds is None
    assert certificate.two_over_pi_bound is None
    assert "not applicable" in str(certificate)


class TestCoordinates:
    """Three ways to the same problem."""

    def places(self, views, ridge):
        products = RowProducts(views, ridge)
        yield MomentCoordinates(ViewMoments(views.dims).update(views), ridge, shrink=False)
        yield RowCoordinates(products)
        yield OperatorCoordinates(products)

    @pytest.mark.parametrize("missing", [False, True])
    def test_all_give_the_same_bound_and_the_objective(self, rng, missing):
        ridge, views = (0.1, 0.3, 0.2), list(wide_views(rng))
        views = with_missing(rng, [x.toarray() for x in views], 0.2) if missing else Views(views)
        model = SumCor(1, ridge=ridge, solver="operator", tol=1e-9, random_state=0).fit(views)
        bounds = []
        for place in self.places(views, ridge):
            x = place.point(model.weights_)
            assert np.linalg.norm(x) == pytest.approx(np.sqrt(3), rel=1e-9)
            limit = 0 if callable(place.A) else 10**4
            certificate = certify(place.A, place.sizes, x[:, 0], dense_limit=limit, random_state=0)
            assert certificate.correlations(certificate.value) == pytest.approx(model.objective_, rel=1e-9)
            assert certificate.gap < 1e-6
            bounds.append(certificate.bound)
        np.testing.assert_allclose(bounds, bounds[0], rtol=1e-7)

    def test_weights_and_points_are_inverse_to_each_other(self, rng):
        views = wide_views(rng)
        for place in self.places(views, 0.2):
            X = place.point(place.weights(rng.normal(size=(sum(place.sizes), 2))))
            again = place.point(place.weights(X))
            np.testing.assert_allclose(again, X, atol=1e-8)

    def test_without_a_ridge_and_with_nothing_but_one(self, rng):
        views = Views(latent_views(rng, 60, (8, 9, 10)))
        for ridge in (0.0, 1.0):
            model = SumCor(1, ridge=ridge, random_state=0).fit(views)
            place = RowCoordinates(RowProducts(views, ridge))
            given = certify(place.A, place.sizes, place.point(model.weights_)[:, 0])
            assert given.bound == pytest.approx(model.certificate_.bound, rel=1e-8)
            assert given.globally_optimal

    def test_the_operator_says_whether_correlations_are_below_one(self, rng):
        views = wide_views(rng)
        largest = max(np.linalg.eigvalsh(np.cov(x.toarray().T))[-1] for x in views)
        for factor, expected in ((0.9, True), (3.0, False)):
            scaled = Views([x * (factor / np.sqrt(largest)) for x in views])
            place = OperatorCoordinates(RowProducts(scaled, 0.5))
            assert place.whitened is expected
            if expected:
                A = place.A(np.eye(sum(place.sizes)))
                assert np.linalg.eigvalsh(0.5 * (A + A.T))[0] > -1e-9

    @pytest.mark.parametrize("ridge", [0.5, 0.01, 1.0])
    def test_the_inverse_root(self, rng, ridge):
        x = wide_views(rng).arrays[0]
        root = InverseRoot(RowProducts(Views([x, x]), ridge), 0)
        W = root(np.eye(x.shape[1]))
        R = (1 - ridge) * np.cov(x.toarray().T) + ridge * np.eye(x.shape[1])
        np.testing.assert_allclose(W @ R @ W, np.eye(len(R)), atol=1e-8)
        np.testing.assert_allclose(W, W.T, atol=1e-10)

    def test_size_decides(self, rng, monkeypatch):
        wide, tall = RowProducts(wide_views(rng), 0.1), RowProducts(Views(latent_views(rng)), 0.1)
        assert isinstance(row_coordinates(wide), RowCoordinates)
        assert isinstance(row_coordinates(tall), MomentCoordinates)
        monkeypatch.setattr(coordinates, "DENSE_LIMIT", 10)
        assert isinstance(row_coordinates(wide), OperatorCoordinates)
        with pytest.raises(ValueError, match=r"220 features and 40 rows.*need ridge > 0"):
            row_coordinates(RowProducts(wide_views(rng), 0.0))


class TestOperator:
    """Wide sparse views, of which no covariance is formed."""

    def test_few_rows_give_a_proof(self, rng):
        views = wide_views(rng)
        model = SumCor(1, ridge=0.2, solver="operator", random_state=0).fit(views)
        certificate = model.certificate_
        assert certificate.kind == "proven"
        assert sum(certificate.blocks) < 3 * len(views)
        moments = SumCor(1, ridge=0.2, solver="moments", random_state=0).fit(views).certificate_
        assert certificate.bound == pytest.approx(moments.bound, rel=1e-8)

    def test_many_directions_give_a_numerical_bound_that_says_so(self, rng, monkeypatch):
        views = Views(sparse_views(rng, n=150, p=200))
        model = SumCor(1, ridge=0.2, solver="operator", algorithm="horst", random_state=0).fit(views)
        proven = model.certificate_
        monkeypatch.setattr(coordinates, "DENSE_LIMIT", 100)
        place = row_coordinates(RowProducts(views, 0.2))
        x = place.point([W[:, :1] for W in model.weights_])[:, 0]
        numerical = certify(place.A, place.sizes, x, dense_limit=100, random_state=0)
        assert numerical.kind == "numerical"
        assert "numerical bound" in str(numerical)
        assert not numerical.globally_optimal
        assert numerical.bound == pytest.approx(proven.bound, rel=1e-6)

    def test_the_rows_go_when_the_model_does_and_can_be_given_again(self, rng, tmp_path):
        views = wide_views(rng)
        model = SumCor(1, ridge=0.2, solver="operator", random_state=0).fit(views)
        io.save(model, tmp_path / "model")
        for again in (pickle.loads(pickle.dumps(model)), copy.copy(model), io.load(tmp_path / "model")):
            with pytest.raises(AttributeError, match=r"use certify\(views\)"):
                again.certificate_  # noqa: B018
            assert again.certify(views).bound == model.certificate_.bound
        model.set_params(solver="moments").fit(views)
        assert model._fitted_views is None
        assert model.certificate_.kind == "proven"

    def test_other_rows_have_another_optimum(self, rng):
        views = Views(latent_views(rng, 200))
        model = SumCor(1, random_state=0).fit(views[:100])
        assert model.certify(views[:100]).globally_optimal
        held_out = model.certify(views[100:])
        assert held_out.gap > 1e-4
        assert held_out.bound >= held_out.value
        with pytest.raises(ValueError, match="features"):
            model.certify(views.arrays[:2])

    def test_needs_a_fit(self):
        for model in (SumCor(), KernelSumCor()):
            with pytest.raises(NotFittedError):
                model.certificate_  # noqa: B018
            with pytest.raises(NotFittedError):
                model.certify([np.eye(3), np.eye(3)])


class TestKernels:
    """The dual problem has a certificate of its own."""

    @pytest.mark.parametrize("regularisation", ["exact", "approximate"])
    @pytest.mark.parametrize("kind", ["linear", "rbf"])
    def test_its_value_is_the_objective(self, rng, kind, regularisation):
        views = latent_views(rng, 50)
        model = KernelSumCor(1, kernel=kind, regularisation=regularisation, tol=1e-10, random_state=0).fit(
            views
        )
        certificate = model.certificate_
        assert certificate.correlations(certificate.value) == pytest.approx(model.objective_, rel=1e-7)
        assert certificate.globally_optimal
        assert certificate.blocks == model.ranks_

    @pytest.mark.parametrize("low_rank", ["cholesky", "nystrom"])
    def test_low_rank_kernels_are_judged_from_their_landmarks(self, rng, low_rank):
        views = latent_views(rng, 80)
        model = KernelSumCor(1, kernel="rbf", low_rank=low_rank, rank=25, tol=1e-10, random_state=None).fit(
            views
        )
        certificate = model.certificate_
        assert max(certificate.blocks) <= 25
        assert certificate.correlations(certificate.value) == pytest.approx(model.objective_, rel=1e-7)
        assert certificate.globally_optimal

    def test_a_linear_kernel_has_the_certificate_of_the_primal(self, rng, tmp_path):
        views = wide_views(rng)
        settings = {"ridge": 0.2, "random_state": 0, "solver": "operator"}
        primal = SumCor(1, **settings).fit(views)
        dual = KernelSumCor(1, kernel="linear", regularisation="exact", **settings).fit(views)
        assert dual.certificate_.bound == pytest.approx(primal.certificate_.bound, rel=1e-9)
        io.save(dual, tmp_path / "model")
        assert io.load(tmp_path / "model").certify(views).bound == dual.certificate_.bound

    def test_too_many_rows_for_an_operator(self, rng, monkeypatch):
        views = wide_views(rng)
        model = KernelSumCor(1, kernel="linear", solver="operator", random_state=0).fit(views)
        monkeypatch.setattr(kernel, "DENSE_LIMIT", 100)
        with pytest.raises(ValueError, match=r"40 rows have up to 120 directions.*certify\(views\[:n\]\)"):
            model.certificate_  # noqa: B018


class TestSDPStart:
    """The rounded relaxation as one more start."""

    @pytest.mark.parametrize("algorithm", ["block", "horst"])
    def test_it_reaches_the_global_optimum_where_one_start_does_not(self, algorithm):
        settings = {"n_init": 1, "algorithm": algorithm, "random_state": 0}
        plain = SumCor(1, **settings).fit(signs_at_odds())
        model = SumCor(1, sdp_start=True, **settings).fit(signs_at_odds())
        best = SumCor(1, **settings | {"n_init": 500}).fit(signs_at_odds()).objective_
        assert plain.objective_ < best - 1e-3
        assert model.objective_ == pytest.approx(best, rel=1e-9)
        assert model.start_objectives_.shape == (1, 2)
        assert model.sdp_gain_ == pytest.approx(best - plain.objective_, rel=1e-6)
        assert model.certificate_.start_gain == model.sdp_gain_
        assert model.certificate_.globally_optimal
        assert not plain.certificate_.globally_optimal
        assert f"higher than the others by {model.sdp_gain_:.6f}" in str(model.certificate_)
        assert plain.sdp_gain_ is None
        assert "no start from the rounded SDP solution" in str(plain.certificate_)

    def test_where_all_starts_agree_it_gains_nothing(self, rng):
        certificate = SumCor(1, sdp_start=True, random_state=0).fit(small_views(rng)).certificate_
        assert certificate.start_gain == 0.0
        assert "ended no higher than the others" in str(certificate)

    def test_relaxed_components_are_orthogonal_and_the_best_of_what_is_left(self, rng):
        views = small_views(rng)
        problem = whitened_problem(ViewMoments(views.dims).update(views))
        X = relaxed_components(problem.A, problem.sizes, 2, np.random.RandomState(0))
        for part in problem.slices:
            np.testing.assert_allclose(X[part].T @ X[part], np.eye(2), atol=1e-8)
        for k in range(2):
            previous = X[:, :k] if k else None
            assert certify(problem.A, problem.sizes, X[:, k], previous=previous).gap < 1e-6
        given = relaxed_components(problem.A, problem.sizes, 1, np.random.RandomState(0), found=X[:, :1])
        assert abs(given[:, 0] @ X[:, 1]) == pytest.approx(4, rel=1e-6)

    @pytest.mark.parametrize("algorithm", ["block", "horst"])
    def test_several_components(self, rng, algorithm):
        views = small_views(rng)
        settings = {"algorithm": algorithm, "tol": 1e-12, "random_state": 0}
        many = SumCor(3, n_init=40, **settings).fit(views)
        model = SumCor(3, n_init=1, sdp_start=True, **settings).fit(views)
        assert model.objective_ > (1 - 1e-3) * many.objective_
        assert model.start_objectives_.shape == ((3, 2) if algorithm == "horst" else (1, 2))
        if algorithm == "horst":
            assert model.objectives_[0] == pytest.approx(many.objectives_[0], rel=1e-9)
        for W, x in zip(model.weights_, views, strict=True):
            np.testing.assert_allclose(W.T @ np.cov(x.T) @ W, np.eye(3), atol=1e-9)

    @pytest.mark.parametrize("algorithm", ["block", "horst"])
    def test_operators_have_it_too(self, rng, algorithm):
        views = wide_views(rng)
        settings = {"ridge": 0.1, "algorithm": algorithm, "tol": 1e-10, "sdp_start": True, "random_state": 0}
        rows = SumCor(2, solver="operator", **settings).fit(views)
        moments = SumCor(2, solver="moments", n_init=1, **settings).fit(views)
        assert rows.start_objectives_.shape == moments.start_objectives_.shape
        np.testing.assert_allclose(rows.objectives_, moments.objectives_, rtol=1e-6)
        R = 0.9 * np.cov(views.arrays[0].toarray().T) + 0.1 * np.eye(90)
        np.testing.assert_allclose(rows.weights_[0].T @ R @ rows.weights_[0], np.eye(2), atol=1e-8)

    def test_kernels_have_it_too_when_taken_apart(self, rng):
        views = latent_views(rng, 40)
        model = KernelSumCor(1, sdp_start=True, n_init=2, random_state=0).fit(views)
        assert model.start_objectives_.shape == (1, 3)
        assert model.certificate_.start_gain == model.sdp_gain_ == 0.0
        with pytest.raises(ValueError, match="solver='eigen'"):
            KernelSumCor(1, kernel="linear", solver="operator", sdp_start=True).fit(views)

    def test_not_for_views_beyond_a_factorisation(self, rng, monkeypatch):
        monkeypatch.setattr(coordinates, "DENSE_LIMIT", 10)
        with pytest.raises(ValueError, match="give sdp_start=False"):
            SumCor(1, ridge=0.1, solver="operator", sdp_start=True).fit(wide_views(rng))


def test_random_projections_of_sparse_views_are_certified(rng):
    """Section 5.4: what is too wide for a proof is projected, solved and certified there."""
    views = Views(sparse_views(rng, n=400, p=1500))
    reduction = RandomProjection(5, ridge=0.5, random_state=0).fit(views)
    reduced = reduction.transform(views)
    model = SumCor(1, ridge=0.01, random_state=0).fit(reduced)
    certificate = model.certificate_
    assert certificate.blocks == (15, 15, 15)
    assert certificate.globally_optimal
    assert certificate.correlations(certificate.value) == pytest.approx(model.objective_, rel=1e-8)
    lifted = reduction.lift(model.weights_)
    for x, W, z in zip(views, lifted, model.transform(reduced), strict=True):
        variate = x @ W
        np.testing.assert_allclose(variate - variate.mean(axis=0), z, atol=1e-8)
