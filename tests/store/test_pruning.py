"""Pruning deletes whole stories that are old, with all that belongs to them and nothing else."""

from datetime import timedelta

from isogloss.store import (
    ClusterRow,
    EventRow,
    LinkRow,
    Update,
    check_store,
    newest_article_time,
    plan_prune,
    prune_before,
)
from isogloss.store.queries import apply_update

from .test_articles import DAY, article


def test_old_articles_go_with_their_clusters_and_events(store):
    store.add([article(number) for number in range(4)])
    store.add([article(1, "It pours.")])
    stamps = [int((DAY + timedelta(minutes=number)).timestamp() * 1e6) for number in range(4)]
    with store.database.write() as session:
        apply_update(
            session,
            Update(
                0,
                4,
                clusters=[
                    ClusterRow(1, "en", "e1", stamps[0], stamps[1], [1, 2]),
                    ClusterRow(2, "en", "e2", stamps[2], stamps[2], [3]),
                ],
                events=[
                    EventRow("e1", stamps[0], stamps[1], 2, ["en"], [("concept", "rain")]),
                    EventRow("e2", stamps[2], stamps[2], 1, ["en"]),
                ],
                links=[LinkRow(1, 2, 0.2)],
                aliases=[("e0", "e1")],
                checkpoint_parts=[("events", 4, b"state")],
            ),
        )
    cutoff = DAY + timedelta(minutes=2)
    assert plan_prune(store, cutoff).articles == 0  # one of the two was revised since, and no state has that
    assert prune_before(store, cutoff) == 0
    assert store.event("e0")["id"] == "e1"
    with store.database.write() as session:
        apply_update(session, Update(4, 5, checkpoint_parts=[("events", 5, b"state")]))
    plan = plan_prune(store, cutoff, examples=1)
    assert (plan.articles, plan.events, plan.total, plan.percent) == (2, 1, 4, 50.0)
    assert (plan.oldest, plan.newest) == (DAY, DAY + timedelta(minutes=1))
    assert plan.examples == ((DAY, article(0).title),)
    assert store.counts()["article"] == 4
    assert prune_before(store, cutoff) == 2
    assert store.tallies() == {"pruned": 2}
    assert store.event("e0") is None
    counts = store.counts()
    assert (counts["article"], counts["revision"], counts["cluster"], counts["event"]) == (2, 0, 1, 1)
    assert counts["link"] == 0
    assert [entry.article.id for entry in store.journal()] == ["2", "3"]
    assert check_store(store) == []


def told(store, *clusters, line=0):
    """Clusters of one event, by the numbers of their articles, as of a state that is saved."""
    stamps = {number: int((DAY + timedelta(minutes=number)).timestamp() * 1e6) for number in range(9)}
    rows = [
        ClusterRow(at, "en", "e1", stamps[own[0] - 1], stamps[own[-1] - 1], own)
        for at, own in enumerate(clusters, 1)
    ]
    first, last = min(row.first for row in rows), max(row.last for row in rows)
    event = EventRow("e1", first, last, sum(map(len, clusters)), ["en"])
    after = store.journal()[-1].seq
    state = [("events", after, b"state")]
    store.apply(Update(line, after, clusters=rows, events=[event], checkpoint_parts=state))


def test_an_event_goes_as_a_whole_when_its_last_article_is_old(store):
    store.add([article(number) for number in range(3)])
    told(store, [1], [2, 3])
    assert prune_before(store, DAY + timedelta(minutes=2)) == 0
    assert store.counts()["article"] == 3
    assert prune_before(store, DAY + timedelta(minutes=3)) == 3
    assert [store.counts()[kind] for kind in ("article", "cluster", "event", "journal")] == [0, 0, 0, 0]


def test_a_story_with_lines_that_no_saved_state_covers_stays_whole(store):
    store.add([article(number) for number in range(2)])
    told(store, [1, 2])
    store.add([article(2)])
    told(store, [1, 2, 3], line=2)
    with store.database.write() as session:
        session.run("DELETE FROM snapshot WHERE seq = 3")
    assert prune_before(store, DAY + timedelta(days=1)) == 0
    assert [entry.seq for entry in store.journal()] == [1, 2, 3]


