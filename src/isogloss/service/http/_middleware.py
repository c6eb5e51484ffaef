"""ASGI middleware: request limits, security headers and HEAD.

Headers are checked first: host, origin, size, encoding. A body is read lazily, when an authenticated route
asks for it, and a request takes a concurrency slot only once its body is complete. A slow client therefore
occupies a connection and nothing else.

Starlette's ``TrustedHostMiddleware`` and ``RequestBodyLimitMiddleware`` respond in plain text, ignore a
second Host header, and have one limit for clients with and without a token. uvicorn's
``limit_concurrency`` counts readers, writers and streams alike.
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

from isogloss.service.api.errors import API_PREFIX, ErrorResponse, ServiceError
from isogloss.service.auth import AUTHORIZATION, SAFE_METHODS, Authorization

MAX_JSON_DEPTH = 32
MAX_JSON_VALUES = 100_000
"""Numbers, strings, arrays and objects in one body."""

MAX_BUFFERED_BODIES = 8
"""Bodies of the largest size that are buffered at the same time, over all requests.

A token may use half of this memory, an address without a token a quarter, and all requests without a token
together half.
"""

MAX_ANONYMOUS_BODY_BYTES = 64 << 10
"""Size of bodies without authentication, such as the sign-in form."""

MAX_INLINE_CHECK_BYTES = 256 << 10
"""Size of bodies that are checked in the event loop; larger ones are checked in a thread."""

STREAM_PATHS = frozenset({f"{API_PREFIX}/changes", "/changes"})
"""Paths whose response to GET never ends."""

UNLIMITED_PATHS = STREAM_PATHS | {f"{API_PREFIX}/health"}
"""Paths that need no concurrency slot; streams have their own limit."""

UTF8_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii"})

ErrorArgs = tuple[int, str, dict[str, str]]

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

_SECURITY = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_CHUNK_BYTES = 1 << 16
_DEPTH_STEPS = np.zeros(256, dtype=np.int64)
_DEPTH_STEPS[list(b"[{")], _DEPTH_STEPS[list(b"]}")] = 1, -1
_STARTS_VALUE = np.isin(np.arange(256), list(b"[{,"))


class RequestLimitsMiddleware:
    """Limits the size, duration and number of requests, and adds :data:`SECURITY_HEADERS`.

    The pools of concurrent requests that read, and that write (scope ``write`` or ``admin``), are separate;
    event streams count in neither. ``hosts`` are the accepted values of the Host header, as a defence against
    DNS rebinding; ``*`` accepts all.
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
        self.buffered: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send, headers = _with_security_headers(send), Headers(scope=scope)
        error = self._check_headers(scope, headers)
        if error is not None:
            await ErrorResponse(*error)(scope, receive, send)
            return
        limited = _LimitedRequest(self, scope, headers, receive)
        try:
            if scope["method"] not in SAFE_METHODS:
                receive = limited.receive
            elif scope["path"] not in UNLIMITED_PATHS:
                limited.acquire_slot()
            await self.app(scope, receive, send)
        except ServiceError as failed:
            await ErrorResponse(failed.status, failed.message, failed.headers)(scope, receive, send)
        finally:
            limited.release()

    def _check_headers(self, scope: Scope, headers: Headers) -> ErrorArgs | None:
        """Return why a request is rejected for its headers alone, or None."""
        if not self._is_allowed_host(headers.getlist("host")):
            return 400, "the Host header does not name this service; add the name to server.names", {}
        if scope["method"] in SAFE_METHODS:
            return None
        if _is_cross_site(headers):
            return 403, "cross-site requests may not write", {}
        if _parse_length(headers.get("content-length", "0")) > self.body_bytes:
            return _too_large(self.body_bytes)
        if headers.get("content-encoding", "identity").lower() != "identity":
            return 415, "compressed bodies are not supported; send the body without Content-Encoding", {}
        charset = _charset(headers.get("content-type", ""))
        if charset not in UTF8_CHARSETS:
            return 415, f"the charset is {charset[:40]!r}; expected UTF-8", {}
        return None

    def _is_allowed_host(self, hosts: list[str]) -> bool:
        """Return whether there is at most one Host header, and it names this service."""
        if len(hosts) > 1:
            return False
        host = hosts[0] if hosts else ""
        name = re.sub(r":\d*$", "", host).strip("[]").lower()
        return "*" in self.hosts or name in self.hosts


