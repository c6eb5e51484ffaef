"""Ingestion: reads articles from files, rejects bad records, and finds reprints.

:class:`ArticleReader` reads JSON lines and web archives (``_warc``); a record that is not an article goes to
the :class:`Quarantine` with a reason. :class:`DuplicateIndex` finds near-duplicates by MinHash fingerprints.
:func:`sample_news` and :func:`sample_corpus` load the data in the folder ``sample``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
