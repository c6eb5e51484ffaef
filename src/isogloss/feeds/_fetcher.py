"""An HTTP client for untrusted servers, with limits on time, size and destination.

The address is checked on the connection itself, at every redirect, so a DNS name that changes between check
and use (DNS rebinding) gains nothing. A timer cuts the connection at the deadline, however slowly the server
sends. Bodies are decompressed as they arrive and never beyond the size limit.
"""

from __future__ import annotations

import dataclasses
import http.client
import logging
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime

from isogloss.exceptions import FeedError
from isogloss.feeds._urls import CheckedUrl, is_public

logger = logging.getLogger(__name__)
READ_BYTES = 1 << 16
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRY_LATER = frozenset({429, 503})
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


@dataclasses.dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one fetch.

    Parameters
    ----------
    max_bytes : int, default=10 MiB
        Maximum size of a body, compressed and decompressed.
    deadline : float, default=20
        Seconds for everything: DNS lookup, redirects, headers and body.
    max_redirects : int, default=5
        Redirects that are followed.
    ports : frozenset of int, default={80, 443}
        Allowed ports.
    """

    max_bytes: int = 10 << 20
    deadline: float = 20.0
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})


class RedirectError(FeedError):
    """A redirect that was not followed; ``target`` is the URL that it leads to."""

    def __init__(self, message: str, target: str) -> None:
        super().__init__(message)
        self.target = target


@dataclasses.dataclass(frozen=True, slots=True)
class FetchResponse:
    """An HTTP response: the final URL, the status (200, or 304 for not modified), headers and body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def modified(self) -> bool:
        """Return whether the body is new since the last visit."""
        return self.status != 304


