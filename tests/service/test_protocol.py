"""Connections that never become a request: bounded in size and time, told off in the one shape."""

import json
import select
import socket
import time
from http.client import HTTPResponse

import psutil
import pytest

from isogloss.service.http import _connections as connections
from isogloss.service.server import running
from tests.service import data
from tests.waiting import LIMIT_S, wait_until

HOST = b"Host: 127.0.0.1\r\n"


@pytest.fixture
def connect(app):
    with running(app, data.settings()) as url:
        port = int(url.rpartition(":")[2])
        yield lambda: socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)


def answered(connection):
    """Everything that comes until the connection is closed."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def status_of(connection):
    """The status of the next answer, which is read to its end."""
    with HTTPResponse(connection) as response:
        response.begin()
        response.read()
        return response.status


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"FETCH /api/v1/health HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"POST /api/v1/articles HTTP/1.1\r\n" + HOST + b"Content-Length: -4\r\n\r\n",
        b"POST /api/v1/articles HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
        b"POST /api/v1/articles HTTP/1.1\r\n"
        + HOST
        + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_requests_that_are_not_http_get_an_error_body(connect, sent):
    with connect() as connection:
        connection.sendall(sent)
        head, _, body = answered(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["code"] == "bad_request"


def test_headers_without_end_are_refused_and_cost_no_memory(connect):
    with connect() as connection:
        connection.sendall(b"GET /api/v1/health HTTP/1.1\r\n" + HOST)
        lines = (b"X: " + b"a" * (1 << 16) + b"\r\n") * 3_000
        before = psutil.Process().memory_info().rss
        with pytest.raises(OSError, match=r"."):
            connection.sendall(lines)
    assert psutil.Process().memory_info().rss - before < 64 << 20


def test_headers_that_are_too_large_get_an_error_body(connect):
    with connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * (connections.MAX_HEADER_BYTES + 1))
        while not select.select([connection], [], [], 0.05)[0]:  # the last piece that arrives is not counted
            connection.sendall(b"a")
        answer = answered(connection)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'"too_large"' in answer


@pytest.mark.parametrize("sent", [b"", b"GET /api/v1/health HTTP/1.1\r\nX"])
def test_headers_that_never_end_meet_a_deadline(connect, monkeypatch, sent):
    monkeypatch.setattr(connections, "HEADER_TIMEOUT_S", 0.3)

    def sent_away():
        with connect() as connection:
            connection.sendall(sent)
            answer = answered(connection)
        return answer.startswith(b"HTTP/1.1 408 ") if sent else answer == b""

    wait_until(sent_away)  # who is too late to begin is not answered, and tries again


def test_requests_after_one_another_are_each_bounded_and_bodies_are_not(connect, monkeypatch):
    monkeypatch.setattr(connections, "MAX_HEADER_BYTES", 500)
    health = b"GET /api/v1/health HTTP/1.1\r\n" + HOST + b"\r\n"
    post = b"POST /api/v1/similarity HTTP/1.1\r\n" + HOST + b"Content-Length: 9000\r\n\r\n"
    with connect() as connection:
        for _ in range(20):
            connection.sendall(health)
            assert status_of(connection) == 200
        connection.sendall(post)
        for _ in range(9):
            time.sleep(0.02)
            connection.sendall(b" " * 1000)
        assert status_of(connection) == 422
        connection.sendall(health * 3 + b"GET /nowhere HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        answers = answered(connection)
    assert answers.count(b"HTTP/1.1 200 ") == 3
    assert answers.count(b"HTTP/1.1 404 ") == 1


def test_a_deadline_of_headers_is_none_of_an_answer(connect, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_TIMEOUT_S", 0.3)
    asked = b"GET /api/v1/changes?seconds=1 HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"

    def whole():
        with connect() as connection:
            connection.sendall(asked)
            return answered(connection).endswith(b"0\r\n\r\n")

    wait_until(whole)  # who is too late to ask is sent away, and tries again
