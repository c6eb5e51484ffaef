"""The form on pages that makes alerts."""

import re

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.settings import AlertSettings, MailSettings, Settings
from isogloss.service.web._session import TOKEN_COOKIE
from isogloss.store import list_alerts
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
