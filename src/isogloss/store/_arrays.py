"""One statement for many rows in the place of one for each, as PostgreSQL takes them: columns as arrays.

A statement for each row costs the server and whoever sends it far more than the row itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["together"]

_INSERT = re.compile(r"(INSERT INTO \w+(?: \([\w, ]+\))?) VALUES \(\?(?:, \?)*\)(.*)", re.DOTALL)
_CONFLICT = re.compile(r" ON CONFLICT \(([\w, ]+)\)")
_DELETE = re.compile(r"(DELETE FROM \w+ WHERE \w+) = \?")
_TYPES = {int: "bigint[]", str: "text[]", float: "double precision[]", bytes: "bytea[]"}


def together(sql: str, rows: Sequence[Sequence[Any]]) -> tuple[str, list[list[Any]]] | None:
    """A statement that does for all rows what another one does for each, and its arrays.

    Parameters
    ----------
    sql : str
        Puts a row, whose key are the first columns, or deletes what a column has a value in.
    rows : sequence of sequence
        Values of each time that it would be run.

    Returns
    -------
    tuple of str and list, or None
        None for a statement of another shape, and for rows of which one would meet another.

    Examples
    --------
    >>> together("DELETE FROM link WHERE a = ?", [(7,), (9,)])
    ('DELETE FROM link WHERE a = ANY(%b::bigint[])', [[7, 9]])
    >>> put = "INSERT INTO word VALUES (?, ?) ON CONFLICT (n) DO NOTHING"
    >>> sql, arrays = together(put, [(1, "a"), (2, "b")])
    >>> sql
    'INSERT INTO word SELECT * FROM unnest(%b::bigint[], %b::text[]) ON CONFLICT (n) DO NOTHING'
    >>> arrays
    [[1, 2], ['a', 'b']]
    >>> together(put, [(1, "a"), (1, "b")])
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    types = [_type_of(column) for column in columns]
    if not columns or None in types:
        return None
    marks = [f"%b::{each}" for each in types]
    if found := _DELETE.fullmatch(sql):
        return f"{found[1]} = ANY({marks[0]})", columns
    found = _INSERT.fullmatch(sql)
    if found is None or _meet(found[2], rows):
        return None
    return f"{found[1]} SELECT * FROM unnest({', '.join(marks)}){found[2].replace('?', '%s')}", columns


def _type_of(column: list[Any]) -> str | None:
    """The type of an array; None where values are of several types or of another one."""
    kinds = set(map(type, column))
    return _TYPES.get(kinds.pop()) if len(kinds) == 1 else None


def _meet(rest: str, rows: Sequence[Sequence[Any]]) -> bool:
    """Whether two rows have one key, so that the second would change what the first has put."""
    found = _CONFLICT.match(rest)
    keys = found[1].count(",") + 1 if found else 0
    return keys > 0 and len({tuple(row[:keys]) for row in rows}) < len(rows)
