"""Events in the tables: whole updates, and pages that neither repeat nor hide."""

import base64
import json

import pytest

from isogloss.exceptions import StoreError
from isogloss.store import ClusterRow, EventQuery, EventRow, LinkRow, Update
from isogloss.store.queries import (
    apply_update,
    changed_since,
    cluster_links,
    event_clusters,
    find_events,
    read_event,
    read_position,
    stale_checkpoint_parts,
)

from .test_articles import article

HUGE = base64.urlsafe_b64encode(json.dumps(["last", 1 << 70, "a"]).encode()).decode()


def event(number, last, languages=("en",), size=1, terms=()):
    return EventRow(f"e{number}", 0, last, size, languages, terms, {"title": {"en": f"Event {number}"}})


@pytest.fixture
def filled(store):
    store.add([article(number) for number in range(6)])
    update = Update(
        before=0,
        after=6,
        events=[
            event(1, 100, ("en", "de"), 4, [("place", "geo:1")]),
            event(2, 300, ("en",), 2, [("place", "geo:1"), ("concept", "rain")]),
            event(3, 200, ("ru",), 9),
        ],
        clusters=[ClusterRow(1, "en", "e1", 0, 100, [1, 2]), ClusterRow(2, "de", "e1", 5, 90, [3, 4])],
        links=[LinkRow(2, 1, 0.9, {"features": {"timeDiff": 1.0}})],
        checkpoint_parts=[("events", 6, b"state")],
    )
    with store.database.write() as session:
        apply_update(session, update)
    return store


def ask(store, function, *arguments):
    with store.database.read() as session:
        return function(session, *arguments)


def ids(store, **query):
    return [each["id"] for each in ask(store, find_events, EventQuery(**query)).events]


def test_events_by_time_language_place_and_size(filled):
    assert ids(filled) == ["e2", "e3", "e1"]
    assert ids(filled, sort="size") == ["e3", "e1", "e2"]
    assert ids(filled, terms=[("lang", "en")]) == ["e2", "e1"]
    assert ids(filled, terms=[("place", "geo:1"), ("concept", "rain")]) == ["e2"]
    assert ids(filled, min_languages=2) == ["e1"]
    assert ids(filled, without=["en"]) == ["e3"]
    assert ids(filled, without=["en", "de", "xx"], sort="size") == ids(filled, without=["de", "en"])
    assert ids(filled, since=150, until=250) == ["e2", "e3"]
    assert ids(filled, ids=["e3", "e9"]) == ["e3"]
    assert ids(filled, ids=[]) == []


@pytest.mark.parametrize("sort", ["importance", "last", "size", "languages", "changed"])
def test_pages_join_to_the_whole(store, sort):
    rows = [event(number, number % 5, size=number % 3 + 1) for number in range(23)]
    with store.database.write() as session:
        apply_update(session, Update(0, 1, events=rows))
    whole, cursor = [], ""
    while True:
        page = ask(store, find_events, EventQuery(sort=sort, limit=4, cursor=cursor))
        whole += [each["id"] for each in page.events]
        if not (cursor := page.cursor):
            break
    assert whole == ids(store, sort=sort, limit=200)
    assert len(set(whole)) == 23


@pytest.mark.parametrize(
    "cursor", ["x", "%%%", "W10=", "WyJzaXplIiwgMSwgImEiXQ==", "WyJsYXN0IiwgMWU5OSwgImEiXQ==", HUGE]
)
def test_cursors_of_elsewhere_are_refused(filled, cursor):
    with pytest.raises(StoreError, match="start without a cursor"):
        ids(filled, cursor=cursor)


@pytest.mark.parametrize(("query", "said"), [({"sort": "id"}, "sort is 'id'"), ({"limit": 0}, "limit is 0")])
def test_bad_queries(filled, query, said):
    with pytest.raises(StoreError, match=said):
        ids(filled, **query)


