"""Every page with every kind of cookie, one table; changes as they come, to those who may read."""

import secrets
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from isogloss.service.app import PAGE_ROUTERS, create_app
from isogloss.service.auth import make_token, revoke_token
from isogloss.service.server import running
from isogloss.service.web._session import CSRF_COOKIE, TOKEN_COOKIE
from isogloss.store import EventRow, Store, Update
from isogloss.store.queries import Alert, add_alert
from tests.service import data
from tests.waiting import LIMIT_S, wait_until

FORM = {"key": "k" * 43}
TABLE = [
    ("GET", "/", "/", "read", None),
    ("GET", "/event/{id}", "/event/e1", "read", None),
    ("GET", "/changes", None, "read", None),
    ("POST", "/event/{id}/links/{a}/{b}", "/event/e1/links/1/2", "write", FORM | {"same": "1"}),
    ("GET", "/place/{id:path}", "/place/geo:1", "read", None),
    ("GET", "/concept/{id:path}", "/concept/name:ottilie", "read", None),
    ("GET", "/source/{name:path}", "/source/The%20Gull", "read", None),
    ("GET", "/search", "/search?q=Ottilie", "read", None),
    ("GET", "/saved", "/saved", "read", None),
    ("POST", "/saved", "/saved", "write", FORM | {"name": "storms", "query": "q=Ottilie"}),
    ("POST", "/saved/{id}/delete", "/saved/{own}/delete", "write", FORM),
    ("GET", "/compare", "/compare", "read", None),
    ("POST", "/compare", "/compare", "read", FORM | {"a": "one", "b": "two"}),
    ("GET", "/topics", "/topics", "read", None),
    ("GET", "/dictionary", "/dictionary?word=cat&lang=en", "read", None),
    ("GET", "/models", "/models", "read", None),
    ("GET", "/sources", "/sources", "read", None),
    ("GET", "/status", "/status", "read", None),
    (
        "POST",
        "/alerts",
        "/alerts",
        "write",
        FORM | {"event": "e1", "address": "https://desk.example/hook"},
    ),
    ("POST", "/alerts/{id}/delete", "/alerts/{own alert}/delete", "write", FORM),
    ("GET", "/docs", "/docs", "", None),
    ("GET", "/sign-in", "/sign-in", "", None),
    ("POST", "/sign-in", None, "", None),
    ("POST", "/sign-out", "/sign-out", "", FORM),
    ("GET", "/static/{name}", "/static/pages.css", "", None),
    ("GET", "/map.svg", "/map.svg", "", None),
]
"""Method, route, a request that succeeds (None where a test of its own has it), its scope, its form."""


def alert_of(owner):
    """An alert on an event, to be stored."""
    address = "https://desk.example/hook"
    return Alert(0, owner, "e1", None, "webhook", address, "s", 0, 0, 0, 0, 0, 0, "")


KINDS = ("none", "read", "write", "admin", "expired", "tampered", "revoked", "not a token")
MAY = {"": set(KINDS), "read": {"read", "admin"}, "write": {"write", "admin"}}


def tokens(store):
    made = {scope: make_token(store, [scope]) for scope in ("read", "write", "admin")}
    made["expired"] = make_token(store, ["admin"], days=1, now=datetime.now(UTC) - timedelta(days=2))
    made["tampered"] = made["admin"][:-1] + ("A" if made["admin"][-1] != "A" else "B")
    made["revoked"] = make_token(store, ["admin"])
    revoke_token(store, made["revoked"].split("_")[1])
    made["not a token"] = "isg__x"
    return made


@pytest.fixture(scope="module", params=[True, False], ids=["public read", "closed"])
def served(request, tmp_path_factory):
    """A client, tokens of every kind, and whether reading is open."""
    with Store(tmp_path_factory.mktemp("pages") / "news.db") as store:
        data.fill(store)
        app = create_app(data.settings(server={"public_read": request.param}), store, models=data.models())
        with TestClient(app, base_url=data.BASE, raise_server_exceptions=False) as client:
            yield client, tokens(store), request.param


