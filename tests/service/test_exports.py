"""Exports: every row once, from one moment, in three formats, and nothing that a spreadsheet evaluates."""

import asyncio
import csv
import io
import json
import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from isogloss.service.api.errors import ServiceError
from isogloss.service.exports import EXPORT_COLUMNS, FORMATS, ExportResponse, ExportSlots, columns_of, export
from isogloss.service.exports._formats import _cell
from isogloss.store import ClusterRow, EventQuery, EventRow, Store, Update, to_micros
from tests.service import data

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "export.rst").read_text(encoding="utf-8")


def cells(content):
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def lines(content):
    return [json.loads(line) for line in content.decode().split("\n")[:-1]]


def whole(*args, **kwargs):
    return b"".join(export(*args, **kwargs))


def large(store, articles=1_300, events=3):
    """Events with many articles, the last tenth of each reprints of the first."""
    store.add([data.article(number, "en", f"Title {number}") for number in range(articles * events)])
    at = to_micros(data.START)
    clusters, rows = [], []
    for event in range(events):
        members = list(range(event * articles + 1, (event + 1) * articles + 1))
        copies = members[-articles // 10 :]
        about = {"title": "T", "reprints": copies, "reprint_of": {str(copy): members[0] for copy in copies}}
        clusters.append(ClusterRow(event + 1, "en", f"e{event + 1}", at, at, members, about))
        titles = {"title": {"en": f"Event {event}"}, "languages": {"en": articles - len(copies)}}
        rows.append(EventRow(f"e{event + 1}", at, at, articles - len(copies), ["en"], [], titles))
    store.apply(Update(0, articles * events, clusters, [], rows))


def test_events_have_a_row_each(filled):
    storm = next(row for row in cells(whole(filled, "events", "csv", EventQuery())) if row["id"] == "e1")
    assert storm == {
        "id": "e1",
        "title": "Storm Ottilie hits the coast",
        "title_lang": "en",
        "titles": '{"de": "Sturm Ottilie erreicht die Küste", "en": "Storm Ottilie hits the coast"}',
        "first": "2025-03-05T08:00:00Z",
        "last": "2025-03-05T11:00:00Z",
        "size": "3",
        "reprints": "0",
        "languages_count": "2",
        "languages": "de; en",
        "places": "Galway",
        "place_ids": "1",
        "countries": "IE",
        "concepts": "Ottilie",
        "concept_ids": "name:ottilie",
        "confidence": "0.93",
        "changed": "3",
    }


def test_json_lines_have_lists_and_names(filled):
    storm = lines(whole(filled, "events", "jsonl", EventQuery()))[1]
    assert storm["languages"] == ["de", "en"]
    assert storm["titles"]["de"] == "Sturm Ottilie erreicht die Küste"
    assert storm["first"] == "2025-03-05T08:00:00Z"
    assert [column.name for column in EXPORT_COLUMNS["events"]] == list(storm)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_all_articles_are_exported_with_their_originals(store, format):
    large(store)
    content = whole(store, "articles", format, EventQuery())
    rows = cells(content) if format == "csv" else lines(content)
    assert [int(row["seq"]) for row in rows[:1_300]] == list(range(2_601, 3_901))
    assert sorted(int(row["seq"]) for row in rows) == list(range(1, 3_901))
    assert {str(row["reprint_of"]) for row in rows if row["event"] == "e1"} >= {"1"}
    assert sum(row["reprint_of"] not in ("", None) for row in rows) == 3 * 130
    (first, *_) = lines(whole(store, "events", "jsonl", EventQuery()))
    assert (first["size"], first["reprints"]) == (1_170, 130)


def test_bodies_are_there_if_wanted(filled):
    assert "body" not in lines(whole(filled, "articles", "jsonl", EventQuery()))[0]
    with_bodies = lines(whole(filled, "articles", "jsonl", EventQuery(ids=["e1"]), bodies=True))
    assert [row["body"] for row in with_bodies] == [each.body for each in data.ARTICLES[:3]]


def test_rows_are_read_as_they_are_written(store):
    """A chunk is there before the store has read the rest, so memory does not grow with the rows."""
    large(store, articles=1_000, events=4)
    read = []
    original = store.database.read

    class Counted:
        def __init__(self, session):
            self.session = session

        def one(self, *given):
            return self.session.one(*given)

        def run(self, sql, values=()):
            rows = self.session.run(sql, values)
            read.append(len(rows))
            return rows

    @contextmanager
    def counting():
        with original() as session:
            yield Counted(session)

    store.database.read = counting
    chunks = export(store, "articles", "csv", EventQuery())
    next(chunks)
    next(chunks)
    assert max(read) <= 500
    assert sum(read) < 1_500
    assert sum(chunk.count(b"\r\n") for chunk in chunks) == 4_000 - 200
    assert max(read) <= 500


def test_an_export_shows_one_moment(store):
    """Articles and events that arrive, and events that go, while an export runs do not change it."""
    large(store)
    before = whole(store, "articles", "jsonl", EventQuery())
    chunks = export(store, "articles", "jsonl", EventQuery())
    parts = [next(chunks)]
    line = store.position()
    store.add([data.article("later", "en", "Later")])
    store.apply(Update(line, line + 1, removed_clusters=[1, 2], removed_events=["e1", "e2"]))
    parts += chunks
    assert b"".join(parts) == before
    assert len(lines(whole(store, "events", "jsonl", EventQuery()))) == 1


def test_an_export_that_is_given_up_ends_its_transaction(filled):
    chunks = export(filled, "events", "csv", EventQuery())
    next(chunks)
    next(chunks)
    chunks.close()
    assert len(filled.database._idle) == len(filled.database._open) - 1  # all but the writer


@pytest.mark.parametrize(
    "hostile",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "  =1+1",
        "\uff1d1+1",
        "\uff20x",
        "-",
        '=HYPERLINK("x")',
    ],
)
def test_no_text_of_a_csv_is_a_formula(store, hostile):
    number = hostile.strip() or "x"
    store.add([replace(data.article(1, "en", hostile), id=number, source=hostile, url="")])
    at = to_micros(data.START)
    about = {
        "title": {"en": hostile},
        "places": [{"id": 1, "name": hostile, "country": hostile}],
        "concepts": [{"id": hostile, "label": hostile}],
    }
    store.apply(
        Update(
            0, 1, [ClusterRow(1, "en", "e1", at, at, [1])], [], [EventRow("e1", at, at, 1, ["en"], [], about)]
        )
    )
    for table in ("events", "articles"):
        content = whole(store, table, "csv", EventQuery(), bodies=True)
        (row,) = cells(content)
        assert any(value == f"'{hostile}" for value in row.values())
        for name, value in row.items():
            assert not re.match(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]", value), name
    assert lines(whole(store, "events", "jsonl", EventQuery()))[0]["title"] == hostile


