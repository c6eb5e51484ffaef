"""A server that goes away, and hosts that are cut off from it."""

import socket
import tempfile
from pathlib import Path

import pytest

from isogloss.exceptions import StoreBusyError, StoreError
from isogloss.service.worker import Lease
from isogloss.store import PostgresDatabase, Store
from tools.private_postgres import PrivatePostgres, programs


@pytest.fixture(scope="module")
def listening():
    """The URL of a server that listens on an address, as hosts reach it."""
    if (folder := programs()) is None:
        pytest.skip("no PostgreSQL here: initdb is not in the test group's wheel nor on the PATH")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as place:
        options = f"-c listen_addresses=127.0.0.1 -p {port} -c fsync=off"
        started = PrivatePostgres(folder, Path(place), options).make()
        started.start()
        yield f"postgresql://isogloss@127.0.0.1:{port}/postgres"
        started.stop()


def asked(connection, name):
    return connection.execute(f"SHOW {name}").fetchone()[0]


def watched(connection):
    """Seconds after which each end takes the other for gone, where nothing is under way."""
    theirs = [int(asked(connection, f"tcp_keepalives_{name}")) for name in ("idle", "interval", "count")]
    ours = connection.info.get_parameters()
    mine = [int(ours[f"keepalives_{name}"]) for name in ("idle", "interval", "count")]
    return [idle + interval * count for idle, interval, count in (mine, theirs)]


def test_both_ends_of_a_connection_notice_within_a_quarter_of_a_minute_that_a_host_is_cut_off(listening):
    with Store(listening) as store:
        for pool in (store.database._pool, store.database._readers):
            with pool.connection() as connection:
                assert watched(connection) == [15, 15]
                assert asked(connection, "tcp_user_timeout") == "15000"
                assert connection.info.get_parameters()["tcp_user_timeout"] == "15000"
                assert asked(connection, "idle_in_transaction_session_timeout") == "1min"
        lease = Lease(store)
        assert lease.acquire()
        assert watched(lease._lock._connection) == [15, 15]
        lease.release()


def test_an_address_may_say_how_long_to_wait(listening):
    database = PostgresDatabase(f"{listening}?keepalives_idle=30")
    with database._pool.connection() as connection:
        assert connection.info.get_parameters()["keepalives_idle"] == "30"
    database.close()


def test_a_connection_that_is_lost_is_a_reason_to_try_again(postgres):
    def interrupted():
        with postgres.write() as session:
            session.run("SELECT pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(StoreBusyError, match="terminating connection"):
        interrupted()
    with postgres.write() as session:
        assert session.run("SELECT 1") == [(1,)]


def test_an_address_where_nothing_answers_is_a_mistake():
    with pytest.raises(StoreError, match="Connection refused") as raised:
        PostgresDatabase("postgresql://isogloss@127.0.0.1:1/postgres")
    assert not isinstance(raised.value, StoreBusyError)
