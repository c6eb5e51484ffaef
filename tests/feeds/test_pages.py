"""Article pages: robots.txt, politeness, the text of the article, and what remains when a page has none."""

import threading

import pytest

pytest.importorskip("trafilatura")
pytest.importorskip("protego")

from isogloss.exceptions import FeedError
from isogloss.feeds import FeedReader, FeedState, Fetcher, FetchLimits, FetchResponse, PageLimits, Watcher
from isogloss.feeds._pages import PageReader, RobotsCache, extract_text, robots_verdict
from tests.waiting import LIMIT_S

from .conftest import http

STORY = "The storm took the roofs of two houses in the harbour town on Monday, officials said. "
LIMITS = PageLimits(parse_seconds=LIMIT_S)


def article(text=STORY * 4):
    page = f"<html><head><title>Storm</title></head><body><nav><a href=/>Home</a></nav><article><p>{text}</p>"
    return f"{page}</article><footer>Imprint</footer></body></html>".encode()


def page(text=STORY * 4, **headers):
    return http(article(text), Content_Type="text/html; charset=utf-8", **headers)


def entry(number, url, body="Short.", updated=""):
    when = f"<updated>{updated}</updated>" if updated else ""
    return (
        f"<entry><id>{number}</id><title>Storm {number}</title><link href='{url}'/>"
        f"<summary>{body}</summary>{when}</entry>"
    )


def feed(*entries):
    atom = "<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='en'><title>Daily</title>"
    return http(f"{atom}{''.join(entries)}</feed>".encode())


@pytest.fixture(scope="module")
def parsers():
    """The parsers of all watchers here, so that their processes start once."""
    parsers = FeedReader(LIMIT_S), PageReader(LIMIT_S), RobotsCache(None, "isogloss", LIMITS)
    yield parsers
    for each in parsers:
        each.stop()


class Site:
    """A server whose pages can be changed, and a watcher of its feed."""

    def __init__(self, serve, parsers, **limits):
        self.pages = {"/robots.txt": http(status="404 Not Found")}
        self.server = serve(lambda connection, path: connection.sendall(self.pages[path]))
        fetcher = Fetcher(
            FetchLimits(deadline=LIMIT_S, ports=frozenset({self.server.port})), allow=lambda _: True
        )
        options = {"pages": PageLimits(**limits), "pause": 0.0, "interval": 60, "n_threads": 4}
        feed_reader, page_reader, robots = parsers
        states = [FeedState(self.url("/feed"))]
        self.watcher = Watcher(states, fetcher=fetcher, reader=feed_reader, **options)
        self.watcher._page_reader = page_reader
        self.watcher._robots._parse = robots._parse

    def url(self, path):
        return self.server.url + path

    def visit(self, now=0.0):
        (visit,) = self.watcher.visit(now)
        return visit

    @property
    def asked(self):
        return [request.split()[1] for request in self.server.asked]


@pytest.fixture
def site(serve, parsers):
    sites = []

    def start(**limits):
        sites.append(Site(serve, parsers, **limits))
        return sites[-1]

    yield start
    for each in sites:
        each.watcher._queue.stop()


def bodies(visit):
    """The texts of the records by what was given to ``entry``."""
    return {record["title"].removeprefix("Storm "): record["body"] for record in visit.records}


def test_the_text_of_the_page_replaces_the_summary(site):
    here = site()
    here.pages |= {"/feed": feed(entry(1, here.url("/1")), entry(2, here.url("/2"))), "/1": page()}
    here.pages["/2"] = http(b"%PDF", Content_Type="application/pdf")
    visit = here.visit()
    assert bodies(visit) == {"1": (STORY * 4).strip(), "2": "Short."}
    assert visit.pages == 1
    assert visit.fallbacks == {"the page is 'application/pdf'; expected HTML": 1}
    assert here.asked == ["/feed", "/robots.txt", *here.asked[2:]]
    assert sorted(here.asked[2:]) == ["/1", "/2"]


