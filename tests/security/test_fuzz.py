"""RELIABILITY 28: generated hostile inputs, and the ones that were over their budget once.

The long run is ``python -m tests.security.fuzz --inputs 100000 --seed 1``.
"""

import io
import json
import random
import zipfile

import pytest

from isogloss.events import parse_article
from isogloss.exceptions import ArticleError
from isogloss.store import Store
from tests.security.fuzz.budget import MAX_GROWTH, Cost, checked, cost_of
from tests.security.fuzz.targets import GOOD, TARGETS, Api, Lines, Target

INPUTS = {"api": 12, "output": 6, "page": 8, "pipeline": 8, "query": 10, "request": 12, "watch": 4}
"""Inputs of targets that take longer than others."""
NEEDS = {
    "api": "fastapi",
    "feed": "feedparser",
    "markup": "mwparserfromhell",
    "model": "fastapi",
    "output": "fastapi",
    "page": "trafilatura",
    "query": "fastapi",
    "request": "fastapi",
    "robots": "protego",
    "table": "fastapi",
    "text": "py3langid",
    "warc": "fastwarc",
    "watch": "feedparser",
}


@pytest.fixture(params=sorted(TARGETS))
def target(request):
    if request.param in NEEDS:
        pytest.importorskip(NEEDS[request.param])
    made = TARGETS[request.param]()
    yield made
    made.close()


def test_generated_inputs_stay_within_their_budget(target):
    for index in range(INPUTS.get(target.name, 20)):
        given = target.generate(random.Random(f"{target.name}:suite:{index}"))
        cost = checked(target, given)
        assert not cost.kind, f"{cost}: {given!r:.500}"


def test_inputs_depend_on_the_seed_alone(target):
    one, other, third = (target.generate(random.Random(seed)) for seed in ("a", "a", "b"))
    assert repr(one) == repr(other) != repr(third)


class Wasteful(Target):
    """Does what an input says."""

    name = "wasteful"
    allowed = (KeyError,)

    def run(self, given):
        if given == "raise":
            raise ValueError("oops")
        if given == "refuse":
            raise KeyError
        if given == "grow":
            bytearray(b"x") * (2 * MAX_GROWTH)


@pytest.mark.parametrize(
    ("given", "kind"), [("raise", "exception"), ("refuse", ""), ("grow", "memory"), ("", "")]
)
def test_what_is_over_the_budget_is_found(given, kind):
    assert cost_of(Wasteful(), given).kind == kind
    assert Cost(1.1, 0).kind == "time"


