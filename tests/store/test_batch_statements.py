"""Rows that are written together are those that are written one by one, in both databases."""

import pytest

from isogloss.exceptions import StoreError
from isogloss.store.postgres import batch_statement

PUT = "INSERT INTO note VALUES (?, ?, ?, ?) ON CONFLICT (n, who) DO UPDATE SET said = excluded.said"
ROWS = [(n % 5, f"who {n}", f'{{"a\\b": "c, \'{n}\'", "雨": null}}', n / 3) for n in range(20)]


@pytest.fixture
def notes(database):
    with database.write() as session:
        session.run(
            "CREATE TABLE note (n BIGINT, who TEXT, said TEXT, size DOUBLE PRECISION, PRIMARY KEY (n, who))"
        )
    return database


def held(database):
    with database.read() as session:
        return session.run("SELECT n, who, said, size FROM note ORDER BY n, who")


@pytest.mark.parametrize(
    "rows", [ROWS[:2], ROWS, [*ROWS, (0, "who 0", "again", 0.5)], [*ROWS, (1, "", None, 1.0)]]
)
def test_many_rows_are_put_as_one_after_the_other(notes, rows):
    with notes.write() as session:
        session.run_many(PUT, rows[:1])
        session.run_many(PUT, rows)
    last = {row[:2]: row for row in rows}
    sizes = {row[:2]: row[3] for row in reversed(rows)}
    assert held(notes) == [(*row[:3], sizes[key]) for key, row in sorted(last.items())]


def test_many_values_are_deleted_at_once(notes):
    with notes.write() as session:
        session.run_many(PUT, ROWS)
        session.run_many("DELETE FROM note WHERE n = ?", [(0,), (1,), (2,), (3,), (99,)])
    assert {row[0] for row in held(notes)} == {4}
    with notes.write() as session:
        session.run_many("DELETE FROM note WHERE who = ?", [(f"who {n}",) for n in range(20)])
    assert held(notes) == []


def test_a_reader_may_not_write_and_sees_one_moment(notes):
    with notes.read() as session:
        assert session.run("SELECT count(*) FROM note") == [(0,)]
        with notes.write() as writer:
            writer.run_many(PUT, ROWS)
        assert session.run("SELECT count(*) FROM note") == [(0,)]
    with pytest.raises(StoreError), notes.read() as session:
        session.run("DELETE FROM note")
    assert len(held(notes)) == len(ROWS)


def test_other_statements_and_mixed_values_are_left_alone():
    assert batch_statement("UPDATE note SET said = ? WHERE n = ?", [("a", 1)] * 9) is None
    assert batch_statement("INSERT INTO note SELECT n, ? FROM other WHERE n = ?", [("a", 1)] * 9) is None
    assert batch_statement("INSERT INTO note VALUES (?)", [(1,), (None,)]) is None
    assert batch_statement("INSERT INTO note VALUES (?)", [(1,), (2.0,)]) is None
    assert batch_statement("INSERT INTO note VALUES (?)", []) is None
