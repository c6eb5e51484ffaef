"""HTTP client of the service, with a method per route and safe retries."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from isogloss.exceptions import ServiceClientError
from isogloss.extras import import_extra, require_extra
from isogloss.io import atomic_write

require_extra("client", "the client of the service")
import httpx  # noqa: E402

if TYPE_CHECKING:
    import pandas

API_PREFIX = "/api/v1"
RETRY_STATUSES = frozenset({429, 503})
"""Statuses of requests that had no effect and may be retried after ``Retry-After``."""

MAX_WAIT_S = 60.0
"""Longest wait before a retry, whatever the service asks for."""

Json = dict[str, Any]


class Client:
    """Client of a service; may be used by several threads.

    Methods return plain dicts and lists as in the reference of the API. Requests with the status 429 or 503
    are retried after the time that the service asks for; requests on broken connections are retried if they
    are idempotent.

    Parameters
    ----------
    url : str
        URL of the service, such as ``http://127.0.0.1:8470``.
    token : str
        Access token; none by default.
    retries : int
        Maximum number of retries.
    timeout : float
        Seconds to wait for a response.

    Raises
    ------
    ServiceClientError
        The service reports an error or does not respond; see ``status`` and ``code``.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8470", token="isg_...")
    >>> client.url
    'http://127.0.0.1:8470'
    """

    def __init__(self, url: str, token: str = "", *, retries: int = 5, timeout: float = 30.0) -> None:
        self.url, self.retries = url.rstrip("/"), retries
        secure = _is_secure(self.url)
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=self.url + API_PREFIX,
            headers=headers,
            timeout=timeout,
            verify=ssl.create_default_context() if secure else False,
            trust_env=False,  # send the token to no proxy
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(self, articles: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, key: str = "") -> Json:
        """Send one article or several; they are committed to disk when this returns.

        Parameters
        ----------
        articles : mapping or sequence of mappings
            Records for :func:`~isogloss.events.parse_article`.
        key : str
            Idempotency key; random by default.
        """
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self._object("POST", "/articles", body=articles, headers=headers)

    def article(self, seq: int) -> Json:
        """Return an article with its earlier versions."""
        return self._object("GET", f"/articles/{int(seq)}")

    def articles(self, **filters: Any) -> Json:
        """Return a page of articles without their bodies, most recently received first, with its ``cursor``.

        Parameters
        ----------
        **filters
            ``event``, ``cluster``, ``limit``, ``cursor``.
        """
        return self._object("GET", "/articles", filters)

    def all_articles(self, **filters: Any) -> Iterator[Json]:
        """Iterate over the articles of all pages."""
        return _pages(self.articles, "articles", filters)

    def delete_article(self, seq: int) -> None:
        """Delete an article and everything derived from it."""
        self._request("DELETE", f"/articles/{int(seq)}")

    def events(self, q: str | None = None, **filters: Any) -> Json:
        """Return a page of events, with the ``cursor`` of the next page.

        Parameters
        ----------
        q : str, optional
            Free text in any language.
        **filters
            ``since``, ``until``, ``lang``, ``place``, ``concept``, ``source``, ``without``,
            ``min_languages``, ``min_size``, ``sort``, ``limit``, ``cursor``.
        """
        return self._object("GET", "/events", {"q": q, **filters})

    def all_events(self, q: str | None = None, **filters: Any) -> Iterator[Json]:
        """Iterate over the events of all pages."""
        return _pages(self.events, "events", {"q": q, **filters})

    def event(self, id: str) -> Json:
        """Return an event with its clusters, articles and links; of a merged event, the current one."""
        return self._object("GET", f"/events/{_quoted(id)}")

    def story(self, id: str, lang: Sequence[str] = ()) -> Json:
        """Return titles with glosses, chapters, related events, sources and quantities of an event."""
        return self._object("GET", f"/events/{_quoted(id)}/story", {"lang": list(lang) or None})

    def overview(self, kind: str, id: str) -> Json:
        """Return what the newest events of a ``place``, ``concept`` or ``source`` have in common."""
        return self._object("GET", "/overview", {"kind": kind, "id": id})

    def cluster(self, id: int) -> Json:
        """Return a cluster."""
        return self._object("GET", f"/clusters/{int(id)}")

    def link(self, a: int, b: int) -> Json:
        """Return the link of two clusters with its evidence."""
        return self._object("GET", f"/links/{int(a)}/{int(b)}")

    def judge(self, a: int, b: int, *, same: bool, note: str = "") -> Json:
        """Send a verdict on whether two clusters are about one event."""
        body = {"same": same, "note": note}
        return self._object("POST", f"/links/{int(a)}/{int(b)}/verdict", body=body)

    def changes(self, after: int | None = None, *, seconds: float | None = None) -> Iterator[Json]:
        """Iterate over new and changed events, reconnecting after a broken connection.

        Parameters
        ----------
        after : int, optional
            Journal line to start after, such as ``changed`` of the last event received.
        seconds : float, optional
            Time after which to stop; endless by default.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        line, failures = after, 0
        while True:
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                return
            try:
                for latest, event in self._messages("/changes", line, left):
                    line, failures = latest, 0
                    yield event
            except httpx.TransportError as error:
                failures += 1
                if failures > self.retries:
                    raise self._unreachable(error) from error
                time.sleep(_backoff(failures))
            except _BusyError as busy:
                failures += 1
                if failures > self.retries:
                    raise busy.error from None
                time.sleep(busy.seconds if left is None else min(busy.seconds, left))

    def compare(self, a: str, b: str, *, langs: tuple[str | None, str | None] = (None, None)) -> Json:
        """Compare two texts."""
        body = {"a": {"text": a, "lang": langs[0]}, "b": {"text": b, "lang": langs[1]}}
        return self._object("POST", "/similarity", body=body)

    def similar(self, text: str, lang: str | None = None, **options: Any) -> Json:
        """Find articles similar to a text; options are ``k``, ``languages``, ``since`` and ``until``."""
        return self._object("POST", "/similar", body={"text": text, "lang": lang, **options})

    def similar_to(self, seq: int, **options: Any) -> Json:
        """Find articles similar to a stored one; options as in :meth:`similar`."""
        return self._object("GET", f"/articles/{int(seq)}/similar", options)

    def topics(self, start: int = 0, limit: int = 10) -> list[Json]:
        """List topics of the similarity model with their strongest words."""
        return self._list("GET", "/topics", {"start": start, "limit": limit})

    def topic(self, n: int) -> Json:
        """Return a topic."""
        return self._object("GET", f"/topics/{int(n)}")

    def translate(self, lang: str, word: str, to: str | None = None, k: int = 10) -> Json:
        """Translate a word."""
        return self._object("GET", f"/words/{_quoted(lang)}/{_quoted(word)}", {"to": to, "k": k})

    def align(self, source: str, target: str, *, langs: tuple[str | None, str | None] = (None, None)) -> Json:
        """Align the words of two sentences."""
        body = {
            "source": {"text": source, "lang": langs[0]},
            "target": {"text": target, "lang": langs[1]},
        }
        return self._object("POST", "/align", body=body)

    def models(self) -> list[Json]:
        """List the models of the service."""
        return self._list("GET", "/models")

    def health(self) -> Json:
        """Check that the service is alive."""
        return self._object("GET", "/health")

    def ready(self) -> Json:
        """Check that the service is ready; raises an error if it is not."""
        return self._object("GET", "/ready")

    def status(self) -> Json:
        """Return table sizes, the backlog and the progress of the worker."""
        return self._object("GET", "/status")

    def sources(self, limit: int = 100) -> list[Json]:
        """Return the sources with the most articles."""
        return self._list("GET", "/sources", {"limit": limit})

    def feeds(self, *, failing: bool = False, limit: int = 1000) -> list[Json]:
        """Return the health of feeds, or of those that fail only."""
        return self._list("GET", "/sources/feeds", {"failing": str(failing).lower(), "limit": limit})

    def limits(self) -> Json:
        """Return all limits by name."""
        return dict(self._object("GET", "/limits")["limits"])

    def metrics(self) -> str:
        """Return metrics in the text format of Prometheus."""
        return self._request("GET", "/metrics").decode()

    def save_search(self, name: str, **query: Any) -> Json:
        """Save a search under a name.

        Parameters
        ----------
        name : str
            A name that no other saved search of the token has.
        **query
            Parameters of :meth:`events`, except ``limit`` and ``cursor``; filters that may be repeated as
            lists.
        """
        return self._object("POST", "/searches", body={"name": name, "query": query})

    def saved_searches(self) -> list[Json]:
        """List the saved searches of the token and of the installation."""
        return self._list("GET", "/searches")

    def saved_search(self, id: int) -> Json:
        """Return a saved search."""
        return self._object("GET", f"/searches/{int(id)}")

    def change_search(self, id: int, name: str, **query: Any) -> Json:
        """Replace the name and the query of a saved search."""
        return self._object("PUT", f"/searches/{int(id)}", body={"name": name, "query": query})

    def delete_search(self, id: int) -> None:
        """Delete a saved search."""
        self._request("DELETE", f"/searches/{int(id)}")

    def export_events(self, path: str | os.PathLike[str], **filters: Any) -> None:
        """Write all events that match to a file, which is complete or not there.

        Parameters
        ----------
        path : path
            File to write; its ending ``.csv``, ``.jsonl`` or ``.parquet`` is the format.
        **filters
            Those of :meth:`events`, ids in ``event``, and ``format``.
        """
        self._export("/export/events", path, filters)

    def export_articles(self, path: str | os.PathLike[str], **filters: Any) -> None:
        """Write all articles of the events that match to a file, reprints included.

        Parameters
        ----------
        path : path
            File to write; its ending ``.csv``, ``.jsonl`` or ``.parquet`` is the format.
        **filters
            Those of :meth:`export_events`, and ``bodies``.
        """
        self._export("/export/articles", path, filters)

    def events_frame(self, **filters: Any) -> pandas.DataFrame:
        """Return all events that match as a DataFrame of pandas; filters as in :meth:`export_events`."""
        return self._frame("/export/events", filters, ("first", "last"))

    def articles_frame(self, **filters: Any) -> pandas.DataFrame:
        """Return all articles of the events that match as a DataFrame, see :meth:`export_articles`."""
        return self._frame("/export/articles", filters, ("time",))

    def events_feed(self, **filters: Any) -> str:
        """Return the events that match as a feed; filters are those of :meth:`events`, and ``format``."""
        return self._request("GET", "/feeds/events", filters).decode()

    def event_feed(self, id: str, *, format: str = "atom") -> str:
        """Return the newest articles of an event as a feed, ``atom`` or ``rss``."""
        return self._request("GET", f"/feeds/events/{_quoted(id)}", {"format": format}).decode()

    def search_feed(self, id: int, *, format: str = "atom") -> str:
        """Return the events of a saved search as a feed, ``atom`` or ``rss``."""
        return self._request("GET", f"/feeds/searches/{int(id)}", {"format": format}).decode()

    def follow(
        self,
        *,
        event: str | None = None,
        search: int | None = None,
        webhook: str | None = None,
        mail: str | None = None,
        minutes: int = 0,
    ) -> Json:
        """Be alerted of an event or of a saved search by webhook or e-mail.

        Parameters
        ----------
        event : str, optional
            Id of an event.
        search : int, optional
            Id of a saved search, instead of an event.
        webhook : str, optional
            URL that gets signed requests, see :func:`verify_webhook`.
        mail : str, optional
            E-mail address, instead of a webhook.
        minutes : int
            Least time between two deliveries.

        Returns
        -------
        dict
            The alert with its ``secret``, which cannot be retrieved again.
        """
        if (webhook is None) == (mail is None):
            raise ValueError("give either webhook or mail")
        channel, address = ("mail", mail) if webhook is None else ("webhook", webhook)
        body = {"event": event, "search": search, "channel": channel, "address": address, "minutes": minutes}
        return self._object("POST", "/alerts", body=body)

    def alerts(self) -> list[Json]:
        """List the alerts of the token; all for an admin."""
        return self._list("GET", "/alerts")

    def alert(self, id: int) -> Json:
        """Return an alert, and why it could not be delivered."""
        return self._object("GET", f"/alerts/{int(id)}")

    def unfollow(self, id: int) -> None:
        """Delete an alert."""
        self._request("DELETE", f"/alerts/{int(id)}")

    def make_token(self, scopes: Sequence[str], *, label: str = "", days: float = 365.0) -> Json:
        """Make a token; its value cannot be retrieved again."""
        return self._object("POST", "/tokens", body={"scopes": list(scopes), "label": label, "days": days})

    def tokens(self) -> list[Json]:
        """List all tokens without their secrets."""
        return self._list("GET", "/tokens")

    def revoke_token(self, id: str) -> None:
        """Revoke a token."""
        self._request("DELETE", f"/tokens/{_quoted(id)}")

    def _export(self, path: str, target: str | os.PathLike[str], filters: dict[str, Any]) -> None:
        query = {"format": Path(target).suffix.removeprefix(".") or "csv"} | filters
        with atomic_write(Path(target)) as file:
            for chunk in self._stream(path, query):
                file.write(chunk)

    def _frame(self, path: str, filters: dict[str, Any], times: Sequence[str]) -> pandas.DataFrame:
        pandas = import_extra("pandas", "frames", "a DataFrame")
        lines = b"".join(self._stream(path, filters | {"format": "jsonl"})).split(b"\n")
        frame = pandas.DataFrame([json.loads(line) for line in lines if line])
        for name in times:
            if name in frame:
                frame[name] = pandas.to_datetime(frame[name], format="ISO8601", utc=True)
        return frame

    def _stream(self, path: str, query: Mapping[str, Any]) -> Iterator[bytes]:
        """Iterate over the body of a response; an error if it is incomplete."""
        for attempt in range(self.retries + 1):
            try:
                with self._http.stream("GET", path, params=_without_none(query)) as response:
                    if response.status_code == 200:
                        yield from response.iter_bytes()
                        return
                    response.read()
            except httpx.TransportError as error:
                raise ServiceClientError(
                    f"{self.url}: the export is incomplete ({error}); repeat it"
                ) from error
            wait = _retry_after(response)
            if attempt == self.retries or wait is None:
                raise _error(response)
            time.sleep(wait)

    def _object(self, *args: Any, **kwargs: Any) -> Json:
        return dict(json.loads(self._request(*args, **kwargs)))

    def _list(self, *args: Any, **kwargs: Any) -> list[Json]:
        return list(json.loads(self._request(*args, **kwargs)))

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Send a request and return the body of the response.

        Requests that read or have an idempotency key are retried after a broken connection, all requests
        after the statuses 429 and 503, which mean that nothing was done.
        """
        all_headers = dict(headers or {})
        content = None
        if body is not None:
            content = json.dumps(body, default=str).encode()
            all_headers["Content-Type"] = "application/json"
        idempotent = method != "POST" or "Idempotency-Key" in all_headers
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                response = self._http.request(
                    method, path, params=_without_none(query), content=content, headers=all_headers
                )
            except httpx.TransportError as error:
                if last or not idempotent:
                    raise self._unreachable(error) from error
                time.sleep(_backoff(attempt))
                continue
            if response.status_code < 400:
                return response.content
            wait = _retry_after(response)
            if last or wait is None:
                raise _error(response)
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _messages(
        self, path: str, after: int | None, seconds: float | None
    ) -> Iterator[tuple[int | None, Json]]:
        """Iterate over the server-sent events of one connection: the line to resume after, and the data."""
        with self._http.stream(
            "GET",
            path,
            params=_without_none({"after": after, "seconds": seconds}),
            headers={"Accept": "text/event-stream"},
        ) as response:
            if response.status_code != 200:
                response.read()
                error, wait = _error(response), _retry_after(response)
                raise error if wait is None else _BusyError(error, wait)
            line, data = after, ""
            for text in _iter_lines(response):
                name, _, value = text.partition(": ")
                if name == "id":
                    line = int(value)
                elif name == "data":
                    data = value
                elif not name and data:
                    yield line, json.loads(data)
                    data = ""

    def _unreachable(self, error: Exception) -> ServiceClientError:
        return ServiceClientError(f"{self.url} does not respond ({error})")


class _BusyError(Exception):
    """A response with ``Retry-After``."""

    def __init__(self, error: ServiceClientError, seconds: float) -> None:
        super().__init__(error, seconds)
        self.error, self.seconds = error, seconds


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = 300.0) -> Json:
    """Return the content of a webhook that the service has sent.

    Parameters
    ----------
    secret : str
        The secret of the alert.
    headers : mapping
        Headers of the request, with names in any case.
    body : bytes
        Body of the request.
    tolerance : float
        Greatest age in seconds.

    Raises
    ------
    ServiceClientError
        The signature is wrong, or the webhook too old.
    """
    known = {name.lower(): value for name, value in headers.items()}
    id, timestamp = known.get("webhook-id", ""), known.get("webhook-timestamp", "")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(signed).decode()}".encode()
    given = known.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(each, expected) for each in given):
        raise ServiceClientError("the signature of the webhook is wrong; it was not sent by this alert")
    if abs(time.time() - int(timestamp)) > tolerance:
        raise ServiceClientError(f"the webhook was sent at {timestamp}, more than {tolerance:g} seconds ago")
    return dict(json.loads(body))


def _is_secure(url: str) -> bool:
    """Return whether a URL uses HTTPS; raise an error if it does not use HTTP either."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ServiceClientError(f"the URL is {url!r}; expected one such as http://127.0.0.1:8470")
    return parsed.scheme == "https"


