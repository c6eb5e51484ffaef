"""What is over leaves nothing behind, so that a stream may go on for ever."""

from isogloss.events.track._tracker import EventIds


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
