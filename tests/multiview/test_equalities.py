"""What must be equal: models on two views, solvers, batches, and views seen through invertible maps."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.cross_decomposition import PLSSVD

from isogloss.engine import Batches, LocalEngine
from isogloss.multiview import CCA, GenVar, MaxVar, MinVar, SparseCCA, SSCor, SumCor
from isogloss.multiview._sumcor import SUM
from isogloss.multiview.solvers import RowProducts, Variates, ascend, shared_start, variates_of
from isogloss.views import Views
from tests.multiview.data import latent_views, same_up_to_sign, with_missing

TWO = [
    pytest.param(SumCor(3, tol=1e-20, random_state=0), id="SumCor"),
    pytest.param(SumCor(3, algorithm="horst", tol=1e-20, random_state=0), id="SumCor-horst"),
    pytest.param(SSCor(3, tol=1e-20, random_state=0), id="SSCor"),
    pytest.param(MaxVar(3), id="MaxVar"),
    pytest.param(GenVar(3, tol=1e-20, random_state=0), id="GenVar"),
    pytest.param(MinVar(3), id="MinVar"),
    pytest.param(SparseCCA(3, l1=0, tol=1e-20, max_iter=5000), id="SparseCCA"),
]
ALL = [pytest.param(CCA(3), id="CCA"), *TWO]
ROWS = [
    pytest.param(CCA(3, tol=1e-18, random_state=0), id="CCA"),
    pytest.param(SumCor(3, tol=1e-18, random_state=0), id="SumCor"),
    pytest.param(SumCor(3, algorithm="horst", tol=1e-18, random_state=0), id="SumCor-horst"),
    pytest.param(SSCor(3, tol=1e-18, random_state=0), id="SSCor"),
    pytest.param(MaxVar(3, tol=1e-18, random_state=0), id="MaxVar"),
]


def fit(model, views, **parameters):
    return clone(model).set_params(**parameters).fit(views)


def for_model(model, views):
    return views[:2] if isinstance(model, CCA) else views


def regularised_variances(model, views, ridge):
    """``W_i' ((1 - ridge) C_ii + ridge I) W_i`` of every view, from scratch."""
    out = []
    for x, W in zip(views, model.weights_, strict=True):
        C = np.cov(np.asarray(x), rowvar=False)
        out.append(W.T @ ((1 - ridge) * C + ridge * np.eye(len(C))) @ W)
    return out


@pytest.mark.parametrize("ridge", [0.0, 0.1, (0.3, 0.0)])
@pytest.mark.parametrize("model", TWO)
def test_on_two_views_every_model_is_cca(rng, model, ridge):
    views = latent_views(rng, dims=(8, 6))
    cca, other = CCA(3, ridge=ridge).fit(views), fit(model, views, ridge=ridge)
    np.testing.assert_allclose(other.correlations_[:, 0, 1], cca.correlations_, atol=1e-8)
    assert same_up_to_sign(other.weights_, cca.weights_) < 1e-8


def test_a_ridge_of_one_is_partial_least_squares(rng):
    views = latent_views(rng, dims=(8, 6))
    pls = PLSSVD(n_components=3, scale=False).fit(*views)
    cca = CCA(3, ridge=1.0).fit(views)
    assert same_up_to_sign(cca.weights_, [pls.x_weights_, pls.y_weights_]) < 1e-8


