"""RandomProjection: algorithm 5.1, on dense and sparse rows, and what it is for."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.linear_model import LinearRegression

from isogloss.multiview import RandomProjection, SumCor
from isogloss.views import Views


def planted(rng, n=400, dims=(60, 50, 70), k=2, noise=0.5):
    """Views of ``k`` hidden variables, and those."""
    z = rng.normal(size=(n, k))
    loadings = [np.linalg.qr(rng.normal(size=(p, k)))[0] for p in dims]
    return [3 * z @ L.T + noise * rng.normal(size=(n, len(L))) + 1.0 for L in loadings], z


def printed(views, Ps, k, gamma):
    """Algorithm 5.1 with dense inverses and the random matrices given; products are not divided by rows."""
    m, Xs = len(views), [(x - x.mean(axis=0)).T for x in views]
    bases = [[None] * m for _ in range(m)]
    for i in range(m):
        bases[i][i] = Ps[i]
        for j in range(m):
            if j != i:
                alpha = np.linalg.inv((1 - gamma) * Xs[j] @ Xs[j].T + gamma * np.eye(len(Xs[j])))
                bases[i][j] = alpha @ Xs[j] @ Xs[i].T @ Ps[i]
    return [np.hstack([bases[i][j] for i in range(m)]) for j in range(m)]


@pytest.mark.parametrize("gamma", [0.01, 0.5])
def test_equals_the_printed_algorithm_with_dense_inverses(rng, gamma):
    views, k = planted(rng)[0], 3
    n = len(views[0])
    scaled = gamma / ((1 - gamma) * (n - 1) + gamma)
    model = RandomProjection(k, ridge=scaled, tol=1e-13, random_state=0).fit(views)
    Ps = [W[:, i * k : (i + 1) * k] for i, W in enumerate(model.weights_)]
    factor = (1 - scaled) / (1 - gamma)  # common to all regressions
    for j, expected in enumerate(printed(views, Ps, k, gamma)):
        own = np.arange(expected.shape[1]) // k == j
        np.testing.assert_allclose(model.weights_[j][:, own], expected[:, own])
        np.testing.assert_allclose(factor * model.weights_[j][:, ~own], expected[:, ~own], atol=1e-8)


def test_random_columns_have_the_norm_of_the_algorithm(rng):
    views, k = planted(rng)[0], 4
    model = RandomProjection(k, random_state=0).fit(views)
    for i, W in enumerate(model.weights_):
        P = W[:, i * k : (i + 1) * k]
        np.testing.assert_allclose(np.linalg.norm(P, axis=0), np.sqrt(len(P) / k))
        assert W.shape == (len(P), 3 * k)


def test_the_shared_subspace_is_recovered(rng):
    """The reduced views still hold the hidden variables; as many random directions alone hold far less."""
    views, z = planted(rng)
    model = RandomProjection(3, ridge=0.5, random_state=0).fit(views)
    reduced = model.transform(views)
    assert reduced.dims == (9, 9, 9)
    found = SumCor(2, ridge=0.01, random_state=0).fit(reduced)
    for variates in found.transform(reduced):
        error = z - LinearRegression().fit(variates, z).predict(variates)
        assert (error.var(axis=0) < 0.04).all()
    best = SumCor(2, ridge=0.01, random_state=0).fit(views)
    assert found.score(reduced) > 0.98 * best.score(views)
    blind = Views([x @ np.random.default_rng(j).normal(size=(x.shape[1], 9)) for j, x in enumerate(views)])
    assert SumCor(2, ridge=0.01, random_state=0).fit(blind).score(blind) < 0.9 * found.score(reduced)


def test_lifted_weights_give_the_variates_of_the_reduced_views(rng):
    views = planted(rng)[0]
    model = RandomProjection(3, random_state=0).fit(views)
    reduced = model.transform(views)
    found = SumCor(2, random_state=0).fit(reduced)
    for x, W, z in zip(views, model.lift(found.weights_), found.transform(reduced), strict=True):
        np.testing.assert_allclose((x - x.mean(axis=0)) @ W, z, atol=1e-8)
    with pytest.raises(ValueError, match="2 views"):
        model.lift(found.weights_[:2])


def test_an_orthonormal_basis_spans_the_same_and_keeps_the_ridge(rng):
    views = planted(rng)[0]
    plain = RandomProjection(3, random_state=0).fit(views)
    model = RandomProjection(3, orthonormal=True, random_state=0).fit(views)
    for P, Q in zip(plain.weights_, model.weights_, strict=True):
        np.testing.assert_allclose(Q.T @ Q, np.eye(9), atol=1e-12)
        assert subspace_angles(P, Q).max() < 1e-6
    found = SumCor(2, ridge=0.3, random_state=0).fit(model.transform(views))
    for x, W in zip(views, model.lift(found.weights_), strict=True):
        R = 0.7 * np.cov(x.T) + 0.3 * np.eye(x.shape[1])
        np.testing.assert_allclose(W.T @ R @ W, np.eye(2), atol=1e-8)


def test_sparse_equals_dense_and_is_never_densified(rng, monkeypatch):
    dense = [x * (rng.uniform(size=x.shape) < 0.2) for x in planted(rng)[0]]
    views = [sparse.csr_array(x) for x in dense]
    expected = RandomProjection(3, tol=1e-12, random_state=0).fit(dense)

    def refuse(*args, **kwargs):
        raise AssertionError("a sparse view was made dense")

    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    model = RandomProjection(3, tol=1e-12, random_state=0).fit(views)
    for a, b in zip(model.transform(views), expected.transform(dense), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_rows_may_be_missing(rng):
    views = planted(rng)[0]
    present = np.ones((400, 3), dtype=bool)
    present[:150, 1] = False
    some = Views([views[0], views[1][150:], views[2]], present=present)
    W = RandomProjection(2, ridge=0.2, tol=1e-12, random_state=0).fit(some).weights_
    x, y = views[0][150:], views[1][150:]
    cross = (y - y.mean(axis=0)).T @ (x - x.mean(axis=0)) / 249
    expected = np.linalg.solve(0.8 * np.cov(y.T) + 0.2 * np.eye(50), cross @ W[0][:, :2])
    np.testing.assert_allclose(W[1][:, :2], expected, atol=1e-8)


def test_the_seed_decides(rng):
    views = planted(rng)[0]
    one, same, other = (RandomProjection(2, random_state=s).fit(views).weights_ for s in (0, 0, 1))
    np.testing.assert_array_equal(one[1], same[1])
    assert not np.allclose(one[1], other[1])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"ridge": 0.0}, "ridge"),
        ({"ridge": 1.5}, "ridge"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 20, "orthonormal": True}, "n_components"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_settings_are_checked(rng, settings, match):
    with pytest.raises(ValueError, match=match):
        RandomProjection(**settings).fit(planted(rng)[0])


def test_rows_are_checked(rng):
    views = planted(rng)[0]
    with pytest.raises(ValueError, match="unequal numbers of rows"):
        RandomProjection().fit([views[0][:-1], views[1]])
    with pytest.raises(ValueError, match="row"):
        RandomProjection().fit([x[:1] for x in views])
    views[0][0, 0] = np.inf
    with pytest.raises(ValueError, match="inf"):
        RandomProjection().fit(views)
