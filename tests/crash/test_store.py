"""RELIABILITY 1-3, 5, 7: a store that is killed, torn, full or copied while it is written to.

Short forms; the long ones are marked slow.
"""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from isogloss.events import Article
from isogloss.exceptions import StoreError, StoreFullError
from isogloss.store import SQLiteDatabase, Store, back_up, check_store, restore

DAY = datetime(2025, 3, 5, 8, tzinfo=UTC)
WRITER = """
import sys
from tests.crash.test_store import article
from isogloss.store import Store
store = Store(sys.argv[1])
start = int(sys.argv[2])
print("ready", flush=True)
for number in range(start, start + 100_000, 3):
    store.add([article(number + part) for part in range(3)])
    print(number, flush=True)
"""


def article(number):
    return Article(
        str(number), "en", f"Rain {number}", "It rains. " * 20, DAY + timedelta(seconds=number), "Gull"
    )


def kill_rounds(path: Path, rounds: int, seed: int) -> int:
    """Kill a writer at random moments after some acknowledgements; how many articles were looked for."""
    chance, start, acknowledged = random.Random(seed), 0, set()
    for _ in range(rounds):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(start)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline() == "ready\n"
        timer = threading.Timer(chance.uniform(0.0, 0.02), writer.send_signal, [signal.SIGKILL])
        lines = chance.randint(1, 30)
        for count, line in enumerate(writer.stdout, 1):
            if line.endswith("\n"):
                acknowledged.update(range(int(line), int(line) + 3))
            if count == lines:
                timer.start()
        writer.wait()
        with Store(path) as store:
            held = [int(entry.article.id) for entry in store.journal(limit=10**6)]
            assert check_store(store) == []
        assert len(held) == len(set(held))
        assert acknowledged <= set(held)
        start = max(max(acknowledged, default=0) - 9, 0) // 3 * 3
    return len(acknowledged)


def test_killed_writers_lose_nothing_they_acknowledged(tmp_path):
    assert kill_rounds(tmp_path / "news.db", 3, seed=1) > 0


def test_every_acknowledgement_has_its_own_sync(tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("no strace on the PATH: that each commit is synced cannot be seen here")
    trace = tmp_path / "trace"
    script = WRITER.replace("100_000", "30")
    tracing = ["strace", "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(trace)]
    writing = [sys.executable, "-c", script, str(tmp_path / "news.db"), "0"]
    subprocess.run([*tracing, *writing], check=True, capture_output=True)
    assert acknowledged_after_sync(trace.read_text()) == (10, 10)


def acknowledged_after_sync(trace: str) -> tuple[int, int]:
    """Acknowledgements, and those with a sync since the one before."""
    said = synced = 0
    fresh = False
    for line in trace.splitlines():
        if "fsync(" in line or "fdatasync(" in line:
            fresh = True
        elif re.search(r'write\(1, "\d', line):
            said, synced, fresh = said + 1, synced + fresh, False
    return said, synced


def torn_rounds(folder: Path, rounds: int, seed: int) -> int:
    """Cut or flip the log of a store at random places; how many opened with a prefix of whole batches."""
    source = folder / "whole.db"
    database = SQLiteDatabase(source)
    store = Store(database)
    with database.write() as session:
        session.run("PRAGMA wal_autocheckpoint=0")
    for number in range(0, 60, 3):
        store.add([article(number + part) for part in range(3)])
    shutil.copy(source, folder / "copy.db")
    log = Path(f"{source}-wal").read_bytes()
    store.close()
    chance = random.Random(seed)
    for _ in range(rounds):
        shutil.copy(folder / "copy.db", folder / "torn.db")
        Path(folder / "torn.db-wal").write_bytes(_damaged(log, chance))
        Path(folder / "torn.db-shm").unlink(missing_ok=True)
        with Store(folder / "torn.db") as torn:
            held = [int(entry.article.id) for entry in torn.journal()]
            assert check_store(torn) == []
        assert held == list(range(len(held)))
        assert len(held) % 3 == 0
    return rounds


def _damaged(log: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(log))
    if chance.random() < 0.5:
        return log[:place]
    return log[:place] + bytes([log[place] ^ (1 << chance.randrange(8))]) + log[place + 1 :]


def test_a_torn_log_leaves_whole_batches(tmp_path):
    assert torn_rounds(tmp_path, 40, seed=2) == 40


FULL = """
import json, resource, signal, sys
from tests.crash.test_store import article
from isogloss.exceptions import StoreFullError, StoreError
from isogloss.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store(sys.argv[1])
store.add([article(number) for number in range(30)])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
said = ""
for number in range(100, 10_000, 20):
    try:
        store.add([article(number + part) for part in range(20)])
    except StoreError as error:
        said = type(error).__name__
        break
read = len(store.journal(limit=10**6))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
status = store.add([article(number + part) for part in range(20)])[0].status
print(json.dumps({"said": said, "read": read, "after": len(store.journal(limit=10**6)), "status": status}))
"""


def test_a_full_disk_is_reported_and_survived(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "news.db")], check=True, capture_output=True, text=True
    )
    told = json.loads(done.stdout)
    assert told["said"] in ("StoreFullError", "StoreError")
    assert told["after"] == told["read"] + 20
    assert told["status"] == "new"


