"""What the service writes about itself: a line per request, for people or as JSON for programs.

A line has the method, the path without its query, the status and the time; never a body, a token or what
somebody searched for. Every line that is written while a request is answered has the id of that request.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from isogloss.io import TerminalFormatter
from isogloss.service.log_lines import PatientHandler

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["JsonLines", "Logged", "log_to_stderr", "logs_json"]

logger = logging.getLogger(__name__)

QUIET = frozenset({"/api/v1/health", "/api/v1/ready", "/api/v1/metrics"})
"""Paths that programs ask for again and again: their lines are for debugging."""

LONGEST = 300
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_request: ContextVar[str] = ContextVar("request", default="")


class JsonLines(logging.Formatter):
    """Every record as one line of JSON.

    Examples
    --------
    >>> told = {"name": "isogloss", "levelname": "INFO", "msg": "ready", "created": 0}
    >>> record = logging.makeLogRecord(told)
    >>> JsonLines().format(record)
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


class _Lines(TerminalFormatter):
    """Lines for people, with the id of the request where there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        request = _request.get()
        return super().formatMessage(record) + (f" [{request}]" if request else "")


def log_to_stderr(*, as_json: bool = False) -> None:
    """Have all that is logged written to standard error, as long as somebody reads it."""
    handler = PatientHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else _Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def logs_json() -> bool | None:
    """Whether :func:`log_to_stderr` has lines of JSON written; None where it was not called."""
    found = (handler.formatter for handler in logging.getLogger().handlers)
    return next((isinstance(each, JsonLines) for each in found if isinstance(each, JsonLines | _Lines)), None)


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
    path, milliseconds = quote(scope["path"])[:LONGEST], round(1000 * seconds, 1)
    method = scope["method"] if scope["method"].isalpha() else "other"
    level = logging.DEBUG if scope["path"] in QUIET and status < 500 else logging.INFO
    fields = {"method": method, "path": path, "status": status, "milliseconds": milliseconds}
    logger.log(level, "%s %s %d in %.1f ms", method, path, status, milliseconds, extra={"fields": fields})
