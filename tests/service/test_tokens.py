from datetime import UTC, datetime, timedelta

import pytest

from isogloss.exceptions import StoreError
from isogloss.service.auth import list_tokens, make_token, revoke_token, who_has
from isogloss.service.auth._access import RateLimiter
from isogloss.service.auth._tokens import KnownTokens
from isogloss.store import Store

NOW = datetime(2025, 3, 5, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        yield store


def test_a_token_opens_what_it_says(store):
    token = make_token(store, ["write", "read"], label="desk", now=NOW)
    holder = who_has(store, token, NOW)
    assert holder.label == "desk"
    assert [holder.may(scope) for scope in ("read", "write", "admin")] == [True, True, False]
    admin = who_has(store, make_token(store, ["admin"], now=NOW), NOW)
    assert all(admin.may(scope) for scope in ("read", "write", "admin"))


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
        assert who_has(store, wrong, NOW) is None
    assert who_has(store, token, NOW + timedelta(days=1)) is None
    assert revoke_token(store, name)
    assert not revoke_token(store, name)
    assert who_has(store, token, NOW) is None


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
        admitted += rates.wait("a") == 0.0
    assert abs(admitted - (20 * 50 + 50)) <= 0.05 * 1000
    assert rates.wait("b") == 0.0


def test_a_large_request_passes_once_and_is_owed():
    now = 0.0
    rates = RateLimiter(10.0, 2.0, clock=lambda: now)
    assert rates.wait("a", 100) == 0.0
    now = 8.0
    assert rates.wait("a") == pytest.approx(0.1)
    now = 8.2
    assert rates.wait("a") == 0.0


def test_time_to_wait_is_enough():
    now = 0.0
    rates = RateLimiter(3.0, 1.0, clock=lambda: now)
    for _ in range(3):
        assert rates.wait("a") == 0.0
    now += rates.wait("a")
    assert rates.wait("a") == 0.0


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_what_others_do_to_tokens_holds_soon_and_what_is_done_here_at_once(store, tmp_path):
    clock = Clock()
    known = KnownTokens(store, seconds=1.0, clock=clock)
    assert known.none()
    with Store(tmp_path / "news.db") as elsewhere:
        token = make_token(elsewhere, ["read"], now=NOW)
        assert known.none()
        clock.now = 1.0
        assert not known.none()
        assert known.who_has(token, NOW).may("read")
        assert known.ready(token)
        revoke_token(elsewhere, token.split("_")[1])
        assert known.who_has(token, NOW) is not None
        clock.now = 2.0
        assert not known.ready(token)
        assert known.who_has(token, NOW) is None
    here = make_token(store, ["read"], now=NOW)
    assert known.who_has(here, NOW) is not None
    revoke_token(store, here.split("_")[1])
    assert known.who_has(here, NOW) is None


def test_a_token_that_is_remembered_still_ends_in_time_and_needs_its_secret(store):
    known = KnownTokens(store, clock=Clock())
    token = make_token(store, ["read"], days=1, now=NOW)
    assert known.who_has(token, NOW) is not None
    assert known.who_has(token[:-1], NOW) is None
    assert known.who_has(token, NOW + timedelta(days=1)) is None


def test_tokens_that_nobody_made_do_not_fill_the_memory(store):
    known = KnownTokens(store, most=3, clock=Clock())
    assert [known.who_has(f"isg_{n}_x", NOW) for n in range(9)] == [None] * 9
    assert [known.ready(f"isg_{n}_x") for n in (0, 5, 6, 8)] == [False, False, True, True]


@pytest.mark.parametrize("days", [0, -1, 3651, 1e300, float("inf"), float("nan")])
def test_a_token_holds_for_some_time_and_not_for_ever(store, days):
    with pytest.raises(StoreError, match="expected more than 0 and at most 3,650"):
        make_token(store, ["read"], days=days)
    assert list_tokens(store) == []
