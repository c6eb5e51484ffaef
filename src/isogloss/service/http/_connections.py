"""Bounds on open connections: of all clients together, of one client, and of the system.

A connection on which the client has yet to send something costs a descriptor and nothing else, so it is
closed when another needs its place: the oldest of the client with the most connections first. Connections
whose requests are being answered are never closed; where there are no others, the new one is refused.
"""

from __future__ import annotations

import ipaddress
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Protocol

__all__ = ["BACKLOG", "Connection", "Connections", "connection_limit", "raise_descriptor_limit"]

logger = logging.getLogger(__name__)

BACKLOG = 256
"""Connections that the system accepts before this process looks at them."""

RESERVED_DESCRIPTORS = BACKLOG + 128
"""Descriptors for what is no connection yet, the store, logs and pipes."""

LOG_SECONDS = 10.0
"""Time between two lines of the log about connections that were closed or refused."""


class Connection(Protocol):
    """One connection of a client."""

    @property
    def address(self) -> str:
        """The address it comes from."""

    @property
    def waits(self) -> int:
        """Return 2 between requests, 1 while the body of a request is missing, 0 while one is answered."""

    def evict(self) -> None:
        """Close it, because another connection needs its place."""


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
        self._open: dict[Connection, None] = {}  # the oldest first
        self._counts: Counter[str] = Counter()
        self._clock, self._logged = clock, -LOG_SECONDS
        self._reached = ""  # the limit that was last reached since the last line of the log
        self._closed = self._refused = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Connection) -> bool:
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

    def remove(self, connection: Connection) -> None:
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

    def _make_room(self, candidates: Iterable[Connection], limit: str) -> bool:
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
