"""Events: groups a stream of news articles in many languages into the stories they tell.

The types that everybody needs are here: :class:`Article` and :func:`parse_article`, :class:`Event`,
:class:`EventStream` (the fold: articles in, events out) with its :class:`EventStreamSettings`,
:class:`History`, which also keeps events that have expired, and the :class:`Journal` from which a stream is
replayed. :class:`ArticleSimilarity` compares two articles outside of a stream (``comparison``). The stages of
the pipeline are sub-packages, from the first to the last: ``ingest``, ``annotate``, ``cluster``, ``link``,
``analyse`` (runs all that depends on one article alone), ``track``, ``checkpoint``, ``training`` and
``story`` (chapters, follow-ups and quantities of an event). Each imports from earlier stages only.
``docs/design/glossary.rst`` defines the nouns.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