def expected(scope, kind, public):
    if kind in MAY[scope] or (scope == "read" and kind in ("none", "write") and public):
        return "ok"
    return 403 if kind in ("read", "write") else 401


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", [row for row in TABLE if row[2]], ids=lambda row: f"{row[0]} {row[1]}")
def test_every_page_with_every_cookie(served, row, kind):
    client, made, public = served
    method, _, path, scope, form = row
    owner = made[kind].split("_")[1] if kind in made else ""
    store = client.app.state.isogloss.store
    if "{own}" in path:
        saved = store.save_search(owner, secrets.token_hex(8), {}, max_searches=100)
        path = path.replace("{own}", str(saved.id))
    if "{own alert}" in path:
        with store.database.write() as session:
            path = path.replace("{own alert}", str(add_alert(session, alert_of(owner), max_alerts=100).id))
    client.cookies.clear()
    client.cookies.update({CSRF_COOKIE: FORM["key"]} | ({TOKEN_COOKIE: made[kind]} if kind in made else {}))
    answer = client.request(method, path, data=form, follow_redirects=False)
    wanted = expected(scope, kind, public)
    if wanted == "ok":
        assert answer.status_code < 400, answer.text
    else:
        assert answer.status_code == wanted, answer.text
        assert "Ottilie" not in answer.text


def test_no_page_is_missing_from_the_table():
    found = {
        (method, route.path) for router in PAGE_ROUTERS for route in router.routes for method in route.methods
    }
    assert found == {row[:2] for row in TABLE}


@contextmanager
def following(url, **headers):
    """The answer to a request for changes, open."""
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname, place.port, timeout=LIMIT_S)
    try:
        connection.request(
            "GET", "/changes", headers={name.replace("_", "-"): v for name, v in headers.items()}
        )
        yield connection.getresponse()
    finally:
        connection.close()


def messages(answer):
    """The data of messages, as they come; it ends when the service ends it."""
    for line in answer:
        if line.startswith(b"data: "):
            yield line[6:].decode()


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A running service that tells nobody anything without a token, its store, and tokens."""
    with Store(tmp_path_factory.mktemp("live") / "news.db") as store:
        data.fill(store)
        made = tokens(store)
        settings = data.settings(server={"public_read": False}, listeners=100)
        app = create_app(settings, store)
        app.state.isogloss.changes.poll_seconds, app.state.isogloss.changes.heartbeat_seconds = 0.05, 0.2
        with running(app, settings) as url:
            yield url, store, made, app


def announce(store, name):
    line = store.position()
    told = {"title": {"en": "Fresh"}, "languages": {"en": 1}}
    store.apply(Update(line, line + 1, events=[EventRow(name, 1, 1, 1, ["en"], (), told)]))
    return line


@pytest.mark.parametrize("kind", KINDS)
def test_changes_with_every_cookie(closed, kind):
    url, store, made, _ = closed
    line = announce(store, f"for {kind}")
    headers = {"Cookie": f"{TOKEN_COOKIE}={made[kind]}"} if kind in made else {}
    with following(url, Last_Event_ID=str(line), **headers) as answer:
        wanted = expected("read", kind, False)
        assert answer.status == (200 if wanted == "ok" else wanted)
        if wanted == "ok":
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert answer.headers["cache-control"] == "no-store"
            assert f'"id":"for {kind}"' in next(messages(answer))
        else:
            assert b"Fresh" not in answer.read()


def test_changes_are_not_for_pages_of_other_sites(closed):
    url, _, made, _ = closed
    cookie = f"{TOKEN_COOKIE}={made['read']}"
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
        with following(url, Cookie=cookie, Sec_Fetch_Site=site) as answer:
            assert answer.status == status
            assert "access-control-allow-origin" not in answer.headers


def test_a_revoked_token_ends_the_stream_before_the_next_change(closed):
    url, store, _, app = closed
    token = make_token(store, ["read"])
    line = announce(store, "before")
    with following(url, Cookie=f"{TOKEN_COOKIE}={token}", Last_Event_ID=str(line)) as answer:
        told = messages(answer)
        assert '"id":"before"' in next(told)
        revoke_token(store, token.split("_")[1])
        announce(store, "after")
        assert next(told, None) is None
    wait_until(lambda: app.state.isogloss.changes.listeners == 0)


def test_no_more_listeners_than_the_limit(closed):
    url, _, made, app = closed
    cookie = f"{TOKEN_COOKIE}={made['read']}"
    app.state.isogloss.changes.max_clients, before = 0, app.state.isogloss.changes.max_clients
    try:
        with following(url, Cookie=cookie) as answer:
            assert answer.status == 503
            assert answer.headers["retry-after"]
    finally:
        app.state.isogloss.changes.max_clients = before


@pytest.mark.parametrize("line", ["x", "-1", "1.5", "9" * 40, "٣"])
def test_a_line_that_cannot_be_begins_now(closed, line):
    url, _, made, _ = closed
    with following(url, Cookie=f"{TOKEN_COOKIE}={made['read']}", Last_Event_ID=line.encode()) as answer:
        assert answer.status == 200
