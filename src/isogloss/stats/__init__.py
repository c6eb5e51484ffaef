"""Statistics that add: models see their data only through these summaries.

A :class:`Statistic` has ``update(batch)`` and ``merge(other)``, so streams, clusters, resumed runs and pooled
archives are the same operation. :class:`ViewMoments` holds means and cross products of every pair of views,
:class:`PatternMoments` does so per presence pattern, :class:`Counts` and :class:`CountTable` hold integers,
:class:`TripleCounts` holds how often three discrete views took each combination of values,
:class:`Sketch` holds random products of large cross-covariances, and :class:`ExpectedCounts` holds the sums
of an E-step.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
