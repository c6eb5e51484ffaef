"""Put a running service under load, and measure how it bears it.

    isogloss serve --store load.db --port 8470 &
    python tools/load.py http://127.0.0.1:8470 --seconds 60 --ingest 300 --similar 10 --pages 10

Requests start at times fixed beforehand, whether or not earlier ones have been answered, and their latency is
counted from those times: a service that falls behind shows it. What no connection was free for until the end
is counted too. Articles are made of the words of the sample news, no two alike. The service must have a
similarity model, or --similar 0. The last line is JSON.
"""

import argparse
import http.client
import itertools
import json
import random
import re
import sys
import threading
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from isogloss.events.samples import sample_news

QUERIES = (
    ("Storm closes the harbour", "Sturm schließt den Hafen", ("en", "de")),
    ("The vote was counted again", "Se volvieron a contar los votos", ("en", "es")),
    ("Le parlement a voté la loi", "Парламент принял закон", ("fr", "ru")),
)
PAGES = ("/", "/?lang=de", "/?min_languages=2", "/status", "event")


def main():
    """Do what the command line asks."""
    options = parse()
    load = Load(options)
    watcher = threading.Thread(target=load.watch, daemon=True)
    threads = [threading.Thread(target=load.send, args=(kind,)) for kind in load.threads()]
    load.begin = time.perf_counter() + 0.5
    for thread in [watcher, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    load.done.set()
    watcher.join()
    report = load.report()
    show(report)
    print(json.dumps(report))
    return 0 if report["articles_per_second"] else 1


def parse():
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="address of the service")
    parser.add_argument("--token", default="", help="a token that may write, if the service wants one")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--ingest", type=float, default=300, help="articles a second")
    parser.add_argument("--batch", type=int, default=1, help="articles of a request")
    parser.add_argument(
        "--similar",
        type=float,
        default=10,
        help="questions a second: the similarity of two texts, and the articles nearest to one, in turn",
    )
    parser.add_argument("--pages", type=float, default=10, help="page views a second")
    parser.add_argument("--connections", type=int, default=16, help="connections that ingest")
    parser.add_argument(
        "--every", type=float, default=5, help="seconds between two looks at memory and backlog"
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Load:
    """Requests of four kinds at their times, and what became of them."""

    def __init__(self, options):
        self.options = options
        self.rates = {
            "ingest": options.ingest / options.batch,
            "similarity": options.similar / 2,
            "nearest": options.similar / 2,
            "page": options.pages,
        }
        self.turns = {kind: itertools.count() for kind in self.rates}
        self.waits, self.statuses = defaultdict(list), defaultdict(Counter)
        self.samples, self.done = [], threading.Event()
        self.lock = threading.Lock()
        self.news = News(options.seed)
        self.begin = self.end = 0.0

    def threads(self):
        """The kind of every thread; a thread has a connection."""
        number = {"ingest": self.options.connections, "similarity": 4, "nearest": 4, "page": 4}
        return [kind for kind, rate in self.rates.items() if rate for _ in range(number[kind])]

    def send(self, kind):
        """Take the next turn of a kind until the time is over."""
        connection = connect(self.options.url)
        while True:
            due = self.begin + next(self.turns[kind]) / self.rates[kind]
            if max(due, time.perf_counter()) >= self.begin + self.options.seconds:
                break
            request = self.request(kind)
            time.sleep(max(0.0, due - time.perf_counter()))
            status = self.ask(connection, *request)
            with self.lock:
                now = self.end = time.perf_counter()
                self.statuses[kind][status] += 1
                if status < 400 and status:
                    self.waits[kind].append(now - due)
        connection.close()

    def request(self, kind):
        """Method, path and body."""
        if kind == "ingest":
            return "POST", "/api/v1/articles", [self.news.article() for _ in range(self.options.batch)]
        if kind == "similarity":
            one, other, (lang, lang_other) = random.choice(QUERIES)
            texts = {"a": {"text": one, "lang": lang}, "b": {"text": other, "lang": lang_other}}
            return "POST", "/api/v1/similarity", texts
        if kind == "nearest":
            text, _, (lang, _) = random.choice(QUERIES)
            return "POST", "/api/v1/similar", {"text": text, "lang": lang}
        page = random.choice(PAGES)
        return "GET", f"/event/{self.event()}" if page == "event" else page, None

    def event(self):
        """The id of an event that was there at the last look."""
        return self.samples[-1]["event"] if self.samples and self.samples[-1]["event"] else "e1"

    def ask(self, connection, method, path, body=None):
        """The status of an answer, 0 if there was none."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.options.token:
            headers["Authorization"] = f"Bearer {self.options.token}"
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            return 0
        return answer.status

    def watch(self):
        """Look at memory, backlog and events every few seconds."""
        connection = connect(self.options.url)
        while True:
            text = self.read(connection, "/api/v1/metrics")
            found = json.loads(self.read(connection, "/api/v1/events?limit=1") or "{}").get("events")
            self.samples.append(
                {
                    "second": round(time.perf_counter() - self.begin, 1),
                    "memory_mb": round(figure(text, "process_resident_memory_bytes") / 2**20, 1),
                    "waiting": int(figure(text, "isogloss_waiting")),
                    "articles": int(figure(text, "isogloss_stored_articles")),
                    "events": int(figure(text, "isogloss_stored_events")),
                    "event": found[0]["id"] if found else "",
                }
            )
            if self.done.wait(self.options.every):
                return

    def read(self, connection, path):
        """The body of an answer, nothing if there was none."""
        headers = {"Authorization": f"Bearer {self.options.token}"} if self.options.token else {}
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            connection.close()
            return ""

    def report(self):
        """Everything that was measured."""
        taken = self.statuses["ingest"][202] * self.options.batch
        return {
            "seconds": round(self.end - self.begin, 1),
            "articles_per_second": round(taken / max(self.end - self.begin, 1e-9), 1),
            "wanted_per_second": self.options.ingest,
            "latency_ms": {kind: quantiles(self.waits[kind]) for kind in self.rates},
            "statuses": {kind: dict(self.statuses[kind]) for kind in self.rates},
            "not_sent": {kind: self.not_sent(kind) for kind in self.rates},
            "samples": [{k: v for k, v in each.items() if k != "event"} for each in self.samples],
        }

    def not_sent(self, kind):
        """Requests that all connections were too busy for, until the time was over."""
        return max(0, int(self.rates[kind] * self.options.seconds) - self.statuses[kind].total())


class News:
    """Articles of many stories: those of one share names, and words of an event of the sample news."""

    def __init__(self, seed, stories=500, articles=20):
        self.chance, self.number, self.lock = random.Random(seed), 0, threading.Lock()
        self.run, self.articles = f"{time.time():.0f}", articles
        told = sample_news()
        self.words, self.topics = defaultdict(list), defaultdict(list)
        for article in told.articles:
            words = re.findall(r"\w+", article.text)
            self.words[article.lang] += words
            self.topics[told.events[article.id], article.lang] += words
        self.stories = [self.story() for _ in range(stories)]

    def story(self):
        """A topic of the sample, and names that no other story has."""
        topic = self.chance.choice(sorted({event for event, _ in self.topics}))
        return topic, ["".join(self.chance.choices("aeioubdgklmnrst", k=7)).title() for _ in range(12)]

    def article(self):
        """The next one; now and then a story ends and another begins."""
        with self.lock:
            self.number += 1
            place = self.chance.randrange(len(self.stories))
            if self.chance.random() < 1 / self.articles:
                self.stories[place] = self.story()
            return self.told(*self.stories[place])

    def told(self, topic, names):
        """An article on a story, in one of the languages of its topic."""
        lang = self.chance.choice([lang for event, lang in self.topics if event == topic])
        own, common, pick = self.topics[topic, lang], self.words[lang], self.chance.choices
        return {
            "id": f"{self.run}-{self.number}",
            "lang": lang,
            "title": " ".join(pick(names, k=2) + pick(own, k=5)),
            "body": " ".join(pick(names, k=12) + pick(own, k=15) + pick(common, k=55)),
            "time": datetime.now(UTC).isoformat(),
            "source": "load",
        }


def connect(url):
    """A connection to the service."""
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)


def figure(text, name):
    """A figure of the metrics, 0 if it is not there."""
    found = re.search(rf"^{name} (\S+)", text, re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def quantiles(seconds):
    """The median, the 99th hundredth and the largest, in milliseconds."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    places = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    last = len(ordered) - 1
    return {name: round(1000 * ordered[min(last, int(p * len(ordered)))], 1) for name, p in places.items()}


def show(report):
    """The report as two tables."""
    table = Table("request", "answered", "not sent", "p50 ms", "p99 ms", "largest ms")
    for kind, counts in report["statuses"].items():
        said = ", ".join(f"{number} x {status or 'none'}" for status, number in sorted(counts.items()))
        figures = report["latency_ms"][kind]
        late = str(report["not_sent"][kind])
        table.add_row(kind, said, late, *(str(figures.get(name, "")) for name in ("p50", "p99", "max")))
    course = Table("second", "memory MB", "waiting", "articles", "events")
    for sample in report["samples"]:
        course.add_row(*map(str, sample.values()))
    console = Console(file=sys.stderr)
    console.print(
        f"{report['articles_per_second']} articles a second, {report['wanted_per_second']:g} wanted"
    )
    console.print(table)
    console.print(course)


if __name__ == "__main__":
    sys.exit(main())
