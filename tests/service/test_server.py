"""The service on an address: followed, stopped, killed; and its client."""

import http.client
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice

import psutil
import pytest

from isogloss.exceptions import ServiceClientError, SettingsError
from isogloss.service import client as client_module
from isogloss.service.app import create_app
from isogloss.service.client import Client
from isogloss.service.server import Server, listen, running, serve
from isogloss.service.settings import ServerSettings, Settings
from isogloss.store import EventRow, Store, Update, to_micros
from tests.service import data
from tests.waiting import LIMIT_S, wait_until

ARTICLE = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z"}
AT = to_micros(data.START)


@pytest.fixture
def url(app):
    app.state.isogloss.changes.poll_seconds = 0.02
    with running(app, data.settings()) as url:
        yield url


def change(store, before, *names):
    rows = [EventRow(name, AT, AT, 1, ["en"], data={"title": {"en": name}}) for name in names]
    store.apply(Update(before, before + 1, events=rows))


def test_changes_come_as_they_happen_and_nothing_is_missed(url, filled):
    with Client(url) as client:
        stream = client.changes(after=0, seconds=LIMIT_S)
        assert [next(stream)["id"] for _ in range(2)] == ["e1", "e2"]
        change(filled, 4, "x2", "x1")
        assert [next(stream)["id"] for _ in range(2)] == ["x1", "x2"]
        stream.close()
        change(filled, 5, "x3")
        resumed = client.changes(after=5, seconds=LIMIT_S)
        assert next(resumed)["id"] == "x3"
        resumed.close()


def test_who_follows_waits_where_there_is_no_room_yet(app, url, monkeypatch):
    monkeypatch.setattr(client_module, "MAX_WAIT_S", 0.05)
    room, app.state.isogloss.changes.max_clients = app.state.isogloss.changes.max_clients, 0
    with Client(url, retries=1) as client, pytest.raises(ServiceClientError, match="503") as caught:
        next(client.changes(after=0, seconds=LIMIT_S))
    assert caught.value.code == "overloaded"
    threading.Timer(0.3, lambda: setattr(app.state.isogloss.changes, "max_clients", room)).start()
    with Client(url, retries=10**6) as client:
        assert next(client.changes(after=0, seconds=LIMIT_S))["id"] == "e1"


def raw_stream(url, headers=(), query=""):
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=LIMIT_S)
    connection.request("GET", f"/api/v1/changes?{query}", headers=dict(headers))
    return connection, connection.getresponse()


def test_messages_resume_where_a_line_of_the_journal_was_whole(url, filled):
    change(filled, 4, "x1", "x2", "x3")
    connection, response = raw_stream(url, {"Last-Event-ID": "4"}, "seconds=0")
    text = response.read().decode()
    connection.close()
    assert response.headers["content-type"].startswith("text/event-stream")
    assert re.findall(r'"id":"(x\d)"', text) == ["x1", "x2", "x3"]
    assert re.findall(r"id: (\d+)\n", text) == ["5"]
    assert text.index("id: 5") > text.index('"id":"x2"')


def test_more_events_of_one_line_than_are_read_at_once(url, filled):
    names = [f"y{n:03}" for n in range(250)]
    change(filled, 4, *names)
    change(filled, 5, "z")
    with Client(url) as client:
        changes = islice(client.changes(after=4, seconds=LIMIT_S), 251)
        assert [event["id"] for event in changes] == [*names, "z"]


def test_listeners_are_bounded_and_leave_their_place(url, app):
    changes = app.state.isogloss.changes
    changes.max_clients = 1
    connection, response = raw_stream(url, query="after=0")
    assert response.readline() == b"retry: 3000\n"
    other, refused = raw_stream(url)
    assert (refused.status, refused.headers["retry-after"]) == (503, "30")
    other.close()
    response.close()
    connection.close()
    wait_until(lambda: changes.listeners == 0)


def test_followers_get_a_sign_of_life(url, app):
    app.state.isogloss.changes.heartbeat_seconds = 0.0
    connection, response = raw_stream(url)
    assert [response.readline() for _ in range(3)] == [b"retry: 3000\n", b"\n", b": here\n"]
    response.close()
    connection.close()


def test_the_server_stops_while_somebody_follows(app):
    with running(app, data.settings()) as url:
        connection, response = raw_stream(url)
        assert response.readline() == b"retry: 3000\n"
    assert response.read() == b"\n"
    connection.close()


