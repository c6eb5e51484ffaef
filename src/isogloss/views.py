"""Aligned views of the same rows, any of which may be missing in any row.

A row is one thing that was seen several times: a document in several languages, a stimulus and a
brain, a patient and her blood. :class:`Views` keeps, per view, the measurements of the rows that
have it, and a presence mask that says which rows those are; nothing is stored for what is missing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import check_is_fitted

__all__ = ["Matrix", "Views", "ViewsMixin", "check_views", "stack_views"]

Matrix: TypeAlias = Any
"""A two-dimensional float array, or a ``scipy.sparse`` CSR matrix."""


class Views:
    """Several aligned views of ``n`` rows, with names and a presence mask.

    Parameters
    ----------
    data : sequence or mapping of 2-D arrays or scipy sparse matrices
        One matrix per view. Each has either one row per row of the mask (rows marked absent are
        ignored, whatever they hold) or exactly the rows that are present, in order. ``None`` is a
        view that no row has; it needs ``dims``. Float matrices are kept by reference, not copied.
        Without ``present``, a row of a dense matrix that is NaN throughout is a missing one.
    names : sequence of str, optional
        Names of the views; the keys of a mapping, or ``view0``, ``view1``, ... by default.
    present : array of bool, shape (n_rows, n_views), optional
        Which row has which view. By default every row has every view that is not ``None`` or NaN there.
    ids : sequence, optional
        One distinct id per row.
    dims : sequence of int, optional
        Feature counts, needed only for views given as ``None``.

    Examples
    --------
    >>> import numpy as np
    >>> en, de = np.eye(3), np.ones((2, 4))
    >>> views = Views({"en": en, "de": de}, present=[[1, 1], [1, 0], [1, 1]])
    >>> views
    Views(3 rows; en: 3 features, 3 rows; de: 4 features, 2 rows)
    >>> views[1:]["de"].shape
    (1, 4)

    Row indexing (``views[rows]`` with an integer array, a mask, a slice or a list) gives another
    ``Views``, so scikit-learn's cross-validation works on it unchanged; indexing with a name gives
    that view's matrix of present rows, and iteration gives those matrices in order.

    ``numpy.asarray(views)`` puts the views side by side, NaN where a row lacks one, so steps of a
    scikit-learn pipeline that take one array can follow a model of several views.
    """

    def __init__(
        self,
        data: Sequence[Matrix | None] | Mapping[str, Matrix | None],
        *,
        names: Sequence[str] | None = None,
        present: ArrayLike | None = None,
        ids: Sequence[Hashable] | None = None,
        dims: Sequence[int] | None = None,
    ) -> None:
        if isinstance(data, Mapping):
            names = list(data) if names is None else names
            data = [_named(data, name) for name in names]
        self.names = _check_names(names, len(data))
        matrices = [
            None if x is None else _check_view(x, name) for x, name in zip(data, self.names, strict=True)
        ]
        self.present = _check_present(present, matrices, self.names)
        self.dims = _check_dims(dims, matrices, self.names)
        self.arrays = tuple(
            _check_finite(_rows_present(x, mask, name, dim), name)
            for x, mask, name, dim in zip(matrices, self.present.T, self.names, self.dims, strict=True)
        )
        self.ids = _check_ids(ids, len(self.present))

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, tuple[Sequence[Hashable], Matrix]],
        *,
        how: str = "outer",
    ) -> Views:
        """Join tables ``name -> (row ids, matrix)`` on their ids.

        Rows come in the order in which their ids are first seen. ``how='outer'`` keeps every row,
        ``how='inner'`` only those that all tables have.
        """
        if how not in ("outer", "inner"):
            raise ValueError(f"how={how!r} is not a way to join; use 'outer' or 'inner'")
        if not tables:
            raise ValueError("no tables given; expected at least one entry name -> (ids, matrix)")
        position: dict[Hashable, int] = {}
        for name, (ids, _) in tables.items():
            _check_ids(ids, len(ids), where=f"table {name!r}")
            for key in ids:
                position.setdefault(key, len(position))
        present = np.zeros((len(position), len(tables)), dtype=bool)
        data: dict[str, Matrix] = {}
        for v, (name, (ids, matrix)) in enumerate(tables.items()):
            x = _check_view(matrix, name)
            if x.shape[0] != len(ids):
                raise ValueError(f"table {name!r} has {len(ids)} ids and {x.shape[0]} rows; expected as many")
            rows = np.fromiter((position[key] for key in ids), dtype=np.int64, count=len(ids))
            present[rows, v] = True
            data[name] = x[np.argsort(rows, kind="stable")]
        joined = cls(data, present=present, ids=list(position))
        return joined[joined.present.all(axis=1)] if how == "inner" else joined

    @classmethod
    def from_frame(cls, frame: Any) -> Views:
        """Take the columns of a DataFrame as views, by the first level of a MultiIndex of columns.

        A row whose columns of a view are all missing lacks that view.
        """
        if getattr(frame.columns, "nlevels", 1) < 2:
            raise TypeError(
                "a DataFrame needs columns with two levels, the view and the feature; "
                "for plain columns use isogloss.multiview.ColumnViews"
            )
        names = list(dict.fromkeys(frame.columns.get_level_values(0)))
        return cls([frame[name].to_numpy() for name in names], names=[str(name) for name in names])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and features of all views together."""
        return len(self.present), sum(self.dims)

    @property
    def complete(self) -> bool:
        """Return whether every row has every view."""
        return bool(self.present.all())

    def __len__(self) -> int:
        return len(self.present)

    def __iter__(self) -> Iterator[Matrix]:
        return iter(self.arrays)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.arrays[self.index(key)]
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn's way to index rows
        rows = _as_rows(key, len(self))
        out = object.__new__(Views)
        out.names, out.dims, out.present = self.names, self.dims, self.present[rows]
        out.arrays = tuple(
            x[rows] if x.shape[0] == len(self) else x[self._positions(rows, v)]
            for v, x in enumerate(self.arrays)
        )
        out.ids = None if self.ids is None else self.ids[rows]
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("views become one array only by copying")
        lying = [name for name, x in zip(self.names, self.arrays, strict=True) if hasattr(x, "toarray")]
        if lying:
            raise TypeError(
                f"view {lying[0]!r} is sparse, and one dense array of all views may not fit into memory; "
                "reduce the views first, or take them by name: views['name']"
            )
        out = np.full(self.shape, np.nan, dtype=dtype or np.result_type(*self.arrays))
        stops = np.cumsum(self.dims)
        for x, mask, dim, stop in zip(self.arrays, self.present.T, self.dims, stops, strict=True):
            out[mask, stop - dim : stop] = x
        return out

    def __repr__(self) -> str:
        described = (
            f"{name}: {dim} features, {x.shape[0]} rows"
            for name, dim, x in zip(self.names, self.dims, self.arrays, strict=True)
        )
        return f"Views({len(self)} rows; {'; '.join(described)})"

    def index(self, view: str | int) -> int:
        """Position of a view given by name or position."""
        if isinstance(view, str):
            if view not in self.names:
                raise ValueError(f"no view named {view!r}; the views are {', '.join(self.names)}")
            return self.names.index(view)
        if not -self.n_views <= view < self.n_views:
            raise ValueError(f"no view {view}; there are {self.n_views} views, counted from 0")
        return range(self.n_views)[view]

    def shared(self, *views: int) -> list[Matrix]:
        """Matrices of the given views over the rows that have all of them."""
        both = np.all(self.present[:, list(views)], axis=1)
        if both.all():
            return [self.arrays[v] for v in views]
        return [self.arrays[v][both[self.present[:, v]]] for v in views]

    def patterns(self) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        """Distinct presence patterns and the rows that have each, patterns in sorted order."""
        if len(self) == 0:
            return
        keys = _as_words(self.present)
        order = np.lexsort(keys.T[::-1])
        changes = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
        for rows in np.split(order, np.flatnonzero(changes) + 1):
            yield self.present[rows[0]], rows

    def _positions(self, rows: slice | NDArray[Any], view: int) -> slice | NDArray[np.int64]:
        """Return the positions of the chosen rows that have ``view`` in its matrix."""
        mask = self.present[:, view]
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(mask))
            first = np.count_nonzero(mask[:start])
            return slice(first, first + np.count_nonzero(mask[start:stop]))
        chosen = np.arange(len(mask))[rows]
        return (np.cumsum(mask) - 1)[chosen[mask[chosen]]]


