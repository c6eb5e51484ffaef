"""Multi-view models: CCA and its multi-set, kernel, hub and certified variants.

:class:`CCA` is for two views; :class:`SumCor`, :class:`SSCor`, :class:`MaxVar`, :class:`MinVar` and
:class:`GenVar` are for more, and :class:`SparseCCA` selects features of two or more views;
:class:`HubCCA` connects views through one of them when rows are missing; :class:`KernelCCA` and
:class:`KernelSumCor` work with kernels; :class:`RandomProjection` reduces wide views;
:class:`OptimalWeighting` combines views. In scikit-learn's pipelines, :class:`ColumnViews` makes views of
the columns of one array, :class:`ScaleViews` standardises them, and :class:`JoinViews` makes one array of
views.

- ``solvers``: the algorithms, as functions from statistics or operators to directions.
- ``certificates``: bounds that show how far a SUMCOR solution can be from the global maximum
  (:func:`certify`).
- ``kernels``: kernels of views.
- ``tables``: views of the columns of tables.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
