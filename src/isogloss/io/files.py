"""Files: opened whether packed or not, read by lines, and written whole or not at all."""

from __future__ import annotations

import bz2
import dataclasses
import errno
import gzip
import io
import lzma
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import CorpusError, IsoglossError

__all__ = [
    "MAX_LINE_BYTES",
    "PathLike",
    "Spans",
    "check_writable",
    "line_blocks",
    "lines_of",
    "opened",
    "read_blocks",
    "read_lines",
    "replacing",
    "sync_folder",
    "whole",
]

PathLike: TypeAlias = str | os.PathLike[str]

MAX_LINE_BYTES = 1 << 20
"""A longer line is not text, and is not read into memory."""

BLOCK_BYTES = 1 << 20
"""Bytes that are read at a time."""

_BOM = b"\xef\xbb\xbf"
_SIGNATURES = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}


@contextmanager
def opened(path: PathLike, error: type[IsoglossError] = CorpusError) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked when they are gzip, bzip2 or xz, whatever the name says.

    What goes wrong with the file is raised as ``error``, in a sentence that names it.

    Examples
    --------
    >>> import gzip
    >>> with gzip.open("en.txt", "wb") as file:
    ...     _ = file.write(b"the house")
    >>> with opened("en.txt") as file:
    ...     file.read()
    b'the house'
    """
    name, kind = os.fspath(path), "file"
    try:
        with open(path, "rb") as file:
            start = file.peek(6)  # a pipe cannot be wound back
            kind = next((kind for mark, kind in _SIGNATURES.items() if start.startswith(mark)), kind)
            yield _unpacked(file, kind)
    except FileNotFoundError as reason:
        raise error(f"{name}: there is no such file; check the path") from reason
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as reason:
        raise error(
            f"{name}: the {kind} data are cut short or damaged ({reason}); get the file again"
        ) from reason
    except OSError as reason:
        raise error(f"{name}: {reason.strerror or reason}; check the path and the disk") from reason


def _unpacked(file: IO[bytes], kind: str) -> IO[bytes]:
    if kind == "gzip":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if kind == "bzip2":
        return cast("IO[bytes]", bz2.BZ2File(file))
    if kind == "xz":
        return cast("IO[bytes]", lzma.LZMAFile(file))
    return file


@contextmanager
def replacing(path: PathLike, error: type[IsoglossError] = CorpusError) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` when all went well, and leaves no trace otherwise.

    A name that ends in ``.gz`` is compressed.

    Examples
    --------
    >>> from pathlib import Path
    >>> with replacing("out.txt") as file:
    ...     _ = file.write(b"done")
    >>> Path("out.txt").read_text()
    'done'
    """
    try:
        with whole(path) as file:
            yield from _packing(file, packed=Path(path).suffix == ".gz")
    except OSError as reason:
        raise error(f"{os.fspath(path)}: cannot be written: {reason.strerror or reason}") from reason


@contextmanager
def whole(path: PathLike) -> Iterator[IO[bytes]]:
    """The same, as it is and with errors of the system.

    Of a file that was there the permissions stay, and of a link the link. The file is on the disk before it
    gets its name.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a regular file")
    temporary = target.with_name(f".isogloss-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)


def check_writable(path: PathLike, error: type[IsoglossError] = CorpusError) -> None:
    """Refuse a file that could not be written, before the work whose result it is to hold.

    Examples
    --------
    >>> check_writable("out.txt")
    >>> check_writable("no/such/folder/out.txt")
    Traceback (most recent call last):
        ...
    isogloss.exceptions.CorpusError: no/such/folder/out.txt: cannot be written; give the path of a file in
    a folder that exists
    """
    target = Path(os.path.realpath(path))
    if (target.exists() and not target.is_file()) or not target.parent.is_dir():
        raise error(f"{os.fspath(path)}: cannot be written; give the path of a file in a folder that exists")
    if not os.access(target.parent, os.W_OK):
        raise error(f"{os.fspath(path)}: cannot be written; we may not write to that folder")


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a loss of power, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _packing(file: IO[bytes], *, packed: bool) -> Iterator[IO[bytes]]:
    if packed:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as inner:
            yield cast("IO[bytes]", inner)
    else:
        yield file


@dataclasses.dataclass(frozen=True, eq=False)
class Spans:
    """Pieces of a text, by where each begins and ends; one that is absent begins at -1.

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
        """The text and the spans as the compiled loops read them."""
        return np.frombuffer(self.text, dtype=np.uint8), self.starts, self.ends


def read_lines(path: PathLike) -> Iterator[bytes]:
    """Lines of a file, packed or not, one after the other."""
    with opened(path) as file:
        yield from lines_of(file, os.fspath(path))


def read_blocks(path: PathLike) -> Iterator[Spans]:
    """Lines of a file, packed or not, many at a time."""
    with opened(path) as file:
        yield from line_blocks(file, os.fspath(path))


def lines_of(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Lines, without their line breaks and without the mark that some editors put at the start of a file.

    Only a line feed ends a line, as in the tools that count lines.
    """
    for block in line_blocks(file, name):
        for line in block:
            yield cast("bytes", line).rstrip(b"\r")


def line_blocks(file: IO[bytes], name: str) -> Iterator[Spans]:
    r"""The same many at a time, as they come in; carriage returns stay.

    Examples
    --------
    >>> import io
    >>> [list(block) for block in line_blocks(io.BytesIO(b"la maison\r\n\nfleur"), "fr")]
    [[b'la maison\r', b''], [b'fleur']]
    """
    number, rest, more = 0, b"", True
    while more:
        chunk = cast("io.BufferedIOBase", file).read1(BLOCK_BYTES)
        more, text = bool(chunk), rest + chunk
        stop = text.rfind(b"\n") + 1 if more else len(text)
        lines, rest = _split(text[:stop]), text[stop:]
        too_long = np.flatnonzero(np.append(lines.ends - lines.starts, len(rest)) >= MAX_LINE_BYTES)
        lines = lines[: too_long[0]] if too_long.size else lines
        if len(lines):
            yield _unmarked(lines) if number == 0 else lines
        number += len(lines)
        if too_long.size:
            raise CorpusError(
                f"{name}:{number + 1}: the line is longer than {MAX_LINE_BYTES:,} bytes; expected text with "
                "one sentence per line"
            )


def _split(text: bytes) -> Spans:
    """The lines of a text that begins with a line and ends with one."""
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    return Spans(text, np.append(0, ends + 1)[: len(ends)], ends)


def _unmarked(lines: Spans) -> Spans:
    """The first lines of a file without the mark before them."""
    if lines.text.startswith(_BOM):
        lines.starts[0] = len(_BOM)
    return lines
