"""What one client and all of them together may cost: 429 and 503 in time, with when to come back."""

import asyncio

import pytest
from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.guard import Guard
from isogloss.service.rates import Rates
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
    access = app.state.parts.access
    access.reads, access.writes = Rates(10, 2, clock=clock), Rates(20, 2, clock=clock)
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


def test_tokens_that_open_nothing_cost_too(limited):
    client, _ = limited
    wrong = {"Authorization": "Bearer isg_0_0"}
    statuses = [client.get("limits", headers=wrong).status_code for _ in range(25)]
    assert (statuses[0], statuses[-1]) == (401, 429)
    assert client.get("health", headers=wrong).status_code == 200


def guarded(app, **changes):
    wide = {"body_bytes": 1000, "body_seconds": LIMIT_S, "concurrent": 2, "hosts": ["*"]}
    return Guard(app, **wide | changes)


async def ask(app, messages=({"type": "http.request", "body": b"{}"},), path="/x", method="POST", wait=None):
    """The status and headers of a request whose messages come one by one."""
    given, sent = list(messages), []

    async def receive():
        if given:
            return given.pop(0)
        await (wait or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(b"host", b"x")],
        "query_string": b"",
    }
    await app(scope, receive, send)
    return sent[0]["status"] if sent else None


def answers_after(go):
    """An application that answers when it may, and about its health at once."""

    async def slow(scope, receive, send):
        if not scope["path"].endswith("/health"):
            await go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    return slow


def test_more_than_so_many_at_once_are_sent_away_and_health_is_not():
    async def run():
        go = asyncio.Event()
        app = guarded(answers_after(go))
        waiting = [asyncio.create_task(ask(app)) for _ in range(2)]
        await asyncio.sleep(0)
        statuses = [await ask(app), await ask(app, path="/api/v1/health")]
        go.set()
        return statuses + [await task for task in waiting] + [await ask(app)]

    assert asyncio.run(run()) == [503, 200, 200, 200, 200]


def test_articles_leave_places_to_those_who_read():
    async def run():
        go = asyncio.Event()
        app = guarded(answers_after(go), concurrent=8)
        articles = {"path": "/api/v1/articles"}
        waiting = [asyncio.create_task(ask(app, **articles)) for _ in range(6)]
        await asyncio.sleep(0)
        refused = await asyncio.wait_for(ask(app, **articles), LIMIT_S)
        waiting += [asyncio.create_task(ask(app, path=path)) for path in ("/", "/api/v1/similarity")]
        await asyncio.sleep(0)
        full = await asyncio.wait_for(ask(app, path="/"), LIMIT_S)
        go.set()
        done = [await task for task in waiting]
        return refused, full, done, app.active, app.writing

    assert asyncio.run(run()) == (503, 503, [200] * 8, 0, 0)


def test_a_body_that_does_not_come_is_not_waited_for():
    async def never(*_):
        raise AssertionError("was handed on")

    part = {"type": "http.request", "body": b"{", "more_body": True}
    app = guarded(never, body_seconds=0.05)
    assert asyncio.run(ask(app, [part])) == 408
    assert (app.active, app.held) == (0, 0)


def test_half_a_body_is_never_handed_on():
    async def never(*_):
        raise AssertionError("was handed on")

    part = {"type": "http.request", "body": b"{}", "more_body": True}
    app = guarded(never)
    assert asyncio.run(ask(app, [part, {"type": "http.disconnect"}])) is None
    assert (app.active, app.held) == (0, 0)


def test_bodies_of_all_requests_together_are_bounded():
    async def run():
        go = asyncio.Event()
        app = guarded(answers_after(go), concurrent=100)
        large = [{"type": "http.request", "body": b" " * 1000}]
        waiting = [asyncio.create_task(ask(app, large)) for _ in range(8)]
        while app.held < 8000:
            await asyncio.sleep(0)
        refused = await asyncio.wait_for(ask(app, large), LIMIT_S)
        go.set()
        done = [await task for task in waiting]
        return refused, done, app.held

    assert asyncio.run(run()) == (503, [200] * 8, 0)
