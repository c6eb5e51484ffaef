"""One worker at a time, on SQLite and on PostgreSQL."""

import logging
import subprocess
import sys

import pytest

from isogloss.exceptions import StoreError
from isogloss.service.worker import Lease, LeasedWorker
from isogloss.store import Database, PostgresDatabase, Store
from tests.store.conftest import store  # noqa: F401
from tests.waiting import wait_until

HOLD = """
import sys
from isogloss.service.worker import Lease
from isogloss.store import Store
store = Store(sys.argv[1])
print(Lease(store).acquire(), flush=True)
sys.stdin.read()
"""


class Worker:
    """Notes when it works; dies when it is told to."""

    def __init__(self):
        self.starts, self.working = 0, False

    def start(self):
        self.starts, self.working = self.starts + 1, True

    def stop(self):
        self.working = False

    def status(self):
        return {"alive": self.working}


class Wanted(Lease):
    """Counts how often it was asked for."""

    asked = 0

    def acquire(self):
        self.asked += 1
        return super().acquire()


def test_a_lease_is_exclusive_and_passes_on(store):  # noqa: F811
    one, other = Lease(store), Lease(store)
    assert (one.acquire(), one.acquire(), other.acquire()) == (True, True, False)
    assert (one.held(), other.held()) == (True, False)
    one.release()
    assert not one.held()
    with other as mine:
        assert mine
    assert not other.held()
    assert one.acquire()
    one.release()


def test_a_worker_waits_for_the_lease(store):  # noqa: F811
    first, second = Worker(), Worker()
    one = LeasedWorker(first, Lease(store), poll_seconds=0.02)
    other = LeasedWorker(second, lease := Wanted(store), poll_seconds=0.02)
    one.start()
    wait_until(lambda: not one.status()["waiting"])
    other.start()
    wait_until(lambda: lease.asked > 2)
    assert (second.starts, other.status()["alive"], one.status()["waiting"]) == (0, True, False)
    one.stop()
    wait_until(lambda: second.working)
    assert not first.working
    other.stop()
    assert (first.starts, second.starts, second.working) == (1, 1, False)
    assert other.status()["alive"] is False


def test_a_worker_that_died_is_not_alive(store):  # noqa: F811
    worker = Worker()
    leased = LeasedWorker(worker, Lease(store), poll_seconds=0.02)
    leased.start()
    wait_until(lambda: not leased.status()["waiting"])
    worker.working = False
    assert leased.status()["alive"] is False
    leased.stop()


def test_a_lost_lease_stops_the_worker_until_it_is_acquired_again(store):  # noqa: F811
    if not isinstance(store.database, PostgresDatabase):
        pytest.skip("a lock on a file is not lost")
    worker, lease = Worker(), Lease(store)
    leased = LeasedWorker(worker, lease, poll_seconds=0.02)
    leased.start()
    wait_until(lambda: worker.working)
    with store.database.write() as session:
        session.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2"
        )
    wait_until(lambda: worker.starts == 2)
    assert Lease(store).acquire() is False
    leased.stop()


def test_the_lease_of_a_killed_process_is_released(tmp_path):
    path = tmp_path / "news.db"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "True\n"
        with Store(path) as store:
            lease = Lease(store)
            assert not lease.acquire()
            holder.kill()
            holder.wait()
            assert lease.acquire()
            lease.release()


def test_a_lock_file_that_cannot_be_opened(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    (tmp_path / "news.db.worker").mkdir()
    with Store(tmp_path / "news.db") as store:  # noqa: F811
        with pytest.raises(StoreError, match="the worker locks this file"):
            Lease(store).acquire()
        leased = LeasedWorker(Worker(), Lease(store), poll_seconds=0.02)
        leased.start()
        wait_until(lambda: caplog.text.count("cannot acquire the lease of the store") > 1)
        assert leased.status() == {"alive": True, "waiting": True}
        leased.stop()


def test_databases_without_leases():
    class Other:
        database = object.__new__(type("Odd", (Database,), dict.fromkeys(Database.__abstractmethods__)))

    with pytest.raises(StoreError, match="a Odd has no leases"):
        Lease(Other())
