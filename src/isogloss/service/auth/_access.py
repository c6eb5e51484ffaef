"""Who may do what: the token of a request, and the allowance of its client."""

from __future__ import annotations

import ipaddress
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Annotated, Any

from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from isogloss.exceptions import SettingsError
from isogloss.service.auth._tokens import Holder, KnownTokens, list_tokens
from isogloss.service.schemas import ServiceError
from isogloss.service.settings import ServerSettings, Settings
from isogloss.store import Store

__all__ = [
    "BEARER",
    "NOBODY",
    "PRINCIPAL",
    "SAFE_METHODS",
    "Access",
    "Admin",
    "AuthenticatedRoute",
    "Principal",
    "RateLimiter",
    "Reader",
    "RequireScope",
    "Writer",
    "check_exposure",
]

NOBODY = Holder("", frozenset())
PRINCIPAL = "isogloss.principal"
"""Key of the ASGI scope under which the :class:`Principal` of an admitted request is."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing and whose body, if any, is not read."""


MAX_CLIENTS = 100_000
"""Clients whose allowances are known at the same time."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who was admitted to a route, and for what."""

    holder: Holder
    needed: str
    client: str
    """What limits of one client count: the id of a token, or an address where there is no token."""


class RateLimiter:
    """Token buckets, one for each client; the least recent are dropped when there are too many.

    Parameters
    ----------
    per_second : float
        What a client may have in the mean.
    burst_seconds : float
        How much of it may be saved up.
    clock : callable
        Seconds.

    Examples
    --------
    >>> now = 0.0
    >>> rates = RateLimiter(2.0, 1.0, clock=lambda: now)
    >>> [rates.wait("a") for _ in range(3)]
    [0.0, 0.0, 0.5]
    >>> now = 0.5
    >>> rates.wait("a")
    0.0
    """

    def __init__(
        self, per_second: float, burst_seconds: float, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self.per_second, self.size = per_second, max(per_second * burst_seconds, 1.0)
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, cost: float = 1.0) -> float:
        """Take from a client's allowance; 0, or the seconds until there is enough, and nothing is taken.

        A cost above the whole allowance is let through when the allowance is full, and owed afterwards.
        """
        now = self._clock()
        with self._lock:
            level, since = self._buckets.pop(client, (self.size, now))
            level = min(self.size, level + (now - since) * self.per_second)
            needed = min(cost, self.size)
            enough = level >= needed - 1e-9
            self._buckets[client] = (level - cost if enough else level, now)
            if len(self._buckets) > MAX_CLIENTS:
                self._buckets.popitem(last=False)
        return 0.0 if enough else (needed - level) / self.per_second


@dataclass
class Access:
    """Decides on requests.

    On an address that only this machine can reach, with no proxy in front, and as long as the store has no
    token, everything is allowed; otherwise writing needs a token, and reading does where ``public_read`` is
    off.
    """

    store: Store
    settings: Settings
    reads: RateLimiter = field(init=False)
    writes: RateLimiter = field(init=False)
    tokens: KnownTokens = field(init=False)

    def __post_init__(self) -> None:
        limits = self.settings.limits
        self.tokens = KnownTokens(self.store)
        self.reads = RateLimiter(limits.reads_per_second, limits.burst_seconds)
        self.writes = RateLimiter(limits.writes_per_second, limits.burst_seconds)

    def holder(self, request: Request) -> Holder:
        """Who asks; a token that does not hold is an error, whatever it was for."""
        kind, token = _given(request)
        if kind:
            found = self.tokens.who_has(token) if kind == "bearer" else None
            if found is None:
                self.pay(request, NOBODY, self.reads, 1.0)
                raise ServiceError(401, "the token is unknown, expired or revoked", _CHALLENGE)
            return replace(found, scopes=found.scopes | self._public())
        if self._at_home():
            return Holder("local", frozenset({"admin"}))
        return Holder("", self._public())

    async def admit(self, request: Request, scope: str) -> Holder:
        """Authenticate a request and take from its allowance, once; only headers are looked at.

        The store is asked in a thread, and only about tokens that were not asked for a moment ago.
        """
        known: Principal | None = request.scope.get(PRINCIPAL)
        if known is not None and known.needed == scope:
            return known.holder
        if self.tokens.ready(_given(request)[1]):
            holder = self.need(request, scope)
        else:
            holder = await run_in_threadpool(self.need, request, scope)
        request.scope[PRINCIPAL] = Principal(holder, scope, _client(request, holder))
        return holder

    def need(self, request: Request, scope: str) -> Holder:
        """Return the holder of a request's token if it has a scope; raise an error otherwise."""
        holder = self.holder(request)
        if not holder.may(scope):
            self.pay(request, holder, self.reads, 1.0)
            if not holder.id:
                raise ServiceError(401, f"this needs a token with the scope {scope!r}", _CHALLENGE)
            raise ServiceError(403, f"the token does not have the scope {scope!r}")
        rates, cost = (self.reads, 1.0) if scope == "read" else (self.writes, 1.0)
        self.pay(request, holder, rates, cost)
        return holder

    def pay(self, request: Request, holder: Holder, rates: RateLimiter, cost: float) -> None:
        """Take from the allowance of a token, or of an address where there is none."""
        wait = rates.wait(_client(request, holder), cost)
        if wait > 0:
            after = str(max(1, math.ceil(wait)))
            raise ServiceError(429, f"too many requests; wait {after} s", {"Retry-After": after})

    def _public(self) -> frozenset[str]:
        """What everybody may do, with any token that holds or without one."""
        return frozenset({"read"}) if self.settings.server.public_read else frozenset()

    def _at_home(self) -> bool:
        return not _is_exposed(self.settings.server) and self.tokens.none()


