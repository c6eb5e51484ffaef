"""Where sums over batches run: threads of this process, or a dask cluster.

:class:`~isogloss.engine.dask.DaskEngine` is imported from its own module, because it needs the
``dask`` extra.
"""

from isogloss.engine.base import Engine, Source, tree_reduce
from isogloss.engine.local import LocalEngine
from isogloss.engine.sources import Batches, Files, Rows

__all__ = ["Batches", "Engine", "Files", "LocalEngine", "Rows", "Source", "tree_reduce"]
