"""The files of a comparable corpus: memory-mapped NumPy arrays in a folder.

::

    FOLDER/corpus.json                      format, version, rows, and for each language what it holds
    FOLDER/presence.npy                     rows x languages, bool
    FOLDER/ids.text.npy, ids.offsets.npy    the id table
    FOLDER/LANG/indptr.npy, indices.npy, data.npy       counts in compressed rows
    FOLDER/LANG/words.*.npy, titles.*.npy   vocabulary and titles

``corpus.json`` is written last, and then the folder is renamed, so a folder with this file is complete.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from isogloss.corpora._strings import StringTable
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write, sync_folder

HEADER = "corpus.json"
FORMAT, VERSION = "isogloss comparable corpus", 1


def check_language(code: str) -> str:
    """Return a language code that can name a folder; raise an error for any other.

    Examples
    --------
    >>> check_language("pt-BR")
    'pt-BR'
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,30}", code):
        raise ValueError(f"the language {code!r} is not a code of letters, digits and hyphens, as 'pt-BR'")
    return code


@contextmanager
def new_folder(folder: PathLike) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to ``folder`` on success and removed on failure."""
    target = Path(folder).absolute()
    if target.exists():
        raise CorpusError(f"{folder}: already exists; remove it, or give another name")
    temporary = target.with_name(f".isogloss-{secrets.token_hex(8)}.tmp")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        sync_folder(temporary)
        os.rename(temporary, target)
        sync_folder(target.parent)
    except OSError as reason:
        raise CorpusError(f"{folder}: cannot be written: {reason.strerror or reason}") from reason
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array to a file."""
    with atomic_write(path) as file:
        np.save(file, values, allow_pickle=False)


def write_strings(folder: Path, name: str, strings: Iterable[str]) -> None:
    """Write strings to two files."""
    table = strings if isinstance(strings, StringTable) else StringTable.of(strings)
    write_array(folder / f"{name}.text.npy", table.text)
    write_array(folder / f"{name}.offsets.npy", table.offsets)


def write_header(folder: Path, header: dict[str, Any]) -> None:
    """Write the description of the corpus, which completes it."""
    header_fields = {"format": FORMAT, "version": VERSION, **header}
    with atomic_write(folder / HEADER) as file:
        file.write(json.dumps(header_fields, ensure_ascii=True, indent=1).encode())


class CountsWriter:
    """Writes the counts of a language into mapped files, line by line in any order.

    ``lengths`` are the numbers of different words of the lines.
    """

    def __init__(self, folder: Path, lengths: NDArray[np.int64]) -> None:
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = int(indptr[-1])
        self._starts = indptr[:-1]
        small = entries <= np.iinfo(np.int32).max
        write_array(folder / "indptr.npy", indptr.astype(np.int32 if small else np.int64))
        self._indices = _new_map(folder / "indices.npy", np.int32, entries)
        self._data = _new_map(folder / "data.npy", np.float32, entries)

    def put(self, lines: NDArray[np.int64], counts: Any) -> None:
        """Write some lines, the rows of a CSR matrix."""
        counts.sort_indices()
        starts = self._starts[lines] - counts.indptr[:-1]
        where = np.repeat(starts, np.diff(counts.indptr)) + np.arange(counts.nnz)
        self._indices[where] = counts.indices
        self._data[where] = counts.data

    def close(self) -> None:
        """Flush everything to the disk."""
        for values in (self._indices, self._data):
            if isinstance(values, np.memmap):
                values.flush()


def _new_map(path: Path, dtype: Any, length: int) -> NDArray[Any]:
    if length:
        return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(length,))
    empty: NDArray[Any] = np.zeros(0, dtype=dtype)
    write_array(path, empty)
    return empty


def read_header(folder: Path) -> dict[str, Any]:
    """Read the description of a folder."""
    path = folder / HEADER
    try:
        header = json.loads(path.read_text("utf-8"))
    except OSError as reason:
        raise CorpusError(
            f"{folder}: is not a corpus: {HEADER} cannot be read ({reason.strerror}); expected a folder "
            "that 'isogloss corpus build' made"
        ) from reason
    except ValueError as reason:
        raise CorpusError(f"{path}: is damaged ({reason}); build the corpus again") from reason
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CorpusError(f"{path}: is not the header of a comparable corpus")
    if header.get("version") != VERSION:
        raise CorpusError(
            f"{folder}: is of version {header.get('version')}; this isogloss reads version {VERSION}: "
            "use a newer isogloss, or build the corpus again"
        )
    return header


def read_array(path: Path, shape: tuple[int, ...], *kinds: Any) -> NDArray[Any]:
    """Map an array, and check its kind and that it has the shape in the header."""
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as reason:  # numpy parses the header as Python: a damaged one raises errors of any kind
        raise CorpusError(
            f"{path}: is absent, cut short or damaged ({reason}); build the corpus again"
        ) from reason
    if values.shape != shape or all(values.dtype != kind for kind in kinds):
        raise CorpusError(
            f"{path}: has shape {values.shape} and dtype {values.dtype}; expected {shape} and "
            f"{' or '.join(np.dtype(kind).name for kind in kinds)}: build the corpus again"
        )
    return values  # type: ignore[no-any-return]


def read_strings(folder: Path, name: str, length: int) -> StringTable:
    """Map the strings of two files."""
    offsets = read_array(folder / f"{name}.offsets.npy", (length + 1,), np.int64)
    return StringTable(read_array(folder / f"{name}.text.npy", (int(offsets[-1]),), np.uint8), offsets)


def read_counts(folder: Path, documents: int, words: int) -> Any:
    """Map counts as a CSR matrix."""
    indptr = read_array(folder / "indptr.npy", (documents + 1,), np.int32, np.int64)
    entries = int(indptr[-1])
    indices = read_array(folder / "indices.npy", (entries,), np.int32)
    data = read_array(folder / "data.npy", (entries,), np.float32)
    counts = csr_matrix((data, indices, indptr), shape=(documents, words), copy=False)
    counts.has_canonical_format = True
    return counts
