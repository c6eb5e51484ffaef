"""RELIABILITY 6: databases of every version are brought to this one, whenever the machine stops."""

import hashlib
from datetime import UTC, datetime

import pytest

from isogloss.events import Article
from isogloss.exceptions import StoreError, StoreVersionError
from isogloss.store import Store, check_store
from isogloss.store.queries import content_digest
from isogloss.store.schema import STEPS, migrate, version_of
from tests.store import releases

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


def test_a_store_that_cannot_be_migrated_is_closed(tmp_path):
    with Store(tmp_path / "news.db") as store, store.database.write() as session:
        session.run("INSERT INTO schema_version VALUES (99)")
    with pytest.raises(StoreVersionError, match="version 99"):
        Store(tmp_path / "news.db")
    assert not (tmp_path / "news.db-wal").exists()


@pytest.mark.parametrize("version", releases.VERSIONS)
def test_a_store_of_every_released_version_is_migrated_with_all_its_contents(database, version):
    releases.put(database, version)
    before = releases.rows(database, version)
    assert all(before.values())
    store = Store(database)
    assert version_of(database) == len(STEPS)
    after = releases.rows(database, version)
    for table, rows in before.items():  # steps add columns and rows, and take nothing away
        assert {row[: len(rows[0])] for row in after[table]} >= set(rows), table
    assert check_store(store) == []
    assert [entry.article.body for entry in store.journal(5, limit=2)] == ["?", "!"]
    assert store.articles([5])[5] == releases.SENT[0]
    assert [row["body"] for row in store.revisions(6)] == ["?"]
    assert store.event("e0")["links"][0]["probability"] == 0.93
    assert store.latest_checkpoint() == (4, bytes(range(256)))
    assert [receipt.status for receipt in store.add(releases.SENT, key="morning")] == ["new", "new"]
    assert store.add([releases.data.article(7, "en", "Snow")])[0].seq == 7


def test_what_older_versions_kept_of_prepared_articles_goes(database):
    releases.put(database, 5)
    with database.write() as session:
        assert session.run("SELECT count(*) FROM prepared") == [(1,)]
        session.run_many("INSERT INTO progress VALUES (?, 9)", [("preparing",), ("begun",)])
        session.run_many("INSERT INTO tally VALUES (?, 9)", [("prepared_here",), ("pruned",)])
    store = Store(database)
    assert "prepared" not in str(releases.structure(database))
    assert (store.position("preparing"), store.position("begun")) == (0, 0)
    assert store.tallies() == {"here": 3, "pruned": 9}


@pytest.mark.parametrize("version", releases.VERSIONS)
def test_verdicts_of_every_released_version_refer_to_articles(database, version):
    releases.put(database, version)
    Store(database)
    with database.read() as session:
        assert session.run("SELECT a, b, article_a, article_b FROM verdict") == [(1, 2, 1, 3)]


@pytest.mark.parametrize("version", range(1, 4))
def test_articles_of_older_versions_are_recognised_whatever_blanks_their_ids_have(database, version):
    """Up to version 3 the key was the source, a blank and the id, whichever of them had blanks."""
    long = ("very long " * 250).strip()
    said = f"Daily {long}".encode()
    shortened = f"{said[:1967].decode()} {hashlib.blake2b(said, digest_size=16).hexdigest()}"
    old = {
        ("Daily", "News 7"): "Daily News 7",
        ("Daily News", "8"): "Daily News 8",
        ("Daily", long): shortened,
    }
    releases.put(database, version)
    with database.write() as session:
        for number, ((source, name), key) in enumerate(old.items(), 60):
            session.run(
                "INSERT INTO article (seq, key, id, lang, title, body, time, source, url, digest, received, "
                "revision) VALUES (?, ?, ?, 'en', 'Rain', 'It rains.', 0, ?, '', ?, 0, 0)",
                [number, key, name, source, content_digest([article(source, name)])],
            )
    again = Store(database).add([*(article(*each) for each in old), article("Daily News", "7")])
    assert [each.status for each in again] == ["same", "same", "same", "new"]


def article(source, name):
    return Article(name, "en", "Rain", "It rains.", datetime(1970, 1, 1, tzinfo=UTC), source)


@pytest.mark.parametrize("version", releases.VERSIONS)
def test_tables_of_every_released_version_become_those_of_a_new_store(database, version):
    """Red where a released step was changed: add a step, and its files as tests/store/releases.py says."""
    migrate(database)
    new = releases.structure(database)
    _empty(database)
    releases.put(database, version)
    migrate(database)
    assert releases.structure(database) == new


def _empty(database):
    with database.write() as session:
        if database.column_types["blob"] == "BYTEA":
            session.run(f"DROP SCHEMA {database.schema} CASCADE")
            session.run(f"CREATE SCHEMA {database.schema}")
            return
        tables = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' "
            "AND name NOT LIKE 'article_text_%'"  # those of FTS5 go with its table
        )
        session.run("PRAGMA defer_foreign_keys=ON")
        for (name,) in session.run(f"{tables} ORDER BY rowid DESC"):
            session.run(f"DROP TABLE {name}")