@settings(max_examples=15)
@example(seed=149, p=2, q=4)  # LAPACK found none of the two largest eigenvalues
@given(seed=st.integers(0, 1000), p=st.integers(2, 6), q=st.integers(2, 6))
def test_on_two_random_views_every_model_is_cca(seed, p, q):
    views = latent_views(np.random.default_rng(seed), n=50, dims=(p, q), k=2)
    cca = CCA(2).fit(views)
    for model in (SumCor(2, tol=1e-20), SSCor(2, tol=1e-15), MaxVar(2), GenVar(2, tol=1e-15), MinVar(2)):
        other = model.set_params(random_state=0).fit(views)
        np.testing.assert_allclose(other.correlations_[:, 0, 1], cca.correlations_, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", ROWS)
def test_the_operator_solver_gives_what_moments_give(rng, model, form, ridge):
    views = for_model(model, [form(np.maximum(x, 0)) for x in latent_views(rng)])
    moments = fit(model, views, ridge=ridge, solver="moments")
    rows = fit(model, views, ridge=ridge, solver="operator")
    assert rows.objective_ == pytest.approx(moments.objective_, abs=1e-8)
    np.testing.assert_allclose(rows.correlations_, moments.correlations_, atol=2e-6)
    assert same_up_to_sign(rows.weights_, moments.weights_) < 1e-4
    for a, b in zip(rows.loadings_, moments.loadings_, strict=True):
        np.testing.assert_allclose(np.abs(a), np.abs(b), atol=1e-4)


def test_the_operator_solver_takes_missing_rows(rng):
    views = with_missing(rng, latent_views(rng))
    moments = SumCor(2, tol=1e-14, solver="moments", random_state=0).fit(views)
    rows = SumCor(2, tol=1e-14, solver="operator", random_state=0).fit(views)
    # Impossible covariances are shrunk in one solver and only reported by the other; the weights agree.
    assert moments.shrinkage_ > 0
    assert rows.objective_ * (1 - moments.shrinkage_) == pytest.approx(moments.objective_, abs=1e-8)
    assert same_up_to_sign(rows.weights_, moments.weights_) < 1e-4


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("solver", ["moments", "operator"])
@pytest.mark.parametrize("model", ROWS)
def test_variates_have_unit_regularised_variance_and_are_uncorrelated(rng, model, solver, ridge):
    views = for_model(model, latent_views(rng))
    model = fit(model, views, ridge=ridge, solver=solver)
    for variances in regularised_variances(model, views, ridge):
        np.testing.assert_allclose(np.diag(variances), 1.0, atol=1e-9)
        if not isinstance(model, MaxVar):
            np.testing.assert_allclose(variances, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("solver", ["moments", "operator"])
@pytest.mark.parametrize("model", ROWS)
def test_objectives_fall_and_traces_rise(rng, model, solver):
    model = fit(model, for_model(model, latent_views(rng)), solver=solver)
    assert (np.diff(model.objectives_) <= 0).all()
    for trace in model.objective_trace_:
        assert np.diff(trace).min(initial=0.0) >= -1e-12
    if model.objective_trace_ and not isinstance(model, CCA):
        assert sum(trace[-1] for trace in model.objective_trace_) == pytest.approx(model.objective_, abs=1e-9)


@pytest.mark.parametrize("algorithm", ["block", "horst"])
@pytest.mark.parametrize("solver", ["moments", "operator"])
def test_sumcor_objective_is_the_sum_of_correlations(rng, solver, algorithm):
    views = latent_views(rng)
    model = SumCor(2, solver=solver, algorithm=algorithm, random_state=0).fit(views)
    assert model.objective_ == pytest.approx(model.score(views), abs=1e-9)
    pairs = model.correlations_[:, *np.triu_indices(3, 1)].sum(axis=1)
    np.testing.assert_allclose(model.objectives_, pairs, atol=1e-9)


@pytest.mark.parametrize("solver", ["moments", "operator"])
def test_sscor_objective_is_the_sum_of_squared_correlations(rng, solver):
    model = SSCor(2, solver=solver, random_state=0).fit(latent_views(rng))
    pairs = (model.correlations_[:, *np.triu_indices(3, 1)] ** 2).sum(axis=1)
    np.testing.assert_allclose(model.objectives_, pairs, atol=1e-9)


def test_maxvar_eigenvalues_are_those_of_the_joint_problem(rng):
    views = latent_views(rng)
    model = MaxVar(2).fit(views)
    x = [
        (v - v.mean(axis=0)) @ W * np.sqrt(s)
        for v, W, s in zip(views, model.weights_, model.shares_.T, strict=True)
    ]
    # The first principal component of variates weighed by their shares has the eigenvalue for variance.
    np.testing.assert_allclose(np.var(sum(x), axis=0, ddof=1), model.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.shares_.sum(axis=1), 1.0)


@pytest.mark.parametrize("model", ALL)
def test_nothing_changes_when_views_are_mapped_linearly(rng, model):
    views = for_model(model, latent_views(rng))
    maps = [rng.standard_normal((x.shape[1],) * 2) + 3 * np.eye(x.shape[1]) for x in views]
    moved = [x @ M + 5.0 for x, M in zip(views, maps, strict=True)]
    before, after = fit(model, views), fit(model, moved)
    np.testing.assert_allclose(after.correlations_, before.correlations_, atol=1e-8)
    back = [M @ W for M, W in zip(maps, after.weights_, strict=True)]
    assert same_up_to_sign(back, before.weights_) < 1e-6


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("model", ALL)
def test_batches_shards_and_threads_equal_one_fit(rng, model, missing):
    views = for_model(model, latent_views(rng, n=301))
    views = with_missing(rng, views) if missing else Views(views)
    whole = fit(model, views)
    batches = [views[:2], views[2:100], views[100:101], views[101:]]
    source = fit(model, Batches(batches))
    engine = fit(model, views, engine=LocalEngine(2), batch_rows=50)
    stream = clone(model)
    for batch in batches:
        stream.partial_fit(batch)
    for other in (source, engine, stream):
        np.testing.assert_allclose(other.correlations_, whole.correlations_, atol=1e-9)
        for a, b in zip(other.weights_, whole.weights_, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-8)


def test_threads_do_not_change_a_bit(rng):
    views = latent_views(rng, n=301)
    one, two = (SumCor(2, n_jobs=jobs, batch_rows=37, random_state=0).fit(views) for jobs in (1, 2))
    for a, b in zip(one.weights_, two.weights_, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("model", ROWS)
def test_the_same_seed_gives_the_same_model_and_input_is_left_alone(rng, model):
    views = for_model(model, latent_views(rng))
    copies = [x.copy() for x in views]
    for solver in ("moments", "operator"):
        one, two = fit(model, views, solver=solver), fit(model, views, solver=solver)
        for a, b in zip(one.weights_, two.weights_, strict=True):
            np.testing.assert_array_equal(a, b)
        # The sign rule.
        first = one.weights_[0]
        assert (first[np.abs(first).argmax(axis=0), np.arange(3)] > 0).all()
    for x, copy in zip(views, copies, strict=True):
        np.testing.assert_array_equal(x, copy)


def test_horst_components_are_nested(rng):
    views = latent_views(rng)
    one, three = (
        SumCor(k, algorithm="horst", tol=1e-14, n_init=20, random_state=0).fit(views) for k in (1, 3)
    )
    assert one.objective_ == pytest.approx(three.objectives_[0], abs=1e-9)


def test_kappa_of_one_maximises_covariance(rng):
    views = latent_views(rng, dims=(8, 6))
    model = CCA(1, ridge=1.0).fit(views)
    cross = np.cov(np.hstack(views), rowvar=False)[:8, 8:]
    assert model.regularised_correlations_[0] == pytest.approx(np.linalg.svd(cross)[1][0])


@pytest.mark.parametrize("model", ALL)
def test_model_files_hold_everything(rng, model, tmp_path):
    io = pytest.importorskip("isogloss.io")
    views = for_model(model, latent_views(rng))
    model = fit(model, views)
    io.save(model, tmp_path / "model.isogloss")
    loaded = io.load(tmp_path / "model.isogloss")
    for a, b in zip(loaded.transform(views), model.transform(views), strict=True):
        np.testing.assert_array_equal(a, b)
    loaded.partial_fit(views)
    np.testing.assert_allclose(loaded.correlations_, model.correlations_, atol=1e-8)


def test_projections_stay_those_of_the_weights_however_long_training_takes():
    """The directions of LOBPCG pass rounding on, magnified; hundreds of sweeps would show it."""
    rng = np.random.default_rng(0)
    views = latent_views(rng, n=600, dims=(80, 70, 60), k=20, noise=2.0)
    turns = [np.linalg.qr(rng.standard_normal((x.shape[1],) * 2))[0] for x in views]
    products = RowProducts(Views([x @ turn for x, turn in zip(views, turns, strict=True)]))
    start = variates_of(products, shared_start(products, 5, np.random.RandomState(0)), Variates())
    variates, trace, _ = ascend(products, start, SUM, tol=0.0, max_iter=300)
    assert len(trace) == 301
    assert np.diff(trace).min() >= -1e-12
    for i, (W, Z) in enumerate(zip(variates.W, variates.Z, strict=True)):
        np.testing.assert_allclose(products.project(i, W), Z, atol=1e-10)
        np.testing.assert_allclose(products.inner(i, W, Z, W, Z), np.eye(5), atol=1e-10)
    total = sum(np.trace(W.T @ SUM.sides(products, i, variates.Z)) for i, W in enumerate(variates.W)) / 2
    assert trace[-1] == pytest.approx(total, abs=1e-9)
