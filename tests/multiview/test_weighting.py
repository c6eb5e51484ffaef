"""OptimalWeighting: what the algebra promises, what the paper promises, and what it refuses."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import null_space, sqrtm, subspace_angles
from scipy.stats import ortho_group
from sklearn.linear_model import LinearRegression

from isogloss.engine import Batches
from isogloss.io import load, save
from isogloss.multiview import OptimalWeighting
from isogloss.multiview.solvers import _weighting_solution as weighting_solution
from isogloss.multiview.solvers import three_view_subspace
from isogloss.views import Views

EXPERIMENT = Path(__file__).resolve().parents[2] / "experiments" / "weighting_three_views.py"
K = 10
NOISE = (2.0, 0.5, 0.2)


def draw(rng, loadings, n, noise=NOISE):
    """Hidden states, and views of them."""
    h = rng.standard_normal((n, loadings[0].shape[1]))
    return h, [h @ A.T + s * rng.standard_normal((n, len(A))) for A, s in zip(loadings, noise, strict=True)]


def some_views(rng, n=400, k=2, dims=(5, 4, 6), noise=(1.0, 0.7, 0.5)):
    return draw(rng, [rng.standard_normal((d, k)) for d in dims], n, noise)[1]


def printed_directions(Sigma, k, *, symmetric):
    """R as equation 8 of the paper prints it."""
    R1, R2 = null_space(Sigma[:k, k:]), null_space(Sigma[2 * k :, : 2 * k])
    zero = np.zeros((k, k))
    return np.block([[R1[:k], zero], [R1[k:], R2[:k]], [zero, R2[k:]]])


def same_span(A, B):
    return subspace_angles(A, B).max() < 1e-6


@pytest.mark.parametrize("symmetric", [False, True])
def test_with_exact_covariances_the_subspace_is_that_of_the_posterior_mean(rng, symmetric):
    M = rng.standard_normal((3 * K, K))
    Sigma = M @ M.T + np.diag(np.repeat(np.square(NOISE), K))
    U = three_view_subspace(Sigma, K, symmetric=symmetric)
    assert same_span(U, np.linalg.solve(Sigma, M))
    np.testing.assert_allclose(U.T @ Sigma @ U, np.eye(K), atol=1e-9)


def test_the_steps_of_the_paper_one_by_one_give_the_same_subspace(rng):
    """Table 1, with the blocks of R where they belong."""
    k, X = 3, np.hstack(some_views(rng, 500, 3, (3, 3, 3)))
    Sigma = np.cov(X.T)

    def last_directions(a, b):
        """The last k canonical directions of the columns b in CCA with the columns a."""
        A, B = (np.linalg.inv(sqrtm(Sigma[np.ix_(c, c)])).real for c in (a, b))
        Vt = np.linalg.svd(A @ Sigma[np.ix_(a, b)] @ B)[2]
        return B @ Vt[k:].T

    one, two, three = np.split(np.arange(9), 3)
    R1 = last_directions(one, np.r_[two, three])
    R2 = last_directions(three, np.r_[one, two])
    zero = np.zeros((k, k))
    R = np.block([[zero, R2[:k]], [R1[:k], R2[k:]], [R1[k:], zero]])
    Q = sqrtm(Sigma).real
    U = np.linalg.solve(Q, null_space((Q @ R).T))
    model = OptimalWeighting(k).fit(np.split(X, 3, axis=1))
    assert same_span(np.vstack(model.weights_), U)


def test_k_features_predict_like_all_3k_and_the_printed_formula_fails(rng, monkeypatch):
    """Section 4 of the paper: 50,000 unlabelled rows, random rotations, noise 2, 0.5 and 0.2."""
    loadings = [ortho_group.rvs(K, random_state=seed) for seed in range(3)]
    beta = rng.standard_normal(K)
    beta /= np.linalg.norm(beta)
    unlabelled = draw(rng, loadings, 50_000)[1]
    (h, labelled), (h_test, test) = draw(rng, loadings, 5_000), draw(rng, loadings, 50_000)
    y, y_test = (z @ beta + 0.5 * rng.standard_normal(len(z)) for z in (h, h_test))

    def loss(features):
        predicted = LinearRegression().fit(features(labelled), y).predict(features(test))
        return np.mean((y_test - predicted) ** 2)

    everything = loss(np.hstack)
    corrected = loss(OptimalWeighting(K).fit(unlabelled).transform)
    symmetric = loss(OptimalWeighting(K, symmetric=True).fit(unlabelled).transform)
    monkeypatch.setattr(weighting_solution, "uninformative_directions", printed_directions)
    printed = loss(OptimalWeighting(K).fit(unlabelled).transform)
    plain = loss(lambda views: np.sum(views, axis=0))
    print(  # noqa: T201
        f"\ntest loss: 3k features {everything:.4f}, three-view {corrected:.4f}, symmetric {symmetric:.4f}, "
        f"printed formula {printed:.4f}, plain sum {plain:.4f}"
    )
    assert corrected < 1.01 * everything
    assert symmetric < 1.01 * everything
    assert printed > 2 * everything
    assert plain > 2 * everything


def test_views_of_many_features_are_reduced_without_loss(rng):
    loadings = [rng.standard_normal((d, 3)) / np.sqrt(d) for d in (40, 25, 30)]
    noise = (0.5, 0.3, 0.2)
    model = OptimalWeighting(3).fit(draw(rng, loadings, 20_000, noise)[1])
    h, X = draw(rng, loadings, 20_000, noise)

    def unexplained(features):
        return np.mean((h - LinearRegression().fit(features, h).predict(features)) ** 2)

    assert unexplained(model.transform(X)) < 1.05 * unexplained(np.hstack(X))


@pytest.mark.parametrize("symmetric", [False, True])
def test_features_do_not_depend_on_the_bases_of_the_views(rng, symmetric):
    X = some_views(rng)
    moved = [x @ rng.standard_normal((x.shape[1],) * 2) + 100.0 for x in X]
    Z, Z_moved = (OptimalWeighting(2, symmetric=symmetric).fit(v).transform(v) for v in (X, moved))
    np.testing.assert_allclose(np.abs(Z.T @ Z_moved) / (len(Z) - 1), np.eye(2), atol=1e-8)


def test_symmetric_weighting_does_not_depend_on_the_order_of_the_views(rng):
    X = some_views(rng)
    Z = OptimalWeighting(2, symmetric=True).fit(X).transform(X)
    for order in itertools.permutations(range(3)):
        Y = [X[v] for v in order]
        other = OptimalWeighting(2, symmetric=True).fit(Y).transform(Y)
        np.testing.assert_allclose(np.abs(Z.T @ other) / (len(Z) - 1), np.eye(2), atol=1e-8)


def test_features_are_uncorrelated_and_ordered_by_agreement(rng):
    X = some_views(rng, k=3)
    model = OptimalWeighting(3).fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    apart = np.sum([w.T @ np.cov(x.T) @ w for x, w in zip(X, model.weights_, strict=True)], axis=0)
    np.testing.assert_allclose(apart, np.diag(np.diag(apart)), atol=1e-9)
    assert np.all(np.diff(1.0 / np.diag(apart)) <= 1e-9)
    W = np.vstack(model.weights_)
    assert np.all(W[np.abs(W).argmax(axis=0), range(3)] > 0)


def test_the_less_noisy_view_has_the_larger_share(rng):
    loadings = [ortho_group.rvs(3, random_state=seed) for seed in range(3)]
    model = OptimalWeighting(3).fit(draw(rng, loadings, 20_000)[1])
    np.testing.assert_allclose(model.shares_.sum(axis=0), 1.0)
    # E[h | x] weighs view i by 1 / noise_i^2, and through it comes that part of signal and noise.
    precision = 1.0 / np.square(NOISE)
    np.testing.assert_allclose(model.shares_.mean(axis=1), precision / precision.sum(), atol=0.02)


def test_one_view_alone_gives_the_least_squares_estimate_of_the_features(rng):
    X = some_views(rng)
    model = OptimalWeighting(2).fit(X)
    Z = model.transform(X)
    for v, x in enumerate(X):
        expected = LinearRegression().fit(x, Z).predict(x)
        np.testing.assert_allclose(model.transform_view(x, v), expected, atol=1e-9)
    assert 0 < model.score(X) <= 2 * 3


def test_two_views_give_their_canonical_variates(rng):
    X = some_views(rng)[:2]
    model = OptimalWeighting(2).fit(X)
    Z = model.transform(X)
    bases = [np.linalg.qr(x - x.mean(axis=0))[0] for x in X]
    expected = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[:2]
    C = np.cov(Z.T)
    np.testing.assert_allclose(C[:2, :2], np.eye(2), atol=1e-9)
    np.testing.assert_allclose(C[2:, 2:], np.eye(2), atol=1e-9)
    np.testing.assert_allclose(C[:2, 2:], np.diag(expected), atol=1e-9)
    np.testing.assert_allclose(model.shares_, [[1, 1, 0, 0], [0, 0, 1, 1]], atol=1e-12)


def test_more_than_three_views_are_put_into_three_parts(rng):
    X = some_views(rng, dims=(5, 4, 6, 3, 4), noise=(1.0, 0.7, 0.5, 0.6, 0.8))
    views = Views(dict(zip("abcde", X, strict=True)))
    model = OptimalWeighting(2).fit(views)
    assert model.groups_ == [[0, 3], [1, 4], [2]]
    by_hand = [np.hstack([X[0], X[3]]), np.hstack([X[1], X[4]]), X[2]]
    expected = OptimalWeighting(2).fit(by_hand).transform(by_hand)
    signs = np.sign(np.sum(model.transform(views) * expected, axis=0))
    np.testing.assert_allclose(model.transform(views), expected * signs, atol=1e-9)
    named = OptimalWeighting(2, groups=[["d", "a"], ["b", 4], ["c"]]).fit(views)
    np.testing.assert_allclose(np.abs(named.transform(views)), np.abs(expected), atol=1e-9)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("batch_rows", [7, 100, 1000])
def test_any_batch_split_equals_one_fit(rng, batch_rows, n_jobs):
    views = Views(some_views(rng))
    one = OptimalWeighting(2).fit(views)
    split = OptimalWeighting(2, batch_rows=batch_rows, n_jobs=n_jobs).fit(views)
    for a, b in zip(one.weights_ + one.regressions_, split.weights_ + split.regressions_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    source = Batches([views[:150], views[150:151], views[151:]])
    np.testing.assert_allclose(OptimalWeighting(2).fit(source).shares_, one.shares_, atol=1e-9)


def test_sparse_views_equal_dense_ones(rng):
    X = some_views(rng)
    X = [np.where(np.abs(x) > 1, x, 0.0) for x in X]
    dense, thin = OptimalWeighting(2).fit(X), OptimalWeighting(2).fit([sparse.csr_array(x) for x in X])
    np.testing.assert_allclose(
        dense.transform(X), thin.transform([sparse.csr_array(x) for x in X]), atol=1e-9
    )


def test_a_constant_feature_has_no_weight(rng):
    X = some_views(rng)
    padded = [np.hstack([X[0], np.full((len(X[0]), 1), 7.0)]), *X[1:]]
    one, more = OptimalWeighting(2).fit(X), OptimalWeighting(2).fit(padded)
    np.testing.assert_allclose(more.weights_[0][-1], 0.0, atol=1e-9)
    np.testing.assert_allclose(one.transform(X), more.transform(padded), atol=1e-8)


def test_a_saved_model_is_the_same(rng, tmp_path):
    X = some_views(rng)
    model = OptimalWeighting(2, groups=[[0], [2], [1]]).fit(X)
    save(model, tmp_path / "weighting.isogloss")
    np.testing.assert_array_equal(load(tmp_path / "weighting.isogloss").transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("change", "parameters", "message"),
    [
        (lambda X: X[:1], {}, "at least 2"),
        (lambda X: X, {"n_components": 5}, "view 'view1' has 4 directions in common"),
        (lambda X: X, {"n_components": 0}, "'n_components'.* Got 0"),
        (lambda X: X, {"ridge": 1.5}, r"'ridge'.* Got 1\.5"),
        (lambda X: X, {"groups": [[0], [1, 2]]}, "expected three parts"),
        (lambda X: X, {"groups": [[0], [1], [1]]}, "expected three parts"),
        (lambda X: X, {"groups": [[0], [1], ["nobody"]]}, "expected three parts"),
        (lambda X: [X[0], np.full_like(X[1], 3.7), X[2]], {}, "'view1' does not vary"),
        (lambda X: [X[0], X[1], X[0] @ np.ones((5, 3))], {"n_components": 3}, "directions in common"),
        (lambda X: [X[0], X[0], X[2]], {}, "free of noise"),
        (lambda X: [x[:5] for x in X], {}, "too few rows"),
        (lambda X: Views(X, present=np.arange(1200).reshape(-1, 3) % 7 > 0), {}, "rows lack a view"),
    ],
)
def test_what_cannot_be_weighted_is_refused(rng, change, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        OptimalWeighting(**({"n_components": 2} | parameters)).fit(change(some_views(rng)))


def test_batches_of_different_views_are_refused(rng):
    X = some_views(rng)
    with pytest.raises(ValueError, match="expected the same views in every batch"):
        OptimalWeighting(2).fit(Batches([Views(X), Views(X[::-1])]))


def test_rows_that_lack_a_view_are_not_transformed(rng):
    X = some_views(rng)
    model = OptimalWeighting(2).fit(X)
    present = np.ones((400, 3), dtype=bool)
    present[5, 1] = False
    with pytest.raises(ValueError, match="1 rows lack a view"):
        model.transform(Views(X, present=present))
    with pytest.raises(ValueError, match="fitted on"):
        model.transform(X[::-1])


@pytest.mark.slow
def test_the_experiment_writes_its_report(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("weighting_three_views", EXPERIMENT)
    experiment = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(experiment)
    monkeypatch.setattr(experiment, "UNLABELLED", 2_000)
    monkeypatch.setattr(experiment, "SAMPLE_SIZES", (500, 1_000))
    monkeypatch.setattr(experiment, "HMM_LABELLED", 1_000)
    experiment.main([str(tmp_path), "--quick"])
    folder = tmp_path / "weighting_three_views"
    text = (folder / "report.md").read_text()
    assert "holds" in text
    assert "**does not hold**: equation 8 as printed" in text
    assert "**does not hold**: with the first state as h" in text
    assert all((folder / f"figure{n}.png").stat().st_size > 5_000 for n in (3, 4, 5, 6))


@pytest.mark.dask
def test_dask_equals_local(rng, dask_client):
    from isogloss.engine.dask import DaskEngine

    views = Views(some_views(rng))
    local = OptimalWeighting(2, batch_rows=64).fit(views)
    far = OptimalWeighting(2, batch_rows=64, engine=DaskEngine(dask_client)).fit(views)
    for a, b in zip(local.weights_, far.weights_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
