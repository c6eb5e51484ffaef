"""The streams of a multistream dump, which processes can decompress on their own.

``pages-articles-multistream.xml.bz2`` is a sequence of bzip2 streams: the head of the XML, about a hundred
pages in each of the next, and its end. Every stream begins with the same ten bytes, so a scan of the file
finds them, as the index does that Wikimedia publishes beside it.
"""

from __future__ import annotations

import bz2
import mmap
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from isogloss.corpora.readers._records import BadRecordError
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, open_binary, open_decompressed

_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
"""Header of a stream, and magic number of its first block: ten bytes, so chance makes none."""

PART_BYTES = 1 << 18
"""Compressed bytes of a part, at least; about a second of work."""

MIN_STREAMS = 3
"""Streams of a multistream dump, at least: its head, pages, its end."""

CHUNK_BYTES = 1 << 18


class Span(NamedTuple):
    """Bytes of a file that hold whole streams; the last span ends the file."""

    start: int
    end: int
    last: bool


def find_streams(path: PathLike) -> list[int]:
    """Return the places in a file where bzip2 streams begin; none in a file of another kind.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("two.bz2").write_bytes(bz2.compress(b"head") + bz2.compress(b"pages"))
    >>> find_streams("two.bz2")
    [0, 40]
    """
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return []
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if not _STREAM.match(content):
                    return []
                return [found.start() for found in _STREAM.finditer(content)]
    except FileNotFoundError as reason:
        raise CorpusError(f"{os.fspath(path)}: there is no such file; check the path") from reason
    except (OSError, ValueError):  # a pipe or a device: read in order
        return []


def find_spans(path: PathLike, min_bytes: int = PART_BYTES) -> list[Span]:
    """Return spans of whole streams that cover a multistream dump; none for a small or any other file."""
    streams = find_streams(path)
    if len(streams) < MIN_STREAMS:
        return []
    edges = [0]
    for start in streams:
        if start - edges[-1] >= min_bytes:
            edges.append(start)
    size = os.path.getsize(path)
    spans = [Span(start, end, end == size) for start, end in pairwise([*edges, size])]
    return spans if len(spans) > 1 else []


def read_span(path: PathLike, span: Span) -> Iterator[bytes]:
    """Yield what the streams of a span hold, in chunks.

    Everything before a damaged place is given; then BadRecordError says where the stream begins.
    """
    with open_binary(path) as file:
        file.seek(span.start)
        left, start = span.end - span.start, span.start
        decompressor = bz2.BZ2Decompressor()
        pending = b""
        while True:
            if decompressor.eof:
                pending = decompressor.unused_data
                if not pending and not left:
                    return
                start = span.end - left - len(pending)
                decompressor = bz2.BZ2Decompressor()
            if decompressor.needs_input and not pending:
                pending = file.read(min(CHUNK_BYTES, left))
                left -= len(pending)
                if not pending:
                    raise _cut_short(start, "it ends too early")
            try:
                chunk = decompressor.decompress(pending, CHUNK_BYTES)
            except OSError as reason:
                raise _cut_short(start, str(reason)) from reason
            pending = b""
            if chunk:
                yield chunk


def _cut_short(start: int, reason: str) -> BadRecordError:
    message = f"the stream at byte {start:,} is cut short or damaged ({reason}); get the file again"
    return BadRecordError("cut short", message)


def read_index(path: PathLike) -> tuple[list[int], int]:
    r"""Return where the streams with pages begin, and the number of pages, as the index of a dump says.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("index.txt").write_text("616:10:Bled\n616:12:Bohinj\n9400:39:Kranj\n")
    >>> read_index("index.txt")
    ([616, 9400], 3)
    """
    offsets: dict[int, None] = {}
    number = 0
    with open_decompressed(path) as file:
        for number, line in enumerate(file, 1):
            offset = line.partition(b":")[0]
            if not offset.isdigit():
                expected = "expected 'offset:number:title', as in the index of a multistream dump"
                raise CorpusError(f"{os.fspath(path)}:{number}: {line[:60]!r} is no entry; {expected}")
            offsets[int(offset)] = None
    return list(offsets), number
