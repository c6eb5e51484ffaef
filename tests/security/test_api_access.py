"""Every route with every kind of token: one table, and a route that is not in it fails."""

import secrets
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from isogloss.service.app import ROUTERS, create_app
from isogloss.service.auth import make_token, revoke_token
from isogloss.store import Alert, Store, add_alert
from tests.service import data

ARTICLE = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z"}
TEXT = {"text": "en2w1 en2w3", "lang": "en"}
BOTH = {"a": TEXT, "b": {"text": "de2w1", "lang": "de"}}
PAIR = {"source": {"text": "the house", "lang": "en"}, "target": {"text": "das haus", "lang": "de"}}
SEARCH = {"name": "storms", "query": {"q": "storm"}}

ALERT = {"event": "e1", "channel": "webhook", "address": "https://desk.example/hook"}

TABLE = [
    ("POST", "/articles", "/articles", "write", ARTICLE),
    ("GET", "/articles", "/articles?event=e1", "read", None),
    ("GET", "/articles/{seq}", "/articles/1", "read", None),
    ("DELETE", "/articles/{seq}", "/articles/{fresh}", "admin", None),
    ("GET", "/articles/{seq}/similar", "/articles/1/similar", "read", None),
    ("GET", "/events", "/events?q=Ottilie", "read", None),
    ("GET", "/events/{id}", "/events/e1", "read", None),
    ("GET", "/events/{id}/story", "/events/e1/story", "read", None),
    ("GET", "/alerts", "/alerts", "write", None),
    ("POST", "/alerts", "/alerts", "write", ALERT),
    ("GET", "/alerts/{id}", "/alerts/{alert}", "write", None),
    ("DELETE", "/alerts/{id}", "/alerts/{alert}", "write", None),
    ("GET", "/feeds/events", "/feeds/events?place=1", "read", None),
    ("GET", "/feeds/events/{id}", "/feeds/events/e1", "read", None),
    ("GET", "/feeds/searches/{id}", "/feeds/searches/{own}", "read", None),
    ("GET", "/export/events", "/export/events?q=Ottilie", "read", None),
    ("GET", "/export/articles", "/export/articles?event=e1", "read", None),
    ("GET", "/overview", "/overview?kind=place&id=geo:1", "read", None),
    ("GET", "/clusters/{id}", "/clusters/1", "read", None),
    ("GET", "/links/{a}/{b}", "/links/1/2", "read", None),
    ("POST", "/links/{a}/{b}/verdict", "/links/1/2/verdict", "write", {"same": True}),
    ("GET", "/changes", "/changes?seconds=0", "read", None),
    ("GET", "/searches", "/searches", "read", None),
    ("POST", "/searches", "/searches", "write", SEARCH),
    ("GET", "/searches/{id}", "/searches/{own}", "read", None),
    ("PUT", "/searches/{id}", "/searches/{own}", "write", SEARCH | {"name": "floods"}),
    ("DELETE", "/searches/{id}", "/searches/{own}", "write", None),
    ("POST", "/similarity", "/similarity", "read", BOTH),
    ("POST", "/similar", "/similar", "read", TEXT),
    ("GET", "/topics", "/topics", "read", None),
    ("GET", "/topics/{n}", "/topics/0", "read", None),
    ("GET", "/words/{lang}/{word}", "/words/en/cat", "read", None),
    ("POST", "/align", "/align", "read", PAIR),
    ("GET", "/models", "/models", "read", None),
    ("GET", "/health", "/health", "", None),
    ("GET", "/ready", "/ready", "", None),
    ("GET", "/status", "/status", "read", None),
    ("GET", "/sources", "/sources", "read", None),
    ("GET", "/sources/feeds", "/sources/feeds?failing=true", "admin", None),
    ("GET", "/limits", "/limits", "read", None),
    ("GET", "/metrics", "/metrics", "read", None),
    ("POST", "/tokens", "/tokens", "admin", {"scopes": ["read"]}),
    ("GET", "/tokens", "/tokens", "admin", None),
    ("DELETE", "/tokens/{id}", "/tokens/{spare}", "admin", None),
    ("GET", "/openapi.json", "/openapi.json", "", None),
]
"""Method, route, a request that succeeds, the scope that it needs, and its body."""

KINDS = ("none", "read", "write", "admin", "expired", "tampered", "revoked", "not a token")
MAY = {
    "": set(KINDS),
    "read": {"read", "admin"},
    "write": {"write", "admin"},
    "admin": {"admin"},
}


@pytest.fixture(scope="module", params=[True, False], ids=["public read", "closed"])
def served(request, tmp_path_factory):
    """A client of an address that others can reach, headers for every kind of token, and one to spare."""
    with Store(tmp_path_factory.mktemp("access") / "news.db") as store:
        data.fill(store)
        made = {scope: make_token(store, [scope]) for scope in ("read", "write", "admin")}
        made["expired"] = make_token(store, ["admin"], days=1, now=datetime.now(UTC) - timedelta(days=2))
        made["tampered"] = made["admin"][:-1] + ("A" if made["admin"][-1] != "A" else "B")
        made["revoked"] = make_token(store, ["admin"])
        revoke_token(store, made["revoked"].split("_")[1])
        made["not a token"] = "isg_é\\"
        settings = data.settings(server={"host": "192.0.2.7", "public_read": request.param})
        app = create_app(settings, store, models=data.models())
        data.store_points(app.state.isogloss.store)
        while app.state.isogloss.neighbours.catch_up():
            pass
        with TestClient(app, base_url="http://192.0.2.7", raise_server_exceptions=False) as client:
            headers = {
                kind: {"Authorization": f"Bearer {made[kind]}".encode()} if kind in made else {}
                for kind in KINDS
            }
            yield client, headers, store, request.param


