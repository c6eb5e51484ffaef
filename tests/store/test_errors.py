"""What goes wrong in a database is told in classes that say what to do."""

import sqlite3
import threading
from contextlib import closing

import pytest

from isogloss.exceptions import StoreBusyError, StoreError, StoreFullError
from isogloss.store import PostgresDatabase, Store
from isogloss.store.sqlite import APPLICATION_ID
from tests.waiting import wait_until


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("disk_full", StoreFullError),
        ("deadlock_detected", StoreBusyError),
        ("serialization_failure", StoreBusyError),
        ("lock_not_available", StoreBusyError),
        ("admin_shutdown", StoreBusyError),
        ("out_of_memory", StoreBusyError),
        ("program_limit_exceeded", StoreError),
        ("io_error", StoreError),
        ("unique_violation", StoreError),
    ],
)
def test_trying_again_is_for_what_passes(postgres, state, expected):
    with pytest.raises(StoreError, match="PostgreSQL: ") as raised, postgres.write() as session:
        session.run(f"DO $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '{state}'; END $$")
    assert type(raised.value) is expected
    with postgres.write() as session:
        assert session.run("SELECT 1") == [(1,)]


def write(database, *statements):
    with database.write() as session:
        for sql in statements:
            session.run(sql)


def test_an_error_leaves_nothing_behind(database):
    write(database, "CREATE TABLE word (form TEXT NOT NULL)")
    with pytest.raises(StoreError) as raised:
        write(database, "INSERT INTO word VALUES ('rain')", "INSERT INTO word VALUES (NULL)")
    assert type(raised.value) is StoreError
    with pytest.raises(ValueError, match="planted"):
        _interrupted(database)
    with pytest.raises(StoreError), database.read() as session:
        session.run("INSERT INTO word VALUES ('hail')")
    with database.read() as session:
        assert session.run("SELECT count(*) FROM word") == [(0,)]


def _interrupted(database):
    with database.write() as session:
        session.run("INSERT INTO word VALUES ('snow')")
        raise ValueError("planted")


def test_a_database_that_cannot_be_used_is_closed(postgres_server):
    before = set(threading.enumerate())
    with pytest.raises(StoreError, match="read-only transaction"):
        PostgresDatabase(f"{postgres_server}&options=-cdefault_transaction_read_only%3Don", schema="never")
    wait_until(lambda: before.issuperset(threading.enumerate()))


@pytest.mark.parametrize("mark", [0, 252006673])
def test_a_database_of_another_program_is_left_as_it_is(tmp_path, mark):
    path = tmp_path / "addresses.db"
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE person (name TEXT)")
        foreign.execute(f"PRAGMA application_id={mark}")
        foreign.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"of another program \(it has the table person\); nothing was"):
        Store(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["addresses.db"]


def test_a_store_is_marked_also_if_an_older_version_made_it(tmp_path):
    path = tmp_path / "store.db"
    Store(path).close()
    with closing(sqlite3.connect(path)) as opened:
        assert opened.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        opened.execute("PRAGMA application_id=0")
    Store(path).close()
    with closing(sqlite3.connect(path)) as opened:
        assert opened.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
