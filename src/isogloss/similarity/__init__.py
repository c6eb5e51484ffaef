"""Document similarity across languages: models that put documents of many languages into one space.

:class:`HubSimilarity` is the main model; :class:`CCASimilarity`, :class:`LSISimilarity`,
:class:`KMeansSimilarity`, :class:`OPCASimilarity`, :class:`ESASimilarity`, :class:`TopicSimilarity`,
:class:`EncoderSimilarity` and :class:`CombinedSimilarity` are alternatives. All are :class:`DocumentModel`:
raw text in, unit vectors out. :func:`find_similar` searches a corpus and explains the result.

- ``models``: the models, the names-and-numbers channel, sentence encoders.
- ``fitting``: how models are fitted in blocks of rows, in memory, on disk or on a cluster; predicted time and
  memory.
- ``index``: nearest-neighbour indexes, exact (:class:`Index`) and approximate (:class:`GraphIndex`).
- ``evaluation``: mate retrieval, topics, dimensionality drift.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
