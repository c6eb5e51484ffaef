"""RELIABILITY 8: SQLite and PostgreSQL answer the same requests with the same bytes."""

import base64
import hashlib
import json

import pytest
from fastapi.testclient import TestClient

from isogloss.exceptions import StoreError
from isogloss.service.app import create_app
from isogloss.store import EventQuery, EventRow, Store, Update
from tests.service import data

OWN = ("x-request-id", "date")
"""Headers that differ from request to request."""

GOOD = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z", "source": "The Gull"}
LARGEST = 2**63 - 1
LONG = "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(80))
"""Digits that cannot be packed into few bytes."""

ODD = ("%00", "%ED%A0%80", "'%25_\\", "%F0%9F%98%80")
"""A null, a lone surrogate, what SQL might take for its own, and a character of four bytes."""

QUESTIONS = [
    *(
        f"events?sort={sort}&limit=3"
        for sort in ("importance", "last", "size", "languages", "changed", "Size", "")
    ),
    *(f"events?{name}={value}" for name in ("lang", "place", "concept", "q") for value in ODD),
    *(f"events?min_size={value}" for value in (2, -1, LARGEST, LARGEST + 1)),
    *(f"events?limit={value}" for value in (0, 1, 200, 201)),
    *(f"events?lang={value}" for value in ("en", "EN", "en&lang=de", "xx")),
    *(f"events?concept=name:{value}" for value in ("ottilie", "OTTILIE", "E1", "e1")),
    *(
        f"events?q={value}"
        for value in (
            "Оттилие",
            "ottilie&lang=de",
            "FLOOD",
            "élections",
            "%20",
            '"hits+the+coast"',
            "storm+-roofs",
            "-storm",
            "-&weak=1",
        )
    ),
    *(f"events?since={value}" for value in ("2025-03-05T10:30:00Z", "0001-01-01T00:00:00Z", "2025-03-05")),
    *(f"events?until={value}" for value in ("2025-03-05T08:00:00Z", "9999-12-31T23:59:59.999999Z")),
    *(f"events/{value}" for value in ("e1", "e0", "E1", "e-1", "none", *ODD)),
    *(f"clusters/{value}" for value in (1, 0, -1, LARGEST, LARGEST + 1)),
    *(f"links/{value}" for value in ("1/2", "2/1", "1/1", "1/3", f"1/{LARGEST}", f"{LARGEST + 1}/1")),
    *(f"articles/{value}" for value in (1, 9, LARGEST, LARGEST + 1, "1/similar?k=3", "9/similar")),
    *(f"articles?{value}" for value in ("limit=2", "event=e0", "cluster=1", f"cluster={LARGEST + 1}")),
    *(f"articles?event={value}" for value in ODD),
    *("articles", "articles?cursor=x", "events?min_languages=2", "events?place=geo:1", "models", "limits"),
]
CURSORS = [
    ["last", 1, "e\0"],
    ["last", 1, "\ud800"],
    ["last", 2**63, "e"],
    ["last", LARGEST, "e" * 9_000],
    ["last", -LARGEST, ""],
    ["last", 1.5, "e"],
    ["last", True, "e"],
    ["last", None, "e"],
    ["last", 1, None],
    ["size", 1, "e"],
    {"last": 1},
]
SENT = [
    GOOD,
    GOOD,
    GOOD | {"title": "Snow"},
    [GOOD | {"id": "91"}, {"title": "no time"}, GOOD | {"id": "91", "body": "twice"}],
    GOOD | {"id": "\0", "title": "a\0b", "body": "\0", "source": "\0s", "url": "http://x.example/\0"},
    GOOD | {"id": "\ud800", "title": "a\ud800b", "body": "\udfff"},
    GOOD | {"id": "92", "body": "long " * 60_000},
    GOOD | {"id": "é" * 1_999, "source": "ß" * 1_999, "url": f"https://x.example/{'😀' * 1_900}"},
    GOOD | {"id": "98", "source": LONG[:1_990], "url": f"https://x.example/{LONG[-1_900:]}"},
    GOOD | {"id": LONG[:1_990], "source": LONG[-1_990:]},
    GOOD | {"id": "93", "time": "1900-01-01T00:00:00.000001Z"},
    GOOD | {"id": "94", "time": -1e18},
    GOOD | {"id": "95", "time": 1e300},
    GOOD | {"id": "96", "title": "\u202e\ufeff\U0010ffff\x7f\x1b"},
    GOOD | {"id": "97", "title": "é"},
    GOOD | {"id": "97", "title": "e\u0301"},
    [1, None, "x", {"a": "\0", "time": "\ud800"}],
    {"title": "\0", "record": {"\0": 1e308}},
]


def fill(store):
    """Two events, and some that differ in their names alone."""
    data.fill(store)
    at = data.to_micros(data.START)
    rows = [
        EventRow(name, at, at, 7, ["en"], [("concept", f"name:{name}")], {"title": {"en": f"Flood {name}"}})
        for name in ("E1", "e-1", "e1a", "e10", "e9", "z", "_1", "~")
    ]
    store.apply(Update(4, 4, [], [], rows))


