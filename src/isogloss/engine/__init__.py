"""Where sums over batches run: threads of this process, or a dask cluster.

:class:`~isogloss.engine.dask.DaskEngine` is imported from its own module, because it needs the
``dask`` extra.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
