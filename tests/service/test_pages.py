"""Every page on a filled store, on an empty one, and on one that means harm."""

import re
from html.parser import HTMLParser
from urllib.parse import parse_qs, quote, urlsplit

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.service.settings import ServerSettings, Settings
from isogloss.store import Store
from tests.browser import newsroom

HOME = "http://127.0.0.1:8470"
NAME = "e22"
PAGES = (
    "/",
    "/?lang=de&sort=size&min_languages=2",
    f"/event/{NAME}",
    "/place/geo:3161732",
    "/concept/word:nordvik",
    "/source/Meridian%20Wire",
    "/search",
    "/search?q=Reederei+Bergen+Barcelona",
    "/compare",
    "/compare?a=the+old+house&b=das+alte+haus&lang_a=en&lang_b=de",
    "/compare?a=the+old+house&b=la+casa&lang_a=en&lang_b=es",
    "/topics",
    "/topics?start=25",
    "/dictionary",
    "/dictionary?word=house&lang=en",
    "/models",
    "/sources",
    "/status",
    "/sign-in",
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A client of a service with the sample news and small models."""
    with Store(tmp_path_factory.mktemp("pages") / "news.db") as store:
        newsroom.fill(store)
        yield from _client(store, newsroom.models())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A client of a service whose every text is an attack."""
    with Store(tmp_path_factory.mktemp("hostile") / "news.db") as store:
        name = newsroom.fill_hostile(store, 0)
        for client in _client(store, newsroom.models()):
            client.event = f"/event/{quote(name, safe='')}"
            yield client


@pytest.fixture
def empty(tmp_path):
    """A client of a service that has nothing yet."""
    with Store(tmp_path / "news.db") as store:
        yield from _client(store, None)


def _client(store, models, **server):
    app = create_app(Settings(server=ServerSettings(**server)), store, models=models)
    app.state.access.reads.per_second = app.state.access.reads.size = 1e9
    with TestClient(app, base_url=HOME) as client:
        client.store = store
        yield client


class Elements(HTMLParser):
    """All elements of a page with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def _check(text):
    """What holds for every page, whatever it shows."""
    page = Elements(text)
    for tag, attributes in page.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (
            tag,
            attributes,
        )
        assert tag not in ("style", "iframe", "object", "embed", "base")
        for name in ("href", "src", "action"):
            address = urlsplit(attributes.get(name) or "")
            allowed = ("", "http", "https") if tag == "a" else ("",)
            assert address.scheme in allowed, (tag, attributes)
            assert tag == "a" or not address.netloc, (tag, attributes)
            assert address.scheme or not address.netloc, (tag, attributes)
    assert [script.get("src", "").partition("?")[0] for script in page.all("script")] == ["/static/pages.js"]
    assert not [each for each in page.all("img") if each.get("src") == "x"]
    return page


def _accessible(page):
    """What people with keyboards and screen readers count on."""
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert page.all("a")[0]["href"] == "#main"
    labelled = {label.get("for") for label in page.all("label")}
    for tag in ("input", "select", "textarea"):
        for field in page.all(tag):
            plain = field.get("type") in ("hidden", "checkbox")
            assert plain or field.get("id") in labelled, field
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for picture in page.all("svg"):
        assert picture.get("aria-label")


@pytest.mark.parametrize("address", PAGES)
def test_every_page_of_a_filled_store(filled, address):
    answer = filled.get(address)
    assert answer.status_code == 200
    assert "unsafe-inline" not in answer.headers["content-security-policy"]
    _accessible(_check(answer.text))


@pytest.mark.parametrize(
    "address", [page for page in PAGES if not page.startswith(("/event", "/place", "/concept", "/source/"))]
)
def test_every_page_of_an_empty_store_says_what_to_do(empty, address):
    answer = empty.get(address)
    assert answer.status_code == 200
    _accessible(_check(answer.text))


@pytest.mark.parametrize("address", ["/", "/topics", "/dictionary", "/models"])
def test_pages_without_content_say_what_to_do(empty, address):
    said = re.search(r'class="notice" role="status">(.*?)</p>', empty.get(address).text, re.DOTALL)
    assert said
    assert re.search(r"isogloss|settings", said[1])


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_well_formed(filled, address):
    html5lib = pytest.importorskip("html5lib", reason="html5lib is not installed; pip install html5lib")
    html5lib.HTMLParser(strict=True).parse(filled.get(address).text)


def test_browsers_may_say_where_a_form_comes_from(filled):
    """With ``no-referrer`` Chromium sends the forms of our own pages with the origin ``null``."""
    assert filled.get("/").headers["referrer-policy"] == "same-origin"


def test_the_event_page_has_all_its_parts(filled):
    text = filled.get(f"/event/{NAME}").text
    for heading in (
        "When",
        "Where",
        "Concepts",
        "Articles",
        "Why these belong together",
        "Most similar articles",
    ):
        assert f">{heading}<" in text
    assert "Nordvik" in text
    assert 'lang="ru" dir="ltr"' in text
    assert 'href="/map.svg#land"' in text
    assert "same main place" in text


def test_titles_come_in_the_language_of_the_reader(filled):
    for lang in ("de", "ru"):
        page = Elements(filled.get(f"/event/{NAME}", headers={"accept-language": f"{lang},en;q=0.5"}).text)
        assert page.all("h1")[0]["lang"] == lang


def test_right_to_left_text_says_so(hostile):
    assert 'dir="rtl"' in hostile.get(hostile.event).text


def test_a_former_name_leads_to_the_event(filled):
    answer = filled.get("/event/old-name", follow_redirects=False)
    assert answer.status_code == 308
    assert answer.headers["location"].startswith("/event/e")


def test_errors_are_pages(filled):
    for address, status in (
        ("/event/nobody", 404),
        ("/event/%00", 404),
        ("/?sort=worst", 422),
        ("/?since=0001-01-01", 422),
        ("/?until=soon", 422),
        ("/?min_languages=-1", 422),
        ("/?cursor=nonsense", 400),
        ("/?cursor=WyJsYXN0IiwgMTAwMDAwMDAwMDAwMDAwMDAwMDAwMDAsICJlIl0=", 400),
        ("/?place=" + "x" * 301, 422),
        ("/topics?start=x", 422),
        ("/static/..%2fpages.css", 404),
        ("/static/nothing.css", 404),
    ):
        answer = filled.get(address)
        assert answer.status_code == status, address
        if "%2f" not in address:
            _accessible(_check(answer.text))


def test_filters_come_back_as_they_were_chosen(filled):
    asked = (
        "/?lang=de&lang=fr&place=geo%3A3128760&since=2025-03-01&until=2025-04-30&min_languages=3&sort=size"
    )
    page = Elements(filled.get(asked).text)
    checked = [each["value"] for each in page.all("input") if "checked" in each and each["name"] == "lang"]
    assert sorted(checked) == ["de", "fr"]
    chosen = [each["value"] for each in page.all("option") if "selected" in each]
    assert chosen == ["geo:3128760", "size"]
    values = {each.get("name"): each.get("value") for each in page.all("input")}
    assert (values["since"], values["until"], values["min_languages"]) == ("2025-03-01", "2025-04-30", "3")
    links = [parse_qs(urlsplit(each["href"]).query) for each in page.all("a")]
    assert {
        name: value for name, value in parse_qs(urlsplit(asked).query).items() if name != "place"
    } in links


def test_filters_choose(filled):
    def events(query):
        return set(re.findall(r'<h2><a href="/event/([^"]+)"', filled.get("/" + query).text))

    assert {"e39", "e41"} & events("?until=2025-03-06")
    assert not {"e39", "e41"} & events("?until=2025-03-06&min_languages=2")
    assert not {"e39", "e41"} & events("?until=2025-03-06&lang=es")
    assert NAME in events("?place=geo%3A3128760")
    assert NAME in events("?min_languages=3")
    assert NAME not in events("?min_languages=3&without=es")
    assert "not yet in: Spanish" in filled.get("/?without=es").text
    assert not events("?until=1999-01-01")
    assert not events("?place=nowhere")


def test_pages_follow_each_other_by_cursor(filled):
    seen, addresses = [], ["/?sort=size"]
    for _ in range(3):
        text = filled.get(addresses.pop()).text
        seen += re.findall(r'<h2><a href="/event/([^"]+)"', text)
        addresses += [each["href"] for each in Elements(text).all("a") if each.get("rel") == "next"]
        if not addresses:
            break
    assert not addresses
    assert len(seen) == len(set(seen)) == 46


def test_hostile_texts_and_links_stay_text(hostile):
    for address in ("/", hostile.event, "/search?q=alert", "/status", "/?lang=" + quote("<script>")):
        page = _check(hostile.get(address).text)
        targets = [each.get("href", "") for each in page.all("a")]
        assert not [
            each for each in targets if re.match(r"\s*(javascript|data|vbscript)", each, re.IGNORECASE)
        ]
    told = hostile.get(hostile.event).text
    assert "&lt;script&gt;alert(1)" in told
    assert Elements(told).all("h1")


def test_texts_to_compare_stay_text(filled):
    answer = filled.post("/compare", data={"a": newsroom.HOSTILE, "b": f"</textarea>{newsroom.HOSTILE}"})
    _check(answer.text)


def test_texts_to_compare_that_cannot_be(filled):
    for fields, said in (
        ({"a": "one text"}, "empty"),
        ({"a": "x" * 100_001, "b": "y"}, "100,001"),
        ({"a": "the old house", "b": "das alte haus", "lang_b": "xx"}, "not known"),
        ({"a": "123", "b": "456"}, "language"),
    ):
        answer = filled.post("/compare", data=fields)
        assert answer.status_code == 200
        assert said in answer.text
    assert filled.post("/compare", json={"a": "x"}).status_code == 415


def test_the_alignment_is_drawn(filled):
    text = filled.post("/compare", data={"a": "the blue house", "b": "das blaue haus"} | _LANGS).text
    drawn = re.search(r'<svg class="alignment".*?</svg>', text, re.DOTALL)
    assert drawn
    assert drawn[0].count("<path") == 3
    turned = filled.post("/compare", data={"a": "das alte haus", "b": "the old house"} | _TURNED).text
    assert turned.count("= <span") == 3
    unknown = filled.get("/compare?a=the+old+house&b=la+casa&lang_a=en&lang_b=es").text
    assert "no word aligner" in unknown


_LANGS = {"lang_a": "en", "lang_b": "de"}
_TURNED = {"lang_a": "de", "lang_b": "en"}


def test_the_dictionary_translates_both_ways(filled):
    assert "gebäude" in filled.get("/dictionary?word=House&lang=en&to=de").text
    assert "house" in filled.get("/dictionary?word=haus&lang=de&to=en").text
    assert "Choose the language" in filled.get("/dictionary?word=haus").text


def test_models_show_table_curve_and_certificate(filled):
    text = filled.get("/models").text
    for part in ("retrieval", "globally optimal", 'class="curve"', "en-ru", "0.812"):
        assert part in text


def _verdict(client, fields, **more):
    told = client.get(f"/event/{NAME}").text
    address = re.search(r'action="(/event/[^"]+/links/\d+/\d+)"', told)[1]
    key = re.search(r'name="key" value="([^"]+)"', told)[1]
    return client.post(address, data={"key": key} | fields, follow_redirects=False, **more)


def _verdicts(store):
    with store.database.read() as session:
        return session.run("SELECT a, b, same, note FROM verdict ORDER BY seq")


def test_a_verdict_about_a_wrong_link_is_stored(filled):
    before = len(_verdicts(filled.store))
    answer = _verdict(filled, {"same": "0", "note": "two companies"})
    assert answer.status_code == 303
    a, b, same, note = _verdicts(filled.store)[before]
    assert (same, note) == (0, "two companies")
    assert filled.store.link(a, b)
    assert "Thank you" in filled.get(answer.headers["location"]).text


def test_a_verdict_from_elsewhere_is_refused(filled):
    before = _verdicts(filled.store)
    assert _verdict(filled, {"same": "0", "key": "x" * 43}).status_code == 403
    assert _verdict(filled, {"same": "0"}, headers={"origin": "https://evil.example"}).status_code == 403
    assert _verdict(filled, {"same": "0"}, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    filled.cookies.clear()
    assert filled.post(f"/event/{NAME}/links/1/2", data={"same": "0", "key": ""}).status_code == 403
    assert _verdicts(filled.store) == before


def test_a_verdict_on_what_is_not_there_is_refused(filled):
    key = re.search(r'name="key" value="([^"]+)"', filled.get(f"/event/{NAME}").text)[1]
    answer = filled.post(f"/event/{NAME}/links/1/99999999999999999999", data={"key": key, "same": "0"})
    assert answer.status_code == 404
    assert _verdict(filled, {"same": "maybe"}).status_code == 404


@pytest.mark.parametrize("public", [True, False])
def test_signing_in_lets_people_judge(tmp_path, public):
    with Store(tmp_path / "news.db") as store:
        newsroom.fill(store)
        reader, writer = make_token(store, ["read"]), make_token(store, ["read", "write"])
        for client in _client(store, None, public_read=public):
            assert client.get("/").status_code == (200 if public else 401)
            assert _signed(client, "isg_wrong_token").status_code == 401
            assert _signed(client, reader).status_code == 303
            assert client.get("/").status_code == 200
            assert _verdict(client, {"same": "0"}).status_code == 403
            assert _signed(client, writer).status_code == 303
            assert _verdict(client, {"same": "0"}).status_code == 303
            assert len(_verdicts(store)) == 1


def _signed(client, token):
    client.cookies.clear()
    key = re.search(r'name="key" value="([^"]+)"', client.get("/sign-in").text)[1]
    return client.post("/sign-in", data={"key": key, "token": token}, follow_redirects=False)


def test_the_cookie_of_a_token_is_out_of_reach_of_scripts(tmp_path):
    with Store(tmp_path / "news.db") as store:
        token = make_token(store, ["read"])
        for client in _client(store, None):
            cookie = _signed(client, token).headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=strict" in cookie


def test_static_files_have_an_address_of_their_own_version(filled):
    text = filled.get("/").text
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', text):
        answer = filled.get(address)
        assert answer.status_code == 200
        assert "max-age" in answer.headers["cache-control"]
    assert filled.get("/map.svg").headers["content-type"] == "image/svg+xml"


def _policy(answer):
    directives = answer.headers["content-security-policy"].split("; ")
    return {name: sources for name, *sources in map(str.split, directives)}


def test_only_the_page_of_the_api_may_show_the_icons_inside_its_style_sheet(filled):
    others = _policy(filled.get("/status"))
    assert others["img-src"] == ["'self'"]
    assert _policy(filled.get("/docs")) == others | {"img-src": ["'self'", "data:"]}


def test_the_page_of_the_api_is_made_of_files_of_the_service(filled):
    text = filled.get("/docs").text
    _accessible(Elements(text))
    addresses = re.findall(r'<(?:script src|link rel="stylesheet" href)="([^"]+)"', text)
    assert {each.partition("?")[0] for each in addresses} >= {
        "/static/swagger-ui.css",
        "/static/swagger-ui-bundle.js",
        "/static/api.js",
    }
    assert [filled.get(each).status_code for each in addresses] == [200] * len(addresses)
    document = re.search(r'data-openapi="([^"]+)"', text)[1]
    assert "/api/v1/events" in filled.get(document).json()["paths"]
