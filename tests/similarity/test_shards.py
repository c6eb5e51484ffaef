"""A fit over blocks of rows, here or on a cluster, is the fit in memory; what it takes is told before."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from isogloss import io
from isogloss.corpora import ComparableCorpus, save_corpus
from isogloss.engine import LocalEngine
from isogloss.linalg import CentredOperator
from isogloss.similarity import HubSimilarity, LanguageSpace, LSISimilarity
from isogloss.similarity.fitting import HeldShards, predict_fit, predict_sizes, shared_documents
from isogloss.similarity.fitting import _plan as plan
from isogloss.similarity.fitting._shards import CorpusShards
from isogloss.similarity.fitting._spaces import Weigher
from isogloss.similarity.fitting._speeds import Speeds
from isogloss.similarity.fitting._spokes import Spokes
from tests.similarity.data import as_corpus, comparable_corpus, comparable_texts

MODELS = [
    HubSimilarity(12, hub="en", random_state=0),
    HubSimilarity(12, hub="en", agreement="hub", random_state=0),
    LSISimilarity(12, n_iter=16, random_state=0),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Four languages in a folder, rows of which are missing, one of the languages scarce."""
    texts = comparable_texts(n=330, topics=14, missing=0.25, seed=2)
    texts["sl"] = [text if row % 40 == 3 else None for row, text in enumerate(texts["sl"])]
    folder = tmp_path_factory.mktemp("shards") / "corpus"
    save_corpus(as_corpus(texts), folder)
    return ComparableCorpus(folder)


@pytest.fixture(scope="module")
def spaces(corpus):
    return {code: LanguageSpace.learn(corpus, code) for code in corpus.languages}


def held(corpus, spaces):
    return HeldShards(corpus.views(lambda counts, code: spaces[code].of_corpus(corpus)))


