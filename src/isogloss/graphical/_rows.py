"""Observations as codes: one row per observation, one column per variable, -1 where nothing was seen.

Cells are states by name wherever the columns have names, and codes in an array of integers. A cell that is
None, NaN or an empty text is missing, and so is every cell of a column that is not there.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import CorpusError
from isogloss.graphical._structure import Graph, Structure
from isogloss.graphical._variables import Variable, listed
from isogloss.io import PathLike, atomic_write, open_decompressed

Codes: TypeAlias = NDArray[np.signedinteger[Any]]

_MISSING_CELLS = ("", "?", "NA")


class Observations(NamedTuple):
    """Observations with the variables they are of."""

    structure: Graph
    codes: Codes


def code_type(graph: Graph) -> type[np.int16] | type[np.int32]:
    """The smallest type that holds every code."""
    return np.int16 if int(graph.cards.max()) < 2**15 else np.int32


def encode(graph: Graph, rows: Any) -> Codes:
    """Observations as an array of codes.

    Parameters
    ----------
    graph : Structure or BayesianNetwork
        The variables.
    rows : list of dicts, dict of columns, DataFrame, or array of int, shape (n, number of variables)
        The observations; an array has the columns in the order of ``graph.variables`` and -1 for missing
        cells.

    Returns
    -------
    array of int16 or int32, shape (n, number of variables)

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> encode(student(), [{"I": "i1", "G": "g3"}, {"D": "d0", "G": None}])
    array([[-1,  1,  2, -1, -1],
           [ 0, -1, -1, -1, -1]], dtype=int16)
    >>> encode(student(), {"G": ["g1", "g4"]})
    Traceback (most recent call last):
        ...
    ValueError: row 1: G has no state 'g4'; it has g1, g2, g3
    """
    if isinstance(rows, np.ndarray):
        return _checked_codes(graph, rows)
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        return _from_columns(graph, {name: rows[name] for name in getattr(rows, "columns", rows)})
    rows = list(rows)
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number} is {row!r:.60}; expected a dict of states by variable")
    names = {name: None for row in rows for name in row}
    columns = {name: [row.get(name) for row in rows] for name in names}
    return _from_columns(graph, columns, len(rows))


def decode(graph: Graph, codes: NDArray[Any]) -> list[dict[str, str | None]]:
    """The states by name, None where nothing was seen.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> import numpy as np
    >>> decode(student(), np.array([[-1, 1, 2, -1, -1]]))
    [{'D': None, 'I': 'i1', 'G': 'g3', 'S': None, 'L': None}]
    """
    states = [(*variable.states, None) for variable in graph.variables]
    rows = _checked_codes(graph, np.asarray(codes)).tolist()
    return [
        dict(zip(graph.names, (s[c] for s, c in zip(states, row, strict=True)), strict=True)) for row in rows
    ]


def read_rows(
    path: PathLike, structure: Graph | None = None, *, missing: Sequence[str] = _MISSING_CELLS
) -> Observations:
    """Observations from a file of comma- or tab-separated values whose first line names the variables.

    Parameters
    ----------
    path : path
        The file, packed or not; tabs separate the cells when the first line has one.
    structure : Structure or BayesianNetwork, optional
        The variables. Without it every column is a variable, whose states are the different cells in the
        order of the alphabet, and the graph has no edges.
    missing : sequence of str
        Cells that mean nothing was seen, unless a variable has a state of this name.

    Raises
    ------
    CorpusError
        The file cannot be read; the message names the line.
    """
    header, cells = _read_cells(path)
    columns = dict(zip(header, zip(*cells, strict=True) if cells else [()] * len(header), strict=True))
    if structure is None:
        seen = {name: sorted(set(column).difference(missing)) for name, column in columns.items()}
        for name in [name for name, states in seen.items() if not states]:
            raise CorpusError(f"{path}: the column {name} has no states; leave it out")
        structure = Structure([Variable(name, states) for name, states in seen.items()])
    known = {v.name: set(missing).difference(v.states) for v in structure.variables}
    empty = {name: [None if c in known.get(name, ()) else c for c in col] for name, col in columns.items()}
    try:
        return Observations(
            structure, _from_columns(structure, empty, len(cells), lambda row: f"{path}:{row + 2}: ")
        )
    except ValueError as error:
        raise CorpusError(str(error)) from error


def write_rows(path: PathLike, graph: Graph, codes: NDArray[Any]) -> None:
    """Write observations, as :func:`read_rows` reads them; tabs separate the cells of a ``.tsv`` file.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> write_rows("rows.csv", student(), encode(student(), [{"I": "i1", "G": "g3"}]))
    >>> with open("rows.csv") as file:
    ...     print(file.read())
    D,I,G,S,L
    ,i1,g3,,
    """
    separator = "\t" if os.fspath(path).removesuffix(".gz").endswith(".tsv") else ","
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerow(graph.names)
        writer.writerows([cell or "" for cell in row.values()] for row in decode(graph, codes))
        text.flush()
        text.detach()


def _read_cells(path: PathLike) -> tuple[list[str], list[list[str]]]:
    with open_decompressed(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            first = text.readline()
            separator = "\t" if "\t" in first else ","
            header = next(csv.reader([first], delimiter=separator), [])
            cells = []
            for number, row in enumerate(csv.reader(text, delimiter=separator), 2):
                if len(row) != len(header):
                    raise CorpusError(
                        f"{path}:{number}: {len(row)} cells; expected {len(header)}, as in the first line"
                    )
                cells.append(row)
        except (UnicodeDecodeError, csv.Error) as error:
            raise CorpusError(f"{path}: is not separated text in UTF-8 ({error})") from error
    if not header:
        raise CorpusError(f"{path}: is empty or begins with an empty line; expected the names of variables")
    if len(set(header)) < len(header) or not all(header):
        raise CorpusError(f"{path}:1: the columns {listed(header)}; expected a different name for each")
    return header, cells


def _row(number: int) -> str:
    """Return the location of a row for messages; -1 is the header with the column names."""
    return f"row {number}: " if number >= 0 else ""


def _from_columns(
    graph: Graph,
    columns: Mapping[Any, Iterable[Any]],
    n: int | None = None,
    where: Callable[[int], str] = _row,
) -> Codes:
    for name in columns:
        if name not in graph:
            raise ValueError(
                f"{where(-1)}the column {name!r} is no variable; leave it out, or use {listed(graph.names)}"
            )
    coded = {name: _column_codes(graph.variable(name), column, where) for name, column in columns.items()}
    lengths = {name: len(codes) for name, codes in coded.items()}
    n = next(iter(lengths.values()), 0) if n is None else n
    for name, length in lengths.items():
        if length != n:
            raise ValueError(f"the column {name} has {length} cells; expected {n}, as the others")
    out = np.full((n, len(graph)), -1, dtype=code_type(graph), order="F")
    for name, codes in coded.items():
        out[:, graph.index(name)] = codes
    return out


class _Cells(dict[Any, int]):
    """Codes by cell; cells that are no texts join when they are first met."""

    def __init__(self, variable: Variable) -> None:
        super().__init__(variable.codes)
        self.variable = variable
        self[None] = -1
        self.setdefault("", -1)

    def __missing__(self, cell: Any) -> int:
        if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
            return -1
        name = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
        self[cell] = self.variable.code(cell if isinstance(cell, str) else name)
        return self[cell]


def _column_codes(variable: Variable, column: Any, where: Callable[[int], str]) -> NDArray[np.int32]:
    cells = _Cells(variable)
    if hasattr(column, "cat"):
        categories = np.array([*map(cells.__getitem__, column.cat.categories), -1], dtype=np.int32)
        return np.asarray(categories[np.asarray(column.cat.codes)])
    items = column.tolist() if hasattr(column, "tolist") else list(column)
    try:
        return np.fromiter(map(cells.__getitem__, items), dtype=np.int32, count=len(items))
    except ValueError as error:
        number = next(i for i, cell in enumerate(items) if not _known(cells, cell))
        raise ValueError(f"{where(number)}{error}") from None


def _known(cells: _Cells, cell: Any) -> bool:
    try:
        return cells[cell] >= -1
    except ValueError:
        return False


def _checked_codes(graph: Graph, codes: NDArray[Any]) -> Codes:
    if codes.ndim != 2 or codes.shape[1] != len(graph) or codes.dtype.kind not in "iu":
        raise ValueError(
            f"an array of shape {codes.shape} and type {codes.dtype}; expected integers, one row per "
            f"observation and {len(graph)} columns, the codes of {listed(graph.names)}, -1 where missing"
        )
    if len(codes) and (codes.min() < -1 or (codes.max(axis=0) >= graph.cards).any()):
        row, column = np.argwhere((codes < -1) | (codes >= graph.cards))[0].tolist()
        variable = graph.variables[column]
        raise ValueError(
            f"row {row}: the code {codes[row, column]} of {variable.name}; expected -1 to {variable.card - 1}"
        )
    return codes.astype(code_type(graph), copy=False)
