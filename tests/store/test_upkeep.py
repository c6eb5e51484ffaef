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
            ),
        )
    assert forget_before(store, DAY + timedelta(minutes=2)) == 2
    counts = store.counts()
    assert (counts["article"], counts["revision"], counts["cluster"], counts["event"]) == (2, 0, 1, 1)
    assert counts["link"] == 0
    assert [entry.article.id for entry in store.journal()] == ["2", "3"]
    assert look_over(store) == []


def test_articles_that_no_cluster_has_yet_stay(store):
    store.add([article(1)])
    assert forget_before(store, DAY + timedelta(days=9)) == 0
    assert store.counts()["article"] == 1


def test_trouble_is_told(store):
    store.add([article(1)])
    with store.database.write() as session:
        session.run("DELETE FROM journal")
    assert look_over(store) == ["1 articles without a line in the journal"]
