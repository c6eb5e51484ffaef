"""Vectors that rows of a corpus have beside their words: what they are, and how new ones are projected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.similarity.fitting import HeldShards, Shards
from isogloss.similarity.models._base import unit_rows
from isogloss.views import Views

Single = NDArray[np.float32]


class ExtraView(NamedTuple):
    """Vectors of rows of a corpus, as an encoder of texts or of pictures gives them.

    Attributes
    ----------
    rows : array (rows of the corpus x dimensions)
        Of length one, as documents have; what is in rows that lack the view is not looked at.
    present : array of bool (rows of the corpus,)
        Which rows have the view.
    """

    rows: Single
    present: NDArray[np.bool_]


class ViewProjection(NamedTuple):
    """From the vectors of a view to the common space.

    Attributes
    ----------
    projector : float32 array (dimensions x components)
    offset : float32 array (components,)
        Where the mean vector goes; it is subtracted.
    """

    projector: Single
    offset: Single

    def project(self, vectors: Single) -> Single:
        """Points of length one, a row for each vector; zeros for vectors of zeros."""
        known = vectors.any(axis=1, keepdims=True)
        return unit_rows(np.where(known, vectors @ self.projector - self.offset, np.float32(0)))


def with_views(documents: Shards, extra: Mapping[str, ExtraView]) -> HeldShards:
    """Documents with more views beside the languages."""
    if not isinstance(documents, HeldShards):
        raise ValueError("batch_rows or engine given; a model with other views is fitted in memory: None")
    data = {name: documents.views[name] for name in documents.names}
    columns = [documents.present]
    for name, view in extra.items():
        _check_view(name, view, documents)
        data[name] = sparse.csr_matrix(view.rows[view.present])
        columns.append(view.present[:, None])
    return HeldShards(Views(data, present=np.hstack(columns)))


def _check_view(name: str, view: ExtraView, documents: HeldShards) -> None:
    n = len(documents.present)
    if name in documents.names:
        raise ValueError(f"a view is called {name!r}, as a language of the corpus; give it another name")
    if len(view.rows) != n or view.present.shape != (n,):
        raise ValueError(
            f"view {name!r} has {len(view.rows)} rows and tells of {len(view.present)} which are there; "
            f"expected {n}, as the corpus has"
        )
