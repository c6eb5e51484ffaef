"""Feeds of a server that behaves as servers do: unchanged, moved, busy, compressed, and out of bounds."""

import gzip

import pytest

from isogloss.feeds import FeedReader, FeedState, Fetcher, FetchLimits, Watcher, parse_feed
from isogloss.feeds._watcher import MAX_PAUSE_S
from tests.waiting import LIMIT_S

from .conftest import http

ITEM = "<item><guid>{0}</guid><title>Rain {0}</title><description>It rains.</description></item>"


def feed(*numbers):
    items = "".join(ITEM.format(number) for number in numbers)
    return f"<rss version='2.0'><channel><title>Daily</title>{items}</channel></rss>".encode()


class InProcess(FeedReader):
    def call(self, body, url):
        return parse_feed(body, url)


@pytest.fixture
def watch(serve):
    """A server that gives one answer after the other, and a watcher of its feed, by minutes."""

    def start(*answers, **limits):
        left = list(answers)
        server = serve(lambda connection, path: connection.sendall(left.pop(0) if len(left) > 1 else left[0]))
        fetcher = Fetcher(
            FetchLimits(**{"deadline": LIMIT_S, "ports": frozenset({server.port})} | limits),
            allow=lambda _: True,
        )
        watcher = Watcher(
            [FeedState(server.url)], fetcher=fetcher, interval=60, reader=InProcess(), pages=None, pause=0
        )
        return server, watcher

    return start


def visited(watcher, now):
    (visit,) = watcher.visit(now)
    return [record["title"] for record in visit.records] if not visit.error else visit.error


def test_an_unchanged_feed_is_asked_for_with_its_marks_and_costs_nothing(watch):
    stamp = "Mon, 03 Mar 2031 08:00:00 GMT"
    server, watcher = watch(
        http(feed(1), ETag='"7"', Last_Modified=stamp),
        http(status="304 Not Modified"),
        http(feed(1, 2), ETag='"8"'),
        http(status="304 Not Modified"),
    )
    assert visited(watcher, 0) == ["Rain 1"]
    assert visited(watcher, 60) == []
    assert 'If-None-Match: "7"' in server.asked[1]
    assert f"If-Modified-Since: {stamp}" in server.asked[1]
    assert visited(watcher, 120) == ["Rain 2"]
    assert visited(watcher, 180) == []
    assert 'If-None-Match: "8"' in server.asked[3]
    assert "If-Modified-Since" not in server.asked[3]
    assert watcher.feeds[0].failures == 0


def test_marks_of_an_answer_that_could_not_be_read_are_not_kept(watch):
    server, watcher = watch(http(b"<html/>", ETag='"bad"'), http(feed(1)))
    assert "not an RSS" in visited(watcher, 0)
    assert visited(watcher, 1000) == ["Rain 1"]
    assert "If-None-Match" not in server.asked[1]


@pytest.mark.parametrize(("asked", "due"), [("7200", 7200), ("5", 120), ("999999999", MAX_PAUSE_S)])
def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(watch, asked, due):
    server, watcher = watch(http(status="429 Too Many Requests", Retry_After=asked), http(feed(1)))
    assert "answered 429" in visited(watcher, 0)
    assert watcher.feeds[0].due == due
    assert list(watcher.visit(due - 1)) == []
    assert len(server.asked) == 1
    assert visited(watcher, due) == ["Rain 1"]
    assert watcher.feeds[0].failures == 0


def test_years_of_failures_are_counted(watch):
    _, watcher = watch(http(status="500 Oops"))
    watcher.feeds[0].failures = 10**6
    assert "answered 500" in visited(watcher, 0)
    assert watcher.feeds[0].due == MAX_PAUSE_S


def test_a_moved_feed_is_followed_and_asked_at_its_old_place_again(watch):
    server, watcher = watch(
        http(status="301 Moved", Location="/new"), http(feed(1), ETag='"n"'), http(feed(1))
    )
    assert visited(watcher, 0) == ["Rain 1"]
    assert server.asked[1].startswith("GET /new ")
    assert watcher.feeds[0].url == server.url
    assert visited(watcher, 60) == []
    assert server.asked[2].startswith("GET / ")


def test_a_feed_that_leads_inside_is_refused_and_the_others_are_visited(serve):
    inner = serve(http(feed(9)))
    good = serve(http(feed(1)))
    outer = serve(http(status="302 Found", Location=f"http://localhost:{inner.port}/"))
    ports = frozenset({inner.port, outer.port, good.port})
    seen = []

    def allow(address):
        seen.append(address)
        return len(seen) != 2  # the address of the second hop of the first feed

    watcher = Watcher(
        [FeedState(outer.url), FeedState(good.url)],
        fetcher=Fetcher(FetchLimits(ports=ports, deadline=LIMIT_S), allow=allow),
        reader=InProcess(),
        pages=None,
    )
    bad, fine = watcher.visit(0)
    assert "not a public address" in bad.error
    assert len(fine.records) == 1
    assert inner.asked == []


def test_a_compressed_feed_and_a_bomb(watch):
    compressed = http(gzip.compress(feed(1)), Content_Encoding="gzip")
    burst = http(gzip.compress(bytes(1 << 20)), Content_Encoding="gzip")
    _, watcher = watch(compressed, burst, compressed, max_bytes=10_000)
    assert visited(watcher, 0) == ["Rain 1"]
    assert "more than 10,000 bytes when decompressed" in visited(watcher, 60)
    assert visited(watcher, 1000) == []


def test_entries_that_were_seen_stay_seen_in_the_state_that_is_kept(watch):
    server, watcher = watch(http(feed(1, 2)), http(feed(2, 3)))
    assert visited(watcher, 0) == ["Rain 1", "Rain 2"]
    state = watcher.feeds[0]
    kept = FeedState(**{name: getattr(state, name) for name in FeedState.__slots__})
    again = Watcher([kept], fetcher=server.fetcher(), interval=60, reader=InProcess(), pages=None, pause=0)
    assert visited(again, 60) == ["Rain 3"]
