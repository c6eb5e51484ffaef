"""Posteriors and likelihoods of many rows at once.

Rows whose hidden variables make the same part are answered together: the tables are sliced at the distinct
values of what the part touches and contracted with one axis for these cases. Where hardly any two rows hide
the same variables, one junction tree of the whole network takes them all, with a table per variable that says
which states a row allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.graphical.inference._contraction import BATCH, Contraction
from isogloss.graphical.inference._junction import Calibrated, JunctionTree
from isogloss.graphical.inference._kinds import Kind, RowsByKind
from isogloss.graphical.inference._plans import MIN_FACTOR_SUM
from isogloss.graphical.inference._relevance import HiddenPart, Relevance, mask_of

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Codes = NDArray[np.signedinteger[Any]]

_CHUNK_ENTRIES = 2**17
_MIN_COMPILED_ENTRIES = 20_000
_MAX_TREE_ENTRIES = 2**24


def posteriors(tree: WholeTree, codes: Codes, wanted: Sequence[int]) -> dict[int, Array]:
    """The posterior of each wanted variable in every row, given the cells of the row that are not negative.

    NaN where the cells of a row that bear on the variable have probability zero, and, for rows in the tree of
    the whole network, where any of its cells have.
    """
    tables, mask = tree.tables, mask_of(wanted)
    out = {v: _observed_posterior(codes[:, v], tables[v].shape[-1]) for v in wanted}
    by_kind = RowsByKind(tree.relevance, codes, mask)
    common, rare = split_rare(by_kind, tree)
    for kind, rows in by_kind.kinds(common):
        asked = [v for v in kind.hidden if mask >> v & 1]
        _fill(kind, rows, asked, by_kind, tables, out)
    rooted = tree.rooted(wanted[0]) if len(wanted) == 1 and len(rare) else tree
    for part in rooted.pieces(rare):
        found = rooted.calibrate(codes[part], outward=len(wanted) > 1)
        for v in wanted:
            hidden = codes[part, v] < 0
            out[v][part[hidden]] = _or_nan(found.marginal((v,)), found.log_z).T[hidden]
    return out


def log_likelihoods(tree: WholeTree, codes: Codes) -> Array:
    """The logarithm of the probability of every row, with negative cells summed out."""
    out, tables, relevance = np.zeros(len(codes)), tree.tables, tree.relevance
    with np.errstate(divide="ignore"):
        logs = [np.log(table) for table in tables]
        by_kind = RowsByKind(relevance, codes)
        common, rare = split_rare(by_kind, tree)
        whole = np.ones(len(codes), dtype=bool)
        whole[rare] = False
        for family, log_table in zip(relevance.families, logs, strict=True):
            out += _observed_family(codes, family, log_table, whole)
        for kind, rows in by_kind.kinds(common):
            out[rows] += _log_totals(kind, rows, by_kind, tables)
        for part in tree.pieces(rare):
            out[part] = tree.calibrate(codes[part], outward=False).log_z
    return out


class WholeTree:
    """A junction tree of the whole network in which every row says which states it allows.

    The tree is made when it is first needed, unless one made for the same graph is given.
    """

    def __init__(
        self, relevance: Relevance, tables: Sequence[NDArray[Any]], made: JunctionTree | None = None
    ) -> None:
        self.relevance, self.tables = relevance, tables
        self._made = made

    @property
    def tree(self) -> JunctionTree:
        """The tree; its tables are those of the network, then one per variable."""
        if self._made is None:
            self._made = self._make(None)
        return self._made

    def rooted(self, v: int) -> WholeTree:
        """The same with a variable in its root, whose posterior is known when the messages are in."""
        return WholeTree(self.relevance, self.tables, self._make(v))

    def _make(self, root: int | None) -> JunctionTree:
        sizes = {v: table.shape[-1] for v, table in enumerate(self.tables)}
        singles = [(v,) for v in range(len(self.tables))]
        return JunctionTree([*self.relevance.families, *singles], sizes, root)

    @property
    def least_size(self) -> int:
        """Entries that all cliques have at least; known without making the tree."""
        return max(table.size for table in self.tables)

    @property
    def total_size(self) -> int:
        """Entries of all cliques, per row."""
        return self.tree.total_size

    def pieces(self, rows: Index) -> Iterator[Index]:
        """Rows in pieces for :meth:`calibrate`; the tree is not made for none."""
        return chunks(rows, self.tree.largest) if len(rows) else iter(())

    def calibrate(self, codes: Codes, *, outward: bool = True) -> Calibrated:
        """Pass the messages of these rows."""
        allowed = [_allowed(codes[:, v], table.shape[-1]) for v, table in enumerate(self.tables)]
        own = [table[..., np.newaxis] for table in self.tables]
        return self.tree.calibrate([*own, *allowed], outward=outward)


def split_rare(
    by_kind: RowsByKind, tree: WholeTree, compiled: int = _MIN_COMPILED_ENTRIES
) -> tuple[list[int], Index]:
    """Patterns whose parts are common enough to compile, and the rows of the others.

    A part is worth compiling when its rows would keep the whole tree busy for longer than that takes,
    which is reckoned as ``compiled`` entries of the tree for each of its tables.
    """
    parts = by_kind.parts
    n_rows: Counter[HiddenPart] = Counter()
    for found, rows in zip(parts, by_kind.rows, strict=True):
        for part in found:
            n_rows[part] += len(rows)
    worth = {part: compiled * part.families.bit_count() / n for part, n in n_rows.items()}
    most = max(worth.values(), default=0.0)
    if len(worth) <= 1 or most <= tree.least_size or tree.total_size > _MAX_TREE_ENTRIES:
        return list(range(len(parts))), np.empty(0, dtype=np.intp)
    common = [k for k, found in enumerate(parts) if all(worth[part] <= tree.total_size for part in found)]
    rare = sorted(set(range(len(parts))).difference(common))
    return common, np.concatenate([by_kind.rows[k] for k in rare]) if rare else np.empty(0, dtype=np.intp)


def chunks(rows: Index, entries: int) -> Iterator[Index]:
    """Rows in pieces whose tables, of so many entries per row, stay near the processor."""
    step = max(16, min(8192, _CHUNK_ENTRIES // max(entries, 1)))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def _fill(
    kind: Kind,
    rows: Index,
    asked: Sequence[int],
    by_kind: RowsByKind,
    tables: Sequence[Array],
    out: Mapping[int, Array],
) -> None:
    """The posteriors of the rows of one kind; by a contraction for one variable, by a tree for several."""
    cases, number = by_kind.cases(kind, rows, tables)
    sizes = {v: tables[v].shape[-1] for v in kind.hidden}
    solve: Any = _one_posterior if len(asked) == 1 else _several_posteriors
    plan: Any = _CaseProduct(kind, sizes, asked) if len(asked) == 1 else JunctionTree(kind.scopes, sizes)
    found = {v: np.empty((len(cases), sizes[v])) for v in asked}
    for part in chunks(np.arange(len(cases)), plan.largest):
        slices = kind.slices(by_kind.relevance, tables, cases[part])
        for v, values in zip(asked, solve(plan, slices, asked), strict=True):
            found[v][part] = values.T
    for v in asked:
        out[v][rows] = found[v][number]


def _one_posterior(product: _CaseProduct, slices: list[Array], _asked: Sequence[int]) -> list[Array]:
    values, _ = product(slices)
    with np.errstate(invalid="ignore"):
        return [values / values.sum(axis=0)]


def _several_posteriors(tree: JunctionTree, slices: list[Array], asked: Sequence[int]) -> list[Array]:
    found = tree.calibrate(slices)
    return [_or_nan(found.marginal((v,)), found.log_z) for v in asked]


def _log_totals(kind: Kind, rows: Index, by_kind: RowsByKind, tables: Sequence[Array]) -> Array:
    """The logarithm of the total of a part's tables, for the rows of one kind."""
    cases, number = by_kind.cases(kind, rows, tables)
    product = _CaseProduct(kind, {v: tables[v].shape[-1] for v in kind.hidden}, ())
    found = np.empty(len(cases))
    for part in chunks(np.arange(len(cases)), product.largest):
        values, log_scale = product(kind.slices(by_kind.relevance, tables, cases[part]))
        found[part] = np.log(values) + log_scale
    return found[number]


