"""serve, work, token and demo --serve: processes that start, say where they are, and stop."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.request

import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from isogloss.cli.app import app
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ServiceClientError, SettingsError, StoreError
from isogloss.service.client import Client
from isogloss.store import Store
from tests.waiting import LIMIT_S, wait_until

runner = CliRunner()
ARTICLE = {"id": "1", "lang": "en", "title": "Rain", "body": "It rains.", "time": "2025-03-05T08:40:00Z"}
MAIN = """
import signal

for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # which may be ignored where tests run
    signal.signal(each, signal.SIG_DFL)
from isogloss.cli import main

main()
"""


class Process:
    """A command in a process of its own; what it logs goes to a file."""

    def __init__(self, log, *arguments):
        self.log = log
        command = [sys.executable, "-W", "ignore", "-c", MAIN, *map(str, arguments)]
        env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200"}
        with log.open("w") as errors:
            self.running = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env
            )

    def line(self, holds):
        """The first line of the output that holds something."""
        for line in self.running.stdout:
            if holds in line:
                return line
        raise AssertionError(self.log.read_text())

    def url(self):
        return re.search(r"http://[0-9.:]+", self.line("isogloss: http")).group()

    def stop(self):
        self.running.send_signal(signal.SIGTERM)
        code = self.running.wait(LIMIT_S)
        self.running.stdout.close()
        return code

    def end(self):
        self.running.kill()
        self.running.wait()
        self.running.stdout.close()


def is_revoked(url, token):
    with Client(url, token, retries=0) as client:
        try:
            client.send(ARTICLE)
        except ServiceClientError as error:
            return "revoked" in str(error)
    return False


def run(*arguments):
    result = runner.invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(kind, said, *arguments):
    result = runner.invoke(app, [str(each) for each in arguments])
    assert isinstance(result.exception, kind), result.output
    assert said in str(result.exception)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service on a new store: its settings, its address, its process."""
    folder = tmp_path_factory.mktemp("served")
    run("init", folder)
    config = folder / "isogloss.toml"
    process = Process(folder / "log", "serve", "-c", config, "--port", 0, "--log-json")
    yield config, process.url(), process
    process.end()


def logged(process):
    return [json.loads(line) for line in process.log.read_text().splitlines()]


def test_articles_become_events_while_it_serves(served):
    _, url, _ = served
    with Client(url) as client:
        assert client.health()["status"] == "ok"
        client.send([article.as_record() for article in sample_news().articles[:20]])
        wait_until(lambda: client.events()["events"])
        assert client.status()["details"]["worker"]["waiting"] is False
    with urllib.request.urlopen(url) as answer:
        assert "text/html" in answer.headers["content-type"]


def test_logs_have_no_body_no_token_and_no_question(served):
    _, url, process = served
    with Client(url, "isg_nosuchtoken", retries=0) as client, pytest.raises(ServiceClientError):
        client.send(ARTICLE | {"title": "quiet rain"})
    with Client(url) as client:
        client.events("whisper")
    line = wait_until(lambda: [each for each in logged(process) if each.get("path") == "/api/v1/events"])[-1]
    assert (line["method"], line["status"], line["level"]) == ("GET", 200, "info")
    assert re.fullmatch("[0-9a-f]{16}", line["request"])
    text = process.log.read_text()
    for secret in ("nosuchtoken", "quiet rain", "whisper"):
        assert secret not in text


def test_a_database_with_a_known_fault_is_reported_at_the_start(served):
    faulty = sqlite3.sqlite_version_info < (3, 51, 3)
    told = [line for line in logged(served[2]) if "can corrupt a database" in line["message"]]
    assert [line["level"] for line in told] == ["warning"] * faulty


def test_a_second_service_says_that_it_waits_and_loses_nothing(served, tmp_path):
    config, url, _ = served
    second = Process(tmp_path / "log", "serve", "-c", config, "--port", 0)
    try:
        other = second.url()
        wait_until(lambda: "another worker makes the events of this store" in second.log.read_text())
        for number, place in enumerate((url, other, other, url)):
            with Client(place) as client:
                client.send(ARTICLE | {"id": f"both-{number}", "title": f"Rain of two services {number}"})
        with Client(url) as client:
            wait_until(lambda: client.status()["details"]["waiting"] == 0)
        with Client(other) as client:
            titles = {article["title"] for article in client.articles()["articles"]}
            assert {f"Rain of two services {number}" for number in range(4)} <= titles
            assert client.status()["details"]["worker"]["waiting"] is True
    finally:
        second.end()


def flood(url, acknowledged):
    """Send articles until there is nobody to send to; note what was acknowledged."""
    with Client(url, retries=0) as client:
        for number in range(1_000_000):
            name = f"{threading.get_ident()}-{number}"
            try:
                client.send(ARTICLE | {"id": name})
            except ServiceClientError:
                return
            acknowledged.append(name)


def test_a_signal_stops_it_soon_and_nothing_acknowledged_is_lost(tmp_path):
    """With --json, standard output has the address and nothing else."""
    path = tmp_path / "news.db"
    process = Process(tmp_path / "log", "serve", "--store", path, "--port", 0, "--no-worker", "--json")
    acknowledged = []
    try:
        url = json.loads(process.line("url"))["url"]
        threads = [threading.Thread(target=flood, args=(url, acknowledged)) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(acknowledged) >= 20)
        process.running.send_signal(signal.SIGTERM)
        assert process.running.stdout.read() == ""
        assert process.running.wait(LIMIT_S) == 0
        for thread in threads:
            thread.join()
    finally:
        process.end()
    with Store(path) as store:
        assert store.position() == 0
        kept = {entry.article.id for entry in store.journal(limit=1_000_000)}
    assert set(acknowledged) <= kept


