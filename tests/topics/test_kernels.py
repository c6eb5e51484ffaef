"""The kernels of topic models against their slow twins, and the sampler against enumeration."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from isogloss import kernels
from isogloss.topics import TopicParameters
from isogloss.topics._gibbs import advance_tokens, begin_tokens, collect_tokens, gibbs_model
from isogloss.topics._variational import Documents, proportions
from tests.oracles import topics as twin


def parameters(rng, widths=(5, 4), k=3, words=None):
    words = rng.gamma(1.0, size=(sum(widths), k)) if words is None else words
    return TopicParameters(
        words, rng.gamma(1.0, size=k), np.array([0.3, 0.7])[: len(widths)], np.array(widths)
    )


@pytest.mark.parametrize("point", [False, True])
@pytest.mark.parametrize(("updates", "tolerance"), [(1, 0.0), (4, 0.0), (200, 1e-3)])
@pytest.mark.parametrize("threads", [1, 3])
def test_proportions_agree_with_the_twin(rng, point, updates, tolerance, threads):
    counts = rng.poisson(0.8, size=(150, 9)).astype(float)
    counts[3] = 0
    p = parameters(rng)
    weights = p.means if point else p.weights
    start = rng.gamma(1.0, size=(150, 3))
    X = sparse.csr_matrix(counts)
    found = proportions(Documents(X, start), p, updates=updates, tol=tolerance, point=point, threads=threads)
    expected = twin.proportions(counts, weights, p.doc_prior, start, updates, tolerance, point)
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.ratio, expected[3][counts > 0], rtol=1e-9)


def test_a_column_that_no_topic_has_is_left_out(rng):
    p = TopicParameters(np.array([[1.0, 1.0], [0.0, 0.0]]), np.ones(2), np.zeros(1), np.array([2]))
    found = proportions(Documents(sparse.csr_matrix([[2.0, 5.0]])), p, updates=5, point=True)
    assert found.ratio[1] == 0
    np.testing.assert_allclose(found.next, [[1.0, 1.0]])


@pytest.mark.parametrize("seed", range(4))
def test_a_sweep_agrees_with_the_twin(rng, seed):
    counts = sparse.csr_matrix(rng.poisson(0.7, size=(6, 9)).astype(float))
    tokens = begin_tokens((counts, seed), 3)
    words = np.zeros((9, 3))
    kernels.count_topics(tokens.column_starts, tokens.assigned, words)
    p = parameters(rng, words=words)
    pairs = list(zip(np.repeat(np.arange(9), np.diff(tokens.column_starts)), tokens.documents, strict=True))
    random = int(np.random.SeedSequence([tokens.seed, 1]).generate_state(1, np.uint64)[0])
    after = advance_tokens(tokens, p, sweeps=1)
    views = np.repeat([0, 1], [5, 4])
    assert after.assigned.tolist() == twin.sweep(
        pairs, tokens.assigned, views, p.doc_prior, p.word_prior, random
    )
    statistic = collect_tokens(after, p)
    assert statistic["words"].sum() == counts.sum()
    assert gibbs_model(learn=False).expected_log_joint(statistic, p) == pytest.approx(
        twin.log_joint(pairs, after.assigned, views, p.doc_prior, p.word_prior)
    )


def test_draws_have_the_posterior_distribution():
    """All 2^4 topics of four tokens, by enumeration and by the share of 30,000 sweeps that ended there."""
    counts = sparse.csr_matrix([[2.0, 1.0], [0.0, 1.0]])
    tokens, shares = begin_tokens((counts, 5), 2), np.zeros((2,) * 4)
    p = TopicParameters(np.zeros((2, 2)), np.array([0.4, 0.9]), np.array([0.3]), np.array([2]))
    pairs = list(zip(np.repeat([0, 1], np.diff(tokens.column_starts)), tokens.documents, strict=True))
    for _ in range(30_000):
        words = np.zeros((2, 2))
        kernels.count_topics(tokens.column_starts, tokens.assigned, words)
        now = TopicParameters(words, p.doc_prior, p.word_prior, p.widths)
        tokens = advance_tokens(tokens, now, sweeps=1)
        shares[tuple(tokens.assigned)] += 1 / 30_000
    joint = np.zeros((2,) * 4)
    for topics in itertools.product(range(2), repeat=4):
        joint[topics] = np.exp(twin.log_joint(pairs, topics, np.zeros(2, int), p.doc_prior, p.word_prior))
    np.testing.assert_allclose(shares, joint / joint.sum(), atol=0.015)


def test_lists_of_topics_stay_those_of_the_tokens(rng):
    counts = sparse.csr_matrix(rng.poisson(2.0, size=(20, 30)).astype(float))
    tokens = begin_tokens((counts, 1), 7)
    words = np.zeros((30, 7))
    kernels.count_topics(tokens.column_starts, tokens.assigned, words)
    after = advance_tokens(tokens, parameters(rng, (30,), 7, words), sweeps=5)
    for d in range(20):
        entries = after.list_entries[after.list_starts[d] :][: after.list_lengths[d]]
        held = np.bincount(after.assigned[after.documents == d], minlength=7)
        assert sorted(map(tuple, entries)) == [(k, n) for k, n in enumerate(held) if n]
