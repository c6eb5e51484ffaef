"""The consistency check finds what is wrong with a store."""

from isogloss.store import check_store

from .test_articles import article


def test_a_missing_journal_line_is_reported(store):
    store.add([article(1)])
    with store.database.write() as session:
        session.run("DELETE FROM journal")
    assert check_store(store) == ["1 articles without a journal line"]