class Fetcher:
    """Fetch pages, and refuse every address that is not public.

    Parameters
    ----------
    limits : FetchLimits
        Limits of one fetch.
    allow : callable, default=is_public
        Whether an address may be connected to. Pass another function to fetch from your own network.
    user_agent : str
        The ``User-Agent`` header.

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

    def fetch(
        self, url: str, *, etag: str = "", modified: str = "", follow: bool = True, max_bytes: int = 0
    ) -> FetchResponse:
        """Fetch a URL; redirects are checked and followed.

        Parameters
        ----------
        url : str
            An http or https URL.
        etag, modified : str
            ``ETag`` and ``Last-Modified`` of the last visit: an unmodified page comes back as status 304.
        follow : bool
            Whether to follow redirects.
        max_bytes : int
            A lower limit of the size than that of ``limits``; 0 for none.

        Raises
        ------
        RedirectError
            The server redirects, and ``follow`` is false; it has the checked target.
        FeedError
            The address is refused, or the page could not be fetched within the limits.
        """
        max_bytes = min(max_bytes or self.limits.max_bytes, self.limits.max_bytes)
        until = time.monotonic() + self.limits.deadline
        target = CheckedUrl.parse(url, self.limits.ports)
        conditions = {"If-None-Match": etag, "If-Modified-Since": modified}
        headers = {name: value for name, value in conditions.items() if value}
        for _ in range(self.limits.max_redirects + 1):
            response = self._request(target, headers, until, max_bytes)
            if response.status not in _REDIRECTS:
                return _check_status(response)
            target = target.redirect(response.headers.get("location", ""), self.limits.ports)
            if not follow:
                raise RedirectError(f"{url}: redirects to {target.url}", target.url)
        raise FeedError(f"{url}: more than {self.limits.max_redirects} redirects")

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> FetchResponse:
        """Send a body to a URL, and return the status and headers of the answer without its body.

        Redirects are not followed.

        Raises
        ------
        FeedError
            The address is refused, or there was no answer within the limits.
        """
        until = time.monotonic() + self.limits.deadline
        return self._request(CheckedUrl.parse(url, self.limits.ports), headers, until, 0, body)

    def _request(
        self,
        target: CheckedUrl,
        headers: Mapping[str, str],
        until: float,
        max_bytes: int,
        body: bytes | None = None,
    ) -> FetchResponse:
        """Make one request, POST if there is a body, without following redirects."""
        with _Connection(self._connect(target, until), until) as connection:
            try:
                response = self._exchange(connection, target, headers, max_bytes, body)
            except FeedError as error:
                raise FeedError(f"{target.url}: {connection.timeout_message() or error}") from error
            except (OSError, ValueError, http.client.HTTPException) as error:
                failure = f"the connection failed ({error or type(error).__name__})"
                raise FeedError(f"{target.url}: {connection.timeout_message() or failure}") from error
            if connection.timeout_message():
                raise FeedError(f"{target.url}: {connection.timeout_message()}")
            return response

    def _exchange(
        self,
        connection: _Connection,
        target: CheckedUrl,
        headers: Mapping[str, str],
        max_bytes: int,
        sent_body: bytes | None,
    ) -> FetchResponse:
        """Send the request and read the response."""
        if target.scheme == "https":
            connection.start_tls(self._tls, target.host)
        client = http.client.HTTPConnection(target.host, target.port)
        client.sock = connection.socket
        sent = {"Host": target.authority, "User-Agent": self.user_agent, "Accept-Encoding": "gzip, deflate"}
        method = "GET" if sent_body is None else "POST"
        client.request(method, target.path, sent_body, sent | {"Connection": "close"} | dict(headers))
        response = client.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        encoding = received.get("content-encoding", "").strip().lower()
        wanted = response.status == 200 and sent_body is None
        body = decompress(_chunks(response, max_bytes), encoding, max_bytes) if wanted else b""
        return FetchResponse(target.url, response.status, received, body)

    def _connect(self, target: CheckedUrl, until: float) -> socket.socket:
        """Connect to the first address of the host that answers; check each before the first packet."""
        failed: OSError | None = None
        for address in _resolve(target, until):
            if not self.allow(address):
                raise FeedError(
                    f"{target.url}: {address} is not a public address; only public addresses are allowed, "
                    "unless isogloss watch or newsroom is called with --private, or for webhooks "
                    "alerts.private_addresses is set"
                )
            try:
                return socket.create_connection((address, target.port), timeout=_seconds_left(target, until))
            except OSError as error:
                failed = error
        raise FeedError(f"{target.url}: cannot connect ({failed})")


class _Connection:
    """A socket that is shut down at a deadline."""

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

    def start_tls(self, tls: ssl.SSLContext, host: str) -> None:
        """Switch to TLS; the timer also covers the handshake."""
        wrapped = tls.wrap_socket(self.socket, server_hostname=host, do_handshake_on_connect=False)
        self.socket = wrapped
        wrapped.do_handshake()

    def timeout_message(self) -> str:
        """Return an error message if the deadline has passed, else an empty string.

        The clock decides: the socket's own timeout may end at the same instant as the timer, and before it.
        """
        passed = self._cut_off or time.monotonic() >= self._until
        return "took longer than the deadline of the fetch" if passed else ""

    def _cut(self) -> None:
        self._cut_off = True
        try:
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)  # not SSLSocket's, which may block
        except OSError:
            logger.debug("the server had already closed the connection")


def _resolve(target: CheckedUrl, until: float) -> list[str]:
    """Look up the addresses of a host; a lookup that hangs is abandoned at the deadline."""
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
    worker.join(_seconds_left(target, until))
    if not found:
        raise FeedError(
            f"{target.url}: the host cannot be looked up ({failed[0] if failed else 'no answer'})"
        )
    return list(dict.fromkeys(found))


def _seconds_left(target: CheckedUrl, until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise FeedError(f"{target.url}: took longer than the deadline of the fetch")
    return left


def _chunks(response: http.client.HTTPResponse, max_bytes: int) -> Iterator[bytes]:
    """Read a body in chunks, up to a size; a body shorter than its Content-Length is an error."""
    length = response.length
    if length is not None and length > max_bytes:
        raise FeedError(f"the body is announced with {length:,} bytes; at most {max_bytes:,} are read")
    total = 0
    while chunk := response.read1(READ_BYTES):
        total += len(chunk)
        if total > max_bytes:
            raise FeedError(f"the body has more than {max_bytes:,} bytes; raise max_bytes to read it")
        yield chunk
    if length is not None and total < length:
        raise FeedError(f"the body ended after {total:,} of {length:,} bytes")


def _check_status(response: FetchResponse) -> FetchResponse:
    if response.status not in (200, 304):
        retry_after = response.headers.get("retry-after", "") if response.status in _RETRY_LATER else ""
        raise FeedError(
            f"{response.url}: the server answered {response.status}; expected 200",
            wait=parse_retry_after(retry_after),
            status=response.status,
        )
    return response


def parse_retry_after(text: str) -> float:
    """Parse a ``Retry-After`` header to seconds from now; 0 if it cannot be parsed.

    Examples
    --------
    >>> parse_retry_after("120"), parse_retry_after("soon")
    (120.0, 0.0)
    >>> parse_retry_after("Mon, 03 Mar 2003 08:00:00 GMT")
    0.0
    """
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0


def decompress(chunks: Iterable[bytes], encoding: str, max_bytes: int) -> bytes:
    """Decompress a body as it arrives, up to a size.

    The encoding is ``gzip``, ``deflate`` or ``identity``; an identity body that is a gzip file is
    decompressed too. Raises FeedError for a body that is too large, damaged, truncated, or in another
    encoding; not one byte more than ``max_bytes`` is decompressed.

    Examples
    --------
    >>> import gzip
    >>> decompress([gzip.compress(b"news")], "gzip", 100)
    b'news'
    >>> decompress([gzip.compress(bytes(10**6))], "gzip", 1000)
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: the body has more than 1,000 bytes when decompressed; ...
    """
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise FeedError(f"the content encoding is {encoding!r}; expected gzip, deflate or none")
    buffer = _BoundedBuffer(max_bytes)
    decompressor = None if encoding in ("", "identity") else _Decompressor(buffer)
    for count, chunk in enumerate(chunks):
        if count == 0 and decompressor is None and chunk.startswith(_GZIP_MAGIC):
            decompressor = _Decompressor(buffer)
        if decompressor is None:
            buffer.add(chunk)
        else:
            decompressor.feed(chunk)
    if decompressor is not None:
        decompressor.close()
    return bytes(buffer.content)


class _BoundedBuffer:
    """A byte buffer with a maximum size."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.content = max_bytes, bytearray()

    @property
    def room(self) -> int:
        """One byte more than may still be added, to detect an overflow."""
        return self.max_bytes - len(self.content) + 1

    def add(self, chunk: bytes) -> None:
        if len(chunk) >= self.room:
            raise FeedError(
                f"the body has more than {self.max_bytes:,} bytes when decompressed; "
                "raise max_bytes to read it"
            )
        self.content += chunk


class _Decompressor:
    """A zlib decompressor of concatenated gzip members that fills a bounded buffer."""

    def __init__(self, buffer: _BoundedBuffer) -> None:
        self.buffer, self.stream = buffer, zlib.decompressobj(_GZIP_OR_ZLIB)

    def feed(self, chunk: bytes) -> None:
        while chunk:
            if self.stream.eof:
                if not chunk.startswith(_GZIP_MAGIC):
                    return
                self.stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                self.buffer.add(self.stream.decompress(chunk, self.buffer.room))
            except zlib.error as error:
                raise FeedError(f"the body cannot be decompressed ({error})") from error
            chunk = self.stream.unconsumed_tail or self.stream.unused_data

    def close(self) -> None:
        if not self.stream.eof:
            raise FeedError("the compressed body is truncated; fetch it again")
