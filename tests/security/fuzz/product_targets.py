"""What strangers send: lists of feeds, robots.txt, pages, queries, and titles that go out again."""

import csv
import io
import json
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from isogloss.exceptions import ArticleError, FeedError
from tests.security.fuzz import generators as make
from tests.security.fuzz.base import Target, WithFolder


class FeedLists(Target):
    """OPML and text with one URL per line."""

    name = "feedlist"
    allowed = (FeedError,)
    SOUND = (
        b'<?xml version="1.0"?><opml version="2.0"><head/><body><outline text="World"><outline type="rss" '
        b'text="Daily" xmlUrl="https://daily.example/feed"/></outline></body></opml>',
        b"# World\nhttps://daily.example/feed  The Daily\nfeed://gull.example/rss\n",
    )

    def generate(self, rng):
        """A changed list, or hostile text in one; now and then a long one."""
        return make.filled(
            rng, rng.choice(self.SOUND), (b"Daily", b"https", b"outline", b"feed", b"opml", b"\n")
        )

    def run(self, given):
        """Parse it; what is found can be fetched and shown."""
        from isogloss.feeds import parse_feed_list

        found = parse_feed_list(given)
        assert 0 < len(found.feeds) <= 10_000
        assert all(len(feed.title) <= 200 for feed in found.feeds)
        json.dumps([[feed.url, feed.title] for feed in found.feeds], ensure_ascii=False).encode()
        "\n".join(found.problems).encode()


class Robots(Target):
    """robots.txt, parsed in the child process: what the watcher pays, and that it goes on."""

    name = "robots"
    allowed = (FeedError,)
    share = 0.5
    SOUND = (
        b"User-agent: *\nDisallow: /search*$\nAllow: /7\nCrawl-delay: 5\nSitemap: https://a.example/map.xml\n"
    )
    HOST = "https://a.example"

    @cached_property
    def _cache(self):
        from isogloss.feeds._pages import PageLimits, RobotsCache

        return RobotsCache(self, "isogloss/1", PageLimits(parse_seconds=1.0, robots_seconds=0.0))

    def fetch(self, url, **_):
        """Answer with the input, as a fetcher does."""
        from isogloss.feeds._fetcher import FetchResponse

        return FetchResponse(url, 200, {}, self._body)

    def generate(self, rng):
        """A file, and the path of a page."""
        body = make.filled(rng, self.SOUND, (b"search", b"*", b"5", b"agent", b"Disallow", b"\n", b"/7"))
        return body, "/" + make.text(rng, 200)

    def run(self, given):
        """Look whether a page may be fetched."""
        self._body, path = given
        self._cache.load(self.HOST)
        assert 0 <= self._cache.check(self.HOST + path) <= 60

    def close(self):
        """End the process."""
        if "_cache" in vars(self):
            self._cache.stop()


class WebPages(Target):
    """Article pages, parsed in the child process."""

    name = "page"
    allowed = (FeedError,)
    share = 0.5
    SOUND = (
        b"<!doctype html><html lang=en><head><meta charset=utf-8><title>Storm</title></head><body><nav>"
        b"<a href=/>Home</a></nav><article><h1>Storm</h1><p>"
        + b"The storm took the roofs of two houses in the harbour town on Monday, officials said. " * 6
        + b"</p><p>Nobody was hurt.</p></article><footer>Imprint</footer></body></html>"
    )

    @cached_property
    def _reader(self):
        from isogloss.feeds._pages import PageReader

        return PageReader(1.0)

    def generate(self, rng):
        """A page, and what the server says of it."""
        body = make.filled(
            rng, self.SOUND, (b"Storm", b"storm", b"<p>", b"article", b"utf-8", b"href=/", b"en")
        )
        kind = rng.choice(
            ["text/html", "text/html; charset=utf-16", "text/html; charset=rot13", make.text(rng, 50)]
        )
        return body, kind

    def run(self, given):
        """Extract the text."""
        from isogloss.feeds._fetcher import FetchResponse

        body, kind = given
        text = self._reader.read(FetchResponse("https://a.example/7", 200, {"content-type": kind}, body))
        assert text
        text.encode()

    def close(self):
        """End the process."""
        if "_reader" in vars(self):
            self._reader.stop()


class WithStore(WithFolder):
    """A small store with points and search terms, and its service."""

    @cached_property
    def store(self):
        """The store."""
        from isogloss.store import Store
        from tests.service import data

        store = Store(Path(self._temporary.name) / "news.db")
        data.fill(store)
        data.store_points(store)
        return store

    @cached_property
    def client(self):
        """A client of the service, in process."""
        from fastapi.testclient import TestClient

        from isogloss.service.app import create_app
        from tests.service import data

        settings = data.settings(body_bytes=1 << 20, backlog=10**9, saved_searches=20)
        app = create_app(settings, self.store, models=data.models())
        client = TestClient(app, base_url=data.BASE, raise_server_exceptions=False)
        client.__enter__()
        return client

    def close(self):
        """Stop the service."""
        if "client" in vars(self):
            self.client.__exit__(None, None, None)
        if "store" in vars(self):
            self.store.close()
        super().close()


