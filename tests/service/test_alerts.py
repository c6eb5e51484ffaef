"""Alerts: every change is delivered in order, once by its key, whoever is killed; and nowhere else."""

import base64
import email
import email.policy
import hashlib
import hmac
import json
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from fastapi.testclient import TestClient

from isogloss.service.alerts import AlertSender, _sender, check_address
from isogloss.service.app import create_app
from isogloss.service.auth import make_token, revoke_token
from isogloss.service.settings import MailSettings, Settings
from isogloss.store import EventRow, Store, Update, list_alerts, to_micros
from tests.service import data
from tests.service.alert_service import alert_settings
from tests.service.receiver import Receiver
from tests.waiting import wait_until


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


@contextmanager
def api(store, settings):
    with TestClient(create_app(settings, store), base_url=f"{data.BASE}/api/v1/") as client:
        yield client


def change(store, event="e1", size=5, title="Storm"):
    """Change an event, as the worker does."""
    store.add([data.article(f"more {store.last_line()}", "en", "More")])
    at, line = store.position(), store.last_line()
    moment = to_micros(data.START)
    row = EventRow(
        event, moment, moment, size, ["en"], [], {"title": {"en": title}, "languages": {"en": size}}
    )
    store.apply(Update(at, line, events=[row]))
    return line


class Clock:
    """Seconds since 1970, which a test moves on."""

    def __init__(self):
        self.now = datetime.now(UTC).timestamp() + 60

    def __call__(self):
        return self.now


def sender_of(store, settings, clock=None):
    state = create_app(settings, store).state.isogloss
    return AlertSender(store, settings, state.search, clock=clock or Clock())


