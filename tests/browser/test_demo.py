"""The demo as a newcomer meets it: every page has what it is for."""

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; pip install playwright")
pytest.importorskip("fastapi")

from tests.browser.visit import DESK, PHONE, Watch, chromium, demo, new_page

pytestmark = pytest.mark.slow

PAGES = ("Now", "Search", "Compare", "Topics", "Dictionary", "Models", "Status")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with demo(tmp_path_factory.mktemp("demo")) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser, home):
    page = new_page(browser)
    watch = Watch(page, home)
    page.goto(home)
    yield page
    page.context.close()
    assert watch.troubles == []


def _go(page, name):
    navigation = page.get_by_role("navigation")
    if not navigation.get_by_role("link", name=name).is_visible():
        navigation.locator("summary").click()
    navigation.get_by_role("link", name=name).click()
    assert page.locator("[aria-current=page]").text_content() == name


def test_every_page_is_one_click_away_and_says_nothing_is_missing(page):
    for name in PAGES:
        _go(page, name)
        for size in (DESK, PHONE):
            page.set_viewport_size(size)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".notice:not(.good):visible").count() == 0, name


def test_a_card_leads_to_an_event_with_all_its_parts(page):
    page.goto(f"{page.url}?min_languages=5&sort=size")
    card = page.locator(".card").first
    for part in (".chip", ".sparkline", ".meta a", "time"):
        assert card.locator(part).first.is_visible()
    card.locator("h2 a").click()
    assert page.locator(".column").count() == 5
    for part in (".timeline .span", ".map circle", "#concepts", ".link-evidence .bars", ".lead"):
        assert page.locator(part).count() > 0, part
    page.get_by_role("button", name="Wrong link").first.click()
    assert page.get_by_text("Thank you").is_visible()


def test_an_event_is_found_in_any_language(page):
    for asked in ("earthquake in Chile", "землетрясение в Чили", "tremblement de terre au Chili"):
        _go(page, "Search")
        page.get_by_label("Name, words").fill(asked)
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=*")
        titles = page.locator(".card h2").all_inner_texts()
        assert any("Chile" in title for title in titles[:3]), asked


def test_two_texts_are_compared_and_their_words_linked(page):
    _go(page, "Compare")
    page.get_by_role("link", name="Try an example").click()
    assert page.get_by_role("heading", name="Shared topics").is_visible()
    assert int(page.locator(".big").inner_text().split()[0]) >= 80
    assert page.locator(".alignment .links path").count() > 3
    page.get_by_text("As a list").click()
    links = page.locator(".words").inner_text().lower()
    for link in ("injured = verletzt", "museum = museum", "thursday = donnerstag"):
        assert link in links


def test_a_word_is_translated(page):
    _go(page, "Dictionary")
    page.get_by_label("Word").fill("strike")
    page.get_by_label("From").select_option("en")
    page.get_by_role("button", name="Translate").click()
    said = page.locator("main").inner_text()
    for word in ("streik", "huelga", "grève", "забастовка"):
        assert word in said


def test_models_show_a_learning_curve_a_retrieval_table_and_a_certificate(page):
    _go(page, "Models")
    said = page.locator("main").inner_text()
    for part in (
        "Learning curve",
        "Retrieval: mean reciprocal rank",
        "Certificate",
        "globally optimal",
        "Bits per word",
    ):
        assert part in said
    assert page.locator(".curve .line").count() == 5