class _CaseProduct:
    """The product of a part's tables summed over all but the wanted variables, case by case."""

    def __init__(self, kind: Kind, sizes: Mapping[int, int], wanted: Sequence[int]) -> None:
        self.with_cases = [bool(observed) for observed in kind.observed]
        pairs = zip(kind.scopes, self.with_cases, strict=True)
        scopes = [(*scope, BATCH) if cases else scope for scope, cases in pairs]
        output = (*wanted, BATCH) if any(self.with_cases) else tuple(wanted)
        self.contraction = Contraction(scopes, sizes, output)
        self.largest = self.contraction.largest

    def __call__(self, slices: Sequence[Array]) -> tuple[Array, Array]:
        """The product over a scale, the cases last, and the logarithm of the scale."""
        tables = [s if cases else s[..., 0] for s, cases in zip(slices, self.with_cases, strict=True)]
        values = self.contraction(tables)
        values = values if any(self.with_cases) else values[..., np.newaxis]
        log_scale = np.zeros(values.shape[-1])
        small = values.sum(axis=tuple(range(values.ndim - 1))) < MIN_FACTOR_SUM
        if small.any():
            pairs = zip(tables, self.with_cases, strict=True)
            again, scale = self.contraction.scaled([t[..., small] if cases else t for t, cases in pairs])
            values[..., small] = again if any(self.with_cases) else again[..., np.newaxis]
            log_scale[small] = scale
        return values, log_scale


def _observed_posterior(codes: Codes, card: int) -> Array:
    """One at the observed state, NaN where nothing was observed."""
    out = np.full((len(codes), card), np.nan)
    (rows,) = np.nonzero(codes >= 0)
    out[rows] = np.eye(card)[codes[rows]]
    return out


def _observed_family(codes: Codes, family: Sequence[int], log_table: Array, rows: NDArray[np.bool_]) -> Array:
    """The logarithm of a table at the rows that observe all of it, zero elsewhere."""
    columns = codes[:, family]
    seen = rows & (columns >= 0).all(axis=1)
    out = np.zeros(len(codes))
    out[seen] = log_table[tuple(columns[seen].T)]
    return out


def _allowed(codes: Codes, card: int) -> Array:
    """States by rows: one where a row allows the state, which it does if it observes it or nothing."""
    allowed: Array = ((codes == np.arange(card)[:, np.newaxis]) | (codes < 0)).astype(np.float64)
    return allowed


def _or_nan(values: Array, log_z: Array) -> Array:
    return np.where(np.isfinite(log_z), values, np.nan)
