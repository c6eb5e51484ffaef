"""Clusters become events only with evidence, the same way in any order."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.track import AgglomerationRules
from isogloss.events.track._agglomeration import agglomerate

LANGUAGES = {1: "en", 2: "de", 3: "fr", 4: "en", 5: "de", 6: "fr"}
STORIES = {(1, 2): 0.9, (1, 3): 0.85, (2, 3): 0.8, (4, 5): 0.9, (4, 6): 0.85, (5, 6): 0.8}
SIZES = dict.fromkeys(LANGUAGES, 5)


def test_linked_clusters_become_one_event_and_others_stay_alone() -> None:
    assert agglomerate({7: 1, 8: 2, 9: 1}, {7: "en", 8: "de", 9: "fr"}, {(7, 8): 0.9, (8, 9): 0.1}) == [
        [7, 8],
        [9],
    ]


def test_one_bad_link_does_not_merge_two_stories() -> None:
    for a in (1, 2, 3):
        for b in (4, 5, 6):
            links = STORIES | {(a, b): 0.99}
            assert agglomerate(SIZES, LANGUAGES, links) == [[1, 2, 3], [4, 5, 6]], (a, b)


def test_a_strong_link_without_support_does_not_come_first() -> None:
    links = STORIES | {(3, 5): 1.0}
    assert agglomerate(SIZES, LANGUAGES, links, AgglomerationRules(doubt=0.0)) != [[1, 2, 3], [4, 5, 6]]
    assert agglomerate(SIZES, LANGUAGES, links) == [[1, 2, 3], [4, 5, 6]]


def test_a_weak_link_joins_large_clusters_and_not_two_articles() -> None:
    links, languages = {(1, 2): 0.4}, {1: "en", 2: "de"}
    assert agglomerate({1: 1, 2: 1}, languages, links) == [[1], [2]]
    assert agglomerate({1: 9, 2: 9}, languages, links) == [[1, 2]]
    assert agglomerate({1: 1, 2: 1}, languages, links, AgglomerationRules(prior=0.0)) == [[1, 2]]
    assert agglomerate({1: 1, 2: 1}, languages, {(1, 2): 0.9}) == [[1, 2]]


def test_stories_that_are_close_within_need_more_between_them() -> None:
    between = {(a, b): 0.35 for a in (1, 2, 3) for b in (4, 5, 6)}
    loose = dict.fromkeys(STORIES, 0.5)
    rules = AgglomerationRules(doubt=0.0, same_language=0.0, prior=0.0)
    assert agglomerate(SIZES, LANGUAGES, STORIES | between, rules) == [[1, 2, 3], [4, 5, 6]]
    assert agglomerate(SIZES, LANGUAGES, loose | between, rules) == [[1, 2, 3, 4, 5, 6]]
    rules = AgglomerationRules(doubt=0.0, same_language=0.0, prior=0.0, cohesion=0.0)
    assert agglomerate(SIZES, LANGUAGES, STORIES | between, rules) == [[1, 2, 3, 4, 5, 6]]


def test_an_impossible_pair_is_never_in_one_event() -> None:
    links = {(1, 2): 0.95, (1, 3): 0.95, (2, 3): 0.001}
    rules = AgglomerationRules(threshold=0.3, doubt=0.0, impossible=0.01)
    groups = agglomerate({1: 1, 2: 1, 3: 1}, LANGUAGES, links, rules)
    assert all(not {2, 3} <= set(group) for group in groups)
    groups = agglomerate({1: 1, 2: 1, 3: 1}, LANGUAGES, links | {(2, 3): 0.2}, rules)
    assert groups == [[1, 2, 3]]


def test_clusters_of_one_language_need_links_of_their_own() -> None:
    languages = {1: "en", 2: "de", 3: "de"}
    links = {(1, 2): 0.95, (1, 3): 0.95}
    rules = AgglomerationRules(threshold=0.4, doubt=0.0)
    assert len(agglomerate({1: 9, 2: 1, 3: 1}, languages, links, rules)) == 2
    assert len(agglomerate({1: 9, 2: 1, 3: 1}, languages, links | {(2, 3): 0.5}, rules)) == 1


graphs = st.dictionaries(
    st.tuples(st.integers(1, 9), st.integers(1, 9)).filter(lambda pair: pair[0] < pair[1]),
    st.floats(0, 1).map(lambda p: round(p, 2)),
    max_size=25,
)


@given(graphs, st.randoms(use_true_random=False))
def test_groups_are_a_partition_that_no_order_changes(
    links: dict[tuple[int, int], float], shuffle: random.Random
) -> None:
    languages = {one: "ab"[one % 2] for one in range(1, 10)}
    sizes = {one: one for one in languages}
    groups = agglomerate(sizes, languages, links)
    assert sorted(one for group in groups for one in group) == sorted(sizes)
    items = list(links.items())
    shuffle.shuffle(items)
    again = agglomerate(dict(reversed(sizes.items())), languages, dict(items))
    assert groups == again
