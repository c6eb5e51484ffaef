"""The pages of a dictionary in a real browser, opened from the disk: search, entries, concordance, looks."""

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; pip install playwright")

from playwright.sync_api import expect

from isogloss.lexicon.aligned import build_dictionary
from isogloss.lexicon.site import Description, SiteLanguage, write_site
from tests.browser.visit import DESK, PHONE, chromium
from tests.lexicon.aligned.text import aligned, tale

HOSTILE = ("<script>document.title='bad'</script> river", "<img src=x onerror=alert(1)> río", "5-6")
ASTRAL = ("\U00010400\U00010401 rain \U00010400", "\U00010402 lluvia", "1-1")
PAGES = (
    *("index.html", "about.html", "concordance.html", "en/1.html", "en/index.html"),
    *("es/frequency.html", "es/book.html"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    languages = SiteLanguage("en", "English"), SiteLanguage("es", "Spanish")
    rows = tale() + [("the <b>old</b> river", "el río viejo", "0-0 4-1 2-2")] * 3 + [HOSTILE, ASTRAL] * 3
    write_site(build_dictionary(aligned(rows)), Description("Tale", *languages, "2026-01-31"), folder)
    return folder


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser):
    found = browser.new_context().new_page()
    wrong = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda line: line.type == "error" and wrong.append(line.text))
    found.on("request", lambda one: one.url.startswith("file:") or wrong.append(one.url))
    yield found
    assert wrong == []
    found.context.close()


def visit(page, site, path):
    page.goto((site / path).as_uri())


def results(page, query):
    page.fill("#query", query)
    expect(page.locator("#found")).to_have_text(re.compile(r"^[1-9].* words?$"))
    expect(page.locator("#results li a").first).to_be_visible()
    return page.locator("#results li").all_inner_texts()


def test_words_are_found_without_accents_in_both_languages(page, site):
    visit(page, site, "index.html")
    assert any(line.startswith("río river") for line in results(page, "RIO"))
    assert any(line.startswith("dogs perro") for line in results(page, "dogs"))
    page.fill("#query", "qqq")
    expect(page.locator("#found")).to_have_text("0 words")
    expect(page.locator("#results li")).to_have_count(0)


def test_enter_opens_the_entry_and_from_there_its_concordance(page, site):
    visit(page, site, "index.html")
    results(page, "perro")
    page.press("#query", "Enter")
    page.wait_for_url(re.compile(r"/es/1\.html#w\d+$"))
    assert page.locator("article:target h2").inner_text() == "perro"
    page.click("article:target a[href*=concordance]")
    page.wait_for_selector("#lines li")
    assert page.locator("h1").inner_text() == "Concordance of perro"
    assert page.locator("#lines li").count() == 24
    marks = page.locator("#lines li").first.locator("mark").all_inner_texts()
    assert marks[0] in ("perro", "perros")
    assert marks[1] in ("dog", "dogs")
    page.select_option("#only", "dogs")
    assert page.locator("#lines-count").inner_text() == "8 lines of 24 occurrences"
    page.select_option("#order", "left")
    assert page.locator("#lines li").count() == 8


def test_a_translation_leads_to_its_own_entry(page, site):
    visit(page, site, "en/1.html")
    page.locator("article", has=page.locator("h2", has_text=re.compile("^dog$"))).locator(
        "li > a"
    ).first.click()
    page.wait_for_url(re.compile(r"/es/1\.html#w\d+$"))
    assert page.locator("article:target h2").inner_text() == "perro"


def test_markup_of_the_text_stays_text(page, site):
    visit(page, site, "index.html")
    results(page, "río")
    page.press("#query", "Enter")
    page.wait_for_url(re.compile("/es/"))
    page.click("article:target a[href*=concordance]")
    page.wait_for_selector("#lines li")
    assert "<img src=x onerror=alert(1)>" in page.locator("#lines").inner_text()
    assert page.locator("#lines img, #lines script, #lines b").count() == 0
    assert page.title() == "Concordance \u00b7 Tale"


def test_words_after_characters_beyond_the_basic_plane_are_highlighted(page, site):
    visit(page, site, "index.html")
    results(page, "rain")
    page.press("#query", "Enter")
    page.wait_for_url(re.compile("/en/"))
    page.click("article:target a[href*=concordance]")
    page.wait_for_selector("#lines li")
    marks = page.locator("#lines mark").all_inner_texts()
    assert {"rain", "lluvia"} <= set(marks)
    assert not [mark for mark in marks if mark.strip() != mark]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_accessible_and_fit_a_phone(browser, site, path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for size, scheme in ((DESK, "light"), (PHONE, "dark")):
        context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        visit(page, site, path)
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        context.close()


def test_a_printed_page_has_no_search_and_no_navigation(page, site):
    visit(page, site, "es/book.html")
    page.emulate_media(media="print")
    assert not page.locator("#query").is_visible()
    assert not page.locator("nav").first.is_visible()
    assert page.locator(".book p").first.is_visible()


def test_pages_are_whole_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    visit(page, site, "en/1.html")
    assert not page.locator("#query").is_visible()
    assert page.locator("article").count() > 10
    context.close()
