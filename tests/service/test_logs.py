"""What is logged of requests, and what is not; a log that nobody reads stops nobody."""

import asyncio
import io
import json
import logging
import os
import sys

import pytest

from isogloss.service import AccessLogMiddleware, log_to_stderr
from isogloss.service._logs import DroppingHandler, JsonFormatter

SECRET = "isg_secret"


async def app(scope, receive, send):
    if scope["path"] == "/fails":
        raise RuntimeError("as asked")
    logging.getLogger("isogloss.inside").warning("half way")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"fine"})


def ask(path="/api/v1/events", headers=(), method="POST"):
    sent = []

    async def receive():
        return {"type": "http.request", "body": SECRET.encode(), "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": SECRET.encode()}
    scope["headers"] = [(b"authorization", f"Bearer {SECRET}".encode()), *headers]
    asyncio.run(AccessLogMiddleware(app)(scope, receive, send))
    return dict(sent[0]["headers"])[b"x-request-id"].decode()


@pytest.fixture(params=[True, False])
def lines(request, monkeypatch):
    """What has been written to standard error, as JSON and for people."""
    root, written = logging.getLogger(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    log_to_stderr(as_json=request.param)
    return lambda: written.getvalue().splitlines()


def test_a_line_has_what_it_should_and_nothing_else(lines):
    name = ask()
    inside, line = lines()
    assert name in inside
    assert SECRET not in inside + line
    if not line.startswith("{"):
        assert "POST /api/v1/events 200 in " in line
        assert line.endswith(f" ms [{name}]")
        return
    told = json.loads(line)
    assert set(told) == {
        "time", "level", "logger", "message", "request", "method", "path", "status", "milliseconds"
    }  # fmt: skip
    assert (told["request"], told["method"], told["path"], told["status"]) == (
        name,
        "POST",
        "/api/v1/events",
        200,
    )
    assert told["milliseconds"] >= 0
    assert json.loads(inside)["request"] == name


def test_every_request_has_its_own_id_unless_it_brings_one(lines):
    assert ask() != ask()
    assert ask(headers=[(b"x-request-id", b"proxy-17.a_b")]) == "proxy-17.a_b"
    for bad in (b"", b"a b", b"x\n2026 INFO", b"x" * 65, "é".encode()):
        assert len(ask(headers=[(b"x-request-id", bad)])) == 16


def test_no_path_or_method_makes_a_line_of_its_own(lines):
    ask("/a\n2026-01-01 INFO root: all is well\r\x1b[2J", method="GET\nx")
    assert len(lines()) == 2


def test_a_path_is_cut(lines):
    ask("/" + "x" * 5000)
    assert len(lines()[1]) < 1000


def test_a_request_that_fails_is_logged_and_still_fails(lines):
    with pytest.raises(RuntimeError, match="as asked"):
        ask("/fails")
    (line,) = lines()
    assert "/fails" in line


def test_health_is_not_worth_a_line(lines):
    ask("/api/v1/health")
    assert len(lines()) == 1


def test_errors_are_one_line_of_json():
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        record = logging.makeLogRecord(
            {"msg": "%s", "args": ("a\nb",), "exc_info": (ValueError, error, None)}
        )
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["error"].endswith("two\nlines")


@pytest.fixture
def ends():
    """Both ends of a pipe; the one to write to as a stream."""
    there, here = os.pipe()
    os.set_blocking(there, False)
    with os.fdopen(there, "rb", buffering=0) as read, os.fdopen(here, "w") as write:
        yield read, write


@pytest.fixture
def log(monkeypatch):
    """A logger above which there is nothing but the handlers that a test gives it."""
    logger = logging.getLogger("isogloss.service._logs")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", False)
    return logger


def test_a_log_that_nobody_reads_stops_nobody_and_says_what_is_missing(ends, log):
    read, write = ends
    log.addHandler(DroppingHandler(write))
    for number in range(2000):
        log.warning("line %d %s", number, "x" * 100)
    first = read.read(1 << 20).decode().splitlines()
    assert first == [f"line {number} {'x' * 100}" for number in range(len(first))]
    assert 0 < len(first) < 2000
    log.warning("again")
    said, again = read.read(1 << 20).decode().splitlines()
    assert said == f"{2000 - len(first)} log lines were dropped because nobody read them"
    assert again == "again"


def test_a_long_line_comes_whole(ends, log):
    read, write = ends
    log.addHandler(DroppingHandler(write))
    log.warning("é" * 10_000)
    assert read.read(1 << 20).decode() == "é" * 10_000 + "\n"


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_a_stream_that_is_no_file_will_do(stream, log):
    log.addHandler(DroppingHandler(stream))
    log.warning("told")
    assert stream is None or stream.getvalue() == "told\n"


def test_a_reader_who_went_away_stops_nobody(ends, log):
    read, write = ends
    log.addHandler(DroppingHandler(write))
    read.close()
    log.warning("to nobody")
