"""Fetch a page from the public internet, within bounds of time, size and place.

The address is checked on the connection itself, at every redirect: a name that resolves to one address when
it is checked and to another when it is used gains nothing. A timer cuts the connection when the time is up,
however slowly the peer sends.
"""

from __future__ import annotations

import dataclasses
import http.client
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime

from isogloss.exceptions import FeedError
from isogloss.feeds._addresses import is_public
from isogloss.feeds._targets import Target
from isogloss.feeds._unpacking import unpack

__all__ = ["FetchLimits", "Fetcher", "Page"]

logger = logging.getLogger(__name__)
CHUNK = 1 << 16
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WAITING = frozenset({429, 503})


@dataclasses.dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one fetch may cost.

    Parameters
    ----------
    max_bytes : int, default=10 MiB
        Most bytes of a body, packed and unpacked.
    deadline : float, default=20
        Seconds for everything: look-up, redirects, headers and body.
    max_redirects : int, default=5
        Redirects that are followed.
    ports : frozenset of int, default={80, 443}
        Ports that may be asked for.
    """

    max_bytes: int = 10 << 20
    deadline: float = 20.0
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """What came back: the last URL, the status (200, or 304 when nothing changed), headers and the body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def changed(self) -> bool:
        """Whether there is a body that was not there at the last visit."""
        return self.status != 304


class Fetcher:
    """Fetches pages, and refuses every address that is not public.

    Parameters
    ----------
    limits : FetchLimits
        Bounds of one fetch.
    allow : callable, default=is_public
        Whether an address may be connected to. Give another to fetch from inside one's own network.
    user_agent : str
        How the fetcher presents itself.

    Examples
    --------
    >>> Fetcher().fetch("http://localhost/feed")
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: http://localhost/feed: ... is not a public address; ...
    """

    def __init__(
        self,
        limits: FetchLimits | None = None,
        *,
        allow: Callable[[str], bool] = is_public,
        user_agent: str = "isogloss",
    ) -> None:
        self.limits = limits or FetchLimits()
        self.allow = allow
        self.user_agent = user_agent
        self._tls = ssl.create_default_context()

    def fetch(self, url: str, *, etag: str = "", modified: str = "") -> Page:
        """The page at a URL; redirects are followed and checked.

        Parameters
        ----------
        url : str
            An http or https URL.
        etag, modified : str
            ``ETag`` and ``Last-Modified`` of the last visit: an unchanged page comes back as status 304.

        Raises
        ------
        FeedError
            The address is refused, or the page could not be had within the limits.
        """
        until = time.monotonic() + self.limits.deadline
        target = Target.of(url, self.limits.ports)
        headers = {"If-None-Match": etag, "If-Modified-Since": modified}
        for _ in range(self.limits.max_redirects + 1):
            page = self._once(target, {name: value for name, value in headers.items() if value}, until)
            if page.status not in _REDIRECTS:
                return _checked(page)
            target = target.follow(page.headers.get("location", ""), self.limits.ports)
        raise FeedError(f"{url}: more than {self.limits.max_redirects} redirects")

    def _once(self, target: Target, headers: dict[str, str], until: float) -> Page:
        """One request to one address."""
        with _Connection(self._connect(target, until), until) as connection:
            try:
                page = self._ask(connection, target, headers)
            except FeedError as error:
                raise FeedError(f"{target.url}: {connection.late() or error}") from error
            except (OSError, ValueError, http.client.HTTPException) as error:
                said = connection.late() or f"the connection failed ({error or type(error).__name__})"
                raise FeedError(f"{target.url}: {said}") from error
            if connection.late():
                raise FeedError(f"{target.url}: {connection.late()}")
            return page

    def _ask(self, connection: _Connection, target: Target, headers: dict[str, str]) -> Page:
        """Send the request, and read the answer."""
        if target.scheme == "https":
            connection.secure(self._tls, target.host)
        client = http.client.HTTPConnection(target.host, target.port)
        client.sock = connection.socket
        sent = {"Host": target.authority, "User-Agent": self.user_agent, "Accept-Encoding": "gzip, deflate"}
        client.request("GET", target.path, headers=sent | {"Connection": "close"} | headers)
        response = client.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        encoding = received.get("content-encoding", "").strip().lower()
        body = b"" if response.status in _REDIRECTS else self._body(response, encoding)
        return Page(target.url, response.status, received, body)

    def _body(self, response: http.client.HTTPResponse, encoding: str) -> bytes:
        return unpack(_chunks(response, self.limits.max_bytes), encoding, self.limits.max_bytes)

    def _connect(self, target: Target, until: float) -> socket.socket:
        """A socket to the first address of the host that answers; refused before the first packet."""
        failed: OSError | None = None
        for address in _resolve(target, until):
            if not self.allow(address):
                raise FeedError(
                    f"{target.url}: {address} is not a public address; only public ones are fetched from"
                )
            try:
                return socket.create_connection((address, target.port), timeout=_left(target, until))
            except OSError as error:
                failed = error
        raise FeedError(f"{target.url}: cannot connect ({failed})")


