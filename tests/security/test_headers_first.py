"""Requests are authenticated and limited by their headers; forwarded addresses are believed from few."""

import asyncio
import http.client
import json
import socket

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from isogloss.exceptions import SettingsError
from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.auth._access import RateLimiter
from isogloss.service.server import Server, running
from isogloss.service.settings import Settings
from isogloss.service.web._session import CSRF_COOKIE, TOKEN_COOKIE
from isogloss.store import Store
from tests.security import test_api_access, test_pages_access
from tests.service import data
from tests.waiting import LIMIT_S, wait_until

ARTICLE = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z"}
TWO = {"a": {"text": "en2w1", "lang": "en"}, "b": {"text": "de2w1", "lang": "de"}}
HOST = b"Host: 127.0.0.1\r\n"


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        data.fill(store)
        yield store


@pytest.fixture
def servers(monkeypatch):
    """Every server that a test starts."""
    made, init = [], Server.__init__

    def noting(self, *args):
        init(self, *args)
        made.append(self)

    monkeypatch.setattr(Server, "__init__", noting)
    return made


WITH_BODIES = [
    (method, path, scope)
    for prefix, table in (("/api/v1", test_api_access.TABLE), ("", test_pages_access.TABLE))
    for method, _, path, scope, _ in ((row[0], row[1], f"{prefix}{row[2]}", *row[3:]) for row in table)
    if method != "GET" and scope
]


@pytest.mark.parametrize(("method", "path", "scope"), WITH_BODIES)
@pytest.mark.parametrize("token", ["", "isg_no_such", "too often"])
def test_no_body_is_read_before_the_token_and_the_rate_were_looked_at(store, method, path, scope, token):
    good = make_token(store, ["admin"])
    settings = data.settings(server={"public_read": False})
    app, sent = create_app(settings, store, models=data.models()), []
    if token == "too often":
        token, wanted = good, 429
        app.state.access.reads = app.state.access.writes = RateLimiter(1e-9, 1.0)
        for rates in (app.state.access.reads, app.state.access.writes):
            rates.acquire(good.split("_")[1])
    else:
        wanted = 401

    async def receive():
        raise AssertionError("the body was read")

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-length", b"9"), (b"content-type", b"application/json")]
    headers += [(b"authorization", f"Bearer {token}".encode())] if token else []
    asked = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    asked |= {"client": ("192.0.2.1", 1), "server": ("127.0.0.1", 80), "scheme": "http", "root_path": ""}
    asyncio.run(app(asked, receive, send))
    assert sent[0]["status"] == wanted


def slowly(port, path, headers=b""):
    """A connection that has sent headers and one byte of a body of 1,000."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
    head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + headers
    connection.sendall(head + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
    return connection


def test_slow_bodies_leave_everybody_else_alone(store, servers):
    """64 for a route that needs a token, and 64 for one that everybody may ask."""
    token = make_token(store, ["write"])
    settings = data.settings(connections_per_client=200)
    with running(create_app(settings, store, models=data.models()), settings) as url:
        port = int(url.rpartition(":")[2])
        refused = [slowly(port, b"/api/v1/articles") for _ in range(64)]
        slow = [slowly(port, b"/api/v1/similarity") for _ in range(64)]
        for connection in refused:
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401 ")
        connections = servers[0].server_state.connections
        wait_until(lambda: [each.idleness for each in list(connections)].count(1) == 64)
        for method, path, body, headers, status in (
            ("GET", "/api/v1/events", None, {}, 200),
            ("GET", "/", None, {}, 200),
            ("POST", "/api/v1/similarity", TWO, {}, 200),
            ("POST", "/api/v1/articles", ARTICLE, {"Authorization": f"Bearer {token}"}, 202),
        ):
            assert ask(url, method, path, body, **headers)[0] == status
        for connection in refused + slow:
            connection.close()


def ask(url, method="GET", path="/api/v1/limits", body=None, **headers):
    """The status and the headers of the answer to one request."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=LIMIT_S)
    try:
        content = None if body is None else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, content, {"Content-Type": "application/json"} | named)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers
    finally:
        connection.close()


def statuses(store, settings, forwarded):
    """What requests are answered whose allowance is for two, each with another X-Forwarded-For."""
    make_token(store, ["admin"])
    app = create_app(settings, store)
    app.state.access.reads = RateLimiter(1e-9, 2e9)
    with running(app, settings) as url:
        return [ask(url, X_Forwarded_For=each)[0] for each in forwarded]