def test_refused_records_go_too(store):
    store.add([], refused=[("without time", "no time", {})], now=DAY)
    store.add([], refused=[("without time", "no time", {})], now=DAY + timedelta(days=2))
    assert plan_prune(store, DAY + timedelta(days=1)).records == 1
    prune_before(store, DAY + timedelta(days=1))
    assert store.counts()["quarantine"] == 1


def test_articles_that_no_cluster_has_yet_stay(store):
    store.add([article(1)])
    store.apply(Update(0, 1, checkpoint_parts=[("events", 1, b"state")]))
    assert prune_before(store, DAY + timedelta(days=9)) == 0
    assert store.counts()["article"] == 1


def stories(store, *sizes):
    """Events with so many articles each, one after the other, as of a state that is saved."""
    store.add([article(number) for number in range(sum(sizes))])
    clusters, events, first = [], [], 1
    for at, size in enumerate(sizes, 1):
        members = list(range(first, first + size))
        times = [int((DAY + timedelta(minutes=each - 1)).timestamp() * 1e6) for each in members]
        clusters.append(ClusterRow(at, "en", f"e{at}", times[0], times[-1], members))
        events.append(EventRow(f"e{at}", times[0], times[-1], size, ["en"]))
        first += size
    after = store.journal()[-1].seq
    store.apply(
        Update(0, after, clusters=clusters, events=events, checkpoint_parts=[("events", after, b"state")])
    )


def test_a_run_that_is_stopped_has_deleted_whole_stories(store, monkeypatch):
    monkeypatch.setattr("isogloss.store._pruning.ARTICLES_PER_TRANSACTION", 3)
    stories(store, 2, 5, 1, 1, 4, 2)
    parts, asked = [], iter([True, True, False])
    cutoff = DAY + timedelta(days=1)
    assert prune_before(store, cutoff, should_continue=lambda: next(asked), progress=parts.append) == 13
    assert parts == [7, 6]
    assert check_store(store) == []
    (left,) = (store.event(each["id"]) for each in store.events().events)
    assert [len(cluster["articles"]) for cluster in left["clusters"]] == [2]


def test_every_story_is_deleted_however_small_the_parts_are(store, monkeypatch):
    monkeypatch.setattr("isogloss.store._pruning.ARTICLES_PER_TRANSACTION", 1)
    stories(store, 2, 3, 1)
    assert prune_before(store, DAY + timedelta(minutes=5)) == 5
    assert [each["id"] for each in store.events().events] == ["e3"]
    assert check_store(store) == []


def test_a_story_stays_while_one_of_its_articles_is_newer(store):
    stories(store, 2)
    later = int((DAY + timedelta(days=3)).timestamp() * 1e6)
    with store.database.write() as session:
        session.run("UPDATE article SET time = ? WHERE seq = 1", [later])
    assert prune_before(store, DAY + timedelta(days=1)) == 0


def test_clusters_that_lost_their_event_go_too(store):
    stories(store, 2, 1)
    with store.database.write() as session:
        session.run("DELETE FROM event WHERE id = 'e1'")
    plan = plan_prune(store, DAY + timedelta(days=1), examples=9)
    assert (plan.articles, plan.events, len(plan.examples)) == (3, 1, 3)
    assert prune_before(store, DAY + timedelta(days=1)) == 3
    assert [store.counts()[kind] for kind in ("article", "cluster", "event", "journal")] == [0, 0, 0, 0]


def test_the_newest_article_is_not_one_of_the_future(store):
    assert newest_article_time(store, DAY) is None
    stories(store, 2)
    store.add([article(50)])
    assert newest_article_time(store, DAY + timedelta(days=1)) == DAY + timedelta(minutes=1)
    assert newest_article_time(store, DAY + timedelta(days=1), in_event=False) == DAY + timedelta(minutes=50)
    assert newest_article_time(store, DAY + timedelta(seconds=59)) == DAY
