"""RELIABILITY 24, 25, 27: places, sizes and times of a fetch."""

import gzip
import resource
import socket
import time

import pytest

from isogloss.exceptions import FeedError
from isogloss.feeds import Fetcher, FetchLimits, is_public

from .conftest import http


def test_a_page_with_its_headers(serve):
    server = serve(http(b"<rss/>", ETag='"7"'))
    page = server.fetcher().fetch(server.url + "/feed?a=b")
    assert (page.body, page.status, page.headers["etag"], page.changed) == (b"<rss/>", 200, '"7"', True)
    assert server.asked[0].startswith("GET /feed?a=b HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}" in server.asked[0]


def test_an_unchanged_page(serve):
    server = serve(http(status="304 Not Modified"))
    page = server.fetcher().fetch(server.url, etag='"7"', modified="Mon, 03 Mar 2031 08:00:00 GMT")
    assert not page.changed
    assert 'If-None-Match: "7"' in server.asked[0]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_addresses_of_this_machine_are_refused(url):
    with pytest.raises(FeedError, match=r"not a public address|cannot be looked up"):
        Fetcher().fetch(url)


def test_a_redirect_to_a_refused_address(serve, monkeypatch):
    inner = serve(http(b"secret"))
    server = serve(http(status="302 Found", Location=inner.url + "/secret"))
    allowed = {"8.8.8.8"}
    fetcher = Fetcher(
        FetchLimits(ports=frozenset({server.port, inner.port})), allow=lambda address: address in allowed
    )
    real = socket.create_connection
    monkeypatch.setattr(socket, "getaddrinfo", _names({"outside.example": "8.8.8.8"}))
    monkeypatch.setattr(socket, "create_connection", lambda place, timeout=0: real(("127.0.0.1", place[1])))
    with pytest.raises(FeedError, match=r"127\.0\.0\.1 is not a public address"):
        fetcher.fetch(f"http://outside.example:{server.port}/")
    assert inner.asked == []


def _names(table):
    def look_up(host, port, family=0, type=0):
        return [(socket.AF_INET, type, 6, "", (table.get(host, host), port))]

    return look_up


def test_a_name_is_looked_up_once_per_hop(serve, monkeypatch):
    server = serve(http(b"here"))
    answers = iter(["8.8.8.8", "127.0.0.1"])
    connected = []
    real = socket.create_connection

    def connect(place, timeout):
        connected.append(place[0])
        return real(("127.0.0.1", place[1]))

    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, port, family=0, type=0: [(2, type, 6, "", (next(answers), port))]
    )
    monkeypatch.setattr(socket, "create_connection", connect)
    Fetcher(FetchLimits(ports=frozenset({server.port})), allow=is_public).fetch(
        f"http://rebinding.example:{server.port}/"
    )
    assert connected == ["8.8.8.8"]


def test_redirects_end(serve):
    server = serve(http(status="301 Moved", Location="/again"))
    with pytest.raises(FeedError, match="more than 3 redirects"):
        server.fetcher(max_redirects=3).fetch(server.url)
    assert len(server.asked) == 4


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "206 Partial", "407 Proxy"])
def test_other_answers_are_errors(serve, status):
    server = serve(http(b"page", status=status))
    with pytest.raises(FeedError, match=f"answered {status[:3]}"):
        server.fetcher().fetch(server.url)


def test_a_bomb_stops_at_the_cap(serve):
    packed = gzip.compress(bytes(400 << 20), compresslevel=1)
    server = serve(http(packed, Content_Encoding="gzip"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FeedError, match="when unpacked"):
        server.fetcher(max_bytes=8 << 20).fetch(server.url)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (http(bytes(2000)), "announced with 2,000 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + bytes(2000), "more than 1,000 bytes"),
        (http(gzip.compress(b"news")[:-9], Content_Encoding="gzip"), "cut short"),
        (http(b"no gzip", Content_Encoding="gzip"), "cannot be unpacked"),
        (http(b"x", Content_Encoding="br"), "packed as 'br'"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "ended after 5 of 100"),
        (b"nonsense\r\n\r\n", "connection failed"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", "connection failed"),
        (b"", "connection failed"),
    ],
)
def test_bad_bodies(serve, answer, said):
    server = serve(answer)
    with pytest.raises(FeedError, match=said):
        server.fetcher(max_bytes=1000).fetch(server.url)


def test_a_gzip_file_is_unpacked(serve):
    server = serve(http(gzip.compress(b"<urlset/>") + gzip.compress(b"<!-- -->")))
    assert server.fetcher().fetch(server.url).body == b"<urlset/><!-- -->"


@pytest.mark.parametrize("where", ["silence", "headers", "body"])
def test_slow_peers_meet_the_deadline(serve, where):
    def drip(connection, path):
        start = {"silence": b"", "headers": b"HTTP/1.1 200 OK\r\n", "body": b"HTTP/1.1 200 OK\r\n\r\n"}[where]
        connection.sendall(start)
        while where != "silence":
            connection.sendall(b"x: y\r\n" if where == "headers" else b"x")
            time.sleep(0.05)
        time.sleep(5)

    server = serve(drip)
    began = time.monotonic()
    with pytest.raises(FeedError, match=r"deadline|connection failed"):
        server.fetcher(deadline=0.4).fetch(server.url)
    assert time.monotonic() - began < 4


def test_a_look_up_that_hangs(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: time.sleep(3) or [])
    with pytest.raises(FeedError, match="no answer"):
        Fetcher(FetchLimits(deadline=0.2)).fetch("http://slow.example/")


def test_nobody_listens():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        fetcher = Fetcher(FetchLimits(ports=frozenset({port})), allow=lambda address: True)
        with pytest.raises(FeedError, match="cannot connect"):
            fetcher.fetch(f"http://127.0.0.1:{port}/")
