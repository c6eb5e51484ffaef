"""The front page: ranked by importance, with stages, filters, and what is new since the last visit."""

import re

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.web._session import VISIT_COOKIE, VISIT_GAP_S, Visits
from isogloss.service.web.presentation._event_list import Card
from isogloss.store import ClusterRow, EventRow, Update
from tests.service import data

DAY = 86_400_000_000
NOW = 1_800_000_000


def _event(name, days, size=4, languages=("en",)):
    """An event with articles on some days since 1970-01-01: days with their numbers."""
    timeline = [[f"1970-01-{day + 1:02}", n] for day, n in days.items()]
    told = {"title": {"en": f"Event {name}"}, "languages": dict.fromkeys(languages, 1), "timeline": timeline}
    return EventRow(name, min(days) * DAY, (max(days) + 1) * DAY - 1, size, list(languages), (), told)


@pytest.fixture
def visitor(store, monkeypatch):
    """A client whose clock is ``visitor.now``."""
    with TestClient(create_app(data.settings(), store), base_url=data.BASE) as client:
        client.now, client.store = NOW, store
        monkeypatch.setattr("isogloss.service.web.pages._events.time", lambda: client.now)
        yield client


def _apply(store, *events, clusters=()):
    line = store.position()
    store.apply(Update(line, line + 1, events=events, clusters=clusters))


def _shown(page):
    return re.findall(r'<h2><a href="/event/([^"]+)"', page)


def _badges(page, name):
    """The badges on the card of an event."""
    (card,) = (part for part in page.split('<article class="card">') if f'href="/event/{name}"' in part)
    return re.findall(r'class="badge (\w+)"', card)


def test_important_events_come_first_and_other_orders_can_be_chosen(visitor):
    _apply(
        visitor.store,
        _event("latest", {9: 1}, 1),
        _event("large", {7: 30}, 30),
        _event("global", {8: 12}, 12, ("en", "de", "fr", "es", "ru")),
    )
    assert _shown(visitor.get("/").text) == ["global", "large", "latest"]
    assert _shown(visitor.get("/?sort=size").text) == ["large", "global", "latest"]
    assert _shown(visitor.get("/?sort=last").text) == ["latest", "global", "large"]


def test_stages(visitor):
    _apply(
        visitor.store,
        _event("fresh", {9: 1}),
        _event("growing", {6: 2, 9: 5}),
        _event("waning", {6: 9, 9: 2}),
        _event("steady", {6: 4, 7: 1, 8: 4}),
        _event("small", {6: 1, 9: 2}),
        _event("over", {2: 50}),
    )
    page = visitor.get("/").text
    found = {name: _badges(page, name) for name in ("fresh", "growing", "waning", "steady", "small", "over")}
    assert found == {
        "fresh": ["new"],
        "growing": ["developing"],
        "waning": ["fading"],
        "steady": [],
        "small": [],
        "over": [],
    }


@pytest.mark.parametrize(
    ("hours", "stage"), [(0, "new"), (23.9, "new"), (48, "developing"), (96, "fading"), (144, "")]
)
def test_an_event_goes_through_its_stages(hours, stage):
    told = {"id": "e", "first": 0, "last": 0, "size": 10, "timeline": [["1970-01-01", 2], ["1970-01-03", 8]]}
    assert Card.from_event(told).stage(int(hours * 3600 * 1e6)) == stage


def test_all_languages_of_the_store_can_be_chosen(visitor):
    old = [_event(f"old{n}", {0: 1}, languages=(code,)) for n, code in enumerate(("is", "mt", "sl"))]
    _apply(visitor.store, *old, *(_event(f"e{n}", {9: 1}) for n in range(120)))
    page = visitor.get("/").text
    assert re.findall(r'name="lang" value="(\w+)"', page) == ["en", "is", "mt", "sl"]
    assert _shown(visitor.get("/?lang=mt").text) == ["old1"]


