"""What one client and all of them together may cost: 429 and 503 in time, with when to come back."""

import asyncio

import pytest
from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.auth import AUTHORIZATION, Authorization, Principal, make_token
from isogloss.service.auth._access import RateLimiter
from isogloss.service.http._middleware import RequestLimitsMiddleware
from tests.service import data
from tests.waiting import LIMIT_S

ARTICLE = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z"}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def limited(filled):
    """A client with 10 reads and 20 written articles a second, and the clock of its allowances."""
    app, clock = create_app(data.settings(), filled), Clock()
    access = app.state.isogloss.access
    access.reads, access.writes = RateLimiter(10, 2, clock=clock), RateLimiter(20, 2, clock=clock)
    with TestClient(app, base_url=f"{data.BASE}/api/v1/") as client:
        yield client, clock


def test_twice_the_limit_admits_the_limit(limited):
    client, clock = limited
    statuses = []
    for step in range(400):
        clock.now = step / 20
        statuses.append(client.get("limits").status_code)
    admitted = statuses.count(200)
    assert abs(admitted - (20 * 10 + 20)) <= 0.05 * 200
    assert set(statuses) == {200, 429}


def test_the_time_to_wait_is_enough(limited):
    client, clock = limited
    while (answer := client.get("limits")).status_code == 200:
        pass
    assert answer.json()["error"]["code"] == "too_many"
    clock.now += int(answer.headers["retry-after"])
    assert client.get("limits").status_code == 200


def test_articles_are_paid_for_by_number(limited):
    client, clock = limited
    batch = [ARTICLE | {"id": str(n)} for n in range(30)]
    assert client.post("articles", json=batch).status_code == 202
    assert client.post("articles", json=batch).status_code == 429
    assert client.post("articles", json=batch[:9]).status_code == 202
    clock.now += 1
    assert client.post("articles", json=batch[:19]).status_code == 202
    assert client.get("limits").status_code == 200


def test_requests_that_need_a_token_cost_without_one(limited, filled):
    client, _ = limited
    make_token(filled, ["admin"])
    statuses = [client.post("articles", json=ARTICLE).status_code for _ in range(25)]
    assert (statuses[0], statuses[-1]) == (401, 429)


def test_tokens_that_open_nothing_cost_too(limited):
    client, _ = limited
    wrong = {"Authorization": "Bearer isg_0_0"}
    statuses = [client.get("limits", headers=wrong).status_code for _ in range(25)]
    assert (statuses[0], statuses[-1]) == (401, 429)
    assert client.get("health", headers=wrong).status_code == 200


def guarded(app, **changes):
    wide = {
        "body_bytes": 1000,
        "body_seconds": LIMIT_S,
        "concurrent_reads": 2,
        "concurrent_writes": 3,
        "hosts": ["*"],
    }
    return RequestLimitsMiddleware(app, **wide | changes)


def principal(needed, client="", *, token=True):
    """Who a route has admitted."""
    return Authorization(Principal(client if token else "", frozenset()), needed, client)


READER, WRITER = principal("read", "r"), principal("write", "w")


async def ask(
    app, messages=({"type": "http.request", "body": b"{}"},), path="/x", method="POST", who=READER, headers=()
):
    """The status of a request whose messages come one by one."""
    given, sent = list(messages), []

    async def receive():
        while not given:
            await asyncio.Event().wait()
        return given.pop(0)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(b"host", b"x"), *headers],
        "query_string": b"",
        AUTHORIZATION: who,
    }
    await app(scope, receive, send)
    return sent[0]["status"] if sent else None


def answers_after(go):
    """An application that reads bodies and answers when it may, and about its health at once."""

    async def slow(scope, receive, send):
        if scope["method"] != "GET":
            await receive()
        if not scope["path"].endswith("/health"):
            await go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    return slow


async def reached(condition):
    async with asyncio.timeout(LIMIT_S):
        while not condition():
            await asyncio.sleep(0)


