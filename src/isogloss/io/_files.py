"""Open compressed files, and write files atomically."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from isogloss.exceptions import CorpusError, IsoglossError

PathLike: TypeAlias = str | os.PathLike[str]

OnRead: TypeAlias = Callable[[int], None]
_on_read: ContextVar[OnRead | None] = ContextVar("on_read", default=None)

_MAGIC_NUMBERS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}


@contextmanager
def open_decompressed(path: PathLike, error: type[IsoglossError] = CorpusError) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; decompress gzip, bzip2 and xz, whatever its name is.

    Problems with the file are raised as ``error`` with a message that names it.

    Examples
    --------
    >>> import gzip
    >>> with gzip.open("en.txt", "wb") as file:
    ...     _ = file.write(b"the house")
    >>> with open_decompressed("en.txt") as file:
    ...     file.read()
    b'the house'
    """
    name, kind = os.fspath(path), "file"
    try:
        with open_binary(path) as file:
            start = file.peek(6)  # a pipe cannot be rewound
            kind = next((kind for mark, kind in _MAGIC_NUMBERS.items() if start.startswith(mark)), kind)
            yield _decompressing(file, kind)
    except FileNotFoundError as reason:
        raise error(f"{name}: there is no such file; check the path") from reason
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as reason:
        raise error(
            f"{name}: the {kind} data are cut short or damaged ({reason}); get the file again"
        ) from reason
    except OSError as reason:
        raise error(f"{name}: {reason.strerror or reason}; check the path and the disk") from reason


def _decompressing(file: IO[bytes], kind: str) -> IO[bytes]:
    if kind == "gzip":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if kind == "bzip2":
        return cast("IO[bytes]", bz2.BZ2File(file))
    if kind == "xz":
        return cast("IO[bytes]", lzma.LZMAFile(file))
    return file


@contextmanager
def report_reads(on_read: OnRead) -> Iterator[None]:
    """Call ``on_read`` with the number of bytes of every read from a file, for progress bars.

    Counts the files that this thread opens meanwhile, by their compressed size.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en.txt").write_text("the house")
    >>> with report_reads(print), open_decompressed("en.txt") as file:
    ...     _ = file.read()
    9
    """
    token = _on_read.set(on_read)
    try:
        yield
    finally:
        _on_read.reset(token)


def open_binary(file: PathLike | int) -> io.BufferedReader:
    """Open a file, or a descriptor that stays open, for reading bytes that :func:`report_reads` counts."""
    return io.BufferedReader(_CountedFile(file, "rb", closefd=not isinstance(file, int)))


class _CountedFile(io.FileIO):
    """A file that reports the number of bytes read."""

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
    """Return the total size of files in bytes; None if one is missing or not a regular file."""
    try:
        found = [os.stat(file) for file in files]
    except OSError:
        return None
    return sum(each.st_size for each in found) if all(stat.S_ISREG(each.st_mode) for each in found) else None


@contextmanager
def atomic_write(path: PathLike, error: type[IsoglossError] = CorpusError) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces ``path`` on success and leaves no trace on failure.

    A file whose name ends in ``.gz`` is compressed.

    Examples
    --------
    >>> from pathlib import Path
    >>> with atomic_write("out.txt") as file:
    ...     _ = file.write(b"done")
    >>> Path("out.txt").read_text()
    'done'
    """
    try:
        with atomic_write_raw(path) as file:
            yield from _compressing(file, compress=Path(path).suffix == ".gz")
    except OSError as reason:
        raise error(f"{os.fspath(path)}: cannot be written: {reason.strerror or reason}") from reason


@contextmanager
def atomic_write_raw(path: PathLike) -> Iterator[IO[bytes]]:
    """Write a file atomically, without compression and with errors of the operating system.

    Permissions of an existing file and symbolic links are kept. The file is synced to disk before it is
    renamed.
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
    """Check that a file can be written, before the work whose result it will hold.

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


def lock_file(handle: int) -> None:
    """Lock an open file without waiting; raise OSError if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync_folder(folder: Path) -> None:
    """Sync the directory entries of a folder to disk, where the system supports it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _compressing(file: IO[bytes], *, compress: bool) -> Iterator[IO[bytes]]:
    if compress:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as inner:
            yield cast("IO[bytes]", inner)
    else:
        yield file
