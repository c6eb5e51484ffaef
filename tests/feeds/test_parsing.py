"""RELIABILITY 26: hostile and broken XML; feeds, sitemaps and what is new in them."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.exceptions import FeedError
from isogloss.feeds import FeedReader, FeedState, FetchResponse, Watcher, parse_feed, parse_sitemap
from isogloss.feeds._parsing import scan_xml
from tests.waiting import LIMIT_S, cpu_at_most

from .conftest import http

RSS = """<?xml version="1.0" encoding="{encoding}"?>
<rss version="2.0"><channel><title>Вести</title><language>ru</language>
<item><guid isPermaLink="false">1</guid><title>Дождь &amp; снег</title><link>/1</link>
<description>&lt;p&gt;Идёт дождь.&lt;/p&gt;
</description><pubDate>Mon, 03 Mar 2031 08:00:00 +0300</pubDate></item>
<item><title>Ohne Zeit</title><link>https://a.example/2</link></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Blatt</title>
<entry><id>tag:7</id><title>Regen</title><updated>2031-03-03T09:00:00+01:00</updated>
<content type="html">&lt;p&gt;Es regnet seit gestern.&lt;/p&gt;</content><summary>Es regnet.</summary>
<link href="https://blatt.example/7"/></entry></feed>"""
BOMB = b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><rss><channel><title>&b;</title></channel></rss>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1251", "koi8-r"])
def test_rss_in_its_encodings(encoding):
    first, second = parse_feed(RSS.format(encoding=encoding).encode(encoding), "https://vesti.example/rss")
    assert first["title"] == "Дождь & снег"
    assert first["time"] == "2031-03-03T05:00:00+00:00"
    assert (first["source"], first["lang"], first["id"]) == ("Вести", "ru", "1")
    assert first["url"] == "https://vesti.example/1"
    assert "Идёт дождь." in first["body"]
    assert "time" not in second
    assert second["id"] == "https://a.example/2"


def test_atom_takes_the_longer_body():
    (entry,) = parse_feed(ATOM)
    assert "seit gestern" in entry["body"]
    assert entry["time"] == "2031-03-03T08:00:00+00:00"


def test_broken_xml_is_read_as_far_as_it_goes():
    (entry,) = parse_feed(b"<rss version='2.0'><channel><item><title>A & B</title><guid>1</guid>")
    assert entry["title"] == "A & B"


@pytest.mark.parametrize("body", [b"<html><body>page</body></html>", b"", b"\x00\x01\x02", b"{}"])
def test_no_feed(body):
    with pytest.raises(FeedError, match="not an RSS or Atom feed"):
        parse_feed(body)


@pytest.mark.parametrize(
    "body",
    [
        BOMB,
        BOMB.decode().encode("utf-16"),
        b"<rss>" + b"<a>" * 200_000,
        b"<rss>" + b"<a b='c'>" * 200_000 + b"</a>" * 200_000,
        BOMB.replace(b"ENTITY", b"entity"),
    ],
)
def test_hostile_xml_is_refused_at_once(body):
    for read in (parse_feed, parse_sitemap):
        with cpu_at_most(4), pytest.raises(FeedError, match=r"entity|deeper"):
            read(body)


HIDING = '<!DOCTYPE rss [<!ENTITY a "aa">]><rss version="2.0"><channel><title>&a;</title></channel></rss>'


@pytest.mark.parametrize(
    "body",
    [
        b"<?xml version='1.0' encoding='utf-7'?>" + HIDING.replace("<", "+ADw-").encode(),
        b"<?xml version='1.0' encoding='UTF7'?>" + HIDING.replace("<", "+ADw-").encode(),
        b"<?xml version='1.0' encoding='unicode_escape'?>" + HIDING.replace("<", r"\x3c").encode(),
        f"<?xml version='1.0' encoding='cp037'?>{HIDING}".encode("cp037"),
        b"<?xml version='1.0' encoding='cp037'?>" + HIDING.encode("cp037"),
        b"<?xml version='1.0' encoding='punycode'?>" + HIDING.encode(),
        f"<?xml version='1.0' encoding='utf-16'?>{HIDING}".encode("utf-16-le"),
        f"<?xml version='1.0' encoding='utf-32'?>{HIDING}".encode("utf-32"),
        b"<?xml version='1.0' encoding='nonsense-9'?>" + HIDING.encode(),
        b"\xef\xbb\xbf" + HIDING.encode(),
    ],
)
def test_no_encoding_hides_an_entity(body):
    for read in (parse_feed, parse_sitemap):
        with pytest.raises(FeedError, match=r"declares an entity|encoding is"):
            read(body)


@pytest.mark.parametrize(
    "body",
    [
        RSS.format(encoding="utf-8").encode("windows-1251"),
        RSS.format(encoding="windows-1251").encode(),
        RSS.format(encoding="us-ascii").encode(),
        RSS.format(encoding="nonsense-9").encode(),
        RSS.format(encoding="utf-16").encode(),
        RSS.format(encoding="utf-8").encode("utf-16"),
        RSS.format(encoding="utf-8").encode()[:-60] + b"\xff\xfe\xc0\x80",
        RSS.format(encoding="base64").encode(),
        RSS.format(encoding="idna").encode(),
    ],
)
def test_a_wrong_encoding_is_read_or_refused(body):
    try:
        records = parse_feed(body, "https://vesti.example/rss")
    except FeedError:
        return
    for record in records:
        assert all(isinstance(value, str) for value in record.values())
        assert "".join(record.values()).encode()


def test_an_outer_definition_is_not_fetched(serve):
    server = serve(http(b'<!ENTITY a "secret">'))
    start = f'<!DOCTYPE rss SYSTEM "{server.url}/x.dtd">'
    parse_feed(f'{start}<rss version="2.0"><channel><title>T</title></channel></rss>'.encode())
    assert server.asked == []


@pytest.mark.parametrize("number", ["xD800", "xdfff", "57343", "0", "x110000", "9" * 5000, "x0000000000D8FF"])
def test_letters_that_there_are_none_of_are_replaced(number):
    feed = f"<rss version='2.0'><channel><item><title>Caf&#xE9; &#{number};</title></item></channel></rss>"
    (record,) = parse_feed(feed.encode())
    assert record["title"] == "Caf\u00e9 \ufffd"


def test_content_that_is_elsewhere_is_none():
    item = b"<title>Rain</title><content src='http://a.example/'/>"
    (record,) = parse_feed(b"<rss version='2.0'><channel><item>" + item + b"</item></channel></rss>")
    assert record == {"title": "Rain"}


_PIECES = (
    b"<item>", b"</item>", b"<title>", b"</title>", b"<pubDate>", b"</pubDate>", b"0001-01-01", b"<dc:date>",
    b"99999-12-31", b"Mon, 00 Foo 0000 99:99:99 +9999", b"<link>http://[", b"</link>", b"xml:base='http://['",
    b"<georss:point>x</georss:point>", b"<content src='http://['/>",
    b"<content type='xhtml'>", b"<![CDATA[", b"]]>", b"&#xD800;", b"&#0;",
    b"<enclosure url='http://]' length='x'/>", b"\xff\xfe", b"\0", b"<img src='http://[::1'/>", b"&foo;",
)  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=4)), max_size=12).map(b"".join))
def test_any_feed_is_read_or_refused(inside):
    try:
        records = parse_feed(b"<rss version='2.0'><channel><item>" + inside + b"</item></channel></rss>")
    except FeedError:
        return
    for record in records:
        json.dumps(record, ensure_ascii=False).encode()


def test_depth_is_of_open_elements():
    scan_xml(b"<rss>" + b"<a></a><b/><!-- <c><d> --><![CDATA[<e>]]>" * 10_000 + b"</rss>")


@given(st.binary(max_size=300))
def test_scan_never_fails_otherwise(body):
    try:
        scan_xml(body)
    except FeedError:
        return


def hostile_bodies(size):
    """Bodies that open what they never close, of about a number of bytes."""
    pieces = (b"<!--", b"<![CDATA[", b"<a ", b"<a b='", b'<a b="', b"<", b"<! ", b"&#1", b"<!DOCTYPE", b"<?a")
    return {piece.decode(): piece * (size // len(piece)) for piece in pieces}


@pytest.mark.parametrize("piece", hostile_bodies(10))
def test_scanning_takes_time_in_proportion_to_the_feed(piece):
    """Noise only ever adds, so one quick scan is enough."""
    for _ in range(4):
        short, long = (scan_seconds(hostile_bodies(size)[piece]) for size in (1 << 18, 1 << 20))
        if long <= 8 * short or long < 0.05:
            return
    pytest.fail(f"four times the text took {long / short:.0f} times as long")


def scan_seconds(body):
    began = time.thread_time()
    scan_xml(body)
    return time.thread_time() - began


def test_nothing_of_a_feed_is_parsed_in_this_process(monkeypatch):
    """A hostile feed costs the watcher its deadline; the next feed is read."""

    def fail(*_):
        raise AssertionError("parsed in the process of the watcher")

    for name in ("scan_xml", "parse_feed", "parse_sitemap"):
        monkeypatch.setattr(f"isogloss.feeds._parsing.{name}", fail)
    pages = {
        "https://a.example/f": ATOM,
        "https://a.example/s": SITEMAP,
        "https://a.example/1": b"It rains.",
        "https://bomb.example/f": BOMB,
    }
    reader = FeedReader(deadline=LIMIT_S)
    states = [FeedState(url) for url in pages if not url.endswith("/1")]
    watch = Watcher(states, fetcher=Web(pages), reader=reader, pause=0)
    visits = {visit.url: visit for visit in watch.visit(0)}
    feed, sitemap, bomb = (visits[state.url] for state in states)
    assert [record["title"] for record in (*feed.records, *sitemap.records)] == ["Regen", "Rain"]
    assert bomb.error == "https://bomb.example/f: the XML declares an entity; feeds may not declare entities"
    watch.stop()


def test_a_feed_that_takes_too_long_stops_no_other():
    slow = b"<rss version='2.0'><channel>" + b"<item><title>a</title></item>" * 300_000
    pages = {"https://slow.example/f": slow, "https://a.example/f": ATOM}
    reader = FeedReader(deadline=0.05)
    watchers = [Watcher([FeedState(url)], fetcher=Web(pages), reader=reader, pages=None) for url in pages]
    (slow,) = watchers[0].visit(0)
    assert "was not parsed within 0.05 seconds" in slow.error
    reader._parse.seconds = LIMIT_S
    (other,) = watchers[1].visit(0)
    assert other.records
    reader.stop()


def test_a_feed_without_bodies_asks_for_some_pages_only():
    items = "".join(f"<item><title>t</title><link>https://a.example/{k}</link></item>" for k in range(300))
    feed = f"<rss version='2.0'><channel>{items}</channel></rss>".encode()
    watch = watcher({"https://a.example/f": feed}, "https://a.example/f")
    (visit,) = watch.visit(0)
    assert len(visit.records) == 300
    assert len(watch.fetcher.asked) == 52  # the feed, robots.txt, and 50 pages
    assert visit.fallbacks["one visit fetches at most 50 pages"] == 250


def test_long_ids_are_stored_as_digests():
    item = f"<item><title>t</title><guid>{'x' * 100_000}</guid><description>d</description></item>"
    feed = f"<rss version='2.0'><channel>{item}</channel></rss>".encode()
    watch = watcher({"https://a.example/f": feed}, "https://a.example/f")
    assert [len(visit.records) for visit in watch.visit(0)] == [1]
    assert [len(name) for name in watch.feeds[0].seen] == [32]
    watch.feeds[0].etag = ""
    assert [len(visit.records) for visit in watch.visit(60)] == [0]


def test_the_reader_in_its_process():
    reader = FeedReader(deadline=LIMIT_S)
    assert reader.read(ATOM)[0]["title"] == "Regen"
    with pytest.raises(FeedError, match="not an RSS"):
        reader.read(b"<html/>")
    reader.stop()


SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc>https://a.example/1</loc><lastmod>2031-03-02</lastmod>
<news:news><news:publication><news:name>Daily</news:name><news:language>en</news:language></news:publication>
<news:publication_date>2031-03-03T08:00:00Z</news:publication_date><news:title>Rain</news:title></news:news>
<image:image><image:loc>https://a.example/p.png</image:loc><image:title>Picture</image:title></image:image>
</url></urlset>"""


