"""Read word vectors: text with or without a header, word2vec's binary form, NumPy archives, gzip around any.

===========  ============================================================================================
text         ``word v1 v2 ...`` per line; fastText's and word2vec's files begin with ``words dimensions``,
             GloVe's do not
binary       word2vec: the same first line, then each word, a blank and float32 numbers
npz          arrays ``words`` and ``vectors``
===========  ============================================================================================

Which one a file has is seen from its first bytes, not from its name.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import VectorFileError
from isogloss.io import ARCHIVE_ERRORS, PathLike, open_decompressed
from isogloss.lexicon.vectors._text_vectors import Collector, ReadReport, first_line, read_text
from isogloss.lexicon.vectors._vectors import WordVectors

logger = logging.getLogger(__name__)

_ZIP, _FASTTEXT = b"PK\x03\x04", (793712314).to_bytes(4, "little")


def read_vectors(
    path: PathLike, language: str = "", *, limit: int | None = None, strict: bool = True
) -> WordVectors:
    r"""Read word vectors from a file.

    Parameters
    ----------
    path : path
        The file, gzip or not.
    language : str
        Name of the language; the file's name up to its first dot by default.
    limit : int, optional
        Read this many words, the first ones, and stop.
    strict : bool
        Refuse a file with a broken line, a vector of another length or a word that occurred before.
        Otherwise such lines are left out and a warning is logged.

    Raises
    ------
    VectorFileError
        The message names the file and the line.

    Notes
    -----
    Memory: the matrix in float32, and a block of lines. Time: a few seconds for 50,000 words of 300
    dimensions as text.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en.vec").write_text("2 3\ncat 1 0 .5\ndog 1 0 .25\n")
    >>> read_vectors("en.vec")
    WordVectors('en': 2 words, 3 dimensions)
    """
    vectors, report = read_vectors_with_report(path, language, limit=limit, strict=strict)
    if report.skipped:
        logger.warning("%s", report)
    return vectors


def read_vectors_with_report(
    path: PathLike, language: str = "", *, limit: int | None = None, strict: bool = False
) -> tuple[WordVectors, ReadReport]:
    r"""As :func:`read_vectors`, with an account of the lines that were left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en.vec").write_text("cat 1 0\ncat 1 1\ndog 1\nfish 2 0\n")
    >>> vectors, report = read_vectors_with_report("en.vec")
    >>> vectors.words
    ('cat', 'fish')
    >>> print(report)
    en.vec: read 2 words, left out 2 lines (1 repeated word, 1 wrong number of values); the first:
      line 2: the word 'cat' was on line 1 already
      line 3: 1 value after 'dog', expected 2
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit}; expected at least one word, or None for all")
    collector = Collector(os.fspath(path), limit=limit, strict=strict)
    with open_decompressed(path, VectorFileError) as file:
        _read(file, collector)
    name = language or os.path.basename(os.fspath(path)).partition(".")[0]
    return collector.finish(name)


def _read(file: IO[bytes], collector: Collector) -> None:
    start = file.read(4)
    file.seek(0)
    if start == _ZIP:
        _read_npz(file, collector)
    elif start == _FASTTEXT:
        raise VectorFileError(
            f"{collector.path}: is a model of fastText, not a list of vectors; use the .vec file beside it"
        )
    else:
        line = first_line(file, collector.path)
        if line.declared is not None and _is_binary(file):
            _read_binary(file, *line.declared, collector)
        else:
            read_text(file, line, collector)


def _is_binary(file: IO[bytes]) -> bool:
    """Return whether the bytes after a header are binary and not a word with numbers in UTF-8."""
    here = file.tell()
    sample = file.read(4096)
    file.seek(here)
    if sample.translate(None, _TEXT_BYTES):
        return True
    value = sample.partition(b" ")[2].split(maxsplit=1)[:1]
    return not (value and _FLOAT.fullmatch(value[0])) and "\ufffd" in sample[:-3].decode("utf-8", "replace")


_TEXT_BYTES = bytes({*range(32, 256), *b"\t\r\n"} - {127})
_FLOAT = re.compile(rb"[-+0-9.eE]+")


def _read_binary(file: IO[bytes], count: int, dim: int, collector: Collector) -> None:
    collector.expect(dim, count)
    wanted = count if collector.limit is None else min(count, collector.limit)
    for number, (word, values) in enumerate(_binary_entries(file, dim, wanted, collector.path), 1):
        row = np.frombuffer(values, dtype="<f4")
        collector.add(number, [word], row[None, :])
        if collector.full:
            return


def _binary_entries(file: IO[bytes], dim: int, count: int, path: str) -> Iterator[tuple[bytes, bytes]]:
    """Words and the bytes of their vectors, from a file read a megabyte at a time."""
    buffer, at, width = b"", 0, 4 * dim
    for number in range(1, count + 1):
        while (blank := buffer.find(b" ", at)) < 0 or len(buffer) < blank + 1 + width:
            more = file.read(max(1 << 20, width))
            if not more:
                raise VectorFileError(
                    f"{path}: ends at word {number} of {count}; get the file again, or ask for the "
                    f"first {number - 1} words"
                )
            buffer, at = buffer[at:] + more, 0
        yield buffer[at:blank].lstrip(b"\n"), buffer[blank + 1 : blank + 1 + width]
        at = blank + 1 + width


def _read_npz(file: IO[bytes], collector: Collector) -> None:
    try:
        with np.load(file, allow_pickle=False) as archive:
            words, matrix = archive["words"], archive["vectors"]
    except ARCHIVE_ERRORS as reason:
        raise VectorFileError(
            f"{collector.path}: expected arrays 'words' (text) and 'vectors' (numbers) in a NumPy archive "
            f"({reason})"
        ) from reason
    if matrix.ndim != 2 or words.shape != matrix.shape[:1] or words.dtype.kind != "U":
        raise VectorFileError(
            f"{collector.path}: 'words' is {words.dtype} of shape {words.shape} and 'vectors' has shape "
            f"{matrix.shape}; expected text, one word for each row"
        )
    n = len(words) if collector.limit is None else collector.limit
    collector.expect(matrix.shape[1], None)
    collector.add(1, [str(word).encode() for word in words[:n]], _as_float32(matrix[:n]))


def _as_float32(matrix: NDArray[np.generic]) -> NDArray[np.float32]:
    return np.asarray(matrix, dtype=np.float32)
