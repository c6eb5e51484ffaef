"""Online clustering of articles, one language at a time.

:func:`transition` assigns the next article to a cluster and returns a :class:`Decision` with all changes. An
article is a :class:`Vector` of hashed terms (``_terms``) with tf-idf weights over a sliding window
(:class:`TermWindow`). Candidate clusters come from bounded posting lists (:class:`PostingLists`); clusters
are merged, repaired and expired as the stream goes on. :class:`ClusterSettings` has the thresholds.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