def test_news_sitemap():
    (page,) = parse_sitemap(SITEMAP).pages
    assert (page.url, page.title, page.source) == ("https://a.example/1", "Rain", "Daily")
    assert (page.published, page.lang) == ("2031-03-03T08:00:00Z", "en")


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"<html/>", "root is <html>"), (b"<urlset>", "not well-formed"), (b"", "not well-formed")],
)
def test_no_sitemap(body, said):
    with pytest.raises(FeedError, match=said):
        parse_sitemap(body)


class Web:
    """Pages without a network."""

    def __init__(self, pages):
        self.pages, self.asked = pages, []

    def fetch(self, url, *, etag="", modified="", follow=True, max_bytes=0):
        self.asked.append(url)
        if url not in self.pages:
            raise FeedError(f"{url}: the server answered 404; expected 200", status=404)
        if etag == "same":
            return FetchResponse(url, 304, {}, b"")
        return FetchResponse(url, 200, {"etag": "same"}, self.pages[url])


class InProcess:
    """Reads without a child process."""

    read = staticmethod(parse_feed)
    read_sitemap = staticmethod(parse_sitemap)


def watcher(pages, *urls):
    return Watcher(
        [FeedState(url) for url in urls], fetcher=Web(pages), interval=60, reader=InProcess(), pause=0
    )


