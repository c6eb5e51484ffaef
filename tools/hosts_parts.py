"""The parts of a service for tools/hosts.py: processes on their hosts, and somebody who sends articles."""

import os
import signal
import subprocess
import threading
import time
import uuid
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from load_news import News
from load_service import command, make_model

from isogloss.exceptions import ServiceClientError
from isogloss.service.client import Client
from isogloss.service.settings import ModelSettings, ServerSettings, Settings, StoreSettings

PARTS = {
    "serve": ("service", "serve", "--no-worker"),
    "work": ("service", "work"),
    "prepare": ("helper", "work", "--prepare"),
    "standby": ("helper", "work"),
}
"""The host of each process, and its command."""

BEGIN = datetime(2025, 3, 1, tzinfo=UTC)


class Parts:
    """The processes of a service on their hosts.

    Parameters
    ----------
    folder : Path
        Where settings, model and logs are.
    hosts : dict
        The hosts by their names.
    server : PrivatePostgres
        Their database, which runs.
    """

    def __init__(self, folder, hosts, server):
        self.folder, self.hosts, self.server = folder, hosts, server
        self.url = f"http://{hosts['service'].address}:8470"
        self.running = {}
        make_model(folder / "similarity.isogloss")
        (folder / "isogloss.toml").write_text(self._settings().as_toml(), encoding="utf-8")
        self.run("doctor")
        self.token = self.run("token", "make", "read", "write").strip()

    def __enter__(self):
        for name in ("serve", "work", "prepare"):
            self.start(name)
        return self

    def __exit__(self, *_):
        for name in [*self.running]:
            self.kill(name)

    def start(self, name):
        """Start a process on its host."""
        host, *words = PARTS[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = self.hosts[host].do(
                subprocess.Popen, command(*words, "--log-json"), cwd=self.folder, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def kill(self, name):
        """Kill a process, and those that it started, with -9."""
        process = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self):
        """Ask all to stop; the codes that they end with."""
        codes = {}
        for process in self.running.values():
            process.terminate()
        for name, process in self.running.items():
            try:
                codes[name] = process.wait(20)
            except subprocess.TimeoutExpired:
                codes[name] = "did not stop"
        return codes

    def run(self, *words):
        """Run a command on the host of the database; what it printed."""
        asked = command(*words, "--store", self.server.url)
        return self.hosts["database"].do(subprocess.check_output, asked, cwd=self.folder, text=True)

    def helped(self, store):
        """Articles that were prepared elsewhere and used."""
        return store.tallies().get("prepared_elsewhere", 0)

    def _settings(self):
        place = f"postgresql://isogloss@{self.hosts['database'].address}/postgres"
        return Settings(
            server=ServerSettings(host=self.hosts["service"].address),
            store=StoreSettings(place=place),
            models=ModelSettings(similarity="similarity.isogloss"),
        )


class Sender:
    """Somebody on a host of their own who sends articles in bursts, each request until it is acknowledged.

    Parameters
    ----------
    host : Host
        Where the articles come from.
    url, token : str
        The service.
    burst, every : int, float
        Articles that are sent at once, and the seconds after which there are more.
    position : callable
        The line of the journal that events stand at: four bursts wait at most.

    Attributes
    ----------
    sent : list
        The ids of articles that were acknowledged.
    failed : Counter
        Requests that were not, by the status of the answer; 0 where there was none.
    """

    def __init__(self, host, url, token, burst, every, position):
        self.burst, self.every, self.position = burst, every, position
        self.sent, self.failed = [], Counter()
        self._client = Client(url, token, retries=0, timeout=10)
        self._news = News(seed=0)
        self._stop, self._gone = threading.Event(), threading.Event()
        self._done = host.begin(self._run)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._gone.set()
        self.stop()

    @property
    def acknowledged(self):
        """How many articles were acknowledged."""
        return len(self.sent)

    def stop(self):
        """Stop after the burst that is under way; the ids of all articles that were acknowledged."""
        self._stop.set()
        self._done.result()
        return self.sent

    def _run(self):
        number = 0
        while not self._stop.is_set():
            for _ in range(0, self.burst, 250):
                moments = [BEGIN + timedelta(seconds=number + n) for n in range(250)]
                self._send([self._news.article(moment) for moment in moments])
                number += 250
            self._stop.wait(self.every)
            while self.acknowledged - self.position() > 4 * self.burst and not self._stop.wait(0.5):
                pass

    def _send(self, articles):
        key = uuid.uuid4().hex
        while not self._gone.is_set():
            try:
                self._client.send(articles, key=key)
                self.sent += [each["id"] for each in articles]
                return
            except ServiceClientError as error:
                self.failed[error.status] += 1
                time.sleep(0.2)
