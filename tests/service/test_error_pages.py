"""What goes wrong is told to browsers in pages and to programs in the one shape."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.datastructures import QueryParams
from starlette.testclient import TestClient

from isogloss.exceptions import StoreBusyError, StoreFullError
from isogloss.service.api.errors import ServiceError
from isogloss.service.app import create_app
from isogloss.service.web._rendering import _prefers_html
from isogloss.service.web.presentation._event_list import SORTS, Filters
from isogloss.store import Store
from tests.service import data

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PROGRAM = {"accept": "application/json"}
ANYTHING = {"accept": "*/*"}


@pytest.fixture(scope="module")
def visitor(tmp_path_factory):
    """A client of a service that no test here changes."""
    with Store(tmp_path_factory.mktemp("errors") / "news.db") as store:
        data.fill(store)
        app = create_app(data.settings(concurrent_reads=5), store)
        with TestClient(app, base_url=data.BASE, raise_server_exceptions=False) as client:
            yield client


def is_page(answer):
    told = answer.headers["content-type"].startswith("text/html")
    assert told != answer.headers["content-type"].startswith("application/json")
    if told:
        assert answer.text.startswith("<!DOCTYPE html>")
        assert '<p class="notice" role="alert">' in answer.text
        assert answer.headers["cache-control"] == "no-store"
    else:
        assert {"code", "message"} <= set(answer.json()["error"])
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return told


@pytest.mark.parametrize(
    "path", ["/nowhere", "/event", "/event/a/b", "/apis", "/%2e%2e", "/static/x/y", "/favicon.ico"]
)
def test_paths_that_nobody_knows(visitor, path):
    told = {}
    for name, headers in (
        ("browser", BROWSER),
        ("program", PROGRAM),
        ("anything", ANYTHING),
        ("none", {"accept": ""}),
    ):
        answer = visitor.get(path, headers=headers)
        assert answer.status_code == 404
        assert answer.headers["vary"] == "Accept"
        told[name] = is_page(answer)
    assert told == {"browser": True, "program": False, "anything": False, "none": False}


@pytest.mark.parametrize("path", ["/api/v1/nowhere", "/api/v1/events/nobody", "/api/", "/api/v2/events"])
def test_the_api_has_one_shape_for_everybody(visitor, path):
    for headers in (BROWSER, PROGRAM, ANYTHING):
        answer = visitor.get(path, headers=headers)
        assert answer.status_code == 404
        assert not is_page(answer)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/event/nobody", 404),
        ("GET", "/?sort=worst", 422),
        ("GET", "/topics?start=x", 422),
        ("GET", "/?cursor=nonsense", 400),
        ("POST", "/sign-in", 415),
        ("DELETE", "/", 405),
        ("POST", "/status", 405),
    ],
)
def test_browsers_get_error_pages_and_programs_get_error_bodies(visitor, method, path, status):
    for headers, page in (
        (BROWSER, True),
        (PROGRAM, False),
        (ANYTHING, method != "DELETE" and status != 405),
    ):
        answer = visitor.request(method, path, headers=headers)
        assert answer.status_code == status
        assert is_page(answer) == page


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StoreBusyError("busy"), 503),
        (StoreFullError("full"), 507),
        (RuntimeError("a secret of the machine"), 500),
        (KeyError("a secret of the machine"), 500),
    ],
)
def test_internal_errors_are_reported_without_details(visitor, monkeypatch, error, status):
    def fails(*_):
        raise error

    monkeypatch.setattr(visitor.app.state.isogloss.store, "events", fails)
    for headers, page in ((BROWSER, True), (PROGRAM, False), (ANYTHING, True)):
        answer = visitor.get("/", headers=headers)
        assert answer.status_code == status
        assert is_page(answer) == page
        assert "secret" not in answer.text
        assert ("retry-after" in answer.headers) == (status == 503)


def test_requests_refused_by_the_guard_get_error_pages_too(visitor):
    for headers, page in ((BROWSER, True), (ANYTHING, False)):
        strange = visitor.get("/", headers=headers | {"host": "evil.example"})
        assert (strange.status_code, is_page(strange)) == (400, page)
        foreign = visitor.post("/compare", headers=headers | {"origin": "https://evil.example"})
        assert (foreign.status_code, is_page(foreign)) == (403, page)
        large = visitor.post("/compare", headers=headers | {"content-length": "99999999999"}, content=b"x")
        assert (large.status_code, is_page(large)) == (413, page)


def test_a_message_is_text_in_a_page(visitor):
    answer = visitor.get("/?sort=<script>alert(1)</script>", headers=BROWSER)
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert" in answer.text


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/api/v1/tokens", "GET, POST"),
        ("/api/v1/events", "GET"),
        ("/sign-in", "GET, POST"),
        ("/sign-out", "POST"),
    ],
)
def test_a_wrong_method_gets_the_allowed_ones(visitor, path, known):
    answer = visitor.request("PATCH", path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == known
    assert known in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("accept", "page"),
    [
        ("text/html", True),
        ("TEXT/HTML; q=0.5", True),
        ("text/html;q=0", False),
        ("text/html;q=0.2, application/json", False),
        ("application/json;q=0.2, text/html", True),
        ("application/json, text/html", True),
        ("text/html;q=soon", False),
        ("image/avif,image/webp,*/*", False),
        (";,;q=,", False),
    ],
)
def test_who_asks_for_what(visitor, accept, page):
    assert is_page(visitor.get("/nowhere", headers={"accept": accept})) == page


@given(st.text(max_size=80), st.booleans())
def test_any_wish_can_be_read(accept, otherwise):
    assert _prefers_html(accept, otherwise) in (True, False)
    assert _prefers_html(f"text/html,{accept}", False)


NAMES = st.sampled_from(
    [
        "lang",
        "without",
        "place",
        "concept",
        "source",
        "after",
        "since",
        "until",
        "min_languages",
        "sort",
        "cursor",
        "x",
    ]
)


@given(st.lists(st.tuples(NAMES, st.text(max_size=20)), max_size=12))
def test_any_address_has_filters_or_is_refused(pairs):
    try:
        chosen = Filters.parse(QueryParams(pairs))
    except ServiceError:
        return
    assert chosen.sort in SORTS
    assert Filters.parse(QueryParams(urlsplit(chosen.url(cursor=chosen.cursor)).query)) == chosen
    assert chosen.query().limit > 0
