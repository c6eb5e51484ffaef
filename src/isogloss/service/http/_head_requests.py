"""HEAD: what GET would answer, without the body."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Heads"]

ENDLESS = frozenset({"/api/v1/changes", "/changes"})
"""Paths whose answer to GET never ends."""


class Heads:
    """An ASGI application around another that knows GET.

    Parameters
    ----------
    app : ASGI application
        Is asked with GET where somebody asks with HEAD.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"] in ENDLESS:
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        asked = {**scope, "method": "GET"}
        try:
            await self.app(asked, receive, without_body)
        finally:
            scope["route"] = asked.get("route")
