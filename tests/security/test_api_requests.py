"""Odd hosts, paths, origins and bodies: turned away with a reason, at a bounded cost."""

import gzip
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from isogloss.exceptions import SettingsError
from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.http._middleware import outline_json
from isogloss.store import Store
from tests.service import data

ARTICLE = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A service with tokens, so that writing without one is refused."""
    with Store(tmp_path_factory.mktemp("requests") / "news.db") as store:
        data.fill(store)
        app = create_app(data.settings(body_bytes=1 << 20), store, models=data.models())
        with TestClient(app, base_url=data.BASE, raise_server_exceptions=False) as client:
            client.headers["authorization"] = f"Bearer {make_token(store, ['admin'])}"
            yield client


def anonymous(client, method, path, **more):
    token = client.headers.pop("authorization")
    try:
        return client.request(method, path, **more)
    finally:
        client.headers["authorization"] = token


HOSTS = ["127.0.0.1", "127.0.0.1:8470", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8470"]
STRANGERS = [
    "evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "evil.example:127.0.0.1",
    "localhost.",
    "",
    "127.0.0.1/admin",
    "127.0.0.1,evil.example",
    "[::1",
    "0",
    "2130706433",
]


@pytest.mark.parametrize("host", HOSTS)
def test_own_names_are_answered_and_change_no_decision(client, host):
    assert client.get("/api/v1/events", headers={"host": host}).status_code == 200
    assert anonymous(client, "GET", "/api/v1/tokens", headers={"host": host}).status_code == 401


@pytest.mark.parametrize("host", STRANGERS)
def test_names_of_strangers_are_refused_whatever_the_token(client, host):
    for path in ("/api/v1/events", "/api/v1/tokens", "/api/v1/health"):
        answer = client.get(path, headers={"host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


def test_two_hosts_are_none(client):
    answer = client.get("/api/v1/health", headers=[("host", "127.0.0.1"), ("host", "evil.example")])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


def test_packed_bodies_are_refused_before_anything_unpacks_them(client):
    packed = gzip.compress(json.dumps(ARTICLE).encode())
    for encoding in ("gzip", "BR", "deflate, gzip"):
        answer = client.post("/api/v1/articles", content=packed, headers={"content-encoding": encoding})
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "wrong_kind")
    plain = client.post("/api/v1/articles", json=ARTICLE, headers={"content-encoding": "identity"})
    assert plain.status_code == 202


@pytest.mark.parametrize("path", ["/api/v1/events", "/api/v1/articles/1", "/api/v1/health", "/", "/nowhere"])
def test_head_is_get_without_the_body(client, path):
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code
    assert head.headers["content-length"] == get.headers["content-length"]
    assert head.content == b""
    assert anonymous(client, "HEAD", "/api/v1/tokens").status_code == 401
    assert client.head("/api/v1/changes").status_code == 405


@pytest.mark.parametrize(
    "name", ["x-forwarded-host", "x-forwarded-for", "x-real-ip", "forwarded", "x-original-url"]
)
def test_headers_of_proxies_change_no_decision(client, name):
    answer = anonymous(client, "POST", "/api/v1/articles", json=ARTICLE, headers={name: "127.0.0.1"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/tokens/",
        "//api/v1/tokens",
        "/api/v1//tokens",
        "/api/v1/./tokens",
        "/api/v1/events/../tokens",
        "/api/v1/events/..%2ftokens",
        "/api/v1/%74okens",
        "/API/V1/TOKENS",
        "/api/v1/tokens;x=y",
        "/api/v1/tokens%00",
        "/api/v1/tokens%0d%0aX: y",
        "/api/v1/health/../tokens",
        "/api/v1/tokens?scopes=admin",
        "/api/v1/tokens#/health",
    ],
)
def test_odd_paths_never_open_what_the_plain_one_does_not(client, path):
    for method in ("GET", "POST"):
        answer = anonymous(client, method, path, follow_redirects=True)
        assert answer.status_code in (401, 404, 405, 422), answer.text
        assert "secret" not in answer.text


def test_a_page_of_another_site_may_not_write(client):
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://[bad"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        answer = client.post("/api/v1/articles", json=ARTICLE, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    own = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
    assert client.post("/api/v1/articles", json=ARTICLE, headers=own).status_code == 202


def test_a_public_address_needs_a_token_and_goes_by_its_names(tmp_path):
    with Store(tmp_path / "news.db") as store:
        public = data.settings(server={"host": "0.0.0.0", "names": ["News.example"]})
        with pytest.raises(SettingsError, match="there is no token yet"):
            create_app(public, store)
        make_token(store, ["read"])
        with TestClient(create_app(public, store), base_url="http://news.example") as client:
            assert client.get("/api/v1/health").status_code == 200
            assert client.get("/api/v1/health", headers={"host": "127.0.0.1"}).status_code == 400


def test_every_answer_says_what_a_browser_may_do_with_it(client, monkeypatch):
    answers = [client.get("/api/v1/events"), client.get("/nowhere"), client.get("/", headers={"host": "x"})]
    monkeypatch.setattr(Store, "counts", lambda _: 1 / 0)
    answers.append(client.get("/api/v1/status"))
    assert [answer.status_code for answer in answers] == [200, 404, 400, 500]
    for answer in answers:
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "ZeroDivision" not in answers[-1].text


def bodies():
    deep = "[" * 10_000 + "]" * 10_000
    text = {"text": "x", "lang": "en"}
    surrogate = '{"a": {"text": "\\ud800", "lang": "en"}, "b": {"text": "y", "lang": "en"}}'
    return {
        "oversized": ("/articles", b"[" + b" " * (1 << 20) + b"]", {413}),
        "deep": ("/articles", deep.encode(), {400}),
        "deep in an article": (
            "/articles",
            json.dumps(ARTICLE)[:-1].encode() + b', "x": ' + deep.encode() + b"}",
            {400},
        ),
        "deep objects": ("/similarity", b'{"a":' * 10_000 + b"1" + b"}" * 10_000, {400}),
        "deep and never closed": ("/articles", b"[" * 10_000, {400}),
        "NaN": ("/similar", b'{"text": "en2w1", "lang": "en", "k": NaN}', {422}),
        "infinite": ("/tokens", b'{"scopes": ["read"], "days": Infinity}', {422}),
        "huge number": ("/tokens", b'{"scopes": ["read"], "days": 1e999}', {422}),
        "number of many digits": ("/tokens", b'{"days": ' + b"9" * 100_000 + b"}", {400, 422}),
        "lone surrogate in a text": ("/similarity", surrogate.encode(), {422}),
        "lone surrogate in a name": ("/similarity", b'{"\\ud800": 1}', {422}),
        "not UTF-8": ("/similarity", b'{"a": "\xff\xfe"}', {400, 422}),
        "zeros": ("/similarity", b"\0" * 1000, {400, 422}),
        "not JSON": ("/similarity", b"a=1&b=2", {422}),
        "millions of values": ("/articles", b"[" + b"{}," * 200_000 + b"{}]", {413}),
        "unknown field": ("/similarity", json.dumps({"a": text, "b": text, "c": 1}).encode(), {422}),
    }


@pytest.mark.parametrize("name", bodies())
@pytest.mark.parametrize("kind", ["application/json", "application/JSON; charset=utf-8", "text/plain", ""])
def test_bad_bodies_are_refused_in_the_one_shape(client, name, kind):
    path, body, statuses = bodies()[name]
    answer = client.post(f"/api/v1{path}", content=body, headers={"content-type": kind} if kind else {})
    assert answer.status_code in statuses | {422}, answer.text
    assert {"code", "message"} <= set(answer.json()["error"])
    assert len(answer.content) < 5_000


@pytest.mark.parametrize("bom", [False, True])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("path", ["/articles", "/similarity", "/align", "/tokens"])
def test_only_utf8_is_json(client, monkeypatch, path, encoding, bom):
    parsed, loads = [], json.loads
    text = ("\ufeff" if bom else "") + '["\\"' + '", "\\"' * 1000 + '"]'
    for kind in ("application/json", f"application/json; charset={encoding}", "application/x+json"):
        headers = {"content-type": kind}
        with monkeypatch.context() as patched:
            patched.setattr(json, "loads", lambda *args, **named: parsed.append(1) or loads(*args, **named))
            answer = client.post(f"/api/v1{path}", content=text.encode(encoding), headers=headers)
        assert parsed == []
        assert answer.status_code == (415 if "charset" in kind else 400)
        assert "UTF-8" in answer.json()["error"]["message"]


def test_the_charset_of_a_body_is_utf8_or_refused(client):
    for charset, status in (("UTF-8", 202), ('"utf-8"', 202), ("utf-16", 415), ("latin-1", 415), ("", 415)):
        kind = f"application/json; charset={charset}"
        answer = client.post("/api/v1/articles", content=json.dumps(ARTICLE), headers={"content-type": kind})
        assert answer.status_code == status, charset
    marked = b"\xef\xbb\xbf" + json.dumps(ARTICLE).encode()
    answer = client.post("/api/v1/articles", content=marked, headers={"content-type": "application/json"})
    assert answer.status_code == 202


@pytest.mark.parametrize(
    "body",
    [
        b'{"title": "\\ud800 storm", "time": "2025-03-05", "lang": "en", "id": "s1"}',
        b'{"title": "storm", "time": "2025-03-05", "lang": "en", "id": "s2", "source": "\\udfff\\u0000"}',
    ],
)
def test_articles_with_characters_that_no_text_may_have_are_repaired(client, body):
    answer = client.post("/api/v1/articles", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 202, answer.text
    seq = answer.json()["receipts"][0]["seq"]
    assert client.get(f"/api/v1/articles/{seq}").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"title": "x", "time": NaN}',
        b'{"title": "x", "time": 1e308}',
        b'{"title": "x", "time": -Infinity, "\\ud800": "\\ud800"}',
        b'{"title": "x", "time": "\\ud800"}',
        b'{"title": ["\\ud800"], "time": "2025-03-05"}',
    ],
)
def test_articles_that_cannot_be_repaired_are_refused_with_a_reason(client, body):
    answer = client.post("/api/v1/articles", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["refused"][0]["reason"]


def depth(body):
    return outline_json(body).depth


def test_depth_is_seen_through_strings_and_escapes(rng):
    assert depth(rb'["\\", [["\"]]]]"]]]') == 3
    assert depth(b'"' + b"[" * 99) == 0
    assert depth(b"[]" * 100_000) == 1
    assert depth(b"[" * 70_000 + b"]" * 70_000) == 70_000
    for _ in range(200):
        value, levels = "".join(rng.choice(list('[]{}"\\a'), 8)), int(rng.integers(1, 9))
        nested = value
        for _ in range(levels):
            nested = [nested] if rng.random() < 0.5 else {value: nested}
        assert depth(json.dumps(nested).encode()) == levels


def test_values_are_counted(rng):
    def count(value):
        if isinstance(value, list):
            return 1 + sum(map(count, value))
        return 1 + sum(map(count, value.values())) if isinstance(value, dict) else 1

    for _ in range(200):
        value = [list(range(int(n))) for n in rng.integers(1, 5, 6)] + [{"a,[": "{,", "b": [1]}]
        assert outline_json(json.dumps(value).encode()).values == count(value)


MEASURED = """
import json, os, resource, tempfile
os.chdir(tempfile.mkdtemp())
from fastapi.testclient import TestClient
from isogloss.service.app import create_app
from isogloss.store import Store
from tests.service import data
app = create_app(data.settings(), Store("news.db"))
article = {"id": "9", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z", "body": "rain " * 1000}
size = data.settings().limits.body_bytes
bodies = [
    b"[" * 4_000_000 + b"]" * 4_000_000,
    b'"' + b'\\\\"' * 4_000_000,
    b'{"a":' * 10_000,
    b" " * (size + 1),
    b'{"title": "' + b"x" * (size - 100) + b'"',
    b"[" + b"1," * 3_000_000,
    b"[" + b"{}," * 2_700_000 + b"1]",
    b"[" + b'"","",' * 1_000_000 + b"1]",
    b'{"title": "x", "time": NaN}',
    b'{"title": "' + b"\\\\ud800" * 1_000_000 + b'"}',
    ("[" + '"\\\\"' + '","\\\\"' * 650_000 + '"]').encode("utf-16"),
    ("[" + "[]," * 650_000 + "1]").encode("utf-32"),
]
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
with TestClient(app, base_url=data.BASE, raise_server_exceptions=False) as client:
    for _ in range(3):
        assert client.post("/api/v1/articles", json=[article] * 5).status_code == 202
    before = peak()
    statuses = []
    for body in bodies:
        def parts(body=body):
            for start in range(0, len(body), 1 << 16):
                yield body[start : start + (1 << 16)]
        kind = {"content-type": "application/json"}
        statuses.append(client.post("/api/v1/articles", content=parts(), headers=kind).status_code)
    print(json.dumps([statuses, peak() - before]))
"""


def test_bad_bodies_cost_little_memory(request):
    """Measured in a process of its own, whose peak nothing else has raised."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURED],
        capture_output=True,
        text=True,
        cwd=request.config.rootpath,
        env=os.environ | {"PYTHONPATH": str(request.config.rootpath)},
    )
    assert done.returncode == 0, done.stderr
    statuses, grown = json.loads(done.stdout)
    assert all(400 <= status < 500 for status in statuses), statuses
    assert grown < 64, f"{grown:.0f} MB"
