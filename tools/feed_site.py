"""A site on this machine with feeds that behave as feeds on the internet do: well, badly, and changing.

Each feed is at a host name of its own (``f17.localhost``), so that the pace of one host is not that of all.
"""

import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KINDS = (
    "good",
    "changing",
    "growing",
    "cached",
    "redirecting",
    "slow",
    "broken",
    "huge",
    "gone",
    "busy",
    "page",
    "bomb",
)
"""Kinds of feeds; those from ``slow`` on fail."""

FAILING = frozenset(KINDS[KINDS.index("slow") :])
_REAL_LOOK_UP = socket.getaddrinfo
STORY = "The storm took the roofs of two houses in the harbour town on Monday, officials said. "
HUGE_BYTES = 2 << 20
BOMB = b"<!DOCTYPE x [<!ENTITY a 'aaaa'>]><rss version='2.0'><channel><item>&a;</item></channel></rss>"


class FeedSite:
    """Serves feeds and their pages until the block ends.

    Parameters
    ----------
    n_feeds : int
        Number of feeds; their kinds take turns.
    slow_seconds : float
        How long a slow feed says nothing, more than the client waits.
    """

    def __init__(self, n_feeds, slow_seconds=30.0):
        self.n_feeds, self.slow_seconds = n_feeds, slow_seconds
        self.requests, self.most = Counter(), Counter()
        self._active, self._lock = Counter(), threading.Lock()
        self._closing = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.answer(self)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def __enter__(self):
        socket.getaddrinfo = _look_up
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        socket.getaddrinfo = _REAL_LOOK_UP
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def host(self, number):
        """Return the host and port of a feed."""
        return f"f{number}.localhost:{self.port}"

    def feeds(self):
        """Return the kind of each feed by its URL."""
        return {f"http://{self.host(n)}/feed": KINDS[n % len(KINDS)] for n in range(self.n_feeds)}

    def answer(self, handler):
        """Answer a request, and count how many of its host are open at the same time."""
        host = handler.headers["Host"]
        with self._lock:
            self.requests[host, handler.path] += 1
            self._active[host] += 1
            self.most[host] = max(self.most[host], self._active[host])
            visits = self.requests[host, "/feed"]
        kind = KINDS[int(host.partition(".")[0][1:]) % len(KINDS)]
        if kind == "slow":
            self._end(host)  # the client gives up, which the server does not see
            self._closing.wait(self.slow_seconds)
        status, headers, body = self._response(handler, kind, host, visits)
        if kind != "slow":
            self._end(host)
        try:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            handler.close_connection = True  # the client has hung up

    def _end(self, host):
        with self._lock:
            self._active[host] -= 1

    def _response(self, handler, kind, host, visits):
        path = handler.path
        if path == "/robots.txt":
            return 200, {}, b"User-agent: *\nDisallow: /secret/\n"
        if path.startswith("/page/"):
            version = visits if kind == "changing" else 0
            text = f"<p>{STORY * 3}</p><p>Version {version} of {path} at {host}.</p>"
            return 200, {"Content-Type": "text/html"}, f"<html><article>{text}</article></html>".encode()
        if path == "/moved":
            return 200, {}, self._feed(host, 2)
        if kind == "cached" and handler.headers.get("If-None-Match") == '"1"':
            return 304, {}, b""
        return {
            "good": (200, {}, self._feed(host, 2)),
            "changing": (200, {}, self._feed(host, 1, updated=visits)),
            "growing": (200, {}, self._feed(host, visits)),
            "cached": (200, {"ETag": '"1"'}, self._feed(host, 2)),
            "redirecting": (302, {"Location": "/moved"}, b""),
            "slow": (200, {}, self._feed(host, 1)),
            "broken": (500, {}, b""),
            "huge": (200, {}, b" " * HUGE_BYTES if kind == "huge" else b""),
            "gone": (410, {}, b""),
            "busy": (429, {"Retry-After": "3600"}, b""),
            "page": (200, {}, b"<html><body>No feed.</body></html>"),
            "bomb": (200, {}, BOMB),
        }[kind]

    def _feed(self, host, n_entries, updated=0):
        now = time.time()
        entries = "".join(
            f"<entry><id>http://{host}/{n}</id><title>Storm {n} at {host}</title>"
            f"<link href='http://{host}/page/{n}'/><summary>In brief {updated}.</summary>"
            f"<published>{_iso(now - 3600 - n)}</published><updated>{_iso(1e9 + updated)}</updated></entry>"
            for n in range(min(n_entries, 20))
        )
        start = "<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='en'>"
        return f"{start}<title>Feed of {host}</title>{entries}</feed>".encode()


def _look_up(host, *arguments, **options):
    """Look up a name; those below ``localhost`` are this machine, which not every resolver knows."""
    return _REAL_LOOK_UP("127.0.0.1" if str(host).endswith(".localhost") else host, *arguments, **options)


def _iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
