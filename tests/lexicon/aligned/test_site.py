"""Pages of a dictionary: well-formed, linked with each other, and without markup from the text."""

import json
import re
from html.parser import HTMLParser

import html5lib
import pytest

from isogloss.lexicon.aligned import build_dictionary
from isogloss.lexicon.site import Description, Download, SiteLanguage, direction_of, write_site
from isogloss.lexicon.site._site import SitePart, highlighted
from tests.lexicon.aligned.text import aligned, tale

HOSTILE = ("<script>alert(1)</script> dog", "<img src=x onerror=alert(2)> perro", "0-0 1-4 4-6")
ENGLISH, SPANISH = SiteLanguage("en", "English"), SiteLanguage("es", "Spanish <b>")


class Links(HTMLParser):
    """Addresses, anchors and elements of a page."""

    def __init__(self, page):
        super().__init__()
        self.hrefs, self.ids, self.tags = [], set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.add(tag)
        self.hrefs += [values[name] for name in ("href", "src") if name in values]
        self.ids |= {values["id"]} if "id" in values else set()
        assert not [name for name in values if name.startswith("on")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    dictionary = build_dictionary(aligned(tale() + [HOSTILE] * 3))
    description = Description(
        "<i>Tale</i>", ENGLISH, SPANISH, "2026-01-31", (("File", "<u>"),), ("Few <s>.",)
    )
    (folder / "files").mkdir()
    (folder / "files" / "table.tsv").touch()
    write_site(dictionary, description, folder, downloads=[Download("table", "files/table.tsv", "all")])
    return folder


def data(path):
    """The value that a script hands to the pages."""
    found = re.fullmatch(r'isogloss\.add\("([^"]+)",(.*)\)\n', path.read_text("ascii"), re.DOTALL)
    assert found[1] == path.stem
    return json.loads(found[2])


def test_every_link_leads_somewhere(site):
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 8
    for path, page in pages.items():
        for href in page.hrefs:
            name, _, anchor = href.partition("#")
            goal = (path.parent / name).resolve() if name else path
            assert goal.is_file(), href
            if anchor and goal.suffix == ".html" and goal.name != "concordance.html":
                assert anchor in pages[goal].ids, href


def test_pages_are_html_without_markup_of_the_text(site):
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        html5lib.HTMLParser(strict=True).parse(text)
        assert not {"i", "u", "s", "img"} & Links(text.replace("<i lang", "<x lang")).tags
        assert text.count("<script") == 1
        assert "default-src 'none'" in text


def test_pages_load_nothing_from_elsewhere(site):
    for path in site.rglob("*.*"):
        if path.suffix in (".html", ".css", ".js"):
            assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", path.read_text("utf-8"))


def test_the_index_finds_every_headword_and_form_on_its_page(site):
    index = data(site / "data" / "en-index.js")
    assert (index["code"], index["direction"]) == ("en", "ltr")
    assert {"dog", "dogs", "Anna"} <= {row[0] for row in index["rows"]}
    for _, page, entry, *_ in index["rows"]:
        assert f'id="w{entry}"' in (site / "en" / f"{page}.html").read_text("utf-8")


def test_lines_of_a_concordance_have_the_word_and_what_it_is_linked_with(site):
    lines = data(site / "data" / "es-lines-1.js")
    texts = data(site / "data" / "text-0.js")
    found = next(entry for entry in lines["entries"].values() if entry["word"] == "perro")
    assert found["total"] == len(found["rows"]) == 27
    for sentence, start, end, *linked in found["rows"]:
        english, spanish = texts[sentence]
        assert spanish[start:end] in ("perro", "perros")
        assert english[linked[0] : linked[1]] in ("dog", "dogs")


def test_right_to_left_text_is_marked(tmp_path):
    rows = [("the house is old", "הבית הוא ישן", "1-0 2-1 3-2")] * 4
    languages = ENGLISH, SiteLanguage("he", "Hebrew", direction_of(["הבית"]))
    write_site(build_dictionary(aligned(rows)), Description("Words", *languages, "2026-01-31"), tmp_path)
    page = (tmp_path / "he" / "1.html").read_text("utf-8")
    assert '<h2 lang="he" dir="rtl">הבית</h2>' in page
    assert '<p lang="en" dir="ltr">the <mark>house</mark> is old</p>' in page


def test_a_dictionary_of_two_varieties_has_two_folders(tmp_path):
    rows = [("the colour", "the color", "0-0 1-1")] * 3
    languages = SiteLanguage("en", "British"), SiteLanguage("en", "American")
    write_site(build_dictionary(aligned(rows)), Description("Words", *languages, "2026-01-31"), tmp_path)
    assert "colour" in (tmp_path / "en" / "1.html").read_text("utf-8")
    assert '<h2 lang="en" dir="ltr">color</h2>' in (tmp_path / "en-2" / "1.html").read_text("utf-8")


def test_words_are_in_alphabetical_order_without_accents():
    rows = [("zebra čas car éclair Dog", "x y z v w", "0-0 1-1 2-2 3-3 4-4")] * 3
    entries = build_dictionary(aligned(rows)).source
    part = SitePart.of(ENGLISH, "en", entries)
    assert [entries[k].headword for k in part.order] == ["car", "čas", "Dog", "éclair", "zebra"]


def test_an_empty_dictionary_has_pages(tmp_path):
    write_site(
        build_dictionary(aligned([])), Description("Nothing", ENGLISH, SPANISH, "2026-01-31"), tmp_path
    )
    assert "0 headwords" in (tmp_path / "index.html").read_text("utf-8")


def test_highlighting_keeps_the_text():
    parts = highlighted("the old house", [(0, 3), (8, 13)])
    assert "".join(text for _, text in parts) == "the old house"
    assert [text for marked, text in parts if marked] == ["the", "house"]
