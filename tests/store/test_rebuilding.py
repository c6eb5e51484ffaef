"""Rebuilt tables take the place of the others, with the ids of stories that are the same."""

import pytest

from isogloss.exceptions import StoreError
from isogloss.store import (
    ClusterRow,
    EventRow,
    LinkRow,
    PublicIds,
    RebuildResult,
    Update,
    check_store,
    delete_articles,
)
from isogloss.store.queries import LAST_CLUSTER_ID, LAST_EVENT_ID, LINES_READ, compile_update

from .test_articles import article

DATA = {"pairs": [[1, 3, 0.9]], "features": {}}


def event(number, size, **data):
    return EventRow(f"e{number}", 0, 9, size, ["en"], [("concept", f"c{number}")], data)


@pytest.fixture
def filled(store):
    """Six articles: clusters 10 and 11 in event 5, 12 in event 6, which was 4 before."""
    store.add([article(number) for number in range(6)])
    clusters = [
        ClusterRow(10, "en", "e5", 0, 9, [1, 2], {"title": "a"}),
        ClusterRow(11, "en", "e5", 0, 9, [3], {"title": "b"}),
        ClusterRow(12, "en", "e6", 0, 9, [4, 5, 6], {"title": "c"}),
    ]
    marks = {LAST_CLUSTER_ID: 20, LAST_EVENT_ID: 30, LINES_READ: 6}
    store.apply(
        Update(
            0,
            6,
            clusters,
            [LinkRow(10, 11, 0.7, DATA)],
            [event(5, 3), event(6, 3)],
            aliases=[("e4", "e6")],
            checkpoint_parts=[("events", 6, b"old")],
            progress=marks,
        )
    )
    return store


def rebuilt(store, *, generation=0, clusters=(1, 2, 3), events=(1, 2)):
    """What a stream made of the same articles: it calls the second cluster 1, and has one event for two."""
    ids = store.begin_rebuild()
    rows = [
        ClusterRow(1, "en", "e1", 0, 9, [3], {"title": "b"}),
        ClusterRow(2, "en", "e1", 0, 9, [1, 2, 4], {"title": "a"}),
        ClusterRow(3, "en", "e2", 0, 9, [5, 6], {"title": "c"}),
        ClusterRow(4, "en", "e2", 0, 9, [7], {"title": "new"}),
    ]
    link = LinkRow(1, 2, 0.8, {"pairs": [[3, 1, 0.9]], "features": {}})
    told = Update(0, 7, rows, [link], [event(1, 4), event(2, 3)], generation=generation)
    store.add([article(6)])
    store.apply(compile_update(ids.apply(told), rebuilt=True))
    store.finish_rebuild(ids, RebuildResult(7, 7, 4, 2, clusters, events, ("events", 7, b"new"), generation))


def test_an_update_after_a_rebuild_names_everything_by_its_public_id():
    ids = PublicIds(20, 30, clusters={21: 10}, events={31: 5})
    numbered = Update(
        7,
        8,
        [ClusterRow(1, "en", "e1", 0, 9, [3]), ClusterRow(2, "en", "e2", 0, 9, [4])],
        [LinkRow(2, 1, 0.7, DATA)],
        [event(1, 1), event(2, 1)],
        removed_clusters=[1, 3],
        relinked=[1, 4],
        removed_events=["e1", "e3"],
        aliases=[("e3", "e1")],
    )
    public = ids.apply(numbered)
    assert [(row.id, row.event) for row in public.clusters] == [(10, "e5"), (22, "e32")]
    assert [{row.a, row.b} for row in public.links] == [{10, 22}]
    assert [row.id for row in public.events] == ["e5", "e32"]
    assert (public.removed_clusters, public.relinked) == ([10, 23], [10, 24])
    assert (public.removed_events, public.aliases) == (["e5", "e33"], [("e33", "e5")])
    assert PublicIds().apply(numbered) is numbered


