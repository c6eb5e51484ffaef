"""HTTP before there is a request: what comes must become one, within bounds of size and time.

A client that sends lines without end, or one letter a minute, is never seen by the application. It is sent
away here, and so is whoever does not speak HTTP, all in the one shape of errors.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from isogloss.service.errors import CODES

__all__ = ["HEAD_BYTES", "HEAD_SECONDS", "Protocol"]

HEAD_BYTES = 64 << 10
"""Bytes of the first line and the headers of a request together, but for the last piece that arrives."""

HEAD_SECONDS = 30.0
"""Time that they may take to arrive, from when the connection is made or the answer before is sent."""


class Protocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._head: int | None = 0  # bytes of a head that is not whole; None while a body is read
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request soon."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._forget_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take the next piece, unless the head of a request is too large with it."""
        if self._head is not None:
            if self._head == 0 and self._late is None:
                self._expect_head()
            self._head += len(data)
            if self._head - len(data) > HEAD_BYTES:
                said = f"the headers are larger than {HEAD_BYTES:,} bytes; send less, or put it into a body"
                self._send_away(431, said)
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The application takes over."""
        self._head = None
        self._forget_time()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What comes next is another head."""
        self._head = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What is told to whoever does not speak HTTP."""
        self._send_away(400, "this is not a request of HTTP/1.1; look at its first line and its headers")

    def _expect_head(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _forget_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if self._head:
            self._send_away(
                408, f"the headers took longer than {HEAD_SECONDS:g} s to arrive; send them at once"
            )
        else:
            self.transport.close()

    def _send_away(self, status: int, message: str) -> None:
        """Answer in the one shape, and end the connection."""
        self._forget_time()
        if self.transport.is_closing():
            return
        body = json.dumps({"error": {"code": CODES[status], "message": message}}).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
