"""Latent Dirichlet allocation: the bound, recovery, equalities, peers, bad input."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation as Peer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import FeatureUnion, make_pipeline

from isogloss import io
from isogloss.engine import Batches
from isogloss.topics import LatentDirichletAllocation, TopicParameters, completion_perplexity, topic_coherence
from isogloss.topics._parameters import fit_dirichlet, inverse_digamma, log_dirichlet_norm
from isogloss.topics._variational import expect_anew, variational_model
from tests.oracles import topics as twin
from tests.topics.data import PRIOR, matched, planted

METHODS = ["batch", "online", "gibbs", "map"]
PRIORS_OF_MAP = {"doc_topic_prior": 0.05, "topic_word_prior": 0.01}


def model_of(method, k=4, **settings):
    defaults = {"learning_method": method, "random_state": 0, "max_iter": 15 if method == "online" else 150}
    return LatentDirichletAllocation(k, **defaults | (PRIORS_OF_MAP if method == "map" else {}) | settings)


@pytest.fixture(scope="module")
def documents():
    (counts,), (topics,) = planted(np.random.default_rng(2))
    return counts, topics


@pytest.mark.parametrize(
    ("method", "error"), [("batch", 0.1), ("online", 0.2), ("gibbs", 0.08), ("map", 0.15)]
)
def test_planted_topics_are_found(documents, method, error):
    counts, topics = documents
    settings = {"batch_size": 20, "max_iter": 30} if method == "online" else {}
    model = model_of(method, **settings).fit(counts)
    order, distances = matched(model.topics_, topics)
    assert distances.max() < error
    if method in ("batch", "gibbs"):
        np.testing.assert_allclose(model.doc_topic_prior_[order], PRIOR, rtol=0.25)
        assert model.topic_word_prior_ == pytest.approx(0.05, rel=0.25)


@pytest.mark.parametrize("method", ["batch", "map"])
@pytest.mark.parametrize("learn", [True, False])
def test_the_bound_rises_at_every_step(rng, method, learn):
    counts = rng.poisson(0.4, size=(60, 40))
    model = model_of(method, 6, learn_priors=learn, tol=0, max_iter=80)
    with pytest.warns(UserWarning, match="did not reach"):
        model.fit(counts)
    bounds = np.array([line.bound for line in model.trace_])
    assert len(bounds) == 81
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[:-1])).all()
    assert bounds[-1] > bounds[0]


def test_the_bound_is_that_of_the_definition(rng):
    counts = rng.poisson(1.0, size=(5, 7)).astype(float)
    model = model_of("batch", 3, max_iter=20, tol=0.1).fit(counts)
    p = model.parameters_
    statistic = expect_anew(sparse.csr_matrix(counts), p, updates=500, tol=1e-12, point=False)
    steps = variational_model(point=False, learn=False, updates=1, tol=0.0)
    energy = steps.free_energy(statistic, p)
    start = np.repeat(counts.sum(axis=1, keepdims=True) / 3, 3, axis=1)
    expected = twin.proportions(counts, p.weights, p.doc_prior, start, 500, 1e-12, False)[0]
    documents = sum(
        twin.bound(row, p.log_weights, p.doc_prior, e) for row, e in zip(counts, expected, strict=True)
    )
    assert model.score(counts) == pytest.approx(documents, rel=1e-5)
    prior = np.repeat(p.word_prior, p.widths)[:, None] * np.ones(3)
    distance = sum(
        log_dirichlet_norm(q) - log_dirichlet_norm(r) + ((q - r) * logs).sum()
        for q, r, logs in zip(p.pseudo_counts.T, prior.T, p.log_weights.T, strict=True)
    )
    assert energy.bound == pytest.approx(documents - distance, rel=1e-8)


def test_bound_and_topics_beside_scikit_learn(documents):
    """The same model with fixed priors: both get to the same bound per word."""
    counts, topics = documents
    settings = {"doc_topic_prior": 0.5, "topic_word_prior": 0.05}
    ours = model_of("batch", learn_priors=False, **settings).fit(counts)
    peer = Peer(4, random_state=0, max_iter=60, **settings).fit(counts)
    assert matched(peer.components_ / peer.components_.sum(axis=1, keepdims=True), topics)[1].max() < 0.1
    peers_words = sparse.csr_matrix(counts)
    theirs = replace(ours.parameters_, words=np.ascontiguousarray(peer.components_.T) - 0.05)
    steps = variational_model(point=False, learn=False, updates=200, tol=1e-4)
    reached = steps.free_energy(steps.expect(peers_words, theirs), theirs).bound
    assert ours.bound_ == pytest.approx(reached, rel=2e-3)
    with np.errstate(all="ignore"):
        assert peer.perplexity(counts) == pytest.approx(np.exp(-reached / counts.sum()), rel=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_threads_change_nothing(documents, method):
    counts, _ = documents
    settings = {"batch_rows": 64, "max_iter": 5, "tol": 1e9}
    one = model_of(method, **settings).fit(counts)
    two = model_of(method, n_jobs=2, **settings).fit(counts)
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.transform(counts), two.transform(counts))


@pytest.mark.parametrize("method", ["batch", "map"])
def test_batches_are_one_batch(documents, method):
    counts, _ = documents
    whole = model_of(method, max_iter=10, tol=1e9).fit(counts)
    parts = model_of(method, max_iter=10, tol=1e9, batch_rows=7).fit(counts)
    np.testing.assert_allclose(parts.components_, whole.components_, rtol=1e-9)
    source = Batches([sparse.csr_matrix(part) for part in np.array_split(counts, 3)])
    np.testing.assert_allclose(clone(whole).fit(source).components_, whole.components_, rtol=1e-9)


def test_several_batches_draw_topics_as_well_as_one(documents):
    counts, topics = documents
    model = model_of("gibbs", batch_rows=150).fit(counts)
    assert matched(model.topics_, topics)[1].max() < 0.08


def test_sums_of_parts_are_the_sum(documents):
    counts, _ = documents
    p = model_of("batch", max_iter=5, tol=1e9).fit(counts).parameters_
    settings = {"updates": 50, "tol": 1e-4, "point": False}
    X = sparse.csr_matrix(counts)
    whole = expect_anew(X, p, **settings)
    parts = expect_anew(X[:100], p, **settings).merge(expect_anew(X[100:], p, **settings))
    for name, table in whole.tables.items():
        np.testing.assert_allclose(parts[name], table, rtol=1e-9)
    assert parts.entropy == pytest.approx(whole.entropy)


def test_partial_fit_is_one_pass_of_online(documents):
    counts, topics = documents
    online = model_of("online", max_iter=1, batch_size=100).fit(counts)
    parts = model_of("online", total_samples=400)
    for start in range(0, 400, 100):
        parts.partial_fit(counts[start : start + 100])
    # The start differs: fit knows how many words there are in all.
    np.testing.assert_allclose(parts.transform(counts).sum(axis=1), 1.0)
    assert parts.n_batches_ == online.n_batches_ == 4
    for _ in range(12):
        for start in range(0, 400, 50):
            parts.partial_fit(counts[start : start + 50])
    assert matched(parts.topics_, topics)[1].mean() < 0.2


def test_online_forgets_a_start_that_was_wrong(rng):
    old, new = (planted(rng, documents=200)[0][0] for _ in range(2))
    model = model_of("online", learning_decay=0.6, total_samples=200)
    model.partial_fit(old)
    before = model.perplexity(new)
    for _ in range(25):
        model.partial_fit(new)
    assert model.perplexity(new) < 0.5 * before


def test_plsa_is_map_without_priors(rng):
    """The likelihood after some steps, and each step, are those of PLSA written out."""
    counts = rng.poisson(3.0, size=(5, 8))
    settings = {"doc_topic_prior": 0, "topic_word_prior": 0, "tol": 0, "max_iter": 30}
    with pytest.warns(UserWarning, match="did not reach"):
        model = model_of("map", 3, **settings).fit(counts)
    topics, theta = model.topics_, model.transform(counts)
    for _ in range(200):
        q = theta[:, :, None] * topics
        q /= q.sum(axis=1, keepdims=True)
        theta = (counts[:, None, :] * q).sum(axis=2)
        theta /= theta.sum(axis=1, keepdims=True)
    log_likelihood = (counts * np.log(theta @ topics)).sum()
    assert model.score(counts) == pytest.approx(log_likelihood, rel=1e-4)
    assert model.bound_ == pytest.approx(model.score(counts), rel=1e-4)


def test_one_topic_is_the_frequencies_of_words(rng):
    counts = rng.poisson(2.0, size=(30, 12))
    for method in METHODS:
        model = model_of(method, 1, topic_word_prior=1e-4, learn_priors=False, max_iter=8).fit(counts)
        np.testing.assert_allclose(model.topics_[0], counts.sum(axis=0) / counts.sum(), atol=2e-3)
        np.testing.assert_allclose(model.transform(counts), 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_documents_without_words(documents, method):
    counts, _ = documents
    blank = np.vstack([counts[:50], np.zeros((2, counts.shape[1]))])
    model = model_of(method, max_iter=10, tol=1e9).fit(blank)
    theta = model.transform(blank)
    prior = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    np.testing.assert_allclose(theta[-2:], [prior, prior], rtol=1e-6)


def test_perplexity_of_the_other_halves(documents):
    counts, _ = documents
    rng = np.random.default_rng(0)
    known = rng.binomial(counts, 0.5)
    model = model_of("gibbs").fit(counts[:300])
    ours = model.perplexity(known[300:], (counts - known)[300:])
    assert ours == pytest.approx(
        completion_perplexity(
            model.topics_, known[300:], (counts - known)[300:], doc_topic_prior=model.doc_topic_prior_
        ),
        rel=1e-3,
    )
    assert ours < 0.8 * model_of("gibbs", 1).fit(counts[:300]).perplexity(known[300:], (counts - known)[300:])


def test_coherence_by_hand():
    X = np.array([[1, 1, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 2, 1]])
    p, both = np.array([0.75, 0.5]), 0.5
    npmi = np.log(both / p.prod()) / -np.log(both)
    found = topic_coherence([[3, 2, 0, 0], [3, 0, 2, 0], [0, 0, 0, 2]], X, n_words=2)
    np.testing.assert_allclose(found.topics[:2], [npmi, -1.0])
    assert found.mean == pytest.approx(found.topics.mean())


def test_a_word_of_all_documents_is_perfectly_coherent():
    assert topic_coherence([[2, 1]], np.ones((5, 2)), n_words=2).mean == 1.0


def test_planted_topics_are_more_coherent_than_chance(documents, rng):
    counts, topics = documents
    chance = rng.permuted(topics, axis=1)
    assert topic_coherence(topics, counts).mean > topic_coherence(chance, counts).mean + 0.1


def test_digamma_inverted():
    x = np.array([1e-4, 0.1, 1.0, 30.0, 1e4])
    from scipy.special import digamma

    np.testing.assert_allclose(inverse_digamma(digamma(x)), x, rtol=1e-8)


def test_a_dirichlet_prior_is_recovered(rng):
    theta = rng.dirichlet([0.3, 1.0, 2.0], 20_000)
    found = np.ones(3)
    for _ in range(300):
        found = fit_dirichlet(np.log(np.maximum(theta, 1e-300)).mean(axis=0), found)
    np.testing.assert_allclose(found, [0.3, 1.0, 2.0], rtol=0.05)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, -1]], "Negative values"),
        ([[1, np.nan]], "NaN"),
        ([[1, np.inf]], "infinity"),
        (np.zeros((3, 4)), "all documents are empty"),
        (np.zeros((0, 4)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (["a text"], "numeric|2D|convert"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_counts_is_refused(X, message, method):
    with pytest.raises(ValueError, match=message):
        model_of(method, 2).fit(X)


def test_draws_need_whole_numbers():
    with pytest.raises(ValueError, match="whole numbers"):
        model_of("gibbs", 2).fit([[0.5, 1.0]])


def test_settings_that_do_not_go_together(documents):
    with pytest.raises(ValueError, match="doc_topic_prior=0"):
        model_of("batch", doc_topic_prior=0).fit(documents[0])
    for method in ("gibbs", "map"):
        with pytest.raises(ValueError, match="partial_fit with learning_method"):
            model_of(method).partial_fit(documents[0])
    model = model_of("batch", max_iter=2, tol=1e9).fit(documents[0])
    with pytest.raises(ValueError, match="held_out has shape"):
        model.perplexity(documents[0], documents[0][:3])
    with pytest.raises(ValueError, match="no words"):
        model.perplexity(documents[0], 0 * documents[0])
    with pytest.raises(ValueError, match="expected as many"):
        topic_coherence(np.ones((2, 3)), np.ones((4, 5)))
    with pytest.raises(ValueError, match="same documents and words"):
        completion_perplexity(np.ones((2, 3)), np.ones((4, 5)), np.ones((4, 5)))


@pytest.mark.parametrize("method", ["batch", "online", "gibbs"])
def test_a_callback_ends_the_fit(documents, method):
    seen = []

    def third(_, parameters):
        seen.append(parameters)
        return len(seen) == 3

    model = model_of(method).fit(documents[0], callbacks=[third])
    assert len(seen) == 3
    assert model.n_batches_ == 3 if method == "online" else len(model.trace_) == 3
    assert isinstance(seen[0], TopicParameters)


def test_names_of_topics(documents):
    model = model_of("map", 2).fit(documents[0])
    assert list(model.get_feature_names_out()) == ["latentdirichletallocation0", "latentdirichletallocation1"]


def test_saved_after_batches(documents, tmp_path):
    model = model_of("online").partial_fit(documents[0][:100])
    io.save(model, tmp_path / "model.isogloss")
    loaded = io.load(tmp_path / "model.isogloss")
    np.testing.assert_array_equal(
        loaded.partial_fit(documents[0][100:]).components_, model.partial_fit(documents[0][100:]).components_
    )


@pytest.mark.dask
@pytest.mark.parametrize("method", METHODS)
def test_dask_is_local(dask_client, documents, method):
    from isogloss.engine.dask import DaskEngine

    counts, _ = documents
    settings = {"batch_rows": 150, "max_iter": 12, "tol": 1e9 if method == "online" else 0.5}
    local = model_of(method, **settings).fit(counts)
    cluster = model_of(method, engine=DaskEngine(dask_client), **settings).fit(counts)
    np.testing.assert_allclose(cluster.components_, local.components_, rtol=1e-9)
    assert len(cluster.trace_) == len(local.trace_)


def test_topics_are_features_of_pipelines_searches_and_unions():
    ships, banks = ["ship", "harbour", "wave", "sailor"], ["bank", "loan", "interest", "price"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([ships, banks][row % 2], 8)) for row in range(40)]
    about = np.arange(40) % 2
    topics = LatentDirichletAllocation(2, random_state=0, tol=0.1)
    pipeline = make_pipeline(CountVectorizer(), clone(topics), LogisticRegression())
    assert (cross_val_predict(pipeline, texts, about, cv=2) == about).all()
    grid = {"latentdirichletallocation__n_components": [1, 2]}
    assert GridSearchCV(pipeline, grid, cv=2).fit(texts, about).best_params_ == {next(iter(grid)): 2}
    union = FeatureUnion([("topics", clone(topics)), ("words", TfidfTransformer())])
    wide = make_pipeline(CountVectorizer(), union).fit_transform(texts)
    assert wide.shape == (40, 2 + 8)
    pytest.importorskip("pandas")
    named = topics.set_output(transform="pandas").fit_transform(CountVectorizer().fit_transform(texts))
    assert list(named.columns) == ["latentdirichletallocation0", "latentdirichletallocation1"]
