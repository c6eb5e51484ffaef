"""Ids of events stay while events merge and split."""

from __future__ import annotations

from isogloss.events.track._tracker import EventIds


def test_the_older_id_lives_on_and_the_younger_becomes_an_alias() -> None:
    ids = EventIds()
    sizes = {10: 1, 11: 9}
    assert ids.assign([[10], [11]], sizes) == [1, 2]
    assert ids.assign([[10, 11]], sizes) == [1]
    assert ids.aliases == {2: 1}
    assert ids.resolve(2) == 1


def test_the_larger_part_keeps_the_id() -> None:
    ids = EventIds()
    sizes = {10: 2, 11: 3, 12: 4}
    ids.assign([[10, 11, 12]], sizes)
    assert ids.assign([[10, 11], [12]], sizes) == [1, 2]
    other = EventIds()
    other.assign([[10, 11, 12]], sizes)
    assert other.assign([[10], [11, 12]], sizes) == [2, 1]


def test_an_id_is_never_given_twice() -> None:
    ids = EventIds()
    ids.assign([[1], [2]], {1: 1, 2: 1})
    ids.assign([[1, 2]], {1: 1, 2: 1})
    ids.remove(1)
    ids.remove(2)
    assert ids.members == {}
    assert ids.assign([[3]], {3: 1}) == [3]


def test_aliases_of_aliases_are_followed() -> None:
    ids = EventIds()
    sizes = dict.fromkeys((1, 2, 3), 1)
    ids.assign([[1], [2], [3]], sizes)
    ids.assign([[2, 3]], sizes)
    ids.assign([[1, 2, 3]], sizes)
    assert [ids.resolve(one) for one in (1, 2, 3)] == [1, 1, 1]


def test_names_of_an_event_are_forgotten_with_it():
    ids, sizes = EventIds(), {10: 3, 11: 2, 12: 1, 13: 1}
    ids.assign([[10], [11], [12], [13]], sizes)
    ids.assign([[11, 12]], sizes)
    ids.assign([[10, 11, 12]], sizes)
    assert ids.aliases == {3: 2, 2: 1}
    ids.forget(4)
    assert ids.aliases == {3: 2, 2: 1}
    ids.forget(1)
    assert ids.aliases == {}


def test_aliases_that_were_given_are_known():
    ids = EventIds()
    ids.aliases = {3: 2, 2: 1, 7: 5}
    ids.forget(1)
    assert ids.aliases == {7: 5}