def follow(store, settings, **body):
    with api(store, settings) as client:
        answer = client.post("alerts", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()


def waiting(store):
    with store.database.read() as session:
        return session.run("SELECT event, line, attempts FROM outbox ORDER BY seq")


def test_a_webhook_is_signed_and_has_the_event(filled, receiver):
    settings = alert_settings(receiver.port, base_url="https://news.example/")
    made = follow(filled, settings, event="e0", channel="webhook", address=receiver.url)
    assert made["event"] == "e1"
    line = change(filled, title="Storm\x07 over")
    assert sender_of(filled, settings).work()
    ((headers, body, _),) = receiver.got
    told = json.loads(body)
    assert told["type"] == "event.changed"
    assert (told["alert"], told["changed"]) == (made["id"], line)
    assert told["event"]["title"] == "Storm over"
    assert told["event"]["url"] == "https://news.example/event/e1"
    assert headers["Idempotency-Key"] == headers["webhook-id"]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(made["secret"].removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert waiting(filled) == []
    with filled.database.read() as session:
        (stored,) = list_alerts(session)
    assert (stored.delivered, stored.error) == (1, "")


def test_an_alert_is_queued_with_the_change_or_not_at_all(filled, receiver):
    settings = alert_settings(receiver.port)
    follow(filled, settings, event="e1", channel="webhook", address=receiver.url)
    at = to_micros(data.START)
    broken = Update(4, 5, events=[EventRow("e1", at, at, 1, ["en"], [("place", None)])])
    with pytest.raises(Exception, match=r"(?i)null"):
        filled.apply(broken)
    assert (waiting(filled), filled.position()) == ([], 4)
    change(filled, "e2")
    assert waiting(filled) == []
    line = change(filled)
    assert waiting(filled) == [("e1", line, 0)]


def test_changes_before_the_first_attempt_are_one_alert(filled, receiver):
    settings = alert_settings(receiver.port)
    follow(filled, settings, event="e1", channel="webhook", address=receiver.url)
    lines = [change(filled, size=size) for size in (5, 6, 7)]
    assert waiting(filled) == [("e1", lines[-1], 0)]
    sender_of(filled, settings).work()
    assert [(told["changed"], told["event"]["size"]) for told in receiver.accepted()] == [(lines[-1], 7)]


def test_failures_are_retried_in_order_under_one_key_with_backoff(filled, receiver):
    settings = alert_settings(receiver.port, retry_seconds=10.0, retry_max_seconds=25.0)
    follow(filled, settings, event="e1", channel="webhook", address=receiver.url)
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    receiver.answers = [(500, {}), (302, {"Location": "http://127.0.0.1/"}), (503, {"Retry-After": "9999"})]
    first = change(filled)
    assert sender.work()
    second = change(filled)  # waits behind the first
    for wait in (10, 20, 25):
        clock.now += wait - 0.5
        assert not sender.work()
        clock.now += 1
        assert sender.work()
    assert sender.work()
    assert [told["changed"] for told in receiver.accepted()] == [first, second]
    keys = receiver.keys()
    assert len(set(keys[:4])) == 1
    assert keys[4] != keys[0]
    assert [status for *_, status in receiver.got] == [500, 302, 503, 204, 204]


def test_a_receiver_that_is_away_gets_every_alert_when_it_is_back(filled):
    receiver = Receiver()
    port, url = receiver.port, receiver.url
    receiver.close()
    settings = alert_settings(port)
    follow(filled, settings, event="e1", channel="webhook", address=url)
    follow(filled, settings, event="e2", channel="webhook", address=url)
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    lines = {change(filled, "e1"), change(filled, "e2")}
    for _ in range(3):
        assert sender.work()
        clock.now += 1
    with filled.database.read() as session:
        assert all("cannot connect" in each.error for each in list_alerts(session))
    back = Receiver(port)
    assert sender.work()
    assert {told["changed"] for told in back.accepted()} == lines
    assert len(set(back.keys())) == 2
    back.close()


def test_a_killed_service_delivers_everything_after_its_restart(tmp_path, receiver):
    """kill -9 while a webhook is on its way: it comes again under the same key, and nothing is missing."""
    place = tmp_path / "news.db"
    settings = alert_settings(receiver.port)
    with Store(place) as store:
        data.fill(store)
        for event in ("e1", "e2"):
            follow(store, settings, event=event, channel="webhook", address=receiver.url)
        lines = {change(store, event) for event in ("e1", "e2")}
        receiver.gate.clear()
        command = [sys.executable, "-m", "tests.service.alert_service", str(place), str(receiver.port)]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as service:
            wait_until(lambda: len(receiver.got) == 2)
            service.send_signal(signal.SIGKILL)
        before = receiver.keys()
        receiver.gate.set()
        clock = Clock()
        sender = sender_of(store, settings, clock)
        clock.now += 3600  # the claims of the killed service have run out
        assert sender.work()
        assert not sender.work()
    assert sorted(receiver.keys()[2:]) == sorted(before)
    once = {headers["Idempotency-Key"]: json.loads(body)["changed"] for headers, body, _ in receiver.got}
    assert set(once.values()) == lines


def test_two_services_do_not_send_the_same(filled, receiver):
    settings = alert_settings(receiver.port)
    follow(filled, settings, event="e1", channel="webhook", address=receiver.url)
    clock = Clock()
    one, other = sender_of(filled, settings, clock), sender_of(filled, settings, clock)
    change(filled)
    claimed = one._claim()
    assert not other.work()
    one._deliver(claimed[0])
    assert len(receiver.got) == 1


def test_an_alert_that_cannot_be_written_stops_no_other(filled, receiver, monkeypatch):
    settings = alert_settings(receiver.port)
    for event in ("e1", "e2"):
        follow(filled, settings, event=event, channel="webhook", address=receiver.url)
    for event in ("e1", "e2"):
        change(filled, event)
    sound = _sender.webhook_body

    def body(delivery, event, *rest):
        if event["id"] == "e1":
            raise KeyError("title")
        return sound(delivery, event, *rest)

    monkeypatch.setattr(_sender, "webhook_body", body)
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    assert sender.work()
    assert [told["event"]["id"] for told in receiver.accepted()] == ["e2"]
    with filled.database.read() as session:
        assert [each.error for each in list_alerts(session)] == ["failed (KeyError: 'title')", ""]
    monkeypatch.undo()
    clock.now += 1
    assert sender.work()
    assert [told["event"]["id"] for told in receiver.accepted()] == ["e2", "e1"]


def test_a_search_that_fails_stops_no_other_alert(filled, receiver, monkeypatch):
    settings = alert_settings(receiver.port)
    with api(filled, settings) as client:
        saved = client.post("searches", json={"name": "storm", "query": {"q": "storm"}}).json()["id"]
    follow(filled, settings, search=saved, channel="webhook", address=receiver.url)
    follow(filled, settings, event="e2", channel="webhook", address=receiver.url)
    change(filled, "e2")
    sender = sender_of(filled, settings)
    monkeypatch.setattr(sender.search, "find", lambda _: 1 // 0)
    assert sender.work()
    assert [told["event"]["id"] for told in receiver.accepted()] == ["e2"]


def test_the_thread_continues_after_an_error_that_nobody_expected(filled, receiver, monkeypatch):
    settings = alert_settings(receiver.port)
    follow(filled, settings, event="e1", channel="webhook", address=receiver.url)
    change(filled)
    monkeypatch.setattr(_sender, "POLL_INTERVAL_S", 0.01)
    sender = sender_of(filled, settings)
    claim, failures = sender._claim, [ZeroDivisionError(), RecursionError()]
    monkeypatch.setattr(sender, "_claim", lambda: claim() if not failures else _throw(failures.pop()))
    sender.start()
    wait_until(receiver.accepted)
    sender.stop()


def _throw(error):
    raise error


@pytest.mark.parametrize("fails", [False, True])
def test_a_clock_that_was_ahead_for_a_while_delays_nothing_afterwards(filled, receiver, fails):
    settings = alert_settings(receiver.port)
    follow(filled, settings, event="e1", channel="webhook", address=receiver.url, minutes=10)
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    now = clock.now
    clock.now += 25 * 365 * 86_400
    receiver.answers = [(500, {})] if fails else []
    first = change(filled)
    assert sender.work()
    clock.now = now + 3600
    second = change(filled)
    while sender.work():
        clock.now += 600
    assert [told["changed"] for told in receiver.accepted()] == [first, second]


def test_searches_are_followed_after_a_clock_that_was_ahead(filled, receiver):
    settings = alert_settings(receiver.port)
    with api(filled, settings) as client:
        saved = client.post("searches", json={"name": "all", "query": {}}).json()["id"]
    follow(filled, settings, search=saved, channel="webhook", address=receiver.url)
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    clock.now += 25 * 365 * 86_400
    assert not sender.work()
    clock.now -= 25 * 365 * 86_400
    line = change(filled)
    while sender.work():
        pass
    assert [told["changed"] for told in receiver.accepted()] == [line]


def test_a_saved_search_is_followed(filled, receiver):
    settings = alert_settings(receiver.port)
    with api(filled, settings) as client:
        saved = client.post("searches", json={"name": "long", "query": {"min_size": 5}}).json()["id"]
        missing = client.post("alerts", json={"search": 99, "channel": "webhook", "address": receiver.url})
    assert missing.status_code == 404
    made = follow(filled, settings, search=saved, channel="webhook", address=receiver.url)
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    change(filled, "e2", size=2)
    lines = [change(filled, "e1", size=5), change(filled, "e2", size=6)]
    while sender.work():
        pass
    assert [told["changed"] for told in receiver.accepted()] == lines
    assert {told["alert"] for told in receiver.accepted()} == {made["id"]}
    clock.now += 100
    assert not sender.work()
    with api(filled, settings) as client:
        assert client.delete(f"searches/{saved}").status_code == 204
        assert client.get("alerts").json() == []


def test_alerts_follow_merged_events_and_skip_removed_ones(filled, receiver):
    settings = alert_settings(receiver.port)
    follow(filled, settings, event="e2", channel="webhook", address=receiver.url)
    line, at = filled.position(), to_micros(data.START)
    merged = EventRow("e1", at, at, 9, ["en"], [], {"title": {"en": "Both"}})
    filled.apply(Update(line, line + 1, events=[merged], removed_events=["e2"], aliases=[("e2", "e1")]))
    change(filled, "e1", title="Both")
    sender = sender_of(filled, settings)
    sender.work()
    assert [told["event"]["title"] for told in receiver.accepted()] == ["Both"]
    change(filled, "e1")
    line = filled.position()
    filled.apply(Update(line, line + 1, removed_events=["e1"]))
    assert sender.work()
    assert len(receiver.got) == 1
    assert waiting(filled) == []


def test_revoked_tokens_get_nothing(filled, receiver):
    settings = alert_settings(receiver.port)
    token = make_token(filled, ["write"])
    with api(filled, settings) as client:
        body = {"event": "e1", "channel": "webhook", "address": receiver.url}
        assert (
            client.post("alerts", json=body, headers={"Authorization": f"Bearer {token}"}).status_code == 201
        )
    change(filled)
    revoke_token(filled, token.split("_")[1])
    assert not sender_of(filled, settings).work()
    assert receiver.got == []


def test_alerts_of_other_tokens_are_not_seen(filled, receiver):
    settings = alert_settings(receiver.port)
    tokens = [make_token(filled, [scope]) for scope in ("write", "write", "admin")]
    one, other, admin = ({"Authorization": f"Bearer {token}"} for token in tokens)
    body = {"event": "e1", "channel": "webhook", "address": receiver.url}
    with api(filled, settings) as client:
        made = client.post("alerts", json=body, headers=one).json()
        assert "secret" in made
        path = f"alerts/{made['id']}"
        assert client.get("alerts", headers=other).json() == []
        assert client.get(path, headers=other).status_code == 404
        assert client.delete(path, headers=other).status_code == 404
        listed = client.get("alerts", headers=admin)
        assert [each["id"] for each in listed.json()] == [made["id"]]
        assert made["secret"] not in listed.text
        assert client.delete(path, headers=one).status_code == 204
        assert client.get(path, headers=one).status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://[::1]/",
        "http://169.254.169.254/",
        "http://0x7f000001/",
    ],
)
def test_private_addresses_are_refused_at_the_connection(filled, address):
    settings = data.settings()
    follow(filled, settings, event="e1", channel="webhook", address=address)
    change(filled)
    assert sender_of(filled, settings).work()
    with filled.database.read() as session:
        assert "is not a public address" in list_alerts(session)[0].error


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"event": "e1", "address": "ftp://x.example/"}, "the scheme is 'ftp'"),
        ({"event": "e1", "address": "https://x.example:22/"}, "allow it in alerts.ports in the settings"),
        ({"event": "e1", "address": "https://a:b@x.example/"}, "no user name or password"),
        ({"event": "e1", "address": "https://x.example/\r\nHost: y"}, "no blanks"),
        ({"event": "e1", "search": 1, "address": "https://x.example/"}, "either event or search"),
        ({"address": "https://x.example/"}, "either event or search"),
        ({"event": "e99", "address": "https://x.example/"}, "there is no event"),
        ({"event": "e1", "channel": "mail", "address": "a@b.example"}, "sends no e-mail"),
    ],
)
def test_bad_requests_say_why(filled, body, said):
    with api(filled, data.settings()) as client:
        answer = client.post("alerts", json={"channel": "webhook"} | body)
    assert answer.status_code in (404, 422)
    assert said in answer.json()["error"]["message"]


