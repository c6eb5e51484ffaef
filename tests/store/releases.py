"""Databases as released versions of isogloss have left them, one file for each version and product.

After a further step in ``isogloss.store.schema.STEPS``, ``python -m tests.store.releases`` writes the files
of the new version; those of earlier ones stay as they are.
"""

import re
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from isogloss.store import PostgresDatabase, SQLiteDatabase, Store, Update
from isogloss.store.schema import STEPS
from tests.service import data
from tools.private_postgres import PrivatePostgres, programs

FOLDER = Path(__file__).parent / "released"
WHEN = data.START + timedelta(days=2)
SCHEMA = "released"
SENT = [
    data.article(5, "ja", "雨の東京 ☔", "東京は雨です。\n" * 3, 40),
    data.article(6, "en", "It's 50% off; --", "?"),
]
TABLES = ("article", "revision", "journal", "request", "quarantine", "cluster", "member", "link", "event")
MORE_TABLES = ("event_term", "alias", "progress", "snapshot", "model", "feed", "verdict", "token")
LATER_TABLES = {
    2: ("tally",),
    3: ("metadata",),
    4: ("attempt",),
    5: ("deletion", "renamed"),
    7: ("article_point",),
    8: ("saved_search", "feed_health", "article_text", "alert", "outbox"),
}
VERSIONS = sorted(
    int(file.name.split(".")[0].removeprefix("version_")) for file in FOLDER.glob("*.sqlite.sql")
)
"""Versions of which there are files: all that were released."""


def fill(store):
    """Rows in every table."""
    data.fill(store)
    store.add(SENT, key="morning", now=WHEN, refused=[("time", "no time", {"title": "?"})])
    store.add([replace(SENT[1], body="!")], now=WHEN)
    store.record_update(WHEN)
    store.apply(Update(4, 4, checkpoint_parts=[("part 0", 4, bytes(range(256))), ("events", 4, b"")]))
    store.update_metadata("retention", approved_days=90)
    store.save_feed("https://gull.example/feed", {"etag": 'W/"1"'})
    with store.database.write() as session:
        session.run("INSERT INTO model VALUES ('small', 7, '{}', ?)", [b"\x00\xff"])
        session.run(
            "INSERT INTO verdict (a, b, same, note, received, article_a, article_b) "
            "VALUES (1, 2, 0, 'no; ''1''', 9, 1, 3)"
        )
        session.run("INSERT INTO deletion VALUES (99, 'digest', 8, 'desk')")
        session.run("INSERT INTO renamed VALUES ('cluster', 70, 3)")
        session.run("INSERT INTO token VALUES ('t1', 'digest', 'read write', 'desk', 1, 2, 0)")
        session.run("INSERT INTO tally VALUES ('here', 3)")
        session.run("INSERT INTO article_point VALUES (1, 2, 'model', 'en', ?)", [bytes(range(32))])
        session.run(
            "INSERT INTO article_text (rowid, version, title, body, keys) VALUES (2, 1, 'a b', 'c', '')"
        )
        session.run("INSERT INTO saved_search VALUES (5, 't1', 'storms', '{\"q\":\"storm\"}', 9, 9)")
        session.run(
            "INSERT INTO alert VALUES (6, 't1', 'e1', NULL, 'webhook', 'https://desk.example/hook', "
            "'whsec_', 5, 9, 4, 10, 2, 1, 'the server answered 500')"
        )
        session.run("INSERT INTO outbox VALUES (3, 6, 'e1', 4, 1, 9)")
        session.run("INSERT INTO attempt VALUES (7, 2, 'too slow', 'took 30 s', 12, 13, 0)")


def file_of(version, product):
    """The file of a version for a product, ``sqlite`` or ``postgres``."""
    return FOLDER / f"version_{version}.{product}.sql"


