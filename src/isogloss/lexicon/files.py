"""Files of words: opened compressed or not, and written whole or not at all."""

from __future__ import annotations

import gzip
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, cast

from isogloss.exceptions import IsoglossError

__all__ = ["PathLike", "opened", "replacing"]

PathLike: TypeAlias = str | os.PathLike[str]
_GZIP = b"\x1f\x8b"


@contextmanager
def opened(path: PathLike, error: type[IsoglossError]) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked when they are gzip whatever the name says.

    What goes wrong with the file is raised as ``error``, in a sentence that names it.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
    except FileNotFoundError as reason:
        raise error(f"{name}: there is no such file; check the path") from reason
    except (EOFError, zlib.error, gzip.BadGzipFile) as reason:
        raise error(f"{name}: the gzip file is cut short or damaged ({reason}); get it again") from reason
    except OSError as reason:
        raise error(f"{name}: {reason.strerror or reason}; check the path and the disk") from reason


@contextmanager
def replacing(path: PathLike, error: type[IsoglossError]) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` when all went well, and leaves no trace otherwise.

    A name that ends in ``.gz`` is compressed.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise error(f"{os.fspath(path)}: is not a regular file; give the path of a file to write")
    temporary = target.with_name(f".isogloss-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield from _written(file, packed=target.suffix == ".gz")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as reason:
        raise error(f"{os.fspath(path)}: cannot be written: {reason.strerror or reason}") from reason
    finally:
        temporary.unlink(missing_ok=True)


def _written(file: IO[bytes], *, packed: bool) -> Iterator[IO[bytes]]:
    if packed:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as inner:
            yield cast("IO[bytes]", inner)
    else:
        yield file