def archive_of(array):
    """An archive of views with the bytes of one array."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("blood.npy", array)
    return file.getvalue()


LANGLINKS = b"CREATE TABLE `langlinks` (\n `ll_from` int,\n `ll_lang` int,\n `ll_title` int\n);\n"
LYING = archive_of(
    b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 100000), }".ljust(117)
    + b"\n"
)
LATER = b"PK\x01\x02\x14\x03\xff".join(archive_of(b"").split(b"PK\x01\x02\x14\x03\x14"))
FINDS = {
    "a weekday in the first week of the calendar": ("text", ("en", "She came on Saturday. 5 Yesterday.")),
    "a day after the last of the calendar": ("text", ("ru", "завтра, послезавтра")),
    "an id of thousands of digits": ("pipeline", {"title": "a", "time": 1, "id": 10**5000}),
    "a time of thousands of digits": ("pipeline", {"title": "a", "time": 10**5000}),
    "a title of a thousand lists": ("pipeline", {"title": json.loads("[" * 900 + "]" * 900), "time": 1}),
    "a character reference of thousands of digits": (
        "pipeline",
        {"title": f"&#{'9' * 5000};", "time": "2024-03-05", "lang": "en"},
    ),
    "a sitemap in an encoding that nobody knows": (
        "feed",
        b"<?xml version='1.0' encoding='ut99999-01-01f-8'?><urlset></urlset>",
    ),
    "an entry of a year before the calendar": (
        "feed",
        b"<rss version='2.0'><channel><item><pubDate>0000-03-03T09:00:00Z</pubDate></item></channel></rss>",
    ),
    "a row of twenty megabytes": (
        "corpus",
        ("sql", LANGLINKS + b"INSERT INTO `langlinks` VALUES (7,'de','" + b"{{a|" * (5 << 20) + b"');\n"),
    ),
    "a value of a million quotes": (
        "corpus",
        ("sql", LANGLINKS + b"INSERT INTO `langlinks` VALUES ('" + b"''" * (1 << 20) + b"','de','Bled');\n"),
    ),
    "a table of a million lines": (
        "corpus",
        ("sql", LANGLINKS.replace(b"int,", b"int" + b"\n:" * (1 << 20), 1)),
    ),
    "a segment of a million elements inside each other": (
        "corpus",
        ("tmx", b"<tmx><body><tu><tuv xml:lang='en'><seg>" + b"<b>" * (1 << 20)),
    ),
    "a row with values for half of the columns": (
        "corpus",
        ("sql", LANGLINKS + b"INSERT INTO `langlinks` VALUES (7,'de');\n"),
    ),
    "a page with a superscript for a number": (
        "corpus",
        ("dump", b"<mediawiki><page><title>A</title><ns>0</ns><id>\xc2\xb2</id></page></mediawiki>"),
    ),
    "a page whose number has thousands of digits": (
        "corpus",
        (
            "dump",
            b"<mediawiki><page><title>A</title><ns>0</ns><id>" + b"9" * 5000 + b"</id></page></mediawiki>",
        ),
    ),
    "a table of links without numbers": (
        "corpus",
        ("sql", LANGLINKS + b"INSERT INTO `langlinks` VALUES (x,'de','Bled');\n"),
    ),
    "a column that is not UTF-8": ("corpus", ("sql", b"CREATE TABLE `langlinks` (\n `\xff` int,\n);\n")),
    "an item of sixteen megabytes": (
        "corpus",
        (
            "items",
            b'[\n{"id":"Q1","sitelinks":{"enwiki":{"title":"' + b"a" * (1 << 24) + b'"}}},\n'
            b'{"id":"Q2","sitelinks":{"enwiki":{"title":"Bled"},"slwiki":{"title":"Bled"}}}\n]\n',
        ),
    ),
    "a damaged header of an array of a concept dictionary": (
        "wordnet",
        ("dictionary", (3, 0.5196399714002994), "earthquake"),
    ),
    "a line of a dictionary that ends before its split": (
        "lexicon",
        ("dictionary", b"src\ttgt\tsplit\ncat\tgatto\ttrain\ndog\tcane\n"),
    ),
    "an induced dictionary with a rank of hundreds of digits": (
        "lexicon",
        ("induced", b"source\ttarget\tscore\trank\tmargin\ncat\tgatto\t0.5\t" + b"9" * 400 + b"\t0\n"),
    ),
    "a labelled query of events that are lists": (
        "table",
        ("queries", b'{"q": "storm", "articles": ["7"], "events": [[]]}\n'),
    ),
    "labelled news of a hundred thousand lists": ("table", ("articles", b"[" * 100_000 + b"\n")),
    "a correction of a hundred thousand lists": ("links", ("corrections", b"[" * 100_000 + b"\n")),
    "a query of three thousand characters without blanks": (
        "query",
        ("".join(map(chr, range(0x4E00, 0x4E00 + 3_000))), "en"),
    ),
    "a list of feeds with millions of lines that are not URLs": ("feedlist", b"x\n" * 5_000_000),
    "a table of pairs with one line that does not end": (
        "bitext",
        ("tsv", b"source\ttarget\nThe house, the c"),
    ),
    "an archive of views that ends early": ("table", ("npz", b"PK\x03\x04")),
    "an array in place of an archive of views": (
        "table",
        (
            "npz",
            b"\x93NUMPY\x01\x00v\x00"
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }".ljust(117)
            + b"\n"
            + bytes(8),
        ),
    ),
    "a segment of a translation memory with a line break": (
        "bitext",
        (
            "tmx",
            b'<tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>the\nhouse, the cat</seg></tuv>'
            b'<tuv xml:lang="fr"><seg>la maison, le chat</seg></tuv></tu></body></tmx>',
        ),
    ),
    "an array of views larger than any memory": ("table", ("npz", LYING)),
    "vectors of more values than there are addresses": ("lexicon", ("vec", b"2 9223372036854775808\na 0\n")),
    "an archive of vectors of a later version of zip": ("lexicon", ("npz", LATER)),
    "a table of forty thousand columns": (
        "table",
        ("csv", ",".join(f"c{n}" for n in range(40_000)).encode() + b"\n" + b"1," * 39_999 + b"1\n"),
    ),
    "an item of a thousand lists": ("corpus", ("items", b"[\n" + b'{"a":' * 100_000 + b"\n")),
}
"""Inputs that were over their budget once, by name."""


@pytest.mark.parametrize("name", FINDS)
def test_what_was_found_stays_mended(name):
    kind, given = FINDS[name]
    if kind in NEEDS:
        pytest.importorskip(NEEDS[kind])
    target = TARGETS[kind]()
    cost = checked(target, given)
    target.close()
    assert not cost.kind, cost


BAD_RECORDS = [
    {"title": "x"},
    {"title": f"&#{'9' * 5000};", "time": "2024-03-05"},
    {"title": "x", "time": 1e308},
    {"title": "\ud800\0", "time": "\ud800"},
    {"title": ["\udfff"] * 40, "time": "2024-03-05"},
    {"title": "x", "time": "2024-03-05", "id": 10**400},
    [],
    "text",
    None,
]


def test_a_batch_with_bad_records_keeps_the_good_ones():
    pytest.importorskip("fastapi")
    target = Api()
    target.run(
        ("POST", "/api/v1/articles", json.dumps([GOOD, *BAD_RECORDS, GOOD | {"id": "last"}]).encode(), True)
    )
    target.close()


def test_a_file_with_bad_records_keeps_the_good_ones():
    lines = [GOOD, *BAD_RECORDS, GOOD | {"id": "last"}]
    target = Lines()
    target.run(("\n".join(map(json.dumps, lines)).encode(), True))
    target.close()


UNWRITABLE = {
    "digits": 10**5000,
    "depth": json.loads("[" * 900 + "]" * 900),
    "keys of two kinds": {1: "a", "b": 2},
    "surrogates": {"\ud800": float("nan")},
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_refused_records_never_fail_the_batch_that_they_came_with(tmp_path, name):
    with Store(tmp_path / "news.db") as store:
        store.add([parse_article(GOOD)], refused=[("not \0 an article", "is \ud800", UNWRITABLE[name])])
        assert store.counts()["article"] == 1
        assert len(store.quarantined(5)) == 1


def test_a_bug_in_reading_one_record_refuses_that_record(monkeypatch, caplog):
    monkeypatch.setattr("isogloss.events.article.resolve_language", lambda *_, **__: 1 // 0)
    with pytest.raises(ArticleError, match=r"cannot be read \(ZeroDivisionError\)"):
        parse_article(GOOD)
    assert "ZeroDivisionError" in caplog.text
