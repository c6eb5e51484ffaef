"""Alerts on pages: the form that makes one, their list, and their deletion."""

import re

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.settings import AlertSettings, MailSettings, Settings
from isogloss.service.web._session import TOKEN_COOKIE
from isogloss.store import Alert, add_alert, list_alerts, queue_found
from tests.service import data

HOOK = "https://desk.example/hook"
MAIL = MailSettings(host="mail.example", sender="news@gull.example")


@pytest.fixture
def filled(store):
    data.fill(store)
    return store


def _visitor(store, **settings):
    return TestClient(create_app(Settings(**settings), store), base_url="http://127.0.0.1")


def _fields(page):
    """The hidden fields of the first form that makes an alert."""
    form = re.search(r'<form[^>]+action="/alerts">(.*?)</form>', page.text, re.DOTALL)[1]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def _follow(store, event="e1", **changes):
    """Store an alert of the installation; return its id."""
    values = {
        "id": 0, "owner": "", "event": event, "search": None, "channel": "webhook", "address": HOOK,
        "secret": "whsec_x", "minutes": 5, "created": 0, "line": 0, "next": 0, "delivered": 7, "dropped": 0,
        "error": "",
    }  # fmt: skip
    with store.database.write() as session:
        return add_alert(session, Alert(**values | changes), max_alerts=99).id


def _alerts(store):
    with store.database.read() as session:
        return [(each.event, each.search, each.channel, each.address) for each in list_alerts(session, None)]


def test_an_event_can_be_followed_by_webhook(filled):
    visitor = _visitor(filled)
    made = visitor.post("/alerts", data=_fields(visitor.get("/event/e1")) | {"address": f" {HOOK} "})
    assert made.status_code == 201
    assert _alerts(filled) == [("e1", None, "webhook", HOOK)]
    with filled.database.read() as session:
        assert list_alerts(session, None)[0].secret in made.text
    assert made.headers["cache-control"] == "no-store"


def test_a_saved_search_can_be_followed_by_mail(filled):
    saved = filled.save_search("", "storms", {"q": "Ottilie"}, max_searches=9)
    visitor = _visitor(filled, mail=MAIL)
    made = visitor.post("/alerts", data=_fields(visitor.get("/saved")) | {"address": "desk@gull.example"})
    assert made.status_code == 201
    assert _alerts(filled) == [("", saved.id, "mail", "desk@gull.example")]
    assert "whsec_" not in made.text


@pytest.mark.parametrize(
    ("changed", "status", "told"),
    [
        ({"key": "x" * 43}, 403, "another site"),
        ({"address": "http://desk.example:22/"}, 422, "port"),
        ({"address": "desk@gull.example"}, 422, "mail.host"),
        ({"address": "x" * 3000}, 422, "2048"),
        ({"event": "nobody"}, 404, "no event"),
        ({"search": "1"}, 422, "either event or search"),
        ({"search": "9" * 5000}, 422, "Search"),
    ],
)
def test_a_wrong_form_makes_no_alert_and_says_why(filled, changed, status, told):
    visitor = _visitor(filled)
    fields = _fields(visitor.get("/event/e1")) | {"address": HOOK} | changed
    answer = visitor.post("/alerts", data=fields)
    assert (answer.status_code, told in answer.text) == (status, True), answer.text
    assert _alerts(filled) == []