def test_only_what_is_new_and_only_when_due():
    watch = watcher({"https://a.example/f": ATOM}, "https://a.example/f")
    (first,) = watch.visit(0)
    assert [record["title"] for record in first.records] == ["Regen"]
    assert list(watch.visit(59)) == []
    (second,) = watch.visit(60)
    assert second.records == []
    watch.feeds[0].etag = ""
    (third,) = watch.visit(120)
    assert third.records == []


def test_a_bad_feed_waits_longer_each_time_and_stops_no_other():
    watch = watcher({"https://a.example/f": ATOM}, "https://gone.example/", "https://a.example/f")
    bad, good = watch.visit(0)
    assert "404" in bad.error
    assert good.records
    assert watch.feeds[0].due == 120
    list(watch.visit(120))
    assert watch.feeds[0].due == 360


def test_pages_of_a_sitemap_are_fetched():
    story = "It rains on the coast, and the rain will go on until Friday, the weather office says. "
    page = f"<html><body><article><p>{story * 5}</p></article></body></html>".encode()
    pages = {"https://a.example/s": SITEMAP, "https://a.example/1": page}
    (visit,) = watcher(pages, "https://a.example/s").visit(0)
    assert visit.pages == 1
    assert visit.records[0]["body"] == (story * 5).strip()
    assert visit.records[0]["time"] == "2031-03-03T08:00:00Z"