def _without_none(query: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


def _iter_lines(response: httpx.Response) -> Iterator[str]:
    """Iterate over lines that end with a line feed; httpx would also split at other line separators."""
    rest = b""
    for part in response.iter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode().removesuffix("\r") for line in lines)


def _backoff(attempt: int) -> float:
    """Return the seconds to wait after a broken connection, at most 6.4."""
    return 0.1 * 2.0 ** min(attempt, 6)


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds after which to retry, if the response says so."""
    after = response.headers.get("Retry-After", "")
    if response.status_code not in RETRY_STATUSES or not (after.isascii() and after.isdigit()):
        return None
    return min(float(after), MAX_WAIT_S)


def _error(response: httpx.Response) -> ServiceClientError:
    status = response.status_code
    try:
        error = response.json()["error"]
        return ServiceClientError(f"{status}: {error['message']}", status=status, code=str(error["code"]))
    except (ValueError, KeyError, TypeError):
        return ServiceClientError(f"{status}: {response.content[:200]!r}", status=status)


def _pages(fetch: Callable[..., Json], name: str, filters: dict[str, Any]) -> Iterator[Json]:
    """Iterate over the items of all pages."""
    while True:
        page = fetch(**filters)
        yield from page[name]
        if not page["cursor"]:
            return
        filters = {**filters, "cursor": page["cursor"]}


def _quoted(text: str) -> str:
    return quote(text, safe="")
