"""Every test of the store runs on SQLite and, where its programs are found, on a private PostgreSQL."""

import shutil
import tempfile
from pathlib import Path

import pytest

from isogloss.store import PostgresDatabase, SQLiteDatabase, Store
from tests.waiting import LIMIT_S
from tools.private_postgres import PrivatePostgres, programs


@pytest.fixture(scope="session")
def server():
    """The URL of a PostgreSQL that only these tests see; it listens on a socket in its own folder."""
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: initdb is not in the test group's wheel nor on the PATH")
    place = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        started = PrivatePostgres(folder, place, "-c fsync=off").make()
        started.start()
        yield started.url
        started.stop()
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
        database = SQLiteDatabase(tmp_path / "news.db", busy_timeout=LIMIT_S)
        yield database
        database.close()
        return
    yield request.getfixturevalue("postgres")


@pytest.fixture
def store(database):
    return Store(database)
