"""The consistency check finds what is wrong with a store."""

from isogloss.store import Store, check_store
from isogloss.store.queries import match_articles
from tests.service import data

from .test_articles import article


def test_a_missing_journal_line_is_reported(store):
    store.add([article(1)])
    with store.database.write() as session:
        session.run("DELETE FROM journal")
    assert check_store(store) == ["1 articles without a journal line"]


def test_a_damaged_search_index_is_reported_and_rebuilt(tmp_path):
    """What SQLite's own check of the file overlooks before version 3.44."""
    with Store(tmp_path / "news.db") as store:
        data.fill(store)
        data.store_texts(store)
        with store.database.write() as session:
            session.run("DELETE FROM article_text_data WHERE id > 10")
        (problem,) = check_store(store)
        assert "isogloss doctor --compact" in problem
        store.database.compact()
        assert check_store(store) == []
        with store.database.read() as session:
            assert match_articles(session, "title", [["storm"]], 9)[0] == 2
