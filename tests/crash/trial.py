"""A service that faults are tried on: its process, what it acknowledged, and a replay of its journal.

Articles and faults go through the command line and the HTTP interface, as they do for users; only what the
checks compare is read from the tables.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import threading
from collections import Counter
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import psutil
import psycopg
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ServiceClientError
from isogloss.io import save
from isogloss.service.alerts import make_secret
from isogloss.service.client import Client
from isogloss.service.models import SimilarityModel
from isogloss.service.settings import ModelSettings, StreamSettings
from isogloss.service.worker import JournalProcessor, StreamFactory
from isogloss.similarity import HubSimilarity
from isogloss.store import Alert, Store, add_alert
from tests.crash.warm import Starter
from tests.service.receiver import Receiver
from tests.similarity.data import as_corpus
from tests.waiting import LIMIT_S, wait_until
from tools.load_news import News
from tools.private_postgres import PrivatePostgres, programs

START = datetime(2025, 1, 1, tzinfo=UTC)
DAYS_PER_ROUND = 0.5
"""Days between the news of two rounds."""

WINDOW_DAYS = 1.0
MODEL = "news"
"""The name of the similarity model in the store."""

SETTINGS = {
    "ISOGLOSS_MODELS__SIMILARITY": f"store:{MODEL}",
    "ISOGLOSS_STREAM__WINDOW_DAYS": str(WINDOW_DAYS),
    "ISOGLOSS_STREAM__SNAPSHOT_EVERY": "20",
    "ISOGLOSS_WORKER__RECORD_SECONDS": "3",
    "ISOGLOSS_WORKER__MAX_MEMORY_MB": "1500",
    "ISOGLOSS_LIMITS__FREE_DISK_MB": "0",
    "ISOGLOSS_NICE": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "COLUMNS": "200",
}
"""A short window and many checkpoints, so that a few articles bring about what takes days elsewhere."""

JOURNAL = {"article": "seq", "revision": "article, number", "journal": "seq", "attempt": "seq"}
"""The tables that a replay is made from, and their keys."""

TABLES = {
    "cluster": "id, lang, event, first, last, size, data",
    "member": "article, cluster",
    "link": "a, b, probability, data",
    "event": "id, first, last, size, languages, data",
    "event_term": "event, kind, term",
    "alias": "id, event",
}
"""The tables of events and their columns, but for the line at which an event changed."""

TEXTS = "SELECT rowid, version, title, body, keys FROM article_text ORDER BY rowid"
"""The search index, except its index of words, which is compared with these columns."""

CONFIG = """
[alerts]
private_addresses = true
ports = [{port}]
retry_seconds = 0.05
retry_max_seconds = 0.5
search_seconds = 0.1
timeout_seconds = 2
"""
FOLLOWED = ("", "e0", "e1", "e2", "e3")
"""What alerts are about: a search that finds everything, and some of the first events."""

VECTOR_TOLERANCE = 1e-5
"""How far points may be from those of a replay: projected in other batches, their last bits differ."""

CLIENTS = 2

SETTLE_S = 10 * LIMIT_S
"""Upper bound of the wait for events: a record that hangs takes minutes on a busy machine."""


@cache
def model_file():
    """A small similarity model of the words that the news is made of, as the bytes of its file."""
    told = sample_news()
    events = sorted(set(told.events.values()))
    texts = {
        lang: [
            " ".join(
                each.text for each in told.articles if (told.events[each.id], each.lang) == (event, lang)
            )
            or None
            for event in events
        ]
        for lang in sorted({each.lang for each in told.articles})
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.isogloss")
        save(HubSimilarity(8, random_state=0).fit(as_corpus(texts)), path)
        return path.read_bytes()


def stream_factory(store):
    """What makes the stream of the service, for a store that gets its model."""
    with store.database.write() as session:
        session.run(
            "INSERT INTO model (name, created, data, report) VALUES (?, 0, ?, '{}') "
            "ON CONFLICT (name) DO NOTHING",
            [MODEL, model_file()],
        )
    similarity = SimilarityModel.load(ModelSettings(similarity=f"store:{MODEL}"), store)
    return StreamFactory(StreamSettings(window_days=WINDOW_DAYS), similarity.model, points=similarity)


@contextmanager
def open_place(kind, folder, *, small_disk=False):
    """An empty store of a kind: where it is, and the server, if it has one."""
    folder.mkdir()
    with small_file_system(folder, 160 if kind == "postgres" else 48) if small_disk else nullcontext():
        if kind == "sqlite":
            yield str(folder / "news.db"), None
            return
        options = "-c fsync=off -c min_wal_size=32MB -c max_wal_size=48MB"
        server = PrivatePostgres(programs(), folder, options).make()
        server.start()
        try:
            yield server.url, server
        finally:
            with suppress(subprocess.SubprocessError):
                server.stop()


@contextmanager
def small_file_system(folder, megabytes):
    """A disk of its own for a folder, in memory; root only."""
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def can_mount():
    """Whether small file systems can be made here."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_file_system(Path(folder), 1):
                return True
        except (OSError, subprocess.SubprocessError):
            return False


