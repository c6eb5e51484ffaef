"""Access tokens: creation, verification, revocation.

A token is shown once, when it is made. The store keeps only a digest, so a stolen copy of the store grants
nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import NamedTuple
from weakref import WeakKeyDictionary

from isogloss.exceptions import StoreError
from isogloss.store import Database, Store, to_micros

SCOPES = ("read", "write", "admin")
"""Scopes of tokens; ``admin`` includes the others."""

MAX_TOKEN_DAYS = 3650

_PREFIX = "isg"
_change_counts: WeakKeyDictionary[Database, int] = WeakKeyDictionary()
"""Number of times this process has made or revoked tokens of a database; invalidates :class:`TokenCache`."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The identity behind a request: the id of its token (empty without one), and its scopes."""

    id: str
    scopes: frozenset[str]
    label: str = ""

    def has_scope(self, scope: str) -> bool:
        """Return whether a scope is granted."""
        return scope in self.scopes or "admin" in self.scopes


class _TokenRow(NamedTuple):
    digest: str
    scopes: str
    label: str
    expires: int
    revoked: int


def make_token(
    store: Store,
    scopes: Sequence[str],
    *,
    label: str = "",
    days: float = 365.0,
    now: datetime | None = None,
) -> str:
    """Make a token and store its digest.

    The token cannot be shown again. ``label`` says who or what it is for; ``days`` is its lifetime, up to ten
    years.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise StoreError(f"scopes are {list(scopes)}; expected some of {', '.join(SCOPES)}")
    if not 0 < days <= MAX_TOKEN_DAYS:
        raise StoreError(f"days is {days:g}; expected more than 0 and at most {MAX_TOKEN_DAYS:,}")
    created = now or datetime.now(UTC)
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = [token_id, _digest(secret), " ".join(sorted(set(scopes))), label]
    with store.database.write() as session:
        session.run(
            "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, 0)",
            [*row, to_micros(created), to_micros(created + timedelta(days=days))],
        )
    _count_change(store)
    return f"{_PREFIX}_{token_id}_{secret}"


def verify_token(store: Store, token: str, now: datetime | None = None) -> Principal | None:
    """Return the principal of a token, or None if it is unknown, altered, expired or revoked."""
    return _verify(token, _read_row(store, _token_id(token)), now)


class TokenCache:
    """Recently used tokens, so that not every request queries the store.

    Changes by this process apply at once, changes by others within ``max_age_s``. Of more than
    ``max_tokens``, the token that was read longest ago is evicted.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_age_s: float = 1.0,
        max_tokens: int = 1000,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.store, self.max_age_s, self.max_tokens = store, max_age_s, max_tokens
        self._clock = clock
        self._rows: OrderedDict[str, tuple[float, int, _TokenRow | None]] = OrderedDict()
        self._empty: tuple[float, int, bool] | None = None

    def is_cached(self, token: str) -> bool:
        """Return whether a token, or the absence of any if it is empty, is verified without the store."""
        return self._is_fresh(self._rows.get(_token_id(token)) if token else self._empty)

    def verify(self, token: str, now: datetime | None = None) -> Principal | None:
        """Return the principal of a token, see :func:`verify_token`."""
        token_id = _token_id(token)
        cached = self._rows.get(token_id)
        if cached is None or not self._is_fresh(cached):
            stamp = self._stamp()
            cached = self._rows[token_id] = (*stamp, _read_row(self.store, token_id))
            while len(self._rows) > self.max_tokens:
                self._rows.popitem(last=False)
        return _verify(token, cached[2], now)

    def store_is_empty(self) -> bool:
        """Return whether the store has never had a token."""
        if self._empty is None or not self._is_fresh(self._empty):
            stamp = self._stamp()
            self._empty = (*stamp, not list_tokens(self.store))
        return self._empty[2]

    def _stamp(self) -> tuple[float, int]:
        return self._clock(), _change_counts.get(self.store.database, 0)

    def _is_fresh(self, cached: tuple[float, int, object] | None) -> bool:
        now, changes = self._stamp()
        return cached is not None and cached[1] == changes and now - cached[0] < self.max_age_s


def revoke_token(store: Store, token_id: str) -> bool:
    """Revoke a token by its id; return whether there was one."""
    with store.database.write() as session:
        revoked = session.run(
            "UPDATE token SET revoked = 1 WHERE id = ? AND revoked = 0 RETURNING id", [token_id]
        )
    _count_change(store)
    return bool(revoked)


def list_tokens(store: Store) -> list[dict[str, object]]:
    """Return all tokens without their secrets, newest first."""
    fields = ("id", "scopes", "label", "created", "expires", "revoked")
    with store.database.read() as session:
        rows = session.run(f"SELECT {', '.join(fields)} FROM token ORDER BY created DESC, id")
    return [dict(zip(fields, row, strict=True)) for row in rows]


def _token_id(token: str) -> str:
    return token.partition("_")[2].partition("_")[0]


def _read_row(store: Store, token_id: str) -> _TokenRow | None:
    with store.database.read() as session:
        row = session.one(
            "SELECT secret, scopes, label, expires, revoked FROM token WHERE id = ?", [token_id]
        )
    return None if row is None else _TokenRow(str(row[0]), str(row[1]), str(row[2]), int(row[3]), int(row[4]))


def _verify(token: str, row: _TokenRow | None, now: datetime | None) -> Principal | None:
    """Compare a token with its row, in the same time whether or not its id is known."""
    prefix, _, rest = token.partition("_")
    token_id, _, secret = rest.partition("_")
    matches = hmac.compare_digest(row.digest if row else _digest(""), _digest(secret))
    if row is None or not matches or prefix != _PREFIX or row.revoked:
        return None
    if to_micros(now or datetime.now(UTC)) >= row.expires:
        return None
    return Principal(token_id, frozenset(row.scopes.split()), row.label)


def _count_change(store: Store) -> None:
    _change_counts[store.database] = _change_counts.get(store.database, 0) + 1


def _digest(secret: str) -> str:
    """Hash a secret; it is long and random, so a plain hash cannot be reversed."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
