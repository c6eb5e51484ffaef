"""Articles over HTTP: taken, refused, repeated, revised."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

from isogloss.exceptions import StoreError, StoreFullError
from isogloss.service._group_commit import GroupWriter
from isogloss.service.app import create_app
from isogloss.service.auth import make_token
from isogloss.store import list_deletions
from tests.service import data
from tests.waiting import LIMIT_S, wait_until

GOOD = {"id": "90", "lang": "en", "title": "Rain", "time": "2025-03-05T08:40:00Z", "source": "The Gull"}


def test_an_article_is_on_the_disk_when_it_is_acknowledged(client, filled):
    answer = client.post("articles", json=GOOD)
    assert answer.status_code == 202
    (receipt,) = answer.json()["receipts"]
    assert receipt == {"at": 0, "seq": 5, "key": "The Gull 90", "status": "new"}
    assert filled.articles([5])[5].title == "Rain"


def test_a_receipt_names_the_fields_that_were_cut(client, filled):
    long = GOOD | {"title": "Rain " * 400, "body": "It rains."}
    (receipt,) = client.post("articles", json=long).json()["receipts"]
    assert receipt["cut"] == ["title"]
    assert len(filled.articles([receipt["seq"]])[receipt["seq"]].title) <= 1_000
    assert client.post("articles", json=long).json()["receipts"][0]["status"] == "same"


def test_bad_articles_are_refused_alone_and_go_to_the_quarantine(client, filled):
    answer = client.post("articles", json=[GOOD, {"title": "no time"}, 3, GOOD | {"id": "91"}])
    assert answer.status_code == 202
    told = answer.json()
    assert [each["at"] for each in told["receipts"]] == [0, 3]
    assert [(each["at"], each["reason"]) for each in told["refused"]] == [
        (1, "without time"),
        (2, "not an object"),
    ]
    assert {each["reason"] for each in filled.quarantined()} == {"without time", "not an object"}


def test_when_none_can_be_taken_the_request_is_an_error_with_the_reasons(client, filled):
    answer = client.post("articles", json=[{"title": "no time"}])
    assert answer.status_code == 422
    assert answer.json()["error"]["refused"][0]["reason"] == "without time"
    assert len(filled.quarantined()) == 1


@pytest.mark.parametrize(
    ("body", "status"), [("[]", 422), ("", 422), ("{", 422), ("NaN", 422), ("null", 422)]
)
def test_bodies_without_articles(client, body, status):
    answer = client.post("articles", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, "invalid")


@pytest.mark.parametrize(
    ("content", "kind", "status", "said"),
    [
        (b"{", "application/json", 422, "body.1: JSON decode error"),
        (b"\xff", "application/json", 400, "expected JSON in UTF-8"),
        (b"[" + b"9" * 5_000 + b"]", "application/json", 400, "numbers of a reasonable length"),
        (b"null", "application/json", 422, "body: Field required"),
        (b"{}", "text/plain", 422, "the Content-Type is 'text/plain'"),
        (b"{}", "", 422, "the Content-Type is ''"),
    ],
)
def test_an_invalid_body_names_what_is_wrong(client, filled, content, kind, status, said):
    answer = client.post("articles", content=content, headers={"Content-Type": kind} if kind else {})
    assert (answer.status_code, said in answer.json()["error"]["message"]) == (status, True)
    assert filled.quarantined() == []


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "application/vnd.api+json", "Application/JSON"]
)
def test_kinds_of_json(client, kind):
    answer = client.post("articles", content=json.dumps(GOOD), headers={"Content-Type": kind})
    assert answer.status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 201, "two words"])
def test_a_key_that_is_none_is_refused(client, filled, key):
    answer = client.post("articles", json=GOOD, headers={"Idempotency-Key": key})
    assert answer.status_code == 422
    assert [each["where"] for each in answer.json()["error"]["fields"]] == ["header.Idempotency-Key"]
    assert filled.counts()["article"] == 4


def test_writing_needs_a_token_that_may(filled):
    reader, writer = (make_token(filled, [scope]) for scope in ("read", "write"))
    with TestClient(create_app(data.settings(), filled), base_url=data.BASE) as client:
        for token, wanted in (("", 401), ("isg_no_such", 401), (reader, 403), (writer, 202)):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            assert client.post("/api/v1/articles", json=GOOD, headers=headers).status_code == wanted


def test_requests_are_counted_by_their_route(client):
    client.post("articles", json=GOOD)
    named = 'method="POST",route="/api/v1/articles",status="202"'
    assert f"isogloss_requests_total{{{named}}} 1.0" in client.get("metrics").text


def test_too_many_at_once(filled):
    app = create_app(data.settings(batch=2), filled)
    with TestClient(app, base_url=data.BASE) as client:
        assert client.post("/api/v1/articles", json=[GOOD] * 3).status_code == 413
        assert client.post("/api/v1/articles", json=[GOOD] * 2).status_code == 202


def test_a_key_makes_a_request_count_once(client, filled):
    key = {"Idempotency-Key": "k1"}
    first = client.post("articles", json=GOOD, headers=key)
    assert client.post("articles", json=GOOD, headers=key).json() == first.json()
    assert first.json()["receipts"][0]["status"] == "new"
    other = client.post("articles", json=GOOD | {"title": "Snow"}, headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    assert filled.counts()["revision"] == 0


def test_a_key_of_one_client_is_not_one_of_another(filled, client):
    tokens = [client.post("tokens", json={"scopes": ["admin"]}).json()["token"]]
    told = {"Authorization": f"Bearer {tokens[0]}"}
    tokens.append(client.post("tokens", json={"scopes": ["write"]}, headers=told).json()["token"])
    answers = [
        client.post(
            "articles",
            json=GOOD | {"title": f"by {token}"},
            headers={"Idempotency-Key": "same", "Authorization": f"Bearer {token}"},
        )
        for token in tokens
    ]
    assert [answer.status_code for answer in answers] == [202, 202]


def test_revisions_are_shown(client):
    seq = client.post("articles", json=GOOD).json()["receipts"][0]["seq"]
    again = client.post("articles", json=GOOD | {"title": "Snow"}).json()["receipts"][0]
    assert (again["seq"], again["status"]) == (seq, "revised")
    told = client.get(f"articles/{seq}").json()
    assert told["title"] == "Snow"
    assert [each["title"] for each in told["revisions"]] == ["Rain"]


def test_an_article_knows_its_cluster_and_event(client):
    told = client.get("articles/1").json()
    assert (told["cluster"], told["event"], told["time"]) == (1, "e1", "2025-03-05T08:00:00Z")
    assert client.get("articles/99").status_code == 404
    assert client.get(f"articles/{2**70}").status_code == 422


def test_hostile_text_comes_back_as_data(client):
    title = "<script>alert(1)</script>\"'; DROP TABLE article; --\u202e {{7*7}} javascript:alert(1)"
    sent = client.post("articles", json=GOOD | {"title": title, "url": "javascript:alert(1)"})
    seq = sent.json()["receipts"][0]["seq"]
    answer = client.get(f"articles/{seq}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "DROP TABLE article" in answer.json()["title"]
    assert answer.json()["url"] == "javascript:alert(1)"


def test_a_backlog_sends_articles_away_and_not_readers(filled):
    app = create_app(data.settings(backlog=3), filled)
    with TestClient(app, base_url=data.BASE) as client:
        send = lambda n: client.post("/api/v1/articles", json=[GOOD | {"id": f"b{n}{i}"} for i in range(4)])  # noqa: E731
        app.state.isogloss.backlog.ttl_s = 0
        assert send(0).status_code == 202
        refused = send(1)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert client.get("/api/v1/events").status_code == 200
        assert client.get("/api/v1/ready").status_code == 503
        assert filled.counts()["article"] == 8


def test_a_full_disk_is_reported_and_reading_still_works(client, app, monkeypatch):
    def full(*_, **__):
        raise StoreFullError("no room")

    monkeypatch.setattr(app.state.isogloss.writer, "_write", full)
    answer = client.post("articles", json=GOOD)
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "full")
    assert client.get("events").status_code == 200
    monkeypatch.undo()
    assert client.post("articles", json=GOOD).status_code == 202


def hold(writer, monkeypatch):
    """Have the writer wait before its next commit, until the returned event is set."""
    go, write = threading.Event(), writer._write

    def slow(group):
        go.wait(LIMIT_S)
        return write(group)

    monkeypatch.setattr(writer, "_write", slow)
    return go


def waiting(number):
    return [data.article(1000 + number, "en", f"Rain {number}")]


def test_requests_that_wait_share_a_commit(filled, monkeypatch):
    writer = GroupWriter(filled)
    go = hold(writer, monkeypatch)
    answers = [writer.add(waiting(n), key=f"k{n % 20}" if n != 7 else "k3") for n in range(20)]
    assert not any(answer.done() for answer in answers)
    go.set()
    receipts = [answers[n].result(LIMIT_S) for n in range(20) if n != 7]
    assert {each.status for (each,) in receipts} == {"new"}
    with pytest.raises(Exception, match="used for other articles"):
        answers[7].result(LIMIT_S)
    writer.close()
    assert writer.commits <= 2
    assert filled.counts()["article"] == 4 + 19


def test_one_bad_request_takes_nothing_from_the_others(filled, monkeypatch):
    writer = GroupWriter(filled)
    go = hold(writer, monkeypatch)
    first = writer.add(waiting(0))
    bad = writer.add([data.article(1, "en", "\ud800 no text of any database")])
    last = writer.add(waiting(1))
    go.set()
    assert [first.result(LIMIT_S)[0].status, last.result(LIMIT_S)[0].status] == ["new", "new"]
    with pytest.raises(UnicodeEncodeError):
        bad.result(LIMIT_S)
    writer.close()


def test_a_request_that_fails_late_leaves_nothing_behind(filled, monkeypatch):
    def full(*_, **__):
        raise StoreError("too late")

    monkeypatch.setattr("isogloss.store._store._save_answer", full)
    writer = GroupWriter(filled)
    go = hold(writer, monkeypatch)
    late, fine = writer.add(waiting(0), key="k"), writer.add(waiting(1))
    go.set()
    with pytest.raises(StoreError, match="too late"):
        late.result(LIMIT_S)
    assert fine.result(LIMIT_S)[0].status == "new"
    writer.close()
    with filled.database.read() as session:
        assert session.run("SELECT id FROM article WHERE id LIKE '100%'") == [("1001",)]


def test_a_client_that_went_away_before_its_turn_is_left_out(filled, monkeypatch):
    writer = GroupWriter(filled)
    go = hold(writer, monkeypatch)
    first = writer.add(waiting(0))
    wait_until(lambda: not writer._queue.qsize())
    gone, last = writer.add(waiting(1)), writer.add(waiting(2))
    assert gone.cancel()
    go.set()
    assert [first.result(LIMIT_S)[0].status, last.result(LIMIT_S)[0].status] == ["new", "new"]
    writer.close()
    assert filled.counts()["article"] == 6


def test_what_waits_is_committed_before_the_writer_ends(filled, monkeypatch):
    writer = GroupWriter(filled)
    go = hold(writer, monkeypatch)
    answers = [writer.add(waiting(n)) for n in range(5)]
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(writer.close)
        go.set()
        closing.result(LIMIT_S)
    assert all(answer.result(0)[0].status == "new" for answer in answers)
    with pytest.raises(Exception, match="stopping"):
        writer.add(waiting(9))


def test_nothing_is_acknowledged_when_the_commit_fails(filled, monkeypatch):
    writer = GroupWriter(filled)
    begin = filled.database.write

    class Torn:
        def __enter__(self):
            self.inner = begin()
            return self.inner.__enter__()

        def __exit__(self, *_):
            self.inner.__exit__(StoreFullError, StoreFullError("no room"), None)
            raise StoreFullError("no room")

    monkeypatch.setattr(filled.database, "write", Torn)
    answer = writer.add(waiting(0))
    with pytest.raises(StoreFullError):
        answer.result(LIMIT_S)
    writer.close()
    monkeypatch.undo()
    assert filled.counts()["article"] == 4


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [4, 3, 2, 1]),
        ({"event": "e1"}, [3, 2, 1]),
        ({"event": "e0"}, [3, 2, 1]),
        ({"cluster": 1}, [2, 1]),
        ({"cluster": 2, "event": "e1"}, [3]),
        ({"cluster": 3, "event": "e1"}, []),
        ({"event": "none\0"}, []),
        ({"cursor": "3"}, [2, 1]),
    ],
)
def test_articles_of_an_event_or_a_cluster_page_by_page(client, asked, found):
    page = client.get("articles", params=asked).json()
    assert [line["seq"] for line in page["articles"]] == found
    assert page["cursor"] == ""
    seen, cursor = [], asked.get("cursor", "")
    for _ in range(len(found) + 1):
        page = client.get("articles", params={**asked, "limit": 1, "cursor": cursor}).json()
        seen += [line["seq"] for line in page["articles"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert seen == found


@pytest.mark.parametrize("asked", [{"cursor": "x"}, {"cursor": "9" * 19}, {"limit": 0}, {"cluster": -1}])
def test_pages_of_articles_that_cannot_be(client, asked):
    assert client.get("articles", params=asked).status_code == 422


def test_an_article_is_deleted_once_and_not_taken_again(client, filled):
    record = filled.articles([1])[1].as_record()
    assert client.delete("articles/1").status_code == 204
    assert client.get("articles/1").status_code == 404
    assert client.delete("articles/1").status_code == 404
    assert [each["who"] for each in list_deletions(filled)] == ["token local"]
    answer = client.post("articles", json=record)
    assert (answer.status_code, answer.json()["receipts"][0]["status"]) == (202, "deleted")
