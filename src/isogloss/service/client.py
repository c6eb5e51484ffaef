"""A client of the service: its routes as methods; requests are sent again where that is safe."""

from __future__ import annotations

import json
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

from isogloss.exceptions import ServiceClientError
from isogloss.extras import require_extra

require_extra("client", "the client of the service")
import httpx  # noqa: E402

__all__ = ["Client"]

PREFIX = "/api/v1"
BUSY = frozenset({429, 503})
"""Statuses that say that nothing was done, and when to come again."""

MAX_WAIT_S = 60.0
"""Longest wait before another attempt, whatever a service asks for."""

Answer = dict[str, Any]


class Client:
    """The service at an address, for any number of threads.

    Answers are plain dicts and lists, as the reference of the API has them. An answer of 429 or 503 is waited
    out, as long as the service asks for; a broken connection is tried again where that changes nothing.

    Parameters
    ----------
    url : str
        Where the service is, such as ``http://127.0.0.1:8470``.
    token : str
        What it is asked with; none by default.
    retries : int
        How often a request is sent again.
    timeout : float
        Seconds that one answer may take.

    Raises
    ------
    ServiceClientError
        The service refuses or does not answer; ``status`` and ``code`` say why.

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
            base_url=self.url + PREFIX,
            headers=headers,
            timeout=timeout,
            verify=ssl.create_default_context() if secure else False,
            trust_env=False,  # the token goes to this address and to no proxy
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(self, articles: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, key: str = "") -> Answer:
        """Send one article or many; they are on the disk when this returns.

        Parameters
        ----------
        articles : mapping or sequence of mappings
            Fields as :func:`~isogloss.events.parse_article` takes them.
        key : str
            The name of this request, so that it counts once however often it is sent; a random one by
            default.
        """
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self._object("POST", "/articles", body=articles, headers=headers)

    def article(self, seq: int) -> Answer:
        """An article with its earlier texts."""
        return self._object("GET", f"/articles/{int(seq)}")

    def articles(self, **filters: Any) -> Answer:
        """One page of articles without their bodies, the last that came first, and its ``cursor``.

        Parameters
        ----------
        **filters
            ``event``, ``cluster``, ``limit``, ``cursor``.
        """
        return self._object("GET", "/articles", filters)

    def all_articles(self, **filters: Any) -> Iterator[Answer]:
        """Articles of all pages."""
        return _pages(self.articles, "articles", filters)

    def delete_article(self, seq: int) -> None:
        """Delete an article with all its traces; events are made anew without it."""
        self._ask("DELETE", f"/articles/{int(seq)}")

    def events(self, q: str | None = None, **filters: Any) -> Answer:
        """One page of events: ``events`` and the ``cursor`` of the next page.

        Parameters
        ----------
        q : str, optional
            Free text in any language.
        **filters
            ``since``, ``until``, ``lang``, ``place``, ``concept``, ``min_languages``, ``min_size``, ``sort``,
            ``limit``, ``cursor``.
        """
        return self._object("GET", "/events", {"q": q, **filters})

    def all_events(self, q: str | None = None, **filters: Any) -> Iterator[Answer]:
        """Events of all pages."""
        return _pages(self.events, "events", {"q": q, **filters})

    def event(self, id: str) -> Answer:
        """An event with its clusters, articles and links; its id is another if it joined another."""
        return self._object("GET", f"/events/{_quoted(id)}")

    def cluster(self, id: int) -> Answer:
        """Articles of one language that tell one story."""
        return self._object("GET", f"/clusters/{int(id)}")

    def link(self, a: int, b: int) -> Answer:
        """Why two clusters are taken for one event."""
        return self._object("GET", f"/links/{int(a)}/{int(b)}")

    def judge(self, a: int, b: int, *, same: bool, note: str = "") -> Answer:
        """Say whether two clusters are about one event."""
        body = {"same": same, "note": note}
        return self._object("POST", f"/links/{int(a)}/{int(b)}/verdict", body=body)

    def changes(self, after: int | None = None, *, seconds: float | None = None) -> Iterator[Answer]:
        """New and changed events as they come, again and again after a broken connection.

        Parameters
        ----------
        after : int, optional
            A line of the journal to begin after, such as ``changed`` of the last event seen.
        seconds : float, optional
            When to end; never by default.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        line, failures = after, 0
        while True:
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                return
            try:
                for came, event in self._messages("/changes", line, left):
                    line, failures = came, 0
                    yield event
            except httpx.TransportError as error:
                failures += 1
                if failures > self.retries:
                    raise self._no_answer(error) from error
                time.sleep(_backoff(failures))
            except _BusyError as busy:
                failures += 1
                if failures > self.retries:
                    raise busy.refusal from None
                time.sleep(busy.seconds if left is None else min(busy.seconds, left))

    def compare(self, a: str, b: str, *, langs: tuple[str | None, str | None] = (None, None)) -> Answer:
        """How similar two texts are, and why."""
        body = {"a": {"text": a, "lang": langs[0]}, "b": {"text": b, "lang": langs[1]}}
        return self._object("POST", "/similarity", body=body)

    def similar(self, text: str, lang: str | None = None, **options: Any) -> Answer:
        """Articles nearest to a text; options are ``k``, ``languages``, ``since`` and ``until``."""
        return self._object("POST", "/similar", body={"text": text, "lang": lang, **options})

    def similar_to(self, seq: int, **options: Any) -> Answer:
        """Articles nearest to one of the store; options as of :meth:`similar`."""
        return self._object("GET", f"/articles/{int(seq)}/similar", options)

    def topics(self, start: int = 0, limit: int = 10) -> list[Answer]:
        """Components of the model with their strongest words."""
        return self._list("GET", "/topics", {"start": start, "limit": limit})

    def topic(self, n: int) -> Answer:
        """One component."""
        return self._object("GET", f"/topics/{int(n)}")

    def translate(self, lang: str, word: str, to: str | None = None, k: int = 10) -> Answer:
        """Translations of a word."""
        return self._object("GET", f"/words/{_quoted(lang)}/{_quoted(word)}", {"to": to, "k": k})

    def align(
        self, source: str, target: str, *, langs: tuple[str | None, str | None] = (None, None)
    ) -> Answer:
        """Which words of two sentences translate each other."""
        body = {
            "source": {"text": source, "lang": langs[0]},
            "target": {"text": target, "lang": langs[1]},
        }
        return self._object("POST", "/align", body=body)

    def models(self) -> list[Answer]:
        """Models that answers are made with."""
        return self._list("GET", "/models")

    def health(self) -> Answer:
        """Whether the service is alive."""
        return self._object("GET", "/health")

    def ready(self) -> Answer:
        """Whether the service can do its work; it is an error if it cannot."""
        return self._object("GET", "/ready")

    def status(self) -> Answer:
        """How much there is of everything."""
        return self._object("GET", "/status")

    def limits(self) -> Answer:
        """Limits by their names."""
        return dict(self._object("GET", "/limits")["limits"])

    def metrics(self) -> str:
        """Figures, as Prometheus reads them."""
        return self._text("GET", "/metrics")

    def make_token(self, scopes: Sequence[str], *, label: str = "", days: float = 365.0) -> Answer:
        """Make a token; it is shown this once."""
        return self._object("POST", "/tokens", body={"scopes": list(scopes), "label": label, "days": days})

    def tokens(self) -> list[Answer]:
        """Tokens without their secrets."""
        return self._list("GET", "/tokens")

    def revoke_token(self, id: str) -> None:
        """Take a token back."""
        self._ask("DELETE", f"/tokens/{_quoted(id)}")

    def _object(self, *asked: Any, **more: Any) -> Answer:
        return dict(json.loads(self._ask(*asked, **more)))

    def _list(self, *asked: Any, **more: Any) -> list[Answer]:
        return list(json.loads(self._ask(*asked, **more)))

    def _text(self, *asked: Any, **more: Any) -> str:
        return self._ask(*asked, **more).decode()

    def _ask(
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
        sent = dict(headers or {})
        content = None
        if body is not None:
            content = json.dumps(body, default=str).encode()
            sent["Content-Type"] = "application/json"
        idempotent = method != "POST" or "Idempotency-Key" in sent
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                response = self._http.request(
                    method, path, params=_given(query), content=content, headers=sent
                )
            except httpx.TransportError as error:
                if last or not idempotent:
                    raise self._no_answer(error) from error
                time.sleep(_backoff(attempt))
                continue
            if response.status_code < 400:
                return response.content
            wait = _wait(response)
            if last or wait is None:
                raise _refusal(response)
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _messages(
        self, path: str, after: int | None, seconds: float | None
    ) -> Iterator[tuple[int | None, Answer]]:
        """Server-sent events of one connection: the line to come back with, and the data."""
        with self._http.stream(
            "GET",
            path,
            params=_given({"after": after, "seconds": seconds}),
            headers={"Accept": "text/event-stream"},
        ) as response:
            if response.status_code != 200:
                response.read()
                refusal, wait = _refusal(response), _wait(response)
                raise refusal if wait is None else _BusyError(refusal, wait)
            line, data = after, ""
            for text in _lines(response):
                name, _, value = text.partition(": ")
                if name == "id":
                    line = int(value)
                elif name == "data":
                    data = value
                elif not name and data:
                    yield line, json.loads(data)
                    data = ""

    def _no_answer(self, error: Exception) -> ServiceClientError:
        return ServiceClientError(f"{self.url} does not answer ({error})")


class _BusyError(Exception):
    """An answer that asks to come again after some seconds."""

    def __init__(self, refusal: ServiceClientError, seconds: float) -> None:
        super().__init__(refusal, seconds)
        self.refusal, self.seconds = refusal, seconds


def _is_secure(url: str) -> bool:
    """Whether an address is one of HTTPS; raise an error if it is not one of HTTP either."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ServiceClientError(f"the address is {url!r}; expected one such as http://127.0.0.1:8470")
    return parsed.scheme == "https"


def _given(query: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


def _lines(response: httpx.Response) -> Iterator[str]:
    """Lines of a stream; unlike those of httpx they end at line feeds only, as those of events do."""
    rest = b""
    for part in response.iter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode().removesuffix("\r") for line in lines)


def _backoff(attempt: int) -> float:
    """Seconds to wait after a broken connection, 6.4 at most."""
    return 0.1 * 2.0 ** min(attempt, 6)


def _wait(response: httpx.Response) -> float | None:
    """Seconds after which to send a request again, if its answer says so."""
    after = response.headers.get("Retry-After", "")
    if response.status_code not in BUSY or not (after.isascii() and after.isdigit()):
        return None
    return min(float(after), MAX_WAIT_S)


def _refusal(response: httpx.Response) -> ServiceClientError:
    status = response.status_code
    try:
        told = response.json()["error"]
        return ServiceClientError(f"{status}: {told['message']}", status=status, code=str(told["code"]))
    except (ValueError, KeyError, TypeError):
        return ServiceClientError(f"{status}: {response.content[:200]!r}", status=status)


def _pages(ask: Callable[..., Answer], name: str, filters: dict[str, Any]) -> Iterator[Answer]:
    """What all pages have, from the first that is asked for."""
    while True:
        page = ask(**filters)
        yield from page[name]
        if not page["cursor"]:
            return
        filters = {**filters, "cursor": page["cursor"]}


def _quoted(text: str) -> str:
    return quote(text, safe="")
