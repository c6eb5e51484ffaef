"""The change tracker writes what changed and nothing else, and explains links in bulk."""

import json
from dataclasses import replace

import pytest

from isogloss.events import EventStream, EventStreamSettings
from isogloss.events.cluster import ClusterSettings
from isogloss.events.ingest import sample_news
from isogloss.events.stream import StreamChanges
from isogloss.service.worker._read_model_changes import MIN_LINK_PROBABILITY, ChangeTracker, explain_links

ARTICLES = [replace(one, id=str(n + 1)) for n, one in enumerate(sample_news().articles[:128])]


@pytest.fixture(scope="module")
def stream():
    """A stream whose updates are noted one by one, with what was noted."""
    stream = EventStream(EventStreamSettings(update_every=4))
    tracker, updates = ChangeTracker(stream), []

    def note(changes):
        tracker.record(changes)
        updates.append(tracker.take_update(0, 1))

    stream.observer = note
    stream.add(ARTICLES)
    stream.update()
    return stream, updates


def test_links_are_explained_in_bulk_as_one_by_one(stream):
    links = stream[0].links
    known = stream[0].tracker.probabilities
    pairs = [(a, b) for a in known for b in known[a] if a < b]
    assert len(pairs) > 20
    for row in explain_links(links, pairs):
        link = links.link(row.a, row.b)
        assert row.probability == pytest.approx(link.probability, abs=1e-8)
        data = json.loads(row.data)
        told = {name: value for name, value in data["features"].items() if value is not None}
        assert told == pytest.approx({k: v for k, v in link.features.items() if v == v}, rel=1e-5, abs=1e-6)
        shares = links.linker.contributions(link.features)
        assert data["contributions"] == pytest.approx(shares, rel=1e-5, abs=1e-6)
        assert [s for _, _, s in data["pairs"]] == pytest.approx([s for _, _, s in link.pairs], abs=1e-4)
        assert all(links.cluster_of[str(one)] == row.a for one, _, _ in data["pairs"])
        assert all(links.cluster_of[str(other)] == row.b for _, other, _ in data["pairs"])


def test_updates_add_up_to_the_stream(stream):
    stream, updates = stream
    events, clusters, member, links = {}, {}, {}, set()
    for update in updates:
        links = {pair for pair in links if {*update.removed_clusters, *update.relinked}.isdisjoint(pair)}
        links |= {(row.a, row.b) for row in update.links}
        for gone in update.removed_clusters:
            clusters.pop(gone, None)
        for gone in update.removed_events:
            events.pop(gone, None)
        events |= {row.id: row for row in update.events}
        clusters |= {row.id: row for row in update.clusters}
        member |= {article: row.id for row in update.clusters for article in row.joined}
    afresh = ChangeTracker(EventStream())
    afresh.stream = stream
    afresh.record(StreamChanges(events=set(stream.tracker.ids.members)))
    whole = afresh.take_update(0, 1)
    assert len(whole.events) > 20
    current = {pair for pair in links if stream.tracker.ids.event_of.keys() >= set(pair)}
    assert current == {(row.a, row.b) for row in whole.links}
    for row in whole.events:
        assert replace(events[row.id], terms_unchanged=False) == replace(row, terms_unchanged=False)
    for row in whole.clusters:
        assert replace(clusters[row.id], joined=None) == replace(row, joined=None)
        assert {member[article] for article in row.members} == {row.id}


def test_an_unchanged_event_is_not_written_again(stream):
    stream, updates = stream
    later = [update for update in updates[1:] if update.events]
    assert max(len(update.events) for update in later) < len(stream.tracker.ids.members)
    rows = [row for update in later for row in update.clusters]
    assert sum(len(row.joined) for row in rows) < sum(len(row.members) for row in rows)
    assert any(row.terms_unchanged for update in later for row in update.events)


def test_changes_of_two_updates_are_merged():
    apart, together = EventStream(), EventStream()
    tracker, kept = ChangeTracker(apart), ChangeTracker(together)
    terms, found = {}, []
    apart.observer = lambda changes: (tracker.record(changes), found.append(tracker.take_update(0, 1)))
    together.observer = kept.record
    apart.add(ARTICLES)
    together.add(ARTICLES)
    update = kept.take_update(0, 1)
    for each in found:
        terms |= {row.id: row for row in each.events}
    assert {row.id for row in update.events} == set(terms) - {old for old, _ in update.aliases}
    assert not any(row.terms_unchanged for row in update.events)
    assert all(sorted(row.joined) == sorted(row.members) for row in update.clusters)


def test_links_of_two_updates_are_those_of_the_last():
    """An update that is never taken in between tells of no link that was likely only then."""
    stream = EventStream(EventStreamSettings(update_every=4))
    tracker = ChangeTracker(stream)
    stream.observer = tracker.record
    stream.add(ARTICLES)
    event_of, known = stream.tracker.ids.event_of, stream.tracker.probabilities
    current = [row for row in tracker.take_update(0, 1).links if event_of.keys() >= {row.a, row.b}]
    assert len(current) > 30
    assert all(known[row.a][row.b] >= MIN_LINK_PROBABILITY for row in current)
    assert {event_of[row.a] == event_of[row.b] for row in current} == {True, False}


def links_in_tables(restart_every):
    """Return a stream and the links in its tables, with a new tracker after every so many updates."""
    stream, links = EventStream(EventStreamSettings(ClusterSettings(window=2.0), update_every=4)), {}
    tracker, count = ChangeTracker(stream), 0

    def note(changes):
        nonlocal tracker, count
        tracker.record(changes)
        update = tracker.take_update(0, 1)
        for pair in list(links):
            if not {*update.removed_clusters, *update.relinked}.isdisjoint(pair):
                del links[pair]
        links.update({(row.a, row.b): row for row in update.links})
        count += 1
        if count % restart_every == 0:
            tracker = ChangeTracker(stream)

    stream.observer = note
    stream.add(ARTICLES)
    stream.update()
    return stream, links


def test_a_restart_keeps_links_to_expired_clusters():
    """They can no longer be computed, so a new tracker must leave them alone."""
    stream, links = links_in_tables(restart_every=10_000)
    held = stream.tracker.ids.event_of.keys()
    assert any(len(held & set(pair)) == 1 for pair in links)
    assert links_in_tables(restart_every=1)[1] == links
