"""HTTP errors: the exception that routes raise, its JSON body, and the handlers that produce it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from isogloss.exceptions import IsoglossError, StoreBusyError, StoreFullError

logger = logging.getLogger(__name__)

API_PREFIX = "/api/v1"

ERROR_CODES = {
    400: "bad_request",
    401: "no_token",
    403: "forbidden",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    409: "conflict",
    413: "too_large",
    415: "wrong_kind",
    422: "invalid",
    429: "too_many",
    431: "too_large",
    500: "internal",
    503: "overloaded",
    507: "full",
}
UNREADABLE_BODY = "cannot parse the request body; expected JSON in UTF-8 with numbers of a reasonable length"

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class ServiceError(Exception):
    """An error that is reported to the client.

    The message says what was received, what was expected, and what to do; headers are such as
    ``Retry-After``.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class ErrorResponse(JSONResponse):
    """Error response with the body ``{"error": {"code": ..., "message": ...}}``.

    Further arguments are further fields of the error object.
    """

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] | None = None, **details: Any
    ) -> None:
        self.message, self.extra_headers = message, dict(headers or {})
        error = {"code": ERROR_CODES.get(status, "error"), "message": message} | details
        super().__init__({"error": error}, status_code=status, headers=self.extra_headers)

    def render(self, content: Any) -> bytes:
        """Encode as JSON; lone surrogates are replaced."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the error, in the form of :func:`set_error_renderer` where it applies."""
        renderer = getattr(getattr(scope.get("app"), "state", None), "error_renderer", None)
        rendered = renderer(Request(scope), self) if renderer and scope["type"] == "http" else None
        await (rendered or super().__call__)(scope, receive, send)


ErrorRenderer = Callable[[Request, ErrorResponse], Response | None]
"""Returns another form of an error, such as a page, or None to send it as JSON."""


def set_error_renderer(app: FastAPI, renderer: ErrorRenderer) -> None:
    """Have a function choose the form in which an application sends its errors."""
    app.state.error_renderer = renderer


def add_error_handlers(app: FastAPI, headers: Mapping[str, str]) -> None:
    """Turn every exception of an application into an :class:`ErrorResponse`.

    The headers are for responses to unexpected errors, which Starlette sends from outside of all middleware.
    """
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(IsoglossError, _isogloss_error)
    app.add_exception_handler(Exception, partial(_internal_error, headers=headers))


async def _service_error(_: Request, error: Exception) -> ErrorResponse:
    assert isinstance(error, ServiceError)
    return ErrorResponse(error.status, error.message, error.headers)


async def _http_error(request: Request, error: Exception) -> ErrorResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and error.detail == "Not Found":
        return ErrorResponse(404, f"no such path; {API_PREFIX}/openapi.json lists the paths of the API")
    if error.status_code == 405:
        allowed = ", ".join(_allowed_methods(request))
        message = f"method {request.method} is not allowed here; expected {allowed}"
        return ErrorResponse(405, message, {"Allow": allowed})
    if error.status_code == 400 and error.detail == "There was an error parsing the body":
        return ErrorResponse(400, UNREADABLE_BODY)
    return ErrorResponse(error.status_code, str(error.detail), error.headers)


def _allowed_methods(request: Request) -> list[str]:
    routes = request.app.router.routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _validation_error(_: Request, error: Exception) -> ErrorResponse:
    """List invalid fields by location, without repeating their values."""
    assert isinstance(error, RequestValidationError)
    fields = [
        {"where": ".".join(map(str, each["loc"])), "message": str(each["msg"])}
        for each in error.errors()[:20]
    ]
    listed = "; ".join(f"{each['where']}: {each['message']}" for each in fields[:3])
    return ErrorResponse(422, f"invalid request: {listed}", fields=fields)


async def _isogloss_error(request: Request, error: Exception) -> ErrorResponse:
    if isinstance(error, StoreFullError):
        return ErrorResponse(507, "the disk of the store is full; nothing was written, reading still works")
    if isinstance(error, StoreBusyError):
        message = "the store is busy or unreachable; retry with the same Idempotency-Key"
        return ErrorResponse(503, message, {"Retry-After": "1"})
    return await _internal_error(request, error)


async def _internal_error(
    request: Request, error: Exception, headers: Mapping[str, str] | None = None
) -> ErrorResponse:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return ErrorResponse(500, "internal error; see the log of the service", headers)