def test_what_robots_txt_does_not_allow_is_not_fetched(site):
    here = site()
    here.pages |= {
        "/robots.txt": http(b"User-agent: isogloss\nDisallow: /private/\nAllow: /\n"),
        "/feed": feed(entry(1, here.url("/private/1")), entry(2, here.url("/2"))),
        "/2": page(),
    }
    visit = here.visit()
    assert visit.fallbacks == {"robots.txt does not allow 'isogloss' to fetch it": 1}
    assert bodies(visit)["1"] == "Short."
    assert "/private/1" not in here.asked


def test_nothing_is_fetched_while_robots_txt_cannot_be_read(site):
    here = site()
    here.pages |= {"/robots.txt": http(status="503 Busy"), "/feed": feed(entry(1, here.url("/1")))}
    visit = here.visit()
    assert visit.fallbacks.total() == 1
    assert "robots.txt cannot be read" in next(iter(visit.fallbacks))
    assert here.asked == ["/feed", "/robots.txt"]


def test_robots_txt_is_asked_for_once(site):
    here = site()
    here.pages |= {f"/{n}": page() for n in range(5)}
    here.pages["/feed"] = feed(*(entry(n, here.url(f"/{n}")) for n in range(5)))
    assert here.visit().pages == 5
    here.pages["/feed"] = feed(*(entry(n, here.url(f"/{n - 5}")) for n in range(5, 10)))
    assert here.visit(60).pages == 5
    assert here.asked.count("/robots.txt") == 1


def test_a_redirect_is_followed_only_where_robots_txt_allows(site):
    here = site()
    here.pages |= {
        "/robots.txt": http(b"User-agent: *\nDisallow: /private/\n"),
        "/feed": feed(*(entry(name, here.url(f"/{name}")) for name in ("good", "bad", "loop"))),
        "/good": http(status="301 Moved", Location="/new"),
        "/new": page(),
        "/bad": http(status="302 Found", Location="/private/1"),
        "/loop": http(status="302 Found", Location="/loop"),
    }
    visit = here.visit()
    assert bodies(visit) == {"good": (STORY * 4).strip(), "bad": "Short.", "loop": "Short."}
    assert visit.fallbacks["more than 5 redirects"] == 1
    assert "/private/1" not in here.asked
    assert here.asked.count("/loop") == 6


def test_a_redirect_of_a_page_to_this_network_is_refused(serve, site):
    inner = serve(page("secret"))
    outer = site()
    outer.pages["/1"] = http(status="302 Found", Location=inner.url)
    outer.pages["/feed"] = feed(entry(1, outer.url("/1")))
    outer.watcher.fetcher.limits = FetchLimits(
        ports=frozenset({inner.port, outer.server.port}), deadline=LIMIT_S
    )
    connections = []
    # Those for the feed, robots.txt and the page; the next one is the redirect.
    outer.watcher.fetcher.allow = lambda address: len(connections) < 3 and connections.append(address) is None
    visit = outer.visit()
    assert bodies(visit) == {"1": "Short."}
    assert inner.asked == []
    assert any("not a public address" in reason for reason in visit.fallbacks)


def test_an_entry_with_its_whole_text_needs_no_page(site):
    here = site(full_text_chars=200)
    here.pages |= {"/feed": feed(entry(1, here.url("/1"), STORY * 4), entry(2, here.url("/2"))), "/2": page()}
    visit = here.visit()
    assert (visit.pages, visit.fallbacks) == (1, {})
    assert "/1" not in here.asked


def test_a_page_with_less_text_than_the_summary_is_not_taken(site):
    here = site()
    here.pages |= {"/feed": feed(entry(1, here.url("/1"), STORY * 3)), "/1": page(STORY * 2)}
    visit = here.visit()
    assert bodies(visit)["1"] == (STORY * 3).strip()
    assert visit.fallbacks == {"the page has less text than the feed": 1}


def test_pages_can_be_switched_off(site):
    here = site()
    here.watcher.pages = None
    here.pages["/feed"] = feed(entry(1, here.url("/1")))
    visit = here.visit()
    assert (bodies(visit), visit.fallbacks, here.asked) == ({"1": "Short."}, {}, ["/feed"])