class Queries(WithStore):
    """Free text of searches: its syntax, the search for words, phrases and meaning, and highlights."""

    name = "query"
    share = 2

    def generate(self, rng):
        """Words, operators and quotes in any order, and the language of a text that matches."""
        lang = rng.choice(make.LANGUAGES)
        if rng.random() < 0.3:
            return make.text(rng, 3_000), lang
        pieces = [
            '"',
            "-",
            '-"',
            "“",
            "”",
            "«",
            "»",
            "「",
            " ",
            " ",
            "--",
            "*",
            "NEAR(",
            "AND",
            "OR",
            ":",
            "title:",
        ]
        words = [*make.WORDS, "Ottilie", "Küste", "en2w1", "de2w1", "Brest"]
        kinds = [pieces, words, make.NASTY]
        return "".join(rng.choice(rng.choice(kinds)) for _ in range(make.size(rng, 400))), lang

    def run(self, given):
        """Search, show the matches, and save the search."""
        from isogloss.service.search import highlight, parse_query, parse_saved, snippet

        query, lang = given
        try:
            parse_query(query)
        except ValueError:
            return  # only excludes, or excludes too much
        found = self.client.app.state.isogloss.search.find(query)
        for text in ("Storm Ottilie hits the coast", query):
            assert "".join(part for part, _ in highlight(text, lang, found.words)) == text
            snippet(text, lang, found.words)
        if len(query) <= 2_000:
            parse_saved({"q": _utf8(query)})


class Requests(WithStore):
    """Requests to every route that are almost right: one value is another than it should be."""

    name = "request"
    share = 2
    SEARCH: ClassVar = {
        "q": 'storm "hits the" -football', "since": "2025-03-01T00:00:00Z", "until": "2026-01-01",
        "lang": ["en"], "place": ["1"], "concept": ["name:ottilie"], "source": ["The Gull"],
        "without": ["sl"], "min_languages": 1, "min_size": 1, "sort": "relevance",
    }  # fmt: skip
    ALERT: ClassVar = {
        "event": "e1",
        "channel": "webhook",
        "address": "https://desk.example/hook",
        "minutes": 5,
    }
    MORE: ClassVar = {
        "limit": 10,
        "cursor": "",
        "weak": True,
        "format": "csv",
        "bodies": True,
        "event": ["e1"],
    }
    BODIES = (
        ("POST", "/api/v1/searches", {"name": "storms", "query": SEARCH}),
        ("PUT", "/api/v1/searches/1", {"name": "storms", "query": SEARCH}),
        ("POST", "/api/v1/alerts", ALERT),
        ("POST", "/api/v1/alerts", {"search": 1, "channel": "mail", "address": "desk@gull.example"}),
        (
            "POST",
            "/api/v1/similarity",
            {"a": {"text": "en2w1", "lang": "en"}, "b": {"text": "de2w1", "lang": "de"}},
        ),
        ("POST", "/api/v1/similar", {"text": "en2w1", "lang": "en", "limit": 3}),
        ("POST", "/api/v1/align", {"source": "the house", "target": "das haus", "languages": ["en", "de"]}),
    )
    PATHS = (
        "/", "/search", "/saved", "/sources", "/event/e1", "/place/1", "/concept/name:ottilie",
        "/source/The Gull", "/compare", "/topics", "/dictionary", "/status", "/map.svg", "/api/v1/events",
        "/api/v1/events/e1", "/api/v1/events/e1/story", "/api/v1/export/events", "/api/v1/export/articles",
        "/api/v1/feeds/events", "/api/v1/feeds/searches/1", "/api/v1/feeds/events/e1", "/api/v1/searches/1",
        "/api/v1/alerts/1", "/api/v1/words/en/cat", "/api/v1/topics/0", "/api/v1/sources",
        "/api/v1/articles/1", "/api/v1/clusters/1", "/api/v1/links/1/2",
    )  # fmt: skip

    def generate(self, rng):
        """A method, a path, its parameters and a body."""
        if rng.random() < 0.4:
            method, path, body = rng.choice(self.BODIES)
            body = json.loads(json.dumps(body))
            for _ in range(rng.choice([0, 1, 1, 2])):
                make.bend(rng, body)
            return method, path, {}, make.as_json(rng, body)
        path = rng.choice(self.PATHS)
        known = self.SEARCH | self.MORE
        query = {name: known[name] for name in rng.sample(list(known), rng.randrange(4))}
        for name in query:
            if rng.random() < 0.6:
                query[name] = rng.choice(
                    [make.text(rng, 200), rng.choice(make.NUMBERS), rng.choice(make.DATES)]
                )
        if rng.random() < 0.3:
            head, _, last = path.rpartition("/")
            path = f"{head}/{rng.choice([make.text(rng, 60), rng.choice(make.NUMBERS), last + '%00', '..'])}"
        query = {
            name: [_utf8(each) for each in value] if isinstance(value, list) else _utf8(value)
            for name, value in query.items()
        }
        return "GET", path.encode("utf-8", "replace").decode(), query, b""

    def run(self, given):
        """Send it; the answer is no failure of the service."""
        from urllib.parse import quote

        method, path, query, body = given
        answer = self.client.request(
            method,
            quote(path, safe="/:%"),
            params=query,
            content=body,
            headers={"content-type": "application/json"},
        )
        assert answer.status_code < 500 or "Retry-After" in answer.headers, (
            f"{answer.status_code} {answer.text[:200]}"
        )
        if "/alerts" in path and answer.status_code == 201:  # as many as a token may have
            self.client.delete(f"/api/v1/alerts/{answer.json()['id']}")