def test_more_than_so_many_at_once_are_sent_away_and_health_is_not():
    async def run():
        go = asyncio.Event()
        app = guarded(answers_after(go))
        waiting = [asyncio.create_task(ask(app, method=method)) for method in ("GET", "POST")]
        await reached(lambda: app.active["read"] == 2)
        statuses = [await ask(app), await ask(app, method="GET")]
        statuses.append(await ask(app, path="/api/v1/health", method="GET"))
        go.set()
        return statuses + [await task for task in waiting] + [await ask(app)]

    assert asyncio.run(run()) == [503, 503, 200, 200, 200, 200]


def test_writers_and_readers_take_no_places_of_each_other():
    async def run():
        go = asyncio.Event()
        app = guarded(answers_after(go))
        waiting = [asyncio.create_task(ask(app, who=WRITER)) for _ in range(3)]
        await reached(lambda: app.active["write"] == 3)
        refused = await asyncio.wait_for(ask(app, who=WRITER), LIMIT_S)
        waiting += [asyncio.create_task(ask(app, method="GET", who=who)) for who in (READER, WRITER)]
        await reached(lambda: app.active["read"] == 2)
        full = await asyncio.wait_for(ask(app), LIMIT_S)
        go.set()
        done = [await task for task in waiting]
        return refused, full, done, app.active.total()

    assert asyncio.run(run()) == (503, 503, [200] * 5, 0)


def test_bodies_that_arrive_slowly_take_no_places():
    async def run():
        go = asyncio.Event()
        go.set()
        app = guarded(answers_after(go))
        part = {"type": "http.request", "body": b"{", "more_body": True}
        slow = [asyncio.create_task(ask(app, [part], who=who)) for who in (READER, WRITER) for _ in range(64)]
        await reached(lambda: app.buffered["all"] == 128)
        statuses = [await ask(app, who=who) for who in (READER, WRITER)]
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return statuses, app.active.total(), app.buffered.total()

    assert asyncio.run(run()) == ([200, 200], 0, 0)


async def never(_, receive, __):
    await receive()
    raise AssertionError("was handed on")


def test_a_body_that_does_not_come_is_not_waited_for():
    part = {"type": "http.request", "body": b"{", "more_body": True}
    app = guarded(never, body_seconds=0.05)
    assert asyncio.run(ask(app, [part])) == 408
    assert (app.active.total(), app.buffered.total()) == (0, 0)


def test_half_a_body_is_never_handed_on():
    part = {"type": "http.request", "body": b"{}", "more_body": True}
    app = guarded(never)
    assert asyncio.run(ask(app, [part, {"type": "http.disconnect"}])) == 400
    assert (app.active.total(), app.buffered.total()) == (0, 0)


def test_what_anybody_may_send_is_small():
    app = guarded(never, body_bytes=1 << 30)
    part = {"type": "http.request", "body": b" " * 70_000}
    assert asyncio.run(ask(app, [part], who=None)) == 413


@pytest.mark.parametrize(
    ("clients", "admitted"),
    [
        ([principal("write", "w")] * 9, 4),
        ([principal("read", "192.0.2.1", token=False)] * 9, 2),
        ([principal("read", f"192.0.2.{n}", token=False) for n in range(9)], 4),
        ([principal("write", f"w{n}") for n in range(9)], 8),
    ],
    ids=["one token", "one address", "all without a token", "everybody"],
)
def test_bodies_in_memory_are_bounded_and_shared(clients, admitted):
    async def run():
        go = asyncio.Event()
        app = guarded(answers_after(go), concurrent_reads=100, concurrent_writes=100)
        large = [{"type": "http.request", "body": b" " * 1000}]
        tasks = [asyncio.create_task(ask(app, large, who=who)) for who in clients]
        await reached(lambda: app.active.total() + sum(task.done() for task in tasks) == len(tasks))
        go.set()
        return [await task for task in tasks].count(200), app.buffered.total()

    assert asyncio.run(run()) == (admitted, 0)
