"""Every page in a real browser: nothing off the host, no error, nothing that keeps people out."""

import io
from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; pip install playwright")
pytest.importorskip("fastapi")

from PIL import Image
from playwright.sync_api import expect

from isogloss.service.auth import make_token, revoke_token
from isogloss.store import EventRow, Store, Update
from tests.browser import extremes, newsroom
from tests.browser.visit import DESK, PHONE, Watch, chromium, let_draw, new_page, serving
from tests.service import stories

NAME = "e22"
PAGES = (
    "/",
    f"/event/{NAME}",
    "/event/large",
    "/event/single",
    "/event/weeks",
    "/?lang=sl&since=2025-01-01&place=x",
    "/place/geo:3161732",
    "/concept/word:nordvik",
    "/source/Meridian%20Wire",
    "/search",
    "/search?q=Reederei+Bergen",
    "/search?q=Reederei&lang=de&without=es&since=2025-01-01",
    "/saved",
    "/compare",
    "/compare?a=the+blue+house&b=das+blaue+haus&lang_a=en&lang_b=de",
    "/topics",
    "/dictionary?word=house&lang=en",
    "/models",
    "/sources",
    "/status",
    "/sign-in",
    "/event/nobody",
    "/nowhere",
)
MISSING = PAGES[-2:]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("browser") / "news.db") as made:
        newsroom.fill(made)
        extremes.fill(made)
        stories.fill(made, {"weeks": stories.LONG["e1"]}, base=70_000)
        made.hostile = newsroom.fill_hostile(made, made.position())
        yield made


@pytest.fixture(scope="module")
def home(store):
    with serving(store, newsroom.models()) as address:
        yield address


