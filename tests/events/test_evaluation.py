"""Scores of groups against their definitions, item by item and pair by pair."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.training import ClusteringScores, bcubed, monolingual, pairwise

labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20)


def _bcubed_by_items(gold: list[int], found: list[int]) -> tuple[float, float]:
    items = range(len(gold))
    precision = recall = 0.0
    for i in items:
        true = {j for j in items if gold[j] == gold[i]}
        group = {j for j in items if found[j] == found[i]}
        precision += len(true & group) / len(group) / len(gold)
        recall += len(true & group) / len(true) / len(gold)
    return precision, recall


def _together(groups: list[int]) -> set[tuple[int, int]]:
    return {(i, j) for i, j in combinations(range(len(groups)), 2) if groups[i] == groups[j]}


@given(labels)
def test_bcubed_is_its_definition(rows: list[tuple[int, int]]) -> None:
    gold, found = [g for g, _ in rows], [f for _, f in rows]
    precision, recall = _bcubed_by_items(gold, found)
    scores = bcubed(gold, found)
    assert scores.precision == pytest.approx(precision)
    assert scores.recall == pytest.approx(recall)
    assert scores.f1 == pytest.approx(2 * precision * recall / (precision + recall))


@given(labels)
def test_pairs_are_counted_one_by_one(rows: list[tuple[int, int]]) -> None:
    gold, found = [g for g, _ in rows], [f for _, f in rows]
    true, got = _together(gold), _together(found)
    scores = pairwise(gold, found)
    assert scores.precision == pytest.approx(len(true & got) / len(got) if got else 1.0)
    assert scores.recall == pytest.approx(len(true & got) / len(true) if true else 1.0)


@given(labels)
def test_the_other_way_round_swaps_precision_and_recall(rows: list[tuple[int, int]]) -> None:
    gold, found = [g for g, _ in rows], [f for _, f in rows]
    for measure in (bcubed, pairwise):
        there, back = measure(gold, found), measure(found, gold)
        assert (there.precision, there.recall) == pytest.approx((back.recall, back.precision))


def test_names_of_groups_do_not_matter() -> None:
    assert (
        bcubed(["x", "x", "y"], [9, 9, 3])
        == ClusteringScores(1.0, 1.0, 1.0)
        == pairwise(["x", "x", "y"], [9, 9, 3])
    )


def test_nothing_in_common_scores_zero_and_not_an_error() -> None:
    assert pairwise([1, 1, 2, 2], [1, 2, 1, 2]) == ClusteringScores(0.0, 0.0, 0.0)


def test_languages_are_scored_separately_and_weighted_equally() -> None:
    gold = ["a", "a", "a", "b", "a"]
    found = [1, 1, 1, 1, 2]
    scores = monolingual(gold, found, ["en", "en", "en", "en", "de"])
    assert scores.languages["de"] == ClusteringScores(1.0, 1.0, 1.0)
    assert scores.languages["en"] == bcubed(gold[:4], found[:4])
    assert scores.macro.f1 == pytest.approx((1 + scores.languages["en"].f1) / 2)
    assert scores.articles == {"de": 1, "en": 4}


@pytest.mark.parametrize("measure", [bcubed, pairwise])
def test_labels_must_match(measure: object) -> None:
    with pytest.raises(ValueError, match="2 true and 1 found labels"):
        measure([1, 2], [1])  # type: ignore[operator]
    with pytest.raises(ValueError, match="no labels given"):
        measure([], [])  # type: ignore[operator]
    with pytest.raises(ValueError, match="2 labels and 1 languages"):
        monolingual([1, 2], [1, 2], ["en"])
