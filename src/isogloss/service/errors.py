"""One shape for everything that goes wrong: a code for programs, a sentence for people."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from isogloss.exceptions import IsoglossError, StoreBusyError, StoreFullError
from isogloss.service.headers import HEADERS

__all__ = ["ErrorAnswer", "ServiceError", "answer", "install"]

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
    500: "internal",
    503: "overloaded",
    507: "full",
}


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
    """The answer that tells of an error; characters that no text may have are replaced."""

    def render(self, content: Any) -> bytes:
        """The shape as JSON."""
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def answer(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> ErrorAnswer:
    """An answer in the one shape: ``{"error": {"code": ..., "message": ...}}``."""
    told = {"code": CODES.get(status, "error"), "message": message} | more
    return ErrorAnswer({"error": told}, status_code=status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Have an application tell all its errors in the one shape."""
    app.add_exception_handler(ServiceError, _service)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(IsoglossError, _ours)
    app.add_exception_handler(Exception, _unforeseen)


async def _service(_: Request, error: Exception) -> ErrorAnswer:
    assert isinstance(error, ServiceError)
    return answer(error.status, error.message, error.headers)


async def _http(_: Request, error: Exception) -> ErrorAnswer:
    assert isinstance(error, HTTPException)
    return answer(error.status_code, str(error.detail), error.headers)


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
        return answer(503, "the store is busy; nothing was written, try again", {"Retry-After": "1"})
    return await _unforeseen(request, error)


async def _unforeseen(request: Request, error: Exception) -> ErrorAnswer:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    said = "something failed that should not have; the log of the service has the details"
    return answer(500, said, HEADERS)
