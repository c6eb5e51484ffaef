"""A log that nobody reads stops nobody."""

import io
import logging
import os

import pytest

from isogloss.service._log_lines import PatientHandler


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
    logger = logging.getLogger("isogloss.service._log_lines")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", False)
    return logger


def test_a_log_that_nobody_reads_stops_nobody_and_says_what_is_missing(ends, log):
    read, write = ends
    log.addHandler(PatientHandler(write))
    for number in range(2000):
        log.warning("line %d %s", number, "x" * 100)
    first = read.read(1 << 20).decode().splitlines()
    assert first == [f"line {number} {'x' * 100}" for number in range(len(first))]
    assert 0 < len(first) < 2000
    log.warning("again")
    said, again = read.read(1 << 20).decode().splitlines()
    assert said == f"{2000 - len(first)} lines of the log were let go, because nobody read them"
    assert again == "again"


def test_a_long_line_comes_whole(ends, log):
    read, write = ends
    log.addHandler(PatientHandler(write))
    log.warning("é" * 10_000)
    assert read.read(1 << 20).decode() == "é" * 10_000 + "\n"


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_a_stream_that_is_no_file_will_do(stream, log):
    log.addHandler(PatientHandler(stream))
    log.warning("told")
    assert stream is None or stream.getvalue() == "told\n"


def test_a_reader_who_went_away_stops_nobody(ends, log):
    read, write = ends
    log.addHandler(PatientHandler(write))
    read.close()
    log.warning("to nobody")
