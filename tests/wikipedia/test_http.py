"""Downloads from a mirror that fails in every way we could think of."""

import json
import shutil

import pytest

from isogloss.exceptions import CorpusError
from isogloss.wikipedia import DumpFile, Mirror, Need, needed_files, write_sample
from isogloss.wikipedia import _http as http
from tests.wikipedia.mirror import FaultyMirror

NAME = "slwiki-20250101-pages-articles-multistream.xml.bz2"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps") / "mirror"
    write_sample(folder, ["en", "sl"], concepts=40, words=300, length=40)
    return folder


@pytest.fixture
def server(dumps, tmp_path):
    mirror = FaultyMirror(shutil.copytree(dumps, tmp_path / "mirror"))
    yield mirror
    mirror.close()


@pytest.fixture
def waits():
    return []


@pytest.fixture
def mirror(server, waits):
    return Mirror(server.url, contact="me@example.org", sleep=waits.append)


@pytest.fixture
def file(mirror):
    return next(each for each in mirror.find(needed_files(["en", "sl"], "wikidata")) if each.name == NAME)


def original(server):
    return (server.folder / "slwiki" / "20250101" / NAME).read_bytes()


def test_files_are_found_with_their_sizes(mirror, server):
    found = mirror.find(needed_files(["en", "sl"], "langlinks"))
    assert len(found) == 8
    assert {each.date for each in found} == {"20250101"}
    sizes = {path.name: path.stat().st_size for path in server.folder.rglob("*wiki-*")}
    assert all(each.size == sizes[each.name] and each.sha1 for each in found)
    agents = {headers["User-Agent"] for _, headers in server.requests}
    assert agents == {"isogloss (me@example.org)"}


def test_the_newest_date_whose_files_are_finished_is_taken(mirror, server):
    for date, status in (("20250201", "waiting"), ("20250120", None)):
        folder = shutil.copytree(server.folder / "slwiki" / "20250101", server.folder / "slwiki" / date)
        path = folder / "dumpstatus.json"
        said = json.loads(path.read_text())
        said["jobs"]["sampledump"]["status"] = status
        path.write_text(json.dumps(said))
        if status is None:
            path.unlink()
    need = needed_files(["en", "sl"], "wikidata")[1]
    assert [each.date for each in mirror.find([need])] == ["20250101"]
    with pytest.raises(CorpusError, match=r"slwiki: has no complete dump \(20250201 has no finished slwiki-"):
        mirror.find([need], "20250201")


def test_a_wiki_that_is_not_there(mirror):
    with pytest.raises(CorpusError, match=r"xxwiki/: is not there; check the languages and the mirror"):
        mirror.find([Need("xxwiki", "page.sql.gz")])


def test_a_status_that_is_none(mirror, server):
    (server.folder / "slwiki" / "20250101" / "dumpstatus.json").write_text("<html>")
    with pytest.raises(CorpusError, match=r"dumpstatus\.json: does not list the files of a dump"):
        mirror.find(needed_files(["en", "sl"], "wikidata"))


def test_a_download_lies_where_it_lay_and_is_not_repeated(mirror, server, file, tmp_path):
    arrived = []
    path = mirror.download(file, tmp_path / "dumps", arrived.append)
    assert path == tmp_path / "dumps" / "slwiki" / "20250101" / NAME
    assert path.read_bytes() == original(server)
    assert arrived[-1] == file.size
    assert [each.name for each in path.parent.iterdir()] == [NAME]
    before = len(server.requests)
    assert mirror.download(file, tmp_path / "dumps") == path
    assert len(server.requests) == before


@pytest.mark.parametrize("fault", ["reset", "short"])
def test_a_download_that_breaks_off_goes_on_where_it_stopped(mirror, server, file, tmp_path, fault, waits):
    server.fail(NAME, fault, fault)
    path = mirror.download(file, tmp_path)
    assert path.read_bytes() == original(server)
    first, second, third = server.ranges(NAME)
    assert first is None
    starts = [int(each.removeprefix("bytes=").rstrip("-")) for each in (second, third)]
    assert starts[0] < starts[1] if fault == "short" else starts[0] <= starts[1]
    assert http.FIRST_WAIT_S in waits


def test_another_process_goes_on_where_the_first_stopped(mirror, server, file, tmp_path, monkeypatch):
    monkeypatch.setattr(http, "MAX_FAILURES", 1)
    server.fail(NAME, "short")
    with pytest.raises(CorpusError, match="the same command goes on from there"):
        mirror.download(file, tmp_path)
    part = tmp_path / "slwiki" / "20250101" / f"{NAME}.part"
    assert part.stat().st_size == file.size // 2
    assert not part.with_name(NAME).exists()
    mirror.download(file, tmp_path)
    assert server.ranges(NAME)[-1] == f"bytes={file.size // 2}-"