def expected(scope, kind, public):
    if kind in MAY[scope] or (scope == "read" and kind in ("none", "write") and public):
        return "ok"
    return 403 if kind in ("read", "write") else 401


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", TABLE, ids=[f"{row[0]} {row[1]}" for row in TABLE])
def test_every_route_with_every_token(served, row, kind):
    client, headers, store, public = served
    method, _, path, scope, body = row
    if "{spare}" in path:
        path = path.replace("{spare}", make_token(store, ["read"]).split("_")[1])
    if "{fresh}" in path:
        number = secrets.token_hex(8)
        path = path.replace("{fresh}", str(store.add([data.article(number, "en", "Rain")])[0].seq))
    owner = headers[kind]["Authorization"].decode("utf-8", "replace").split("_")[1] if headers[kind] else ""
    if "{alert}" in path:
        alert = Alert(0, owner, "e1", None, "webhook", ALERT["address"], "", 0, 0, 0, 0, 0, 0, "")
        with store.database.write() as session:
            path = path.replace("{alert}", str(add_alert(session, alert, max_alerts=100).id))
    if "{own}" in path:
        saved = store.save_search(owner, secrets.token_hex(8), {}, max_searches=100)
        path = path.replace("{own}", str(saved.id))
    answer = client.request(method, f"/api/v1{path}", json=body, headers=headers[kind])
    wanted = expected(scope, kind, public)
    if "{own}" in row[2] and kind == "none" and wanted == "ok":
        wanted = 404  # visitors have no saved searches, and do not see those of the installation
    if wanted == "ok":
        assert answer.status_code < 300, answer.text
    else:
        assert answer.status_code == wanted, answer.text
        assert set(answer.json()["error"]) == {"code", "message"}
        assert ("www-authenticate" in answer.headers) == (wanted == 401)


def test_no_route_is_missing_from_the_table():
    routes = {
        (method, route.path_format.removeprefix("/api/v1"))
        for router in ROUTERS
        for route in router.routes
        for method in route.methods
    }
    assert routes | {("GET", "/openapi.json")} == {row[:2] for row in TABLE}


def test_the_schema_has_the_routes_of_the_table(served):
    client, *_ = served
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    told = {(method.upper(), path.removeprefix("/api/v1")) for path in paths for method in paths[path]}
    assert told | {("GET", "/openapi.json")} == {row[:2] for row in TABLE}


@pytest.mark.parametrize(
    "given",
    ["Basic dXNlcjpwYXNz", "Bearer", "bearer  ", "Token x", "Bearer x y", "Bearer isg__", b"Bearer \xff\xfe"],
)
def test_other_ways_to_say_who_one_is_open_nothing(served, given):
    client, *_ = served
    answer = client.get("/api/v1/events", headers={"Authorization": given})
    assert answer.status_code == 401


def test_the_method_override_of_other_frameworks_is_not_known(served):
    client, headers, *_ = served
    answer = client.get("/api/v1/tokens", headers={**headers["read"], "X-HTTP-Method-Override": "POST"})
    assert answer.status_code == 403
    assert client.put("/api/v1/tokens", headers=headers["admin"]).status_code == 405
    assert client.request("TRACE", "/api/v1/tokens").status_code in (401, 405)


def test_from_the_first_token_on_the_own_machine_needs_one_too(tmp_path):
    with Store(tmp_path / "news.db") as store, TestClient(create_app(data.settings(), store)) as client:
        client.base_url = f"{data.BASE}/api/v1/"
        assert client.post("articles", json=ARTICLE).status_code == 202
        token = client.post("tokens", json={"scopes": ["write"], "label": "desk"}).json()["token"]
        assert client.post("articles", json=ARTICLE).status_code == 401
        assert client.get("tokens").status_code == 401
        told = {"Authorization": f"Bearer {token}"}
        assert client.post("articles", json=ARTICLE, headers=told).status_code == 202


def test_tokens_are_shown_once(served):
    client, headers, store, _ = served
    made = client.post("/api/v1/tokens", json={"scopes": ["read"], "label": "x"}, headers=headers["admin"])
    listed = client.get("/api/v1/tokens", headers=headers["admin"])
    secret = made.json()["token"].split("_", 2)[2]
    assert secret not in listed.text
    assert made.json()["id"] in {each["id"] for each in listed.json()}
    assert client.delete(f"/api/v1/tokens/{made.json()['id']}", headers=headers["admin"]).status_code == 204
    told = {"Authorization": f"Bearer {made.json()['token']}"}
    assert client.get("/api/v1/events", headers=told).status_code == 401
    assert store.counts()["article"] >= 4
