"""Plain requests answered without ceremony.

To find the endpoint of a request, what it wants, and whether an answer has its shape, takes FastAPI longer
than an article takes us. Most requests are plain: a body of JSON, and no header that changes anything. Those
are read and answered here; any other, and any that is not as it should be, goes the whole way, which has the
same answers and says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isogloss.exceptions import IsoglossError
from isogloss.service.access import Access
from isogloss.service.errors import ServiceError, told
from isogloss.service.parts import Parts
from isogloss.service.tokens import Holder

__all__ = ["Plain", "Shortcut", "plainly"]

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


class Shortcut:
    """An ASGI application around another that answers plain requests itself.

    Parameters
    ----------
    app : ASGI application
        Answers all others.
    routers : iterable of APIRouter
        Whose endpoints :func:`plainly` says something about.
    """

    def __init__(self, app: ASGIApp, *, routers: Iterable[APIRouter]) -> None:
        self.app = app
        routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
        marked = [(route, getattr(route.endpoint, "plain", None)) for route in routes]
        self.known: dict[str, tuple[APIRoute, Plain]] = {
            route.path: (route, plain) for route, plain in marked if plain is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        known = None
        if scope["type"] == "http" and scope["method"] == "POST":
            known = self.known.get(scope["path"])
        if known is None:
            await self.app(scope, receive, send)
            return
        scope["route"], plain = known
        request = Request(scope, receive)
        response = await _answered(plain, request)
        if response is not None:
            await response(scope, receive, send)
        else:
            await self.app(scope, _replay(await request.body(), receive), send)


async def _answered(plain: Plain, request: Request) -> Response | None:
    """Return the answer to a request that is plain, and to one that may not be made."""
    access: Access = request.app.state.access
    try:
        holder = await access.admit(request, plain.scope)
        content = plain.read(request.headers, await request.body())
        if content is None:
            return None
        return await plain.answer(request, request.app.state.parts, holder, content)
    except (ServiceError, IsoglossError) as error:
        return await told(request, error)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read already again, then whatever else comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


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