def _utf8(value):
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class Outputs(WithStore):
    """What strangers wrote, as it goes out again: exports, Atom and RSS, pages, webhooks, e-mail."""

    name = "output"
    allowed = (ArticleError,)

    def generate(self, rng):
        """A record, and names that come from articles."""
        record = make.record(rng) | {
            "id": str(rng.randrange(5)),  # every input exports all articles
            "time": "2025-03-05T08:00:00Z",
            "lang": "en",
        }
        return record, [make.text(rng, 300) for _ in range(4)]

    def run(self, given):
        """Store an event of the article, and read it in every form."""
        import pyarrow.parquet

        from isogloss.events import parse_article
        from isogloss.service.exports import export
        from isogloss.store import EventQuery

        record, names = given
        csv.field_size_limit(1 << 26)  # what a reader of the standard library takes by default is less
        article = parse_article(record)
        self._put(article, [_utf8(name.replace("\0", " ")) for name in names])
        for table in ("events", "articles"):
            files = {
                format: b"".join(export(self.store, table, format, EventQuery(), bodies=True))
                for format in ("csv", "jsonl", "parquet")
            }
            rows = list(csv.reader(io.StringIO(files["csv"].decode(), newline="")))
            lines = [json.loads(line) for line in files["jsonl"].decode().split("\n") if line]
            read = pyarrow.parquet.read_table(io.BytesIO(files["parquet"])).to_pylist()
            assert len(rows) - 1 == len(lines) == len(read) > 0
            assert {len(row) for row in rows} == {len(lines[0])}
            assert [each["title"] for each in read] == [each["title"] for each in lines]
            assert not any(cell.lstrip().startswith(("=", "+", "@")) for row in rows for cell in row)
        self._read_pages()
        self._read_messages()

    def _put(self, article, names):
        from isogloss.store import ClusterRow, EventRow, Update, to_micros

        number = self.store.add([article])[0].seq
        moment, at = to_micros(article.time), self.store.position()
        shown = {
            "title": {"en": article.title, "de": names[0]},
            "languages": {"en": 2, "de": 1},
            "timeline": [["2025-03-05", 3]],
            "places": [{"id": 1, "name": names[1], "country": "IE", "count": 2}],
            "concepts": [{"id": f"name:{names[2]}", "label": names[2], "weight": 0.9}],
            "confidence": 0.93,
        }
        cluster = ClusterRow(1, "en", "e1", moment, moment, [1, 2, number], {"title": article.title})
        event = EventRow("e1", moment, moment, 3, ["en", "de"], [("concept", f"name:{names[2]}")], shown)
        self.store.apply(Update(at, self.store.last_line(), [cluster], [], [event]))

    def _read_pages(self):
        from xml.etree import ElementTree

        for path in ("/", "/event/e1", "/sources"):
            answer = self.client.get(path)
            assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:200]}"
        for path in ("events", "events/e1"):
            for format in ("atom", "rss"):
                answer = self.client.get(f"/api/v1/feeds/{path}", params={"format": format})
                assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:200]}"
                ElementTree.fromstring(answer.content)

    def _read_messages(self):
        from isogloss.service.alerts._messages import mail_message, webhook_body
        from isogloss.store import Alert, Delivery

        alert = Alert(1, "", "e1", None, "mail", "desk@gull.example", "", 0, 0, 0, 0, 0, 0, "")
        delivery = Delivery(alert, [(1, "e1", 1)], 1)
        event = self.store.event_summary("e1")
        assert len(webhook_body(delivery, event, "https://a.example", 5_000)) <= 5_000
        message = mail_message(
            delivery, [event], id="1", sender="news@a.example", base_url="https://a.example", max_bytes=5_000
        )
        head, _, body = message.as_bytes().partition(b"\n\n")
        assert head.count(b"\nTo:") + head.count(b"\nFrom:") + head.startswith(b"From:") == 2
        assert len(body) < 20_000