def test_an_updated_entry_is_fetched_again_and_an_unchanged_one_is_not(site):
    here = site()
    first = "2031-03-03T08:00:00Z"
    here.pages |= {"/1": page(), "/2": page()}
    here.pages["/feed"] = feed(
        entry(1, here.url("/1"), updated=first), entry(2, here.url("/2"), updated=first)
    )
    assert here.visit().pages == 2
    here.pages["/1"] = page(STORY * 5)
    here.pages["/feed"] = feed(
        entry(1, here.url("/1"), updated="2031-03-03T09:00:00Z"),
        entry(2, here.url("/2"), "Other words.", updated=first),
    )
    assert bodies(here.visit(60)) == {"1": (STORY * 5).strip()}
    assert (here.asked.count("/1"), here.asked.count("/2")) == (2, 1)


def test_the_text_of_a_page_is_not_replaced_by_a_summary(site):
    here = site()
    here.pages |= {"/1": page(), "/2": http(status="404 Not Found")}
    here.pages["/feed"] = feed(entry(1, here.url("/1")), entry(2, here.url("/2")))
    assert here.visit().pages == 1
    here.pages["/1"] = http(status="404 Not Found")
    here.pages["/feed"] = feed(entry(1, here.url("/1"), "Shorter."), entry(2, here.url("/2"), "Longer."))
    assert bodies(here.visit(60)) == {"2": "Longer."}
    here.pages["/1"] = page(STORY * 5)
    here.pages["/feed"] = feed(entry(1, here.url("/1"), "Again."), entry(2, here.url("/2"), "Longer."))
    assert bodies(here.visit(120)) == {"1": (STORY * 5).strip()}


def test_a_host_that_fails_is_left_alone_for_the_rest_of_the_visit(site):
    here = site(max_failures=3)
    here.pages |= {f"/{n}": http(status="500 Oops") for n in range(20)}
    here.pages["/feed"] = feed(*(entry(n, here.url(f"/{n}")) for n in range(20)))
    visit = here.visit()
    assert len(here.asked) == 2 + 3
    assert len(visit.records) == visit.fallbacks.total() == 20
    assert any("failed 3 times in a row" in reason for reason in visit.fallbacks)


def test_a_host_that_asks_to_wait_is_not_asked_for_another_page(site):
    here = site(max_failures=99)
    here.pages |= {f"/{n}": http(status="429 Slow down", Retry_After="3600") for n in range(9)}
    here.pages["/feed"] = feed(*(entry(n, here.url(f"/{n}")) for n in range(9)))
    assert here.visit().fallbacks.total() == 9
    assert len(here.asked) == 2 + 1


def test_a_visit_fetches_the_newest_pages_only(site):
    here = site(per_visit=2)
    here.pages |= {f"/{n}": page() for n in range(5)}
    stamps = [f"2031-03-0{n + 1}T08:00:00Z" for n in range(5)]
    here.pages["/feed"] = feed(*(entry(n, here.url(f"/{n}"), updated=stamps[n]) for n in range(5)))
    visit = here.visit()
    assert sorted(here.asked[2:]) == ["/3", "/4"]
    assert visit.fallbacks == {"one visit fetches at most 2 pages": 3}
    assert len(visit.records) == 5


def test_a_visit_that_has_taken_too_long_begins_no_further_page(site):
    here = site(visit_seconds=-1.0)
    here.pages |= {"/feed": feed(entry(1, here.url("/1")))}
    assert here.visit().fallbacks == {"the visit took longer than -1 seconds": 1}
    assert here.asked == ["/feed"]


def test_a_large_page_is_not_read(site):
    here = site(max_bytes=10_000)
    here.pages |= {"/feed": feed(entry(1, here.url("/1"))), "/1": page(STORY * 1000)}
    assert "at most 10,000 are read" in next(iter(here.visit().fallbacks))


def test_requests_to_one_host_never_overlap(serve):
    """Ten feeds and their pages at one host, eight threads."""
    lock, active, most = threading.Lock(), [0], []

    def answer(connection, path):
        with lock:
            active[0] += 1
            most.append(active[0])
        number = path.strip("/").partition("-")[0]
        reply = feed(*(entry(f"{number}-{n}", f"{server.url}/{number}-{n}") for n in range(3)))
        with lock:
            active[0] -= 1
        connection.sendall(page() if "-" in path else http(b"") if "robots" in path else reply)

    server = serve(answer)
    states = [FeedState(f"{server.url}/{n}") for n in range(10)]
    watcher = Watcher(states, fetcher=server.fetcher(), pages=LIMITS, pause=0.0, n_threads=8)
    visits = list(watcher.visit(0.0))
    watcher.stop()
    assert sum(visit.pages for visit in visits) == 30
    assert max(most) == 1


