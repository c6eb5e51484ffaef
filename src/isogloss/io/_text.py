"""Whole files of text in any encoding."""

from __future__ import annotations

import codecs
import os
import re
import unicodedata
from typing import NamedTuple

from isogloss.exceptions import CorpusError
from isogloss.extras import import_extra
from isogloss.io._files import PathLike, open_decompressed

MAX_TEXT_BYTES = 1 << 28
"""Longer texts are refused."""

MAX_SHARE_UTF8 = 0.2
"""A text that is not UTF-8 may have this share of lines that look like it, by chance."""

MIN_SHARE_USUAL = 0.95
"""Share of characters that are neither controls nor unassigned in what is taken for text."""

_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order marks, those of UTF-32 before those of UTF-16 with which they begin."""

_WIDE_ENCODINGS = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_CHECKED_BYTES = 1 << 16


class DecodedText(NamedTuple):
    """A text and the encoding that it was in."""

    text: str
    encoding: str


def read_text(path: PathLike, encoding: str | None = None) -> DecodedText:
    r"""Read a text file, which may be compressed, in whatever encoding it is.

    UTF-8, UTF-16 and UTF-32 are recognised with and without a byte order mark, legacy encodings by the
    package ``charset-normalizer``.

    Parameters
    ----------
    path : path
        The file.
    encoding : str, optional
        Its encoding, by Python's name, instead of a guess.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("cs.txt").write_text("Kůň je tu.", encoding="utf-16")
    >>> read_text("cs.txt")
    DecodedText(text='Kůň je tu.', encoding='utf-16-le')
    """
    name = os.fspath(path)
    with open_decompressed(path) as file:
        data = file.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise CorpusError(f"{name}: the text is longer than {MAX_TEXT_BYTES >> 20} MB; split it into files")
    if encoding is not None:
        return _decoded(data, encoding, name)
    for mark, found in _BOMS.items():
        if data.startswith(mark):
            return _decoded(data[len(mark) :], found, name)
    if b"\0" in data:
        return _wide(data, name)
    try:
        return DecodedText(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _legacy(data, name)


def _decoded(data: bytes, encoding: str, name: str) -> DecodedText:
    try:
        return DecodedText(data.decode(encoding).removeprefix("\ufeff"), encoding)
    except LookupError as reason:
        raise CorpusError(
            f"{name}: the encoding {encoding!r:.40} is not known; expected one of Python's names, such as "
            "utf-8, utf-16, cp1250 or shift_jis"
        ) from reason
    except UnicodeDecodeError as reason:
        line = len(data[: reason.start].decode(encoding, "replace").split("\n"))
        raise CorpusError(
            f"{name}:{line}: the bytes {data[reason.start : reason.end][:8].hex(' ')} are not text in "
            f"{encoding}; convert the line, or give another encoding"
        ) from reason


def _wide(data: bytes, name: str) -> DecodedText:
    """UTF-16 or UTF-32 without a mark: whichever gives blanks, and characters that text has."""
    best, found = 0.0, None
    for encoding in _WIDE_ENCODINGS:
        try:
            part = data[:_CHECKED_BYTES].decode(encoding, "strict")
        except UnicodeDecodeError as reason:
            if reason.end < min(len(data), _CHECKED_BYTES) - 4:
                continue
            part = data[: reason.start].decode(encoding, "ignore")
        usual = sum(map(_is_usual, part)) / max(len(part), 1)
        score = usual + part.count(" ") + part.count("\n")
        if usual >= MIN_SHARE_USUAL and score > best:
            best, found = score, encoding
    if found is None:
        raise CorpusError(
            f"{name}: is not plain text (it has zero bytes, like a Word document or a picture); save it as "
            "plain text in UTF-8"
        )
    return _decoded(data, found, name)


def _is_usual(character: str) -> bool:
    """Return whether text may have a character."""
    return character in "\n\r\t" or unicodedata.category(character) not in ("Cc", "Cn", "Co", "Cs")


def _legacy(data: bytes, name: str) -> DecodedText:
    """An encoding of one language or a few; an error if other lines are UTF-8."""
    good, bad, first = 0, 0, 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if _NOT_ASCII.search(line):
            try:
                line.decode("utf-8")
                good += 1
            except UnicodeDecodeError:
                bad += 1
                first = first or number
    if good > MAX_SHARE_UTF8 * (good + bad):
        raise CorpusError(
            f"{name}:{first}: the line is not UTF-8, but {good:,} others are; the file has mixed encodings: "
            f"convert the {bad:,} line{'s' * (bad != 1)} that differ, or remove them"
        )
    package = import_extra("charset_normalizer", "text", "detecting the encoding of text that is not UTF-8")
    found = package.from_bytes(data).best()
    if found is None:
        raise CorpusError(
            f"{name}:{first}: is not UTF-8, and no other encoding was recognised; give the encoding, or save "
            "the text as UTF-8"
        )
    return _decoded(data, found.encoding, name)
