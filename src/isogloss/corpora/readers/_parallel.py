"""Parallel text in plain files: two files line by line, columns of one, or fast_align's bars.

=================  =========================================================================
``LinePairs``      two files, a sentence per line
``ColumnPairs``    one file of tab-separated columns
``BarPairs``       one file, ``source ||| target``
``ZipPairs``       a zip archive of two such files, as Moses and OPUS give them
``TmxPairs``       a translation memory (module ``tmx``)
=================  =========================================================================

All but the last two take files that are packed with gzip, bzip2 or xz. None is read into memory as a whole.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from isogloss.corpora._languages import same_language
from isogloss.corpora.readers._blocks import PairBlock, PlainPairs, parts_of, side_by_side
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, Spans, iter_line_blocks, open_binary, read_line_blocks


class LinePairs(PlainPairs):
    r"""Two files of which lines with the same number are translations.

    Parameters
    ----------
    source, target : path
        The files.
    **options
        ``max_tokens`` and ``on_bad`` of :class:`ParallelText`.

    Raises
    ------
    CorpusError
        When the files have different numbers of lines, whatever ``on_bad`` says: from some line on the
        pairs would be no pairs.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("en").write_text("the house\n\nthe cat\n")
    >>> _ = Path("fr").write_text("la maison\nrien\nle chat\n")
    >>> corpus = LinePairs("en", "fr", on_bad="skip")
    >>> list(corpus)
    [(['the', 'house'], ['la', 'maison']), ([], []), (['the', 'cat'], ['le', 'chat'])]
    >>> print(corpus.report)
    3 sentence pairs, 1 of them left out (1 empty); the first:
      en:2, fr:2: the source side is empty
    """

    def __init__(self, source: PathLike, target: PathLike, **options: Any) -> None:
        super().__init__(**options)
        self.source, self.target = os.fspath(source), os.fspath(target)

    def place(self, line: int) -> str:
        """Both files and the line."""
        return f"{self.source}:{line}, {self.target}:{line}"

    def blocks(self) -> Iterator[PairBlock]:
        """Lines of the two files."""
        return side_by_side(
            read_line_blocks(self.source), read_line_blocks(self.target), self.source, self.target
        )


class ColumnPairs(PlainPairs):
    r"""Two columns of a file of tab-separated columns.

    Parameters
    ----------
    path : path
        The file.
    source, target : int or str
        The columns: numbers from zero, or both as names that stand on the first line.
    **options
        ``max_tokens`` and ``on_bad`` of :class:`ParallelText`.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("pairs.tsv").write_text("id\ten\tfr\n1\tthe house\tla maison\n")
    >>> list(ColumnPairs("pairs.tsv", "en", "fr"))
    [(['the', 'house'], ['la', 'maison'])]
    """

    absent = "has fewer columns than asked for"

    def __init__(self, path: PathLike, source: int | str = 0, target: int | str = 1, **options: Any) -> None:
        super().__init__(**options)
        numbers = [column for column in (source, target) if isinstance(column, int)]
        if len(numbers) == 1 or source == target or min(numbers, default=0) < 0:
            raise ValueError(
                f"columns {source!r} and {target!r}; expected two different numbers from zero, or two names"
            )
        self.path, self.source, self.target = os.fspath(path), source, target

    def place(self, line: int) -> str:
        """The file and the line."""
        return f"{self.path}:{line}"

    def blocks(self) -> Iterator[PairBlock]:
        """The two columns of every line."""
        blocks = read_line_blocks(self.path)
        start = next(blocks, Spans(b"", np.empty(0, np.int64), np.empty(0, np.int64)))
        i, j, names = self._columns(start)
        number = 1 + names
        for lines in chain([start[names:]], blocks):
            yield PairBlock(number, *parts_of(lines, b"\t", i, j))
            number += len(lines)

    def _columns(self, start: Spans) -> tuple[int, int, int]:
        """Numbers of the two columns, and of the lines that name them: one or none."""
        if isinstance(self.source, int) and isinstance(self.target, int):
            return self.source, self.target, 0
        line = next(iter(start), None) or b""
        return *self._named(line.rstrip(b"\r")), 1

    def _named(self, line: bytes) -> tuple[int, int]:
        header = line.decode("utf-8", errors="replace").split("\t")
        for name in (self.source, self.target):
            if header.count(str(name)) != 1:
                raise CorpusError(
                    f"{self.path}:1: expected one column {name!r} on the first line, which has "
                    f"{', '.join(map(repr, header))}"
                )
        return header.index(str(self.source)), header.index(str(self.target))


class BarPairs(PlainPairs):
    r"""One file with ``source ||| target`` on every line, the input of fast_align.

    Parameters
    ----------
    path : path
        The file.
    **options
        ``max_tokens`` and ``on_bad`` of :class:`ParallelText`.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("pairs").write_text("the house ||| la maison\n")
    >>> list(BarPairs("pairs"))
    [(['the', 'house'], ['la', 'maison'])]
    """

    absent = "does not have ' ||| ' once"

    def __init__(self, path: PathLike, **options: Any) -> None:
        super().__init__(**options)
        self.path = os.fspath(path)

    def place(self, line: int) -> str:
        """The file and the line."""
        return f"{self.path}:{line}"

    def blocks(self) -> Iterator[PairBlock]:
        """The two sides of every line."""
        number = 1
        for lines in read_line_blocks(self.path):
            yield PairBlock(number, *parts_of(lines, b"|||", 0, 1, parts=2))
            number += len(lines)


class ZipPairs(PlainPairs):
    """A zip archive with one file per language, ``NAME.en`` and ``NAME.fr``, as OPUS gives for Moses.

    Parameters
    ----------
    path : path
        The archive.
    source, target : str
        Languages, as the members' names end; ``en`` also finds ``NAME.en-GB``. Any member can be named
        in full.
    **options
        ``max_tokens`` and ``on_bad`` of :class:`ParallelText`.

    Examples
    --------
    >>> import zipfile
    >>> with zipfile.ZipFile("Books.zip", "w") as archive:
    ...     archive.writestr("README", "Some books")
    ...     archive.writestr("Books.en-fr.en", "the house")
    ...     archive.writestr("Books.en-fr.fr", "la maison")
    >>> list(ZipPairs("Books.zip", "en", "fr"))
    [(['the', 'house'], ['la', 'maison'])]
    """

    def __init__(self, path: PathLike, source: str, target: str, **options: Any) -> None:
        super().__init__(**options)
        self.path, self.source, self.target = os.fspath(path), source, target

    def place(self, line: int) -> str:
        """The archive and the line of its members."""
        return f"{self.path}[{self.source}, {self.target}]:{line}"

    def blocks(self) -> Iterator[PairBlock]:
        """Lines of the two members."""
        try:
            with open_binary(self.path) as file, zipfile.ZipFile(file) as archive:
                source, target = (self._member(archive, name) for name in (self.source, self.target))
                with archive.open(source) as left, archive.open(target) as right:
                    names = f"{self.path}[{source}]", f"{self.path}[{target}]"
                    sides = iter_line_blocks(left, names[0]), iter_line_blocks(right, names[1])
                    yield from side_by_side(*sides, *names)
        except FileNotFoundError as reason:
            raise CorpusError(f"{self.path}: there is no such file; check the path") from reason
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
        ) as reason:
            raise CorpusError(f"{self.path}: is not a zip archive that can be read ({reason})") from reason

    def _member(self, archive: zipfile.ZipFile, wanted: str) -> str:
        names = archive.namelist()
        endings = {name: os.path.basename(name).rpartition(".")[2] for name in names}
        exact = [name for name in names if wanted in (name, endings[name])]
        found = exact or [name for name in names if same_language(wanted, endings[name])]
        if len(found) != 1:
            raise CorpusError(
                f"{self.path}: {len(found)} members for {wanted!r}; expected one whose name ends in "
                f"'.{wanted}', or the full name of one of {', '.join(names[:10])}"
            )
        return found[0]
