"""Articles from files: bad records go to the quarantine and never stop a stream."""

import bz2
import gzip
import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.ingest import ArticleReader, Quarantine
from isogloss.exceptions import ArticleError, CorpusError

TIME = "2021-07-01T08:00:00Z"
GOOD = {"id": "a", "lang": "en", "title": "Storm", "body": "Roofs flew.", "time": TIME, "source": "Gull"}


def line(**fields):
    return json.dumps(GOOD | fields).encode() + b"\n"


def test_bad_records_are_left_out_and_counted(tmp_path):
    records = [
        line(id="1"),
        b"{oops\n",
        b"[1, 2]\n",
        b"\xff\xfe\n",
        line(id="2", time=None),
        line(id="3", time="yesterday"),
        line(id="4", title="", body=" <p> </p> "),
        line(id="5", title=["x"]),
        b"[" * 100_000 + b"\n",
        line(id="6"),
    ]
    path = tmp_path / "news.jsonl"
    path.write_bytes(b"".join(records))
    quarantine = Quarantine(tmp_path / "bad.jsonl")
    reader = ArticleReader(path, quarantine=quarantine)
    assert [article.id for article in reader] == ["1", "6"]
    assert quarantine.reasons == {
        "not JSON": 3,
        "not UTF-8": 1,
        "without time": 1,
        "bad time": 1,
        "without text": 1,
        "field of the wrong kind": 1,
    }
    written = [json.loads(row) for row in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert [row["line"] for row in written] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert written[0]["record"] == "{oops"
    assert all(row["file"] == str(path) for row in written)
    assert reader.report.articles == 2


def test_packed_files_folders_and_order(tmp_path):
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(line(id="2")))
    (tmp_path / "c.ndjson.bz2").write_bytes(bz2.compress(line(id="3")))
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + line(id="1") + b"\r\n\n" + line(id="1b"))
    (tmp_path / "README.md").write_text("not news")
    (tmp_path / ".hidden.jsonl").write_text("not news")
    reader = ArticleReader(tmp_path)
    assert [article.id for article in reader] == ["1", "1b", "2", "3"]
    assert len(reader.quarantine) == 0
    assert [article.id for article in reader] == ["1", "1b", "2", "3"]


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line(id="7") + b"oops\n")))
    reader = ArticleReader("-")
    assert [article.id for article in reader] == ["7"]
    assert reader.quarantine.kept[0].file == "standard input"


def test_a_damaged_file_does_not_stop_the_next(tmp_path):
    whole = gzip.compress(b"".join(line(id=f"{i} {i * i}") for i in range(5000)))
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "b.jsonl").write_bytes(line(id="last"))
    reader = ArticleReader(tmp_path)
    ids = [article.id for article in reader]
    assert ids[-1] == "last"
    assert 1 < len(ids) < 5000
    assert reader.quarantine.reasons["damaged file"] == 1


def test_a_missing_path_is_reported_at_once(tmp_path):
    with pytest.raises(CorpusError, match="no such file"):
        list(ArticleReader(tmp_path / "none.jsonl"))


def test_lines_too_long_are_not_read(tmp_path):
    path = tmp_path / "news.jsonl"
    path.write_bytes(line(id="1", body="x" * 5000) + line(id="2"))
    reader = ArticleReader(path, max_bytes=1000)
    assert [article.id for article in reader] == ["2"]
    assert reader.quarantine.reasons == {"too long": 1}


def test_the_quarantine_is_bounded(tmp_path):
    path = tmp_path / "bad.jsonl"
    quarantine = Quarantine(path, keep=3, max_record=10, max_bytes=2000)
    for number in range(1000):
        quarantine.add("not JSON", "is not JSON", "f", number, b"y" * 100)
    assert len(quarantine) == 1000
    assert len(quarantine.kept) == 3
    assert quarantine.kept[0].record == "y" * 10
    assert path.stat().st_size <= 2000


def test_a_quarantine_that_cannot_be_written_says_so(tmp_path):
    with pytest.raises(ArticleError, match="cannot be written"):
        Quarantine(tmp_path / "no" / "such").add("not JSON", "is not JSON", "f", 1)


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_any_bytes_are_read_to_the_end(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("fuzz") / "news.jsonl"
    path.write_bytes(b"\n".join([b"", *lines, line(id="end")]))
    reader = ArticleReader(path, now=datetime(2030, 1, 1, tzinfo=UTC))
    assert [article.id for article in reader][-1] == "end"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(["id", "title", "body", "lang", "time", "url", "source", "published", "language"])


@given(st.dictionaries(FIELDS, JSON, max_size=9))
def test_any_record_is_an_article_or_an_article_error(tmp_path_factory, record):
    path = tmp_path_factory.mktemp("fuzz") / "news.jsonl"
    path.write_text(json.dumps(record) + "\n")
    reader = ArticleReader(path)
    found = list(reader)
    assert len(found) + len(reader.quarantine) == 1
