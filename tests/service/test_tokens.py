from datetime import UTC, datetime, timedelta

import pytest

from isogloss.exceptions import StoreError
from isogloss.service.auth import list_tokens, make_token, revoke_token, verify_token
from isogloss.service.auth._access import RateLimiter
from isogloss.service.auth._tokens import TokenCache
from isogloss.store import Store

NOW = datetime(2025, 3, 5, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


def test_a_token_opens_what_it_says(store):
    token = make_token(store, ["write", "read"], label="desk", now=NOW)
    holder = verify_token(store, token, NOW)
    assert holder.label == "desk"
    assert [holder.has_scope(scope) for scope in ("read", "write", "admin")] == [True, True, False]
    admin = verify_token(store, make_token(store, ["admin"], now=NOW), NOW)
    assert all(admin.has_scope(scope) for scope in ("read", "write", "admin"))


def test_other_tokens_open_nothing(store):
    token = make_token(store, ["admin"], days=1, now=NOW)
    name = token.split("_")[1]
    for wrong in [
        "",
        "_",
        "isg__",
        token[:-1],
        token + "x",
        token.replace("isg", "xyz"),
        f"isg_{name}_",
        "é" * 99,
    ]:
        assert verify_token(store, wrong, NOW) is None
    assert verify_token(store, token, NOW + timedelta(days=1)) is None
    assert revoke_token(store, name)
    assert not revoke_token(store, name)
    assert verify_token(store, token, NOW) is None


def test_the_store_never_holds_the_secret(store, tmp_path):
    token = make_token(store, ["read"], now=NOW)
    secret = token.split("_", 2)[2]
    store.database.backup(tmp_path / "copy.db")
    assert secret.encode() not in (tmp_path / "copy.db").read_bytes()
    assert "secret" not in list_tokens(store)[0]


@pytest.mark.parametrize("scopes", [[], ["root"], ["read", "all"]])
def test_scopes_are_checked(store, scopes):
    with pytest.raises(StoreError, match="read, write, admin"):
        make_token(store, scopes)


def test_rates_hold_to_a_twentieth():
    now = 0.0
    rates = RateLimiter(50.0, 1.0, clock=lambda: now)
    admitted = 0
    for step in range(2000):
        now = step / 100
        admitted += rates.acquire("a") == 0.0
    assert abs(admitted - (20 * 50 + 50)) <= 0.05 * 1000
    assert rates.acquire("b") == 0.0


def test_a_large_request_passes_once_and_is_owed():
    now = 0.0
    rates = RateLimiter(10.0, 2.0, clock=lambda: now)
    assert rates.acquire("a", 100) == 0.0
    now = 8.0
    assert rates.acquire("a") == pytest.approx(0.1)
    now = 8.2
    assert rates.acquire("a") == 0.0


def test_time_to_wait_is_enough():
    now = 0.0
    rates = RateLimiter(3.0, 1.0, clock=lambda: now)
    for _ in range(3):
        assert rates.acquire("a") == 0.0
    now += rates.acquire("a")
    assert rates.acquire("a") == 0.0


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_what_others_do_to_tokens_holds_soon_and_what_is_done_here_at_once(store, tmp_path):
    clock = Clock()
    known = TokenCache(store, max_age_s=1.0, clock=clock)
    assert known.store_is_empty()
    with Store(tmp_path / "news.db") as elsewhere:
        token = make_token(elsewhere, ["read"], now=NOW)
        assert known.store_is_empty()
        clock.now = 1.0
        assert not known.store_is_empty()
        assert known.verify(token, NOW).has_scope("read")
        assert known.is_cached(token)
        revoke_token(elsewhere, token.split("_")[1])
        assert known.verify(token, NOW) is not None
        clock.now = 2.0
        assert not known.is_cached(token)
        assert known.verify(token, NOW) is None
    here = make_token(store, ["read"], now=NOW)
    assert known.verify(here, NOW) is not None
    revoke_token(store, here.split("_")[1])
    assert known.verify(here, NOW) is None


def test_a_cached_token_still_expires_and_needs_its_secret(store):
    known = TokenCache(store, clock=Clock())
    token = make_token(store, ["read"], days=1, now=NOW)
    assert known.verify(token, NOW) is not None
    assert known.verify(token[:-1], NOW) is None
    assert known.verify(token, NOW + timedelta(days=1)) is None


def test_tokens_that_nobody_made_do_not_fill_the_memory(store):
    known = TokenCache(store, max_tokens=3, clock=Clock())
    assert [known.verify(f"isg_{n}_x", NOW) for n in range(9)] == [None] * 9
    assert [known.is_cached(f"isg_{n}_x") for n in (0, 5, 6, 8)] == [False, False, True, True]


@pytest.mark.parametrize("days", [0, -1, 3651, 1e300, float("inf"), float("nan")])
def test_a_token_holds_for_some_time_and_not_for_ever(store, days):
    with pytest.raises(StoreError, match="expected more than 0 and at most 3,650"):
        make_token(store, ["read"], days=days)
    assert list_tokens(store) == []
