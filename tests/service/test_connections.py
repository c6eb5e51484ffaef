"""Open connections are bounded; those that wait for their client make room for others."""

import json
import logging
import os
import select
import socket
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
pytest.importorskip("resource")

from isogloss.service.auth import make_token
from isogloss.service.client import Client
from isogloss.service.http import ConnectionLimiter
from isogloss.service.http import _connections as connections
from isogloss.service.server import Server, running
from tests.service import data
from tests.waiting import LIMIT_S, wait_until

HOST = b"Host: 127.0.0.1\r\n"
HEALTH = b"GET /api/v1/health HTTP/1.1\r\n" + HOST + b"\r\n"
FOLLOW = b"GET /api/v1/changes HTTP/1.1\r\n" + HOST + b"\r\n"


@dataclass(eq=False)
class Fake:
    address: str = "192.0.2.1"
    idleness: int = 2
    evicted: bool = field(default=False)

    def evict(self):
        self.evicted = True


def filled(most, per_client, fakes, **options):
    made = ConnectionLimiter(most, per_client, **options)
    assert all(made.add(each) for each in fakes)
    return made


def test_the_oldest_that_waits_for_its_client_makes_room():
    busy, body, old, new = (Fake(idleness=idleness) for idleness in (0, 1, 2, 2))
    made = filled(9, 4, [busy, body, old, new])
    for expected in (old, new):
        assert made.add(Fake(idleness=0))
        assert [each.evicted for each in (busy, body, old, new)].count(True) == [old, new].index(expected) + 1
        assert expected.evicted
    assert made.add(Fake(idleness=0))
    assert (body.evicted, busy.evicted) == (True, False)
    assert not made.add(Fake(idleness=0))
    assert made.add(Fake("192.0.2.2"))
    assert len(made) == 5


def test_beyond_the_limit_of_all_the_client_with_the_most_loses_one():
    few, many = Fake("192.0.2.1"), [Fake("192.0.2.2") for _ in range(3)]
    made = filled(4, 10, [few, *many])
    assert made.add(Fake("192.0.2.3"))
    assert [few.evicted, *(each.evicted for each in many)] == [False, True, False, False]


def test_a_proxy_may_have_more_than_one_client():
    made = filled(9, 2, [Fake("10.0.0.7", 0) for _ in range(9)], unlimited=["10.0.0.0/8"])
    assert not made.add(Fake("10.0.0.7", 0))
    assert len(made) == 9


def test_connections_that_ended_are_forgotten():
    fakes = [Fake(idleness=0) for _ in range(3)]
    made = filled(3, 3, fakes)
    for each in fakes:
        made.remove(each)
        made.remove(each)
    assert len(made) == 0
    assert all(made.add(Fake(idleness=0)) for _ in range(3))


def test_the_log_says_it_once_in_a_while(caplog):
    now = [0.0]
    made = filled(9, 1, [Fake()], clock=lambda: now[0])
    for _ in range(50):
        made.add(Fake())
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    now[0] += connections.LOG_INTERVAL_S
    made.add(Fake("192.0.2.2"))
    assert "limit limits.connections_per_client = 1 of one address: closed 49 idle" in caplog.messages[-1]
    now[0] += connections.LOG_INTERVAL_S
    made.add(Fake("192.0.2.3"))
    assert len(caplog.messages) == 2


@pytest.fixture
def serving(app, monkeypatch):
    """Start a server with other limits; gives how to connect, and the server."""
    made, init, open_servers = [], Server.__init__, []

    def noting(self, *args):
        init(self, *args)
        made.append(self)

    monkeypatch.setattr(Server, "__init__", noting)

    def start(**limits):
        server = running(app, data.settings(**limits))
        port = int(server.__enter__().rpartition(":")[2])
        open_servers.append(server)
        return lambda: socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S), made[-1]

    yield start
    for server in open_servers:
        server.__exit__(None, None, None)


def is_closed(connection):
    return bool(select.select([connection], [], [], 0)[0]) and connection.recv(1) == b""


def read_to(connection, wanted):
    """Read answers until something is in them."""
    said = b""
    while wanted not in said:
        part = connection.recv(1 << 16)
        assert part, said
        said += part


def test_idle_connections_of_one_client_keep_nobody_out(serving):
    connect, server = serving(connections_per_client=10)
    idle = [connect() for _ in range(30)]
    with connect() as last:
        last.sendall(HEALTH)
        assert last.recv(12) == b"HTTP/1.1 200"
        assert len(server.limiter) <= 10
        wait_until(lambda: sum(is_closed(each) for each in idle) >= 20)
    for each in idle:
        each.close()


def test_connections_whose_requests_are_answered_are_left_alone(serving):
    connect, server = serving(connections_per_client=3)
    followers = [connect() for _ in range(3)]
    for each in followers:
        each.sendall(FOLLOW)
        assert each.recv(12) == b"HTTP/1.1 200"
    with connect() as refused:
        head, _, body = refused.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in head
    assert json.loads(body)["error"]["code"] == "overloaded"
    followers.pop().close()
    wait_until(lambda: len(server.limiter) == 2)
    with connect() as welcome:
        welcome.sendall(HEALTH)
        assert welcome.recv(12) == b"HTTP/1.1 200"
    for each in followers:
        each.close()


