"""Articles from dumps of Wikipedia."""

import bz2
import sys

import pytest

from isogloss.corpora import WikipediaDump, build_corpus
from isogloss.corpora.readers import _markup as markup
from isogloss.corpora.readers._markup import WikiMarkup
from isogloss.corpora.readers._wikipedia import _PageParser
from isogloss.exceptions import CorpusError
from isogloss.io import ParserProcess
from tests.waiting import LIMIT_S

SITE = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>dewiki</dbname>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""

HOUSE = """{{Infobox|name=Haus {{small|alt}}}}
'''Haus''' ist ein ''Gebäude'' &amp;amp; [[Wohnung|Wohnort]] von
[[Mensch]]en.&lt;ref&gt;{{Lit|x}} siehe&lt;/ref&gt;
[[Datei:Haus.jpg|mini|Ein [[altes]] Haus]]
== Geschichte ==
{| class="wikitable"
! Jahr !! Zahl
|-
| 1910 || 46
|}
* Punkt &lt;math&gt;x^2&lt;/math&gt;&lt;!-- versteckt --&gt;
[[Kategorie:Bauwerk]] [[en:House]] __NOTOC__
"""


def page(title, text="text", *, number=1, namespace=0, more="", model="wikitext"):
    return f"""  <page>
    <title>{title}</title>
    <ns>{namespace}</ns>
    <id>{number}</id>
{more}    <revision>
      <id>{number + 1000}</id>
      <contributor><username>X</username><id>77</id></contributor>
      <model>{model}</model>
      <text bytes="9" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


PAGES = [
    page("Haus", HOUSE, number=5),
    page("Diskussion:Haus", number=6, namespace=1),
    page("Heim", "#WEITERLEITUNG [[Haus]]", number=7, more='    <redirect title="Haus" />\n'),
    page("Stil", ".a {}", number=8, model="css"),
    page("Leer", "", number=9),
    page("Katze", "Eine ''Katze''.", number=10),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that files have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def multistream(pages, *, end="</mediawiki>\n"):
    """A dump as Wikimedia packs it: a stream for the head, for some pages each, and for the end."""
    streams = [SITE, *("".join(pages[k : k + 2]) for k in range(0, len(pages), 2)), end]
    return b"".join(bz2.compress(stream.encode()) for stream in streams)


def test_articles_of_a_multistream_dump(folder):
    (folder / "d.xml.bz2").write_bytes(multistream(PAGES))
    dump = WikipediaDump("d.xml.bz2")
    house, cat = list(dump)
    assert (house.id, house.title, house.lang, house.place) == ("Haus", "Haus", "de", "d.xml.bz2:12")
    assert cat.text == "Eine Katze."
    words = "Haus ist ein Gebäude & Wohnort von Menschen. Geschichte Jahr Zahl 1910 46 Punkt"
    assert " ".join(house.text.split()) == words
    passed = {"in other namespaces": 1, "redirects": 1, "not wikitext": 1, "without text": 1}
    assert dump.report.passed == passed
    assert [document.id for document in dump] == ["Haus", "Katze"]


def test_other_namespaces_can_be_read(folder):
    (folder / "d.xml").write_text(SITE + "".join(PAGES) + "</mediawiki>")
    assert [document.id for document in WikipediaDump("d.xml", namespaces=[1], lang="gsw")] == [
        "Diskussion:Haus"
    ]
    assert next(iter(WikipediaDump("d.xml", lang="gsw"))).lang == "gsw"


def test_pages_keep_their_own_number_and_redirect(folder):
    (folder / "d.xml.bz2").write_bytes(multistream(PAGES))
    pages = list(WikipediaDump("d.xml.bz2").pages())
    assert [page.id for page in pages] == ["5", "6", "7", "8", "9", "10"]
    assert [page.redirect for page in pages] == [None, None, "Haus", None, None, None]


def cut_inside_a_stream():
    return multistream(PAGES)[:-60]


def cut_between_streams():
    return multistream(PAGES, end="")


def spoiled():
    whole = bytearray(multistream(PAGES))
    whole[-80:-60] = bytes(20)
    return bytes(whole)


@pytest.mark.parametrize("damaged", [cut_inside_a_stream, cut_between_streams, spoiled])
def test_a_dump_that_is_cut_short_is_refused_or_read_so_far(folder, damaged):
    (folder / "d.xml.bz2").write_bytes(damaged())
    with pytest.raises(CorpusError, match=r"^d\.xml\.bz2:\d+: .*cut short or damaged"):
        list(WikipediaDump("d.xml.bz2"))
    dump = WikipediaDump("d.xml.bz2", on_bad="skip")
    assert "Haus" in [document.id for document in dump]
    assert dump.report.problems == {"cut short": 1}


def test_pages_just_before_a_damaged_place_are_not_lost(folder):
    (folder / "d.xml").write_text(SITE + "".join(PAGES) + "<page><title>Hund</ti" + PAGES[0])
    dump = WikipediaDump("d.xml", on_bad="skip")
    assert [document.id for document in dump] == ["Haus", "Katze"]
    assert dump.report.problems == {"cut short": 1}


def test_what_is_no_dump(folder):
    for text, said in [
        ("Haus", "cut short or damaged"),
        (SITE + page("", "x") + "</mediawiki>", "the page has no title"),
        ('<!DOCTYPE m [<!ENTITY a "b">]><mediawiki></mediawiki>', "declares the entity 'a'"),
    ]:
        (folder / "d.xml").write_text(text)
        with pytest.raises(CorpusError, match=said):
            list(WikipediaDump("d.xml"))
    with pytest.raises(CorpusError, match="absent: there is no such file"):
        list(WikipediaDump("absent", on_bad="skip"))


def test_an_endless_page_is_not_read_into_memory(folder, monkeypatch):
    monkeypatch.setattr("isogloss.corpora.readers._wikipedia.MAX_ELEMENT_CHARS", 1000)
    monkeypatch.setattr("isogloss.corpora.readers._wikipedia.MAX_PAGE_CHARS", 100)
    (folder / "d.xml").write_text(SITE + page("Haus", "lang " * 500) + "</mediawiki>")
    with pytest.raises(CorpusError, match="longer than 1,000 letters"):
        list(WikipediaDump("d.xml", on_bad="skip"))


def test_a_page_that_is_too_long_is_left_out_by_name(folder, monkeypatch):
    monkeypatch.setattr("isogloss.corpora.readers._wikipedia.MAX_PAGE_CHARS", 1000)
    (folder / "d.xml").write_text(SITE + page("Haus", "lang " * 500) + page("Katze", "kurz") + "</mediawiki>")
    dump = WikipediaDump("d.xml", on_bad="skip")
    assert [document.id for document in dump] == ["Katze"]
    assert dump.report.problems == {"too long": 1}
    assert dump.report.examples == ["d.xml:12: the page 'Haus' has more than 1,000 letters"]
    with pytest.raises(CorpusError, match=r"d\.xml:12: the page 'Haus'"):
        list(WikipediaDump("d.xml"))


@pytest.mark.parametrize("piece", ["<a>", "<a ", "<!-- ", '<a b="', "<?a "])
def test_tags_that_never_end_or_close_are_refused_at_a_bounded_cost(folder, piece, monkeypatch):
    """Each unpacks to 8 MB from some kilobytes: only the first megabyte may be held."""
    parsed = []
    feed = _PageParser.feed

    def counted(self, chunk, *, final=False):
        parsed.append(len(chunk))
        feed(self, chunk, final=final)

    monkeypatch.setattr(_PageParser, "feed", counted)
    content = piece * (3 << 20) if piece == "<a>" else piece + "x" * (8 << 20)
    (folder / "d.xml.bz2").write_bytes(bz2.compress((SITE + content).encode()))
    with pytest.raises(CorpusError, match=r"more than 1,048,576 bytes|nested deeper than 100"):
        list(WikipediaDump("d.xml.bz2", on_bad="skip"))
    assert sum(parsed) < 4 << 20


HOSTILE = ["&lt;ref ", "{{a|", "&lt;b&gt;", "{|\n"]
"""Markup that takes time that grows with the square of its length."""


class SmallDeadline(ParserProcess):
    """Gives up soon on pages that would take hours, and never on others."""

    def __call__(self, hidden, text):
        self.seconds = 0.2 if len(text) > 100_000 else LIMIT_S
        return super().__call__(hidden, text)


@pytest.fixture
def small_deadline(monkeypatch):
    with SmallDeadline(markup._without_markup, seconds=LIMIT_S) as process:
        monkeypatch.setattr(markup, "_parser", lambda: process)
        yield


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.usefixtures("small_deadline")
def test_markup_that_takes_hours_costs_its_deadline(folder, piece):
    hostile = page("Falle", piece * (2_000_000 // len(piece)), number=11)
    (folder / "d.xml.bz2").write_bytes(multistream([hostile, *PAGES]))
    dump = WikipediaDump("d.xml.bz2", on_bad="skip")
    assert [document.id for document in dump] == ["Haus", "Katze"]
    assert (dump.report.documents, dump.report.problems) == (2, {"markup too slow": 1})
    (said,) = dump.report.examples
    assert said == "d.xml.bz2:12: 'Falle': the markup was not parsed within 0.2 seconds of CPU time"
    with pytest.raises(CorpusError, match="'Falle': the markup was not parsed"):
        list(WikipediaDump("d.xml.bz2"))


@pytest.mark.usefixtures("small_deadline")
def test_a_build_continues_after_a_hostile_page_and_names_it(folder):
    hostile = page("Falle", HOSTILE[0] * 300_000, number=11)
    (folder / "d.xml.bz2").write_bytes(multistream([hostile, *PAGES]))
    dump = WikipediaDump("d.xml.bz2", on_bad="skip")
    corpus = build_corpus({"de": dump}, "corpus", str.split, min_words=2)
    assert list(corpus.ids) == ["Haus", "Katze"]
    assert corpus.header["languages"]["de"]["left_out"]["markup too slow"] == 1
    assert "d.xml.bz2:12: 'Falle': the markup was not parsed" in str(dump.report)
    with pytest.raises(CorpusError, match="'Falle': the markup was not parsed"):
        build_corpus({"de": WikipediaDump("d.xml.bz2")}, "strict", str.split, min_words=2)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a [[b]]c [[d|e]] [http://x.y f] https://g.h", "a bc e f https://g.h"),
        ("a {{b|c}}{{#if:d|e}} f", "a  f"),
        ("a<ref>b</ref><ref name=c/> d", "a d"),
        ("a <gallery>\nFile:b.jpg|c\n</gallery> d", "a  d"),
        ("[[File:a.jpg|thumb|b]] [[Image:c.png]] [[category:d]] e", "e"),
        ("[[:Category:a]] [[de:B]] [[zh-min-nan:C]] [[Star Wars: D]]", ":Category:a   Star Wars: D"),
        ("[[de:B|in German]] a", "in German a"),
        ("__TOC__ a&nbsp;b &lt; c", "a\u00a0b < c"),
        ("a {{ b [[ c", "a {{ b [[ c"),
        ("<nowiki>[[a]]</nowiki>", "[[a]]"),
        ("", ""),
    ],
)
def test_markup(page, text):
    assert WikiMarkup()(page) == text


def test_names_of_namespaces_come_from_the_dump(folder):
    (folder / "d.xml").write_text(SITE + "</mediawiki>")
    prepare = WikipediaDump("d.xml").preparer()
    assert prepare("[[Datei:a.jpg|b]] c [[Kategorie:d]]") == "c"
    assert prepare("[[Fichier:a.jpg|b]] c") == "b c"


def test_without_the_parser_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mwparserfromhell", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'isogloss\[wikipedia\]'"):
        WikiMarkup()("a")


def test_markup_is_removed_by_the_processes_of_a_build(folder):
    (folder / "d.xml.bz2").write_bytes(multistream(PAGES))
    dump = WikipediaDump("d.xml.bz2")
    one = build_corpus({"de": dump}, "one", str.split, min_words=2)
    two = build_corpus({"de": dump}, "two", str.split, min_words=2, n_jobs=2)
    assert list(one.ids) == list(two.ids) == ["Haus", "Katze"]
    assert list(one.vocabulary("de")) == list(two.vocabulary("de"))
    assert "Katze." in one.vocabulary("de")
    assert one.header["languages"]["de"]["left_out"]["redirects"] == 1
