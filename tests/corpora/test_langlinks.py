"""Which articles are about the same thing."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.corpora import Concepts, LanguageLinks, PageIndex, WikipediaDump, read_langlinks
from isogloss.corpora.readers import normal_title
from isogloss.corpora.readers._sqldump import read_table
from isogloss.exceptions import CorpusError

LANGLINKS = r"""-- MySQL dump 10.19
/*!40101 SET NAMES utf8 */;
DROP TABLE IF EXISTS `langlinks`;
CREATE TABLE `langlinks` (
  `ll_from` int(8) unsigned NOT NULL DEFAULT 0,
  `ll_lang` varbinary(35) NOT NULL DEFAULT '',
  `ll_title` varbinary(255) NOT NULL DEFAULT '',
  PRIMARY KEY (`ll_from`,`ll_lang`),
  KEY `ll_lang` (`ll_lang`,`ll_title`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
INSERT INTO `langlinks` VALUES (1,'de','Haus'),(2,'de','L\'Isle (Jura), et\\al'),(3,'fr','It''s');
INSERT INTO `langlinks` VALUES (4,'ja','家'),(5,'de',''),(6,'de',NULL);
-- Dump completed
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that files have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pages(*titles, **redirects):
    return PageIndex(dict(enumerate(titles)), redirects)


def test_rows_of_a_dump(folder):
    (folder / "l.sql.gz").write_bytes(gzip.compress(LANGLINKS.encode()))
    assert list(read_langlinks("l.sql.gz")) == [
        (1, "de", "Haus"),
        (2, "de", "L'Isle (Jura), et\\al"),
        (3, "fr", "It's"),
        (4, "ja", "家"),
        (5, "de", ""),
        (6, "de", ""),
    ]


@pytest.mark.parametrize("end", ["VALU", "VALUES (4,'j", "'家')", "'家'),", "(6,'de',NULL)"])
def test_a_dump_that_is_cut_short(folder, end):
    (folder / "l.sql").write_text(LANGLINKS[: LANGLINKS.rindex(end) + len(end)])
    with pytest.raises(CorpusError, match=r"^l\.sql:12: the statement is cut short"):
        list(read_langlinks("l.sql"))


def test_what_is_no_dump_of_the_table(folder):
    (folder / "l.sql").write_text("SELECT 1;\n")
    with pytest.raises(CorpusError, match="has no table 'langlinks'"):
        list(read_langlinks("l.sql"))
    (folder / "l.sql").write_text(LANGLINKS.replace("`ll_title` var", "`title` var"))
    with pytest.raises(CorpusError, match="no column ll_title; it has ll_from, ll_lang, title"):
        list(read_langlinks("l.sql"))
    (folder / "l.sql").write_text(LANGLINKS[LANGLINKS.index("INSERT") :])
    with pytest.raises(CorpusError, match="it has none: expected a dump with the statement"):
        list(read_langlinks("l.sql"))


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_any_text_comes_through_the_escapes(tmp_path_factory, texts):
    escapes = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\x1a": "\\Z"})
    rows = ",".join(f"({k},'{text.translate(escapes)}')" for k, text in enumerate(texts))
    path = tmp_path_factory.mktemp("sql") / "t.sql"
    path.write_text(
        f"CREATE TABLE `t` (\n  `a` int,\n  `b` text\n);\nINSERT INTO `t` VALUES {rows};\n", newline=""
    )
    assert [row[0] for row in read_table(path, "t", ["b"])] == texts


def test_titles_are_brought_to_one_form():
    assert normal_title("élan_vital") == "Élan vital"
    assert normal_title("") == ""


def test_an_index_from_tables_and_from_the_dump_is_the_same(folder):
    (folder / "page.sql").write_text(
        "CREATE TABLE `page` (\n  `page_id` int,\n  `page_namespace` int,\n  `page_title` text\n);\n"
        "INSERT INTO `page` VALUES (1,0,'Lake_Bled'),(2,0,'Veldes'),(3,1,'Lake_Bled'),(4,0,'See');\n"
    )
    (folder / "redirect.sql").write_text(
        "CREATE TABLE `redirect` (\n  `rd_from` int,\n  `rd_namespace` int,\n  `rd_title` text\n);\n"
        "INSERT INTO `redirect` VALUES (2,0,'Lake_Bled'),(4,4,'Help'),(9,0,'Gone');\n"
    )
    entry = "<page><title>{}</title><ns>{}</ns><id>{}</id>{}</page>"
    redirect = '<redirect title="Lake Bled"/>'
    body = [("Lake Bled", 0, 1, ""), ("Veldes", 0, 2, redirect), ("Talk:X", 1, 3, ""), ("See", 0, 4, "")]
    (folder / "d.xml").write_text(f"<mediawiki>{''.join(entry.format(*row) for row in body)}</mediawiki>")
    tables = PageIndex.from_sql("page.sql", "redirect.sql")
    assert tables == PageIndex.from_dump(WikipediaDump("d.xml"))
    assert tables.titles == {1: "Lake Bled", 2: "Veldes", 4: "See"}
    assert tables.article("veldes#History") == "Lake Bled"
    assert PageIndex.from_sql("page.sql").article("Veldes") == "Veldes"


def test_redirects_are_followed_but_not_in_circles():
    index = pages("A", "B", "C", B="A", X="Y", Y="X", Z="Nowhere")
    assert index.article("b") == "A"
    assert index.article("X") is None
    assert index.article("Z") is None
    assert index.article("Unknown") is None


def graph(links, **languages):
    """Rows from links as (language, title, language, title)."""
    out = LanguageLinks(languages)
    for source, title, target, there in links:
        number = next(k for k, known in languages[source].titles.items() if known == title)
        out.add(source, [(number, target, there)])
    return out


@pytest.mark.parametrize("link", [("en", "House", "de", "Haus"), ("de", "Haus", "en", "House")])
def test_a_link_one_way_is_enough(link):
    concepts = graph([link], en=pages("House"), de=pages("Haus")).concepts()
    assert concepts.rows == {("en", "House"): "en:House", ("de", "Haus"): "en:House"}


def test_links_to_redirects_are_links_to_their_targets():
    links = [("en", "House", "de", "Heim")]
    concepts = graph(links, en=pages("House"), de=pages("Haus", "Heim", Heim="Haus")).concepts()
    assert concepts("de", "Haus") == "en:House"
    assert concepts("de", "Heim") is None


def test_of_several_links_the_first_is_kept_and_own_links_come_first():
    links = [("de", "Villa", "en", "House"), ("de", "Haus", "en", "House"), ("en", "House", "de", "Haus")]
    made = graph(links, en=pages("House"), de=pages("Haus", "Villa"))
    assert made.concepts().rows == {("en", "House"): "en:House", ("de", "Haus"): "en:House"}
    without_own = graph(links[:2], en=pages("House"), de=pages("Haus", "Villa"))
    assert without_own.concepts().rows == {("en", "House"): "en:House", ("de", "Villa"): "en:House"}


def test_languages_are_joined_through_others_but_never_two_articles_of_one():
    links = [
        ("en", "House", "de", "Haus"),
        ("de", "Haus", "sl", "Hiša"),
        ("sl", "Hiša", "en", "Home"),
        ("en", "Cat", "fr", "Chat"),
    ]
    languages = {"en": pages("House", "Home", "Cat"), "de": pages("Haus"), "sl": pages("Hiša")}
    made = graph(links, **languages)
    rows = made.concepts().rows
    assert rows == {("en", "House"): "en:House", ("de", "Haus"): "en:House", ("sl", "Hiša"): "en:House"} | (
        {("en", "Home"): "en:Home"}
    )
    assert made.report["links"] == 3
    assert made.report["two of one language"] > 0


ARTICLES = st.tuples(st.sampled_from(["en", "de", "sl", "fr"]), st.sampled_from("ABCD"))


@given(st.lists(st.tuples(ARTICLES, ARTICLES)))
def test_no_row_has_two_articles_of_one_language(links):
    languages = {code: pages(*"ABCD") for code in ("en", "de", "sl", "fr")}
    rows = graph([(*one, *other) for one, other in links], **languages).concepts().rows
    seen = [(name, language) for (language, _), name in rows.items()]
    assert len(set(seen)) == len(seen)
    for (language, title), name in rows.items():
        first, _, there = name.partition(":")
        assert rows[first, there] == name
        assert list(languages).index(first) <= list(languages).index(language), title


def test_links_that_lead_nowhere_are_counted():
    made = LanguageLinks({"en": pages("House"), "de": pages("Haus")})
    made.add("en", [(0, "de", "Unknown"), (9, "de", "Haus"), (0, "fr", "Maison"), (0, "en", "House")])
    assert made.concepts().rows == {}
    assert made.report == {"links": 2, "to or from no article": 2, "not first": 0}
    with pytest.raises(ValueError, match="no pages of 'fr'; there are those of en, de"):
        made.add("fr", [])


ITEMS = [
    {"id": "Q1", "sitelinks": {"enwiki": {"title": "House"}, "zh_min_nanwiki": {"title": "Chhù"}}},
    {"id": "Q2", "sitelinks": {"enwiki": {"title": "Cat"}, "dewiki": {"title": "Katze"}}},
    {"id": "Q3", "sitelinks": {}},
    {"id": "P4"},
    {"id": "Q5", "sitelinks": []},
]


def test_sitelinks_from_json_and_from_the_table(folder):
    (folder / "w.json").write_text("[\n" + ",\n".join(json.dumps(item) for item in ITEMS) + "\n]\n")
    rows = ",".join(
        f"({k},{item['id'][1:]},'{site}','{link['title']}')"
        for k, item in enumerate(ITEMS[:2])
        for site, link in item["sitelinks"].items()
    )
    columns = ["ips_row_id", "ips_item_id", "ips_site_id", "ips_site_page"]
    made = ",\n".join(f"  `{column}` varbinary(9)" for column in columns)
    (folder / "w.sql").write_text(
        f"CREATE TABLE `wb_items_per_site` (\n{made}\n);\nINSERT INTO `wb_items_per_site` VALUES {rows};\n"
    )
    for name in ("w.json", "w.sql"):
        concepts = Concepts.from_sitelinks(name, ["en", "zh-min-nan"])
        assert concepts.rows == {("en", "House"): "Q1", ("zh-min-nan", "Chhù"): "Q1"}
        assert len(Concepts.from_sitelinks(name, ["en", "de", "fr"]).rows) == 2


@pytest.mark.parametrize("line", ["{", '{"sitelinks": {}}', "7", '{"id": "Q1", "sitelinks": {"enwiki": {}}}'])
def test_bad_items_are_named(folder, line):
    (folder / "w.json").write_text(f"[\n{line}\n]\n")
    with pytest.raises(CorpusError, match=r"^w\.json:2: is not an item of Wikidata"):
        Concepts.from_sitelinks("w.json", ["en", "de"])


def test_different_rows_have_different_fingerprints():
    one = Concepts({("en", "A"): "x", ("de", "B"): "x"})
    assert one.fingerprint() == Concepts({("de", "B"): "x", ("en", "A"): "x"}).fingerprint()
    assert one.fingerprint() != Concepts({("en", "A"): "x", ("de", "B"): "y"}).fingerprint()
