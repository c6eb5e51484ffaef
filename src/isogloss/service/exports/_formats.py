"""Writers of tables: CSV, JSON lines and Parquet, as iterators over the bytes of the file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from isogloss.extras import import_extra

if TYPE_CHECKING:
    from isogloss.service.exports._tables import Column

Row = Mapping[str, Any]

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
"""Media types by format, which is also the ending of the file name."""

FORMATS = tuple(MEDIA_TYPES)

ROWS_PER_CHUNK = 200
ROWS_PER_GROUP = 5_000
"""Rows of a row group of a Parquet file, which are in memory at a time."""

_SIGNS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""Signs that begin a formula; some spreadsheets read full-width signs as their ASCII forms."""


def check_format(format: str) -> None:
    """Raise an error for an unknown format, or one whose optional package is missing."""
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
    if format == "parquet":
        _pyarrow()


def write_table(columns: Sequence[Column], rows: Iterable[Row], format: str) -> Iterator[bytes]:
    """Write rows in a format."""
    return _WRITERS[format](columns, rows)


def _write_jsonl(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[bytes]:
    for part in _batches(rows, ROWS_PER_CHUNK):
        lines = (
            json.dumps({column.name: _plain(row[column.name]) for column in columns}, ensure_ascii=False)
            for row in part
        )
        yield "".join(f"{line}\n" for line in lines).encode()


def _write_csv(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[bytes]:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([column.name for column in columns])
    yield buffer.getvalue().encode()
    for part in _batches(rows, ROWS_PER_CHUNK):
        buffer.seek(0)
        buffer.truncate()
        writer.writerows([_cell(row[column.name]) for column in columns] for row in part)
        yield buffer.getvalue().encode()


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return _iso(value) if isinstance(value, datetime) else value


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _cell(value: Any) -> Any:
    """Return a value as a cell of a CSV file; text that a spreadsheet could evaluate gets an apostrophe.

    Examples
    --------
    >>> _cell("=1+1"), _cell(-1.5), _cell(["de", "sl"]), _cell({"de": "Sturm"}), _cell(None)
    ("'=1+1", -1.5, 'de; sl', '{"de": "Sturm"}', '')
    """
    if value is None:
        return ""
    if isinstance(value, datetime):
        return _iso(value)
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        value = "; ".join(value)
    if not isinstance(value, str):
        return value
    text = value.replace("\0", "")
    is_formula = text[:1] in {"\t", "\r", "\n"} or text.lstrip()[:1] in _SIGNS
    return f"'{text}" if is_formula else text


def _write_parquet(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[bytes]:
    pa = _pyarrow()
    parquet = import_extra("pyarrow.parquet", "export", "Parquet")
    text = pa.string()
    types = {
        "text": text,
        "texts": pa.list_(text),
        "number": pa.int64(),
        "decimal": pa.float64(),
        "time": pa.timestamp("us", tz="UTC"),
        "names": pa.list_(pa.struct([("lang", text), ("title", text)])),
    }
    schema = pa.schema([(column.name, types[column.kind]) for column in columns])
    sink = _Sink()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for part in _batches(rows, ROWS_PER_GROUP):
            arrays = [_array(pa, column, types, part) for column in columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


def _array(pa: Any, column: Column, types: Mapping[str, Any], rows: Sequence[Row]) -> Any:
    values = [row[column.name] for row in rows]
    if column.kind == "names":
        values = [[{"lang": lang, "title": title} for lang, title in names.items()] for names in values]
    return pa.array(values, types[column.kind])


def _pyarrow() -> Any:
    return import_extra("pyarrow", "export", "Parquet")


class _Sink(io.RawIOBase):
    """A file that keeps what was written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


_WRITERS: Mapping[str, Callable[[Sequence[Column], Iterable[Row]], Iterator[bytes]]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}


def _batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    iterator = iter(rows)
    while part := list(islice(iterator, size)):
        yield part
