"""The log of the service: a line per request, for people or as JSON for programs.

A line of a request has the method, the path without its query, the status and the time; never a body, a
token or what somebody searched for. Every line that is written while a request is answered has the
id of that request.

Lines are dropped rather than waited for when nobody reads the pipe they are written to. A queue with a thread
that writes (:class:`logging.handlers.QueueListener`) would not do: the worker forks, and a fork has no such
thread but may inherit the queue while it is locked.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import secrets
import select
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from isogloss.io import TerminalFormatter

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["DroppingHandler", "JsonFormatter", "Logged", "log_to_stderr", "logs_json"]

logger = logging.getLogger(__name__)

QUIET = frozenset({"/api/v1/health", "/api/v1/ready", "/api/v1/metrics"})
"""Paths that programs ask for again and again: their lines are for debugging."""

MAX_PATH_CHARS = 300

PIPE_BYTES = 4096
"""Bytes that a pipe takes at once when it has room at all."""

READER_SECONDS = 0.2
"""Time in which a reader may make room; after that lines are dropped until there is some."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_request: ContextVar[str] = ContextVar("request", default="")


class JsonFormatter(logging.Formatter):
    """Every record as one line of JSON.

    Examples
    --------
    >>> told = {"name": "isogloss", "levelname": "INFO", "msg": "ready", "created": 0}
    >>> record = logging.makeLogRecord(told)
    >>> JsonFormatter().format(record)
    '{"time": "1970-01-01T00:00:00.000Z", "level": "info", "logger": "isogloss", "message": "ready"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := _request.get():
            told["request"] = request
        told |= getattr(record, "fields", {})
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=True, default=str)


class _TextFormatter(TerminalFormatter):
    """Lines for people, with the id of the request where there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        request = _request.get()
        return super().formatMessage(record) + (f" [{request}]" if request else "")


class DroppingHandler(logging.Handler):
    """Write lines to a stream, unless its reader has stopped and writing would block.

    A service whose log nobody reads goes on answering, and can be stopped. When there is room again, a line
    says how many were dropped.

    Parameters
    ----------
    stream : file-like, optional
        Where to; nothing is written where there is none, as in a process whose standard error is closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self.stream, self._dropped = stream, 0
        self._descriptor = _descriptor(stream)
        self._room = select.poll()
        if self._descriptor is not None:
            self._room.register(self._descriptor, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it as dropped."""
        try:
            if not self._has_room():
                self._dropped += 1
                return
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                logger.warning("%d lines of the log were dropped, because nobody read them", dropped)
            self._write(self.format(record) + "\n")
        except OSError:
            pass
        except Exception:
            self.handleError(record)

    def _write(self, text: str) -> None:
        if self._descriptor is None:
            if self.stream is not None:
                self.stream.write(text)
            return
        left = text.encode("utf-8", "backslashreplace")
        while left and self._has_room():
            left = left[os.write(self._descriptor, left[:PIPE_BYTES]) :]

    def _has_room(self) -> bool:
        if self._descriptor is None:
            return True
        return bool(self._room.poll(0 if self._dropped else 1000 * READER_SECONDS))


def _descriptor(stream: TextIO | None) -> int | None:
    """The file that a stream writes to, if it is one of the system."""
    try:
        return None if stream is None else stream.fileno()
    except (AttributeError, io.UnsupportedOperation, ValueError):
        return None


def log_to_stderr(*, as_json: bool = False) -> None:
    """Have all that is logged written to standard error, as long as somebody reads it."""
    handler = DroppingHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else _TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def logs_json() -> bool | None:
    """Whether :func:`log_to_stderr` has lines of JSON written; None where it was not called."""
    found = (handler.formatter for handler in logging.getLogger().handlers)
    return next(
        (
            isinstance(each, JsonFormatter)
            for each in found
            if isinstance(each, JsonFormatter | _TextFormatter)
        ),
        None,
    )


class Logged:
    """An ASGI application around another that writes a line for each request.

    A request that brings an ``X-Request-ID`` of letters, digits and ``._-`` keeps it, any other gets one; the
    answer has it too.

    Parameters
    ----------
    app : ASGI application
        Whose requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, and write down what became of it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 0, perf_counter()
        name = _name(dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1"))
        token = _request.set(name)

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", name.encode())]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            _tell(scope, status, perf_counter() - start)
            _request.reset(token)


def _name(given: str) -> str:
    return given if _ID.fullmatch(given) else secrets.token_hex(8)


def _tell(scope: Scope, status: int, seconds: float) -> None:
    """The line of a request; a path is written so that it cannot pretend to be another line."""
    path, milliseconds = quote(scope["path"])[:MAX_PATH_CHARS], round(1000 * seconds, 1)
    method = scope["method"] if scope["method"].isalpha() else "other"
    level = logging.DEBUG if scope["path"] in QUIET and status < 500 else logging.INFO
    fields = {"method": method, "path": path, "status": status, "milliseconds": milliseconds}
    logger.log(level, "%s %s %d in %.1f ms", method, path, status, milliseconds, extra={"fields": fields})