def test_there_are_bounds_on_number_age_and_size(filled, receiver):
    settings = alert_settings(receiver.port, per_token=1, waiting=1, keep_hours=1.0, body_bytes=200)
    made = follow(filled, settings, event="e1", channel="webhook", address=receiver.url)
    with api(filled, settings) as client:
        body = {"event": "e2", "channel": "webhook", "address": receiver.url}
        refused = client.post("alerts", json=body)
        assert refused.status_code == 409
        assert "at most 1 are allowed" in refused.json()["error"]["message"]
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    receiver.answers = [(500, {})] * 9
    change(filled, title="x" * 1000)
    sender.work()
    assert json.loads(receiver.got[0][1])["event"] == {"id": "e1"}
    change(filled)  # one was attempted, one waits: one too many
    clock.now += 1
    sender.work()
    assert len(waiting(filled)) == 1
    clock.now += 3601
    assert not sender.work()
    assert waiting(filled) == []
    with api(filled, settings) as client:
        assert client.get(f"alerts/{made['id']}").json()["dropped"] == 2


def test_a_running_service_delivers_and_stops(filled, receiver):
    settings = alert_settings(receiver.port)
    with api(filled, settings) as client:
        client.post("alerts", json={"event": "e1", "channel": "webhook", "address": receiver.url})
        change(filled)
        wait_until(lambda: receiver.accepted())
        sender = client.app.state.isogloss.alerts
        assert sender.alive
    assert not sender.alive