class _Connection:
    """A socket that is cut when the time is up."""

    def __init__(self, connected: socket.socket, until: float) -> None:
        self.socket = connected
        self._until, self._cut_off = until, False
        self._timer = threading.Timer(max(until - time.monotonic(), 0.0), self._cut)
        self._timer.daemon = True

    def __enter__(self) -> _Connection:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self.socket.close()

    def secure(self, tls: ssl.SSLContext, host: str) -> None:
        """Go on with TLS; the timer cuts the new socket, from its first packet on."""
        wrapped = tls.wrap_socket(self.socket, server_hostname=host, do_handshake_on_connect=False)
        self.socket = wrapped
        wrapped.do_handshake()

    def late(self) -> str:
        """Return what to say if the deadline has passed, else an empty string.

        The clock decides: the socket's own timeout may end at the same instant as the timer, and before it.
        """
        passed = self._cut_off or time.monotonic() >= self._until
        return "took longer than the deadline of the fetch" if passed else ""

    def _cut(self) -> None:
        self._cut_off = True
        try:
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)  # whatever TLS is at
        except OSError:
            logger.debug("the peer had closed the connection already")


def _resolve(target: Target, until: float) -> list[str]:
    """The addresses of a host; a look-up that hangs is left behind when the time is up."""
    found: list[str] = []
    failed: list[OSError] = []

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            found.extend(str(entry[4][0]) for entry in entries)
        except (OSError, UnicodeError) as error:
            failed.append(OSError(str(error)))

    worker = threading.Thread(target=look_up, daemon=True)
    worker.start()
    worker.join(_left(target, until))
    if not found:
        raise FeedError(
            f"{target.url}: the host cannot be looked up ({failed[0] if failed else 'no answer'})"
        )
    return list(dict.fromkeys(found))


def _left(target: Target, until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise FeedError(f"{target.url}: took longer than the deadline of the fetch")
    return left


def _chunks(response: http.client.HTTPResponse, max_bytes: int) -> Iterator[bytes]:
    """The body as it is sent, up to a number of bytes; a body shorter than announced is an error."""
    length = response.length
    if length is not None and length > max_bytes:
        raise FeedError(f"the body is announced with {length:,} bytes; at most {max_bytes:,} are read")
    total = 0
    while chunk := response.read1(CHUNK):
        total += len(chunk)
        if total > max_bytes:
            raise FeedError(f"the body has more than {max_bytes:,} bytes; raise max_bytes if it is wanted")
        yield chunk
    if length is not None and total < length:
        raise FeedError(f"the body ended after {total:,} of {length:,} bytes")


def _checked(page: Page) -> Page:
    if page.status not in (200, 304):
        wait = _seconds(page.headers.get("retry-after", "")) if page.status in _WAITING else 0.0
        raise FeedError(f"{page.url}: the server answered {page.status}; expected 200", wait=wait)
    return page


def _seconds(text: str) -> float:
    """What ``Retry-After`` says, as seconds from now; 0 where it says nothing that can be read.

    Examples
    --------
    >>> _seconds("120"), _seconds("soon"), _seconds("Mon, 03 Mar 2003 08:00:00 GMT")
    (120.0, 0.0, 0.0)
    """
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