def test_no_room_has_an_error_of_its_own(tmp_path):
    with Store(tmp_path / "news.db") as store:
        store.add([article(1)])
        with store.database.write() as session:
            ((pages,),) = session.run("PRAGMA page_count")
            session.run(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StoreFullError, match="Free some space"):
            store.add([article(number) for number in range(2, 2000)])
        assert [entry.article.id for entry in store.journal()] == ["1"]


def test_a_copy_made_under_load_is_a_prefix(tmp_path):
    store = Store(tmp_path / "news.db")
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            store.add([article(number), article(number + 1)])
            number += 2

    writer = threading.Thread(target=write)
    writer.start()
    copies = [back_up(store, tmp_path / f"copy{turn}.db") for turn in range(3)]
    stop.set()
    writer.join()
    for turn, copy in enumerate(copies):
        with Store(restore(copy, tmp_path / f"restored{turn}.db")) as restored:
            held = [int(entry.article.id) for entry in restored.journal(limit=10**6)]
            assert check_store(restored) == []
        assert held == list(range(len(held)))
        assert len(held) % 2 == 0
    store.close()


def test_copies_are_refused_where_something_is(tmp_path):
    with Store(tmp_path / "news.db") as store:
        with pytest.raises(StoreError, match="already exists"):
            back_up(store, tmp_path / "news.db")
        copy = back_up(store, tmp_path / "copy.db")
    with pytest.raises(StoreError, match="already exists"):
        restore(copy, tmp_path / "news.db")
    (tmp_path / "junk.db").write_bytes(b"junk" * 1000)
    with pytest.raises(StoreError, match="not a backup of a store"):
        restore(tmp_path / "junk.db", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_what_another_store_has_left_does_not_get_into_a_restored_one(tmp_path, end):
    with Store(tmp_path / "news.db") as store:
        store.add([article(1)])
        copy = back_up(store, tmp_path / "copy.db")
    left = tmp_path / f"new.db{end}"
    left.write_bytes(b"of a store that was moved away without it")
    with pytest.raises(StoreError, match=f"new.db{end}: already exists"):
        restore(copy, tmp_path / "new.db")
    left.unlink()
    with Store(restore(copy, tmp_path / "new.db")) as store:
        assert len(store.journal()) == 1


def test_a_file_is_restored_with_the_log_beside_it(tmp_path):
    """Files of a store that was not closed, as a machine that stopped has left them."""
    with Store(tmp_path / "news.db") as store:
        store.add([article(number) for number in range(5)])
        for name in ("news.db", "news.db-wal"):
            shutil.copyfile(tmp_path / name, tmp_path / name.replace("news", "found"))
    with Store(restore(tmp_path / "found.db", tmp_path / "new.db")) as store:
        assert [int(entry.article.id) for entry in store.journal()] == list(range(5))


def test_descriptors_are_given_back(tmp_path):
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    with Store(tmp_path / "news.db") as store:
        store.add([article(1)])
    before = descriptors()
    for _ in range(50):
        with Store(tmp_path / "news.db") as store:
            store.journal()
    assert descriptors() <= before + 2


def test_readers_of_many_threads_share_connections(tmp_path):
    with Store(tmp_path / "news.db") as store:
        for _ in range(30):
            thread = threading.Thread(target=store.journal)
            thread.start()
            thread.join()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(30):
            thread = threading.Thread(target=store.journal)
            thread.start()
            thread.join()
        assert len(os.listdir("/proc/self/fd")) <= before


def test_the_settings_that_durability_rests_on(tmp_path):
    with Store(tmp_path / "news.db") as store:
        with store.database.write() as session:
            settings = [session.run(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous")]
            guards = [session.run(f"PRAGMA {name}")[0][0] for name in ("foreign_keys", "trusted_schema")]
        assert settings == ["wal", 2]
        assert guards == [1, 0]
        told = store.database.describe()
        assert ("warning" in told) == (sqlite3.sqlite_version_info < (3, 51, 3))


@pytest.mark.slow
def test_a_hundred_killed_writers(tmp_path):
    assert kill_rounds(tmp_path / "news.db", 100, seed=3) > 100


@pytest.mark.slow
def test_four_hundred_torn_logs(tmp_path):
    assert torn_rounds(tmp_path, 400, seed=4) == 400