class MailServer:
    """An SMTP server that keeps what it gets."""

    def __init__(self):
        self.mails, self.recipients, self.refuse = [], [], False
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as lines:
                self._talk(lines)

    def _talk(self, lines):
        def say(text):
            lines.write(f"{text}\r\n".encode())
            lines.flush()

        say("220 here")
        while line := lines.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                say("354 go on")
                body = b""
                while (part := lines.readline()) != b".\r\n":
                    body += part
                self.mails.append(email.message_from_bytes(body, policy=email.policy.default))
                say("250 taken")
            elif verb == b"RCPT":
                self.recipients.append(line.strip())
                say("550 no" if self.refuse else "250 yes")
            elif verb == b"QUIT":
                say("221 bye")
                return
            else:
                say("250 yes")

    def close(self):
        self.socket.close()


@pytest.fixture
def mails():
    server = MailServer()
    yield server
    server.close()


def mail_settings(mails):
    mail = MailSettings(host="127.0.0.1", port=mails.port, security="none", sender="isogloss@gull.example")
    return Settings(mail=mail)


def test_an_email_is_a_digest_of_what_changed(filled, mails):
    settings = mail_settings(mails)
    with api(filled, settings) as client:
        saved = client.post("searches", json={"name": "all", "query": {}}).json()["id"]
    follow(filled, settings, search=saved, channel="mail", address="desk@gull.example", minutes=60)
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    hostile = "Storm\r\nBcc: everyone@x.example\r\n\r\n<script>"
    change(filled, "e1", title=hostile)
    change(filled, "e2", title="Vote")
    assert sender.work()
    (mail,) = mails.mails
    assert mail["Subject"] == "isogloss: Storm Bcc: everyone@x.example <script> and 1 more"
    assert (mail["To"], mail["From"], mail["Bcc"]) == ("desk@gull.example", "isogloss@gull.example", None)
    assert mails.recipients == [b"rcpt TO:<desk@gull.example>"]
    assert "/event/e1" in mail.get_content()
    assert "Vote" in mail.get_content()
    change(filled, "e1")
    clock.now += 3599
    assert not sender.work()
    clock.now += 2
    assert sender.work()
    assert len(mails.mails) == 2
    assert len({mail["Message-ID"] for mail in mails.mails}) == 2