class ViewsMixin:
    """An estimator that remembers which views it was fitted on.

    Attributes
    ----------
    view_names_ : tuple of str
        Names of the views seen in ``fit``.
    dims_ : tuple of int
        Their numbers of features.
    """

    view_names_: tuple[str, ...]
    dims_: tuple[int, ...]

    def _check_seen(self, views: Any) -> Views:
        """Views as wide as those of ``fit``."""
        check_is_fitted(self)
        given = views.values() if isinstance(views, Mapping) else views
        lacking = isinstance(views, (list, tuple, Mapping)) and any(x is None for x in given)
        seen = check_views(views, dims=self.dims_ if lacking else None)
        if seen.dims != self.dims_:
            raise ValueError(f"views have {seen.dims} features; the model was fitted on {self.dims_}")
        return seen

    def _check_one(self, X: Any, view: int | str) -> tuple[Matrix, int]:
        """Rows of one view, and its position."""
        check_is_fitted(self)
        index = self._view_index(view)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        if X.shape[1] != self.dims_[index]:
            raise ValueError(
                f"X has {X.shape[1]} features; view {self.view_names_[index]!r} has {self.dims_[index]}"
            )
        return X, index

    def _view_index(self, view: int | str) -> int:
        if isinstance(view, str):
            if view not in self.view_names_:
                raise ValueError(f"no view named {view!r}; the views are {', '.join(self.view_names_)}")
            return self.view_names_.index(view)
        if not 0 <= view < len(self.dims_):
            raise ValueError(f"no view {view}; there are {len(self.dims_)} views, counted from 0")
        return int(view)

    def _component_names(self) -> list[str]:
        """Names of the columns that a view is projected to: the class in lower case, and a number."""
        check_is_fitted(self)
        width = self.transform_view(np.zeros((1, self.dims_[0])), 0).shape[1]  # type: ignore[attr-defined]
        return [f"{type(self).__name__.lower()}{column}" for column in range(width)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags


def check_views(
    views: Any, *, min_views: int = 1, min_rows: int = 1, dims: Sequence[int] | None = None
) -> Views:
    """Give ``views`` back as :class:`Views`, or say what is wrong with it.

    A ``Views`` passes through; a list, tuple or dict of matrices is wrapped, and may hold ``None`` for a
    view that none of its rows has when ``dims`` says how wide the views are. So is a DataFrame whose columns
    have two levels, the view and the feature.
    """
    if hasattr(views, "columns") and hasattr(views, "to_numpy"):
        views = Views.from_frame(views)
    if not isinstance(views, Views):
        if not isinstance(views, (list, tuple, Mapping)):
            raise TypeError(
                f"expected Views, or a list or dict of 2-D arrays, one per view; got {type(views).__name__}. "
                "isogloss.multiview.ColumnViews makes views of the columns of one array"
            )
        views = Views(views, dims=dims)
    checked: Views = views
    if checked.n_views < min_views:
        raise ValueError(f"{checked.n_views} view(s) given; at least {min_views} are needed")
    if len(checked) < min_rows:
        raise ValueError(f"Views has {len(checked)} row(s); at least {min_rows} are needed")
    return checked


def stack_views(views: Views) -> sparse.csr_matrix:
    """All views side by side, a row without a view having zeros there."""
    blocks = []
    for x, has in zip(views.arrays, views.present.T, strict=True):
        x = sparse.csr_matrix(x)
        lengths = np.zeros(len(has), dtype=np.int64)
        lengths[has] = np.diff(x.indptr)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        blocks.append(sparse.csr_matrix((x.data, x.indices, indptr), shape=(len(has), x.shape[1])))
    return sparse.hstack(blocks, format="csr")


def _as_rows(key: Any, n: int) -> slice | NDArray[Any]:
    if isinstance(key, slice):
        return key
    rows = np.atleast_1d(np.asarray(key))
    if rows.size == 0 and rows.dtype.kind != "b":
        return np.zeros(0, dtype=np.int64)
    if isinstance(key, tuple) or rows.dtype.kind not in "biu" or rows.ndim != 1:
        raise TypeError(f"views are indexed by rows (integers, mask, slice) or by a view's name; got {key!r}")
    if rows.dtype.kind == "b" and len(rows) != n:
        raise IndexError(f"the mask has {len(rows)} entries for {n} rows")
    return rows


def _as_words(mask: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of truth values, 64 to a number, which sort as the rows do."""
    packed = np.packbits(mask, axis=1)
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(padded).view(">u8").astype(np.uint64)


def _named(data: Mapping[str, Matrix | None], name: str) -> Matrix | None:
    if name not in data:
        raise ValueError(f"names asks for {name!r}; the views given are {list(data)}")
    return data[name]


def _check_names(names: Sequence[str] | None, n_views: int) -> tuple[str, ...]:
    if n_views == 0:
        raise ValueError("no views given; expected at least one matrix")
    out = tuple(names) if names is not None else tuple(f"view{i}" for i in range(n_views))
    if len(out) != n_views or len(set(out)) != n_views or not all(isinstance(name, str) for name in out):
        raise ValueError(f"names={out} does not give {n_views} views one distinct name (a str) each")
    return out


def _check_view(x: Matrix, name: str) -> Matrix:
    """A two-dimensional float array or CSR matrix with columns; its values are looked at later."""
    try:
        x = check_array(
            x, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0
        )
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(":")
        raise ValueError(f"view {name!r} is not a matrix of numbers: {reason}") from error
    if x.dtype.kind not in "fiub":
        raise ValueError(f"view {name!r} is not a matrix of numbers: its dtype is {x.dtype}")
    if x.shape[1] == 0:
        raise ValueError(f"view {name!r} has no features; leave the view out, or give it columns")
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)


def _check_finite(x: Matrix, name: str) -> Matrix:
    try:
        assert_all_finite(x)
    except ValueError as error:
        raise ValueError(
            f"view {name!r} has NaN or infinite values; a missing row is marked in `present`, or is NaN "
            "throughout in a dense matrix"
        ) from error
    return x


def _check_present(
    present: ArrayLike | None, matrices: Sequence[Matrix | None], names: Sequence[str]
) -> NDArray[np.bool_]:
    if present is None:
        lengths = {name: x.shape[0] for name, x in zip(names, matrices, strict=True) if x is not None}
        if not lengths:
            raise ValueError("every view is None: give `present` (n_rows x n_views), or a matrix")
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"views have unequal numbers of rows: {lengths}. Give `present` to mark missing rows, "
                "or join tables on their ids with Views.from_tables"
            )
        rows = next(iter(lengths.values()))
        return np.column_stack([_rows_with_values(x, rows) for x in matrices])
    mask = np.asarray(present)
    if mask.ndim != 2 or mask.shape[1] != len(names) or not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"present has shape {mask.shape} and dtype {mask.dtype}; expected truth values, one column "
            f"for each of the {len(names)} views"
        )
    return mask.astype(bool)


def _rows_with_values(x: Matrix | None, rows: int) -> NDArray[np.bool_]:
    """Return which rows a view has: all but those that are NaN throughout; none of a view that is None."""
    if x is None:
        return np.zeros(rows, dtype=bool)
    here = np.ones(rows, dtype=bool)
    if not hasattr(x, "toarray"):
        maybe = np.flatnonzero(np.isnan(x[:, 0]))
        here[maybe] = ~np.isnan(x[maybe]).all(axis=1)
    return here


def _check_dims(
    dims: Sequence[int] | None, matrices: Sequence[Matrix | None], names: Sequence[str]
) -> tuple[int, ...]:
    if dims is None:
        dims = [0 if x is None else x.shape[1] for x in matrices]
    if len(dims) != len(names):
        raise ValueError(f"dims gives {len(dims)} feature counts for {len(names)} views; expected one each")
    for dim, x, name in zip(dims, matrices, names, strict=True):
        if x is not None and x.shape[1] != dim:
            raise ValueError(f"view {name!r} has {x.shape[1]} features; dims says {dim}")
        if dim < 1:
            raise ValueError(f"view {name!r} is None: give `dims`, its number of features")
    return tuple(int(dim) for dim in dims)


def _rows_present(x: Matrix | None, mask: NDArray[np.bool_], name: str, dim: int) -> Matrix:
    here = int(mask.sum())
    if x is None:
        if here:
            raise ValueError(f"view {name!r} is None but present marks {here} of its rows")
        return np.zeros((0, dim))
    if x.shape[0] == here:
        return x
    if x.shape[0] == len(mask):
        return x[mask]
    raise ValueError(
        f"view {name!r} has {x.shape[0]} rows; expected {here} (the rows present) or {len(mask)} (all rows)"
    )


def _check_ids(ids: Sequence[Hashable] | None, n: int, where: str = "ids") -> NDArray[Any] | None:
    if ids is None:
        return None
    if len(ids) != n:
        raise ValueError(f"{where}: {len(ids)} ids for {n} rows; expected one each")
    seen: set[Hashable] = set()
    for row, key in enumerate(ids):
        if key in seen:
            raise ValueError(f"{where}: id {key!r} occurs again at row {row}; ids must be distinct")
        seen.add(key)
    return np.fromiter(ids, dtype=object, count=n)
