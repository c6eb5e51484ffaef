"""Topics from moments: sums over all triples of tokens, recovery of planted topics, starts of EM."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from isogloss.engine import Batches, LocalEngine
from isogloss.linalg import decompose_tensor
from isogloss.topics import LatentDirichletAllocation, PolylingualTopicModel
from isogloss.topics._base import check_counts
from isogloss.topics._spectral import _reduced_third
from isogloss.views import Views
from tests.topics.data import PRIOR, matched, planted


def all_triples(counts, W, alpha0):
    """The reduced third moment by its definition, one ordered triple of tokens after another."""
    k = W.shape[1]
    third, second, first, documents = np.zeros((k, k, k)), np.zeros((k, k)), np.zeros(k), 0
    for row in counts.astype(int):
        tokens = np.repeat(np.arange(len(row)), row)
        if len(tokens) < 3:
            continue
        documents += 1
        first += W[tokens].mean(axis=0)
        pairs = [np.outer(W[a], W[b]) for a, b in itertools.permutations(tokens, 2)]
        second += np.mean(pairs, axis=0)
        triples = [np.einsum("i,j,l", *W[list(t)]) for t in itertools.permutations(tokens, 3)]
        third += np.mean(triples, axis=0)
    third, second, first = third / documents, second / documents, first / documents
    crossed = np.einsum("ij,l->ijl", second, first)
    crossed = crossed + crossed.transpose(0, 2, 1) + crossed.transpose(2, 1, 0)
    cube = np.einsum("i,j,l", first, first, first)
    return third - alpha0 / (alpha0 + 2) * crossed + 2 * alpha0**2 / ((alpha0 + 1) * (alpha0 + 2)) * cube


def test_the_third_moment_is_that_of_all_triples_of_tokens(rng):
    counts, W, alpha0 = rng.poisson(0.7, (12, 6)).astype(float), rng.normal(size=(6, 2)), 0.8
    counts[0] = 0  # a document too short to have one
    usable = counts[counts.sum(axis=1) >= 3]
    mean = (usable / usable.sum(axis=1, keepdims=True)).mean(axis=0)
    source = Batches([check_counts(counts[:5]), check_counts(counts[5:])])
    found = _reduced_third(LocalEngine(), source, W, mean, float(len(usable)), alpha0)
    symmetric = sum(found.transpose(axes) for axes in itertools.permutations(range(3))) / 6
    np.testing.assert_allclose(symmetric, all_triples(counts, W, alpha0), atol=1e-12)


@pytest.fixture(scope="module")
def documents():
    (counts,), (topics,) = planted(np.random.default_rng(2), documents=2000)
    return counts, topics


def spectral(k=4, **settings):
    given = {"doc_topic_prior": PRIOR.sum() / 4, "init": "spectral", "random_state": 0, **settings}
    return LatentDirichletAllocation(k, **given)


def test_the_estimate_alone_is_near_the_planted_topics(documents):
    counts, topics = documents
    model = spectral(max_iter=0).fit(counts)
    order, distances = matched(model.topics_, topics)
    assert distances.max() < 0.1
    frequency = model.parameters_.words.sum(axis=0)[order]
    np.testing.assert_allclose(frequency / frequency.sum(), PRIOR / PRIOR.sum(), atol=0.05)


@pytest.mark.parametrize("method", ["batch", "online", "map"])
def test_learning_goes_on_from_the_estimate(documents, method):
    counts, topics = documents
    settings = {"topic_word_prior": 0.05} if method == "map" else {}
    model = spectral(learning_method=method, max_iter=15, tol=1.0, **settings).fit(counts)
    assert matched(model.topics_, topics)[1].max() < (0.15 if method == "map" else 0.1)


def test_the_spectral_start_is_as_good_as_many_random_ones():
    (counts,), _ = planted(np.random.default_rng(4), 600, 40, 300, prior=np.full(8, 0.1))
    settings = {"doc_topic_prior": 0.1, "tol": 0.05}
    begun = LatentDirichletAllocation(8, init="spectral", random_state=0, **settings).fit(counts)
    others = [LatentDirichletAllocation(8, random_state=seed, **settings).fit(counts) for seed in range(20)]
    assert begun.bound_ > max(one.bound_ for one in others) - 1e-4 * abs(begun.bound_)
    assert begun.n_iter_ < np.median([one.n_iter_ for one in others])


def test_batches_change_nothing(documents):
    counts, _ = documents
    whole = spectral(max_iter=0).fit(counts)
    parts = spectral(max_iter=0, batch_rows=300).fit(counts)
    source = spectral(max_iter=0).fit(Batches([counts[:700], counts[700:]]))
    for other in (parts, source):
        np.testing.assert_allclose(other.topics_, whole.topics_, atol=1e-8)


def test_several_languages_start_from_the_largest():
    rng = np.random.default_rng(2)
    counts, topics = planted(rng, documents=1500, languages=2)
    present = rng.random((1500, 2)) < 0.8
    present[~present.any(axis=1)] = True
    views = Views(dict(zip(("en", "de"), counts, strict=True)), present=present)
    settings = {"doc_topic_prior": 0.5, "init": "spectral", "random_state": 0}
    start = PolylingualTopicModel(4, max_iter=0, **settings).fit(views)
    sizes = [part.sum() for part in views.arrays]
    assert matched(start.topics_[np.argmax(sizes)], topics[np.argmax(sizes)])[1].max() < 0.15
    model = PolylingualTopicModel(4, tol=0.1, **settings).fit(views)
    (order, errors), (same, others) = (matched(*pair) for pair in zip(model.topics_, topics, strict=True))
    assert max(errors.max(), others.max()) < 0.1
    np.testing.assert_array_equal(order, same)


def test_too_many_topics_are_reported(rng):
    with pytest.warns(ConvergenceWarning, match=r"tell \d of 6 topics apart"):
        model = spectral(6, max_iter=0).fit(rng.multinomial(60, rng.dirichlet(np.ones(12)), size=300))
    np.testing.assert_allclose(model.topics_.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("settings", "counts", "message"),
    [
        ({"learning_method": "gibbs"}, np.ones((9, 9)), "'gibbs' begins with topics by chance"),
        ({"learning_method": "map", "doc_topic_prior": 0}, np.ones((9, 9)), "a positive prior"),
        ({}, np.eye(9), "0 documents of at least 3 words"),
        ({}, np.ones((9, 3)), "at least n_components=4 words"),
    ],
)
def test_what_has_no_moments_is_refused(settings, counts, message):
    with pytest.raises(ValueError, match=message):
        spectral(**settings).fit(counts)


def test_refined_tensors_stay_orthogonal(rng):
    _, vectors = decompose_tensor(rng.normal(size=(7, 7, 7)), random_state=0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(7), atol=1e-12)