def test_the_client_mirrors_the_api(url, filled):
    with Client(url) as client:
        assert client.health()["status"] == client.ready()["status"] == "ok"
        (receipt,) = client.send(ARTICLE)["receipts"]
        assert client.article(receipt["seq"])["title"] == "Rain"
        assert client.send([ARTICLE])["receipts"][0]["status"] == "same"
        assert [event["id"] for event in client.all_events(limit=1)] == ["e2", "e1"]
        assert client.events("Оттилие", lang=["en", "de"])["events"][0]["id"] == "e1"
        assert client.event("e0")["id"] == "e1"
        assert [line["seq"] for line in client.all_articles(event="e1", limit=1)] == [3, 2, 1]
        assert client.similar_to(1, k=1, languages=["de"])["articles"]["de"][0]["seq"] == 3
        assert client.cluster(1)["articles"] == [1, 2]
        assert client.link(2, 1)["probability"] == 0.93
        assert client.judge(1, 2, same=False)["same"] is False
        assert client.compare("en2w1", "de2w1", langs=("en", "de"))["similarity"] > 0.3
        assert client.similar("en2w1", "en", k=1)["lang"] == "en"
        assert client.topic(1) == client.topics(1, 1)[0]
        assert client.translate("en", "cat", "de")["translations"][0]["word"] == "Katze"
        assert client.align("the house", "das haus", langs=("en", "de"))["source"] == ["the", "house"]
        assert client.models()[0]["name"] == "small"
        assert client.status()["details"]["counts"]["article"] == 5
        assert client.limits()["batch"] == 500
        assert "isogloss_requests_total" in client.metrics()
        made = client.make_token(["admin"], label="desk")
        with pytest.raises(ServiceClientError, match="needs a token"):
            client.tokens()
        with Client(url, made["token"]) as admin:
            assert [each["label"] for each in admin.tokens()] == ["desk"]
            admin.revoke_token(made["id"])


def test_events_whose_titles_have_odd_line_ends_are_followed(url, filled):
    titles = ["one\u2028two", "three\x85four", "five\x0bsix"]
    rows = [
        EventRow(f"w{n}", AT, AT, 1, ["en"], data={"title": {"en": each}}) for n, each in enumerate(titles)
    ]
    filled.apply(Update(4, 5, events=rows))
    with Client(url) as client:
        seen = list(islice(client.changes(after=4, seconds=LIMIT_S), 3))
    assert [event["title"]["en"] for event in seen] == titles


def test_ids_are_sent_as_they_are(url):
    with Client(url) as client:
        for odd in ("100%", "a?b#c", "%2F", "ø"):
            with pytest.raises(ServiceClientError) as caught:
                client.event(odd)
            assert (caught.value.status, caught.value.code) == (404, "not_found")
            assert "no event with this id" in str(caught.value)


def test_threads_share_a_client(url):
    with Client(url) as client, ThreadPoolExecutor(8) as pool:
        assert [each["status"] for each in pool.map(lambda _: client.health(), range(40))] == ["ok"] * 40


def test_every_route_has_a_method_of_the_client(app):
    source = inspect.getsource(Client)
    asked = {re.sub(r"\{[^}]*\}", "{}", path) for path in re.findall(r'f?"(/[a-z]+[^"]*)"', source)}
    routes = {re.sub(r"\{[^}]*\}", "{}", path.removeprefix("/api/v1")) for path in app.openapi()["paths"]}
    assert routes - asked == set()


def test_errors_say_what_the_service_says(url):
    with Client(url, retries=0) as client:
        with pytest.raises(ServiceClientError, match="404: there is no cluster 99") as caught:
            client.cluster(99)
        assert (caught.value.status, caught.value.code) == (404, "not_found")
    with pytest.raises(ServiceClientError, match="does not respond"):
        Client("http://127.0.0.1:9", retries=0).health()
    with pytest.raises(ServiceClientError, match="expected one such as"):
        Client("ftp://x")