HOSTILE = {
    "deep": "<div>" * 100_000 + "x",
    "entities": "<!DOCTYPE html [<!ENTITY a 'b'>]><p>" + "&a;" * 10_000,
    "attributes": "<a " + "x=y " * 100_000 + ">",
    "unclosed": "<p><b><table><tr><td>" * 5_000,
    "nothing": "",
    "controls": "<p>" + "\0\x01\ud7ff" * 1000 + "</p>",
    "script": "<script>" + "a" * 100_000,
}


@pytest.fixture(scope="module")
def reader():
    reader = PageReader(LIMIT_S)
    yield reader
    reader.stop()


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_pages_have_no_article_or_some_text(reader, what):
    body = HOSTILE[what].encode("utf-8", "replace")
    try:
        text = reader.read(FetchResponse("http://a.example/1", 200, {}, body))
    except FeedError as error:
        text = str(error)
    assert text


def test_a_page_that_takes_too_long_fails_alone():
    body = b"<p>a</p>" * 100_000
    reader = PageReader(0.05)
    response = FetchResponse("http://a.example/1", 200, {}, body)
    with pytest.raises(FeedError, match=r"the page was not parsed within 0\.05 seconds"):
        reader.read(response)
    reader._extract.seconds = LIMIT_S
    assert reader.read(FetchResponse("http://a.example/2", 200, {}, article()))
    reader.stop()


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [("windows-1251", "cp1251"), ("", "utf-8"), ("no-such", "utf-8"), ("rot13", "utf-8")],
)
def test_pages_in_other_encodings(charset, encoding):
    text = "Шторм снёс крыши двух домов в портовом городе, сообщили власти в понедельник. " * 4
    body = article(text).decode().encode(encoding).decode("latin-1")
    assert extract_text(body, charset).startswith("Шторм снёс крыши")


@pytest.mark.parametrize("text", ["", "\0" * 100, "User-agent" * 100, "Disallow: /" + "*a" * 3000, "\ufffd"])
def test_odd_robots_files_allow_what_they_do_not_forbid(text):
    assert robots_verdict(text, "isogloss", "https://a.example/7") == (True, 0.0)


class Robots:
    """Answers for robots.txt without a network."""

    def __init__(self, body=b"", status=200, wait=0.0):
        self.body, self.status, self.wait, self.asked = body, status, wait, []

    def fetch(self, url, **_):
        self.asked.append(url)
        if self.status != 200:
            raise FeedError(f"{url}: answered {self.status}", status=self.status, wait=self.wait)
        return FetchResponse(url, 200, {}, self.body)


@pytest.mark.parametrize(
    ("status", "allowed"), [(404, True), (403, True), (429, False), (500, False), (0, False)]
)
def test_a_missing_file_allows_everything_and_a_failing_one_nothing(status, allowed):
    cache = RobotsCache(Robots(status=status), "isogloss/1.0", LIMITS)
    cache.load("https://a.example")
    if allowed:
        assert cache.check("https://a.example/1") == 0.0
    else:
        with pytest.raises(FeedError, match=r"robots\.txt cannot be read"):
            cache.check("https://a.example/1")
    cache.stop()


def test_a_crawl_delay_is_a_longer_pause_within_bounds():
    for asked, pause in ((b"7", 7.0), (b"86400", 60.0), (b"-3", 0.0), (b"soon", 0.0)):
        cache = RobotsCache(Robots(b"User-agent: *\nCrawl-delay: " + asked), "isogloss", LIMITS)
        cache.load("https://a.example")
        assert cache.check("https://a.example/1") == pause
        cache.stop()


def test_cached_files_have_a_bounded_size(monkeypatch):
    monkeypatch.setattr("isogloss.feeds._pages.MAX_CACHED_ROBOTS_CHARS", 1000)
    cache = RobotsCache(Robots(b"#" * 400), "isogloss", LIMITS)
    for name in "abcd":
        cache.load(f"https://{name}.example")
    assert [cache.is_known(f"https://{name}.example") for name in "abcd"] == [False, False, True, True]
