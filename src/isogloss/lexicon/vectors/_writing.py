"""Write word vectors as text or in word2vec's binary form; the file is there whole, or as it was before."""

from __future__ import annotations

import os
from typing import IO

from isogloss.exceptions import VectorFileError
from isogloss.io import PathLike, atomic_write
from isogloss.lexicon.vectors._vectors import WordVectors


def write_vectors(vectors: WordVectors, path: PathLike, *, binary: bool = False) -> None:
    """Write vectors in a form that other programs read.

    Parameters
    ----------
    vectors : WordVectors
        What to write. Text form takes words without line breaks, the binary one words without blanks.
    path : path
        The file to write or replace; gzip if its name ends in ``.gz``.
    binary : bool
        word2vec's binary form in place of text. Both are read back exactly.

    Examples
    --------
    >>> from isogloss.lexicon import WordVectors, read_vectors
    >>> write_vectors(WordVectors(["cat", "dog"], [[1, 0.5], [0.25, 2]]), "en.vec")
    >>> print(open("en.vec").read())
    2 2
    cat 1 0.5
    dog 0.25 2
    <BLANKLINE>
    >>> read_vectors("en.vec").words
    ('cat', 'dog')
    """
    forbidden = " \n" if binary else "\r\n"
    for word in vectors.words:
        if not word.strip() or any(letter in word for letter in forbidden):
            raise VectorFileError(
                f"{os.fspath(path)}: the word {word!r} cannot be written; it is empty or holds a line break "
                "or, in binary files, a blank"
            )
    with atomic_write(path, VectorFileError) as file:
        file.write(f"{len(vectors)} {vectors.dim}\n".encode())
        (_write_binary if binary else _write_text)(vectors, file)


def _write_text(vectors: WordVectors, file: IO[bytes]) -> None:
    for word, row in zip(vectors.words, vectors.matrix, strict=True):
        numbers = " ".join(f"{value:.9g}" for value in row.tolist())
        file.write(f"{word} {numbers}\n".encode())


def _write_binary(vectors: WordVectors, file: IO[bytes]) -> None:
    for word, row in zip(vectors.words, vectors.matrix.astype("<f4", copy=False), strict=True):
        file.write(word.encode() + b" " + row.tobytes() + b"\n")
