"""Open files whether compressed or not, and write them whole or not at all."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from isogloss.exceptions import CorpusError, IsoglossError

__all__ = [
    "PathLike",
    "check_writable",
    "open_binary",
    "opened",
    "replacing",
    "reporting_reads",
    "sync_folder",
    "total_size",
    "whole",
]

PathLike: TypeAlias = str | os.PathLike[str]

OnRead: TypeAlias = Callable[[int], None]
_on_read: ContextVar[OnRead | None] = ContextVar("on_read", default=None)

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
        with open_binary(path) as file:
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
def reporting_reads(on_read: OnRead) -> Iterator[None]:
    """Call ``on_read`` with the number of bytes of every read from a file, for progress bars.

    Counts the files that this thread opens meanwhile, as they are on the disk: compressed if they are.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en.txt").write_text("the house")
    >>> with reporting_reads(print), opened("en.txt") as file:
    ...     _ = file.read()
    9
    """
    token = _on_read.set(on_read)
    try:
        yield
    finally:
        _on_read.reset(token)


def open_binary(file: PathLike | int) -> io.BufferedReader:
    """Open a file, or a descriptor that stays open, for reading bytes that :func:`reporting_reads` counts."""
    return io.BufferedReader(_CountedFile(file, "rb", closefd=not isinstance(file, int)))


class _CountedFile(io.FileIO):
    """A file that reports how much is read from it."""

    def readinto(self, buffer: Any, /) -> int | None:
        return self._reported(super().readinto(buffer))

    def readall(self) -> bytes:
        data = super().readall()
        self._reported(len(data))
        return data

    def _reported(self, count: int | None) -> int | None:
        if count and (on_read := _on_read.get()) is not None:
            on_read(count)
        return count


def total_size(files: Iterable[PathLike | int]) -> int | None:
    """Bytes of some files together; None if one of them is a pipe or not there, so nobody can know."""
    try:
        found = [os.stat(file) for file in files]
    except OSError:
        return None
    return sum(each.st_size for each in found) if all(stat.S_ISREG(each.st_mode) for each in found) else None


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
        raise error(f"{os.fspath(path)}: cannot be written; its folder is read-only")


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
