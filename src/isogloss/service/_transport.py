"""Requests to the service, one connection for each thread; sent again where that is asked for or harmless."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from isogloss.exceptions import ServiceClientError

__all__ = ["Transport"]

PREFIX = "/api/v1"
_AGAIN = frozenset({429, 503})
_LONGEST = 60.0
_BROKEN = (OSError, http.client.HTTPException)


class _BusyError(Exception):
    """An answer that asks to come again after some seconds."""

    def __init__(self, error: ServiceClientError, seconds: float) -> None:
        super().__init__(error, seconds)
        self.error, self.seconds = error, seconds


class Transport:
    """Requests to one address.

    Parameters
    ----------
    url, token : str
        Where to, and with what.
    retries : int
        How often a request is sent again.
    timeout : float
        Seconds that one answer may take.
    """

    def __init__(self, url: str, token: str, *, retries: int, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServiceClientError(f"the address is {url!r}; expected one such as http://127.0.0.1:8470")
        self.url, self.retries, self.timeout = url, retries, timeout
        self._parts = parts
        self._headers = {"Accept": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        self._local = threading.local()

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Send a request and wait for its answer.

        What reads, and what has a key, is sent again after a broken connection; everything is after 429
        and 503, which say that nothing was done.
        """
        content = None if body is None else json.dumps(body, default=str).encode()
        told = {
            **self._headers,
            **({"Content-Type": "application/json"} if content else {}),
            **(headers or {}),
        }
        harmless = method != "POST" or "Idempotency-Key" in told
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                status, waits, answer = self._once(method, _target(path, query), content, told)
            except _BROKEN as error:
                if last or not harmless:
                    raise ServiceClientError(f"{self.url} does not answer ({error})") from error
                time.sleep(min(0.1 * 2**attempt, 5.0))
                continue
            if status < 400:
                return answer
            if last or status not in _AGAIN or waits is None:
                raise _refused(status, answer)
            time.sleep(min(waits, _LONGEST))
        raise AssertionError("the last attempt returns or raises")

    def follow(self, path: str, after: int | None, seconds: float | None) -> Iterator[str]:
        """Data of server-sent events, from where a broken connection ended."""
        ends = None if seconds is None else time.monotonic() + seconds
        line, failures = after, 0
        while True:
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                return
            try:
                for came, data in self._stream(path, line, left):
                    line, failures = came, 0
                    yield data
            except _BROKEN as error:
                failures += 1
                if failures > self.retries:
                    raise ServiceClientError(f"{self.url} does not answer ({error})") from error
                time.sleep(min(0.1 * 2**failures, 5.0))
            except _BusyError as busy:
                failures += 1
                if failures > self.retries:
                    raise busy.error from None
                time.sleep(min(busy.seconds, _LONGEST, math.inf if left is None else left))

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()

    def _once(
        self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, float | None, bytes]:
        """Status, seconds to wait before another attempt, and content of one answer."""
        connection = self._connection()
        try:
            connection.request(method, target, content, dict(headers))
            response = connection.getresponse()
            return response.status, _seconds(response.headers.get("Retry-After")), response.read()
        except BaseException:
            connection.close()
            raise

    def _stream(self, path: str, after: int | None, left: float | None) -> Iterator[tuple[int | None, str]]:
        """Messages of one connection: the line to come back with, and the data."""
        connection = self._connect()
        try:
            target = _target(path, {"after": after, "seconds": left})
            connection.request("GET", target, headers=self._headers | {"Accept": "text/event-stream"})
            response = connection.getresponse()
            if response.status != 200:
                error = _refused(response.status, response.read())
                seconds = _seconds(response.headers.get("Retry-After"))
                raise error if error.status not in _AGAIN or seconds is None else _BusyError(error, seconds)
            line, data = after, ""
            for raw in response:
                name, _, value = raw.decode().rstrip("\r\n").partition(": ")
                if name == "id":
                    line = int(value)
                elif name == "data":
                    data = value
                elif not name and data:
                    yield line, data
                    data = ""
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
        connection: http.client.HTTPConnection = self._local.connection
        return connection

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=self.timeout)


def _target(path: str, query: Mapping[str, Any] | None) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return PREFIX + path + ("?" + urlencode(given, doseq=True) if given else "")


def _seconds(text: str | None) -> float | None:
    """What Retry-After says, in its form of seconds."""
    return float(text) if text and text.isascii() and text.isdigit() else None


def _refused(status: int, answer: bytes) -> ServiceClientError:
    try:
        told = json.loads(answer)["error"]
        return ServiceClientError(f"{status}: {told['message']}", status=status, code=str(told["code"]))
    except (ValueError, KeyError, TypeError):
        return ServiceClientError(f"{status}: {answer[:200]!r}", status=status)