def test_a_server_that_ignores_ranges_sends_all_again(mirror, server, file, tmp_path):
    server.fail(NAME, "short", "whole")
    assert mirror.download(file, tmp_path).read_bytes() == original(server)


def test_a_server_that_sends_another_range(mirror, server, file, tmp_path):
    server.fail(NAME, "short", "other range")
    assert mirror.download(file, tmp_path).read_bytes() == original(server)


def test_a_file_that_changes_between_attempts_is_begun_again(mirror, server, file, tmp_path):
    """The first half of one file and the second of another would be neither."""
    path = server.folder / "slwiki" / "20250101" / NAME
    new = path.read_bytes()
    path.write_bytes(bytes(len(new)))
    server.etags[NAME] = '"old"'
    server.fail(NAME, "short")
    turns = []

    def change(seconds):
        if not turns and server.ranges(NAME):
            turns.append(seconds)
            path.write_bytes(new)
            server.etags[NAME] = '"new"'

    other = Mirror(server.url, contact="me@example.org", sleep=change)
    assert other.download(file, tmp_path).read_bytes() == new
    assert turns


def test_a_wrong_digest_is_downloaded_again_once(mirror, server, file, tmp_path):
    server.fail(NAME, "wrong")
    assert mirror.download(file, tmp_path).read_bytes() == original(server)
    server.fail(NAME, "wrong", "wrong")
    with pytest.raises(CorpusError, match=r"its sha1 is \w+, and \w+ is published; .*twice; try later"):
        mirror.download(file, tmp_path / "again")
    assert not list((tmp_path / "again").rglob("*.bz2*"))


def test_a_mirror_without_sha1_is_checked_by_md5(mirror, server, file, tmp_path):
    only_md5 = DumpFile(file.need, file.date, file.size, md5=file.md5)
    server.fail(NAME, "wrong")
    assert mirror.download(only_md5, tmp_path).read_bytes() == original(server)
    assert len(server.ranges(NAME)) == 2


def test_retry_after_is_obeyed(mirror, server, file, tmp_path, waits):
    server.fail(NAME, (503, {"Retry-After": "77"}), (429, {}))
    mirror.download(file, tmp_path)
    assert 77.0 in waits
    server.fail("dumpstatus.json", (503, {"Retry-After": "78"}))
    mirror.find([file.need])
    assert 78.0 in waits


def test_a_server_that_stays_busy_is_given_up(mirror, server, file, tmp_path, waits):
    server.fail(NAME, *[(503, {})] * http.MAX_FAILURES)
    with pytest.raises(CorpusError, match="the server answered 503, 6 times in a row"):
        mirror.download(file, tmp_path)
    backoff = [wait for wait in waits if wait != mirror.pause]
    assert backoff == [http.FIRST_WAIT_S * 2**k for k in range(http.MAX_FAILURES - 1)]


def test_requests_have_pauses_between_them(mirror, file, tmp_path, waits):
    assert waits.count(mirror.pause) >= 3
    mirror.download(file, tmp_path)
    assert waits.count(mirror.pause) >= 4


def test_refusals_say_why(mirror, server, file, tmp_path):
    server.fail(NAME, (403, {}))
    with pytest.raises(CorpusError, match=r"answered 403 .*; name a contact"):
        mirror.download(file, tmp_path)
    (server.folder / "slwiki" / "20250101" / NAME).unlink()
    with pytest.raises(CorpusError, match=r"is not there \(404\); try another mirror"):
        mirror.download(file, tmp_path)


def test_a_file_of_another_size_than_published(mirror, server, file, tmp_path):
    path = server.folder / "slwiki" / "20250101" / NAME
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(CorpusError, match=r"dumpstatus\.json says [\d,]+; the mirror is being updated"):
        mirror.download(file, tmp_path)


def test_what_is_left_of_a_longer_file_is_discarded(mirror, server, file, tmp_path):
    part = tmp_path / "slwiki" / "20250101" / f"{NAME}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(file.size + 10))
    assert mirror.download(file, tmp_path).read_bytes() == original(server)


def test_redirects_lead_to_no_local_file(mirror, server, file, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    server.fail(NAME, (302, {"Location": secret.as_uri()}))
    with pytest.raises(CorpusError):
        mirror.download(file, tmp_path)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("url", ["dumps.wikimedia.org", "ftp://x", "file:///etc", ""])
def test_what_is_no_mirror(url):
    with pytest.raises(CorpusError, match="is not the address of a mirror"):
        Mirror(url)
    with pytest.raises(CorpusError, match="the contact is"):
        Mirror(contact="me\r\nX: y")
