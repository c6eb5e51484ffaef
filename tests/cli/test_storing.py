"""init, ingest, watch, backup, restore, doctor, events list: what they print, keep and refuse."""

import json
import threading
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import typer
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.cli.news._events import events_group
from isogloss.cli.news._stored import list_events
from isogloss.events.annotate import Annotator
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ArticleError, IsoglossError, SettingsError, StoreError, StoreVersionError
from isogloss.service.worker import Lease
from isogloss.store import Store

runner = CliRunner()
ARTICLES = sample_news().articles[:24]
LATER = {"id": "later", "lang": "en", "title": "A year later", "time": "2026-04-01T08:00:00Z"}
listing = typer.Typer()
listing.command()(list_events)


def run(*arguments, code=0, of=app):
    result = runner.invoke(of, [str(each) for each in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def told(*arguments, of=app):
    return json.loads(run(*arguments, "--json", of=of))


def refused(kind, said, *arguments, of=app):
    result = runner.invoke(of, [str(each) for each in arguments])
    assert isinstance(result.exception, kind), result.output
    assert said in str(result.exception)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def news(tmp_path):
    path = tmp_path / "news.jsonl"
    path.write_text("".join(json.dumps(article.as_record()) + "\n" for article in ARTICLES))
    return path


def fail_at(monkeypatch, is_bad):
    """Have the analysis of some articles raise an error."""
    sound = Annotator.annotate

    def annotate(self, article):
        if is_bad(article):
            raise ValueError("no dictionary")
        return sound(self, article)

    monkeypatch.setattr(Annotator, "annotate", annotate)


def test_ingest_fails_and_doctor_complains_if_no_article_can_be_processed(news, monkeypatch):
    fail_at(monkeypatch, lambda _: True)
    for _ in range(2):  # what was stored before is not processed either
        refused(ArticleError, "24 articles stored, but none could be processed (ValueError", "ingest", news)
    report = json.loads(run("doctor", "--json", code=1))
    assert "24 of 24 articles are in quarantine" in report["troubles"][0]
    assert "24 articles in quarantine" in run("doctor", code=1)


def test_ingest_counts_the_articles_that_could_not_be_processed(news, monkeypatch):
    fail_at(monkeypatch, lambda article: article.title == ARTICLES[0].title)
    assert told("ingest", news)["quarantined"] == 1
    report = told("doctor")
    assert (report["troubles"], report["quarantined_articles"]) == ([], 1)
    result = runner.invoke(app, ["ingest", str(news)])
    assert (result.exit_code, result.stdout.count("24 same")) == (0, 1)
    assert "1 article could not be processed and went to the quarantine" in result.stderr


def test_ingest_and_find_say_that_titles_were_cut(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps(ARTICLES[0].as_record() | {"title": "Rain " * 400}) + "\n")
    said = "1 article had a title of more than 1,000 characters (truncated)"
    assert said in run("ingest", path, "--no-events", "--store", "long.db")
    assert told("ingest", path, "--no-events", "--store", "long.db")["cut"] == {"title": 1}
    result = runner.invoke(app, ["events", "find", str(path)])
    assert said in " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A file of a store with events; not to be written to."""
    folder = tmp_path_factory.mktemp("stored")
    source = folder / "news.jsonl"
    source.write_text("".join(json.dumps(article.as_record()) + "\n" for article in ARTICLES))
    run("ingest", source, "--store", folder / "news.db")
    return folder / "news.db"


def test_init_writes_settings_and_a_store(tmp_path):
    assert told("init", "desk") == {"settings": "desk/isogloss.toml", "store": "desk/isogloss.db"}
    text = (tmp_path / "desk" / "isogloss.toml").read_text()
    assert "port = 8470" in text
    assert "# maximum number of articles in one request" in text
    refused(SettingsError, "desk/isogloss.toml: already exists", "init", "desk")
    assert "next: isogloss ingest NEWS.jsonl, then isogloss serve\n" in run("init")
    assert "ingest NEWS.jsonl -c two/isogloss.toml, then isogloss serve -c two/isogloss.toml" in run(
        "init", "two"
    )


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "desk").write_text("a file")
    refused(SettingsError, "desk: cannot create or write to this folder", "init", "desk")
    assert (tmp_path / "desk").read_text() == "a file"


def test_the_store_is_beside_its_settings_wherever_the_command_runs(tmp_path, news):
    run("init", "desk")
    run("ingest", news, "--no-events", "-c", "desk/isogloss.toml")
    assert not (tmp_path / "isogloss.db").exists()
    with Store(tmp_path / "desk" / "isogloss.db") as store:
        assert store.counts()["article"] == len(ARTICLES)


def test_files_that_settings_name_are_beside_them(tmp_path):
    from isogloss.cli.store._options import load_settings

    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "a.toml").write_text(
        '[store]\nplace = "postgresql://db/news"\n[models]\nsimilarity = "m.isogloss"\n'
        'aligners = ["en-de.isogloss", "/models/en-fr.isogloss"]\n'
    )
    settings = load_settings(tmp_path / "desk" / "a.toml")
    assert settings.store.place == "postgresql://db/news"
    assert settings.models.similarity == str(tmp_path / "desk" / "m.isogloss")
    assert settings.models.aligners == [str(tmp_path / "desk" / "en-de.isogloss"), "/models/en-fr.isogloss"]
    assert settings.models.report == ""


