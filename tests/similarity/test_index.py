"""The index against a table of all similarities, while documents come and go."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from isogloss import io
from isogloss.similarity import Index
from tests.oracles.topk import unit

STORAGES = ["float32", "float16", "int8"]


def by_table(held, queries, k, wanted=lambda one, time: True):
    """The k best ids of each query from the definition; equal scores in the order of ids."""
    chosen = sorted(one for one, (_, time) in held.items() if wanted(one, time))
    out = []
    for x in np.asarray(queries, dtype=np.float32).astype(float):
        scores = {one: float(x @ np.asarray(held[one][0], dtype=float)) for one in chosen}
        best = sorted(chosen, key=lambda one: (-scores[one], one))[:k]
        out.append(best + [-1] * (k - len(best)))
    return out


class Coming(RuleBasedStateMachine):
    """Small whole vectors, so that scores are exact and ties are many."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(0)
        self.index, self.held = Index(3, segment=4), {}

    @rule(ids=st.sets(st.integers(0, 45), max_size=7), data=st.data())
    def add(self, ids, data):
        new = [one for one in data.draw(st.permutations(sorted(ids))) if one not in self.held]
        vectors = self.rng.integers(-2, 3, (len(new), 3)).astype(np.float32)
        times = self.rng.integers(0, 10, len(new)).astype(float)
        self.index.add(np.array(new, dtype=np.int64), vectors, times)
        self.held |= dict(zip(new, zip(vectors, times, strict=True), strict=True))

    @rule(ids=st.lists(st.integers(0, 45), max_size=6))
    def remove(self, ids):
        gone = {one for one in ids if one in self.held}
        assert self.index.remove(ids) == len(gone)
        self.held = {one: value for one, value in self.held.items() if one not in gone}

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def put_again(self, data):
        one = data.draw(st.sampled_from(sorted(self.held)))
        vector = self.rng.integers(-2, 3, (1, 3)).astype(np.float32)
        assert self.index.remove([one]) == 1
        assert one not in self.index
        self.index.add([one], vector, [5.0])
        assert one in self.index
        self.held[one] = vector[0], 5.0

    @rule(before=st.integers(0, 10))
    def expire(self, before):
        gone = {one for one, (_, time) in self.held.items() if time < before}
        assert self.index.expire(before) == len(gone)
        self.held = {one: value for one, value in self.held.items() if one not in gone}

    @precondition(lambda self: self.held)
    @rule(k=st.integers(1, 6), since=st.integers(0, 9), among=st.sets(st.integers(0, 45), min_size=1))
    def search(self, k, since, among):
        queries = self.rng.integers(-2, 3, (3, 3))
        assert self.index.search(queries, k).indices.tolist() == by_table(self.held, queries, k)
        found = self.index.search(queries, k, since=since, until=8, among=sorted(among)[1:], exclude=[3])
        wanted = lambda one, time: since <= time < 8 and one in sorted(among)[1:] and one != 3  # noqa: E731
        assert found.indices.tolist() == by_table(self.held, queries, k, wanted)
        assert np.isneginf(found.scores[found.indices < 0]).all()

    @invariant()
    def holds_what_was_added(self):
        assert self.index.ids.tolist() == sorted(self.held)
        assert len(self.index) == len(self.held)


Coming.TestCase.settings = settings(stateful_step_count=15)
TestComing = Coming.TestCase


@pytest.mark.parametrize("storage", STORAGES)
def test_finds_what_is_there(rng, storage):
    x = unit(rng.normal(size=(500, 20)))
    index = Index(20, storage=storage, segment=128).add(np.arange(500) * 3, x)
    found = index.search(x[:40], 1)
    np.testing.assert_array_equal(found.indices.ravel(), np.arange(40) * 3)
    np.testing.assert_allclose(found.scores.ravel(), 1.0, rtol=2e-3)


@pytest.mark.parametrize("storage", STORAGES)
def test_threads_change_nothing(rng, storage):
    x = rng.normal(size=(300, 8))
    found = [
        Index(8, storage=storage, segment=64, n_jobs=n).add(np.arange(300), x).search(x, 7) for n in (None, 3)
    ]
    np.testing.assert_array_equal(found[0].indices, found[1].indices)
    np.testing.assert_array_equal(found[0].scores, found[1].scores)


@pytest.mark.parametrize("storage", STORAGES)
def test_survives_a_file(rng, tmp_path, storage):
    x = rng.normal(size=(30, 4))
    index = Index(4, storage=storage, segment=8).add(np.arange(30), x, times=np.arange(30.0))
    index.expire(before=9)
    io.save(index, tmp_path / "i.isogloss")
    again = io.load(tmp_path / "i.isogloss", expected=Index)
    np.testing.assert_array_equal(again.ids, index.ids)
    np.testing.assert_array_equal(again.search(x, 3).indices, index.search(x, 3).indices)
    assert again.expire(before=12) == 3


def test_memory_is_given_back(rng):
    index = Index(16, segment=64)
    for day in range(20):
        index.add(np.arange(100) + 100 * day, rng.normal(size=(100, 16)), times=np.full(100, day))
        index.expire(before=day - 2)
        assert len(index) <= 300
    assert index.nbytes < 3 * 300 * (16 * 4 + 17)


def test_documents_without_time_stay_and_have_none():
    index = Index(1).add([1, 2], [[1.0], [1.0]], times=[np.nan, 5.0])
    assert index.expire(before=10) == 1
    assert index.search([[1.0]], 1).indices.tolist() == [[1]]
    assert index.search([[1.0]], 1, since=0).indices.tolist() == [[-1]]


def test_an_empty_index_finds_nothing():
    found = Index(2).search([[1.0, 0.0]], 3)
    assert found.indices.tolist() == [[-1, -1, -1]]
    assert len(Index(2).ids) == 0


@pytest.mark.parametrize(
    ("ids", "vectors", "times", "message"),
    [
        ([1, 1], [[1.0, 0], [0, 1]], None, "1 of 2 ids are there twice"),
        ([9, 1], [[1.0, 0], [0, 1]], None, "1 of 2 ids are in the index, the first is 9"),
        ([1], [[1.0, 0], [0, 1]], None, "for 2 vectors"),
        ([1], [[1.0]], None, "1 dimensions; expected 2"),
        ([1], [[np.nan, 0]], None, "NaN"),
        ([1], [[1.0, 0]], [1, 2], "one time for each id"),
        ([-1], [[1.0, 0]], None, "the id -1 is negative"),
        (["a"], [[1.0, 0]], None, "number the documents"),
    ],
)
def test_bad_documents_are_refused_and_nothing_is_added(ids, vectors, times, message):
    index = Index(2).add([9], [[1.0, 1.0]])
    with pytest.raises((ValueError, TypeError), match=message):
        index.add(ids, vectors, times)
    assert index.ids.tolist() == [9]


def test_bad_questions_are_refused():
    index = Index(2).add([1], [[1.0, 0.0]])
    for arguments, message in (([[[1.0]], 1], "1 dimensions"), ([[[1.0, 0.0]], 0], "k=0")):
        with pytest.raises(ValueError, match=message):
            index.search(*arguments)
    with pytest.raises(ValueError, match="storage='bits'"):
        Index(2, storage="bits")