@pytest.fixture
def stores(postgres, tmp_path):
    with Store(tmp_path / "news.db") as first:
        yield first, Store(postgres)


@pytest.fixture
def clients(stores):
    for store in stores:
        fill(store)
    apps = [create_app(data.settings(), store, models=data.models()) for store in stores]
    for app in apps:
        data.store_points(app.state.isogloss.store)
        while app.state.isogloss.neighbours.catch_up():
            pass
    first, second = (
        TestClient(app, base_url=f"{data.BASE}/api/v1/", raise_server_exceptions=False) for app in apps
    )
    with first, second:
        yield first, second


def told(answer):
    """All of an answer but what is its own, and when something came."""
    headers = {name: value for name, value in answer.headers.items() if name not in OWN}
    content = answer.content
    if headers.get("content-type") == "application/json" and b'"received"' in content:
        content = json.loads(
            content, object_hook=lambda said: {k: v for k, v in said.items() if k != "received"}
        )
    return answer.status_code, headers, content


def both(clients, method, path, **more):
    first, second = (client.request(method, path, **more) for client in clients)
    assert told(first) == told(second), f"{method} {path} {str(more)[:200]}"
    assert first.status_code < 500, f"{method} {path} {str(more)[:200]}"
    return first


def test_questions(clients):
    for path in QUESTIONS:
        both(clients, "GET", path)
    for sort in ("importance", "last", "size", "languages", "changed"):
        cursor, seen = "", []
        while cursor or not seen:
            page = both(clients, "GET", "events", params={"sort": sort, "limit": 3, "cursor": cursor}).json()
            cursor, seen = page["cursor"], seen + [event["id"] for event in page["events"]]
        assert len(seen) == len(set(seen)) == 10


def test_cursors_that_somebody_made_up(clients):
    for said in CURSORS:
        cursor = base64.urlsafe_b64encode(json.dumps(said).encode()).decode()
        both(clients, "GET", "events", params={"cursor": cursor})


def test_articles_of_every_kind(clients):
    json_ = {"content-type": "application/json"}
    for number, said in enumerate(SENT):
        body = json.dumps(said).encode()
        for key in (f"{number}", f"{number}", f"{number} again", "one for all"):
            both(clients, "POST", "articles", content=body, headers=json_ | {"Idempotency-Key": key})
        for article in both(clients, "GET", "articles?limit=3").json()["articles"]:
            both(clients, "GET", f"articles/{article['seq']}")
    counts = [client.get("status").json()["details"]["counts"] for client in clients]
    assert counts[0] == counts[1]


def test_what_is_asked_in_a_body(clients):
    texts = ("Storm Ottilie en2w1 en2w3", "\0", "\ud800", "x" * 200_000, "")
    for text in texts:
        for more in ({}, {"k": 1}, {"languages": ["de", "xx", "\0"]}, {"since": "2025-03-05T10:00:00Z"}):
            content = json.dumps({"text": text, "lang": "en"} | more).encode()
            both(clients, "POST", "similar", content=content, headers={"content-type": "application/json"})
    for note in ("", "\0", "\ud800", "é" * 3_000):
        content = json.dumps({"same": False, "note": note}).encode()
        for pair in ("1/2", "3/1", f"1/{LARGEST}"):
            path = f"links/{pair}/verdict"
            both(clients, "POST", path, content=content, headers={"content-type": "application/json"})


def test_a_full_disk(clients, stores):
    sqlite, server_ = (store.database for store in stores)
    with server_.write() as session:
        session.run(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = 'disk_full'; END $$"
        )
        session.run("CREATE TRIGGER full_disk BEFORE INSERT ON article EXECUTE FUNCTION full_disk()")
    sqlite._writer.execute("PRAGMA max_page_count = 1")
    large = GOOD | {"body": "rain " * 20_000}
    for more in ({}, {"Idempotency-Key": "k"}):
        for client in clients:
            answer = client.post("articles", json=large, headers=more)
            assert (answer.status_code, answer.json()["error"]["code"]) == (507, "full")
    both(clients, "GET", "articles")
    with server_.write() as session:
        session.run("DROP TRIGGER full_disk ON article")
    sqlite._writer.execute("PRAGMA max_page_count = 1000000")
    assert both(clients, "POST", "articles", json=large, headers={"Idempotency-Key": "k"}).status_code == 202


@pytest.mark.parametrize("query", [{"sort": "time"}, {"limit": 0}, {"limit": 10**9}, {"cursor": "x"}])
def test_errors_of_the_store(stores, query):
    said = []
    for store in stores:
        with pytest.raises(StoreError) as raised:
            store.events(EventQuery(**query))
        said.append((type(raised.value), str(raised.value)))
    assert said[0] == said[1]
