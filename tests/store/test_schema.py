"""RELIABILITY 6: databases of every version are brought to this one, whenever the machine stops."""

import pytest

from isogloss.exceptions import StoreError, StoreVersionError
from isogloss.store import Store, migrate
from isogloss.store.schema import STEPS, version_of

GROWTH = (
    *STEPS,
    ("ALTER TABLE article ADD COLUMN mood TEXT", "CREATE TABLE extra (id {serial}, data {blob})"),
)


def test_an_empty_database_takes_every_step_once(database):
    assert migrate(database) == len(STEPS)
    assert migrate(database) == 0
    assert version_of(database) == len(STEPS)


def test_a_store_of_the_version_before_keeps_its_articles(store):
    with store.database.write() as session:
        session.run("INSERT INTO feed VALUES ('https://a.example', '{}')")
    assert migrate(store.database, GROWTH) == 1
    assert store.counts()["feed"] == 1


def test_a_newer_database_is_refused_and_left_alone(store):
    migrate(store.database, GROWTH)
    with pytest.raises(StoreVersionError, match="install a newer isogloss"):
        migrate(store.database)
    assert version_of(store.database) == len(GROWTH)


def test_a_step_that_stops_anywhere_is_taken_whole_later(database):
    migrate(database)
    for broken in range(len(GROWTH[-1])):
        cut = (*STEPS, (*GROWTH[-1][:broken], "SELECT planted FROM nowhere"))
        with pytest.raises(StoreError):
            migrate(database, cut)
        assert version_of(database) == len(STEPS)
    assert migrate(database, GROWTH) == 1


def test_a_store_that_cannot_be_brought_up_is_closed(tmp_path):
    with Store(tmp_path / "news.db") as store, store.database.write() as session:
        session.run("INSERT INTO schema_version VALUES (99)")
    with pytest.raises(StoreVersionError, match="version 99"):
        Store(tmp_path / "news.db")
    assert not (tmp_path / "news.db-wal").exists()