def put(database, version):
    """Have an empty database hold what a version has left."""
    if isinstance(database, SQLiteDatabase):
        # Tables come in the order of their names, which is not that of their references.
        script = file_of(version, "sqlite").read_text("utf-8")
        database._writer.executescript(f"PRAGMA foreign_keys=OFF;\n{script}PRAGMA foreign_keys=ON;")
        return
    script = file_of(version, "postgres").read_text("utf-8").replace(f"{SCHEMA}.", f"{database.schema}.")
    with database._pool.connection() as connection:
        connection.execute(script)


def rows(database, version):
    """All rows of the tables of a version."""
    tables = [
        *TABLES,
        *MORE_TABLES,
        *(name for n, names in LATER_TABLES.items() if n <= version for name in names),
    ]
    with database.read() as session:
        return {name: sorted(session.run(f"SELECT * FROM {name}"), key=repr) for name in tables}


def structure(database):
    """Tables, columns, keys and indexes as the database tells them, in no way that its history shows in."""
    with database.read() as session:
        if isinstance(database, PostgresDatabase):
            return _structure_of_postgres(session, database.schema)
        names = [
            name for (name,) in session.run("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
        ]
        return {name: _structure_of_sqlite(session, name) for name in names}


def _structure_of_sqlite(session, table):
    indexes = [row[1:] for row in session.run(f"PRAGMA index_list({table})")]
    return (
        session.run(f"PRAGMA table_xinfo({table})"),
        sorted(session.run(f"PRAGMA foreign_key_list({table})")),
        sorted((*index, str(session.run(f"PRAGMA index_info({index[0]})"))) for index in indexes),
    )


def _structure_of_postgres(session, schema):
    questions = (
        "SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity "
        "FROM information_schema.columns WHERE table_schema = ? ORDER BY 1, 2",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = ? ORDER BY 1",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = to_regnamespace(?) ORDER BY 1",
    )
    return [
        [tuple(str(value).replace(f"{schema}.", "") for value in row) for row in session.run(sql, [schema])]
        for sql in questions
    ]


def write_sqlite(place, version):
    """The file of SQLite, as statements."""
    with Store(place / "news.db") as store:
        fill(store)
    with sqlite3.connect(place / "news.db") as connection:
        said = "\n".join(_dump(connection))
    file_of(version, "sqlite").write_text(said + "\n", "utf-8")


def _dump(connection):
    """Statements that make a database anew; those of SQLite would write a virtual table into the schema."""
    *statements, commit = (
        each
        for each in connection.iterdump()
        if not each.startswith(("PRAGMA writable_schema", "INSERT INTO sqlite_master"))
        and not re.match("(CREATE TABLE|INSERT INTO) ['\"]article_text", each)
    )
    virtual = "SELECT sql FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'"
    created = [f"{sql};" for (sql,) in connection.execute(virtual)]
    columns = "rowid, version, title, body, keys"
    rows = connection.execute(
        f"SELECT format('(%d, %d, %Q, %Q, %Q)', {columns}) FROM article_text ORDER BY rowid"
    )
    texts = [f"INSERT INTO article_text ({columns}) VALUES {row};" for (row,) in rows]
    return [*statements, *created, *texts, commit]


def write_postgres(place, version):
    """The file of PostgreSQL: what ``pg_dump`` says, without what is for its own client."""
    server = PrivatePostgres(programs(), place).make()
    server.start()
    try:
        with Store(PostgresDatabase(server.url, schema=SCHEMA)) as store:
            fill(store)
        options = ("--inserts", "--no-owner", f"--schema={SCHEMA}")
        command = [server.bin / "pg_dump", *options, server.url]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        server.stop()
    left_out = ("\\", "--", "SET ", "CREATE SCHEMA", "SELECT pg_catalog.set_config")
    kept = [line for line in said.splitlines() if line and not line.startswith(left_out)]
    file_of(version, "postgres").write_text("\n".join(kept) + "\n", "utf-8")


def main():
    """Write the files of the present version."""
    version = len(STEPS)
    if file_of(version, "sqlite").exists():
        sys.exit(f"{file_of(version, 'sqlite')}: is there already, and a released version never changes")
    for write in (write_sqlite, write_postgres):
        with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as place:
            write(Path(place), version)


if __name__ == "__main__":
    main()
