"""Bonds of clusters are those that the pairs of articles tell, whatever was merged and moved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events import EventStream
from isogloss.events.ingest import sample_news
from isogloss.events.link import LinkState
from isogloss.kernels import Bonds, NearPairs
from tests.oracles import linking as twin

MOST = 3


def _array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def _bonds(bonds: Bonds, cluster: int, most: int = 10**6) -> dict[int, tuple[int, float]]:
    ends, others, links, sums = bonds.strongest(_array([cluster]), most)
    assert ends.tolist() == [len(others)]
    pairs = zip(links.tolist(), sums.tolist(), strict=True)
    return dict(zip(others.tolist(), pairs, strict=True))


def _told(links: LinkState, cluster: int) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for other in links.profiles:
        pairs = links.pairs(cluster, other) if other != cluster else []
        if pairs:
            found[other] = [similarity for _, _, similarity in pairs]
    return found


def test_bonds_are_those_of_articles_and_the_same_when_rebuilt() -> None:
    stream = EventStream()
    stream.add(sample_news().articles[:80])
    links = stream.links
    one, other = sorted(links.profiles)[:2]
    links.merge(other, one)
    links.move(links.profiles[one].articles[0], max(links.profiles) + 1)
    kept = {cluster: _bonds(links.bonds, cluster) for cluster in links.profiles}
    for cluster, bonds in kept.items():
        expected = _told(links, cluster)
        assert bonds == {key: (len(values), twin.total(values)) for key, values in expected.items()}
    links._bonds = None
    assert {cluster: _bonds(links.bonds, cluster) for cluster in links.profiles} == kept
    assert any(len(bonds) > 1 for bonds in kept.values())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 6), st.lists(st.integers(0, 30), max_size=5, unique=True)),
        st.tuples(st.just("forget"), st.integers(0, 30), st.just([])),
        st.tuples(st.just("move"), st.integers(1, 6), st.lists(st.integers(0, 30), max_size=1)),
    ),
    max_size=40,
)


@given(steps=STEPS)
def test_pairs_and_bonds_are_those_of_their_twins(steps: list[tuple[str, int, list[int]]]) -> None:
    """Articles come with near ones among those before, go, and change their clusters."""
    pairs, bonds, expected = NearPairs(), Bonds(0.2), twin.Links(0.2)
    for number, (step, value, places) in enumerate(steps, start=1):
        known = list(expected.cluster_of)
        chosen = sorted({known[place % len(known)] for place in places}) if known else []
        if step == "add":
            similarities = [(7 * number + 3 * one) % 10 / 8 for one in chosen]
            pairs.add(number, _array(chosen), np.array(similarities))
            clusters = [expected.cluster_of[one] for one in chosen]
            bonds.add(_array([value] * len(chosen)), _array(clusters), np.array(similarities))
            expected.add(number, value, dict(zip(chosen, similarities, strict=True)))
        elif step == "forget" and known:
            gone = expected.cluster_of[known[value % len(known)]]
            bonds.forget(gone)
            for one in expected.forget(gone):
                pairs.forget(one)
        elif step == "move" and chosen:
            before = expected.cluster_of[chosen[0]]
            expected.cluster_of[chosen[0]] = value
            for cluster in (before, value):
                bonds.forget(cluster)
                one, other, similarities_ = pairs.of(_array(expected.articles(cluster)))
                clusters = [[expected.cluster_of[each] for each in side.tolist()] for side in (one, other)]
                bonds.add(_array(clusters[0]), _array(clusters[1]), similarities_)
    for cluster in range(1, 7):
        for most in (MOST, 10**6):
            assert _bonds(bonds, cluster, most) == expected.strongest(cluster, most)
    one, other, similarities_ = pairs.of(_array(list(expected.cluster_of)))
    told = zip(one.tolist(), other.tolist(), similarities_.tolist(), strict=True)
    assert list(told) == expected.pairs
    assert len(pairs) == len(expected.cluster_of)


def test_bad_arguments_are_refused() -> None:
    pairs, nobody = NearPairs(), np.empty(0)
    pairs.add(4, _array([]), nobody)
    with pytest.raises(ValueError, match="added before"):
        pairs.add(4, _array([]), nobody)
    with pytest.raises(ValueError, match="not there"):
        pairs.add(5, _array([3]), np.ones(1))
    with pytest.raises(ValueError, match="lengths differ"):
        pairs.add(5, _array([4]), nobody)
    with pytest.raises(ValueError, match="not there"):
        pairs.forget(5)
    with pytest.raises(ValueError, match="not there"):
        pairs.of(_array([5]))
    with pytest.raises(ValueError, match="lengths differ"):
        Bonds(0.1).add(_array([1]), _array([]), nobody)