def test_ingest_twice_is_ingest_once(news):
    first = told("ingest", news, "--store", "a.db")
    assert first["articles"] == {"new": len(ARTICLES)}
    assert first["events_made"] is True
    assert first["store"]["event"] > 0
    second = told("ingest", news, "--store", "a.db")
    assert second["articles"] == {"same": len(ARTICLES)}
    assert second["store"] == first["store"]
    assert run("ingest", news, "--store", "a.db").startswith(f"0 new, 0 revised, {len(ARTICLES)} same;")


def test_what_is_no_article_goes_to_the_quarantine(news):
    with news.open("a") as file:
        file.write('{"title": "no time"}\nno JSON\n')
    result = told("ingest", news, "--store", "a.db", "--no-events")
    assert result["articles"] == {"new": len(ARTICLES)}
    assert sum(result["left_out"].values()) == result["store"]["quarantine"] == 2
    with Store("a.db") as store:
        assert {row["reason"] for row in store.quarantined()} == set(result["left_out"])
    text = run("doctor", "--store", "a.db")
    assert "without time: " in text
    assert 'field "time" is missing' in text


@pytest.mark.parametrize("articles", [0, 1])
def test_every_record_that_is_refused_is_kept(tmp_path, monkeypatch, articles):
    monkeypatch.setattr("isogloss.cli.store._ingest.MAX_PENDING_RECORDS", 7)
    most = []
    real = Store.add

    def add(store, items, **how):
        most.append(len(how.get("refused", ())))
        return real(store, items, **how)

    monkeypatch.setattr(Store, "add", add)
    lines = [json.dumps({"title": f"without a time, {number}"}) for number in range(50)]
    lines[20:20] = [json.dumps(ARTICLES[0].as_record())] * articles
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    result = runner.invoke(app, ["ingest", "bad.jsonl", "--store", "a.db", "--no-events"])
    assert (result.exit_code == 0) == bool(articles)
    said = f"{result.stderr}{result.exception}"
    assert "50 records left out" in said
    assert "bad.jsonl:1: " in said
    assert max(most) <= 7
    monkeypatch.undo()
    with Store(tmp_path / "a.db") as store:
        kept = store.quarantined(100)
    assert [int(json.loads(row["record"]).split("time, ")[1][:-2]) for row in kept] == [*range(49, -1, -1)]
    assert kept[-1]["said"].startswith("bad.jsonl:1: ")


def test_ingest_leaves_events_to_the_worker_that_follows(news):
    with Store("a.db") as store, Lease(store) as mine:
        assert mine
        result = told("ingest", news, "--store", "a.db")
        assert (result["events_made"], result["store"]["event"]) == (False, 0)
        assert "another worker is processing this store" in run("ingest", news, "--store", "a.db")
    assert told("ingest", news, "--store", "a.db")["store"]["event"] > 0


def test_ingest_reads_standard_input():
    line = json.dumps(ARTICLES[0].as_record())
    result = runner.invoke(app, ["ingest", "-", "--store", "a.db", "--no-events", "--json"], input=line)
    assert json.loads(result.stdout)["articles"] == {"new": 1}


