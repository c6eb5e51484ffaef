"""Tokens: who may do what, for how long.

A token is shown once, when it is made. The store keeps a digest of it, so that a stolen copy of the store
opens nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from isogloss.exceptions import StoreError
from isogloss.store import Store, micros

__all__ = ["SCOPES", "Holder", "list_tokens", "make_token", "revoke_token", "who_has"]

SCOPES = ("read", "write", "admin")
"""What a token may allow; ``admin`` allows everything."""

_PREFIX = "isg"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a token, and what it allows."""

    id: str
    scopes: frozenset[str]
    label: str = ""

    def may(self, scope: str) -> bool:
        """Whether something is allowed."""
        return scope in self.scopes or "admin" in self.scopes


def make_token(
    store: Store,
    scopes: Sequence[str],
    *,
    label: str = "",
    days: float = 365.0,
    now: datetime | None = None,
) -> str:
    """Make a token and keep its digest.

    Parameters
    ----------
    store : Store
        Where digests are kept.
    scopes : sequence of str
        Of :data:`SCOPES`.
    label : str
        Who it is for.
    days : float
        How long it holds.
    now : datetime, optional
        When it begins.

    Returns
    -------
    str
        The token; it cannot be shown again.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise StoreError(f"scopes are {list(scopes)}; expected some of {', '.join(SCOPES)}")
    moment = now or datetime.now(UTC)
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = [name, _digest(secret), " ".join(sorted(set(scopes))), label]
    with store.database.write() as session:
        session.run(
            "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, 0)",
            [*row, micros(moment), micros(moment + timedelta(days=days))],
        )
    return f"{_PREFIX}_{name}_{secret}"


def who_has(store: Store, token: str, now: datetime | None = None) -> Holder | None:
    """The holder of a token; None when it is unknown, changed, expired or revoked."""
    prefix, _, rest = token.partition("_")
    name, _, secret = rest.partition("_")
    with store.database.read() as session:
        row = session.one("SELECT secret, scopes, label, expires, revoked FROM token WHERE id = ?", [name])
    kept = row[0] if row else _digest("")
    right = hmac.compare_digest(kept, _digest(secret))
    if row is None or not right or prefix != _PREFIX or row[4]:
        return None
    if micros(now or datetime.now(UTC)) >= row[3]:
        return None
    return Holder(name, frozenset(row[1].split()), row[2])


def revoke_token(store: Store, name: str) -> bool:
    """Take a token back by its id; whether there was one."""
    with store.database.write() as session:
        found = session.run("UPDATE token SET revoked = 1 WHERE id = ? AND revoked = 0 RETURNING id", [name])
    return bool(found)


def list_tokens(store: Store) -> list[dict[str, object]]:
    """Tokens without their secrets, the newest first."""
    fields = ("id", "scopes", "label", "created", "expires", "revoked")
    with store.database.read() as session:
        rows = session.run(f"SELECT {', '.join(fields)} FROM token ORDER BY created DESC, id")
    return [dict(zip(fields, row, strict=True)) for row in rows]


def _digest(secret: str) -> str:
    """Secrets are long and random, so that a plain digest cannot be turned back."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
