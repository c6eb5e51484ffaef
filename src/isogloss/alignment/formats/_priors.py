"""Files of priors: tables with tabs between columns and their names in the first line.

===========  =================================================================================
lexicon      ``source``, ``target``, ``count``; columns of other names are not looked at. Without
             a line of names: source word, target word and, perhaps, a count (1 otherwise)
jumps        ``direction``, ``origin``, ``word``, ``jump``, ``count``
fertility    ``direction``, ``word``, ``fertility``, ``count``
===========  =================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from isogloss.alignment.models import FertilityRow, JumpRow, Priors
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write, read_lines

LEXICON = {"source": str, "target": str, "count": float}
JUMPS = {"direction": str, "origin": str, "word": str, "jump": int, "count": float}
FERTILITY = {"direction": str, "word": str, "fertility": int, "count": float}


def read_priors(
    *, lexicon: PathLike | None = None, jumps: PathLike | None = None, fertility: PathLike | None = None
) -> Priors:
    r"""Read prior counts from files, compressed or not.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("known.tsv").write_text("dog\tperro\t5\n")
    >>> read_priors(lexicon="known.tsv").translations
    [('dog', 'perro', 5.0)]
    """
    tables = [
        [] if path is None else list(_rows(path, columns, bare))
        for path, columns, bare in (
            (lexicon, LEXICON, True),
            (jumps, JUMPS, False),
            (fertility, FERTILITY, False),
        )
    ]
    for path, rows, kind in zip(
        (lexicon, jumps, fertility), tables, ("lexicon", "jumps", "fertility"), strict=True
    ):
        try:
            Priors.from_rows(**{kind: rows})
        except ValueError as reason:
            raise CorpusError(f"{os.fspath(path or '')}: {reason}") from reason
    return Priors.from_rows(*tables)


def write_jumps(rows: Iterable[JumpRow], path: PathLike) -> None:
    """Write the ``jump_table_`` of an aligner."""
    _write(rows, JUMPS, path)


def write_fertilities(rows: Iterable[FertilityRow], path: PathLike) -> None:
    """Write the ``fertility_table_`` of an aligner."""
    _write(rows, FERTILITY, path)


def _write(rows: Iterable[Sequence[Any]], columns: Mapping[str, Any], path: PathLike) -> None:
    with atomic_write(path) as file:
        file.write("\t".join(columns).encode() + b"\n")
        for *values, count in rows:
            file.write("\t".join([*map(str, values), f"{count:.6g}"]).encode() + b"\n")


def _rows(path: PathLike, columns: Mapping[str, Callable[[str], Any]], bare: bool) -> Iterator[Any]:
    """Rows of a table as its columns want them; ``bare`` tables may do without names, and without counts."""
    lines = enumerate(read_lines(path), 1)
    first = next(lines, (1, b""))
    names = first[1].decode("utf-8", "replace").split("\t")
    named = set(columns) <= set(names)
    if not named and not bare:
        raise CorpusError(
            f"{os.fspath(path)}:1: {first[1][:60]!r} does not name the columns; expected "
            f"{', '.join(columns)}, with tabs between them"
        )
    places = [names.index(name) for name in columns] if named else list(range(len(columns)))
    for number, line in lines if named else _chained(first, lines):
        yield _row(path, number, line, columns, places, bare and not named)


def _row(
    path: PathLike,
    number: int,
    line: bytes,
    columns: Mapping[str, Callable[[str], Any]],
    places: Sequence[int],
    bare: bool,
) -> Any:
    try:
        found = line.decode("utf-8").split("\t")
        found = [*found, "1"] if bare and len(found) == 2 else found
        return tuple(kind(found[at]) for kind, at in zip(columns.values(), places, strict=True))
    except (ValueError, IndexError) as reason:
        raise CorpusError(
            f"{os.fspath(path)}:{number}: {line[:60]!r} is incomplete; expected "
            f"{', '.join(columns)}, with tabs between them"
        ) from reason


def _chained(first: tuple[int, bytes], rest: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    if first[1]:
        yield first
    yield from rest
