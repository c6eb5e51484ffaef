"""Weighted documents by blocks of rows: all in memory, or read and weighted anew in every pass.

A fit sees its documents through :class:`Shards`: who has which row, and a source of blocks for any choice of
languages. What a fit adds up over blocks does not depend on how rows were cut, up to rounding, so a corpus
that is larger than memory, or spread over a cluster, gives the model that it would give in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.corpora import ComparableCorpus, Corpus
from isogloss.engine import Engine, Rows, Source
from isogloss.linalg import check_count
from isogloss.similarity.fitting._spaces import LanguageSpace, Weigher, weighted_views
from isogloss.views import Views

# Rows of a block when an engine is given and nothing is said about blocks.
_BATCH_ROWS = 10_000


class Shards(Protocol):
    """Documents of several languages, by blocks of rows."""

    names: tuple[str, ...]
    dims: tuple[int, ...]
    """Languages, and how many words each has."""
    present: NDArray[np.bool_]
    """Which row has which language. Shape (rows, languages)."""
    entries: int
    """Different words of all documents together."""
    n_blocks: int
    """Blocks that the rows are cut into."""

    def source(self, names: Sequence[str]) -> Source[Views]:
        """Blocks of :class:`~isogloss.views.Views` with these languages; rows with none of them may lack."""

    def only(self, names: Sequence[str]) -> Shards:
        """The same rows with some of the languages."""


class HeldShards:
    """Documents that are in memory, as one block."""

    n_blocks = 1

    def __init__(self, views: Views) -> None:
        self.views = views
        self.names, self.dims, self.present = views.names, views.dims, views.present
        self.entries = sum(x.nnz if sparse.issparse(x) else x.size for x in views.arrays)

    def source(self, names: Sequence[str]) -> Source[Views]:
        """The rows that have any of the languages."""
        present = self.present[:, [self.names.index(name) for name in names]]
        chosen = Views({name: self.views[name] for name in names}, present=present)
        kept = chosen if present.any(axis=1).all() else chosen[present.any(axis=1)]
        return Rows(kept, batch_rows=max(len(kept), 1))

    def only(self, names: Sequence[str]) -> HeldShards:
        """The same rows with some of the languages."""
        present = self.present[:, [self.names.index(name) for name in names]]
        return HeldShards(Views({name: self.views[name] for name in names}, present=present))


class CorpusShards:
    """Documents of a corpus, weighted block by block whenever they are read.

    A :class:`~isogloss.corpora.ComparableCorpus` is read from its folder, on a cluster by the workers, which
    must reach it. Counts of any other corpus are kept in memory, unweighted: save a selection of a large
    corpus first.
    """

    def __init__(self, corpus: Corpus, spaces: Mapping[str, LanguageSpace], batch_rows: int) -> None:
        self.batch_rows = check_count(batch_rows, "batch_rows", 1, 10**9, "rows that are read at a time")
        self.names, self.present = corpus.languages, np.asarray(corpus.presence)
        self.dims = tuple(len(spaces[name].vocabulary) for name in self.names)
        self.n_blocks = -(-len(self.present) // batch_rows)
        self._counts = {name: corpus.matrix(name) for name in self.names}
        self._folder = corpus.folder.absolute() if isinstance(corpus, ComparableCorpus) else None
        self._weigh = {name: spaces[name].weigher(corpus.vocabulary(name)) for name in self.names}
        self.entries = sum(int(counts.nnz) for counts in self._counts.values())

    def source(self, names: Sequence[str]) -> Source[Views]:
        """Blocks of consecutive rows."""
        columns = [self.names.index(name) for name in names]
        before = np.vstack([np.zeros(len(columns), np.int64), np.cumsum(self.present[:, columns], axis=0)])
        edges = [*range(0, len(self.present), self.batch_rows), len(self.present)]
        return _Loaders(
            [
                self._block(names, self.present[start:stop, columns], before[start], before[stop])
                for start, stop in pairwise(edges)
            ]
        )

    def only(self, names: Sequence[str]) -> CorpusShards:
        """The same rows with some of the languages."""
        out = copy(self)
        columns = [self.names.index(name) for name in names]
        out.names, out.present = tuple(names), self.present[:, columns]
        out.dims = tuple(self.dims[column] for column in columns)
        return out

    def _block(
        self, names: Sequence[str], present: NDArray[np.bool_], first: Any, last: Any
    ) -> Callable[[], Views]:
        parts = {
            name: (_Lines(self._counts[name], slice(int(a), int(b)), self._folder, name), self._weigh[name])
            for name, a, b in zip(names, first, last, strict=True)
        }
        return _Block(parts, present)


def shards_of(
    corpus: Corpus, spaces: Mapping[str, LanguageSpace], batch_rows: int | None, engine: Engine | None
) -> Shards:
    """Documents in memory, unless blocks of rows or an engine are asked for."""
    if batch_rows is not None or engine is not None:
        return CorpusShards(corpus, spaces, _BATCH_ROWS if batch_rows is None else batch_rows)
    return HeldShards(weighted_views(corpus, spaces))


def shared_documents(shards: Shards, a: str, b: str) -> tuple[Any, Any]:
    """The documents of the rows that have both of two languages, in memory."""
    blocks = [load().shared(0, 1) for load in shards.source([a, b]).loaders()]
    left, right = (sparse.vstack(column, format="csr") for column in zip(*blocks, strict=True))
    return left, right


class _Loaders:
    """A source of blocks."""

    def __init__(self, blocks: Sequence[Callable[[], Views]]) -> None:
        self.blocks = blocks

    def loaders(self) -> Sequence[Callable[[], Views]]:
        """One callable per block."""
        return self.blocks


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows that are read and weighted when they are asked for."""

    parts: Mapping[str, tuple[Callable[[], Any], Weigher]]
    present: NDArray[np.bool_]

    def __call__(self) -> Views:
        return Views(
            {name: weigh(read()) for name, (read, weigh) in self.parts.items()}, present=self.present
        )


class _Lines:
    """Lines of the counts of a language; where they lie in a folder, only its name travels."""

    def __init__(self, counts: Any, lines: slice, folder: Path | None, language: str) -> None:
        self.counts, self.lines, self.folder, self.language = counts, lines, folder, language

    def __call__(self) -> Any:
        return self.counts[self.lines]

    def __reduce__(self) -> tuple[Any, ...]:
        if self.folder is None:
            return partial, (_given, self())
        return partial, (_read, self.folder, self.language, self.lines)


def _given(counts: Any) -> Any:
    return counts


def _read(folder: Path, language: str, lines: slice) -> Any:
    return ComparableCorpus(folder).matrix(language)[lines]
