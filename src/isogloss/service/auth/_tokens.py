"""Tokens: who may do what, for how long.

A token is shown once, when it is made. The store keeps a digest of it, so that a stolen copy of the store
opens nothing.
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
from weakref import WeakKeyDictionary

from isogloss.exceptions import StoreError
from isogloss.store import Database, Store, to_micros

__all__ = ["SCOPES", "Holder", "KnownTokens", "list_tokens", "make_token", "revoke_token", "who_has"]

SCOPES = ("read", "write", "admin")
"""What a token may allow; ``admin`` allows everything."""

MOST_DAYS = 3650
"""How long a token may hold."""

_PREFIX = "isg"
_Kept = tuple[str, str, str, int, int]
"""Of a token in the store: the digest of its secret, scopes, label, when it ends, whether it was revoked."""

_changes: WeakKeyDictionary[Database, int] = WeakKeyDictionary()
"""How often this process has made or revoked tokens of a database."""


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
        How long it holds, up to ten years.
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
    if not 0 < days <= MOST_DAYS:
        raise StoreError(f"days is {days:g}; expected more than 0 and at most {MOST_DAYS:,}")
    moment = now or datetime.now(UTC)
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = [name, _digest(secret), " ".join(sorted(set(scopes))), label]
    with store.database.write() as session:
        session.run(
            "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, 0)",
            [*row, to_micros(moment), to_micros(moment + timedelta(days=days))],
        )
    _note_change(store)
    return f"{_PREFIX}_{name}_{secret}"


def who_has(store: Store, token: str, now: datetime | None = None) -> Holder | None:
    """The holder of a token; None when it is unknown, changed, expired or revoked."""
    return _holder(token, _kept(store, _id_of(token)), now)


class KnownTokens:
    """Tokens as the store had them a moment ago, so that not every request asks it.

    What this process does to tokens holds at once, what others do within ``seconds``.

    Parameters
    ----------
    store : Store
        Where tokens are.
    seconds : float
        How long an answer of the store is believed.
    most : int
        Tokens that are remembered; the ones that were asked for longest ago are forgotten.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        store: Store,
        *,
        seconds: float = 1.0,
        most: int = 1000,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.store, self.seconds, self.most = store, seconds, most
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, int, _Kept | None]] = OrderedDict()
        self._none: tuple[float, int, bool] | None = None

    def ready(self, token: str) -> bool:
        """Whether a question about a token, or about none, is answered without the store."""
        return self._holds(self._known.get(_id_of(token)) if token else self._none)

    def who_has(self, token: str, now: datetime | None = None) -> Holder | None:
        """The holder of a token, see :func:`who_has`."""
        name = _id_of(token)
        found = self._known.get(name)
        if found is None or not self._holds(found):
            stamp = self._stamp()
            found = self._known[name] = (*stamp, _kept(self.store, name))
            while len(self._known) > self.most:
                self._known.popitem(last=False)
        return _holder(token, found[2], now)

    def none(self) -> bool:
        """Whether there has never been a token."""
        if self._none is None or not self._holds(self._none):
            stamp = self._stamp()
            self._none = (*stamp, not list_tokens(self.store))
        return self._none[2]

    def _stamp(self) -> tuple[float, int]:
        return self._clock(), _changes.get(self.store.database, 0)

    def _holds(self, known: tuple[float, int, object] | None) -> bool:
        now, change = self._stamp()
        return known is not None and known[1] == change and now - known[0] < self.seconds


def _id_of(token: str) -> str:
    return token.partition("_")[2].partition("_")[0]


def _kept(store: Store, name: str) -> _Kept | None:
    with store.database.read() as session:
        row = session.one("SELECT secret, scopes, label, expires, revoked FROM token WHERE id = ?", [name])
    return None if row is None else (str(row[0]), str(row[1]), str(row[2]), int(row[3]), int(row[4]))


def _holder(token: str, kept: _Kept | None, now: datetime | None) -> Holder | None:
    """Who a token makes of its bearer; it takes as long whether or not its id is known."""
    prefix, _, rest = token.partition("_")
    name, _, secret = rest.partition("_")
    right = hmac.compare_digest(kept[0] if kept else _digest(""), _digest(secret))
    if kept is None or not right or prefix != _PREFIX or kept[4]:
        return None
    if to_micros(now or datetime.now(UTC)) >= kept[3]:
        return None
    return Holder(name, frozenset(kept[1].split()), kept[2])


def _note_change(store: Store) -> None:
    _changes[store.database] = _changes.get(store.database, 0) + 1


def revoke_token(store: Store, name: str) -> bool:
    """Take a token back by its id; whether there was one."""
    with store.database.write() as session:
        found = session.run("UPDATE token SET revoked = 1 WHERE id = ? AND revoked = 0 RETURNING id", [name])
    _note_change(store)
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
