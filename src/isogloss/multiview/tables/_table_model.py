"""A multi-view model together with the columns of the tables that it learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isogloss.multiview.tables._scaling import ScaleViews
from isogloss.views import Views


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted multi-view model and what has to be done to new rows of the same tables.

    ``isogloss views fit`` saves one.

    Attributes
    ----------
    model : estimator
        A fitted model with ``transform_view``.
    columns : dict of str to list of str
        Names of the features of each view, in the order of the model.
    scaling : ScaleViews or None
        How features are standardised before the model sees them.

    Examples
    --------
    >>> import numpy as np
    >>> from isogloss.multiview import CCA
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(50, 1))
    >>> views = Views({"blood": z + rng.normal(size=(50, 2)), "scan": z + rng.normal(size=(50, 2))})
    >>> model = TableModel(CCA(1).fit(views), {"blood": ["iron", "sugar"], "scan": ["left", "right"]})
    >>> model.project(Views({"scan": [[0.5, 1.0]]}))
    Views(1 rows; scan: 1 features, 1 rows)
    """

    model: Any
    columns: dict[str, list[str]]
    scaling: ScaleViews | None = None

    def scaled(self, views: Views) -> Views:
        """All views of the model, as it sees them."""
        return views if self.scaling is None else self.scaling.transform(views)

    def project(self, views: Views) -> Views:
        """Project some of the views, each alone; rows that lack a view lack its projection."""
        parts = []
        for name, x in zip(views.names, views.arrays, strict=True):
            seen = x if self.scaling is None or not x.shape[0] else self.scaling.transform_view(x, name)
            parts.append(np.asarray(self.model.transform_view(seen, name)) if x.shape[0] else None)
        width = next(part.shape[1] for part in parts if part is not None)
        dims = [width] * views.n_views
        ids = None if views.ids is None else list(views.ids)
        return Views(parts, names=views.names, present=views.present, ids=ids, dims=dims)