def test_stories_keep_their_ids_and_others_get_new_ones(filled):
    rebuilt(filled)
    with filled.database.read() as session:
        assert session.run("SELECT id, event, size FROM cluster ORDER BY id") == [
            (10, "e5", 3),
            (11, "e5", 1),
            (12, "e6", 2),
            (24, "e6", 1),
        ]
        members = session.run("SELECT article, cluster FROM member ORDER BY article")
        assert members == [(1, 10), (2, 10), (3, 11), (4, 10), (5, 12), (6, 12), (7, 24)]
        assert session.run("SELECT event, term FROM event_term WHERE kind = 'concept' ORDER BY 1") == [
            ("e5", "c1"),
            ("e6", "c2"),
        ]
        assert session.run("SELECT count(*) FROM rebuilt_cluster") == [(0,)]
    (link,) = filled.event("e5")["links"]
    assert (link["a"], link["b"], link["probability"], link["pairs"]) == (10, 11, 0.8, [[1, 3, 0.9]])
    assert filled.event("e4")["id"] == "e6"
    assert filled.latest_checkpoint() == (7, b"new")
    assert [filled.position(name) for name in ("events", LINES_READ, LAST_CLUSTER_ID, LAST_EVENT_ID)] == [
        7,
        7,
        24,
        32,
    ]
    assert check_store(filled) == []


def test_the_stream_continues_with_these_ids(filled):
    rebuilt(filled, clusters=[1, 4], events=[1])
    ids = filled.public_ids()
    assert ids == PublicIds(20, 30, {21: 11}, {31: 5})
    assert [ids.cluster(number) for number in (1, 4, 5)] == [11, 24, 25]
    assert [ids.event(number) for number in (1, 3)] == [5, 33]
    update = Update(
        7, 8, [ClusterRow(5, "en", "e1", 0, 9, [7])], [LinkRow(1, 5, 0.5, DATA)], removed_clusters=[4]
    )
    filled.apply(ids.apply(update))
    assert [each["id"] for each in filled.event("e5")["clusters"]] == [10, 11, 25]


def test_only_events_that_are_others_than_before_have_changed(filled):
    rebuilt(filled)
    assert {each["id"] for each in filled.changed_events(6)} == {"e5"}


def test_an_old_event_without_a_successor_of_its_own_leads_to_where_its_articles_are(filled):
    ids = filled.begin_rebuild()
    whole = ClusterRow(1, "en", "e1", 0, 9, [1, 2, 3, 4, 5, 6])
    filled.apply(compile_update(ids.apply(Update(0, 7, [whole], [], [event(1, 6)])), rebuilt=True))
    filled.finish_rebuild(ids, RebuildResult(7, 6, 1, 1, [1], [1], ("events", 7, b"new"), 0))
    assert {filled.event(name)["id"] for name in ("e4", "e5", "e6")} == {"e5"}


def test_articles_that_were_pruned_meanwhile_are_in_no_cluster(filled):
    ids = filled.begin_rebuild()
    rows = [ClusterRow(1, "en", "e1", 0, 9, [1, 2]), ClusterRow(2, "en", "e2", 0, 9, [3])]
    filled.apply(compile_update(ids.apply(Update(0, 7, rows, [], [event(1, 2), event(2, 1)])), rebuilt=True))
    with filled.database.write() as session:
        session.run("DELETE FROM journal WHERE article IN (2, 3)")
        session.run("DELETE FROM article WHERE seq IN (2, 3)")
    filled.finish_rebuild(ids, RebuildResult(7, 6, 2, 2, [], [], ("events", 7, b"new"), 0))
    assert [each["size"] for each in filled.event("e5")["clusters"]] == [1]
    assert filled.counts()["event"] == 1
    assert check_store(filled) == []


def test_a_rebuild_that_read_a_deleted_article_is_refused(filled):
    delete_articles(filled, [1], who="desk")
    with pytest.raises(StoreError, match="articles were deleted"):
        rebuilt(filled, generation=0)
    assert filled.event("e5")["id"] == "e5"
