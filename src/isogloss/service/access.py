"""Who may do what: the token of a request, and the allowance of its client."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from isogloss.exceptions import SettingsError
from isogloss.service.errors import ServiceError
from isogloss.service.rates import Rates
from isogloss.service.settings import Settings
from isogloss.service.tokens import Holder, KnownTokens, list_tokens
from isogloss.store import Store

__all__ = ["Access", "Admin", "Reader", "Writer", "check_exposure"]

NOBODY = Holder("", frozenset())


@dataclass
class Access:
    """Decides on requests.

    On an address that only this machine can reach, and as long as the store has no token, everything is
    allowed; otherwise writing needs a token, and reading does where ``public_read`` is off.
    """

    store: Store
    settings: Settings
    reads: Rates = field(init=False)
    writes: Rates = field(init=False)
    tokens: KnownTokens = field(init=False)

    def __post_init__(self) -> None:
        limits = self.settings.limits
        self.tokens = KnownTokens(self.store)
        self.reads = Rates(limits.reads_per_second, limits.burst_seconds)
        self.writes = Rates(limits.writes_per_second, limits.burst_seconds)

    def holder(self, request: Request) -> Holder:
        """Who asks; a token that does not hold is an error, whatever it was for."""
        kind, token = _given(request)
        if kind:
            found = self.tokens.who_has(token) if kind == "bearer" else None
            if found is None:
                self.pay(request, NOBODY, self.reads, 1.0)
                raise ServiceError(401, "the token is unknown, expired or revoked", _CHALLENGE)
            return found
        if self._at_home():
            return Holder("local", frozenset({"admin"}))
        return Holder("", frozenset({"read"})) if self.settings.server.public_read else NOBODY

    async def admit(self, request: Request, scope: str) -> Holder:
        """What :meth:`need` does, without a thread where the store need not be asked."""
        if self.tokens.ready(_given(request)[1]):
            return self.need(request, scope)
        return await run_in_threadpool(self.need, request, scope)

    def need(self, request: Request, scope: str) -> Holder:
        """The holder, if he may; an error otherwise."""
        holder = self.holder(request)
        if not holder.may(scope):
            if not holder.id:
                raise ServiceError(401, f"this needs a token with the scope {scope!r}", _CHALLENGE)
            raise ServiceError(403, f"the token does not have the scope {scope!r}")
        rates, cost = (self.reads, 1.0) if scope == "read" else (self.writes, 1.0)
        self.pay(request, holder, rates, cost)
        return holder

    def pay(self, request: Request, holder: Holder, rates: Rates, cost: float) -> None:
        """Take from the allowance of a token, or of an address where there is none."""
        client = holder.id or (request.client.host if request.client else "")
        wait = rates.wait(client, cost)
        if wait > 0:
            after = str(max(1, math.ceil(wait)))
            raise ServiceError(429, f"too many requests; wait {after} s", {"Retry-After": after})

    def _at_home(self) -> bool:
        return is_loopback(self.settings.server.host) and self.tokens.none()


_CHALLENGE = {"WWW-Authenticate": "Bearer"}


def _given(request: Request) -> tuple[str, str]:
    """The kind of credentials that a request brings, in small letters, and the credentials."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return kind.lower(), token.strip()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_exposure(settings: Settings, store: Store) -> None:
    """Refuse to listen where others can reach, as long as there is no token."""
    if not is_loopback(settings.server.host) and not list_tokens(store):
        raise SettingsError(
            f"server.host is {settings.server.host!r}, which others can reach, and there is no token yet; "
            "make one with isogloss token, or listen on 127.0.0.1"
        )


_BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token of `POST /tokens`. Without one, everything is allowed on an address of this machine "
    "as long as there is no token at all, and elsewhere reading is, unless that is switched off.",
)


def _needs(scope: str) -> Callable[..., Awaitable[Holder]]:
    async def check(request: Request, _: Annotated[object, Security(_BEARER)]) -> Holder:
        access: Access = request.app.state.access
        return await access.admit(request, scope)

    return check


Reader = Annotated[Holder, Depends(_needs("read"))]
Writer = Annotated[Holder, Depends(_needs("write"))]
Admin = Annotated[Holder, Depends(_needs("admin"))]
