"""Read files line by line, or in blocks of lines for the compiled kernels."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import CorpusError
from isogloss.io._files import PathLike, open_decompressed

MAX_LINE_BYTES = 1 << 20
"""Longer lines are refused."""

BLOCK_BYTES = 1 << 20
"""The size of one read."""

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, eq=False)
class Spans:
    """Substrings of a text by start and end offsets; a missing one starts at -1.

    Examples
    --------
    >>> import numpy as np
    >>> spans = Spans(b"la maison", np.array([0, -1, 3]), np.array([2, -1, 9]))
    >>> list(spans), list(spans[1:])
    ([b'la', None, b'maison'], [None, b'maison'])
    """

    text: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, rows: slice) -> Spans:
        return Spans(self.text, self.starts[rows], self.ends[rows])

    def __iter__(self) -> Iterator[bytes | None]:
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            yield None if start < 0 else self.text[start:end]

    @property
    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The text, the starts and the ends as arrays for the compiled kernels."""
        return np.frombuffer(self.text, dtype=np.uint8), self.starts, self.ends


def read_lines(path: PathLike) -> Iterator[bytes]:
    """Yield the lines of a file, which may be compressed."""
    with open_decompressed(path) as file:
        yield from iter_lines(file, os.fspath(path))


def read_line_blocks(path: PathLike) -> Iterator[Spans]:
    """Yield the lines of a file, which may be compressed, in blocks."""
    with open_decompressed(path) as file:
        yield from iter_line_blocks(file, os.fspath(path))


def iter_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield lines without line breaks and without a byte order mark.

    Only a line feed ends a line, as in ``wc -l``.
    """
    for block in iter_line_blocks(file, name):
        for line in block:
            yield cast("bytes", line).rstrip(b"\r")


def iter_line_blocks(file: IO[bytes], name: str) -> Iterator[Spans]:
    r"""Yield lines in blocks, as they are read; carriage returns stay.

    Examples
    --------
    >>> import io
    >>> [list(block) for block in iter_line_blocks(io.BytesIO(b"la maison\r\n\nfleur"), "fr")]
    [[b'la maison\r', b''], [b'fleur']]
    """
    number, rest, more = 0, b"", True
    while more:
        chunk = cast("io.BufferedIOBase", file).read1(BLOCK_BYTES)
        more, text = bool(chunk), rest + chunk
        if number == 0 and text.startswith(_UTF16_BOMS):
            raise CorpusError(
                f"{name}: the file is in UTF-16; expected UTF-8: convert it, for example with "
                "iconv -f UTF-16 -t UTF-8"
            )
        stop = text.rfind(b"\n") + 1 if more else len(text)
        lines, rest = _split(text[:stop]), text[stop:]
        too_long = np.flatnonzero(np.append(lines.ends - lines.starts, len(rest)) >= MAX_LINE_BYTES)
        lines = lines[: too_long[0]] if too_long.size else lines
        if len(lines):
            yield _without_bom(lines) if number == 0 else lines
        number += len(lines)
        if too_long.size:
            raise CorpusError(
                f"{name}:{number + 1}: the line is longer than {MAX_LINE_BYTES:,} bytes; expected text with "
                "one sentence per line"
            )


def _split(text: bytes) -> Spans:
    """Split a text of whole lines."""
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    return Spans(text, np.append(0, ends + 1)[: len(ends)], ends)


def _without_bom(lines: Spans) -> Spans:
    """Remove the byte order mark from the first line."""
    if lines.text.startswith(_BOM):
        lines.starts[0] = len(_BOM)
    return lines
