"""Documents from JSON lines."""

import gzip
import json

import pytest

from isogloss.corpora import AlignedLines, Document, JsonLines
from isogloss.exceptions import CorpusError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that files have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, *lines, name="en.jsonl"):
    text = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    (folder / name).write_bytes(text + b"\n")


def test_documents_with_and_without_the_fields_that_may_be_missing(folder):
    write(folder, {"id": "a", "text": "x y"}, b"", {"id": 7, "text": "z", "lang": "en-GB", "title": "Z"})
    reader = JsonLines("en.jsonl", lang="en")
    expected = [Document("a", "x y", "en"), Document("7", "z", "en-GB", "Z")]
    assert list(reader) == expected
    assert list(reader) == expected
    assert reader.report.documents == 2
    assert [document.place for document in reader] == ["en.jsonl:1", "en.jsonl:3"]


@pytest.mark.parametrize(
    ("line", "problem", "said"),
    [
        ({"text": "x"}, "without id", 'field "id" is missing'),
        ({"id": None, "text": "x"}, "without id", 'field "id" is null'),
        ({"id": "", "text": "x"}, "without id", 'field "id" is ""'),
        ({"id": True, "text": "x"}, "without id", 'field "id" is true'),
        ({"id": "b"}, "without text", 'field "text" is missing; every line needs "id" and "text"'),
        ({"id": "b", "text": ["x"]}, "without text", 'field "text" is \\["x"\\]'),
        ({"id": "b", "text": " \n"}, "without text", 'field "text" is " '),
        ({"id": "a", "text": "again"}, "duplicates", "the id 'a' has occurred before"),
        (["id", "text"], "not JSON", "is a JSON list"),
        (b'{"id": "b", "text": "cut', "not JSON", "Unterminated string"),
        (b"[" * 100_000, "not JSON", "is not JSON"),
        (b'{"id": "b", "text": "\xff"}', "not UTF-8", "invalid start byte at byte 21"),
        ({"id": "b", "text": "long " * 500}, "too long", "longer than 1,000 bytes; raise max_bytes"),
    ],
)
def test_bad_records_are_named_or_counted(folder, line, problem, said):
    write(folder, {"id": "a", "text": "x"}, line, {"id": "c", "text": "y"})
    limit = 1_000_000 if isinstance(line, bytes) else 1000
    with pytest.raises(CorpusError, match=rf"^en\.jsonl:2: .*{said}.*on_bad='skip'"):
        list(JsonLines("en.jsonl", max_bytes=limit))
    reader = JsonLines("en.jsonl", on_bad="skip", max_bytes=limit)
    assert [document.id for document in reader] == ["a", "c"]
    assert reader.report.problems == {problem: 1}
    assert "en.jsonl:2: " in str(reader.report)


def test_only_the_first_bad_records_are_quoted(folder):
    write(folder, *[b"{"] * 9)
    reader = JsonLines("en.jsonl", on_bad="skip")
    assert list(reader) == []
    assert reader.report.bad == 9
    assert len(reader.report.examples) == 5


def test_other_languages_are_passed_over(folder):
    write(
        folder,
        {"id": 1, "text": "x", "lang": "de"},
        {"id": 1, "text": "y", "lang": "en"},
        {"id": 2, "text": "z"},
    )
    reader = JsonLines("en.jsonl", lang="en")
    assert [(document.id, document.text) for document in reader] == [("1", "y"), ("2", "z")]
    assert str(reader.report) == "2 documents, 1 in other languages"


def test_a_packed_file_with_a_mark_at_its_start_and_one_without_end(folder):
    line = json.dumps({"id": "a", "text": "x"}).encode()
    (folder / "a").write_bytes(gzip.compress(b"\xef\xbb\xbf" + line))
    assert [document.id for document in JsonLines("a")] == ["a"]
    (folder / "cut").write_bytes(gzip.compress(line * 1000)[:-9])
    with pytest.raises(CorpusError, match=r"^cut: the gzip data are cut short"):
        list(JsonLines("cut", on_bad="skip"))


def test_a_text_of_many_megabytes_is_read(folder):
    write(folder, {"id": "a", "text": "word " * 1_000_000})
    assert len(next(iter(JsonLines("en.jsonl"))).text) == 5_000_000


def test_half_of_a_surrogate_pair_is_left_to_the_tokeniser(folder):
    write(folder, rb'{"id": "a", "text": "x \ud800 y"}')
    assert next(iter(JsonLines("en.jsonl"))).text == "x \ud800 y"


def test_lines_are_documents_and_blank_ones_are_missing(folder):
    (folder / "en.txt").write_bytes(b"a\n \nb \xff\nc\r\n")
    reader = AlignedLines("en.txt", lang="en", on_bad="skip")
    assert list(reader) == [Document("1", "a", "en"), Document("4", "c", "en")]
    assert reader.report.passed == {"blank": 1}
    assert reader.report.problems == {"not UTF-8": 1}
    with pytest.raises(CorpusError, match=r"^en\.txt:3: is not UTF-8 \(invalid start byte at byte 2\)"):
        list(AlignedLines("en.txt"))


def test_bad_options():
    with pytest.raises(ValueError, match="expected 'raise' or 'skip'"):
        JsonLines("x", on_bad="ignore")
    with pytest.raises(ValueError, match="max_bytes=0"):
        JsonLines("x", max_bytes=0)
