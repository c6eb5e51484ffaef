"""Binary quadratic problems and max-cut through multi-set CCA, against exhaustive search."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from isogloss.linalg import is_psd
from isogloss.multiview import binary_as_sumcor, max_cut


def all_signs(m):
    return np.array([(1, *rest) for rest in product([-1, 1], repeat=m - 1)], dtype=float)


def random_graph(n, seed, kind="integer"):
    rng = np.random.default_rng(seed)
    W = {
        "integer": lambda: rng.integers(0, 2, (n, n)).astype(float),
        "signed": lambda: rng.standard_normal((n, n)),
        "small": lambda: 1e-8 * rng.random((n, n)),
    }[kind]()
    W = np.triu(W, 1)
    return W + W.T


def heaviest(W):
    X = all_signs(len(W))
    return float((W.sum() - np.einsum("ki,ij,kj->k", X, W, X)).max() / 4)


@given(m=st.integers(2, 8), seed=st.integers(0, 1000), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_reduction_keeps_every_value(m, seed, scale):
    Q = scale * np.random.default_rng(seed).standard_normal((m, m))
    problem = binary_as_sumcor(Q)
    np.testing.assert_array_equal(np.diag(problem.A), 1)
    assert is_psd(problem.A)
    for x in all_signs(m)[:20]:
        assert problem.value(x @ problem.A @ x) == pytest.approx(x @ Q @ x, abs=1e-12 * scale * m**2)


@pytest.mark.parametrize("kind", ["integer", "signed", "small"])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 11])
def test_cuts_of_small_graphs(n, kind):
    for seed in range(6):
        W = random_graph(n, seed, kind)
        best = heaviest(W)
        cut = max_cut(W, random_state=0)
        assert cut.value == pytest.approx(best, rel=1e-12)
        assert cut.bound >= best * (1 - 1e-12)
        across = W[np.ix_(cut.labels == 0, cut.labels == 1)].sum()
        assert cut.value == across
        x = 1.0 - 2 * cut.labels
        assert cut.certificate.value == pytest.approx(x @ binary_as_sumcor(-W).A @ x)


def test_bipartite_graphs_are_cut_whole_and_certified():
    W = np.zeros((7, 7))
    W[:3, 3:] = 1
    W = np.maximum(W, W.T)
    labels, value, certificate, bound = max_cut(W, random_state=0)
    assert value == 12
    assert certificate.globally_optimal
    assert bound == pytest.approx(12, rel=1e-9)
    np.testing.assert_array_equal(labels, [0, 0, 0, 1, 1, 1, 1])


def test_an_odd_cycle_has_the_known_gap():
    """Five nodes in a ring: the cut is 4, the relaxation 5 (1 + cos(pi/5)) / 2 (Goemans and Williamson)."""
    W = np.roll(np.eye(5), 1, axis=1)
    cut = max_cut(W + W.T, random_state=0)
    assert cut.value == 4
    assert cut.bound == pytest.approx(5 * (1 + np.cos(np.pi / 5)) / 2, rel=1e-9)
    assert cut.certificate.rank == 2
    assert not cut.certificate.globally_optimal
    assert cut.value > cut.bound - 1  # integer weights: no better cut


def test_sparse_graphs_and_loops():
    W = random_graph(9, 4)
    with_loops = W + np.diag(np.arange(9.0))
    assert max_cut(sparse.csr_array(with_loops), random_state=0).value == max_cut(W, random_state=0).value


def test_a_graph_without_edges_has_no_cut():
    cut = max_cut(np.zeros((4, 4)), random_state=0)
    assert (cut.value, cut.certificate.globally_optimal) == (0.0, True)
    assert cut.bound == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("Q", [np.ones((2, 3)), np.ones((1, 1)), [[np.nan, 0], [0, 0]]])
def test_bad_matrices_are_refused(Q):
    with pytest.raises(ValueError, match=r"Q has shape|NaN"):
        binary_as_sumcor(Q)


def test_a_directed_graph_is_refused():
    with pytest.raises(ValueError, match="adjacency is not symmetric"):
        max_cut(np.triu(np.ones((3, 3))))
