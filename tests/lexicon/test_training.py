"""Word vectors from text: words of one class are neighbours, whichever the method."""

import numpy as np
import pytest

from isogloss.exceptions import VectorFileError
from isogloss.lexicon import train_vectors
from isogloss.lexicon.vectors._training import _pair_counts, _read


def text(rng, sentences=3000, classes=4, words=6):
    """Sentences of five words: each word is of the class that follows the one before, in a circle."""
    starts = rng.integers(0, classes, sentences)
    ranks = rng.integers(0, words, (sentences, 5))
    return [
        [f"c{(start + k) % classes}w{rank}" for k, rank in enumerate(row)]
        for start, row in zip(starts, ranks, strict=True)
    ]


@pytest.mark.parametrize(("method", "classes"), [("pmi", 5), ("cca", 5)])
def test_words_that_are_used_alike_are_neighbours(rng, method, classes):
    sentences = text(rng, classes=classes)
    vectors = train_vectors(sentences, "xx", method=method, n_components=4, window=1)
    x = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    cosines = x @ x.T - 2 * np.eye(len(x))
    nearest = [vectors.words[i][:2] for i in cosines.argmax(axis=1)]
    right = np.mean([word[:2] == other for word, other in zip(vectors.words, nearest, strict=True)])
    assert right > 0.9


def test_pairs_are_counted_by_hand():
    words, ids, ends = _read([["a", "b", "rare", "a"], ["b"], ["a", "b"]], 2, 10)
    assert words == ["a", "b"]
    assert [words[i] for i in ids] == ["a", "b", "a", "b", "a", "b"]
    assert ends.tolist() == [3, 4, 6]
    counts = _pair_counts(ids, ends, 2, [(1, 1.0), (2, 0.5)]).toarray()
    assert counts.tolist() == [[0.5, 2.0], [1.0, 0.0]]


def test_blocks_do_not_change_the_counts(rng, monkeypatch):
    _, ids, ends = _read(text(rng, 50), 1, 100)
    whole = _pair_counts(ids, ends, 24, [(1, 1.0), (3, 0.5)]).toarray()
    monkeypatch.setattr("isogloss.lexicon.vectors._training._BLOCK_PAIRS", 7)
    np.testing.assert_array_equal(_pair_counts(ids, ends, 24, [(1, 1.0), (3, 0.5)]).toarray(), whole)


def test_words_are_sorted_by_frequency_and_cut(rng):
    sentences = [["a"] * 9, ["b"] * 30, ["c"] * 20, ["d"] * 2]
    words, _, _ = _read(sentences, 5, 2)
    assert words == ["b", "c"]


@pytest.mark.parametrize(("method", "most"), [("pmi", 23), ("cca", 23)])
def test_too_little_text_is_refused_with_counts(rng, method, most):
    with pytest.raises(
        VectorFileError, match=rf"24 words occur 5 times or more, enough for {most} dimensions"
    ):
        train_vectors(text(rng), method=method, n_components=50)
    with pytest.raises(VectorFileError, match="0 words occur 5 times"):
        train_vectors([], method=method)


def test_other_methods_are_refused():
    with pytest.raises(ValueError, match="method='glove'; expected one of pmi, cca"):
        train_vectors([], method="glove")
