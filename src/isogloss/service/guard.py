"""What every request must pass before it reaches anything else.

Too many at once, too large, too deep, from another site, for another host: each is turned away with a
reason, at a cost that does not grow with what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isogloss.service.errors import answer

__all__ = ["Guard", "depth_of"]

MAX_DEPTH = 32
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
ALWAYS = frozenset({"/api/v1/health"})
"""Paths that answer even when nothing else does."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{\]}]', re.DOTALL)


class Guard:
    """An ASGI application around another.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    body_bytes : int
        Largest body.
    concurrent : int
        Requests at the same time; streams of events do not count.
    hosts : iterable of str
        Names this service goes by; a request for another is refused, so that no name of a stranger leads a
        browser here. ``*`` allows all.
    """

    def __init__(self, app: ASGIApp, *, body_bytes: int, concurrent: int, hosts: Iterable[str]) -> None:
        self.app = app
        self.body_bytes, self.concurrent = body_bytes, concurrent
        self.hosts = frozenset(hosts)
        self.active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turn a request away, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            await answer(*refused)(scope, receive, _with_headers(send))
            return
        counts = scope["path"] not in ALWAYS and not scope["path"].endswith("/changes")
        self.active += counts
        try:
            await self._pass_on(scope, headers, receive, _with_headers(send))
        finally:
            self.active -= counts

    def _refused(
        self, scope: Scope, headers: Headers
    ) -> tuple[int, str] | tuple[int, str, dict[str, str]] | None:
        """Why a request is turned away before its body is read."""
        if not self._known(headers.get("host", "")):
            return 400, "the Host header names another host than this service goes by"
        if scope["path"] not in ALWAYS and self.active >= self.concurrent:
            return 503, f"more than {self.concurrent} requests at once; try again", {"Retry-After": "1"}
        if scope["method"] not in SAFE and _from_elsewhere(headers):
            return 403, "a page of another site may not write here"
        if int(_number(headers.get("content-length", "0"))) > self.body_bytes:
            return 413, f"the body is larger than {self.body_bytes:,} bytes; send less at a time"
        return None

    def _known(self, host: str) -> bool:
        name = re.sub(r":\d*$", "", host).strip("[]").lower()
        return "*" in self.hosts or name in self.hosts

    async def _pass_on(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Hand a request on, with its whole body where it has one."""
        if scope["method"] in SAFE:
            await self.app(scope, receive, send)
            return
        body = await self._body(receive)
        if body is None:
            too_large = answer(413, f"the body is larger than {self.body_bytes:,} bytes; send less at a time")
            await too_large(scope, receive, send)
        elif "json" in headers.get("content-type", "json") and depth_of(body) > MAX_DEPTH:
            await answer(400, f"the JSON is nested deeper than {MAX_DEPTH}; send it flat")(
                scope, receive, send
            )
        else:
            await self.app(scope, _replay(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | None:
        """The body, or None when it is too large, of which no more is read."""
        parts, size = [], 0
        while True:
            message = await receive()
            part = message.get("body", b"")
            size += len(part)
            if size > self.body_bytes:
                return None
            parts.append(part)
            if message["type"] != "http.request" or not message.get("more_body", False):
                return b"".join(parts)


def depth_of(body: bytes) -> int:
    """How deeply JSON is nested, without parsing it.

    Examples
    --------
    >>> depth_of(b'{"a": [1, {"b": "[[["}]}')
    3
    """
    depth = deepest = 0
    for match in _STRING_OR_BRACKET.finditer(body):
        first = match.group()[:1]
        if first in b"[{":
            depth += 1
            if depth > deepest:
                deepest = depth
                if deepest > MAX_DEPTH:
                    break
        elif first in b"]}":
            depth -= 1
    return deepest


def _from_elsewhere(headers: Headers) -> bool:
    """Whether a browser sent this for a page of another site."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host", "")


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


def _with_headers(send: Send) -> Send:
    """Every answer says what a browser may do with it."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *(pair for pair in extra if pair[0] not in present)]
        await send(message)

    return guarded
