"""ASGI middleware: limits on every request, security headers on every answer, and HEAD.

The headers of a request are checked first: host, origin, size, encoding. Bodies are read lazily, when a route
that has authenticated the request asks for one, and a request takes one of the limited places only when its
body is there. Whoever sends slowly therefore holds a connection and nothing else.

Starlette's own middleware is not enough: ``TrustedHostMiddleware`` and ``RequestBodyLimitMiddleware`` answer
in plain text, overlook a second Host header, and have one limit for clients with and without a token. And
``limit_concurrency`` of uvicorn counts readers, writers and streams alike.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isogloss.service.auth import PRINCIPAL, SAFE_METHODS, Principal
from isogloss.service.schemas import ServiceError, answer

__all__ = ["SECURITY_HEADERS", "HeadMiddleware", "JsonOutline", "RequestLimitsMiddleware", "outline_json"]

MAX_DEPTH = 32
MAX_VALUES = 100_000
"""Numbers, texts, lists and objects in one body of JSON."""

MAX_HELD = 8
"""Bodies of the largest size in memory at the same time, of all requests together.

One token may have half of them and one address without a token a quarter; all requests without a token
together have half.
"""

MAX_OPEN_BODY = 64 << 10
"""Bytes of a body that anybody may send, such as the form that takes a token."""

MAX_INLINE_CHECK = 256 << 10
"""Bytes of a body that is checked in the event loop; larger ones are checked in a thread."""

ALWAYS = frozenset({"/api/v1/health"})
"""Paths that answer even when nothing else does."""

STREAMS = frozenset({"/api/v1/changes", "/changes"})
"""Paths whose answer to GET never ends."""

UNCOUNTED = ALWAYS | STREAMS
"""Paths that do not count as requests at the same time; streams have a bound of their own."""

UTF8 = frozenset({"utf-8", "utf8", "us-ascii"})

Refusal = tuple[int, str, dict[str, str]]

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""What a browser may do with an answer: nothing but show it."""

_SECURITY = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_CHUNK = 1 << 16
_STEPS = np.zeros(256, dtype=np.int64)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_BEGINS = np.isin(np.arange(256), list(b"[{,"))


