"""RELIABILITY 24, 25, 27: places, sizes and times of a fetch."""

import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
import tracemalloc
import zlib
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.exceptions import FeedError
from isogloss.feeds import FeedState, Fetcher, FetchLimits, Watcher, is_public
from isogloss.feeds._fetcher import decompress, parse_retry_after
from tests.waiting import LIMIT_S

from .conftest import http

PATIENT = FetchLimits(deadline=LIMIT_S)


def test_a_page_with_its_headers(serve):
    server = serve(http(b"<rss/>", ETag='"7"'))
    page = server.fetcher().fetch(server.url + "/feed?a=b")
    assert (page.body, page.status, page.headers["etag"], page.modified) == (b"<rss/>", 200, '"7"', True)
    assert server.asked[0].startswith("GET /feed?a=b HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}" in server.asked[0]


def test_an_unchanged_page(serve):
    server = serve(http(status="304 Not Modified"))
    page = server.fetcher().fetch(server.url, etag='"7"', modified="Mon, 03 Mar 2031 08:00:00 GMT")
    assert not page.modified
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
        Fetcher(PATIENT).fetch(url)


def test_a_redirect_to_a_refused_address(serve, monkeypatch):
    inner = serve(http(b"secret"))
    server = serve(http(status="302 Found", Location=inner.url + "/secret"))
    allowed = {"8.8.8.8"}
    fetcher = Fetcher(
        FetchLimits(ports=frozenset({server.port, inner.port}), deadline=LIMIT_S),
        allow=lambda address: address in allowed,
    )
    real = socket.create_connection
    monkeypatch.setattr(socket, "getaddrinfo", _names({"outside.example": "8.8.8.8"}))
    monkeypatch.setattr(socket, "create_connection", lambda place, timeout=0: real(("127.0.0.1", place[1])))
    with pytest.raises(FeedError, match=r"127\.0\.0\.1 is not a public address"):
        fetcher.fetch(f"http://outside.example:{server.port}/")
    assert inner.asked == []


HIDDEN = [
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://100.64.0.1/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://224.0.0.1/",
    "http://0.0.0.0/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://localhost/",
    "http://inside.example/",
    "//127.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "http://127.0.0.1:22/",
    "http://user@127.0.0.1/",
    "http://8.8.8.8@127.0.0.1/",
    "http://127.0.0.1#@8.8.8.8/",
]


@pytest.fixture
def outside(monkeypatch):
    """Names of the public internet lead to servers here; what is connected to is noted."""
    real_names, real_connect, connected = socket.getaddrinfo, socket.create_connection, []
    names = {"outside.example": "8.8.8.8", "inside.example": "10.1.2.3"}

    def look_up(host, port, family=0, type=0):
        if host in names:
            return [(socket.AF_INET, type, 6, "", (names[host], port))]
        return real_names(host, port, family, type)

    def connect(place, timeout=0):
        connected.append(place[0])
        return real_connect(("127.0.0.1", place[1]))

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    return connected


@pytest.mark.parametrize("hop", [1, 2, 3])
@pytest.mark.parametrize("location", HIDDEN)
def test_no_hop_leads_inside(serve, outside, location, hop):
    """Redirects to a public address, and then to another; the address is that of the connection."""

    def answer(connection, path):
        step = int(path.strip("/") or 0) + 1
        there = location if step == hop else f"http://outside.example:{server.port}/{step}"
        connection.sendall(http(status="302 Found", Location=there))

    server = serve(answer)
    fetcher = Fetcher(FetchLimits(ports=frozenset({80, server.port}), deadline=LIMIT_S), allow=is_public)
    with pytest.raises(
        FeedError, match=r"not a public|scheme|port 22|user name|looked up|redirects|cannot connect"
    ):
        fetcher.fetch(f"http://outside.example:{server.port}/0")
    assert outside == ["8.8.8.8"] * hop
    assert len(server.asked) == hop


def test_a_name_with_a_second_address_inside(serve, monkeypatch):
    """The public one does not answer; the other is refused and not tried."""
    tried = []

    def connect(place, timeout=0):
        tried.append(place[0])
        raise ConnectionRefusedError("nobody there")

    both = [(2, 1, 6, "", (address, 80)) for address in ("8.8.8.8", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: both)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(FeedError, match=r"127\.0\.0\.1 is not a public address"):
        Fetcher(PATIENT).fetch("http://two.example/")
    assert tried == ["8.8.8.8"]


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
    limits = FetchLimits(ports=frozenset({server.port}), deadline=LIMIT_S)
    Fetcher(limits, allow=is_public).fetch(f"http://rebinding.example:{server.port}/")
    assert connected == ["8.8.8.8"]


@pytest.mark.parametrize("location", ["http://[::1", "http://]/", "//[", "http://a\xffb:x/"])
def test_a_redirect_to_no_url_stops_no_watcher(serve, location):
    server = serve(http(status="302 Found", Location=location))
    watcher = Watcher([FeedState(server.url)], fetcher=server.fetcher())
    (visit,) = watcher.visit(0.0)
    watcher.stop()
    assert "URL" in visit.error


def test_a_host_that_tls_cannot_ask_for(monkeypatch):
    peer, own = socket.socketpair()
    monkeypatch.setattr(Fetcher, "_connect", lambda *_: own)
    with peer, pytest.raises(FeedError, match="the connection failed"):
        Fetcher(PATIENT).fetch("https://.example/feed")


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


@cache
def bomb(mebibytes):
    """A gzip file of that many zeros, a thousandth as large, made without having them all."""
    packer, zeros = zlib.compressobj(wbits=31), bytes(1 << 20)
    return b"".join([packer.compress(zeros) for _ in range(mebibytes)]) + packer.flush()


@pytest.mark.parametrize("how", [{"Content_Encoding": "gzip"}, {"Content_Encoding": "deflate"}, {}])
def test_a_bomb_stops_at_the_cap(serve, how):
    """Memory is counted by Python: the largest ever of the process, as the system has it, tells nothing."""
    packed = bomb(400)
    assert len(packed) < 500_000
    server = serve(http(packed, **how))
    fetcher = server.fetcher(max_bytes=8 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(FeedError, match="when decompressed"):
            fetcher.fetch(server.url)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (http(bytes(2000)), "announced with 2,000 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + bytes(2000), "more than 1,000 bytes"),
        (http(gzip.compress(b"news", mtime=0)[:-9], Content_Encoding="gzip"), "truncated"),
        (http(b"no gzip", Content_Encoding="gzip"), "cannot be decompressed"),
        (http(b"x", Content_Encoding="br"), "content encoding is 'br'"),
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


@given(st.binary(max_size=200), st.sampled_from(["", "gzip", "deflate", "br"]), st.integers(1, 50))
def test_any_body_is_decompressed_within_its_bound_or_refused(body, encoding, size):
    for content in (body, gzip.compress(body), gzip.compress(body)[:-3] + body):
        chunks = [content[at : at + size] for at in range(0, len(content), size)]
        try:
            assert len(decompress(chunks, encoding, 100)) <= 100
        except FeedError:
            continue


@given(st.text(max_size=40))
def test_any_wait_is_a_number_of_seconds(text):
    assert 0.0 <= parse_retry_after(text) < float("inf")


def test_a_gzip_file_is_decompressed(serve):
    server = serve(http(gzip.compress(b"<urlset/>", mtime=0) + gzip.compress(b"<!-- -->")))
    assert server.fetcher().fetch(server.url).body == b"<urlset/><!-- -->"


@pytest.mark.parametrize("where", ["silence", "headers", "body"])
def test_slow_peers_meet_the_deadline(serve, where):
    """The peer would go on for ever: without a deadline of the whole fetch this test would not end."""

    def drip(connection, path):
        start = {"silence": b"", "headers": b"HTTP/1.1 200 OK\r\n", "body": b"HTTP/1.1 200 OK\r\n\r\n"}[where]
        connection.sendall(start)
        while where != "silence":
            connection.sendall(b"x: y\r\n" if where == "headers" else b"x")
            time.sleep(0.05)
        connection.recv(1)  # until the other side hangs up

    server = serve(drip)
    with pytest.raises(FeedError, match="deadline"):
        server.fetcher(deadline=0.4).fetch(server.url)


def test_the_deadline_ends_a_fetch_without_the_timer(serve, monkeypatch):
    """The socket's timeout and the timer end at the same instant, and either may be first."""
    monkeypatch.setattr(threading.Timer, "start", lambda timer: None)
    server = serve(lambda connection, path: connection.recv(1))
    with pytest.raises(FeedError, match="deadline"):
        server.fetcher(deadline=0.4).fetch(server.url)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that nobody signed."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here; it makes the certificate of the test's server")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"


def trusting(server, **limits):
    """A fetcher that takes any certificate."""
    fetcher = server.fetcher(**limits)
    fetcher._tls.check_hostname, fetcher._tls.verify_mode = False, ssl.CERT_NONE
    return fetcher


class Secure:
    """A server that speaks TLS and answers as a function wants."""

    def __init__(self, answer, certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.context, self.answer = context, answer
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            plain, _ = self.socket.accept()
            with plain:
                self.answer(self.context, plain)
        except OSError:
            return

    def fetcher(self, **limits):
        bounds = FetchLimits(**{"deadline": LIMIT_S, "ports": frozenset({self.port})} | limits)
        return Fetcher(bounds, allow=lambda address: True)


@pytest.mark.parametrize("where", ["handshake", "headers", "body"])
def test_slow_peers_meet_the_deadline_under_tls(certificate, where):
    def drip(context, plain):
        if where == "handshake":
            while True:
                plain.sendall(b"\x16\x03\x03\x40\x00" if plain.recv(1, socket.MSG_PEEK) else b"")
                for _ in range(200):
                    plain.sendall(b"\x02")
                    time.sleep(0.05)
        with context.wrap_socket(plain, server_side=True) as connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if where == "body" else b""))
            while True:
                connection.sendall(b"x: y\r\n" if where == "headers" else b"x")
                time.sleep(0.05)

    server = Secure(drip, certificate)
    with pytest.raises(FeedError, match="deadline"):
        trusting(server, deadline=1.0).fetch(f"https://127.0.0.1:{server.port}/")
    server.socket.close()


def test_a_page_under_tls(certificate):
    def answer(context, plain):
        with context.wrap_socket(plain, server_side=True) as connection:
            connection.recv(4096)
            connection.sendall(http(b"<rss/>"))

    server = Secure(answer, certificate)
    assert trusting(server).fetch(f"https://127.0.0.1:{server.port}/").body == b"<rss/>"
    server.socket.close()


def test_a_certificate_that_nobody_signed_is_refused(certificate):
    server = Secure(lambda context, plain: context.wrap_socket(plain, server_side=True), certificate)
    with pytest.raises(FeedError, match=r"(?i)certificate"):
        server.fetcher().fetch(f"https://127.0.0.1:{server.port}/")
    server.socket.close()


@pytest.mark.parametrize(
    ("status", "header", "least", "most"),
    [
        ("429 Too Many", "120", 120, 120),
        ("503 Busy", "30", 30, 30),
        ("429 Too Many", "Fri, 01 Jan 2100 00:00:00 GMT", 10**9, 10**10),
        ("429 Too Many", "Fri, 01 Jan 1999 00:00:00 GMT", 0, 0),
        ("429 Too Many", "soon", 0, 0),
        ("429 Too Many", "-5", 0, 0),
        ("429 Too Many", "9" * 400, 0, 0),
        ("404 Not Found", "120", 0, 0),
    ],
)
def test_how_long_a_server_asks_to_be_left_alone(serve, status, header, least, most):
    server = serve(http(status=status, Retry_After=header))
    with pytest.raises(FeedError, match=f"answered {status[:3]}") as caught:
        server.fetcher().fetch(server.url)
    assert least <= caught.value.wait <= most


def test_a_look_up_that_hangs(monkeypatch):
    done = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: done.wait() and [])
    with pytest.raises(FeedError, match=r"no answer|deadline"):
        Fetcher(FetchLimits(deadline=0.2)).fetch("http://slow.example/")
    done.set()


def test_nobody_listens():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        limits = FetchLimits(ports=frozenset({port}), deadline=LIMIT_S)
        fetcher = Fetcher(limits, allow=lambda address: True)
        with pytest.raises(FeedError, match="cannot connect"):
            fetcher.fetch(f"http://127.0.0.1:{port}/")