def test_a_slow_body_makes_room_with_an_answer(serving):
    connect, server = serving(connections_per_client=2)
    slow = [connect() for _ in range(2)]
    for each in slow:
        each.sendall(b"POST /api/v1/similarity HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n{")
    wait_until(lambda: [each.idleness for each in list(server.server_state.connections)] == [1, 1])
    with connect() as reader:
        reader.sendall(HEALTH)
        assert reader.recv(12) == b"HTTP/1.1 200"
    assert slow[0].makefile("rb").read().startswith(b"HTTP/1.1 503 ")
    for each in slow:
        each.close()


def refused_body(connect, sent, length=1000):
    """A connection whose request is refused by its headers, after some bytes of its body."""
    connection = connect()
    head = b"POST /nowhere HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % length
    connection.sendall(head + sent)
    assert connection.recv(12) == b"HTTP/1.1 404"
    return connection


def test_the_rest_of_a_refused_body_is_dropped_and_the_connection_stays_usable(serving):
    connect, _ = serving()
    with refused_body(connect, b"a") as connection:
        for _ in range(9):
            connection.sendall(b"a" * 111)
        connection.sendall(HEALTH)
        read_to(connection, b"HTTP/1.1 200")


def test_the_rest_of_a_refused_body_has_a_deadline(serving, monkeypatch):
    connect, server = serving()
    monkeypatch.setattr(connections, "HEADER_TIMEOUT_S", 0.3)
    with refused_body(connect, b"a") as connection:
        for _ in range(5):  # the timer of idle connections ends when something comes
            connection.sendall(b"a")
        wait_until(lambda: len(server.limiter) == 0)


def test_a_request_that_follows_another_at_once_is_not_taken_for_a_refused_body(serving):
    connect, server = serving()
    post = b"POST /api/v1/similarity HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n"
    with connect() as connection:
        connection.sendall(HEALTH + post)
        assert connection.recv(12) == b"HTTP/1.1 200"
        (served,) = list(server.server_state.connections)
        wait_until(lambda: served.idleness == 1)
        assert served._timer is None
        connection.sendall(b"[1, 2, 3]")
        read_to(connection, b"HTTP/1.1 422")


def test_the_rest_of_a_refused_body_has_a_size(serving, monkeypatch):
    connect, server = serving()
    monkeypatch.setattr(connections, "MAX_DISCARDED_BYTES", 1000)
    with refused_body(connect, b"a", 1 << 20) as connection:
        connection.sendall(b"a" * 4000)
        wait_until(lambda: len(server.limiter) == 0)


def test_who_waits_for_a_go_ahead_is_not_left_out_of_step(filled, serving):
    make_token(filled, ["admin"])
    connect, _ = serving()
    with connect() as connection:
        expecting = (
            b"POST /api/v1/articles HTTP/1.1\r\n"
            + HOST
            + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"
        )
        connection.sendall(expecting)
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 401 ")


SERVED = """
import resource, sys
soft, hard = map(int, sys.argv[2:4])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from isogloss.service.app import create_app
from isogloss.service import log_to_stderr
from isogloss.service.server import listen, serve
from isogloss.store import Store
from tests.service import data
log_to_stderr()
settings = data.settings(connections_per_client=5000)
with Store(sys.argv[1]) as store, listen(settings) as place:
    print(place.getsockname()[1], flush=True)
    app = create_app(settings, store)
    soft_limit = lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    serve(app, settings, place, on_start=lambda: print(soft_limit(), flush=True))
"""


@pytest.fixture
def limited(tmp_path, request):
    """Start a service in a process with a limit of open files; gives its port, that limit, and its log."""
    started = []

    def start(soft, hard):
        log = (tmp_path / "log").open("w+")
        served = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", SERVED, str(tmp_path / "news.db"), str(soft), str(hard)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ | {"PYTHONPATH": str(request.config.rootpath), "OPENBLAS_NUM_THREADS": "1"},
        )
        started.append((served, log))
        port, limit = (int(served.stdout.readline()) for _ in range(2))
        Client(f"http://127.0.0.1:{port}", retries=20).health()
        return port, limit, tmp_path / "log"

    yield start
    for served, log in started:
        served.kill()
        served.wait()
        served.stdout.close()
        log.close()


def test_more_idle_connections_than_descriptors_keep_nobody_out(limited):
    port, _, log = limited(512, 512)
    idle = []
    try:
        for _ in range(600):
            idle.append(socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S))
            if len(idle) % 100 == 0:
                with Client(f"http://127.0.0.1:{port}", retries=0) as client:
                    assert client.health()["status"] == client.ready()["status"] == "ok"
    finally:
        for each in idle:
            each.close()
    said = log.read_text()
    assert "at most 128 connections, not limits.connections = 1000, because this process may open 512" in said
    assert "limit limits.connections = 128: closed" in said
    assert said.count("idle connections") < 10


def test_the_limit_of_open_files_is_raised_as_far_as_it_may_be(limited):
    _, limit, log = limited(256, 700)
    assert limit == 700
    assert "raised the limit of open files from 256 to 700" in log.read_text()