def test_events_by_source(visitor):
    visitor.store.add([data.article(1, "en", "Storm"), data.article(2, "en", "Vote")])
    with visitor.store.database.write() as session:
        session.run("UPDATE article SET source = ? WHERE seq = 2", ['Die "Möwe"'])
    clusters = [ClusterRow(n, "en", f"e{n}", 0, 0, [n]) for n in (1, 2)]
    _apply(visitor.store, _event("e1", {9: 1}), _event("e2", {9: 1}), clusters=clusters)
    page = visitor.get("/", params={"source": 'Die "Möwe"'}).text
    assert _shown(page) == ["e2"]
    assert "source: Die &#34;Möwe&#34;" in page
    assert re.findall(r'<option value="([^"]+)"></option>', page) == ["Die &#34;Möwe&#34;", "The Gull"]
    assert _shown(visitor.get("/?source=nobody").text) == []


def test_more_sources_than_articles_are_those_of_reprints(visitor):
    visitor.store.add([data.article(1, "en", "Storm"), data.article(2, "en", "Storm")])
    with visitor.store.database.write() as session:
        session.run("UPDATE article SET source = 'The Tern' WHERE seq = 2")
    cluster = ClusterRow(1, "en", "e1", 0, 0, [1, 2])
    _apply(visitor.store, _event("e1", {9: 1}, 1), clusters=[cluster])
    assert "1 article and reprints from 2 sources" in " ".join(visitor.get("/").text.split())


def test_what_is_new_and_changed_since_the_last_visit(visitor):
    _apply(visitor.store, _event("a", {9: 1}), _event("b", {8: 1}))
    first = visitor.get("/")
    assert "last visit" not in first.text
    assert "unseen" not in first.text
    seen = visitor.store.position()
    _apply(visitor.store, _event("a", {9: 2}), _event("c", {9: 1}))
    visitor.now += VISIT_GAP_S
    assert "last visit" not in visitor.get("/").text  # the same visit, which is only prolonged
    visitor.now += VISIT_GAP_S + 1
    for _ in range(2):
        page = visitor.get("/").text
        assert "nothing new" in page
    _apply(visitor.store, _event("a", {9: 3}), _event("d", {9: 1}), _event("b", {9: 1}))
    page = visitor.get("/").text
    assert "1 new and 2 changed events" in page
    assert [_badges(page, name)[1:] for name in "abcd"] == [["updated"], ["updated"], [], ["unseen"]]
    (address,) = re.findall(r'<p class="since">.*?href="([^"]+)"', page, re.DOTALL)
    assert address == f"/?after={seen + 1}&amp;sort=changed"
    assert sorted(_shown(visitor.get(address.replace("&amp;", "&")).text)) == ["a", "b", "d"]


def test_the_cookie_has_positions_and_times_only(visitor):
    answer = visitor.get("/")
    said = answer.headers["set-cookie"]
    assert f"{VISIT_COOKIE}=0.0.0.{NOW};" in said
    assert {part.strip().lower() for part in said.split(";")} >= {"httponly", "samesite=lax", "path=/"}
    other = visitor.get("/search")
    assert VISIT_COOKIE not in other.headers.get("set-cookie", "")


@pytest.mark.parametrize(
    "cookie",
    ["", "x", "1.2.3", "1.2.3.4.5", "-1.2.3.4", "9" * 40, "²." * 3 + "²", "99.5.99.9", f"0.0.0.{NOW + 9}"],
)
def test_a_cookie_that_is_invalid_or_of_another_store_starts_over(cookie):
    assert Visits.parse(cookie).at(line=7, now=NOW) == Visits(line=7, time=NOW)


@pytest.mark.parametrize("line", ["x", "-1", "1e3", "9" * 19, "²"])
def test_a_line_that_is_no_number_is_refused(visitor, line):
    answer = visitor.get("/", params={"after": line})
    assert answer.status_code == 422
    assert "journal line" in answer.text
