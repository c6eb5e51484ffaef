"""Views from files: CSV, TSV, Parquet and .npz."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from isogloss.cli._console import Console
from isogloss.cli._progress import progress_bar, reading
from isogloss.exceptions import TableError
from isogloss.io import ARCHIVE_ERRORS

if TYPE_CHECKING:
    from isogloss.views import Views

Array: TypeAlias = NDArray[np.float64]

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
_SEPARATOR = "__"


@dataclass(frozen=True, eq=False)
class NamedViews:
    """Views whose features have names."""

    views: Views
    columns: dict[str, list[str]]


class _Tables(NamedTuple):
    """Numbers and names of columns by view, and the ids of rows."""

    values: dict[str, Array]
    columns: dict[str, list[str]]
    ids: list[str] | None = None


@dataclass(frozen=True, eq=False)
class _Table:
    """A table of numbers, NaN where a cell is empty."""

    path: Path
    columns: list[str]
    values: Array
    ids: list[str] | None


def read_views(
    files: Sequence[Path],
    groups: Sequence[str] | None,
    id_column: str | None,
    known: dict[str, list[str]] | None = None,
) -> NamedViews:
    """Read views from files, with a progress bar.

    Parameters
    ----------
    files : sequence of path
        One table or archive, or one table for each view.
    groups : sequence of str
        The values of ``--view``.
    id_column : str
        The column that identifies rows.
    known : dict
        Columns of the views of a model. Columns are put in that order; views may be missing.
    """
    with _progress(files):
        if len(files) == 1 and files[0].suffix == ".npz":
            _only_for_tables(groups, id_column)
            found = _read_archive(files[0])
        elif len(files) == 1:
            table = _read_table(files[0], id_column)
            found = _split(table, _column_groups(table, groups, known))
        else:
            if groups:
                raise typer.BadParameter(
                    "--view divides one table into views; several tables are a view each"
                )
            found = _join([_read_table(path, id_column) for path in files])
    return _as_views(found, known)


@contextmanager
def _progress(files: Sequence[Path]) -> Iterator[None]:
    sizes = [path.stat().st_size for path in files if path.is_file()]
    with progress_bar(Console(stderr=True)) as bar, reading(bar, "reading", sum(sizes)):
        yield


def _only_for_tables(groups: Sequence[str] | None, id_column: str | None) -> None:
    if groups or id_column:
        raise typer.BadParameter("--view and --id are for tables; an .npz file has an array for each view")


def _read_archive(path: Path) -> _Tables:
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, Mapping):
                raise TableError(f"{path}: is one array; expected an .npz file with an array for each view")
            arrays = {name: archive[name] for name in archive}
    except ARCHIVE_ERRORS as error:
        raise TableError(f"{path}: cannot be read as an .npz file of arrays ({error})") from error
    for name, array in arrays.items():
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise TableError(
                f"{path}: array {name!r} has shape {array.shape} and type {array.dtype}; expected numbers, "
                "rows x features, for each view"
            )
    tables = {name: array.astype(np.float64) for name, array in arrays.items()}
    return _Tables(tables, {name: [str(k) for k in range(array.shape[1])] for name, array in tables.items()})


def _read_table(path: Path, id_column: str | None) -> _Table:
    if path.suffix == ".npz":
        raise TableError(f"{path}: an .npz file holds all views; give it alone")
    header: list[str]
    columns: list[Any]
    header, columns = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        raise TableError(f"{path}: column {repeated[0]!r} occurs more than once; rename one of them")
    ids = None
    if id_column is not None:
        if id_column not in header:
            raise TableError(f"{path}: has no column {id_column!r} (--id); its columns are {_some(header)}")
        at = header.index(id_column)
        ids = [str(value) for value in columns.pop(at)]
        header.pop(at)
        _check_ids(path, ids)
    values = [_numbers(path, name, column) for name, column in zip(header, columns, strict=True)]
    n = len(values[0]) if values else 0
    if not n:
        raise TableError(
            f"{path}: has {len(values)} columns of numbers and {n} rows; expected at least one of each"
        )
    return _Table(path, header, np.stack(values, axis=1), ids)


def _read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    from isogloss.io import open_decompressed

    with open_decompressed(path, TableError) as raw:
        lines = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        try:
            first = lines.readline()
            if not first.strip():
                raise TableError(f"{path}: is empty; expected a line of column names and rows of numbers")
            delimiter = max("\t;,", key=first.count) if path.suffix != ".tsv" else "\t"
            header = [name.strip() for name in next(csv.reader([first], delimiter=delimiter))]
            rows = []
            for number, row in enumerate(csv.reader(lines, delimiter=delimiter), start=2):
                if row and len(row) != len(header):
                    raise TableError(
                        f"{path}:{number}: has {len(row)} fields; the first line names {len(header)} columns"
                    )
                if row:
                    rows.append(row)
        except UnicodeDecodeError as error:
            raise TableError(f"{path}: is not UTF-8 ({error.reason}); convert it to UTF-8") from error
        except csv.Error as error:
            raise TableError(f"{path}: cannot be read as a table ({error})") from error
    return header, [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in header]


def _read_parquet(path: Path) -> tuple[list[str], list[Array]]:
    from isogloss.extras import import_extra

    parquet = import_extra("pyarrow.parquet", "export", "a Parquet file")
    try:
        table = parquet.read_table(path)
        return list(table.column_names), [column.to_numpy() for column in table.columns]
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: cannot be read as a Parquet file ({error})") from error


def _check_ids(path: Path, ids: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for row, value in enumerate(ids, start=1):
        if seen.setdefault(value, row) != row:
            raise TableError(f"{path}: rows {seen[value]} and {row} have the same id, {value!r}")


def _numbers(path: Path, name: str, column: Any) -> Array:
    """Cells as numbers; empty ones, NA and null are NaN."""
    try:
        values = np.array(column, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([_number(path, name, row, cell) for row, cell in enumerate(column, start=1)])
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0]) + 1
        raise TableError(f"{path}: row {row} of column {name!r} is infinite; expected a number or nothing")
    return values


def _number(path: Path, name: str, row: int, cell: object) -> float:
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in _MISSING):
        return np.nan
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TableError(
            f"{path}: row {row} of column {name!r} is {str(cell)[:40]!r}, not a number; remove the column, "
            f"or give --id {name} if it identifies rows"
        ) from None


def _column_groups(
    table: _Table, groups: Sequence[str] | None, known: dict[str, list[str]] | None
) -> dict[str, list[str]]:
    if groups:
        return _groups_by_pattern(table, groups)
    if known is not None:
        here = {view: columns for view, columns in known.items() if set(columns) <= set(table.columns)}
        if _view_name(table.path) in here:  # the table of one view, whose columns others may have too
            return {_view_name(table.path): here[_view_name(table.path)]}
        if here and len({*chain(*here.values())}) == sum(map(len, here.values())):
            return here
    named: dict[str, list[str]] = {}
    for column in table.columns:
        view, separator, rest = column.partition(_SEPARATOR)
        if separator and view and rest:
            named.setdefault(view, []).append(column)
    if len(named) < 2:
        raise TableError(
            f"{table.path}: does not say which columns belong to which view; give --view NAME=COLUMNS for "
            f"each view, or name columns view{_SEPARATOR}feature. Its columns are {_some(table.columns)}"
        )
    return named


def _groups_by_pattern(table: _Table, groups: Sequence[str]) -> dict[str, list[str]]:
    chosen: dict[str, list[str]] = {}
    for group in groups:
        view, equals, patterns = group.partition("=")
        if not (equals and view and patterns):
            raise typer.BadParameter(f"--view {group!r}: expected NAME=COLUMNS, for example blood=b_*,age")
        columns = chosen.setdefault(view, [])
        for pattern in patterns.split(","):
            found = [name for name in table.columns if fnmatchcase(name, pattern.strip())]
            if not found:
                raise TableError(
                    f"{table.path}: no column is called {pattern.strip()!r} (--view {group}); its columns "
                    f"are {_some(table.columns)}"
                )
            columns += [name for name in found if name not in columns]
    return chosen


def _split(table: _Table, groups: dict[str, list[str]]) -> _Tables:
    where = {name: k for k, name in enumerate(table.columns)}
    values = {view: table.values[:, [where[name] for name in names]] for view, names in groups.items()}
    return _Tables(values, groups, table.ids)


def _join(tables: Sequence[_Table]) -> _Tables:
    """Tables of one view each, their rows matched by id or, without ids, by position."""
    names = [_view_name(table.path) for table in tables]
    if len(set(names)) < len(names):
        raise TableError(f"two tables have the same name, {names}; views are named after files: rename one")
    columns = {name: table.columns for name, table in zip(names, tables, strict=True)}
    if tables[0].ids is None:
        lengths = {str(table.path): len(table.values) for table in tables}
        if len(set(lengths.values())) > 1:
            raise TableError(
                f"the tables have different numbers of rows: {lengths}; match rows by --id COLUMN"
            )
        return _Tables({name: table.values for name, table in zip(names, tables, strict=True)}, columns)
    ids = list(dict.fromkeys(value for table in tables for value in table.ids or ()))
    place = {value: row for row, value in enumerate(ids)}
    out = {}
    for name, table in zip(names, tables, strict=True):
        values = np.full((len(ids), len(table.columns)), np.nan)
        values[[place[value] for value in table.ids or ()]] = table.values
        out[name] = values
    return _Tables(out, columns, ids)


def _view_name(path: Path) -> str:
    """The name of the view in a table of its own."""
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _as_views(found: _Tables, known: dict[str, list[str]] | None) -> NamedViews:
    from isogloss.views import Views

    tables, columns, ids = found
    if known is not None:
        tables, columns = _in_known_order(tables, columns, known)
    for name, values in tables.items():
        _refuse_holes(name, values, columns[name], ids)
    try:
        return NamedViews(Views(tables, ids=ids), columns)
    except ValueError as error:
        raise TableError(str(error)) from error


def _in_known_order(
    tables: dict[str, Array], columns: dict[str, list[str]], known: dict[str, list[str]]
) -> tuple[dict[str, Array], dict[str, list[str]]]:
    out = {}
    for view, names in known.items():
        if view not in tables:
            continue
        absent = [name for name in names if name not in columns[view]]
        if absent:
            raise TableError(f"view {view!r} lacks columns that the model was fitted on: {_some(absent)}")
        out[view] = tables[view][:, [columns[view].index(name) for name in names]]
    if not out:
        raise TableError(f"none of the views {_some(list(tables))} is one of the model: {_some(list(known))}")
    return out, {view: known[view] for view in out}


def _refuse_holes(view: str, values: Array, columns: Sequence[str], ids: Sequence[str] | None) -> None:
    """A row has all features of a view, or none."""
    empty = np.isnan(values)
    partly = np.flatnonzero(empty.any(axis=1) & ~empty.all(axis=1))
    if partly.size:
        row = int(partly[0])
        column = columns[int(np.flatnonzero(empty[row])[0])]
        which = f"row {row + 1}" if ids is None else f"row {ids[row]!r}"
        raise TableError(
            f"{which} of view {view!r} has no value for {column!r}, as {partly.size} in all; a row has "
            "all features of a view or none: fill the gaps in, or leave those columns or rows out"
        )


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