def test_mistakes_say_what_to_do(tmp_path, news):
    refused(SettingsError, "isogloss init writes a settings file", "ingest", news, "-c", "none.toml")
    (tmp_path / "bad.toml").write_text("[server]\nprt = 1\n")
    refused(SettingsError, "server.prt is not a setting", "doctor", "-c", "bad.toml")
    (tmp_path / "bad.toml").write_text("[server\n")
    refused(SettingsError, "is not valid TOML", "serve", "-c", "bad.toml")
    refused(StoreError, "a writable folder", "ingest", news, "--store", "no/where.db")
    refused(IsoglossError, "none.jsonl", "ingest", news, "none.jsonl", "--store", "a.db")
    assert not (tmp_path / "a.db").exists()
    Store("a.db").close()
    refused(StoreError, "expected a file name or postgresql", "ingest", news, "--store", "mysql://x")
    refused(SettingsError, "no feeds to visit", "watch", "--store", "a.db")
    refused(StoreError, "the folder no does not exist", "backup", "no/copy.db", "--store", "a.db")


@pytest.mark.parametrize("command", [["doctor"], ["backup", "copy.db"], ["token", "list"]])
def test_a_store_that_is_not_there_is_not_made(tmp_path, command):
    refused(StoreError, "create one with isogloss init", *command, "--store", "none.db")
    assert not (tmp_path / "none.db").exists()


def test_a_store_of_a_newer_version_is_refused():
    with Store("a.db") as store, store.database.write() as session:
        session.run("INSERT INTO schema_version VALUES (99)")
    refused(StoreVersionError, "install a newer isogloss", "doctor", "--store", "a.db")


def test_a_copy_and_back(tmp_path, stored):
    copy = told("backup", "copy.db", "--store", stored)
    assert copy == {"copy": "copy.db", "bytes": (tmp_path / "copy.db").stat().st_size}
    refused(StoreError, "already exists", "backup", "copy.db", "--store", stored)
    assert told("restore", "copy.db", "--store", "back.db") == {"store": "back.db"}
    refused(StoreError, "move it away first", "restore", "copy.db", "--store", "back.db")
    (tmp_path / "junk").write_text("junk")
    refused(StoreError, "is not a backup of a store", "restore", "junk", "--store", "other.db")
    assert told("doctor", "--store", "back.db")["counts"] == told("doctor", "--store", stored)["counts"]


def test_doctor_finds_no_trouble(stored):
    text = run("doctor", "--store", stored)
    assert text.startswith("SQLite ")
    assert f"{len(ARTICLES)} article" in text
    assert text.endswith("no problems found\n")


def test_doctor_finds_trouble(news):
    run("ingest", news, "--store", "a.db", "--no-events")
    with Store("a.db") as store, store.database.write() as session:
        session.run("DELETE FROM journal WHERE article = 1")
    assert "problem: 1 articles without a journal line" in run("doctor", "--store", "a.db", code=1)


def test_doctor_forget_is_the_old_name_of_prune(tmp_path, news):
    run("ingest", news, "--store", "a.db")
    news.write_text(json.dumps(LATER))
    (tmp_path / "isogloss.toml").write_text('[store]\nplace = "a.db"\nkeep_days = 90\nforget_hours = 24.0\n')
    run("ingest", news)
    result = runner.invoke(app, ["doctor", "--forget", "--json"])
    assert "doctor --forget is now isogloss prune --yes" in result.stderr
    gone = json.loads(result.stdout)
    assert (gone["pruned"], gone["counts"]["article"]) == (len(ARTICLES), 1)


def test_doctor_says_what_the_next_run_would_delete(tmp_path, news):
    run("ingest", news, "--store", "a.db")
    assert "retention: everything is kept" in run("doctor", "--store", "a.db")
    assert told("doctor", "--store", "a.db")["retention"] == {"keep_days": 0}
    news.write_text(json.dumps(LATER))
    (tmp_path / "isogloss.toml").write_text('[store]\nplace = "a.db"\nkeep_days = 90\n')
    run("ingest", news)
    text = run("doctor")
    assert f"retention: 90 days; the next run would delete {len(ARTICLES)} of {len(ARTICLES) + 1} " in text
    assert "retention needs isogloss prune --yes: it would delete" in text
    assert told("doctor")["retention"]["articles"] == len(ARTICLES)
    run("prune", "--yes")
    assert "the next run would delete no article" in run("doctor")
    assert "needs" not in run("doctor")


def events_of(place):
    return [(event["id"], event["size"], event["title"]) for event in listed("--store", place)]


def listed(*arguments):
    return told(*arguments, of=listing)["events"]


def test_doctor_rebuilds_the_events(tmp_path, news):
    run("ingest", news, "--store", "a.db")
    before = events_of("a.db")
    with Store("a.db") as store, Lease(store):
        refused(StoreError, "stop it, then rebuild", "doctor", "--rebuild", "--store", "a.db")
    with Store("a.db") as store, store.database.write() as session:
        session.run("UPDATE event SET size = 77")
    run("doctor", "--rebuild", "--store", "a.db")
    assert events_of("a.db") == before