def test_a_mail_that_is_refused_is_tried_again_under_one_id(filled, mails):
    settings = mail_settings(mails)
    follow(filled, settings, event="e1", channel="mail", address="desk@gull.example")
    clock = Clock()
    sender = sender_of(filled, settings, clock)
    change(filled)
    mails.refuse = True
    assert sender.work()
    with filled.database.read() as session:
        assert "the e-mail was not sent" in list_alerts(session)[0].error
    mails.refuse = False
    clock.now += timedelta(hours=1).total_seconds()
    assert sender.work()
    assert len(mails.mails) == 1
    assert waiting(filled) == []


@pytest.mark.parametrize(
    "address",
    [
        "desk",
        "a@b@c",
        "desk@gull.example\r\nBcc: x@y.example",
        "<a@b.example>",
        "a@b.example, c@d.example",
        "ü@b",
    ],
)
def test_addresses_that_are_no_address_are_refused(mails, address):
    with pytest.raises(ValueError, match="is not an e-mail address"):
        check_address(mail_settings(mails), "mail", address)


def test_sqlite_and_postgres_keep_the_same_outbox(database, receiver):
    settings = alert_settings(receiver.port)
    store = Store(database)
    data.fill(store)
    follow(store, settings, event="e1", channel="webhook", address=receiver.url)
    first = change(store)
    clock = Clock()
    sender = sender_of(store, settings, clock)
    receiver.answers = [(500, {})]
    assert sender.work()
    second = [change(store), change(store)][-1]
    clock.now += 1
    assert sender.work()
    assert sender.work()
    assert [told["changed"] for told in receiver.accepted()] == [first, second]
    assert waiting(store) == []