def test_forwarded_addresses_are_not_believed_by_default(store, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # what uvicorn would go by
    spoofed = [f"192.0.2.{n}" for n in range(6)]
    assert statuses(store, data.settings(), spoofed) == [200] * 2 + [429] * 4


@pytest.mark.parametrize("trusted", [["127.0.0.1"], ["127.0.0.0/8"], ["10.0.0.0/8", "127.0.0.1"]])
def test_a_trusted_proxy_says_who_its_clients_are(store, trusted):
    settings = data.settings(server={"trusted_proxies": trusted})
    clients = ["192.0.2.1"] * 3 + ["192.0.2.2"] + ["198.51.100.9, 192.0.2.1", "127.0.0.1, 192.0.2.1"]
    assert statuses(store, settings, clients) == [200, 200, 429, 200, 429, 429]


def test_another_address_than_that_of_the_proxy_is_not_believed(store):
    settings = data.settings(server={"trusted_proxies": ["192.0.2.77", "10.0.0.0/8"]})
    assert statuses(store, settings, [f"192.0.2.{n}" for n in range(4)]) == [200, 200, 429, 429]


@pytest.mark.parametrize("given", ["*", "nginx", "10.0.0.1/8", "300.1.1.1", ""])
def test_trusted_proxies_are_addresses_or_networks(tmp_path, given):
    (tmp_path / "a.toml").write_text(f'[server]\ntrusted_proxies = ["{given}"]\n')
    with pytest.raises(SettingsError, match=r"a\.toml: server\.trusted_proxies has .* expected an address"):
        Settings.load(tmp_path / "a.toml")


def test_a_service_behind_a_proxy_needs_a_token(store):
    settings = data.settings(server={"trusted_proxies": ["127.0.0.1"]})
    with pytest.raises(SettingsError, match="there is no token yet"):
        create_app(settings, store)
    make_token(store, ["admin"])
    create_app(settings, store)


def signed_in(store, trusted, proto):
    """The cookies that somebody has after signing in, and the lines that set them."""
    settings = data.settings(server={"trusted_proxies": trusted})
    token = make_token(store, ["read"])
    app = create_app(settings, store)
    base = f"{proto if trusted else 'http'}://127.0.0.1"
    with TestClient(app, base_url=base, client=("127.0.0.1", 5000), follow_redirects=False) as client:
        client.headers["x-forwarded-proto"] = proto
        page = client.get("/sign-in")
        key = page.headers["set-cookie"].partition("=")[2].partition(";")[0]
        done = client.post("/sign-in", data={"key": key, "token": token})
        assert done.status_code == 303
        assert "read" in client.get("/sign-in").text
        left = client.post("/sign-out", data={"key": key})
        return page.headers["set-cookie"], done.headers["set-cookie"], left.headers["set-cookie"]


def test_cookies_are_secure_behind_a_trusted_proxy_with_tls(store):
    for line, name in zip(
        signed_in(store, ["127.0.0.1"], "https"), (CSRF_COOKIE, TOKEN_COOKIE, TOKEN_COOKIE), strict=True
    ):
        assert line.startswith(f"__Host-{name}=")
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=strict"} <= set(line.split("; "))


@pytest.mark.parametrize(("trusted", "proto"), [(["127.0.0.1"], "http"), ([], "https")])
def test_cookies_work_without_tls_where_nobody_trustworthy_speaks_of_it(store, trusted, proto):
    for line, name in zip(
        signed_in(store, trusted, proto), (CSRF_COOKIE, TOKEN_COOKIE, TOKEN_COOKIE), strict=True
    ):
        assert line.startswith(f"{name}=")
        assert "Secure" not in line


def test_over_tls_only_the_cookie_that_no_other_host_can_set_counts(store):
    token = make_token(store, ["read"])
    settings = data.settings(server={"trusted_proxies": ["127.0.0.1"], "public_read": False})
    client = TestClient(create_app(settings, store), base_url="https://127.0.0.1", client=("127.0.0.1", 5000))
    with client:
        client.headers["x-forwarded-proto"] = "https"
        for name, status in ((TOKEN_COOKIE, 401), (f"__Host-{TOKEN_COOKIE}", 200)):
            assert client.get("/", headers={"cookie": f"{name}={token}"}).status_code == status


def test_no_more_listeners_than_the_limit_however_many_come_at_once(store):
    settings = data.settings(listeners=8)
    app = create_app(settings, store)
    with running(app, settings) as url:
        port = int(url.rpartition(":")[2])
        asked = [socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) for _ in range(24)]
        for connection in asked:
            connection.sendall(b"GET /api/v1/changes HTTP/1.1\r\n" + HOST + b"\r\n")
        answers = [connection.recv(12) for connection in asked]
        assert (answers.count(b"HTTP/1.1 200"), answers.count(b"HTTP/1.1 503")) == (8, 16)
        assert app.state.isogloss.changes.listeners == 8
        for connection in asked:
            connection.close()
        wait_until(lambda: app.state.isogloss.changes.listeners == 0)
