"""HTTP connections, bounded in number, size and time before there is a request.

A client that sends headers without end, or one letter a minute, is never seen by the application. It is
refused here, and so is whoever does not speak HTTP, all in the one shape of errors. uvicorn bounds neither
the size of headers, nor the time until they are there, nor the connections of one client.

A connection on which the client has yet to send something costs a descriptor and nothing else, so it is
closed when another needs its place: the oldest of the client with the most connections first. Connections
whose requests are being answered are never closed; where there are no others, the new one is refused.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from time import monotonic
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from isogloss.service.schemas import CODES

__all__ = ["BACKLOG", "Connections", "HttpConnection", "connection_limit", "raise_descriptor_limit"]

logger = logging.getLogger(__name__)

BACKLOG = 256
"""Connections that the system accepts before this process looks at them."""

RESERVED_DESCRIPTORS = BACKLOG + 128
"""Descriptors for what is no connection yet, the store, logs and pipes."""

LOG_SECONDS = 10.0
"""Time between two lines of the log about connections that were closed or refused."""

HEAD_BYTES = 64 << 10
"""Bytes of the first line and the headers of a request together, but for the last piece that arrives."""

HEAD_SECONDS = 30.0
"""Time that they may take to arrive, from when the connection is made or the answer before is sent."""

REFUSED_BODY_BYTES = 16 << 20
"""Bytes of a body that is not wanted, since its request was answered, that are read and dropped.

A connection that is closed while its client sends would be reset, and the answer lost. The time is that of
:data:`HEAD_SECONDS`.
"""


class Connections:
    """Open connections, no more than a limit.

    Parameters
    ----------
    most, most_per_client : int
        Connections of all clients, and of one address.
    unlimited : sequence of str
        Addresses and networks that only the first limit applies to.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        most: int,
        most_per_client: int,
        *,
        unlimited: Sequence[str] = (),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.most, self.most_per_client = most, most_per_client
        self._unlimited = [ipaddress.ip_network(each) for each in unlimited]
        self._open: dict[HttpConnection, None] = {}  # the oldest first
        self._counts: Counter[str] = Counter()
        self._clock, self._logged = clock, -LOG_SECONDS
        self._reached = ""  # the limit that was last reached since the last line of the log
        self._closed = self._refused = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: HttpConnection) -> bool:
        """Count a new connection, closing another if need be; return whether there is room for it."""
        address = connection.address
        if self._counts[address] >= self.most_per_client and not self._is_unlimited(address):
            said = f"limits.connections_per_client = {self.most_per_client} of one address"
            room = self._make_room((each for each in self._open if each.address == address), said)
        elif len(self._open) >= self.most:
            room = self._make_room(self._open, f"limits.connections = {self.most}")
        else:
            room = True
        if room:
            self._open[connection] = None
            self._counts[address] += 1
        self._log()
        return room

    def remove(self, connection: HttpConnection) -> None:
        """Forget a connection that has ended or is about to."""
        if connection in self._open:
            del self._open[connection]
            self._counts[connection.address] -= 1
            if not self._counts[connection.address]:
                del self._counts[connection.address]
            self._log()

    def _is_unlimited(self, address: str) -> bool:
        try:
            known = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(known in network for network in self._unlimited)

    def _make_room(self, candidates: Iterable[HttpConnection], limit: str) -> bool:
        """Close the connection that is missed least; return whether there is one."""
        waiting = [each for each in candidates if each.waits]
        worst = max(waiting, key=lambda each: (each.waits, self._counts[each.address]), default=None)
        self._reached = limit
        if worst is None:
            self._refused += 1
            return False
        self._closed += 1
        self.remove(worst)
        worst.evict()
        return True

    def _log(self) -> None:
        """Write at most one line in a while, with what has happened since the last."""
        if self._reached and self._clock() - self._logged >= LOG_SECONDS:
            logger.warning(
                "%d connections are open, limit %s: closed %d that waited for their client, refused %d",
                len(self._open),
                self._reached,
                self._closed,
                self._refused,
            )
            self._logged = self._clock()
            self._reached, self._closed, self._refused = "", 0, 0


class HttpConnection(HttpToolsProtocol):
    """One connection of a client.

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


def raise_descriptor_limit(connections: int) -> None:
    """Let this process open as many descriptors as some connections need, as far as the system allows it."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVED_DESCRIPTORS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        logger.info("the limit of open files is %d now; it was %d", target, soft)
    except (OSError, ValueError) as error:
        logger.warning("the limit of open files stays at %d (%s)", soft, error)


def connection_limit(connections: int) -> int:
    """Return how many connections there may be with the descriptors of this process."""
    try:
        import resource
    except ImportError:
        return connections
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= connections + RESERVED_DESCRIPTORS:
        return connections
    possible = max(soft - RESERVED_DESCRIPTORS, soft // 4, 1)
    logger.warning(
        "at most %d connections, not limits.connections = %d, because this process may open %d files; "
        "raise that with ulimit -n or LimitNOFILE",
        possible,
        connections,
        soft,
    )
    return possible
