"""Corpora: readers of multilingual text, and comparable corpora of word counts.

:func:`build_corpus` turns documents into a :class:`ComparableCorpus` on disk: one sparse matrix of word
counts per language, with aligned rows. :class:`InMemoryCorpus` is the same in memory, for small data and
examples.

- ``readers``: parallel text (:class:`LinePairs`, :class:`ColumnPairs`, :class:`BarPairs`, :class:`ZipPairs`,
  :class:`TmxPairs`), documents (:class:`JsonLines`, :class:`AlignedLines`, :class:`WikipediaDump`) and the
  language links of Wikipedia. Derive from :class:`DocumentReader` to add a format.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
