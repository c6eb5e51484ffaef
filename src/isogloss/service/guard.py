"""What every request must pass before it reaches anything else.

Too many at once, too large, too deep, from another site, for another host: each is turned away with a
reason, at a cost that does not grow with what was sent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isogloss.service.bodies import outline
from isogloss.service.errors import answer
from isogloss.service.headers import with_headers

__all__ = ["BODY", "Guard"]

BODY = "isogloss.body"
"""Where the whole body of a request is, for those within who would rather not wait for it."""

MAX_DEPTH = 32
MAX_VALUES = 100_000
"""Numbers, texts, lists and objects in one body of JSON."""

HELD = 8
"""Bodies of the largest size that are held at the same time, by all requests together."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
ALWAYS = frozenset({"/api/v1/health"})
"""Paths that answer even when nothing else does."""

WRITTEN = frozenset({"/api/v1/articles"})
"""Paths that articles are sent to."""

RESERVED = 4
"""One place of so many is kept for requests that send no articles, however many of those there are."""

UNCOUNTED = ALWAYS | {"/api/v1/changes", "/changes"}
"""Paths that do not count as requests at the same time; streams have a bound of their own."""

Refusal = tuple[int, str, dict[str, str]]


class Guard:
    """An ASGI application around another.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    body_bytes : int
        Largest body.
    body_seconds : float
        Time that a body may take to arrive.
    concurrent : int
        Requests at the same time; streams of events do not count. Those that send articles have three
        quarters of the places at most, so that whoever reads is still answered when they are too many.
    hosts : iterable of str
        Names this service goes by; a request for another is refused, so that no name of a stranger leads a
        browser here. ``*`` allows all.
    """

    def __init__(
        self, app: ASGIApp, *, body_bytes: int, body_seconds: float, concurrent: int, hosts: Iterable[str]
    ) -> None:
        self.app = app
        self.body_bytes, self.body_seconds, self.concurrent = body_bytes, body_seconds, concurrent
        self.hosts = frozenset(hosts)
        self.active = self.writing = self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turn a request away, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            await answer(*refused)(scope, receive, with_headers(send))
            return
        counts, writes = scope["path"] not in UNCOUNTED, _writes(scope)
        self.active += counts
        self.writing += writes
        try:
            await self._pass_on(scope, receive, with_headers(send))
        finally:
            self.active -= counts
            self.writing -= writes

    def _refused(self, scope: Scope, headers: Headers) -> Refusal | None:
        """Why a request is turned away before its body is read."""
        if not self._known(headers.getlist("host")):
            return 400, "the Host header names another host than this service goes by; see server.names", {}
        if scope["path"] not in ALWAYS and self.active >= self.concurrent:
            return 503, f"more than {self.concurrent} requests at once; try again", {"Retry-After": "1"}
        most = self.concurrent - self.concurrent // RESERVED
        if self.writing >= most and _writes(scope):
            return 503, f"more than {most} requests with articles at once; try again", {"Retry-After": "1"}
        if scope["method"] not in SAFE and _from_elsewhere(headers):
            return 403, "a page of another site may not write here", {}
        if _number(headers.get("content-length", "0")) > self.body_bytes:
            return self._too_large()
        if scope["method"] not in SAFE and headers.get("content-encoding", "identity").lower() != "identity":
            return 415, "the body is packed, says its Content-Encoding; send it as it is, without one", {}
        return None

    def _too_large(self) -> Refusal:
        return 413, f"the body is larger than {self.body_bytes:,} bytes; send less at a time", {}

    def _known(self, hosts: list[str]) -> bool:
        """Whether a request names one host, and that is this service."""
        if len(hosts) > 1:
            return False
        host = hosts[0] if hosts else ""
        name = re.sub(r":\d*$", "", host).strip("[]").lower()
        return "*" in self.hosts or name in self.hosts

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, with its whole body where it has one."""
        if scope["method"] in SAFE:
            await self.app(scope, receive, send)
            return
        parts: list[bytes] = []
        try:
            refused = await self._read(receive, parts)
            body = b"".join(parts)
            refused = refused or _outgrown(body)
            if refused is None:
                scope[BODY] = body
                await self.app(scope, _replay(body, receive), send)
            elif refused is not _GONE:
                await answer(*refused)(scope, receive, send)
        finally:
            scope.pop(BODY, None)
            self.held -= sum(map(len, parts))

    async def _read(self, receive: Receive, parts: list[bytes]) -> Refusal | None:
        """Read a body into parts; why not, where that ends too soon."""
        try:
            async with asyncio.timeout(self.body_seconds):
                return await self._read_parts(receive, parts)
        except TimeoutError:
            said = f"the body took longer than {self.body_seconds:g} s to arrive; send less at a time"
            return 408, said, {"Connection": "close"}

    async def _read_parts(self, receive: Receive, parts: list[bytes]) -> Refusal | None:
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return _GONE
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > self.body_bytes:
                return self._too_large()
            if self.held + len(part) > HELD * self.body_bytes:
                return 503, "too many large bodies at once; try again", {"Retry-After": "1"}
            self.held += len(part)
            parts.append(part)
        return None


_GONE: Refusal = (0, "nobody is there to be answered", {})


def _outgrown(body: bytes) -> Refusal | None:
    """Why JSON is not parsed."""
    brackets = body.count(b"[") + body.count(b"{")
    if brackets <= MAX_DEPTH and brackets + body.count(b",") < MAX_VALUES:
        return None
    depth, values = outline(body)
    if depth > MAX_DEPTH:
        return 400, f"the JSON is nested deeper than {MAX_DEPTH}; send it flat", {}
    if values > MAX_VALUES:
        return 413, f"the JSON has more than {MAX_VALUES:,} values; send less at a time", {}
    return None


def _writes(scope: Scope) -> bool:
    """Whether a request sends articles."""
    return scope["path"] in WRITTEN and scope["method"] not in SAFE


def _from_elsewhere(headers: Headers) -> bool:
    """Whether a browser sent this for a page of another site."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host", "")
    except ValueError:
        return True


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 1 << 62


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body again, then whatever else comes, such as the end of the connection."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
