"""feeds and newsroom: from a list of feeds to pages of events, in one command."""

import json
import re
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi")
pytest.importorskip("feedparser")
pytest.importorskip("trafilatura")
pytest.importorskip("protego")

from isogloss.cli.app import app
from isogloss.exceptions import FeedError, SettingsError, StoreError
from isogloss.feeds import starter_list
from isogloss.service.client import Client
from isogloss.service.settings import Settings
from isogloss.store import Store
from tests.cli.test_serving import Process
from tests.waiting import wait_until

runner = CliRunner()
STORY = {
    "en": "The storm Ottilie took the roofs of two houses in Karlovo on Monday, officials in Karlovo said. ",
    "de": "Der Sturm Ottilie hat am Montag in Karlovo zwei Dächer abgedeckt, sagten Behörden in Karlovo. ",
}
TITLE = {"en": "Storm Ottilie in Karlovo", "de": "Sturm Ottilie in Karlovo"}


class Papers(BaseHTTPRequestHandler):
    """Two papers in two languages, with feeds, pages and a robots.txt."""

    def do_GET(self):
        lang = self.path.strip("/")[:2]
        base = f"http://{self.headers['Host']}"
        if self.path.endswith("/feed"):
            item = (
                f"<title>{TITLE[lang]}</title><link>{base}/{lang}/1</link><description>Brief.</description>"
            )
            channel = f"<title>Paper</title><language>{lang}</language><item>{item}"
            body = f"<rss><channel>{channel}<pubDate>{formatdate()}</pubDate></item></channel></rss>"
        elif lang in STORY:
            body = f"<html><body><nav>Menu</nav><article><p>{STORY[lang] * 4}</p></article></body></html>"
        else:
            body = ""
        content = body.encode()
        self.send_response(200 if body else 404)
        self.send_header(
            "Content-Type", "text/xml" if body.startswith("<rss") else "text/html; charset=utf-8"
        )
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with ThreadingHTTPServer(("127.0.0.1", 0), Papers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOGLOSS_FEEDS__HOST_PAUSE_SECONDS", "0")
    return tmp_path


def run(*arguments, code=0):
    result = runner.invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


def refused(kind, said, *arguments):
    result = runner.invoke(app, [str(each) for each in arguments])
    assert isinstance(result.exception, kind), result.output
    assert said in str(result.exception)


def test_one_command_from_a_list_of_feeds_to_events(here, site):
    (here / "feeds.txt").write_text(
        f"# Papers\n{site}/en/feed The Gull\n{site}/de/feed Die Möwe\n{site}/none\n"
    )
    process = Process(here / "log", "newsroom", "feeds.txt", "--private", "--port", 0)
    try:
        with Client(process.url()) as client:
            wait_until(lambda: len(client.articles()["articles"]) == 2)
            bodies = {client.article(number)["body"] for number in (1, 2)}
            assert bodies == {(text * 4).strip() for text in STORY.values()}
            wait_until(lambda: client.events()["events"])
        assert process.stop() == 0
    finally:
        process.end()
    settings = Settings.load(here / "isogloss.toml")
    assert settings.feeds.file == "feeds.txt"
    assert "answered 404" in process.log.read_text()
    records = json.loads(run("feeds", "list", "--json"))["feeds"]
    assert {(each["url"], each["status"], each["articles"]) for each in records} == {
        (f"{site}/en/feed", "ok", 1),
        (f"{site}/de/feed", "ok", 1),
        (f"{site}/none", "failing", 0),
    }


def test_what_exists_is_kept(here, site):
    """The settings name other feeds; the store has an article."""
    settings = "[feeds]\nurls = ['https://other.example/feed']\npages = false\n"
    (here / "isogloss.toml").write_text(settings)
    with Store("isogloss.db") as store:
        store.add_feeds({"https://old.example/feed": "Old"})
    process = Process(here / "log", "newsroom", f"{site}/en/feed", "--private", "--port", 0, "--json")
    try:
        assert json.loads(process.line('"url"'))["url"].startswith("http://127.0.0.1:")
        visit = json.loads(process.line("/en/feed"))
        assert (visit["url"], visit["new"], visit["pages"]) == (f"{site}/en/feed", 1, 0)
        assert process.stop() == 0
    finally:
        process.end()
    assert (here / "isogloss.toml").read_text() == settings
    with Store("isogloss.db") as store:
        assert {each.url for each in store.feed_health()} == {"https://old.example/feed", f"{site}/en/feed"}


@pytest.mark.parametrize("command", [["newsroom", "--port", "0"], ["watch", "--once"], ["feeds", "check"]])
def test_bad_lists_are_refused_before_anything_is_written(here, command):
    (here / "bomb.opml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><opml>&a;</opml>')
    (here / "page.html").write_text("<html/>")
    refused(SettingsError, "isogloss feeds starter FILE writes a list", *command)
    refused(FeedError, "nothing.opml: neither a file nor a URL", *command, "nothing.opml")
    refused(FeedError, "bomb.opml: the XML declares an entity", *command, "bomb.opml")
    refused(FeedError, "page.html: the root is <html>", *command, "page.html")
    refused(SettingsError, "not a URL", *command, "https://a.example/\x07")
    assert sorted(path.name for path in here.iterdir()) == ["bomb.opml", "page.html"]


def test_settings_limit_the_number_of_feeds(here):
    (here / "isogloss.toml").write_text("[feeds]\nmax_feeds = 2\nfile = 'feeds.txt'\n")
    (here / "feeds.txt").write_text("".join(f"https://a.example/{n}\n" for n in range(3)))
    refused(FeedError, "has 3 feeds; at most 2 are watched", "watch", "--once")
    urls = [f"https://b.example/{n}" for n in range(3)]
    refused(SettingsError, "3 feeds; feeds.max_feeds allows 2", "watch", "--once", *urls)


def test_new_settings_name_one_list(here):
    for name in "ab":
        (here / name).write_text(f"https://{name}.example/feed\n")
    refused(SettingsError, "a new settings file names one list of feeds", "newsroom", "a", "b", "--port", "0")


def test_a_check_stores_nothing(here, site):
    (here / "feeds.txt").write_text(f"{site}/en/feed\n{site}/en/1\n{site}/none\nnonsense\n")
    result = runner.invoke(app, ["feeds", "check", "feeds.txt", "--private", "--json"])
    assert result.exit_code == 1
    good, page, none = json.loads(result.stdout)["feeds"]
    assert (good["title"], good["entries"], good["languages"], good["error"]) == ("Paper", 1, ["en"], "")
    assert "it is not an RSS or Atom feed" in page["error"]
    assert "answered 404" in none["error"]
    assert "left out: feeds.txt:4: 'nonsense'" in result.stderr
    assert "1 feed can be read, 2 failed" in run("feeds", "check", "feeds.txt", "--private", code=1)
    assert (
        json.loads(run("feeds", "check", f"{site}/de/feed", "--private", "--json"))["feeds"][0]["error"] == ""
    )
    assert [path.name for path in here.iterdir()] == ["feeds.txt"]


def test_private_addresses_are_refused_with_a_sentence(site):
    said = run("feeds", "check", "http://localhost/feed", "http://10.0.0.1/feed", f"{site}/en/feed", code=1)
    assert said.count("is not a public address; only public addresses are allowed, unless") == 2
    assert re.search(r"port \d+ is not among \[80, 443\]; .* with --private", said)


def test_the_health_of_feeds_as_a_table(here):
    refused(StoreError, "no such store", "feeds", "list")
    with Store("isogloss.db") as store:
        assert "no feeds yet" in run("feeds", "list")
        store.add_feeds({"https://a.example/feed": "The Gull"})
        state = {
            "title": "[b]Evil\x1b[2J",
            "visited": 9.0,
            "failures": 3,
            "error": "answered 500",
            "due": 9e9,
        }
        store.save_feed("https://b.example/feed", state)
    said = run("feeds", "list")
    assert re.search(r"The Gull +new +0", said)
    assert "[b]Evil" in said
    assert "\x1b" not in said
    assert "answered 500 (failed 3 times; last success: never)" in said
    assert "The Gull" not in run("feeds", "list", "--failing")


def test_the_starter_list_is_never_written_over_a_file(here):
    said = run("feeds", "starter", "feeds.txt")
    assert "isogloss newsroom feeds.txt" in said
    assert (here / "feeds.txt").read_text("utf-8") == starter_list()
    refused(FeedError, "feeds.txt: already exists", "feeds", "starter", "feeds.txt")
    assert run("feeds", "starter", "-") == starter_list()