def is_alive(process):
    """Whether a process does something; one that nobody has asked after since its end does not."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def command(*arguments):
    """Run a command in this process; what it printed as JSON."""
    done = CliRunner().invoke(app, [str(each) for each in arguments], env=SETTINGS)
    assert isinstance(done.exception, SystemExit | None), (arguments, done.output, done.exception)
    return json.loads(done.stdout.splitlines()[-1])


def is_same_point(one, other):
    """Whether two points are of the same model and language, and close."""
    if one is None or other is None or one[:2] != other[:2] or len(one[2]) != len(other[2]):
        return False
    return np.allclose(one[2], other[2], rtol=0, atol=VECTOR_TOLERANCE)


class Trial:
    """A store, its service, and all that the service has acknowledged.

    Parameters
    ----------
    place : str
        The store.
    folder : Path
        For logs and the replay.
    seed : int
        Of the news.
    poisoned : bool
        Whether the worker comes to harm at some articles, see :mod:`tests.crash.poisoned`.
    env : dict
        Further settings of its environment.
    server : PrivatePostgres, optional
        The server of the store.
    starter : Starter, optional
        Starts the service, with :data:`SETTINGS` in its environment; one of its own by default.
    """

    def __init__(self, place, folder, seed, *, poisoned=False, env=(), server=None, starter=None):
        self.place, self.folder, self.server = place, folder, server
        self.poisoned, self.env, self.starter = poisoned, dict(env), starter
        self.owns_starter = starter is None
        self.news = News(seed, stories=12)
        self.news.run = "crash"
        self.records, self.acknowledged, self.revised = {}, set(), set()
        self.lock = threading.Lock()
        self.process = self.url = None
        self.starts, self.pruned, self.flipped = 0, 0, False
        self.replay_place, self.processor = folder / "replay.db", None
        self.copied = {name: {} for name in JOURNAL}
        self.receiver = Receiver()
        self.config = folder / "isogloss.toml"
        self.config.write_text(CONFIG.format(port=self.receiver.port))
        with Store(place) as store:
            stream_factory(store)
            self._make_alerts(store)

    def _make_alerts(self, store):
        saved = store.save_search("", "everything", {}, max_searches=1)
        with store.database.write() as session:
            for event in FOLLOWED:
                about = {"event": event, "search": None if event else saved.id}
                send = {
                    "channel": "webhook",
                    "address": self.receiver.url,
                    "secret": make_secret(),
                    "minutes": 0,
                }
                state = dict.fromkeys(("id", "created", "line", "next", "delivered", "dropped"), 0)
                alert = Alert(owner="", error="", **about, **send, **state)
                add_alert(session, alert, max_alerts=len(FOLLOWED))

    # The service

    def start(self):
        """Start the service, and wait for its address."""
        self.starts += 1
        if self.starter is None:
            env = os.environ | SETTINGS | self.env
            self.starter = Starter(env, self.folder / "workers", poisoned=self.poisoned)
        output, log = (self.folder / f"{name}{self.starts}" for name in ("output", "log"))
        arguments = [
            "serve",
            "--store",
            self.place,
            "--config",
            self.config,
            "--port",
            "0",
            "--json",
            "--log-json",
        ]
        output.touch()
        self.process = psutil.Process(self.starter.start(arguments, output, log))
        wait_until(lambda: not self.running or output.read_text().endswith("\n"))
        if not output.read_text():
            self.close_if_ended()
            raise AssertionError(f"the service does not start: {log.read_text()[-2000:]}")
        self.url = json.loads(output.read_text())["url"]

    @property
    def running(self):
        """Whether the service runs."""
        return self.process is not None and is_alive(self.process)

    def workers(self):
        """The processes that the service has started."""
        with suppress(psutil.Error):
            return self.starter.workers()
        return []

    def end(self, kind=signal.SIGKILL):
        """Send the service a signal, and see to it that none of its processes outlives it."""
        workers = self.workers()
        self.process.send_signal(kind)
        wait_until(lambda: not is_alive(self.process))
        code = self.starter.wait(self.process.pid)
        assert kind != signal.SIGTERM or code == 0, f"exit code {code} after SIGTERM"
        wait_until(lambda: not any(map(is_alive, workers)))
        self.process = None

    def close(self):
        """End what is still running."""
        self.close_if_ended()
        if self.running:
            self.end()
        if self.owns_starter and self.starter is not None:
            self.starter.close()
        self.receiver.close()
        if self.processor is not None:
            self.processor.stream.close()
            self.processor.store.close()

    def close_if_ended(self):
        """Forget the service if it has ended by itself."""
        if self.process is not None and not self.running:
            self.starter.wait(self.process.pid)
            self.process = None

    def status(self):
        """What the service says of itself."""
        with Client(self.url, retries=0) as client:
            return client.status()["details"]

    # Articles

    def write(self, number, count, *, poison="", nameless=False):
        """Make up some articles of a round; the titles by which they are known."""
        chance, titles = random.Random(f"{number}"), []
        for place in range(1, count + 1):
            moment = START + timedelta(days=DAYS_PER_ROUND * (number + place / count))
            record = self.news.article(moment)
            record["title"] = f"{record['title']} {self.news.number}"
            if nameless and chance.random() < 0.3:
                del record["id"]
            titles.append(record["title"])
            self.records[record["title"]] = record
        if poison:
            record = self.records.pop(titles[0])
            titles[0] = record["title"] = f"Belladonna {poison} {self.news.number}"
            self.records[titles[0]] = record
        return titles

    def send(self, titles, *, junk=()):
        """Send articles in one request; whether they were acknowledged."""
        body = [self.records[title] for title in titles] + list(junk)
        with Client(self.url, retries=0, timeout=LIMIT_S) as client:
            try:
                told = client.send(body)
            except ServiceClientError:
                return False
        assert len(told["receipts"]) == len(titles), told
        assert len(told["refused"]) == len(junk), told
        with self.lock:
            self.acknowledged.update(titles)
        return True

    def load(self, titles, chance, *, stop, junk=()):
        """Send articles by several clients until they are sent or the service does not take them."""
        parts = [titles[place::CLIENTS] for place in range(CLIENTS)]
        seeds = [chance.random() for _ in parts]

        def run(mine, seed):
            own = random.Random(seed)
            while mine and not stop.is_set():
                size = own.randint(1, 4)
                if not self.send(mine[:size], junk=junk if own.random() < 0.3 else ()):
                    return
                mine = mine[size:]
                stop.wait(own.uniform(0, 0.1))

        threads = [
            threading.Thread(target=run, args=each, daemon=True) for each in zip(parts, seeds, strict=True)
        ]
        for thread in threads:
            thread.start()
        return threads

    def finish(self, titles, chance):
        """Send again what was not acknowledged, and some that were; revise some; then one new article."""
        known = sorted(self.acknowledged & set(titles))
        again = [title for title in titles if title not in self.acknowledged]
        again += chance.sample(known, min(len(known), 4))
        for title in chance.sample(known, min(len(known), 2)):
            if "id" in self.records[title] and "Belladonna" not in title:  # others are new with a new text
                self.records[title] = self.records[title] | {"body": f"Corrected. {title}"}
                again.append(title)
        again = list(dict.fromkeys(again))
        assert not again or self.send(again), "articles are refused after the fault"

    def settle(self):
        """Wait until events are up to date; what the worker says where it refuses to go on, or nothing."""

        def found():
            assert self.running, "the service has ended"
            worker = self.status()["worker"]
            if "doctor --rebuild" in worker["error"]:
                return worker["error"]
            at = "SELECT j.seq FROM journal j JOIN progress p ON p.seq = j.seq AND p.name = 'events' "
            last = f"{at} WHERE j.kind = 'update' AND j.seq = (SELECT max(seq) FROM journal)"
            return " " if self.rows(self.place, last) else ""

        refusal = wait_until(found, pause=0.3, limit=SETTLE_S).strip()
        if not refusal:
            wait_until(self.alerts_delivered, pause=0.3, limit=SETTLE_S)
        return refusal

    def alerts_delivered(self):
        """Whether no alert waits, and the search was looked at after the last change."""
        assert self.running, "the service has ended"
        waiting = "SELECT 1 FROM outbox LIMIT 1"
        behind = "SELECT 1 FROM alert, progress WHERE name = 'events' AND search IS NOT NULL AND line < seq"
        return not self.rows(self.place, behind) and not self.rows(self.place, waiting)

    # Checks

    def rows(self, place, sql):
        """The rows of a query, by a connection that writes nothing."""
        if str(place).startswith("postgresql:"):
            with psycopg.connect(place, options="-c search_path=isogloss") as connection:
                return connection.execute(sql).fetchall()
        with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=LIMIT_S)) as connection:
            return connection.execute(sql).fetchall()

    def copy_journal(self):
        """Remember the journal as it is; what is pruned later is still known then."""
        for name, key in JOURNAL.items():
            for row in self.rows(self.place, f"SELECT {', '.join(self.columns(name))} FROM {name}"):
                self.copied[name][row[: key.count(",") + 1]] = row

    def time(self, title):
        """When an article is from."""
        return datetime.fromisoformat(self.records[title]["time"])

    def columns(self, name):
        """The columns of a table, its key first."""
        if not hasattr(self, "_columns"):
            Store(self.replay_place).close()
            self._columns = {
                table: [row[1] for row in self.rows(self.replay_place, f"PRAGMA table_info({table})")]
                for table in JOURNAL
            }
        return self._columns[name]

    def check(self):
        """Nothing acknowledged is lost or doubled, and the tables are those of a replay of the journal."""
        self.check_articles()
        self.check_alerts()
        self.copy_journal()
        self.replay()
        self.compare()

    def check_alerts(self):
        """Every change was delivered, in order, to those whose alert was not given up meanwhile."""
        alerts = self.rows(self.place, "SELECT id, event, search, address, dropped FROM alert ORDER BY id")
        assert [row[0] for row in alerts] == [*range(1, len(FOLLOWED) + 1)], f"alerts are missing: {alerts}"
        assert {row[3] for row in alerts} == {self.receiver.url}, alerts
        moved = dict(self.rows(self.place, "SELECT id, event FROM alias"))
        expected = [moved.get(event, event) for event in FOLLOWED]
        assert [row[1] for row in alerts] == expected, f"alerts do not follow merged events: {alerts}"
        changed = dict(self.rows(self.place, "SELECT id, changed FROM event"))
        for number, event, search, _, dropped in alerts:
            told = self.deliveries(number)
            lines = [line for _, line in told]
            if search is None:
                assert lines == sorted(set(lines)), f"alert {number} came out of order: {lines}"
            if dropped:  # the clock was moved by more than alerts wait
                continue
            last = dict(told)
            for each in changed if search is not None else {event} & changed.keys():
                assert last.get(each) == changed[each], (
                    f"alert {number} on {each}: {last.get(each)}, {changed[each]}"
                )

    def deliveries(self, alert):
        """Events and lines of the deliveries of an alert that were accepted, each once."""
        accepted = {
            headers["Idempotency-Key"]: json.loads(body)
            for headers, body, status in self.receiver.got
            if status < 300
        }
        return [(one["event"]["id"], one["changed"]) for one in accepted.values() if one["alert"] == alert]

    def check_articles(self):
        """Every acknowledged article is there once, and so is its line in the journal."""
        held = Counter(title for (title,) in self.rows(self.place, "SELECT title FROM article"))
        doubled = [title for title, count in held.items() if count > 1]
        assert not doubled, f"doubled: {doubled}"
        lost = self.acknowledged - held.keys()
        self.pruned = sum(
            count for (count,) in self.rows(self.place, "SELECT count FROM tally WHERE name = 'pruned'")
        )
        assert len(lost) == self.pruned, f"{len(lost)} are missing, {self.pruned} were pruned: {lost}"
        newest = max(self.time(title) for title in self.records)
        early = [title for title in lost if newest - self.time(title) < timedelta(days=WINDOW_DAYS + 1)]
        assert not early, f"pruned too early: {early}"
        lines = self.rows(
            self.place, "SELECT article, count(*) FROM journal WHERE kind = 'article' GROUP BY article"
        )
        assert [count for _, count in lines] == [1] * len(held), "articles with several lines, or none"
        troubles = command("doctor", "--store", self.place, "--json")["troubles"]
        unknown = [each for each in troubles if not (self.flipped and "checkpoint of line" in each)]
        assert not unknown, unknown

    def replay(self):
        """Follow the copied journal in a store that no fault comes near."""
        if self.processor is None:
            store = Store(self.replay_place)
            self.processor = JournalProcessor(store, stream_factory(store))
        with self.processor.store.database.write() as session:
            for name, rows in self.copied.items():
                columns = self.columns(name)
                keys = JOURNAL[name].split(", ")
                changes = ", ".join(f"{each} = excluded.{each}" for each in columns if each not in keys)
                session.run_many(
                    f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
                    f"ON CONFLICT ({JOURNAL[name]}) DO UPDATE SET {changes}",
                    list(rows.values()),
                )
        self.processor.process()

    def compare(self):
        """The tables are those of the replay, but for what was pruned."""
        mine, theirs = (self.tables(place) for place in (self.place, self.replay_place))
        kept = {number for (number,) in self.rows(self.place, "SELECT seq FROM article")}
        clusters = {cluster for article, cluster in theirs["member"] if article in kept}
        events = {row[2] for row in theirs["cluster"] if row[0] in clusters}
        wanted = {
            "cluster": lambda row: row[0] in clusters,
            "member": lambda row: row[0] in kept,
            "link": lambda row: row[0] in clusters and row[1] in clusters,
            "event": lambda row: row[0] in events,
            "event_term": lambda row: row[0] in events,
            "alias": lambda row: row[1] in events,
        }
        for name, rows in theirs.items():
            expected = [row for row in rows if wanted[name](row)]
            differing = set(expected) ^ set(mine[name])
            assert mine[name] == expected, f"{name} is not as in a replay: {sorted(differing)[:4]}"
        self.compare_points(kept)
        self.compare_texts(kept)

    def compare_texts(self, kept):
        """The search index is that of the replay."""
        mine, theirs = self.rows(self.place, TEXTS), self.rows(self.replay_place, TEXTS)
        expected = [row for row in theirs if row[0] in kept]
        differing = sorted({row[0] for row in set(mine) ^ set(expected)})
        assert mine == expected, f"article_text is not as in a replay: {differing[:4]}"
        assert any(title for _, _, title, *_ in mine), "no article has search terms"
        if not str(self.place).startswith("postgresql:"):
            with closing(sqlite3.connect(self.place, timeout=LIMIT_S)) as connection:
                connection.execute("INSERT INTO article_text (article_text) VALUES ('integrity-check')")

    def compare_points(self, kept):
        """The stored points of some articles are those of the replay."""
        mine, theirs = (self.points(place) for place in (self.place, self.replay_place))
        expected = {number: point for number, point in theirs.items() if number in kept}
        differing = [
            number
            for number in mine.keys() | expected.keys()
            if not is_same_point(mine.get(number), expected.get(number))
        ]
        assert not differing, f"article_point is not as in a replay: {sorted(differing)[:4]}"
        assert any(len(vector) for *_, vector in mine.values()), "no article has a point"

    def points(self, place):
        """Stored points by article: the model, the language and the vector."""
        rows = self.rows(place, "SELECT article, model, lang, vector FROM article_point")
        return {number: (model, lang, np.frombuffer(data, np.float32)) for number, model, lang, data in rows}

    def tables(self, place):
        """The tables of events."""
        return {name: sorted(self.rows(place, f"SELECT {of} FROM {name}")) for name, of in TABLES.items()}

    def stories(self, place):
        """Articles by event, and by cluster, whatever the ids of these."""
        rows = self.rows(
            place, "SELECT m.article, c.id, c.event FROM member m JOIN cluster c ON c.id = m.cluster"
        )
        return [
            {frozenset(row[0] for row in rows if row[kind] == each) for each in {row[kind] for row in rows}}
            for kind in (1, 2)
        ]

    def rebuild(self):
        """Rebuild events by the command; they are those of a replay of the journal that there is."""
        before = self.tables(self.place)
        command("doctor", "--rebuild", "--store", self.place, "--json")
        self.check_articles()
        self.replay_place, self.processor = self.folder / "rebuilt.db", None
        self.copied = {name: {} for name in JOURNAL}
        self.copy_journal()
        self.replay()
        assert self.stories(self.place) == self.stories(self.replay_place), "a rebuild differs from a replay"
        kept = {number for (number,) in self.rows(self.place, "SELECT seq FROM article")}
        self.compare_points(kept)
        self.compare_texts(kept)
        if not self.rows(self.place, "SELECT count FROM tally WHERE name = 'pruned'"):
            assert self.tables(self.place) == before, "a rebuild of the whole journal changed the tables"