class _LimitedRequest:
    """One request: its body, its concurrency slot and the memory of its body."""

    def __init__(
        self, limits: RequestLimitsMiddleware, scope: Scope, headers: Headers, receive: Receive
    ) -> None:
        self.limits, self.scope, self.headers, self._receive = limits, scope, headers, receive
        self.pool = ""
        self.complete = False
        self.buffered: Counter[str] = Counter()

    def acquire_slot(self) -> None:
        """Take a slot of the pool, or raise an error if all are taken."""
        self.pool = self._check_pool()
        self.limits.active[self.pool] += 1

    def release(self) -> None:
        """Release the slot and the memory."""
        if self.pool:
            self.limits.active[self.pool] -= 1
        self.limits.buffered -= self.buffered

    async def receive(self) -> Message:
        """Return the whole body in one message, then further messages such as a disconnect."""
        if self.complete:
            return await self._receive()
        self._check_pool()
        body = await self._read_in_time()
        await self._check_json(body)
        self.acquire_slot()
        self.complete = True
        return {"type": "http.request", "body": body, "more_body": False}

    def _check_pool(self) -> str:
        """Return the pool of the request, or raise an error if it is full."""
        auth: Authorization | None = self.scope.get(AUTHORIZATION)
        reads = auth is None or auth.scope == "read" or self.scope["method"] in SAFE_METHODS
        pool = "read" if reads else "write"
        if self.limits.active[pool] >= self.limits.concurrent[pool]:
            message = f"more than {self.limits.concurrent[pool]} concurrent {pool} requests; try again"
            raise ServiceError(503, message, {"Retry-After": "1"})
        return pool

    async def _read_in_time(self) -> bytes:
        seconds = self.limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._read()
        except TimeoutError:
            message = f"the body took longer than {seconds:g} s to arrive; send less at a time"
            raise ServiceError(408, message, {"Connection": "close"}) from None

    async def _read(self) -> bytes:
        parts: list[bytes] = []
        auth: Authorization | None = self.scope.get(AUTHORIZATION)
        limit = self.limits.body_bytes
        if auth is None:
            limit = min(limit, MAX_ANONYMOUS_BODY_BYTES)
        size, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ServiceError(400, "the connection ended before the body was complete")
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > limit:
                raise ServiceError(*_too_large(limit))
            self._count_buffered(len(part), auth)
            parts.append(part)
        return b"".join(parts)

    def _count_buffered(self, size: int, auth: Authorization | None) -> None:
        """Count buffered bytes, or raise an error if they are too many."""
        total = MAX_BUFFERED_BODIES * self.limits.body_bytes
        quotas = {"all": total}
        if auth is not None and auth.principal.id:
            quotas[f"token {auth.client}"] = total // 2
        else:
            quotas["anonymous"] = total // 2
            quotas[f"address {auth.client if auth else ''}"] = total // 4
        buffered = self.limits.buffered
        if any(buffered[name] + size > quota for name, quota in quotas.items()):
            raise ServiceError(503, "too many large bodies at once; try again", {"Retry-After": "1"})
        for name in quotas:
            buffered[name] += size
            self.buffered[name] += size

    async def _check_json(self, body: bytes) -> None:
        """Reject JSON that is expensive to parse, or would be parsed in another encoding than was checked."""
        if _media_type(self.headers) == "application/x-www-form-urlencoded":
            return
        if json.detect_encoding(body) not in ("utf-8", "utf-8-sig"):
            raise ServiceError(400, "the body looks like UTF-16 or UTF-32; send JSON in UTF-8")
        brackets = body.count(b"[") + body.count(b"{")
        if brackets <= MAX_JSON_DEPTH and brackets + body.count(b",") < MAX_JSON_VALUES:
            return
        if len(body) > MAX_INLINE_CHECK_BYTES:
            depth, values = await run_in_threadpool(outline_json, body, MAX_JSON_DEPTH, MAX_JSON_VALUES)
        else:
            depth, values = outline_json(body, MAX_JSON_DEPTH, MAX_JSON_VALUES)
        if depth > MAX_JSON_DEPTH:
            raise ServiceError(400, f"the JSON is nested more than {MAX_JSON_DEPTH} levels deep")
        if values > MAX_JSON_VALUES:
            raise ServiceError(413, f"the JSON has more than {MAX_JSON_VALUES:,} values; send less at a time")


class HeadMiddleware:
    """Responds to HEAD as to GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"] in STREAM_PATHS:
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        as_get = {**scope, "method": "GET"}
        try:
            await self.app(as_get, receive, without_body)
        finally:
            scope["route"] = as_get.get("route")


class JsonOutline(NamedTuple):
    """Nesting depth of a JSON document, and an upper bound of its number of values."""

    depth: int
    values: int


def outline_json(body: bytes, max_depth: int | None = None, max_values: int | None = None) -> JsonOutline:
    """Measure a JSON document before it is parsed, in time linear in its bytes.

    Eight megabytes of ``{},{},...`` are three million objects, and ten thousand opening brackets are as many
    nested calls of a parser. The scan stops when a limit is exceeded.

    Examples
    --------
    >>> outline_json(b'{"a": [1, {"b": "[[["}]}')
    JsonOutline(depth=3, values=5)
    """
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    depth = deepest = quotes = values = 0
    for start in range(0, len(plain), _CHUNK_BYTES):
        part = np.frombuffer(plain[start : start + _CHUNK_BYTES], dtype=np.uint8)
        seen = quotes + np.cumsum(part == ord('"'))
        outside = seen % 2 == 0
        levels = depth + np.cumsum(np.where(outside, _DEPTH_STEPS[part], 0))
        deepest = max(deepest, int(levels.max()))
        values += int(np.count_nonzero(outside & _STARTS_VALUE[part]))
        depth, quotes = int(levels[-1]), int(seen[-1])
        if (max_depth is not None and deepest > max_depth) or (
            max_values is not None and values >= max_values
        ):
            break
    return JsonOutline(deepest, values + 1)


def _with_security_headers(send: Send) -> Send:
    """Add the security headers that a response does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(pair for pair in _SECURITY if pair[0] not in present),
            ]
        await send(message)

    return send_with_headers


def _too_large(limit: int) -> ErrorArgs:
    return 413, f"the body is larger than {limit:,} bytes; send less at a time", {}


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _charset(content_type: str) -> str:
    """Return the charset of a content type in lower case; UTF-8 by default."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()
    return "utf-8"


def _is_cross_site(headers: Headers) -> bool:
    """Return whether a browser sent a request on behalf of a page of another site."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host", "")
    except ValueError:
        return True


def _parse_length(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 1 << 62
