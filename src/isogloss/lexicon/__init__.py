"""Bilingual dictionaries from word vectors and from aligned text.

:func:`build_space` does everything in one call: it joins seed dictionaries, maps all languages into one
:class:`WordSpace`, and tests on held-out words whether the result is better than chance. :func:`induce` then
finds translations, and :func:`evaluate_space` scores them. :func:`refine` is self-learning for small seeds.

- ``vectors``: :class:`WordVectors`, with readers, writers and normalisation.
- ``retrieval``: nearest neighbours by cosine, CSLS and other rules, exactly and without the full similarity
  table.

Dictionaries from aligned text have packages of their own:

- :mod:`isogloss.lexicon.aligned`: entries with translations, forms, phrases and examples.
- :mod:`isogloss.lexicon.formats`: tables, JSON lines, TEI, LIFT and StarDict.
- :mod:`isogloss.lexicon.site`: a static site.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
