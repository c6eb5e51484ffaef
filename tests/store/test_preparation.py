"""Articles that several hosts prepare: each has its own, what one leaves another takes, rows go in time."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from isogloss.store import PostgresDatabase, Update, check_store, prune_before
from isogloss.store.queries import announcement, claim_lines

from .test_articles import DAY, article

WAY = 7


@pytest.fixture
def store(store):
    """A store with ten articles, the fourth of them revised."""
    store.add([article(number) for number in range(10)])
    store.add([article(3, "It pours.")])
    return store


def lines(entries):
    return [entry.seq for entry in entries]


def claimed(store, most=100, owner="a", way=WAY, seconds=60.0):
    return lines(store.claim(owner, way, most=most, seconds=seconds))


def rows(store, after=0, last=1000):
    return store.prepared(after, last)


def test_the_oldest_come_first_and_nobody_gets_them_twice(store):
    assert claimed(store, 4) == [1, 2, 3, 4]
    assert claimed(store, 4, "b") == [5, 6, 7, 8]
    assert claimed(store, 4) == [9, 10]
    assert claimed(store) == []


def test_a_claim_brings_the_text_of_its_line(store):
    told = store.claim("a", WAY, most=4)
    assert told == store.journal(limit=4)
    assert told[3].article.body != "It pours."


def test_what_was_prepared_is_there_and_not_claimed_again(store):
    claimed(store, 4)
    assert store.keep_prepared("a", [(2, b"two"), (1, b"one"), (3, b"three")]) == 3
    assert rows(store) == {1: (WAY, b"one"), 2: (WAY, b"two"), 3: (WAY, b"three")}
    assert rows(store, 1, 2) == {2: (WAY, b"two")}
    assert claimed(store)[0] == 5


def test_a_claim_runs_out_and_another_takes_it(store):
    assert claimed(store, 3, seconds=-1.0) == [1, 2, 3]
    store.keep_prepared("a", [(1, b"one")])
    assert claimed(store, 2, "b") == [2, 3]
    assert store.keep_prepared("a", [(2, b"late")]) == 0
    assert store.keep_prepared("b", [(2, b"two")]) == 1
    assert rows(store)[2] == (WAY, b"two")


def test_claims_are_given_back(store):
    claimed(store, 3)
    store.keep_prepared("a", [(1, b"one")])
    store.forget_claims("b", [1, 2, 3])
    assert claimed(store, 1, "b") == [4]
    store.forget_claims("a", [1, 2, 3])
    assert claimed(store, 2, "b") == [2, 3]
    assert rows(store) == {1: (WAY, b"one")}


def test_rows_go_when_the_tables_come_to_their_line(store):
    claimed(store, 5)
    store.keep_prepared("a", [(number, b"x") for number in range(1, 5)])
    store.apply(Update(0, 3))
    assert list(rows(store)) == [4]
    with store.database.read() as session:
        assert session.run("SELECT seq FROM prepared ORDER BY seq") == [(4,), (5,)]
    assert claimed(store, 1) == [6]
    assert store.keep_prepared("a", [(3, b"late")]) == 0


def test_the_worker_keeps_what_it_has_begun_with(store):
    store.apply(Update(0, 2, begun=6))
    assert claimed(store, 2) == [7, 8]


def test_no_more_is_claimed_than_fits(store):
    with store.database.write_concurrently() as session:
        assert lines(claim_lines(session, "a", WAY, most=100, seconds=60, ahead=3)) == [1, 2, 3]
    store.apply(Update(0, 2))
    with store.database.write_concurrently() as session:
        assert lines(claim_lines(session, "a", WAY, most=100, seconds=60, ahead=3)) == [4, 5]


def test_there_is_nothing_to_be_had_in_another_way_than_the_workers(store):
    claimed(store, 2, way=8)
    store.keep_prepared("a", [(1, b"old")])
    assert claimed(store, 2, "b") == [3, 4]
    store.apply(announcement(0, WAY))
    assert store.way_of_worker() == WAY
    assert claimed(store, way=8) == []
    assert claimed(store, 3, "c") == [1, 2, 5]
    assert rows(store) == {}


def test_counts_add_up(store):
    store.apply(Update(0, 1, tallies={"here": 2, "elsewhere": 0}))
    store.apply(Update(1, 2, tallies={"here": 3}))
    assert dict(store.tallies()) == {"here": 5}


def test_what_is_pruned_leaves_nothing_prepared(store):
    claimed(store, 2)
    with store.database.write() as session:
        session.run("INSERT INTO progress VALUES ('events', 1)")
    prune_before(store, DAY)
    with store.database.read() as session:
        assert session.run("SELECT seq FROM prepared") == [(2,)]
    assert check_store(store) == []


def test_many_at_once_have_disjoint_work(store):
    store.add([article(number) for number in range(10, 400)])

    def work(owner):
        mine = []
        while found := claimed(store, 7, owner):
            mine += found
            store.keep_prepared(owner, [(line, owner.encode()) for line in found])
        return mine

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(work, "abcd"))
    wanted = [entry.seq for entry in store.journal() if entry.kind == "article"]
    assert sorted(line for part in parts for line in part) == wanted
    assert list(rows(store)) == wanted
    assert {data.decode() for _, data in rows(store).values()} <= set("abcd")


def test_the_tables_do_not_wait_for_who_prepares(store):
    claimed(store, 4)
    store.keep_prepared("a", [(1, b"one")])
    if not isinstance(store.database, PostgresDatabase):
        pytest.skip("SQLite has one writer")
    with store.database.write_concurrently() as session:
        session.run("UPDATE prepared SET data = ? WHERE seq = 2", [b"two"])
        store.apply(Update(0, 3))
        assert list(rows(store)) == []
    assert list(rows(store)) == [2]
    store.apply(Update(3, 4))
    assert list(rows(store)) == []


def test_who_saw_an_older_state_gets_nothing_that_was_claimed_since(store):
    if not isinstance(store.database, PostgresDatabase):
        pytest.skip("SQLite has one writer")
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with ThreadPoolExecutor(1) as pool:
        with store.database.write_concurrently() as session:
            session.run(f"INSERT INTO prepared VALUES (1, {WAY}, 'b', {session.now_sql} + 60000000, NULL)")
            late = pool.submit(claimed, store, 4)
            while not session.run(waiting)[0][0]:
                time.sleep(0.01)
        assert late.result() == [2, 3, 4]
