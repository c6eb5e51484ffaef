"""The kernels of linking against their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.agglomeration import Rules, agglomerate
from isogloss.kernels import find_nearest, join_clusters, list_cluster, overlap_pairs, pack_profile
from tests.oracles import linking as twin
from tests.oracles.postings import dense

SIZE = 40

CHANCES = st.sampled_from([0.001, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 1.0])
RULES = st.builds(
    Rules,
    threshold=st.sampled_from([0.3, 0.5]),
    same_language=st.sampled_from([0.0, 0.25]),
    doubt=st.sampled_from([0.0, 0.5]),
)
NAMED = st.dictionaries(st.text("abcé", max_size=2), st.integers(1, 9), max_size=8)
LINKS = st.dictionaries(
    st.tuples(st.integers(1, 12), st.integers(1, 12)).map(sorted).map(tuple).filter(lambda p: p[0] < p[1]),
    CHANCES,
    max_size=40,
)


def vectors() -> st.SearchStrategy[list[twin.Sparse]]:
    one = st.dictionaries(st.integers(0, SIZE - 1), st.integers(1, 9).map(float), max_size=12)
    return st.lists(
        one.map(lambda v: (np.array(sorted(v), dtype=np.int32), np.array([v[key] for key in sorted(v)]))),
        min_size=2,
        max_size=6,
    )


@given(links=LINKS, rules=RULES, sizes=st.lists(st.integers(1, 30), min_size=12, max_size=12))
def test_events_are_those_of_the_twin(links: dict[twin.Pair, float], rules: Rules, sizes: list[int]) -> None:
    articles = dict(enumerate(sizes, 1))
    languages = {one: ("en", "de", "fr", "ru")[one % 4] for one in articles}
    assert agglomerate(articles, languages, links, rules) == twin.agglomerate(
        articles, languages, links, rules
    )


@given(named=st.lists(NAMED, max_size=3), vector=vectors().map(lambda listed: listed[0]))
def test_profiles_are_packed_as_by_the_twin(named: list[dict[str, int]], vector: twin.Sparse) -> None:
    for found, expected in zip(pack_profile(named, *vector), twin.pack_profile(named, vector), strict=True):
        assert found.tolist() == expected


@given(profiles=st.lists(st.tuples(NAMED, NAMED, vectors().map(lambda v: v[0])), min_size=2, max_size=5))
def test_pairs_share_what_the_twin_says(
    profiles: list[tuple[dict[str, int], dict[str, int], twin.Sparse]],
) -> None:
    packed = [pack_profile([one, two], *vector) for one, two, vector in profiles]
    first, second = (places.astype(np.int32) for places in np.triu_indices(len(packed)))
    inner, shared = np.empty((len(first), 3)), np.empty((len(first), 3), dtype=np.int32)
    overlap_pairs(packed, first, second, inner, shared)
    for row, (a, b) in enumerate(zip(first, second, strict=True)):
        expected = [
            twin.overlap(*pair) for pair in zip(*map(twin.parts, (profiles[a], profiles[b])), strict=True)
        ]
        assert list(zip(inner[row].tolist(), shared[row].tolist(), strict=True)) == expected


@given(listed=vectors(), least=st.sampled_from([0.0, 10.0, 40.0]))
def test_the_nearest_are_listed_on_the_shelf_and_near_enough(listed: list[twin.Sparse], least: float) -> None:
    query, others = listed[0], listed[1:]
    lists, following = np.zeros((SIZE, 8), dtype=np.int32), np.zeros(SIZE, dtype=np.uint8)
    n = len(others)
    ids, weights = np.zeros((n, SIZE), dtype=np.int32), np.zeros((n, SIZE))
    lengths, table = np.zeros(n, dtype=np.int32), np.zeros(8, dtype=np.int32)
    owners = np.arange(1, n + 1, dtype=np.int32)
    for row, vector in enumerate(others):
        lengths[row], table[row + 1] = len(vector[0]), row + 1
        ids[row, : lengths[row]], weights[row, : lengths[row]] = vector
        list_cluster(lists, following, *vector, SIZE, row + 1)
    owners[0] = 9
    numbers, products = np.empty(8, dtype=np.int32), np.empty(8)
    shelf = (table, owners, ids, weights, lengths)
    found = find_nearest(lists, query[0], *query, SIZE, *shelf, least, numbers, products)
    exact = {row + 1: dense(query, SIZE) @ dense(vector, SIZE) for row, vector in enumerate(others)}
    expected = {one: value for one, value in exact.items() if one > 1 and value > 0 and value >= least}
    assert dict(zip(numbers[:found].tolist(), products[:found].tolist(), strict=True)) == expected


def test_bad_arguments_are_refused() -> None:
    one = np.ones(1)
    languages, group = np.zeros(1, dtype=np.int32), np.empty(1, dtype=np.int32)
    with pytest.raises(ValueError, match="lengths differ"):
        join_clusters(np.array([1]), one, languages, [], 0.5, 0.01, 0.25, 0.5, group)
    packed = [pack_profile([{"a": 1}], np.empty(0, dtype=np.int32), np.empty(0))]
    outside = np.array([1], dtype=np.int32)
    for place, parts, complaint in (
        (outside, 2, "profile that is not there"),
        (outside - 1, 3, "other parts"),
    ):
        shape = 1, parts
        with pytest.raises(ValueError, match=complaint):
            overlap_pairs(packed, place, place, np.empty(shape), np.empty(shape, dtype=np.int32))
    with pytest.raises(TypeError):
        pack_profile([{1: 2.0}], np.empty(0, dtype=np.int32), np.empty(0))  # type: ignore[dict-item]
