"""Several indexes asked at once, as each of them answers for itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.kernels import nearest_of_each
from isogloss.similarity import Index, search_each


def some_indexes(seed):
    """Indexes of few and many documents, some of which left; scores are whole numbers, with many ties."""
    rng = np.random.default_rng(seed)
    indexes = []
    for n in (0, 3, 40, 17):
        ids = rng.permutation(100)[:n]
        times = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 10, n))
        index = Index(5, segment=8).add(ids, rng.integers(-2, 3, (n, 5)), times)
        index.remove(rng.choice(100, 20))
        indexes.append(index)
    return rng.integers(-2, 3, 5).astype(np.float32), indexes


@given(
    st.integers(0, 10**6), st.integers(1, 50), st.none() | st.integers(0, 10), st.none() | st.integers(0, 10)
)
def test_the_answers_are_those_of_each_index(seed, k, since, until):
    query, indexes = some_indexes(seed)
    together = search_each(indexes, query, k, since=since, until=until)
    assert len(together) == len(indexes)
    for index, found in zip(indexes, together, strict=True):
        alone = index.search([query], k, since=since, until=until)
        there = alone.indices[0] >= 0
        assert found.ids.tolist() == alone.indices[0][there].tolist()
        assert found.scores.tolist() == alone.scores[0][there].tolist()
        assert (found.vectors @ query).tolist() == found.scores.tolist()


def test_real_scores_are_the_same_to_the_last_bit(rng):
    index = Index(50, segment=64).add(np.arange(500), rng.normal(size=(500, 50)))
    query = rng.normal(size=50).astype(np.float32)
    (found,) = search_each([index], query, 20)
    alone = index.search([query], 20)
    np.testing.assert_array_equal(found.ids, alone.indices[0])
    np.testing.assert_array_equal(found.scores, alone.scores[0])


def test_what_does_not_fit_is_refused(rng):
    index = Index(3)
    assert search_each([], [1.0, 2.0]) == []
    assert search_each([index], [1, 2, 3])[0].ids.tolist() == []
    with pytest.raises(ValueError, match=r"4 dimensions.*expected one number of dimensions"):
        search_each([index, Index(4)], [1, 2, 3])
    with pytest.raises(ValueError, match=r"as int8.*ask it for itself"):
        search_each([index, Index(3, storage="int8")], [1, 2, 3])
    with pytest.raises(ValueError, match="2 dimensions; expected 3"):
        search_each([index], [1, 2])
    with pytest.raises(ValueError, match="k=0"):
        search_each([index], [1, 2, 3], 0)


def test_the_compiled_loop_checks_shapes():
    query, scores, ids = np.zeros(2, np.float32), np.zeros((1, 3)), np.zeros((1, 3), np.int64)
    vectors, times = np.zeros((3, 2), np.float32), np.zeros(1)
    row = (np.zeros((1, 2), np.float32), np.zeros(1, np.int64), np.ones(1, bool), times)
    with pytest.raises(ValueError, match="shapes differ"):
        nearest_of_each(query, [[row], [row]], 0, 1, scores, ids, vectors)
    with pytest.raises(ValueError, match="shapes differ"):
        nearest_of_each(query, [[row]], 0, 1, scores, ids, vectors[:2])
    with pytest.raises(ValueError, match="lengths differ"):
        nearest_of_each(query, [[(*row[:3], np.zeros(2))]], 0, 1, scores, ids, vectors)
    with pytest.raises(ValueError, match="dimensions differ"):
        nearest_of_each(query, [[(np.zeros((1, 3), np.float32), *row[1:])]], 0, 1, scores, ids, vectors)
