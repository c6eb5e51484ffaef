"""Plain requests have the answers of others, and are let in and refused like them."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from isogloss.exceptions import StoreBusyError, StoreError, StoreFullError
from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.http import _fast_path as plain
from tests.service import data

TWO = {"a": {"text": "en2w1 en2w3", "lang": "en"}, "b": {"text": "de2w1", "lang": "de"}}
NEAR = {"text": "en2w1 en2w3", "lang": "en"}
STORY = {"id": "9", "title": "Rain in Galway", "lang": "en", "time": "2025-03-05", "source": "The Gull"}
REQUESTS = [
    ("similarity", TWO),
    ("similarity", {"a": TWO["a"]}),
    ("similarity", TWO | {"c": 1}),
    ("similarity", None),
    ("similar", NEAR),
    ("similar", NEAR | {"k": 1, "languages": ["de"], "since": "2025-03-05"}),
    ("similar", NEAR | {"k": 0}),
    ("similar", NEAR | {"lang": "klingon"}),
    ("similar", [NEAR]),
    ("articles", STORY),
    ("articles", [STORY, {"title": "No time"}]),
    ("articles", {"title": "No time"}),
    ("articles", []),
    ("articles", None),
]


@pytest.fixture
def thoroughly(client, monkeypatch):
    """Send a request as if none were plain."""

    def send(*args, **options):
        with monkeypatch.context() as patched:
            patched.setattr(plain.Plain, "read", lambda *_: None)
            return client.post(*args, **options)

    return send


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_answers_are_those_of_the_whole_way(client, thoroughly, path, body):
    client.post("articles", json=STORY)
    answers = [send(path, json=body) for send in (client.post, thoroughly)]
    first, second = ((each.status_code, each.headers["content-type"], each.content) for each in answers)
    assert first == second


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"null", b'"en2w1"', b'{"text": "\\ud800"}'])
@pytest.mark.parametrize("path", ["similar", "similarity", "articles"])
def test_what_is_not_as_it_should_be_goes_the_whole_way(client, thoroughly, path, content):
    options = {"content": content, "headers": {"Content-Type": "application/json"}}
    first, second = (send(path, **options) for send in (client.post, thoroughly))
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert first.status_code in (400, 422)


@pytest.mark.parametrize(("path", "body"), [("articles", STORY), ("similarity", TWO), ("similar", NEAR)])
def test_plain_requests_are_taken_for_such(client, monkeypatch, path, body):
    found, read = [], plain.Plain.read

    def noted(*args):
        found.append(read(*args))
        return found[-1]

    monkeypatch.setattr(plain.Plain, "read", noted)
    assert client.post(path, json=body).status_code in (200, 202)
    assert client.post(path, json=body, headers={"Content-Type": "text/plain"}).status_code == 422
    assert [each is None for each in found] == [False, True]


def test_a_request_with_a_key_is_not_plain(client):
    first, second = (client.post("articles", json=STORY, headers={"Idempotency-Key": "a"}) for _ in "ab")
    assert first.json()["receipts"][0]["status"] == second.json()["receipts"][0]["status"] == "new"
    other = client.post("articles", json=STORY | {"id": "10"}, headers={"Idempotency-Key": "a"})
    assert other.status_code == 409


def test_plain_requests_need_what_others_need(filled):
    reader, writer = (make_token(filled, [scope]) for scope in ("read", "write"))
    app = create_app(data.settings(), filled, models=data.models())
    with TestClient(app, base_url=f"{data.BASE}/api/v1/") as client:
        for token, wanted in (("", 401), ("isg_no_such", 401), (reader, 403), (writer, 202)):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            assert client.post("articles", json=STORY, headers=headers).status_code == wanted
        refused = client.post("similar", json=NEAR, headers={"Authorization": "Bearer isg_no_such"})
        assert refused.status_code == 401


def test_plain_requests_pay(filled):
    settings = data.settings(reads_per_second=1e-3, burst_seconds=2000.0)
    app = create_app(settings, filled, models=data.models())
    with TestClient(app, base_url=f"{data.BASE}/api/v1/") as client:
        assert [client.post("similarity", json=TWO).status_code for _ in range(4)][-1] == 429


def test_plain_requests_are_counted_by_their_route(client):
    for path, body in (("articles", STORY), ("similarity", TWO), ("similar", NEAR), ("similar", [NEAR])):
        client.post(path, json=body)
    told = client.get("metrics").text
    for path, status, count in (("articles", 202, 1), ("similarity", 200, 1), ("similar", 422, 1)):
        named = f'method="POST",route="/api/v1/{path}",status="{status}"'
        assert f"isogloss_requests_total{{{named}}} {count}.0" in told


def test_what_goes_wrong_is_told_in_the_one_shape(client, monkeypatch):
    for error, status in (
        (StoreFullError("no room"), 507),
        (StoreBusyError("busy"), 503),
        (StoreError("a database that fails"), 500),
        (RuntimeError("unforeseen"), 500),
    ):

        def failing(*_, error=error):
            raise error

        monkeypatch.setattr(client.app.state.parts.comparing, "compare", failing)
        answer = client.post("similarity", json=TWO)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])
