"""Logging to standard error, as text or JSON, with one access log line per request.

An access log line has the method, the path without its query, the status and the duration; never a body, a
token or a search text. Every line that is logged during a request has the id of that request.

Lines are dropped if nobody reads the pipe they are written to. :class:`logging.handlers.QueueListener` would
not do: the worker forks, and a fork has no listener thread but may inherit the queue while it is locked.
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

logger = logging.getLogger(__name__)

QUIET_PATHS = frozenset({"/api/v1/health", "/api/v1/ready", "/api/v1/metrics"})
"""Paths of monitoring probes, which are logged at the level DEBUG."""

MAX_PATH_CHARS = 300

MAX_WRITE_BYTES = 4096
"""Bytes that a pipe with any room takes at once (PIPE_BUF)."""

WRITE_TIMEOUT_S = 0.2
"""Time to wait for room in a pipe; after that lines are dropped until there is some."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_request_id: ContextVar[str] = ContextVar("request_id", default="")


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON.

    Examples
    --------
    >>> fields = {"name": "isogloss", "levelname": "INFO", "msg": "ready", "created": 0}
    >>> JsonFormatter().format(logging.makeLogRecord(fields))
    '{"time": "1970-01-01T00:00:00.000Z", "level": "info", "logger": "isogloss", "message": "ready"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        created = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry: dict[str, Any] = {
            "time": created.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := _request_id.get():
            entry["request"] = request
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=True, default=str)


class _TextFormatter(TerminalFormatter):
    """Formats a record as text, with the id of the request if there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        request = _request_id.get()
        return super().formatMessage(record) + (f" [{request}]" if request else "")


class DroppingHandler(logging.Handler):
    """Writes records to a stream, and drops them when writing would block.

    A service whose log nobody reads therefore keeps running and can be stopped. Once there is room again, a
    line says how many were dropped. The stream is None in a process whose standard error is closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self.stream, self._dropped = stream, 0
        self._descriptor = _descriptor(stream)
        self._poll = select.poll()
        if self._descriptor is not None:
            self._poll.register(self._descriptor, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it as dropped."""
        try:
            if not self._has_room():
                self._dropped += 1
                return
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                logger.warning("%d log lines were dropped because nobody read them", dropped)
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
            left = left[os.write(self._descriptor, left[:MAX_WRITE_BYTES]) :]

    def _has_room(self) -> bool:
        if self._descriptor is None:
            return True
        return bool(self._poll.poll(0 if self._dropped else 1000 * WRITE_TIMEOUT_S))


def _descriptor(stream: TextIO | None) -> int | None:
    """Return the file descriptor of a stream, if it has one."""
    try:
        return None if stream is None else stream.fileno()
    except (AttributeError, io.UnsupportedOperation, ValueError):
        return None


def log_to_stderr(*, as_json: bool = False) -> None:
    """Log everything from INFO on to standard error."""
    handler = DroppingHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else _TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def logs_json() -> bool | None:
    """Return whether :func:`log_to_stderr` was asked for JSON; None if it was not called."""
    found = (handler.formatter for handler in logging.getLogger().handlers)
    return next(
        (
            isinstance(each, JsonFormatter)
            for each in found
            if isinstance(each, JsonFormatter | _TextFormatter)
        ),
        None,
    )


class AccessLogMiddleware:
    """ASGI middleware that logs each request and gives it an id.

    A valid ``X-Request-ID`` header (letters, digits and ``._-``) is kept, otherwise an id is generated; the
    response has it too.

    Parameters
    ----------
    app : ASGI application
        The application to log.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log its outcome."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 0, perf_counter()
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        token = _request_id.set(request_id)

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            _log_request(scope, status, perf_counter() - start)
            _request_id.reset(token)


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    """Log a request; its path is quoted, so that it cannot forge another line."""
    path, milliseconds = quote(scope["path"])[:MAX_PATH_CHARS], round(1000 * seconds, 1)
    method = scope["method"] if scope["method"].isalpha() else "other"
    level = logging.DEBUG if scope["path"] in QUIET_PATHS and status < 500 else logging.INFO
    fields = {"method": method, "path": path, "status": status, "milliseconds": milliseconds}
    logger.log(level, "%s %s %d in %.1f ms", method, path, status, milliseconds, extra={"fields": fields})
