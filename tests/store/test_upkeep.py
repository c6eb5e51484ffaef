"""What is too old goes, with all that hangs on it and nothing else."""

from datetime import timedelta

from isogloss.store import forget_before, look_over
from isogloss.store.projection import ClusterRow, EventRow, LinkRow, Update, apply_update

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
                    ClusterRow(2, "de", "e2", stamps[2], stamps[2], [3]),
                ],
                events=[
                    EventRow("e1", stamps[0], stamps[1], 2, ["en"], [("concept", "rain")]),
                    EventRow("e2", stamps[2], stamps[2], 1, ["de"]),
                ],
                links=[LinkRow(1, 2, 0.2)],
                aliases=[("e0", "e1")],
                kept=[("events", 4, b"state")],
            ),
        )
    assert forget_before(store, DAY + timedelta(minutes=2)) == 1  # the other was revised since
    assert store.event("e0")["id"] == "e1"
    with store.database.write() as session:
        apply_update(session, Update(4, 5, kept=[("events", 5, b"state")]))
    assert forget_before(store, DAY + timedelta(minutes=2)) == 1
    assert store.event("e0") is None
    counts = store.counts()
    assert (counts["article"], counts["revision"], counts["cluster"], counts["event"]) == (2, 0, 1, 1)
    assert counts["link"] == 0
    assert [entry.article.id for entry in store.journal()] == ["2", "3"]
    assert look_over(store) == []


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
    store.apply(Update(line, after, clusters=rows, events=[event], kept=state))


def test_an_event_goes_as_a_whole_when_its_last_article_is_old(store):
    store.add([article(number) for number in range(3)])
    told(store, [1], [2, 3])
    assert forget_before(store, DAY + timedelta(minutes=2)) == 0
    assert store.counts()["article"] == 3
    assert forget_before(store, DAY + timedelta(minutes=3)) == 3
    assert [store.counts()[kind] for kind in ("article", "cluster", "event", "journal")] == [0, 0, 0, 0]


def test_lines_that_no_saved_state_stands_for_stay(store):
    store.add([article(number) for number in range(2)])
    told(store, [1, 2])
    store.add([article(2)])
    told(store, [1, 2, 3], line=2)
    with store.database.write() as session:
        session.run("DELETE FROM snapshot WHERE seq = 3")
    assert forget_before(store, DAY + timedelta(days=1)) == 2
    assert [entry.seq for entry in store.journal()] == [3]


def test_refused_records_go_too(store):
    store.add([], refused=[("without time", "no time", {})], now=DAY)
    store.add([], refused=[("without time", "no time", {})], now=DAY + timedelta(days=2))
    forget_before(store, DAY + timedelta(days=1))
    assert store.counts()["quarantine"] == 1


def test_articles_that_no_cluster_has_yet_stay(store):
    store.add([article(1)])
    store.apply(Update(0, 1, kept=[("events", 1, b"state")]))
    assert forget_before(store, DAY + timedelta(days=9)) == 0
    assert store.counts()["article"] == 1


def test_trouble_is_told(store):
    store.add([article(1)])
    with store.database.write() as session:
        session.run("DELETE FROM journal")
    assert look_over(store) == ["1 articles without a line in the journal"]