def test_numbers_stay_numbers():
    assert [_cell(value) for value in (-1.5, 7, None, "a=b", "")] == [-1.5, 7, "", "a=b", ""]


@pytest.mark.parametrize("table", ["events", "articles"])
def test_parquet_has_the_types_of_the_columns(store, table):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    large(store)
    found = parquet.read_table(io.BytesIO(whole(store, table, "parquet", EventQuery(), bodies=True)))
    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "number": pa.int64(),
        "decimal": pa.float64(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    for column in columns_of(table, bodies=True):
        if column.kind != "names":
            assert found.schema.field(column.name).type.equals(types[column.kind]), column.name
    expected = lines(whole(store, table, "jsonl", EventQuery(), bodies=True))
    for name in found.column_names:
        kind = next(column.kind for column in EXPORT_COLUMNS[table] if column.name == name)
        if kind in ("text", "texts", "number", "decimal"):
            assert found.column(name).to_pylist() == [row[name] for row in expected]


def test_parquet_opens_in_pandas(filled, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "events.parquet"
    path.write_bytes(whole(filled, "events", "parquet", EventQuery(sort="size")))
    frame = pandas.read_parquet(path)
    assert list(frame["size"]) == [3, 1]
    assert str(frame["first"].dt.tz) == "UTC"
    assert list(frame["languages"][0]) == ["de", "en"]
    assert frame["titles"][0][0] == {"lang": "de", "title": "Sturm Ottilie erreicht die Küste"}


def test_parquet_opens_in_polars(filled, tmp_path):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    path = tmp_path / "articles.parquet"
    path.write_bytes(whole(filled, "articles", "parquet", EventQuery(sort="size"), bodies=True))
    frame = polars.read_parquet(path)
    assert frame.height == 4
    assert frame.schema["time"] == polars.Datetime("us", "UTC")
    assert frame.filter(polars.col("lang") == "de")["title"].to_list() == ["Sturm Ottilie erreicht die Küste"]


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_store_gives_an_empty_table(store, format):
    pytest.importorskip("pyarrow")
    content = whole(store, "events", format, EventQuery())
    if format == "parquet":
        from pyarrow import parquet

        assert parquet.read_table(io.BytesIO(content)).num_rows == 0
    else:
        assert content.count(b"\n") == (1 if format == "csv" else 0)


def test_bad_requests_of_the_library(filled):
    with pytest.raises(ValueError, match="format is 'xlsx'; expected one of csv, jsonl, parquet"):
        export(filled, "events", "xlsx", EventQuery())
    with pytest.raises(ValueError, match="table is 'links'; expected one of events, articles"):
        export(filled, "links", "csv", EventQuery())


def test_the_route_takes_the_filters_of_a_search(client):
    answer = client.get("export/events", params={"lang": "de"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="events.csv"'
    assert [row["id"] for row in cells(answer.content)] == ["e1"]
    assert [row["id"] for row in cells(client.get("export/events?q=Ottilie").content)] == ["e1"]
    assert cells(client.get("export/events?q=zzzzz&lang=fr").content) == []


def test_the_route_takes_current_and_former_ids(client):
    rows = lines(client.get("export/articles?event=e0&format=jsonl&bodies=true").content)
    assert [row["seq"] for row in rows] == [1, 2, 3]
    assert {row["event"] for row in rows} == {"e1"}
    assert lines(client.get("export/articles?event=e1&q=Brest&format=jsonl").content) == []
    missing = client.get("export/events?event=e99")
    assert missing.status_code == 404
    assert "there is no event 'e99'" in missing.json()["error"]["message"]
    assert client.get("export/events?event=%00").status_code == 404


def test_bad_requests_of_the_route(client):
    assert client.get("export/events?format=xlsx").status_code == 422
    assert client.get("export/events?lang=nonsense-language").status_code == 422
    assert client.get("export/links").status_code == 404


def test_a_missing_package_is_named(client, monkeypatch):
    def missing(module, extra, purpose):
        raise ModuleNotFoundError(f"{purpose} needs pyarrow, which is not installed")

    monkeypatch.setattr("isogloss.service.exports._formats.import_extra", missing)
    answer = client.get("export/events?format=parquet")
    assert answer.status_code == 422
    assert "format is 'parquet', but Parquet needs pyarrow" in answer.json()["error"]["message"]


def test_only_some_exports_run_at_a_time(client, app):
    slots = app.state.isogloss.exports
    with slots.slot(), slots.slot():
        answer = client.get("export/events")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert client.get("export/events").status_code == 200
    assert slots.running == 0


def test_an_export_that_takes_too_long_is_broken_off(filled):
    """The response ends without its last chunk, the slot and the transaction are free again."""
    slots, sent = ExportSlots(1), []
    chunks = export(filled, "events", "csv", EventQuery())

    async def send(message):
        sent.append(message)
        await asyncio.Event().wait()  # a client that takes nothing

    async def receive():
        await asyncio.Event().wait()

    response = ExportResponse(slots, chunks, name="events", format="csv", seconds=1.0)
    with pytest.raises(TimeoutError):
        asyncio.run(response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start"]
    assert slots.running == 0
    with pytest.raises(StopIteration):
        next(chunks)


def test_an_error_before_the_first_row_is_answered(client, app, monkeypatch):
    def fails(*given, **options):
        raise ServiceError(503, "no")
        yield b""

    monkeypatch.setattr("isogloss.service.api.routes._exports.export", fails)
    assert client.get("export/events").status_code == 503
    assert app.state.isogloss.exports.running == 0


def test_sqlite_and_postgres_export_the_same(database):
    store = Store(database)
    large(store, articles=600)
    rows = lines(whole(store, "articles", "jsonl", EventQuery(sort="size")))
    assert [row["seq"] for row in rows] == [*range(1_201, 1_801), *range(601, 1_201), *range(1, 601)]


def test_the_page_describes_every_column():
    told = re.findall(r"^   \* - ``(\w+)``\n     - (\w+)\n     - (.+)$", PAGE, re.MULTILINE)
    expected = [
        (column.name, column.kind, column.description)
        for table in EXPORT_COLUMNS.values()
        for column in table
    ]
    assert told == expected