class RequestLimitsMiddleware:
    """Bound what requests may cost, and send :data:`SECURITY_HEADERS` with every answer.

    Parameters
    ----------
    app : ASGI application
        What is protected.
    body_bytes : int
        Largest body.
    body_seconds : float
        Time that a body may take to arrive.
    concurrent_reads, concurrent_writes : int
        Requests at the same time that read, and that need the scope ``write`` or ``admin`` and change
        something. Neither takes places of the other; streams of events do not count.
    hosts : iterable of str
        Names this service goes by; a request for another is refused, so that no name of a stranger leads a
        browser here. ``*`` allows all.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_bytes: int,
        body_seconds: float,
        concurrent_reads: int,
        concurrent_writes: int,
        hosts: Iterable[str],
    ) -> None:
        self.app = app
        self.body_bytes, self.body_seconds = body_bytes, body_seconds
        self.concurrent = {"read": concurrent_reads, "write": concurrent_writes}
        self.hosts = frozenset(hosts)
        self.active: Counter[str] = Counter()
        self.held: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send, headers = _with_security_headers(send), Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            await answer(*refused)(scope, receive, send)
            return
        limited = _LimitedRequest(self, scope, headers, receive)
        try:
            if scope["method"] not in SAFE_METHODS:
                receive = limited.receive
            elif scope["path"] not in UNCOUNTED:
                limited.enter()
            await self.app(scope, receive, send)
        except ServiceError as error:
            await answer(error.status, error.message, error.headers)(scope, receive, send)
        finally:
            limited.leave()

    def _refused(self, scope: Scope, headers: Headers) -> Refusal | None:
        """Return why a request is refused for its headers alone."""
        if not self._known(headers.getlist("host")):
            return 400, "the Host header names another host than this service goes by; see server.names", {}
        if scope["method"] in SAFE_METHODS:
            return None
        if _from_elsewhere(headers):
            return 403, "a page of another site may not write here", {}
        if _number(headers.get("content-length", "0")) > self.body_bytes:
            return _too_large(self.body_bytes)
        if headers.get("content-encoding", "identity").lower() != "identity":
            return 415, "the body is packed, says its Content-Encoding; send it as it is, without one", {}
        charset = _charset(headers.get("content-type", ""))
        if charset not in UTF8:
            return 415, f"the charset of the body is {charset[:40]!r}; send it in UTF-8", {}
        return None

    def _known(self, hosts: list[str]) -> bool:
        """Whether a request names one host, and that is this service."""
        if len(hosts) > 1:
            return False
        host = hosts[0] if hosts else ""
        name = re.sub(r":\d*$", "", host).strip("[]").lower()
        return "*" in self.hosts or name in self.hosts


class _LimitedRequest:
    """One request on its way: its body, and its place among the requests at the same time."""

    def __init__(
        self, limits: RequestLimitsMiddleware, scope: Scope, headers: Headers, receive: Receive
    ) -> None:
        self.limits, self.scope, self.headers, self._receive = limits, scope, headers, receive
        self.pool = ""
        self.whole = False
        self.kept: Counter[str] = Counter()

    def enter(self) -> None:
        """Take a place; raise an error where there is none."""
        pool = self._check_place()
        self.pool = pool
        self.limits.active[pool] += 1

    def leave(self) -> None:
        """Give back the place and the memory."""
        if self.pool:
            self.limits.active[self.pool] -= 1
        self.limits.held -= self.kept

    async def receive(self) -> Message:
        """Give the whole body at once, then whatever else comes, such as the end of the connection."""
        if self.whole:
            return await self._receive()
        self._check_place()
        body = await self._read()
        await self._check_json(body)
        self.enter()
        self.whole = True
        return {"type": "http.request", "body": body, "more_body": False}

    def _check_place(self) -> str:
        """Return the pool of the request; raise an error where it is full."""
        principal: Principal | None = self.scope.get(PRINCIPAL)
        reads = principal is None or principal.needed == "read" or self.scope["method"] in SAFE_METHODS
        pool = "read" if reads else "write"
        most = self.limits.concurrent[pool]
        if self.limits.active[pool] >= most:
            said = f"more than {most} requests that {pool} at once; try again"
            raise ServiceError(503, said, {"Retry-After": "1"})
        return pool

    async def _read(self) -> bytes:
        seconds = self.limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._read_parts()
        except TimeoutError:
            said = f"the body took longer than {seconds:g} s to arrive; send less at a time"
            raise ServiceError(408, said, {"Connection": "close"}) from None

    async def _read_parts(self) -> bytes:
        parts: list[bytes] = []
        principal: Principal | None = self.scope.get(PRINCIPAL)
        limit = self.limits.body_bytes
        if principal is None:
            limit = min(limit, MAX_OPEN_BODY)
        size, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ServiceError(400, "the connection ended before the body was complete")
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > limit:
                raise ServiceError(*_too_large(limit))
            self._hold(len(part), principal)
            parts.append(part)
        return b"".join(parts)

    def _hold(self, size: int, principal: Principal | None) -> None:
        """Count bytes that are held in memory; raise an error where they are too many."""
        whole = MAX_HELD * self.limits.body_bytes
        shares = {"all": whole}
        if principal is not None and principal.holder.id:
            shares[f"token {principal.client}"] = whole // 2
        else:
            shares["anonymous"] = whole // 2
            shares[f"address {principal.client if principal else ''}"] = whole // 4
        held = self.limits.held
        if any(held[name] + size > most for name, most in shares.items()):
            raise ServiceError(503, "too many large bodies at once; try again", {"Retry-After": "1"})
        for name in shares:
            held[name] += size
            self.kept[name] += size

    async def _check_json(self, body: bytes) -> None:
        """Refuse what would be expensive to parse, and what would not be parsed as it was checked."""
        if _media_type(self.headers) == "application/x-www-form-urlencoded":
            return
        if json.detect_encoding(body) not in ("utf-8", "utf-8-sig"):
            raise ServiceError(400, "the body looks like UTF-16 or UTF-32; send JSON in UTF-8")
        brackets = body.count(b"[") + body.count(b"{")
        if brackets <= MAX_DEPTH and brackets + body.count(b",") < MAX_VALUES:
            return
        if len(body) > MAX_INLINE_CHECK:
            depth, values = await run_in_threadpool(outline_json, body, MAX_DEPTH, MAX_VALUES)
        else:
            depth, values = outline_json(body, MAX_DEPTH, MAX_VALUES)
        if depth > MAX_DEPTH:
            raise ServiceError(400, f"the JSON is nested deeper than {MAX_DEPTH}; send it flat")
        if values > MAX_VALUES:
            raise ServiceError(413, f"the JSON has more than {MAX_VALUES:,} values; send less at a time")


class HeadMiddleware:
    """Answer HEAD with what GET would answer, without the body.

    Parameters
    ----------
    app : ASGI application
        What is asked with GET instead.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"] in STREAMS:
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        asked = {**scope, "method": "GET"}
        try:
            await self.app(asked, receive, without_body)
        finally:
            scope["route"] = asked.get("route")


class JsonOutline(NamedTuple):
    """How deeply JSON is nested, and how many values it has at most."""

    depth: int
    values: int


def outline_json(body: bytes, max_depth: int | None = None, max_values: int | None = None) -> JsonOutline:
    """Return how large a body of JSON would become, before it is parsed.

    Eight megabytes of ``{},{},...`` are three million objects, and ten thousand opening brackets are as many
    calls of a parser. Both are seen from the bytes alone, at a cost that grows with their number and no more.

    Parameters
    ----------
    body : bytes
        The JSON.
    max_depth, max_values : int, optional
        Limits; what comes after one of them is exceeded is not looked at.

    Examples
    --------
    >>> outline_json(b'{"a": [1, {"b": "[[["}]}')
    JsonOutline(depth=3, values=5)
    """
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    depth = deepest = quotes = values = 0
    for start in range(0, len(plain), _CHUNK):
        part = np.frombuffer(plain[start : start + _CHUNK], dtype=np.uint8)
        seen = quotes + np.cumsum(part == ord('"'))
        outside = seen % 2 == 0
        levels = depth + np.cumsum(np.where(outside, _STEPS[part], 0))
        deepest = max(deepest, int(levels.max()))
        values += int(np.count_nonzero(outside & _BEGINS[part]))
        depth, quotes = int(levels[-1]), int(seen[-1])
        if (max_depth is not None and deepest > max_depth) or (
            max_values is not None and values >= max_values
        ):
            break
    return JsonOutline(deepest, values + 1)


def _with_security_headers(send: Send) -> Send:
    """Add the security headers to an answer, unless it has its own."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(pair for pair in _SECURITY if pair[0] not in present),
            ]
        await send(message)

    return guarded


def _too_large(most: int) -> Refusal:
    return 413, f"the body is larger than {most:,} bytes; send less at a time", {}


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _charset(content_type: str) -> str:
    """Return the charset parameter of a content type in small letters, or UTF-8."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()
    return "utf-8"


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
