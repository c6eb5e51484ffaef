"""Access control: authentication by token, scopes, and rate limits per client."""

from __future__ import annotations

import ipaddress
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from time import monotonic
from typing import Annotated, Any

from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from isogloss.exceptions import SettingsError
from isogloss.service.api.errors import ServiceError
from isogloss.service.auth._tokens import Principal, TokenCache, list_tokens
from isogloss.service.settings import ServerSettings, Settings
from isogloss.store import Store

ANONYMOUS = Principal("", frozenset())
AUTHORIZATION = "isogloss.authorization"
"""Key of the ASGI scope that holds the :class:`Authorization` of a request."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing and whose body, if any, is not read."""

MAX_RATE_LIMITED_CLIENTS = 100_000

_CHALLENGE = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True, slots=True)
class Authorization:
    """A principal, the scope it was authorized for, and the id that limits per client count by."""

    principal: Principal
    scope: str
    client: str
    """Id of the token, or the address of the client without one."""


class RateLimiter:
    """Token buckets, one per client; the least recently used are dropped when there are too many.

    The capacity of a bucket is ``burst_seconds`` of the mean rate.

    Examples
    --------
    >>> now = 0.0
    >>> limiter = RateLimiter(2.0, 1.0, clock=lambda: now)
    >>> [limiter.acquire("a") for _ in range(3)]
    [0.0, 0.0, 0.5]
    >>> now = 0.5
    >>> limiter.acquire("a")
    0.0
    """

    def __init__(
        self, per_second: float, burst_seconds: float, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self.per_second, self.capacity = per_second, max(per_second * burst_seconds, 1.0)
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def acquire(self, client: str, cost: float = 1.0) -> float:
        """Take from the bucket of a client: return 0, or the seconds to wait if it holds too little.

        A cost above the capacity is allowed when the bucket is full, and leaves it in debt.
        """
        now = self._clock()
        with self._lock:
            level, since = self._buckets.pop(client, (self.capacity, now))
            level = min(self.capacity, level + (now - since) * self.per_second)
            needed = min(cost, self.capacity)
            enough = level >= needed - 1e-9
            self._buckets[client] = (level - cost if enough else level, now)
            if len(self._buckets) > MAX_RATE_LIMITED_CLIENTS:
                self._buckets.popitem(last=False)
        return 0.0 if enough else (needed - level) / self.per_second


class AccessControl:
    """Authenticates requests, checks their scopes and applies rate limits.

    Everything is allowed on a loopback address without a proxy as long as the store has no token. Otherwise
    writing requires a token, and so does reading if ``server.public_read`` is off.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        limits = settings.limits
        self.tokens = TokenCache(store)
        self.reads = RateLimiter(limits.reads_per_second, limits.burst_seconds)
        self.writes = RateLimiter(limits.writes_per_second, limits.burst_seconds)

    def authenticate(self, request: Request) -> Principal:
        """Return the principal of a request; an invalid token is an error even where none is required."""
        scheme, token = _credentials(request)
        public: frozenset[str] = frozenset({"read"}) if self.settings.server.public_read else frozenset()
        if scheme:
            principal = self.tokens.verify(token) if scheme == "bearer" else None
            if principal is None:
                self.charge(request, ANONYMOUS, self.reads, 1.0)
                raise ServiceError(401, "the token is unknown, expired or revoked", _CHALLENGE)
            return replace(principal, scopes=principal.scopes | public)
        if not _is_exposed(self.settings.server) and self.tokens.store_is_empty():
            return Principal("local", frozenset({"admin"}))
        return Principal("", public)

    async def authorize(self, request: Request, scope: str) -> Principal:
        """Authenticate a request by its headers and charge its client, once per request.

        Tokens that are not cached are verified in a thread.
        """
        known: Authorization | None = request.scope.get(AUTHORIZATION)
        if known is not None and known.scope == scope:
            return known.principal
        if self.tokens.is_cached(_credentials(request)[1]):
            principal = self._authorize(request, scope)
        else:
            principal = await run_in_threadpool(self._authorize, request, scope)
        request.scope[AUTHORIZATION] = Authorization(principal, scope, _client(request, principal))
        return principal

    def _authorize(self, request: Request, scope: str) -> Principal:
        principal = self.authenticate(request)
        if not principal.has_scope(scope):
            self.charge(request, principal, self.reads, 1.0)
            if not principal.id:
                raise ServiceError(401, f"this needs a token with the scope {scope!r}", _CHALLENGE)
            raise ServiceError(403, f"the token does not have the scope {scope!r}")
        self.charge(request, principal, self.reads if scope == "read" else self.writes, 1.0)
        return principal

    def charge(self, request: Request, principal: Principal, limiter: RateLimiter, cost: float) -> None:
        """Count a cost against the rate limit of a token, or of an address without one."""
        wait = limiter.acquire(_client(request, principal), cost)
        if wait > 0:
            seconds = str(max(1, math.ceil(wait)))
            raise ServiceError(429, f"too many requests; retry after {seconds} s", {"Retry-After": seconds})


def _credentials(request: Request) -> tuple[str, str]:
    """Return the scheme of the Authorization header in lower case, and the credentials."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return scheme.lower(), token.strip()


def _client(request: Request, principal: Principal) -> str:
    return principal.id or (request.client.host if request.client else "")


def allowed_hosts(server: ServerSettings) -> set[str]:
    """Return the values of the Host header that the service accepts."""
    local = {"127.0.0.1", "localhost", "::1"} if _is_loopback(server.host) else set()
    return {server.host.lower(), *local, *(name.lower() for name in server.names)}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_exposed(server: ServerSettings) -> bool:
    """Return whether other hosts can reach the service, directly or through a proxy."""
    return not _is_loopback(server.host) or bool(server.trusted_proxies)


def check_exposure(settings: Settings, store: Store) -> None:
    """Refuse to be reachable by other hosts as long as there is no token."""
    server = settings.server
    if not _is_exposed(server) or list_tokens(store):
        return
    if _is_loopback(server.host):
        raise SettingsError(
            f"server.trusted_proxies is {server.trusted_proxies}, so other hosts can reach the service, "
            "but there is no token yet; make one with isogloss token make admin"
        )
    raise SettingsError(
        f"server.host is {server.host!r}, which other hosts can reach, but there is no token yet; "
        "make one with isogloss token make admin, or listen on 127.0.0.1"
    )


BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token from `POST /tokens` or `isogloss token make`. On a loopback address, no token is "
    "needed until the first one is made. Elsewhere, reading needs no token unless it is turned off.",
)


class RequireScope:
    """Dependency that returns the principal of a request, which must have a scope."""

    def __init__(self, scope: str) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Principal:
        """Authorize a request."""
        access: AccessControl = request.app.state.access
        return await access.authorize(request, self.scope)


class _RequireScopeOfApi(RequireScope):
    """The same, documented in the OpenAPI document."""

    async def __call__(self, request: Request, _: Annotated[object, Security(BEARER)] = None) -> Principal:
        return await super().__call__(request)


class AuthenticatedRoute(APIRoute):
    """Route that authenticates requests by their headers before it reads their bodies.

    FastAPI by itself reads and parses a body before it calls any dependency.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that calls :class:`RequireScope` first."""
        handle = super().get_route_handler()
        required = [each.call for each in self.dependant.dependencies if isinstance(each.call, RequireScope)]

        async def authenticated(request: Request) -> Response:
            if request.method not in SAFE_METHODS:
                for require in required:
                    await require(request)
                await request.body()
            return await handle(request)

        return authenticated


Reader = Annotated[Principal, Depends(_RequireScopeOfApi("read"))]
Writer = Annotated[Principal, Depends(_RequireScopeOfApi("write"))]
Admin = Annotated[Principal, Depends(_RequireScopeOfApi("admin"))]
