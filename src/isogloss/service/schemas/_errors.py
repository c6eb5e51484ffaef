"""One shape for everything that goes wrong: a code for programs, a sentence for people.

Whoever asks for a page, as browsers do, and not for the API, is told in a page.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from isogloss.exceptions import IsoglossError, StoreBusyError, StoreFullError

__all__ = ["PAGE", "UNREADABLE_BODY", "ErrorAnswer", "ServiceError", "answer", "install"]

logger = logging.getLogger(__name__)

CODES = {
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
UNREADABLE_BODY = "the body cannot be read; expected JSON in UTF-8, with numbers of some digits"
PAGE = "isogloss.page"
"""The mark of requests for pages: their errors are pages, unless the client would rather have JSON."""

_API = "/api/"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class ServiceError(Exception):
    """Something that a client is told.

    Parameters
    ----------
    status : int
        The status of the answer.
    message : str
        What came, what was expected, what to do.
    headers : mapping
        Further headers, such as ``Retry-After``.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class ErrorAnswer(JSONResponse):
    """The answer that tells of an error, to people as a page; characters that no text may have are replaced.

    Parameters
    ----------
    status : int
        The status of the answer.
    message : str
        The sentence.
    headers : mapping, optional
        Further headers.
    **more
        Further fields of the shape.
    """

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        self.message, self.further = message, dict(headers or {})
        told = {"code": CODES.get(status, "error"), "message": message} | more
        super().__init__({"error": told}, status_code=status, headers=self.further)

    def render(self, content: Any) -> bytes:
        """The shape as JSON."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, in the form that the client understands."""
        if scope["type"] == "http" and not scope["path"].startswith(_API):
            self.headers["vary"] = "Accept"
            if _wants_page(Headers(scope=scope).get("accept", ""), scope.get(PAGE, False)):
                await self._page(Request(scope))(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    def _page(self, request: Request) -> Response:
        from isogloss.service.web import error_page

        return error_page(request, self.status_code, self.message, self.further | {"vary": "Accept"})


def answer(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> ErrorAnswer:
    """An answer in the one shape: ``{"error": {"code": ..., "message": ...}}``."""
    return ErrorAnswer(status, message, headers, **more)


def _wants_page(accept: str, otherwise: bool) -> bool:
    """Whether a client would rather have a page than JSON; ``otherwise`` if it names neither.

    Examples
    --------
    >>> _wants_page("text/html,application/xml;q=0.9,*/*;q=0.8", False)
    True
    >>> _wants_page("application/json", True), _wants_page("*/*", True), _wants_page("*/*", False)
    (False, True, False)
    """
    page, data = (_weight(accept, kind) for kind in ("text/html", "application/json"))
    return page >= data if page or data else otherwise


def _weight(accept: str, kind: str) -> float:
    """How much a client wants a kind of answer; 0 if it does not name it."""
    for each in accept.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        if name == kind:
            weights = [part[2:] for part in parameters if part.startswith("q=")]
            try:
                return float(weights[0]) if weights else 1.0
            except ValueError:
                return 0.0
    return 0.0


def install(app: FastAPI, headers: Mapping[str, str]) -> None:
    """Have an application tell all its errors in the one shape.

    Parameters
    ----------
    app : FastAPI
        The application.
    headers : mapping
        What answers to failed requests are sent with: these are made outside of all middleware.
    """
    app.add_exception_handler(ServiceError, _service)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(IsoglossError, _ours)
    app.add_exception_handler(Exception, partial(_unforeseen, headers=headers))


async def _service(_: Request, error: Exception) -> ErrorAnswer:
    assert isinstance(error, ServiceError)
    return answer(error.status, error.message, error.headers)


async def _http(request: Request, error: Exception) -> ErrorAnswer:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and error.detail == "Not Found":
        return answer(404, "there is nothing at this address; GET /api/v1/openapi.json has those there are")
    if error.status_code == 405:
        known = ", ".join(_methods(request))
        said = f"the method {request.method} is not known at this address; expected {known}"
        return answer(405, said, {"Allow": known})
    if error.status_code == 400 and error.detail == "There was an error parsing the body":
        return answer(400, UNREADABLE_BODY)
    return answer(error.status_code, str(error.detail), error.headers)


def _methods(request: Request) -> list[str]:
    """Every method that the address of a request knows."""
    routes = request.app.router.routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _invalid(_: Request, error: Exception) -> ErrorAnswer:
    """Fields that are wrong, each with its place; the values themselves are not repeated."""
    assert isinstance(error, RequestValidationError)
    fields = [
        {"where": ".".join(map(str, each["loc"])), "message": str(each["msg"])}
        for each in error.errors()[:20]
    ]
    said = "; ".join(f"{each['where']}: {each['message']}" for each in fields[:3])
    return answer(422, f"the request is not as it should be: {said}", fields=fields)


async def _ours(request: Request, error: Exception) -> ErrorAnswer:
    if isinstance(error, StoreFullError):
        return answer(507, "the store has no room left; nothing was written, reading goes on")
    if isinstance(error, StoreBusyError):
        return answer(503, "the store is busy or away; try again, under the same key", {"Retry-After": "1"})
    return await _unforeseen(request, error)


async def _unforeseen(
    request: Request, error: Exception, headers: Mapping[str, str] | None = None
) -> ErrorAnswer:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    said = "something failed that should not have; the log of the service has the details"
    return answer(500, said, headers)
