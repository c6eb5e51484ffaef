# ruff: noqa: RUF001
"""Text files in any encoding."""

import gzip

import pytest

from isogloss import io
from isogloss.exceptions import CorpusError
from isogloss.io import _text

CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. Byla tma a zima, a lidé šli domů večeřet.\n" * 5
RUSSIAN = "Съешь ещё этих мягких французских булок, да выпей же чаю. Все люди рождаются свободными.\n" * 5
JAPANESE = "東京タワーの高さは何メートルですか。今日はとても良い天気ですね。\n" * 5


@pytest.fixture
def written(tmp_path):
    def write(data):
        path = tmp_path / "text.txt"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("text", [CZECH, RUSSIAN, JAPANESE, "plain\n", ""])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
def test_unicode_is_recognised_with_and_without_a_mark(written, text, encoding):
    assert io.read_text(written(text.encode(encoding))).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(CZECH, "cp1250"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (JAPANESE, "shift_jis")],
)
def test_legacy_encodings_are_detected(written, text, encoding):
    assert io.read_text(written(text.encode(encoding))).text == text


def test_a_given_encoding_is_used(written):
    assert io.read_text(written("šaty".encode("iso8859-2")), "iso8859-2") == ("šaty", "iso8859-2")
    with pytest.raises(CorpusError, match=r"text\.txt:2: the bytes 8f are not text in cp1252"):
        io.read_text(written(b"a\nb\x8f"), "cp1252")
    with pytest.raises(CorpusError, match="is not known"):
        io.read_text(written(b"a"), "utf-99")


def test_mixed_encodings_are_refused_with_the_line(written):
    lines = CZECH.encode().split(b"\n")
    lines[2] = "kůň".encode("cp1250")
    with pytest.raises(CorpusError, match=r"text.txt:3: the line is not UTF-8, but 4 others are"):
        io.read_text(written(b"\n".join(lines)))


def test_binary_files_and_long_ones_are_refused(written, monkeypatch, rng):
    with pytest.raises(CorpusError, match="is not plain text"):
        io.read_text(written(rng.bytes(5000)))
    monkeypatch.setattr(_text, "MAX_TEXT_BYTES", 3)
    with pytest.raises(CorpusError, match="longer than"):
        io.read_text(written(b"abcd"))


def test_compressed_and_missing_files(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("kůň".encode()))
    assert io.read_text(path).text == "kůň"
    with pytest.raises(CorpusError, match="there is no such file"):
        io.read_text(tmp_path / "b")
