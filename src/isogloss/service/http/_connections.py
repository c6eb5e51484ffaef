"""HTTP connections with limits on their number, and on the size and time of request headers.

uvicorn bounds neither the size of headers, nor the time until they are complete, nor the connections of one
client. Violations are rejected here, before there is a request, with the same error body as everywhere.

A connection that waits for its client costs only a descriptor and is closed when another needs its place: the
client with the most connections loses its oldest first. Connections with a request in progress are never
closed; if there are no others, the new connection is rejected.
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

from isogloss.service.api.errors import ERROR_CODES

logger = logging.getLogger(__name__)

ACCEPT_BACKLOG = 256
"""Connections that the kernel queues before this process accepts them."""

RESERVED_DESCRIPTORS = ACCEPT_BACKLOG + 128
"""File descriptors for queued connections, the store, logs and pipes."""

LOG_INTERVAL_S = 10.0
"""Time between two log lines about closed and rejected connections."""

MAX_HEADER_BYTES = 64 << 10
"""Size of the request line and headers, not counting the last chunk received."""

HEADER_TIMEOUT_S = 30.0
"""Time for the headers to arrive, from the start of the connection or the end of the previous response."""

MAX_DISCARDED_BYTES = 16 << 20
"""Bytes of a body that are read and discarded after its request has been answered.

Closing a connection while the client sends would reset it and lose the response. The time limit is
:data:`HEADER_TIMEOUT_S`.
"""


class ConnectionLimiter:
    """Limits the number of open connections, in total and per client.

    ``unlimited`` has addresses and networks, such as those of proxies, without a limit per client.
    """

    def __init__(
        self,
        limit: int,
        limit_per_client: int,
        *,
        unlimited: Sequence[str] = (),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.limit, self.limit_per_client = limit, limit_per_client
        self._unlimited = [ipaddress.ip_network(each) for each in unlimited]
        self._open: dict[LimitedHttpProtocol, None] = {}  # oldest first
        self._counts: Counter[str] = Counter()
        self._clock, self._logged = clock, -LOG_INTERVAL_S
        self._reached = ""  # the limit that was last reached since the last log line
        self._closed = self._rejected = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: LimitedHttpProtocol) -> bool:
        """Count a new connection, closing another if necessary; return whether there is room for it."""
        address = connection.address
        if self._counts[address] >= self.limit_per_client and not self._is_unlimited(address):
            reached = f"limits.connections_per_client = {self.limit_per_client} of one address"
            room = self._make_room((each for each in self._open if each.address == address), reached)
        elif len(self._open) >= self.limit:
            room = self._make_room(self._open, f"limits.connections = {self.limit}")
        else:
            room = True
        if room:
            self._open[connection] = None
            self._counts[address] += 1
        self._log()
        return room

    def remove(self, connection: LimitedHttpProtocol) -> None:
        """Stop counting a connection."""
        if connection in self._open:
            del self._open[connection]
            self._counts[connection.address] -= 1
            if not self._counts[connection.address]:
                del self._counts[connection.address]
            self._log()

    def _is_unlimited(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._unlimited)

    def _make_room(self, candidates: Iterable[LimitedHttpProtocol], limit: str) -> bool:
        """Close the connection that is least needed; return whether there is one."""
        idle = [each for each in candidates if each.idleness]
        victim = max(idle, key=lambda each: (each.idleness, self._counts[each.address]), default=None)
        self._reached = limit
        if victim is None:
            self._rejected += 1
            return False
        self._closed += 1
        self.remove(victim)
        victim.evict()
        return True

    def _log(self) -> None:
        """Log what has happened since the last line, at most once per :data:`LOG_INTERVAL_S`."""
        if self._reached and self._clock() - self._logged >= LOG_INTERVAL_S:
            logger.warning(
                "%d connections are open, limit %s: closed %d idle connections, rejected %d new ones",
                len(self._open),
                self._reached,
                self._closed,
                self._rejected,
            )
            self._logged = self._clock()
            self._reached, self._closed, self._rejected = "", 0, 0


class LimitedHttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits on connections and headers."""

    def __init__(self, *args: Any, limiter: ConnectionLimiter, **named: Any) -> None:
        super().__init__(*args, **named)
        self._limiter = limiter
        self._header_bytes: int | None = 0  # of incomplete headers; None while a body is read
        self._discarded = 0  # bytes of a body whose request has been answered
        self._timer: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """Address of the client."""
        return self.client[0] if self.client else ""

    @property
    def idleness(self) -> int:
        """Return 2 between requests, 1 while a body is incomplete, 0 while a request is processed."""
        if self.cycle is None or (self.cycle.response_complete and not self.pipeline):
            return 2
        return int(self._header_bytes is None and self.cycle.more_body and not self.cycle.response_started)

    def evict(self) -> None:
        """Close the connection to make room for another."""
        if self.idleness == 1:
            self._reject(503, "too many connections; try again")
        else:
            self._close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the headers of a request, or reject the connection if there are too many."""
        super().connection_made(transport)
        if self._limiter.add(self):
            self._start_timer()
        else:
            self._reject(503, "too many connections; try again")

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the place of the connection."""
        self._cancel_timer()
        self._limiter.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received bytes, unless they exceed a limit."""
        if self.transport.is_closing():
            return
        if self._header_bytes is None and self.cycle.response_complete:
            self._discarded += len(data)
            if self._discarded > MAX_DISCARDED_BYTES:
                self._close()
                return
        if self._header_bytes is not None:
            if self._header_bytes == 0 and self._timer is None:
                self._start_timer()
            self._header_bytes += len(data)
            if self._header_bytes - len(data) > MAX_HEADER_BYTES:
                self._reject(431, f"the headers are larger than {MAX_HEADER_BYTES:,} bytes")
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Stop the timer: the application takes over."""
        self._header_bytes = None
        self._cancel_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for the headers of the next request."""
        self._header_bytes = self._discarded = 0
        if self.cycle.response_complete:
            self._cancel_timer()
            self._start_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Limit the time in which the rest of a discarded body may arrive."""
        super().on_response_complete()
        rejected = self._header_bytes is None and self.cycle.response_complete  # and no request has followed
        if rejected and not self.transport.is_closing():
            if self.expect_100_continue:  # the client will not send it
                self.transport.close()
            else:
                self._start_timer()

    def send_400_response(self, msg: str) -> None:
        """Reject what is not HTTP."""
        self._reject(400, "not an HTTP/1.1 request; check the request line and the headers")

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_TIMEOUT_S, self._on_timeout)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timeout(self) -> None:
        self._timer = None
        if self._header_bytes:
            self._reject(408, f"the headers took longer than {HEADER_TIMEOUT_S:g} s to arrive")
        else:
            self._close()

    def _close(self) -> None:
        """Close the connection without waiting for the client to read its responses."""
        self._cancel_timer()
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _reject(self, status: int, message: str) -> None:
        """Send an error body and close the connection."""
        self._cancel_timer()
        if self.transport.is_closing():
            return
        body = json.dumps({"error": {"code": ERROR_CODES[status], "message": message}}).encode()
        after = "retry-after: 1\r\n" if status == 503 else ""
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n{after}connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def raise_descriptor_limit(connections: int) -> None:
    """Raise the soft limit of open files to what a number of connections needs, as far as allowed."""
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
        logger.info("raised the limit of open files from %d to %d", soft, target)
    except (OSError, ValueError) as error:
        logger.warning("cannot raise the limit of open files above %d (%s)", soft, error)


def connection_limit(connections: int) -> int:
    """Return how many connections the file descriptors of this process allow."""
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
