"""Rows of a table from a dump of MySQL, as Wikimedia gives them away (``LANGwiki-DATE-langlinks.sql.gz``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import IO

from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, open_decompressed

MAX_LINE_BYTES = 1 << 23
"""Bytes of a line; mysqldump begins another INSERT statement after about one megabyte."""

MAX_COLUMNS = 4_096
"""Columns and keys of a table, as in MySQL."""

MAX_VALUE_BYTES = 1 << 16
"""Bytes of a value; titles have at most 255."""

_VALUE = rb"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'|[^',()]++"
_ROW = re.compile(rb"(?<!\s)\s*+\(((?:" + _VALUE + rb")(?:,(?:" + _VALUE + rb"))*+)\)\s*+([,;]|$)", re.DOTALL)
_VALUES = re.compile(_VALUE, re.DOTALL)
_COLUMN = re.compile(rb"\A\s*+`([^`]++)`")
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"b": b"\b", b"Z": b"\x1a"}


def read_table(path: PathLike, table: str, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    r"""Some columns of a table, row by row, as text; NULL is empty.

    The names of the columns are found in the statement that makes the table.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("links.sql").write_text(r'''CREATE TABLE `langlinks` (
    ...   `ll_from` int unsigned NOT NULL,
    ...   `ll_lang` varbinary(35) NOT NULL,
    ...   `ll_title` varbinary(255) NOT NULL
    ... );
    ... INSERT INTO `langlinks` VALUES (7,'de','Bled'),(8,'fr','L\'Isle (Jura), et');
    ... ''')
    >>> list(read_table("links.sql", "langlinks", ["ll_from", "ll_title"]))
    [('7', 'Bled'), ('8', "L'Isle (Jura), et")]
    """
    name, order, found = os.fspath(path), [], False
    with open_decompressed(path) as file:
        lines = _lines(file, name)
        for number, line in lines:
            if line.startswith(f"CREATE TABLE `{table}`".encode()):
                order = _columns(lines, name)
            elif line.startswith(f"INSERT INTO `{table}`".encode()):
                found = True
                places = _places(order, columns, f"{name}:{number}", table)
                for row in _rows(line, f"{name}:{number}"):
                    _check_row(row, order, f"{name}:{number}")
                    yield tuple(_text(row[place]) for place in places)
    if not found and not order:
        raise CorpusError(f"{name}: has no table {table!r}; expected a dump of that table by mysqldump")


def _lines(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES:
            raise CorpusError(
                f"{name}:{number}: the line is longer than {MAX_LINE_BYTES:,} bytes; expected SQL"
            )
        yield number, line


def _columns(lines: Iterator[tuple[int, bytes]], name: str) -> list[str]:
    """Names of the columns of the table whose statement has just begun."""
    order: list[str] = []
    for number, (_, line) in enumerate(lines):
        if line.startswith(b")"):
            break
        if number > MAX_COLUMNS:
            raise CorpusError(
                f"{name}: a table has more than {MAX_COLUMNS:,} columns; expected a dump of MySQL"
            )
        if found := _COLUMN.match(line):
            order.append(found[1].decode("utf-8", "replace"))
    return order


def _places(order: list[str], wanted: Sequence[str], place: str, table: str) -> list[int]:
    absent = [column for column in wanted if column not in order]
    if absent:
        raise CorpusError(
            f"{place}: the table {table!r} has no column {', '.join(absent)}; it has "
            f"{', '.join(order) or 'none'}: expected a dump with the statement that makes the table"
        )
    return [order.index(column) for column in wanted]


def _rows(line: bytes, place: str) -> Iterator[list[bytes]]:
    """The rows of one INSERT statement, which must end as it should."""
    at = line.index(b" VALUES") + len(b" VALUES") if b" VALUES" in line else len(line)
    while row := _ROW.match(line, at):
        yield _VALUES.findall(row[1])
        at = row.end()
        if row[2] == b";":
            return
    raise CorpusError(f"{place}: the statement is cut short at byte {at}; get the file again")


def _check_row(row: list[bytes], order: list[str], place: str) -> None:
    """Refuse a row that does not fit its table, or has a value that no table of pages or links has."""
    if len(row) != len(order):
        message = f"a row has {len(row)} values and the table {len(order)} columns; get the file again"
        raise CorpusError(f"{place}: {message}")
    if max(map(len, row)) > MAX_VALUE_BYTES:
        message = f"a value is longer than {MAX_VALUE_BYTES:,} bytes; expected a table of pages or links"
        raise CorpusError(f"{place}: {message}")


def _text(value: bytes) -> str:
    if not value.startswith(b"'"):
        return "" if value == b"NULL" else value.decode("ascii", "replace")
    inside = value[1:-1]
    if b"\\" in inside or b"'" in inside:
        inside = _ESCAPE.sub(lambda found: _LETTERS.get(found[1], found[1] or b"'"), inside)
    return inside.decode("utf-8", "replace")
