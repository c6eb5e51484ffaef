"""The kernels of linking against their twins."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isogloss.events.track import AgglomerationRules
from isogloss.events.track._agglomeration import agglomerate
from isogloss.kernels import (
    PackedProfile,
    find_nearest,
    join_clusters,
    list_cluster,
    measure_profiles,
    overlap_pairs,
    replace_links,
    strongest_names,
)
from tests.oracles import linking as twin
from tests.oracles.postings import dense

SIZE = 40

CHANCES = st.sampled_from([0.001, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 1.0])
RULES = st.builds(
    AgglomerationRules,
    threshold=st.sampled_from([0.3, 0.5]),
    same_language=st.sampled_from([0.0, 0.25]),
    doubt=st.sampled_from([0.0, 0.5]),
    unlinked=st.sampled_from([0.2, 1.0]),
    prior=st.sampled_from([0.0, 1.5]),
    cohesion=st.sampled_from([0.0, 0.5, 1.0]),
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


@example(
    links={(1, 6): 0.95, (1, 11): 0.001, (6, 11): 0.95},
    rules=AgglomerationRules(threshold=0.5, same_language=0.0, doubt=0.0, unlinked=0.2, prior=0.0),
    sizes=[1, 1, 1, 1, 1, 5, 1, 1, 1, 1, 6, 1],
)
@given(links=LINKS, rules=RULES, sizes=st.lists(st.integers(1, 30), min_size=12, max_size=12))
def test_events_are_those_of_the_twin(
    links: dict[twin.Pair, float], rules: AgglomerationRules, sizes: list[int]
) -> None:
    articles = dict(enumerate(sizes, 1))
    languages = {one: ("en", "de", "fr", "ru")[one % 4] for one in articles}
    assert agglomerate(articles, languages, links, rules) == twin.agglomerate(
        articles, languages, links, rules
    )


def packed_profile(profile: tuple[dict[str, int], dict[str, int], twin.Sparse]) -> PackedProfile:
    one, two, vector = profile
    packed = PackedProfile(2)
    packed.add([one, two])
    packed.set_statistics(*vector, np.array([3.0, -1.5]), ["de", None, *sorted(one)[:1], ""][:3])
    return packed


MAX_DICT_TERMS_LOW_MEMORY = st.dictionaries(st.integers(0, 60).map(str), st.integers(1, 9), max_size=50)
PROFILES = st.lists(
    st.tuples(NAMED, NAMED | MAX_DICT_TERMS_LOW_MEMORY, vectors().map(lambda v: v[0])), min_size=2, max_size=5
)


@given(profiles=PROFILES)
def test_profiles_have_the_measures_of_the_twin(
    profiles: list[tuple[dict[str, int], dict[str, int], twin.Sparse]],
) -> None:
    measures, marks = np.empty((len(profiles), 8)), np.empty((len(profiles), 3), dtype=np.int64)
    measure_profiles([packed_profile(one) for one in profiles], measures, marks)
    for row, marked, profile in zip(measures.tolist(), marks.tolist(), profiles, strict=True):
        parts = twin.parts(profile)
        squares = [twin.overlap(part, part)[0] for part in parts]
        assert row == [3.0, -1.5, *map(len, parts), *squares]
        third = next(iter(sorted(profile[0])), "")
        assert marked == [twin.hash_name("de"), 0, twin.hash_name(third)]


@given(profiles=PROFILES)
def test_pairs_share_what_the_twin_says(
    profiles: list[tuple[dict[str, int], dict[str, int], twin.Sparse]],
) -> None:
    packed = [packed_profile(one) for one in profiles]
    first, second = (places.astype(np.int32) for places in np.triu_indices(len(packed)))
    inner, shared = np.empty((len(first), 3)), np.empty((len(first), 3), dtype=np.int32)
    overlap_pairs(packed, first, second, inner, shared)
    for row, (a, b) in enumerate(zip(first, second, strict=True)):
        expected = [
            twin.overlap(*pair) for pair in zip(*map(twin.parts, (profiles[a], profiles[b])), strict=True)
        ]
        assert list(zip(inner[row].tolist(), shared[row].tolist(), strict=True)) == expected


@given(
    tables=st.lists(
        st.tuples(
            st.dictionaries(st.text("abcé", max_size=2), st.floats(0.1, 3), max_size=8),
            st.lists(st.text("abcé", max_size=2), max_size=8).map(tuple),
        ),
        max_size=6,
    )
)
def test_profiles_that_grow_are_those_of_the_sums(
    tables: list[tuple[dict[str, float], tuple[str, ...]]],
) -> None:
    nothing = np.empty(0, dtype=np.int32), np.empty(0)
    grown, whole = PackedProfile(2), PackedProfile(2)
    for weights, names in tables:
        grown.add([weights, names])
        grown.set_statistics(*nothing, np.zeros(1), [])
    sums = [twin.summed(part) for part in (zip(*tables, strict=True) if tables else ([], []))]
    whole.add(sums)  # type: ignore[arg-type]
    for packed in (grown, whole):
        packed.set_statistics(*nothing, np.ones(1), [])
    found = np.empty((2, 7))
    measure_profiles([grown, whole], found, np.empty((2, 0), dtype=np.int64))
    by_number = [{twin.hash_name(name): weight for name, weight in part.items()} for part in sums]
    squares = [twin.overlap(part, part)[0] for part in by_number]
    assert found.tolist() == [[1.0, *map(len, sums), 0.0, *squares, 0.0]] * 2


@given(
    linked=LINKS,
    changed=st.lists(st.integers(1, 14), unique=True, max_size=5),
    links=LINKS.map(lambda found: [(*pair, p) for pair, p in sorted(found.items())]),
)
def test_links_are_replaced_as_by_the_twin_and_in_its_order(
    linked: dict[twin.Pair, float], changed: list[int], links: list[tuple[int, int, float]]
) -> None:
    quick, slow = {}, {}
    for table in (quick, slow):
        twin.replace_links(table, [], [(*pair, p) for pair, p in linked.items()])
    first, second = (np.array([link[side] for link in links], dtype=np.int32) for side in (0, 1))
    replace_links(quick, changed, first, second, np.array([link[2] for link in links]))
    twin.replace_links(slow, changed, links)
    assert [(one, list(row.items())) for one, row in quick.items()] == [
        (one, list(row.items())) for one, row in slow.items()
    ]


@given(
    listed=vectors(),
    least=st.sampled_from([0.0, 10.0, 40.0]),
    known=st.lists(st.integers(1, 7), unique=True, max_size=4),
)
def test_the_nearest_are_listed_on_the_shelf_and_near_enough_or_known_to_be_close(
    listed: list[twin.Sparse], least: float, known: list[int]
) -> None:
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
    k = 3
    close = np.array(known, dtype=np.int32)
    room = 2 * k + len(close)
    numbers, products, own = np.empty(room, np.int32), np.empty(room), np.empty(room, np.int32)
    groups = np.arange(n, dtype=np.int32) % 3
    shelf = (table, owners, ids, weights, lengths, groups)
    empty = np.zeros_like(lists)
    settings = SIZE, 8, k
    found = find_nearest(
        [lists, empty], query[0], *query, *settings, *shelf, 2, least, close, numbers, products, own
    )
    exact = {row + 1: dense(query, SIZE) @ dense(vector, SIZE) for row, vector in enumerate(others)}
    others = {one: value for one, value in exact.items() if one > 1 and groups[one - 1] != 2}
    near = {one: value for one, value in others.items() if value > 0 and value >= least}
    best = dict(sorted(near.items(), key=lambda pair: (-pair[1], -pair[0]))[:k])
    expected = best | {one: others[one] for one in known if one in others}
    assert dict(zip(numbers[:found].tolist(), products[:found].tolist(), strict=True)) == expected
    assert np.all(np.diff(numbers[:found]) > 0)
    assert own[:found].tolist() == groups[numbers[:found] - 1].tolist()


def test_bad_arguments_are_refused() -> None:
    one = np.ones(1)
    languages, group = np.zeros(1, dtype=np.int32), np.empty(1, dtype=np.int32)
    with pytest.raises(ValueError, match="lengths differ"):
        join_clusters(np.array([1]), one, languages, [], 0.5, 0.01, 0.25, 0.5, 1.0, 0.0, 0.0, group)
    packed = [PackedProfile(1)]
    packed[0].add([{"a": 1}])
    outside = np.array([1], dtype=np.int32)
    for place, parts, complaint in (
        (outside, 2, "profile that is not there"),
        (outside - 1, 3, "other parts"),
    ):
        shape = 1, parts
        with pytest.raises(ValueError, match=complaint):
            overlap_pairs(packed, place, place, np.empty(shape), np.empty(shape, dtype=np.int32))
    with pytest.raises(ValueError, match="other parts"):
        measure_profiles(packed, np.empty((1, 3)), np.empty((1, 0), dtype=np.int64))
    with pytest.raises(ValueError, match="lengths differ"):
        measure_profiles(packed, np.empty((2, 4)), np.empty((1, 0), dtype=np.int64))
    with pytest.raises(TypeError):
        packed[0].add([{1: 2.0}])  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="tuple of names"):
        packed[0].add([["a"]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="other parts"):
        packed[0].add([])
    with pytest.raises(ValueError, match="lengths differ"):
        packed[0].set_statistics(outside, np.empty(0), np.empty(0), [])
    with pytest.raises(ValueError, match="lengths differ"):
        replace_links({}, [], outside, outside, np.empty(0))
    with pytest.raises(ValueError, match="tables of probabilities"):
        replace_links({1: 2.0}, [1], outside, outside, one)  # type: ignore[dict-item]


@given(st.lists(st.lists(st.tuples(NAMED, NAMED), max_size=4), max_size=4), st.integers(0, 6))
def test_the_strongest_names_of_profiles_are_those_of_the_sums(clusters, k):
    """Each cluster has articles, and each article two tables of weights beside others."""
    packed, total = [], Counter()
    for articles in clusters:
        packed.append(PackedProfile(4))
        for two in articles:
            packed[-1].add([{"before": 60.0}, *two, {"after": 50.0}])
            total.update(two[0])
            total.update(two[1])
    tables = [table for articles in clusters for two in articles for table in two]
    ranked = sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))
    assert strongest_names(packed, 1, 3, iter(tables), k) == ranked[:k]


def test_names_of_profiles_are_checked():
    one = PackedProfile(1)
    one.add([{"a": 1.0}])
    with pytest.raises(ValueError, match="other parts"):
        strongest_names([one], 0, 3, [], 1)
    with pytest.raises(ValueError, match="in no table"):
        strongest_names([one], 0, 1, [{"b": 1.0}], 1)
    with pytest.raises(ValueError, match="expected tables"):
        strongest_names([one], 0, 1, [("a",)], 1)
