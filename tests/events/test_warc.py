"""Articles from web archives."""

import gzip

import pytest

from isogloss.events.ingest import ArticleReader
from isogloss.events.ingest._warc import PageParser, WebPage, _depth
from isogloss.exceptions import ArticleError
from tests.waiting import LIMIT_S, cpu_at_most

pytest.importorskip("fastwarc", reason="the extra isogloss[warc] is not installed")
pytest.importorskip("resiliparse", reason="the extra isogloss[warc] is not installed")

PAGE = """<!DOCTYPE html><html lang="de-DE"><head><title>Sturm an der Küste - Der Bote</title>
<meta property="og:title" content="Sturm an der Küste">
<meta property="article:published_time" content="2021-07-01T08:00:00+02:00"></head>
<body><nav><a href="/">Start</a> <a href="/sport">Sport</a></nav>
<article><h1>Sturm an der Küste</h1><p>Der Sturm hat in der Nacht zwei Dächer abgedeckt, und die Feuerwehr war
bis zum Morgen im Einsatz.</p><p>Verletzt wurde niemand.</p><script>alert(1)</script></article>
<footer>Impressum</footer></body></html>"""


def response(content, *, status="200 OK", kind="text/html; charset=utf-8", number=1, encoding=""):
    body = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{encoding}Content-Length: {len(content)}\r\n\r\n"
    payload = body.encode() + content
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012d}>\r\n"
        f"WARC-Target-URI: https://bote.example/{number}\r\nWARC-Date: 2021-07-02T00:00:00Z\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload + b"\r\n\r\n"


def test_pages_become_articles(tmp_path):
    records = [
        response(PAGE.encode()),
        response(b"nothing here", status="404 Not Found", number=2),
        response(b"\x89PNG", kind="image/png", number=3),
        response(b"<html><body></body></html>", number=4),
    ]
    (tmp_path / "crawl.warc.gz").write_bytes(b"".join(map(gzip.compress, records)))
    reader = ArticleReader(tmp_path)
    (article,) = reader
    assert (article.lang, article.title, article.source) == ("de", "Sturm an der Küste", "bote.example")
    assert article.time.isoformat() == "2021-07-01T06:00:00+00:00"
    assert article.url == "https://bote.example/1"
    assert "Feuerwehr" in article.body
    assert not any(word in article.body for word in ("Impressum", "Sport", "alert"))
    assert reader.quarantine.reasons == {"without text": 1}


def test_a_page_without_a_time_has_that_of_its_fetching(tmp_path):
    page = "<html><title>Storm</title><body><p>The storm took two roofs at night.</p></body></html>"
    (tmp_path / "crawl.warc").write_bytes(response(page.encode()))
    (article,) = ArticleReader(tmp_path)
    assert article.time.isoformat() == "2021-07-02T00:00:00+00:00"


def test_a_packed_page_that_is_too_long_is_not_read(tmp_path):
    bomb = gzip.compress(b"<html><body>" + b"a " * 5_000_000)
    (tmp_path / "crawl.warc").write_bytes(
        response(bomb, encoding="Content-Encoding: gzip\r\n") + response(PAGE.encode(), number=2)
    )
    reader = ArticleReader(tmp_path, max_bytes=1_000_000)
    assert [article.url for article in reader] == ["https://bote.example/2"]


def test_a_damaged_archive_gives_what_is_sound(tmp_path):
    whole = gzip.compress(response(PAGE.encode())) + gzip.compress(response(PAGE.encode(), number=2))
    (tmp_path / "a.warc.gz").write_bytes(whole[:-40])
    (tmp_path / "b.warc").write_bytes(b"this is no archive\n" * 100)
    (tmp_path / "c.warc").write_bytes(response(PAGE.encode(), number=3))
    urls = [article.url for article in ArticleReader(tmp_path)]
    assert urls[0] == "https://bote.example/1"
    assert urls[-1] == "https://bote.example/3"


@pytest.mark.parametrize("tag", [b"<div>", b"<b>", b"<table>", b"<a><font>"])
def test_pages_nested_too_deep_are_refused(tmp_path, tag):
    """Parsing these takes minutes."""
    page = b"<html><body>" + tag * 100_000 + b"storm"
    (tmp_path / "crawl.warc").write_bytes(response(page) + response(PAGE.encode(), number=2))
    reader = ArticleReader(tmp_path)
    with cpu_at_most(10):
        assert [article.url for article in reader] == ["https://bote.example/2"]
    assert reader.quarantine.reasons == {"nested too deep": 1}


def test_lists_without_end_tags_are_not_deep(tmp_path):
    page = "<html><title>Storm</title><body><ul>" + "<li><p>The storm took a roof in the night.<br>" * 3000
    (tmp_path / "crawl.warc").write_bytes(response(page.encode()))
    assert len(list(ArticleReader(tmp_path))) == 1


def test_depth_is_that_of_the_deepest_place():
    assert _depth(b"<div>" * 1000) == 1000
    assert _depth(b"<div><b>x</b></div>" * 1000) == 2
    assert _depth(b"</div>" * 1000 + b"<div>") == 1
    assert _depth(b"<br><p><li><DIV>") == 1


@pytest.mark.parametrize(
    "page",
    [b"<div></a>" * 20_000, b"<a " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">"],
    ids=["end tags that close nothing", "attributes"],
)
def test_pages_that_take_minutes_to_parse_cost_their_deadline(page):
    """The parser takes time that grows with the square of both."""
    good = b"<html><title>Storm</title><body><p>The storm took two roofs at night.</p></body></html>"
    with PageParser() as parse, cpu_at_most(4):
        parse._parse.seconds = 0.2
        with pytest.raises(ArticleError, match=r"was not parsed within 0\.2 seconds|elements nested more"):
            parse(WebPage("1", "https://bote.example/1", "", "utf-8", page))
        parse._parse.seconds = LIMIT_S
        assert parse(WebPage("2", "https://bote.example/2", "", "utf-8", good))["title"] == "Storm"
