"""The container of a model: a safetensors file with a JSON description in its metadata.

``__metadata__`` has one entry, ``isogloss``: the description as JSON text. It holds the format number, the
version that wrote it, the model, the digest of the tensors, and its own digest. So the header can be
verified without reading the tensors, and every byte that matters is covered by a digest. Future formats keep
the number in the same place, so that an older isogloss can report that it cannot read them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from isogloss.exceptions import ModelFileError
from isogloss.io._files import atomic_write_raw

__all__ = [
    "FORMAT_VERSION",
    "MAX_HEADER_BYTES",
    "Header",
    "model_file_errors",
    "read",
    "read_header",
    "read_mapped",
    "write",
]

FORMAT_VERSION = 1
MAX_HEADER_BYTES = 16 * 2**20
_KEYS = {"format", "written_by", "model", "tensors", "digest"}
_REMEDY = "copy the file or save the model again"
_SAFETENSORS_DTYPES = {
    "BOOL": np.dtype(bool),
    **{f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive",
    b"\x80": "a pickle",
    b"\x93NUMPY": "a NumPy array",
    b"\x1f\x8b": "gzip",
}


@dataclasses.dataclass(frozen=True)
class Header:
    """The header of a model file: the description of the model and the layout of the tensors."""

    description: dict[str, Any]
    tensors: dict[str, dict[str, Any]]
    array_bytes: int
    file_bytes: int


@contextmanager
def model_file_errors(path: str | os.PathLike[str], otherwise: str) -> Iterator[None]:
    """Raise any error inside as a one-line :class:`ModelFileError` that names the file.

    ``otherwise`` is the message for unexpected errors.
    """
    name = os.fspath(path)
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error.__cause__
    except OSError as error:
        raise ModelFileError(f"{name}: {error.strerror or error}; check the path and the disk") from error
    except MemoryError as error:
        raise ModelFileError(f"{name}: does not fit into memory, or is damaged; {_REMEDY}") from error
    except Exception as error:  # a hostile description reaches constructors, which may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelFileError(f"{name}: {otherwise} ({reason:.300}); {_REMEDY}") from error


def write(
    path: str | os.PathLike[str], description: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file atomically."""
    full = {"format": FORMAT_VERSION, **description, "tensors": _tensors_digest(tensors)}
    text = _dumps({**full, "digest": _description_digest(full)})
    data = safetensors.numpy.save(dict(tensors), metadata={"isogloss": text})
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"cannot hold a description of {length} bytes, the limit is {MAX_HEADER_BYTES}; keep long "
            "lists and dicts of the model as arrays"
        )
    with atomic_write_raw(path) as file:
        file.write(data)


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read and verify the header only."""
    with _open(path) as file:
        return _parse(_header(file), _size(file))


def read(path: str | os.PathLike[str]) -> tuple[Header, dict[str, NDArray[Any]]]:
    """Read and verify a whole file."""
    with _open(path) as file:
        header = _parse(_header(file), _size(file))
        file.seek(0)
        data = file.read(header.file_bytes)
    tensors = safetensors.numpy.load(data)
    if _tensors_digest(tensors) != header.description["tensors"]:
        raise ModelFileError(
            f"has arrays that do not match their digest: it was changed or damaged; {_REMEDY}"
        )
    return header, tensors


def read_mapped(path: str | os.PathLike[str]) -> tuple[Header, dict[str, NDArray[Any]]]:
    """Read and verify the header, and map the arrays into memory; their digest is not verified."""
    with _open(path) as file:
        header = _parse(_header(file), _size(file))
    first, tensors = header.file_bytes - header.array_bytes, {}
    for name, entry in header.tensors.items():
        start, end = (int(offset) for offset in entry["data_offsets"])
        dtype, shape = _SAFETENSORS_DTYPES[entry["dtype"]], tuple(map(int, entry["shape"]))
        if not 0 <= start <= end <= header.array_bytes or end - start != dtype.itemsize * math.prod(shape):
            raise ModelFileError(
                f"describes the array {name!r:.80} as another than the one it holds; {_REMEDY}"
            )
        if start == end:
            tensors[name] = np.empty(shape, dtype)
        else:
            tensors[name] = np.memmap(path, dtype, "r", first + start, shape)
    return header, tensors


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            raise ModelFileError(f"is {kind}; give the path of a model file")
        return open(path, "rb")
    except FileNotFoundError as error:
        raise ModelFileError("there is no such file; check the path") from error


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _header(file: BinaryIO) -> bytes:
    """Read the JSON text of the header; raise if the file is something else."""
    size, start = _size(file), file.read(9)
    if not start:
        raise ModelFileError(f"is empty; {_REMEDY}")
    if len(start) < 9:
        raise ModelFileError(f"is cut short: {size} bytes, less than any model file has; {_REMEDY}")
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{" or not 2 <= length <= MAX_HEADER_BYTES:
        kinds = [f"{kind}, " for signature, kind in _OTHER_FORMATS.items() if start.startswith(signature)]
        raise ModelFileError(f"is {''.join(kinds)}not a model file; save the model with isogloss.io.save")
    if size < 8 + length:
        raise ModelFileError(f"is cut short: {size} bytes of at least {8 + length}; {_REMEDY}")
    return start[8:] + file.read(length - 1)


def _parse(text: bytes, size: int) -> Header:
    tensors = json.loads(text.decode("utf-8"))
    metadata = tensors.pop("__metadata__", {})
    if "isogloss" not in metadata:
        raise ModelFileError("is a safetensors file without a model; save the model with isogloss.io.save")
    description = json.loads(metadata["isogloss"], parse_constant=_no_constant)
    _check_format(description)
    if len(metadata) != 1 or description.keys() != _KEYS:
        raise ModelFileError(f"has a header with unknown or missing keys; {_REMEDY}")
    if description.pop("digest") != _description_digest(description):
        raise ModelFileError(
            f"has a header that does not match its digest: it was changed or damaged; {_REMEDY}"
        )
    array_bytes = max((int(entry["data_offsets"][1]) for entry in tensors.values()), default=0)
    if size != 8 + len(text) + array_bytes:
        raise ModelFileError(
            f"has {size} bytes, not the {8 + len(text) + array_bytes} it was written with; {_REMEDY}"
        )
    return Header(description, tensors, array_bytes, size)


def _check_format(description: Any) -> None:
    number = description.get("format") if isinstance(description, dict) else None
    if type(number) is not int:
        raise ModelFileError(f"has a header without a format number; {_REMEDY}")
    if number < FORMAT_VERSION:
        raise ModelFileError(f"has the unknown format {number}; {_REMEDY}")
    if number > FORMAT_VERSION:
        raise ModelFileError(
            f"has format {number}, written by isogloss {description.get('written_by')!s:.40}, and this one "
            f"reads format {FORMAT_VERSION}; install a newer isogloss"
        )


def _no_constant(name: str) -> None:
    raise ModelFileError(f"has {name} in its description, which isogloss never writes; {_REMEDY}")


def _dumps(description: Mapping[str, Any]) -> str:
    return json.dumps(description, allow_nan=False, separators=(",", ":"))


def _description_digest(description: Mapping[str, Any]) -> str:
    return hashlib.blake2b(_dumps(description).encode(), digest_size=32).hexdigest()


def _tensors_digest(tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.blake2b(digest_size=32)
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
