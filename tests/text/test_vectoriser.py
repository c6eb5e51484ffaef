import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import isogloss.text._counting
import isogloss.text._tokens
from isogloss.io import load, save
from isogloss.text import TextVectoriser, Tokeniser, Vocabulary, count_frequencies, count_words


@pytest.fixture
def texts(rng):
    words = np.array([f"{a}{b}" for a in "bcdfgh" for b in "aeiou"])
    chance = 1 / np.arange(1, 31)
    chance /= chance.sum()
    return [" ".join(rng.choice(words, size=n, p=chance)).title() for n in rng.integers(1, 40, 60)]


def in_order(vectoriser, peer):
    """Our columns in the order of a peer's."""
    return vectoriser.vocabulary_.columns(peer.get_feature_names_out())


@pytest.mark.parametrize("options", [{}, {"sublinear_tf": True}, {"norm": None}, {"min_df": 5}])
def test_it_equals_scikit_learn_where_definitions_are_the_same(texts, options):
    peer = TfidfVectorizer(token_pattern=r"\w+", **options).fit(texts)
    scheme = "log" if options.get("sublinear_tf") else "tfidf"
    limits = {key: options[key] for key in ("norm", "min_df") if key in options}
    ours = TextVectoriser("en", scheme=scheme, smooth=True, **limits).fit(texts)
    assert len(ours.vocabulary_) == len(peer.vocabulary_)
    found = ours.transform(texts)[:, in_order(ours, peer)]
    assert_allclose(found.toarray(), peer.transform(texts).toarray(), rtol=1e-5, atol=1e-7)


def test_counts_of_ngrams_equal_scikit_learns(texts):
    peer = CountVectorizer(token_pattern=r"\w+", ngram_range=(1, 3)).fit(texts)
    tokeniser = Tokeniser("en", ngrams=3)
    vocabulary = Vocabulary(tuple(peer.get_feature_names_out()))
    assert_array_equal(count_words(texts, tokeniser, vocabulary).toarray(), peer.transform(texts).toarray())
    assert set(count_frequencies(texts, tokeniser).documents) == set(vocabulary.words)


def test_a_matrix_of_vectors_is_in_order(texts):
    found = TextVectoriser("en").fit_transform(texts)
    assert (found.format, found.dtype) == ("csr", np.float32)
    assert found.has_sorted_indices
    assert found.has_canonical_format


@pytest.mark.parametrize("scheme", ["tfidf", "log", "bm25"])
def test_any_split_into_batches_is_one_batch(texts, scheme):
    made = TextVectoriser("en", scheme=scheme, min_df=2, drop_top=3, coverage=0.95)
    whole, parts = clone(made).fit(texts), clone(made)
    for start in range(0, len(texts), 17):
        parts.partial_fit(texts[start : start + 17])
    shards = clone(made)
    for part in (texts[30:], texts[:30]):
        shards.learn(count_frequencies(part, Tokeniser("en")))
    for other in (parts, shards):
        assert other.vocabulary_ == whole.vocabulary_
        assert (other.transform(texts) != whole.transform(texts)).nnz == 0


def test_fitting_again_forgets(texts):
    made = TextVectoriser("en").fit(texts)
    assert made.fit(texts[:5]).frequencies_.n_documents == 5


def test_any_split_into_chunks_finds_the_same(texts, monkeypatch):
    whole = TextVectoriser("en").fit(texts)
    expected = whole.transform(texts)
    monkeypatch.setattr(isogloss.text._counting, "_CHUNK_LETTERS", 100)
    parts = TextVectoriser("en").fit(iter(texts))
    assert parts.frequencies_ == whole.frequencies_
    assert (parts.transform(iter(texts)) != expected).nnz == 0


@pytest.mark.slow
def test_processes_find_the_same(texts, monkeypatch):
    monkeypatch.setattr(isogloss.text._counting, "_CHUNK_LETTERS", 1000)
    one = TextVectoriser("en").fit(texts)
    two = TextVectoriser("en", n_jobs=2).fit(iter(texts))
    assert two.frequencies_ == one.frequencies_
    assert (two.transform(iter(texts)) != one.transform(texts)).nnz == 0


def test_long_texts_are_counted_block_by_block(texts, monkeypatch):
    tokeniser = Tokeniser("en", ngrams=2)
    expected = count_frequencies(texts, tokeniser)
    words = Vocabulary.from_frequencies(expected)
    counts = count_words(texts, tokeniser, words)
    monkeypatch.setattr(isogloss.text._tokens, "_BLOCK_CHARS", 20)
    assert count_frequencies(texts, tokeniser) == expected
    assert (count_words(texts, tokeniser, words) != counts).nnz == 0


def test_texts_without_known_words_are_rows_of_zeros():
    found = TextVectoriser("en").fit(["one two", "two"]).transform(["", "?!", "other", "one"])
    assert_array_equal(np.diff(found.indptr), [0, 0, 0, 1])
    assert TextVectoriser("en").fit(["a"]).transform([]).shape == (0, 1)
    assert TextVectoriser("en").fit([]).transform(["a"]).shape == (1, 0)


def test_bad_input_says_which_text():
    with pytest.raises(TypeError, match=r"got one text \('a text'...\); expected several"):
        TextVectoriser("en").fit("a text")
    with pytest.raises(TypeError, match="text 1: got NoneType"):
        TextVectoriser("en").fit(["a", None])
    with pytest.raises(TypeError, match="text 0: got bytes"):
        TextVectoriser("en").fit(["a"]).transform([b"a"])
    with pytest.raises(NotFittedError):
        TextVectoriser("en").transform(["a"])
    with pytest.raises(ValueError, match="'xx' is not known"):
        TextVectoriser("xx").fit(["a"])


def test_the_manners_of_scikit_learn(texts):
    made = TextVectoriser("de", tokeniser=Tokeniser("de", ngrams=2), min_df=3)
    assert clone(made).get_params() == made.get_params()
    names = made.fit(texts).get_feature_names_out()
    assert len(names) == made.transform(texts).shape[1]
    assert made.tokeniser_.ngrams == 2


def test_a_model_file_gives_the_same_vectors(texts, tmp_path):
    made = TextVectoriser("en", scheme="bm25", tokeniser=Tokeniser("en", ngrams=2)).fit(texts)
    save(made, tmp_path / "text.isogloss")
    again = load(tmp_path / "text.isogloss")
    assert (again.transform(texts) != made.transform(texts)).nnz == 0
    assert again.partial_fit(["new words"]).frequencies_.n_documents == len(texts) + 1
