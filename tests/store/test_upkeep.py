"""A look at the store finds what is wrong with it."""

from isogloss.store import look_over

from .test_articles import article


def test_trouble_is_told(store):
    store.add([article(1)])
    with store.database.write() as session:
        session.run("DELETE FROM journal")
    assert look_over(store) == ["1 articles without a line in the journal"]