def test_an_event_with_its_clusters_and_links(filled):
    told = ask(filled, read_event, "e1")
    assert (told["title"], told["size"], told["languages_count"]) == ({"en": "Event 1"}, 4, 2)
    clusters = ask(filled, event_clusters, "e1")
    assert [(each["lang"], each["articles"]) for each in clusters] == [("en", [1, 2]), ("de", [3, 4])]
    (link,) = ask(filled, cluster_links, [1])
    assert (link["a"], link["b"], link["features"]) == (1, 2, {"timeDiff": 1.0})
    assert ask(filled, read_event, "e9") is None


def test_an_event_that_joined_another_is_found_by_its_old_id(filled):
    for before, old, new in [(6, "e1", "e2"), (7, "e2", "e3")]:
        with filled.database.write() as session:
            apply_update(session, Update(before, before + 1, removed_events=[old], aliases=[(old, new)]))
    assert ask(filled, read_event, "e1")["id"] == "e3"
    assert ask(filled, read_event, "e2")["id"] == "e3"


def test_what_changed_comes_in_order(filled):
    with filled.database.write() as session:
        apply_update(session, Update(6, 9, events=[event(1, 400)]))
    assert [each["id"] for each in ask(filled, changed_since, 6)] == ["e1"]
    assert [each["id"] for each in ask(filled, changed_since, 0)] == ["e2", "e3", "e1"]


def test_an_update_from_elsewhere_is_refused_whole(filled):
    with pytest.raises(StoreError, match="starts at journal line 2"), filled.database.write() as session:
        apply_update(session, Update(2, 9, events=[event(7, 1)]))
    assert ask(filled, read_position) == 6
    assert ask(filled, read_event, "e7") is None


def test_a_cluster_that_is_gone_takes_its_links(filled):
    with filled.database.write() as session:
        apply_update(
            session, Update(6, 7, removed_clusters=[2], clusters=[ClusterRow(1, "en", "e1", 0, 1, [1, 2, 3])])
        )
    assert ask(filled, cluster_links, [1]) == []
    assert ask(filled, event_clusters, "e1")[0]["articles"] == [1, 2, 3]


def test_the_store_answers_the_same(filled):
    assert filled.position() == 6
    assert filled.latest_checkpoint() == (6, b"state")
    assert [each["id"] for each in filled.events().events] == ids(filled)
    assert [each["id"] for each in filled.event("e1")["clusters"]] == [1, 2]
    assert filled.event("e1")["links"][0]["probability"] == 0.9
    assert filled.event("none") is None
    assert len(filled.changed_events(0)) == 3
    filled.apply(Update(6, 7, checkpoint_parts=[("events", 7, b"b")]))
    filled.apply(
        Update(7, 8, checkpoint_parts=[("part 1", 8, b"d"), ("part 0", 8, b"c"), ("events", 8, b"")])
    )
    assert filled.latest_checkpoint() == (8, b"cd")
    assert ask(filled, stale_checkpoint_parts) == [("events", 6)]
    filled.apply(Update(8, 8, stale_parts=[("events", 6)]))
    assert ask(filled, stale_checkpoint_parts) == []
    filled.apply(Update(8, 8, stale_parts=[("events", 7), ("events", 8)]))
    assert filled.latest_checkpoint() is None


def test_a_pair_of_clusters_is_the_same_in_either_order(filled):
    assert filled.clusters_exist(1, 2)
    assert not filled.clusters_exist(1, 3)
    assert filled.link(2, 1) == filled.link(1, 2)
    assert (filled.link(1, 2)["a"], filled.link(1, 2)["probability"]) == (1, 0.9)
    assert filled.link(1, 3) is None
    assert filled.add_verdict(2, 1, same=True, note="a\0b") == (1, 1, 3)
    assert filled.add_verdict(1, 2, same=False, note="") == (2, 1, 3)
    with filled.database.read() as session:
        rows = session.run("SELECT a, b, same, note FROM verdict ORDER BY seq")
    assert rows == [(1, 2, 1, "a b"), (1, 2, 0, "")]
