"""Clients for tools/load.py: requests at times fixed beforehand, from a process that does nothing else."""

import http.client
import itertools
import json
import multiprocessing
import random
import threading
import time
from collections import Counter, defaultdict
from urllib.parse import urlsplit

from load_news import News

QUERIES = (
    ("Storm closes the harbour", "Sturm schließt den Hafen", ("en", "de")),
    ("The vote was counted again", "Se volvieron a contar los votos", ("en", "es")),
    ("Le parlement a voté la loi", "Парламент принял закон", ("fr", "ru")),
)
PAGES = ("/", "/?lang=de", "/?min_languages=2", "/status", "event")
WRITES = ("one", "batch")


class Clients:
    """Requests of some kinds, and what became of them.

    Their times do not depend on answers, and latency is counted from them: a service that falls behind shows
    it. What no connection was free for until the end is counted too. While rates still rise, latencies are
    not counted: a service that has just started reads templates and topics then.
    """

    def __init__(self, options, rates, begin):
        self.options, self.rates, self.begin = options, rates, begin
        self.turns = {kind: itertools.count() for kind in rates}
        self.waits, self.statuses = defaultdict(list), defaultdict(Counter)
        self.lock, self.seen = threading.Lock(), "e1"
        self.news = News(options.seed) if any(kind in WRITES for kind in rates) else None

    def run(self):
        """Send everything; latencies and statuses of each kind."""
        threads = [
            threading.Thread(target=self.send, args=(kind,))
            for kind, rate in self.rates.items()
            for _ in range(connections(kind, rate, self.options))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {kind: (self.waits[kind], dict(self.statuses[kind])) for kind in self.rates}

    def send(self, kind):
        """Take turns of a kind until the time is over."""
        connection = connect(self.options.url)
        while True:
            with self.lock:
                due = self.begin + moment(next(self.turns[kind]), self.rates[kind], self.options.ramp)
            if due > self.begin + self.options.seconds:
                return
            request = self.request(kind)
            time.sleep(max(0.0, due - time.time()))
            if time.time() > self.begin + self.options.seconds + 5:
                return
            status, body = ask(connection, self.options.token, *request)
            wait = time.time() - due
            with self.lock:
                self.statuses[kind][status] += 1
                if 0 < status < 400 and due >= self.begin + self.options.ramp:
                    self.waits[kind].append(wait)
            if kind == "page" and body and b'href="/event/' in body:
                self.seen = body.split(b'href="/event/', 1)[1].split(b'"', 1)[0].decode()

    def request(self, kind):
        """Method, path and body."""
        if kind == "one":
            return "POST", "/api/v1/articles", self.news.article()
        if kind == "batch":
            return "POST", "/api/v1/articles", [self.news.article() for _ in range(self.options.batch)]
        one, other, (lang, lang_other) = random.choice(QUERIES)
        if kind == "similarity":
            texts = {"a": {"text": one, "lang": lang}, "b": {"text": other, "lang": lang_other}}
            return "POST", "/api/v1/similarity", texts
        if kind == "nearest":
            return "POST", "/api/v1/similar", {"text": one, "lang": lang}
        page = random.choice(PAGES)
        return "GET", f"/event/{self.seen}" if page == "event" else page, None


def connections(kind, rate, options):
    """How many connections a kind has: writers many, readers as many as a second has requests."""
    if rate <= 0:
        return 0
    return options.connections if kind in WRITES else max(2, min(16, round(rate)))


def moment(turn, rate, ramp):
    """Seconds after the beginning at which a request is due; the rate rises from 0 in the first ones."""
    if turn < rate * ramp / 2:
        return (2 * ramp * turn / rate) ** 0.5
    return turn / rate + ramp / 2


def start(options, rates, begin):
    """Have a process of its own send requests; where its figures will come from."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_send, args=(there, options, rates, begin))
    process.start()
    there.close()
    return here


def _send(wire, options, rates, begin):
    wire.send(Clients(options, rates, begin).run())


def connect(url):
    """A connection to the service."""
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)


def ask(connection, token, method, path, body=None):
    """The status of an answer, 0 if there was none, and its body."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0, b""
