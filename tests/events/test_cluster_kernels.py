"""The kernels of hashed terms and bounded postings against their twins."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.cluster import Terms, TermWindow, add_vectors
from isogloss.kernels import add_sparse, count_terms, dot_sparse, find_clusters, list_cluster, weigh_article
from tests.oracles import postings as twin

SIZE = 64
WORDS = st.lists(st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1, max_size=9), max_size=12)
VECTORS = st.dictionaries(st.integers(0, SIZE - 1), st.integers(1, 9).map(float), max_size=20).map(
    lambda terms: (np.array(sorted(terms), dtype=np.int32), np.array([terms[t] for t in sorted(terms)]))
)


def room(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(n, dtype=np.int32), np.empty(n)


@given(words=WORDS, gram=st.sampled_from([0, 3, 4]), seed=st.integers(0, (1 << 32) - 1))
def test_terms_are_counted_as_by_the_twin(words: list[str], gram: int, seed: int) -> None:
    text = f" {' '.join(words)} ".encode()
    ids, counts = room(2 * len(text))
    n = count_terms(text, seed, 7, gram, 1 << 20, ids, counts)
    expected = twin.count_terms(words, seed, 7, gram, 1 << 20)
    assert dict(zip(ids[:n].tolist(), counts[:n].tolist(), strict=True)) == expected
    assert ids[:n].tolist() == sorted(expected)


@given(title=VECTORS, body=VECTORS, most=st.integers(1, 30), power=st.sampled_from([1.0, 1.5]))
def test_weights_are_those_of_the_twin(
    title: twin.Sparse, body: twin.Sparse, most: int, power: float
) -> None:
    frequencies = np.arange(SIZE, dtype=np.int32) % 11 * 8
    slow = frequencies.copy()
    terms = len(title[0]) + len(body[0])
    ids, weights = room(min(terms, most))
    counted = np.empty(terms, dtype=np.int32)
    rest = 90.0, 1.5, power, most
    m, n = weigh_article(*title, *body, frequencies, *rest, counted, ids, weights)
    expected = twin.weigh_article(title, body, slow, *rest)
    assert counted[:m].tolist() == np.union1d(title[0], body[0]).tolist()
    assert frequencies.tolist() == slow.tolist()
    found = twin.dense((ids[:n], weights[:n]), SIZE)
    np.testing.assert_allclose(np.sort(found), np.sort(expected), atol=1e-12)
    assert n <= most
    if n < most:
        np.testing.assert_allclose(found, expected, atol=1e-12)


@given(one=VECTORS, other=VECTORS, factor=st.sampled_from([1.0, -1.0, 2.0]), most=st.integers(1, 40))
def test_sums_and_products_are_the_dense_ones(
    one: twin.Sparse, other: twin.Sparse, factor: float, most: int
) -> None:
    a, b = twin.dense(one, SIZE), twin.dense(other, SIZE)
    ids, weights = room(len(one[0]) + len(other[0]))
    n = add_sparse(*one, *other, factor, most, ids, weights)
    expected = twin.strongest(np.maximum(a + factor * b, 0), most)
    np.testing.assert_array_equal(twin.dense((ids[:n], weights[:n]), SIZE), expected)
    assert np.all(np.diff(ids[:n]) > 0)
    assert dot_sparse(*one, *other) == a @ b


@given(vectors=st.lists(VECTORS, min_size=1, max_size=25), query=VECTORS)
def test_candidates_are_those_of_the_twin(vectors: list[twin.Sparse], query: twin.Sparse) -> None:
    lists, following, slow = np.zeros((SIZE, 3), dtype=np.int32), np.zeros(SIZE, np.uint8), twin.Lists(3)
    for number, (ids, weights) in enumerate(vectors):
        cluster = 1 + number % 9
        list_cluster(lists, following, ids, weights, 99, cluster)
        slow.add(cluster, ids.tolist())
    out = np.empty(9, dtype=np.int32)
    n = find_clusters(lists, *query, 99, out)
    scores = slow.find(dict(zip(query[0].tolist(), query[1].tolist(), strict=True)))
    assert out[:n].tolist() == sorted(scores, key=lambda cluster: (-scores[cluster], cluster))


def test_only_the_strongest_terms_are_looked_up() -> None:
    lists, following = np.zeros((SIZE, 3), dtype=np.int32), np.zeros(SIZE, np.uint8)
    ids = np.array([1, 2], dtype=np.int32)
    list_cluster(lists, following, ids[:1], np.ones(1), 9, 5)
    list_cluster(lists, following, ids[1:], np.ones(1), 9, 6)
    out = np.empty(9, dtype=np.int32)
    assert find_clusters(lists, ids, np.array([1.0, 2.0]), 1, out) == 1
    assert out[0] == 6


@pytest.mark.parametrize("term", [-1, SIZE])
def test_terms_beyond_the_table_are_refused(term: int) -> None:
    lists, following = np.zeros((SIZE, 3), dtype=np.int32), np.zeros(SIZE, np.uint8)
    with pytest.raises(ValueError, match="no list"):
        list_cluster(lists, following, np.array([term], dtype=np.int32), np.ones(1), 9, 5)


def test_an_article_that_cannot_be_weighed_is_not_counted() -> None:
    frequencies, title, body = np.zeros(SIZE, dtype=np.int32), np.array([1, 2], np.int32), np.ones(2)
    for ids, counts, counted, vector, complaint in (
        (np.array([1, SIZE], dtype=np.int32), body, 4, 4, "no frequency"),
        (np.array([-1, 2], dtype=np.int32), body, 4, 4, "no frequency"),
        (title, body[:1], 4, 4, "lengths differ"),
        (title, body, 3, 4, "no room"),
        (title, body, 4, 3, "no room"),
    ):
        out = np.empty(counted, dtype=np.int32), *room(vector)
        with pytest.raises(ValueError, match=complaint):
            weigh_article(title, body, ids, counts, frequencies, 90.0, 1.5, 2.0, 9, *out)
    assert not frequencies.any()


@pytest.mark.parametrize(("most", "expected"), [(9, [1, 2]), (2, [1, 2]), (1, [2])])
def test_vectors_have_no_room_beyond_their_terms(most: int, expected: list[int]) -> None:
    terms = np.array([1, 2], dtype=np.int32), np.array([1.0, 3.0])
    vector = TermWindow(max_terms=most).add(Terms(terms, terms), "en", date(2031, 3, 5))
    for one in (vector, add_vectors(vector, vector, max_terms=most)):
        assert one.ids.tolist() == expected
        assert len(one.weights) == len(expected)
        assert one.ids.base is one.weights.base is None
