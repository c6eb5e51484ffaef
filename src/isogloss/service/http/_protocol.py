"""HTTP connections, bounded in number, size and time before there is a request.

A client that sends headers without end, or one letter a minute, is never seen by the application. It is
refused here, and so is whoever does not speak HTTP, all in the one shape of errors.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from isogloss.service.http._connections import Connections
from isogloss.service.schemas import CODES

__all__ = ["HEAD_BYTES", "HEAD_SECONDS", "REFUSED_BODY_BYTES", "Protocol"]

HEAD_BYTES = 64 << 10
"""Bytes of the first line and the headers of a request together, but for the last piece that arrives."""

HEAD_SECONDS = 30.0
"""Time that they may take to arrive, from when the connection is made or the answer before is sent."""


REFUSED_BODY_BYTES = 16 << 20
"""Bytes of a body that is not wanted, since its request was answered, that are read and dropped.

A connection that is closed while its client sends would be reset, and the answer lost. The time is that of
:data:`HEAD_SECONDS`.
"""


class Protocol(HttpToolsProtocol):
    """One connection.

    Parameters
    ----------
    open_connections : Connections
        All that are open.
    """

    def __init__(self, *args: Any, open_connections: Connections, **named: Any) -> None:
        super().__init__(*args, **named)
        self._open = open_connections
        self._head: int | None = 0  # bytes of a head that is not whole; None while a body is read
        self._dropped = 0  # bytes of a body that is not wanted
        self._late: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """The address it comes from."""
        return self.client[0] if self.client else ""

    @property
    def waits(self) -> int:
        """Return 2 between requests, 1 while the body of a request is missing, 0 while one is answered."""
        if self.cycle is None or (self.cycle.response_complete and not self.pipeline):
            return 2
        return int(self._head is None and self.cycle.more_body and not self.cycle.response_started)

    def evict(self) -> None:
        """Close it, because another connection needs its place."""
        if self.waits == 1:
            self._send_away(503, "too many connections; try again")
        else:
            self._close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request soon, if there is room for another connection."""
        super().connection_made(transport)
        if self._open.add(self):
            self._expect_head()
        else:
            self._send_away(503, "too many connections; try again")

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._forget_time()
        self._open.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take the next piece, unless a request is too large with it."""
        if self.transport.is_closing():
            return
        if self._head is None and self.cycle.response_complete:
            self._dropped += len(data)
            if self._dropped > REFUSED_BODY_BYTES:
                self._close()
                return
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
        self._head = self._dropped = 0
        if self.cycle.response_complete:
            self._forget_time()
            self._expect_head()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Bound the time in which the rest of a body may come that is not wanted any more."""
        super().on_response_complete()
        refused = self._head is None and self.cycle.response_complete  # and no other request has followed
        if refused and not self.transport.is_closing():
            if self.expect_100_continue:  # the client will not send it
                self.transport.close()
            else:
                self._expect_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
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
            self._close()

    def _close(self) -> None:
        """End the connection; what the client has not read yet is not waited for."""
        self._forget_time()
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _send_away(self, status: int, message: str) -> None:
        """Answer in the one shape, and end the connection."""
        self._forget_time()
        if self.transport.is_closing():
            return
        body = json.dumps({"error": {"code": CODES[status], "message": message}}).encode()
        after = "retry-after: 1\r\n" if status == 503 else ""
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n{after}connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