_CHALLENGE = {"WWW-Authenticate": "Bearer"}


def _given(request: Request) -> tuple[str, str]:
    """The kind of credentials that a request brings, in small letters, and the credentials."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return kind.lower(), token.strip()


def _client(request: Request, holder: Holder) -> str:
    return holder.id or (request.client.host if request.client else "")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_exposed(server: ServerSettings) -> bool:
    """Whether others than this machine can reach the service, themselves or through a proxy."""
    return not is_loopback(server.host) or bool(server.trusted_proxies)


def check_exposure(settings: Settings, store: Store) -> None:
    """Refuse to listen where others can reach, as long as there is no token."""
    server = settings.server
    if not _is_exposed(server) or list_tokens(store):
        return
    if is_loopback(server.host):
        raise SettingsError(
            f"server.trusted_proxies is {server.trusted_proxies}, so others can reach the service, "
            "and there is no token yet; make one with isogloss token make admin"
        )
    raise SettingsError(
        f"server.host is {server.host!r}, which others can reach, and there is no token yet; "
        "make one with isogloss token, or listen on 127.0.0.1"
    )


BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token of `POST /tokens`. Without one, everything is allowed on an address of this machine "
    "as long as there is no token at all, and elsewhere reading is, unless that is switched off.",
)


class RequireScope:
    """Dependency of a route: gives the holder of the request's token, who must have a scope.

    Parameters
    ----------
    scope : str
        One of :data:`~isogloss.service.auth._tokens.SCOPES`.
    """

    def __init__(self, scope: str) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Holder:
        """Admit a request."""
        access: Access = request.app.state.access
        return await access.admit(request, self.scope)


class _RequireScopeOfApi(RequireScope):
    """The same, described in the schema of the API."""

    async def __call__(self, request: Request, _: Annotated[object, Security(BEARER)] = None) -> Holder:
        return await super().__call__(request)


class AuthenticatedRoute(APIRoute):
    """A route that authenticates requests by their headers before it reads their bodies.

    FastAPI by itself reads and parses a body before it asks any dependency.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Handle a request whose :class:`RequireScope` has been asked first."""
        handle = super().get_route_handler()
        required = [each.call for each in self.dependant.dependencies if isinstance(each.call, RequireScope)]

        async def authenticated(request: Request) -> Response:
            if request.method not in SAFE_METHODS:
                for require in required:
                    await require(request)
                await request.body()
            return await handle(request)

        return authenticated


Reader = Annotated[Holder, Depends(_RequireScopeOfApi("read"))]
Writer = Annotated[Holder, Depends(_RequireScopeOfApi("write"))]
Admin = Annotated[Holder, Depends(_RequireScopeOfApi("admin"))]
