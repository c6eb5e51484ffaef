"""Persistence of a stream: checkpoints of its whole state, and the journal it is replayed from.

:func:`save_stream` and :func:`restore_stream` convert a stream to bytes and back, to the bit;
``_cluster_state``, ``_link_state`` and ``_columns`` encode its parts as arrays. ``_forked`` saves in a forked
process while the stream goes on. :class:`~isogloss.events.Journal` is the write-ahead log of articles.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