class Moody(BaseHTTPRequestHandler):
    """Answers with the next of some statuses; 0 breaks the connection."""

    protocol_version = "HTTP/1.1"
    moods: list = []  # noqa: RUF012
    seen: list = []  # noqa: RUF012

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.seen.append((self.path, self.headers.get("Idempotency-Key"), body))
        mood = self.moods.pop(0)
        if mood == 0:
            self.close_connection = True
            return
        text = json.dumps({"error": {"code": "x", "message": "y"}}).encode()
        self.send_response(mood)
        if mood in (429, 503):
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture
def moody():
    with ThreadingHTTPServer(("127.0.0.1", 0), Moody) as server:
        Moody.seen = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_the_client_waits_and_sends_the_same_again(moody):
    Moody.moods = [429, 503, 0, 202]
    with Client(moody) as client:
        client.send(ARTICLE)
    assert len(Moody.seen) == 4
    assert len(set(Moody.seen)) == 1


def test_what_may_count_twice_is_not_sent_again_after_a_broken_connection(moody):
    Moody.moods = [0, 201]
    with Client(moody) as client, pytest.raises(ServiceClientError, match="does not respond"):
        client.judge(1, 2, same=True)
    assert len(Moody.seen) == 1


def test_the_client_gives_up(moody):
    Moody.moods = [503] * 9
    with Client(moody, retries=2) as client, pytest.raises(ServiceClientError, match="503: y"):
        client.send(ARTICLE)
    assert len(Moody.seen) == 3


def test_an_address_that_is_taken():
    with listen(data.settings()) as place:
        taken = data.settings(server={"port": place.getsockname()[1]})
        with pytest.raises(SettingsError, match="cannot listen"):
            listen(taken)


@pytest.mark.parametrize("cycles", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_starts_and_stops_leave_nothing_behind(tmp_path, cycles):
    def cycle():
        with Store(tmp_path / "news.db") as store:
            app = create_app(data.settings(), store, models=data.models())
            with running(app, data.settings()) as url, Client(url) as client:
                client.send(ARTICLE)
                client.events()

    me = psutil.Process()
    for _ in range(3):
        cycle()
    before = me.num_fds(), me.num_threads()
    for _ in range(cycles):
        cycle()
    wait_until(lambda: me.num_fds() - before[0] <= 2 and me.num_threads() - before[1] <= 2)


SERVED = """
import signal
import sys
from isogloss.service.app import create_app
from isogloss.service.server import listen, running, serve
from isogloss.store import Store
from tests.service import data
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
settings = data.settings()
with Store(sys.argv[1]) as store, listen(settings) as place:
    print(place.getsockname()[1], flush=True)
    serve(create_app(settings, store), settings, place)
print("stopped", flush=True)
"""


@pytest.fixture
def process(tmp_path, request):
    """A service in a process of its own, and its address."""
    command = [sys.executable, "-W", "ignore", "-c", SERVED, str(tmp_path / "news.db")]
    env = os.environ | {"PYTHONPATH": str(request.config.rootpath), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as served:
        yield served, f"http://127.0.0.1:{served.stdout.readline().strip()}"
        served.kill()


def flood(url, acknowledged, stop):
    """Send articles until there is nobody to send to; note what was acknowledged."""
    number = 0
    with Client(url, retries=0) as client:
        while not stop.is_set():
            number += 1
            name = f"{threading.get_ident()}-{number}"
            try:
                client.send(ARTICLE | {"id": name})
            except ServiceClientError:
                return
            acknowledged.append(name)


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_it_soon_and_nothing_acknowledged_is_lost(process, tmp_path, how):
    served, url = process
    acknowledged, stop = [], threading.Event()
    Client(url, retries=20).health()
    threads = [threading.Thread(target=flood, args=(url, acknowledged, stop)) for _ in range(4)]
    for thread in threads:
        thread.start()
    connection, response = raw_stream(url)
    response.readline()
    wait_until(lambda: len(acknowledged) >= 50)
    served.send_signal(how)
    assert served.wait(LIMIT_S) == 0
    stop.set()
    for thread in threads:
        thread.join()
    connection.close()
    assert served.stdout.read() == "stopped\n"
    with Store(tmp_path / "news.db") as store, store.database.read() as session:
        kept = {row[0] for row in session.run("SELECT id FROM article")}
    assert set(acknowledged) <= kept


def test_a_signal_that_comes_before_the_server_looks_after_them_stops_it(tmp_path, monkeypatch):
    stopped = []

    def run(server, sockets):
        signal.raise_signal(signal.SIGTERM)
        stopped.append(server.should_exit)

    monkeypatch.setattr(Server, "run", run)
    settings = Settings(server=ServerSettings(port=0))
    with Store(tmp_path / "early.db") as store:
        serve(create_app(settings, store), settings)
    assert stopped == [True]
