"""A fast path for plain requests: a body of JSON, and no header that changes anything.

FastAPI takes longer to find out what an endpoint wants, and whether its answer has the right shape, than an
article takes to be stored. Requests that are not plain, or not valid, go through FastAPI, which gives the
same answers and says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from isogloss.service._state import Parts
from isogloss.service.auth import Access, AuthenticatedRoute, Holder

__all__ = ["Plain", "PlainRoute", "plainly"]

Answer = Callable[[Request, Parts, Holder, Any], Awaitable[Response]]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Plain:
    """How plain requests to an endpoint are answered.

    Parameters
    ----------
    scope : str
        What a token must allow.
    answer : callable
        Gives the answer to a request, from the parts of the application, the holder and the body.
    shape : type of BaseModel, optional
        What a body must be; without one, anything but null.
    unless : str
        A header with which a request is not plain.
    """

    scope: str
    answer: Answer
    shape: type[BaseModel] | None = None
    unless: str = ""

    def read(self, headers: Headers, body: bytes) -> Any:
        """The content of a body; None if a request is not plain."""
        if headers.get("content-type") != _JSON or (self.unless and self.unless in headers):
            return None
        try:
            content = json.loads(body)
            return content if self.shape is None else self.shape.model_validate(content)
        except ValueError:
            return None


class PlainRoute(AuthenticatedRoute):
    """A route that answers plain requests without FastAPI's parsing of parameters and checking of answers."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Handle a request by what :func:`plainly` says about the endpoint, or else as FastAPI does."""
        handle = super().get_route_handler()
        plain: Plain | None = getattr(self.endpoint, "plain", None)
        if plain is None:
            return handle

        async def answer(request: Request) -> Response:
            access: Access = request.app.state.access
            holder = await access.admit(request, plain.scope)
            content = plain.read(request.headers, await request.body())
            if content is None:
                return await handle(request)
            return await plain.answer(request, request.app.state.parts, holder, content)

        return answer


def plainly(
    scope: str, shape: type[BaseModel] | None = None, *, answer: Answer | None = None, unless: str = ""
) -> Callable[[Endpoint], Endpoint]:
    """Say how plain requests to an endpoint are answered, see :class:`Plain`.

    Without an answer it is the endpoint's, which takes parts, holder and body and is called in a thread.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        how = Plain(scope, answer or _in_thread(endpoint), shape, unless)
        endpoint.plain = how  # type: ignore[attr-defined]
        return endpoint

    return mark


def _in_thread(endpoint: Callable[[Parts, Holder, Any], BaseModel]) -> Answer:
    """Have a thread work an answer out and write it as JSON."""

    def written(parts: Parts, holder: Holder, body: Any) -> Response:
        return Response(endpoint(parts, holder, body).model_dump_json(), media_type=_JSON)

    async def answer(_: Request, parts: Parts, holder: Holder, body: Any) -> Response:
        return await run_in_threadpool(written, parts, holder, body)

    return answer