def cosines(model, corpus, a="en", b="fr"):
    return model.project_corpus(corpus, a) @ model.project_corpus(corpus, b).T


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("batch_rows", [50, 111, 1000])
def test_blocks_give_the_model_of_memory(model, corpus, batch_rows):
    whole = clone(model).fit(corpus)
    blocks = clone(model).set_params(batch_rows=batch_rows).fit(corpus)
    np.testing.assert_allclose(blocks.strengths_, whole.strengths_, rtol=1e-5)
    for pair in (("en", "fr"), ("de", "sl"), ("sl", "sl")):
        np.testing.assert_allclose(cosines(blocks, corpus, *pair), cosines(whole, corpus, *pair), atol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_threads_do_not_change_a_bit(model, corpus):
    one, two = (clone(model).set_params(batch_rows=60, n_jobs=jobs).fit(corpus) for jobs in (1, 2))
    np.testing.assert_array_equal(one.projectors_["fr"], two.projectors_["fr"])


@pytest.mark.dask
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_cluster_gives_the_model_of_memory(model, corpus, dask_client):
    from isogloss.engine.dask import DaskEngine

    spread = clone(model).set_params(engine=DaskEngine(dask_client), batch_rows=90).fit(corpus)
    whole = clone(model).fit(corpus)
    np.testing.assert_allclose(cosines(spread, corpus), cosines(whole, corpus), atol=1e-5)


def test_a_block_in_a_folder_travels_as_its_name(corpus, spaces):
    loaders = CorpusShards(corpus, spaces, 100).source(["en", "de"]).loaders()
    assert len(loaders) == 4
    sent = pickle.dumps(loaders[1])
    assert b"_read" in sent
    here, there = loaders[1](), pickle.loads(sent)()
    assert there.present.tolist() == here.present.tolist()
    assert (there["de"] != here["de"]).nnz == 0


def test_a_block_in_memory_travels_with_its_rows(corpus, spaces):
    loaders = CorpusShards(corpus.select(np.arange(200)), spaces, 100).source(["en", "de"]).loaders()
    here, there = loaders[1](), pickle.loads(pickle.dumps(loaders[1]))()
    assert (there["en"] != here["en"]).nnz == 0


def test_shards_of_memory_and_of_a_corpus_hold_the_same(corpus, spaces):
    memory, blocks = held(corpus, spaces), CorpusShards(corpus, spaces, 70)
    assert (memory.names, memory.dims, memory.entries) == (blocks.names, blocks.dims, blocks.entries)
    for one, other in zip(
        shared_documents(memory, "de", "fr"), shared_documents(blocks, "de", "fr"), strict=True
    ):
        assert (one != other).nnz == 0
    some, others = memory.only(["fr", "en"]), blocks.only(["fr", "en"])
    assert (some.names, some.dims) == (others.names, others.dims) == (("fr", "en"), some.dims)
    np.testing.assert_array_equal(some.present, others.present)


def test_the_operator_of_step_one_is_the_sum_of_squared_covariances(corpus, spaces):
    memory = held(corpus, spaces)
    expected = 0.0
    for code in ("de", "fr", "sl"):
        x, y = (CentredOperator(one) @ np.eye(one.shape[1]) for one in shared_documents(memory, "en", code))
        expected = expected + (x.T @ y / (len(x) - 1)) @ (y.T @ x / (len(x) - 1))
    for shards in (memory, CorpusShards(corpus, spaces, 70)):
        spokes = Spokes(shards, "en", LocalEngine(), width=5)
        np.testing.assert_allclose(spokes.matmat(np.eye(len(expected))), expected, atol=1e-9)


def test_groups_of_languages_do_not_change_the_operator(corpus, spaces, monkeypatch):
    memory, block = held(corpus, spaces), np.eye(len(spaces["en"].vocabulary))
    whole = Spokes(memory, "en", LocalEngine(), width=5)
    monkeypatch.setattr("isogloss.similarity.fitting._spokes._BUDGET", 1)
    single = Spokes(memory, "en", LocalEngine(), width=5)
    assert [len(spokes.groups) for spokes in (whole, single)] == [1, 3]
    np.testing.assert_allclose(single.matmat(block), whole.matmat(block), atol=1e-12)


def test_frequencies_are_counted_in_pieces(corpus, monkeypatch):
    whole = LanguageSpace.learn(corpus, "de")
    monkeypatch.setattr("isogloss.similarity.fitting._spaces._ENTRIES", 100)
    pieces = LanguageSpace.learn(corpus, "de")
    assert pieces.vocabulary == whole.vocabulary
    np.testing.assert_allclose(pieces.weighting.idf_, whole.weighting.idf_)
    assert pieces.weighting.mean_length_ == pytest.approx(whole.weighting.mean_length_)


def test_blocks_with_words_that_a_space_lacks(corpus):
    counts, words = corpus.matrix("de"), corpus.vocabulary("de")
    space = LanguageSpace.learn(corpus, "de", min_df=12, drop_top=4)
    kept = [words.index(word) for word in space.vocabulary.words]
    assert 0 < len(kept) < len(words) - 4
    expected = space.weighting.transform(counts[:, kept])
    np.testing.assert_allclose(space.of_corpus(corpus).toarray(), expected.toarray(), rtol=1e-6)


def test_a_model_fitted_in_blocks_is_saved_and_grows(corpus, tmp_path):
    model = HubSimilarity(8, hub="en", batch_rows=64, engine=LocalEngine(), random_state=0)
    model.fit(corpus.select(languages=["en", "de"]))
    io.save(model, tmp_path / "model")
    loaded = io.load(tmp_path / "model").add_language("fr", corpus)
    assert loaded.engine is None
    assert loaded.languages == ("en", "de", "fr")


def test_blocks_of_no_rows_are_refused(corpus):
    with pytest.raises(ValueError, match=r"'batch_rows'.* Got 0"):
        HubSimilarity(5, batch_rows=0).fit(corpus)


@pytest.fixture
def no_trials(monkeypatch):
    """One unit of any work in a second."""
    monkeypatch.setattr(plan, "measure_speeds", lambda *shape: Speeds(1, 1, 1, 1, 1))


def test_a_plan_grows_with_the_fit_and_reads_like_a_sentence(corpus, spaces):
    small = predict_sizes([100, 100], (1000, 1000), 10_000, 0, 10, 20)
    large = predict_sizes([1000, 1000], (10_000, 10_000), 100_000, 0, 100, 200)
    assert large.bytes > 10 * small.bytes
    assert large.sparse_operations > small.sparse_operations
    assert large.dense_operations > small.dense_operations
    assert large.basis_operations > small.basis_operations
    assert large.seconds > small.seconds > 0
    assert "a fit takes about" in str(large)
    told = predict_fit(held(corpus, spaces), "en", 10, 500)
    assert HubSimilarity(10, hub="en").plan_fit(corpus).bytes == told.bytes


@pytest.mark.usefixtures("no_trials")
def test_blocks_are_planned_with_less_memory_and_more_work():
    sizes = ([10**6] * 3, (20_000,) * 3, 3 * 10**8, 0, 100, 200)
    whole, blocks = predict_sizes(*sizes), predict_sizes(*sizes, n_blocks=50)
    assert blocks.bytes < whole.bytes / 2
    assert blocks.sparse_operations > whole.sparse_operations
    assert blocks.filled_bytes > whole.filled_bytes
    assert blocks.seconds > whole.seconds


def test_in_memory_corpora_can_be_fitted_in_blocks():
    corpus = comparable_corpus()
    whole, blocks = (HubSimilarity(6, batch_rows=rows, random_state=0).fit(corpus) for rows in (None, 70))
    np.testing.assert_allclose(cosines(blocks, corpus), cosines(whole, corpus), atol=1e-5)


def wide_corpus(words, rows=90):
    """Three languages with many words each, most of them rare."""
    rng = np.random.default_rng(3)
    texts = {
        code: [" ".join(f"{code}{word}" for word in rng.integers(words, size=40)) for _ in range(rows)]
        for code in ("en", "de", "fr")
    }
    return as_corpus(texts)


@pytest.mark.usefixtures("no_trials")
@pytest.mark.parametrize("words", [200, 900], ids=["exact", "sketched"])
@pytest.mark.parametrize("directions", [5, 200], ids=["few", "many"])
@pytest.mark.parametrize("agreement", ["all", "hub"])
def test_a_plan_knows_how_often_counts_are_read(words, directions, agreement, monkeypatch):
    read = []
    weigh = Weigher.__call__
    monkeypatch.setattr(
        Weigher, "__call__", lambda self, counts: read.append(counts.nnz) or weigh(self, counts)
    )
    corpus = wide_corpus(words)
    for batch_rows in (None, 30):
        model = HubSimilarity(5, n_directions=directions, agreement=agreement, batch_rows=batch_rows)
        read.clear()
        model.fit(corpus)
        measured = sum(read)
        assert model.plan_fit(corpus).entries == pytest.approx(measured, rel=0.001)
