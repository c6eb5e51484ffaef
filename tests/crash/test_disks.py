"""A read-only disk and a full disk: every command says so in a sentence, and nothing is lost.

The disks are small file systems in memory, which only root may mount; elsewhere these tests are skipped.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pytest

from isogloss.corpora import save_corpus
from isogloss.events import Journal
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ArticleError, StoreError, StoreFullError
from isogloss.lexicon import write_dictionary, write_vectors
from isogloss.store import Store, back_up, check_store, restore
from isogloss.store.sqlite import MIN_FREE_BYTES, _translate_error
from tests.lexicon.data import dictionary, languages
from tests.similarity.data import comparable_corpus

ARTICLES = sample_news().articles

COMMANDS = {
    "init": ["init", "new"],
    "ingest": ["ingest", "more.jsonl"],
    "watch": ["watch", "http://127.0.0.1:9/feed", "--once", "--private"],
    "serve": ["serve", "--port", "0"],
    "work": ["work", "--once"],
    "doctor": ["doctor"],
    "prune": ["prune", "--keep-days", "1", "--yes"],
    "backup": ["backup", "second.db"],
    "restore": ["restore", "copy.db", "--store", "second.db"],
    "token": ["token", "make", "read"],
    "events": ["events", "more.jsonl", "-o", "events.jsonl"],
    "journal": ["events", "more.jsonl", "--journal", "journal"],
    "align": ["align", "en.txt", "fr.txt", "-o", "links"],
    "corpus": ["corpus", "build", "en.txt", "fr.txt", "-o", "second", "--min-words", "1"],
    "dictionary": [
        *("dictionary", "build", "--src", "en.vec", "--tgt", "it.vec", "--seed", "seed", "-o", "en-it"),
        *("--rounds", "0", "--kind", "procrustes"),
    ],
    "similar": ["similar", "fit", "corpus", "-o", "hub", "-d", "4"],
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with a store, a backup, and what the commands read."""
    folder = tmp_path_factory.mktemp("filled")
    with Store(folder / "isogloss.db") as store:
        store.add(ARTICLES[:30])
        back_up(store, folder / "copy.db")
    (folder / "more.jsonl").write_text("".join(json.dumps(each.as_record()) + "\n" for each in ARTICLES[:40]))
    (folder / "en.txt").write_text("the house\nthe flower\nblue flower\n")
    (folder / "fr.txt").write_text("la maison\nla fleur\nfleur bleue\n")
    for name in ("en", "it"):
        write_vectors(languages()[name], folder / f"{name}.vec")
    write_dictionary(dictionary("en", "it", range(200)), folder / "seed")
    save_corpus(comparable_corpus(n=60, languages=("en", "de")), folder / "corpus")
    return folder


@pytest.fixture
def disk(filled, tmp_path):
    """The folder on a disk of its own of 8 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("a file system can be mounted by root only")
    try:
        shutil.copytree(filled, place, dirs_exist_ok=True)
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(folder):
    with open(folder / "filler", "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_all(folder):
    """Every command, one process for all of them: the exit code of each and what it printed."""
    code = (
        "import contextlib, io, json, sys\n"
        "from isogloss.cli import main\n"
        "done = {}\n"
        "for name, arguments in json.load(sys.stdin).items():\n"
        "    sys.argv, said = ['isogloss', *arguments], io.StringIO()\n"
        "    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):\n"
        "        try:\n"
        "            main()\n"
        "        except SystemExit as end:\n"
        "            done[name] = end.code, said.getvalue()\n"
        "print(json.dumps(done))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(COMMANDS),
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "300"},
    )
    assert done.returncode == 0, done.stderr
    return {name: (code, " ".join(said.split())) for name, (code, said) in json.loads(done.stdout).items()}


def test_every_command_says_that_a_disk_is_read_only(disk):
    before = contents(disk)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for name, (code, said) in run_all(disk).items():
        assert (name, code) == (name, 1), said
        assert "read-only" in said.lower(), (name, said)
        assert "Errno" not in said, (name, said)
    assert contents(disk) == before


def test_a_store_on_a_read_only_disk_can_be_restored_elsewhere(disk, tmp_path):
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with Store(restore(disk / "isogloss.db", tmp_path / "second.db")) as store:
        assert store.counts()["article"] == 30


def test_every_command_says_that_a_disk_is_full_and_continues_when_there_is_room(disk):
    before = contents(disk)
    fill(disk)
    for name, (code, said) in run_all(disk).items():
        assert (name, code) == (name, 1), said
        assert "disk is full" in said or "No space left on device" in said, (name, said)
        assert "Errno" not in said, (name, said)
    (disk / "filler").unlink()
    left = {path.name for path, data in contents(disk).items() if data and path not in before}
    assert left <= {"isogloss.db-shm"}  # which SQLite makes anew; nothing is half-written
    assert {path: contents(disk)[path] for path in before} == before
    with Store(disk / "isogloss.db") as store:
        assert check_store(store) == []
        assert store.counts()["article"] == 30
        store.add(ARTICLES)
        assert store.counts()["article"] == len(ARTICLES)


@pytest.mark.parametrize(
    ("error", "free", "kind", "said"),
    [
        ("SQLITE_READONLY_DBMOVED", 1 << 30, StoreError, "read-only"),
        ("SQLITE_IOERR_SHMSIZE", 0, StoreFullError, "disk is full"),
        ("SQLITE_IOERR_SHMSIZE", MIN_FREE_BYTES, StoreError, "the disk reported an error"),
        ("SQLITE_FULL", 1 << 30, StoreFullError, "disk is full"),
        ("SQLITE_CANTOPEN", 1 << 30, StoreError, "cannot be opened"),
    ],
)
def test_errors_of_the_disk_in_words(tmp_path, monkeypatch, error, free, kind, said):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 40, 0, free))
    raised = sqlite3.OperationalError("it went wrong")
    raised.sqlite_errorname = error
    found = _translate_error(tmp_path / "news.db", raised)
    assert type(found) is kind
    assert said in str(found)


def test_a_journal_that_cannot_be_written_is_named(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    journal = Journal(tmp_path / "journal")
    journal._file.close()
    journal._file = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(ArticleError, match=r"journal: cannot be written \(No space left on device\)"):
        journal.add(ARTICLES[:1])
