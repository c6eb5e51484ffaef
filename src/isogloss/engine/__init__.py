"""Engines: where sums over batches are computed.

A *source* (:class:`Rows`, :class:`Files`) provides batches that can be read again. ``Engine.map_reduce``
applies a function to each batch and merges the results: :class:`LocalEngine` uses threads,
:class:`~isogloss.engine.dask.DaskEngine` uses a cluster. Import the latter from its own module, because it
needs the ``dask`` extra.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