def test_a_form_of_another_site_makes_no_alert(filled):
    visitor = _visitor(filled)
    fields = _fields(visitor.get("/event/e1")) | {"address": HOOK}
    answer = visitor.post("/alerts", data=fields, headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
    assert _alerts(filled) == []


@pytest.mark.parametrize("scope", ["", "read", "write"])
def test_only_those_who_may_make_alerts_see_the_form(filled, scope):
    token = make_token(filled, [scope or "read"])
    visitor = _visitor(filled)
    if scope:
        visitor.cookies.set(TOKEN_COOKIE, token)
    assert ("Alert me" in visitor.get("/event/e1").text) == (scope == "write")


def test_without_alerts_there_is_no_form(filled):
    visitor = _visitor(filled, alerts=AlertSettings(per_token=0))
    assert "Alert me" not in visitor.get("/event/e1").text


def _list(page):
    """The items of the list of alerts, without markup."""
    items = page.text.partition('<h2 id="alerts">')[2].split("<li>")[1:]
    return [" ".join(re.sub("<[^>]*>", " ", item.partition("</li>")[0]).split()) for item in items]


def test_alerts_are_listed_with_what_became_of_them(filled):
    saved = filled.save_search("", "storms", {"q": "Ottilie"}, max_searches=9)
    _follow(filled)
    _follow(filled, event="", search=saved.id, address="desk@gull.example", channel="mail", dropped=2)
    _follow(filled, event="e404", error="desk.example: <b>no</b> answer", minutes=0)
    with filled.database.write() as session:
        queue_found(session, 1, [("e1", 3), ("e2", 4)], 5)
    page = _visitor(filled).get("/saved")
    assert _list(page) == [
        "event e404 to https://desk.example/hook · 7 sent The last attempt failed: desk.example: "
        "&lt;b&gt;no&lt;/b&gt; answer Delete",
        "storms to desk@gull.example, at most every 5 min · 7 sent · 2 given up Delete",
        "Storm Ottilie hits the coast to https://desk.example/hook, at most every 5 min · 7 sent · 2 waiting "
        "Delete",
    ]
    assert 'href="/event/e1"' in page.text
    assert 'href="/search?q=Ottilie' in page.text
    assert "whsec_" not in page.text


def _delete(visitor, number, **changes):
    form = re.search(
        rf'action="/alerts/{number}/delete">\s*<input[^>]+value="([^"]*)"', visitor.get("/saved").text
    )
    fields = {"key": form[1] if form else ""} | changes
    return visitor.post(f"/alerts/{number}/delete", data=fields, follow_redirects=False)


def test_an_alert_is_deleted_on_its_page(filled):
    number = _follow(filled)
    kept = _follow(filled, event="e2")
    visitor = _visitor(filled)
    assert _delete(visitor, number, key="x" * 43).status_code == 403
    assert len(_alerts(filled)) == 2
    answer = _delete(visitor, number)
    assert (answer.status_code, answer.headers["location"]) == (303, "/saved#alerts")
    with filled.database.read() as session:
        assert [each.id for each in list_alerts(session, None)] == [kept]


@pytest.mark.parametrize("number", [0, 99, 1 << 63, -1])
def test_an_alert_that_is_none_cannot_be_deleted(filled, number):
    known = _follow(filled)
    visitor = _visitor(filled)
    key = re.search(r'name="key" value="([^"]*)"', visitor.get("/saved").text)[1]
    assert visitor.post(f"/alerts/{number}/delete", data={"key": key}).status_code == 404
    assert known == 1
    assert len(_alerts(filled)) == 1


@pytest.mark.parametrize(("scope", "seen"), [("read", 0), ("write", 1), ("admin", 2)])
def test_a_token_sees_its_own_alerts_and_an_admin_all(filled, scope, seen):
    token = make_token(filled, [scope])
    with filled.database.read() as session:
        (mine,) = session.run("SELECT id FROM token")[0]
    other = _follow(filled, address="https://other.example/hook")
    _follow(filled, owner=mine)
    visitor = _visitor(filled)
    visitor.cookies.set(TOKEN_COOKIE, token)
    assert len(_list(visitor.get("/saved"))) == seen
    if scope == "write":
        key = re.search(r'name="key" value="([^"]*)"', visitor.get("/saved").text)[1]
        assert visitor.post(f"/alerts/{other}/delete", data={"key": key}).status_code == 404
        assert len(_alerts(filled)) == 2
