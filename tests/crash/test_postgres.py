"""RELIABILITY 1, 8: a server that is killed while articles come, and started again."""

import tempfile
import threading
import time
from pathlib import Path

import pytest

from isogloss.exceptions import StoreBusyError
from isogloss.service._group_commit import GroupWriter
from isogloss.store import PostgresDatabase, Store, check_store
from tests.crash.test_store import article
from tests.waiting import LIMIT_S, wait_until
from tools.private_postgres import PrivatePostgres, programs

"""Seconds in which something must have happened."""


@pytest.fixture(scope="module")
def careful():
    """A server that syncs what it commits."""
    if (folder := programs()) is None:
        pytest.skip("no PostgreSQL here: initdb is not in the test group's wheel nor on the PATH")
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as place:
        server = PrivatePostgres(folder, Path(place)).make()
        server.start()
        yield server
        server.stop()


class Client(threading.Thread):
    """Does something again and again, and tries again where the store says so."""

    def __init__(self, act):
        super().__init__(daemon=True)
        self.act, self.done, self.refused, self.failed = act, 0, 0, None
        self.ended = threading.Event()

    def run(self):
        try:
            while not self.ended.is_set():
                try:
                    self.act(self.done)
                    self.done += 1
                except StoreBusyError:
                    self.refused += 1
                    time.sleep(0.02)
        except BaseException as error:
            self.failed = error

    def go_on(self, times):
        """Wait until it has done it so many times more."""
        wanted = self.done + times
        wait_until(lambda: self.done >= wanted or self.failed)
        assert self.failed is None


def test_what_a_killed_server_acknowledged_is_there_and_the_service_continues(careful):
    with Store(PostgresDatabase(careful.url, connections=3)) as store:
        writer = GroupWriter(store)
        clients = [
            Client(lambda number: writer.add([article(number)]).result()),
            Client(lambda number: writer.add([article(10**6 + number)], key=f"k{number}").result()),
            Client(lambda _: store.journal(limit=5)),
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.go_on(10)
        careful.stop()
        careful.start()
        for client in clients:
            client.go_on(10)
        for client in clients:
            client.ended.set()
            client.join(LIMIT_S)
        writer.close()
        held = [int(entry.article.id) for entry in store.journal(limit=10**6)]
        assert len(held) == len(set(held))
        acknowledged = {*range(clients[0].done), *range(10**6, 10**6 + clients[1].done)}
        assert acknowledged <= set(held)
        assert check_store(store) == []


def test_a_commit_waits_for_the_disk_whatever_the_server_is_used_to(careful):
    database = PostgresDatabase(f"{careful.url}&options=-csynchronous_commit%3Doff")
    with database.write() as session:
        assert session.run("SHOW synchronous_commit") == [("on",)]
    database.close()
    patient = PostgresDatabase(f"{careful.url}&options=-csynchronous_commit%3Dremote_apply")
    with patient.write() as session:
        assert session.run("SHOW synchronous_commit") == [("remote_apply",)]
    assert "warning" not in patient.describe()
    patient.close()


def test_a_server_that_does_not_wait_for_the_disk_is_warned_of(postgres):
    assert "set fsync = on" in postgres.describe()["warning"]