@pytest.fixture
def visit(browser, home):
    """Opens pages in a context of its own; what they did wrong is asked for at the end."""
    contexts, watches = [], []

    def open_page(path, *, expected=(), **options):
        page = new_page(browser, **options)
        contexts.append(page.context)
        watch = Watch(page, home)
        watches.append((watch, expected))
        page.goto(home + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    for watch, expected in watches:
        assert [each for each in watch.troubles if not any(part in each for part in expected)] == []


def _verdicts(store):
    with store.database.read() as session:
        return session.run("SELECT a, b, same FROM verdict ORDER BY seq")


def _findings(page):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-core is not installed; pip install axe-playwright-python",
    )
    found = axe.Axe().run(page).response["violations"]
    return [
        (each["id"], [node["html"] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


LOOKS = [(scheme, size) for scheme in ("light", "dark") for size in (DESK, PHONE)]
PAPER = {"light": "rgb(251, 250, 247)", "dark": "rgb(20, 24, 28)"}


def _look(page):
    """The ways to look at a page, one after the other."""
    for scheme, size in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        yield scheme


def _visit_all(visit, home, paths, **options):
    """Pages one after the other in one context, which is made sooner than one for each."""
    page = visit(paths[0], **options)
    for path in paths:
        page.goto(home + path)
        yield path, page


@pytest.mark.parametrize(("paths", "expected"), [(PAGES[:-2], ()), (MISSING, ("status of 404",))])
def test_every_page_is_light_or_dark_and_fits(visit, home, paths, expected):
    for path, page in _visit_all(visit, home, paths, expected=expected):
        for scheme in _look(page):
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (path, paper) == (path, PAPER[scheme])


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_open_to_everybody(visit, path):
    page = visit(path, expected=("status of 404",) if path in MISSING else ())
    for _ in _look(page):
        assert _findings(page) == []


def test_the_event_page_is_open_to_everybody(visit):
    assert _findings(visit(f"/event/{NAME}")) == []


def test_hostile_titles_and_links_do_nothing(visit, store, home):
    term = quote(newsroom.HOSTILE, safe="")
    overviews = (f"/place/{term}", f"/concept/{term}", f"/source/{term}0")
    hostile = (
        *overviews,
        f"/event/{quote(store.hostile, safe='')}",
        "/?sort=changed",
        "/status",
        "/search?q=alert",
    )
    for _, page in _visit_all(visit, home, hostile):
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        assert page.locator("img").count() == 0
        page.mouse.move(600, 400)
        let_draw(page)


def test_the_browser_runs_no_script_of_the_page(visit):
    page = visit("/", expected=("Content Security Policy",))
    ran = page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            return window.ran === true;
        }"""
    )
    assert not ran


def test_the_keyboard_reaches_the_content(visit):
    page = visit("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_filters_act_at_once_and_stand_in_the_address(visit):
    page = visit("/")
    page.evaluate("window.same = true")
    page.get_by_label("Spanish").check()
    page.wait_for_url("**/?lang=es*")
    expect(page.locator("#results .card").first).to_be_visible()
    assert page.evaluate("window.same")
    assert page.url.endswith("/?lang=es")
    assert "events on this page" in page.locator("#announcement").inner_text()
    for card in page.locator("#results .card").all():
        assert "es" in card.locator(".chips").inner_text()
    page.go_back()
    page.wait_for_url(lambda address: "?" not in address)
    expect(page.get_by_label("Spanish")).not_to_be_checked()


def test_everything_works_without_scripts(visit, store):
    page = visit("/", java_script_enabled=False)
    page.get_by_label("French").check()
    page.get_by_label("Sort by").select_option("size")
    page.get_by_role("button", name="Show").click()
    assert "lang=fr" in page.url
    assert "sort=size" in page.url
    page.locator("#results .card a").first.click()
    assert "/event/" in page.url
    before = len(_verdicts(store))
    page.get_by_role("button", name="Wrong link").first.click()
    page.get_by_text("Thank you").first.wait_for()
    assert len(_verdicts(store)) == before + 1


def test_a_small_screen_begins_with_the_events(visit):
    page = visit("/", viewport=PHONE)
    assert page.locator("#results .card").first.bounding_box()["y"] < PHONE["height"] / 2


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_further_pages_are_in_a_menu_beside_the_others(visit, size, scripts):
    page = visit("/search", viewport=size, java_script_enabled=scripts)
    navigation = page.get_by_role("navigation")
    rows = {round(each.bounding_box()["y"]) for each in navigation.locator("ul").first.locator("> li").all()}
    assert len(rows) == 1
    assert not navigation.get_by_role("link", name="Topics").is_visible()
    navigation.get_by_text("More").click()
    menu = navigation.locator(".more ul").bounding_box()
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= size["width"]
    navigation.get_by_role("link", name="Topics").click()
    assert page.locator("[aria-current=page]").text_content() == "Topics"


def test_the_menu_closes_on_escape_and_on_a_click_elsewhere(visit):
    page = visit("/search")
    menu = page.get_by_role("navigation").locator("details")
    for close in (lambda: page.keyboard.press("Escape"), lambda: page.locator("footer").click()):
        menu.locator("summary").click()
        expect(menu.get_by_role("link", name="Status")).to_be_visible()
        close()
        expect(menu.get_by_role("link", name="Status")).not_to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_map_has_land_and_leads_to_places_and_can_be_enlarged(visit, scripts):
    page = visit("/", java_script_enabled=scripts)
    page.get_by_text("Map of these events").click()
    for scheme, sea, land in (
        ("light", [238, 243, 246], [207, 214, 211]),
        ("dark", [23, 29, 34], [58, 68, 76]),
    ):
        page.emulate_media(color_scheme=scheme)
        colours = Image.open(io.BytesIO(page.locator(".map").screenshot())).convert("RGB").getcolors(1 << 24)
        area = {colour: pixels for pixels, colour in colours}
        assert area.get(tuple(sea), 0) > 10_000
        assert area.get(tuple(land), 0) > 10_000
    before = page.locator(".map").bounding_box()["width"]
    page.locator(".zooms input").nth(1).check()
    assert page.locator(".map").bounding_box()["width"] == pytest.approx(2 * before, rel=0.02)
    page.locator(".zooms input").first.check()
    page.locator(".map").get_by_label("Chile", exact=True).click()
    page.wait_for_url("**/?place=geo%3A3871336")
    assert page.locator("#results .card").count() > 0


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_nothing_jumps_while_a_page_comes(visit, home, size):
    page = visit("/sign-in", viewport=size)
    page.add_init_script(
        """window.jumps = 0;
        const add = (each) => { window.jumps += each.value; };
        const watch = new PerformanceObserver((list) => list.getEntries().forEach(add));
        watch.observe({ type: "layout-shift", buffered: true });"""
    )
    for path in ("/", f"/event/{NAME}", "/models"):
        page.goto(home + path)
        let_draw(page)
        assert page.evaluate("window.jumps") < 0.01


def test_the_filters_of_a_small_screen_open_by_keyboard(visit):
    page = visit("/", viewport=PHONE)
    assert not page.get_by_label("Spanish").is_visible()
    page.locator(".filters summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Spanish")).to_be_visible()


def test_a_link_is_judged_by_keyboard_alone(visit, store):
    page = visit(f"/event/{NAME}")
    before = len(_verdicts(store))
    page.locator(".matrix a:not([aria-current])").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**link=*")
    note = page.locator(".link-evidence").get_by_label("Note")
    expect(note).to_be_visible()
    note.focus()
    page.keyboard.type("two ships")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**thanks=*")
    page.get_by_text("Thank you").first.wait_for()
    assert len(_verdicts(store)) == before + 1


def test_another_site_cannot_judge_for_the_reader(visit, store, home):
    page = visit(f"/event/{NAME}", expected=("request: about:", "status of 403"))
    address = page.locator("form.verdict").first.get_attribute("action")
    before = _verdicts(store)
    page.goto("about:blank")
    page.set_content(f'<form method="post" action="{home}{address}"><input name="same" value="0"></form>')
    with page.expect_response(lambda answer: address in answer.url) as met:
        page.evaluate("document.forms[0].submit()")
    assert met.value.status == 403
    assert _verdicts(store) == before


def _announce(store, name):
    line = store.position()
    told = {"title": {"en": "Fresh"}, "languages": {"en": 1}}
    store.apply(Update(line, line + 1, events=[EventRow(name, 1, 1, 1, ["en"], (), told)]))


def test_new_events_announce_themselves(visit, store):
    page = visit("/")
    _announce(store, "fresh")
    page.get_by_text("1 event is new or changed").wait_for()


def test_new_events_announce_themselves_to_those_who_signed_in(browser, tmp_path):
    with Store(tmp_path / "news.db") as store:
        newsroom.fill(store)
        token = make_token(store, ["read"])
        with serving(store, public_read=False) as home:
            page = new_page(browser)
            watch = Watch(page, home)
            page.goto(f"{home}/")
            assert "Sign in required" in page.locator("h1").inner_text()
            page.locator("main").get_by_role("link", name="Sign in").click()
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Sign in").click()
            assert page.evaluate("document.cookie") == ""
            with page.expect_response("**/changes?after=*") as followed:
                page.get_by_role("link", name="Now").click()
            assert followed.value.status == 200
            _announce(store, "fresh")
            page.get_by_text("1 event is new or changed").wait_for()
            revoke_token(store, token.split("_")[1])
            with page.expect_response("**/changes?after=*") as refused:
                _announce(store, "later")
            assert refused.value.status == 401
            assert page.get_by_text("1 event is new or changed").is_visible()
            page.context.close()
    assert [each for each in watch.troubles if "status of 401" not in each] == []


def test_the_page_of_the_api_sends_requests_and_asks_no_other_host(visit):
    page = visit("/docs")
    health = page.locator(".opblock", has=page.locator("[data-path='/api/v1/health']"))
    health.locator("button.opblock-summary-control").click()
    health.get_by_role("button", name="Try it out").click()
    health.get_by_role("button", name="Execute").click()
    expect(health.locator(".live-responses-table")).to_contain_text('"status": "ok"')


def test_the_page_of_the_api_is_light_or_dark_and_fits(visit):
    page = visit("/docs")
    expect(page.locator(".opblock").first).to_be_visible()
    for scheme in _look(page):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        dark = page.evaluate("document.documentElement.classList.contains('dark-mode')")
        assert dark == (scheme == "dark")
