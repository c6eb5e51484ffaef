"""The page of aligned text in a real browser: slider, corrections, download; nothing is loaded."""

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; pip install playwright")

from isogloss.alignment import Aligner, read_corrections, write_viewer
from isogloss.corpora import LinePairs, WordPairs
from tests.browser.visit import chromium

ENGLISH = ["The house.", "The blue house.", "A <b>flower</b>.", "A house."] * 6
FRENCH = ["La maison.", "La maison bleue.", "Une fleur.", "Une maison."] * 6


@pytest.fixture
def page(tmp_path):
    for name, lines in (("en", ENGLISH), ("fr", FRENCH)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    text = WordPairs(LinePairs(tmp_path / "en", tmp_path / "fr"))
    aligner = Aligner(spelling=0).fit(text)
    links = aligner.set_params(threshold=0.05).align(text)
    write_viewer(text.with_offsets(), links, tmp_path / "page.html")
    with chromium() as browser:
        context = browser.new_context(accept_downloads=True)
        found = context.new_page()
        found.wrong = []
        found.on("pageerror", lambda error: found.wrong.append(str(error)))
        found.on("console", lambda line: line.type == "error" and found.wrong.append(line.text))
        found.on("request", lambda one: one.url.startswith("http") and found.wrong.append(one.url))
        found.goto((tmp_path / "page.html").as_uri())
        yield found
        assert found.wrong == []


def cell(page, pair, i, j):
    return page.locator(f"section[data-pair='{pair}'] tbody tr:nth-child({i + 1}) button").nth(j)


def test_links_are_corrected_and_saved(page, tmp_path):
    assert page.locator("section").count() == 10
    assert cell(page, 1, 0, 0).get_attribute("aria-pressed") == "true"
    cell(page, 1, 0, 0).click()
    assert cell(page, 1, 0, 0).inner_text() == "\u00d7"
    cell(page, 1, 0, 1).click()
    cell(page, 1, 1, 1).click(modifiers=["Shift"])
    cell(page, 2, 0, 0).click()
    cell(page, 2, 0, 0).click()
    assert page.locator("#count").inner_text() == "3 corrected"
    with page.expect_download() as saved:
        page.locator("#save").click()
    saved.value.save_as(tmp_path / "c.jsonl")
    (one,) = read_corrections(tmp_path / "c.jsonl").pairs
    assert (one.pair, one.source, one.target) == (1, ("The", "house"), ("La", "maison"))
    assert (set(one.add), set(one.remove)) == ({(0, 1), (1, 1)}, {(0, 0)})


def test_the_slider_moves_the_threshold_and_pages_turn(page):
    linked = page.locator("button[aria-pressed='true']")
    before = linked.count()
    page.locator("#threshold").fill("0.95")
    assert page.locator("#value").inner_text() == "0.95"
    few = linked.count()
    assert few < before
    page.locator("#threshold").fill("0.05")
    assert linked.count() > few
    page.locator("#next").click()
    assert "page 2 of 3, 24 pairs" in page.locator("#place").inner_text()
    assert page.locator("section").first.get_attribute("data-pair") == "11"
    page.locator("#find").fill("flower")
    assert "6 pairs" in page.locator("#place").inner_text()
    assert page.locator("section p").first.inner_text() == ENGLISH[2]