def test_settings_of_the_stream_hold_when_events_are_made(tmp_path, news):
    """No pair of clusters is certain to be one event: with the largest threshold every one is its own."""
    (tmp_path / "isogloss.toml").write_text('[store]\nplace = "a.db"\n[stream]\nthreshold = 1.0\n')
    run("ingest", news)
    assert max(event["languages_count"] for event in listed()) == 1


def test_events_of_a_store(stored):
    everything = listed("--store", stored, "--limit", 500)
    assert len(everything) == told("doctor", "--store", stored)["counts"]["event"] > 1
    assert listed("--store", stored, "-n", 1) == everything[:1]
    german = listed("--store", stored, "--lang", "de")
    assert german
    assert all("de" in event["languages"] for event in german)
    both = listed("--store", stored, "--lang", "de", "--lang", "en")
    assert 0 < len(both) <= len(german)
    assert listed("--store", stored, "--since", "2030-01-01") == []
    assert listed("--store", stored, "--until", "2030-01-01") == everything[:20]
    assert all(event["languages_count"] > 1 for event in listed("--store", stored, "--min-languages", 2))
    refused(StoreError, "sort is 'name'", "--store", stored, "--sort", "name", of=listing)
    assert run("--store", stored, "--lang", "ja", of=listing) == "no events found\n"
    assert everything[0]["id"] in run("--store", stored, of=listing)


@pytest.mark.parametrize("text", ["yesterday", "2011", "2025-13-01"])
def test_a_time_that_is_none_is_refused(stored, text):
    failed = CliRunner().invoke(events_group, ["list", "--store", str(stored), "--since", text])
    assert failed.exit_code == 2
    assert "expected one such as 2025-03-05" in " ".join(failed.stderr.replace("│", " ").split())


def test_events_of_a_store_by_names_and_times_as_the_api_has_them(stored):
    everything = listed("--store", stored, "--limit", 500)
    assert listed("--store", stored, "--lang", "DEU") == listed("--store", stored, "--lang", "de")
    for event in everything:
        assert datetime.fromisoformat(event["first"]) <= datetime.fromisoformat(event["last"])
    last = datetime.fromisoformat(everything[0]["last"])
    found = listed("--store", stored, "--since", f"{last:%Y-%m-%dT%H:%M:%S}")
    assert found[:1] == everything[:1]
    assert listed("--store", stored, "--since", "0001-01-01", "--until", "9999-12-31") == everything[:20]
    zoned = last.replace(microsecond=0).astimezone(timezone(timedelta(hours=2)))
    assert listed("--store", stored, "--since", zoned.isoformat()) == found
    first = min(datetime.fromisoformat(event["first"]) for event in everything)
    assert listed("--store", stored, "--until", f"{first:%Y-%m-%d}")
    place = next(event["places"][0] for event in everything if event["places"])
    by_name = listed("--store", stored, "--place", place["name"])
    assert by_name
    assert by_name == listed("--store", stored, "--place", place["id"])
    assert listed("--store", stored, "--concept", "no such thing") == []
    refused(ValueError, "near ones: en", "--store", stored, "--lang", "Englisch", of=listing)


def test_pages_of_events_join_to_the_whole(stored, monkeypatch):
    everything = listed("--store", stored, "--limit", 500)
    monkeypatch.setattr("isogloss.cli.news._stored.PAGE", 3)
    assert listed("--store", stored, "--limit", 500) == everything
    assert listed("--store", stored, "--limit", 4) == everything[:4]


FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>The Gull</title><language>en</language>
<item><guid>1</guid><title>Rain on Monday</title><description>It rains on the coast, and it will go on.
</description><pubDate>Wed, 05 Mar 2025 08:00:00 GMT</pubDate></item>
<item><guid>2</guid><title>No time</title><description>This one does not say when.</description></item>
</channel></rss>"""


class Feed(BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path == "/feed"
        body = FEED.encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with ThreadingHTTPServer(("127.0.0.1", 0), Feed) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def need_feeds():
    for name in ("feedparser", "trafilatura", "protego"):
        pytest.importorskip(name)


def test_watch_puts_what_is_new_into_the_store(site):
    need_feeds()
    feed = f"{site}/feed"
    visit = ["watch", feed, f"{site}/none", "--once", "--private", "--store", "a.db", "--json"]
    other, one = sorted(map(json.loads, run(*visit).splitlines()), key=lambda each: each["new"])
    counts = {"new": 1, "revised": 0, "left_out": 1, "pages": 0, "summaries": 2}
    assert one == {"url": feed, **counts, "error": ""}
    assert other["url"] == f"{site}/none"
    assert "404" in other["error"]
    with Store("a.db") as store:
        assert [entry.article.title for entry in store.journal() if entry.article] == ["Rain on Monday"]
        assert store.counts()["quarantine"] == 1
        assert list(store.feeds()[feed]["seen"]) == [f"{site}/1", f"{site}/2"]
        assert store.feeds()[f"{site}/none"]["failures"] == 1
    again = [json.loads(line) for line in run(*visit).splitlines()]
    assert [each["url"] for each in again] == [feed, f"{site}/none"]
    assert all(datetime.fromisoformat(each["due"]) > datetime.now(UTC) for each in again)
    assert "visited recently" in run(*visit[:-1])


def test_watch_takes_no_text_that_is_no_url():
    refused(SettingsError, "not a URL", "watch", "http://a.example/\udcff", "--once", "--store", "a.db")


def test_watch_takes_feeds_of_the_settings(tmp_path, site):
    need_feeds()
    (tmp_path / "isogloss.toml").write_text(f'[feeds]\nurls = ["{site}/feed"]\n')
    said = run("watch", "--once", "--private").splitlines()
    visit = f"{site}/feed: 1 new, 2 without the text of their page"
    assert said == [visit, "the store has 1 article and 1 event"]


def test_watch_makes_events_as_ingest_does(site):
    need_feeds()
    feed = ["watch", f"{site}/feed", "--once", "--private", "--store", "a.db"]
    run(*feed, "--no-events")
    assert told("events", "list", "--store", "a.db")["events"] == []
    run(*feed)  # nothing is new, and the article of the last visit waits
    (event,) = told("events", "list", "--store", "a.db")["events"]
    assert event["size"] == 1
    (lang,) = event["languages"]
    assert told("events", "list", "--store", "a.db", "--without", lang)["events"] == []
    assert told("events", "list", "--store", "a.db", "--without", "sl")["events"] == [event]


def test_watch_leaves_events_to_the_worker_that_follows(site):
    need_feeds()
    with Store("a.db") as store, Lease(store):
        run("watch", f"{site}/feed", "--once", "--private", "--store", "a.db")
        assert store.counts()["event"] == 0


def test_watch_visits_private_addresses_only_on_request(site):
    port = site.rpartition(":")[2]
    assert f"port {port} is not among" in run("watch", f"{site}/feed", "--once", "--store", "a.db", code=1)
    assert "not a public address" in run(
        "watch", "http://127.0.0.1/feed", "--once", "--store", "b.db", code=1
    )


def test_reprints_belong_to_their_event(tmp_path):
    news = sample_news()
    articles = news.articles[:60]
    source = tmp_path / "many.jsonl"
    source.write_text("".join(json.dumps(article.as_record()) + "\n" for article in articles))
    run("ingest", source, "--store", "many.db")
    events = json.loads(run("events", "list", "--store", "many.db", "-n", 100, "--json"))["events"]
    reprints = {one: first for one, first in news.reprints.items() if one in {a.id for a in articles}}
    assert sum(event["reprints"] for event in events) == len(reprints) > 0
    assert sum(event["size"] + event["reprints"] for event in events) == 60
    repeated = next(event for event in events if event["reprints"])
    shown = run("events", "list", "--store", "many.db", "-n", 100)
    assert f"{repeated['size'] + repeated['reprints']} ({repeated['reprints']})" in shown
    fastapi = pytest.importorskip("fastapi.testclient", reason="needs the extra isogloss[service]")
    from isogloss.service.app import create_app
    from isogloss.service.settings import Settings

    with Store("many.db") as store, fastapi.TestClient(create_app(Settings(), store)) as client:
        client.headers["host"] = "127.0.0.1:8470"
        answers = [client.get(f"/api/v1/events/{event['id']}").json() for event in events]
        numbers = {seq: article.id for seq, article in store.articles(range(1, 61)).items()}
    assert [answer["reprints"] for answer in answers] == [event["reprints"] for event in events]
    found = {
        numbers[line["seq"]]: numbers[line["reprint_of"]]
        for answer in answers
        for line in answer["articles"]
        if line["reprint_of"] is not None
    }
    assert found == reprints
