"""Files of text: opened whether packed or not, and written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, cast

from isogloss.exceptions import CorpusError, IsoglossError

__all__ = ["MAX_LINE_BYTES", "PathLike", "lines_of", "opened", "read_lines", "replacing"]

PathLike: TypeAlias = str | os.PathLike[str]

MAX_LINE_BYTES = 1 << 20
"""A longer line is not text, and is not read into memory."""

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
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise error(f"{os.fspath(path)}: is not a regular file; give the path of a file to write")
    temporary = target.with_name(f".isogloss-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield from _packing(file, packed=target.suffix == ".gz")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as reason:
        raise error(f"{os.fspath(path)}: cannot be written: {reason.strerror or reason}") from reason
    finally:
        temporary.unlink(missing_ok=True)


def _packing(file: IO[bytes], *, packed: bool) -> Iterator[IO[bytes]]:
    if packed:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as inner:
            yield cast("IO[bytes]", inner)
    else:
        yield file


def read_lines(path: PathLike) -> Iterator[bytes]:
    """Lines of a file, packed or not, one after the other."""
    with opened(path) as file:
        yield from lines_of(file, os.fspath(path))


def lines_of(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Lines, without their line breaks and without the mark that some editors put at the start of a file.

    Only a line feed ends a line, as in the tools that count lines.
    """
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), 1):
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            raise CorpusError(
                f"{name}:{number}: the line is longer than {MAX_LINE_BYTES:,} bytes; expected text with one "
                "sentence per line"
            )
        text = line.rstrip(b"\r\n")
        yield text.removeprefix(_BOM) if number == 1 else text