def test_work_makes_events_of_what_waits(tmp_path):
    import typer

    from isogloss.cli._serve import work

    working, path = typer.Typer(), tmp_path / "news.db"
    working.command()(work)
    missing = runner.invoke(working, ["--once", "--store", str(path)])
    assert "create one with isogloss init" in str(missing.exception)
    with Store(path) as store:
        store.add(sample_news().articles[:20])
    done = runner.invoke(working, ["--once", "--json", "--store", str(path)])
    assert done.exit_code == 0
    with Store(path) as store:
        assert 0 < store.counts()["event"] == json.loads(done.stdout)["store"]["event"]
        assert store.position() >= 20


def test_work_prepare_says_what_replaced_it(tmp_path):
    import typer

    from isogloss.cli._serve import work

    working = typer.Typer()
    working.command()(work)
    told = runner.invoke(working, ["--prepare", "--store", str(tmp_path / "news.db")], env={"COLUMNS": "200"})
    assert told.exit_code == 2
    assert "worker.dask_scheduler" in told.stderr
    assert "--prepare" not in runner.invoke(working, ["--help"]).stdout


@pytest.mark.parametrize("words", [["serve", "--port", "0", "--no-worker"], ["work"]])
def test_a_terminal_that_is_closed_stops_what_runs_in_it(tmp_path, words):
    """From the first line on: whoever has read it can stop the program."""
    Store(tmp_path / "news.db").close()
    process = Process(tmp_path / "log", *words, "--store", tmp_path / "news.db", "--log-json")
    try:
        process.line("isogloss: ")
        process.running.send_signal(signal.SIGHUP)
        assert process.running.wait(LIMIT_S) == 0
    finally:
        process.end()


def test_where_logs_are_json_the_last_word_is_too(tmp_path):
    (tmp_path / "open.toml").write_text('[server]\nhost = "0.0.0.0"\n')
    process = Process(tmp_path / "log", "serve", "-c", tmp_path / "open.toml", "--log-json")
    try:
        assert process.running.wait(LIMIT_S) == 1
    finally:
        process.end()
    last = logged(process)[-1]
    assert last["level"] == "error"
    assert "there is no token yet" in last["message"]


def test_mistakes_say_what_to_do(tmp_path):
    (tmp_path / "open.toml").write_text('[server]\nhost = "0.0.0.0"\n')
    refused(SettingsError, "there is no token yet", "serve", "-c", tmp_path / "open.toml")
    store = ["--store", tmp_path / "news.db"]
    refused(
        SettingsError, "cannot listen on 203.0.113.1", "serve", "--host", "203.0.113.1", *_with_token(store)
    )
    (tmp_path / "model.toml").write_text('[models]\nsimilarity = "store:none"\n')
    refused(SettingsError, "no model of that name", "serve", "-c", tmp_path / "model.toml")
    assert runner.invoke(app, ["serve", "--port", "70000"]).exit_code == 2


def _with_token(store):
    with Store(store[1]):
        pass
    run("token", "make", "admin", *store)
    return store


def test_without_its_extra_the_service_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "isogloss.service.app", raising=False)
    refused(ImportError, "pip install 'isogloss[service]'", "serve", "--store", tmp_path / "news.db")


def test_tokens_are_made_shown_and_taken_back(tmp_path):
    path = tmp_path / "news.db"
    Store(path).close()
    store = ["--store", path]
    token = json.loads(run("token", "make", "read", "write", "--label", "desk", *store, "--json"))["token"]
    (told,) = json.loads(run("token", "list", *store, "--json"))
    assert (told["label"], told["scopes"], told["revoked"]) == ("desk", "read write", 0)
    shown = run("token", "list", *store)
    assert shown.startswith(f"{told['id']}  read write  until 20")
    assert token not in shown + json.dumps(told)
    assert json.loads(run("token", "revoke", told["id"], *store, "--json")) == {"revoked": told["id"]}
    assert "revoked" in run("token", "list", *store)
    refused(StoreError, "see isogloss token list", "token", "revoke", told["id"], *store)
    refused(StoreError, "see isogloss token list", "token", "revoke", "none", *store)
    assert run("token", "make", "read", *store).strip()


def test_a_token_holds_from_the_moment_it_is_made(served):
    config, url, _ = served
    token = run("token", "make", "admin", "-c", config).strip()
    with Client(url, retries=0) as client, pytest.raises(ServiceClientError, match="needs a token"):
        client.send(ARTICLE)
    with Client(url, token) as client:
        (made,) = client.tokens()
        client.send(ARTICLE)
    run("token", "revoke", made["id"], "-c", config)
    wait_until(lambda: is_revoked(url, token))


def test_the_demo_serves_or_prints_json():
    assert runner.invoke(app, ["demo", "--serve", "--json"]).exit_code == 2


@pytest.mark.slow
def test_the_demo_is_served_and_can_be_served_again(tmp_path):
    process = Process(tmp_path / "log", "demo", "--serve", "--port", 0, "--folder", tmp_path / "demo")
    again = None
    try:
        with Client(process.url()) as client:
            first = client.events(limit=200)["events"]
            assert len(first) > 30
            assert client.compare("storm on the coast", "Sturm an der Küste")["similarity"] > 0
        assert process.stop() == 0
        again = Process(tmp_path / "again", "serve", "-c", tmp_path / "demo" / "isogloss.toml", "--port", 0)
        with Client(again.url()) as client:
            assert client.events(limit=200)["events"] == first
            assert client.compare("storm on the coast", "Sturm an der Küste")["similarity"] > 0
            client.send(ARTICLE)
            wait_until(lambda: len(client.events(limit=200)["events"]) > len(first))
    finally:
        process.end()
        if again is not None:
            again.end()
