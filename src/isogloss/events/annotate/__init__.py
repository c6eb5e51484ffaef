"""Annotation: what an article is about, in ids that do not depend on its language.

:class:`Annotator` is the entry point. It finds names by their capitals (``_names``), places by a gazetteer
and demonyms, organisations and currencies (``_entity_names``), dates (``_dates``), keywords and numbers
(``_keywords``), and concepts if a :class:`ConceptDictionary` (``concepts``) is given. ``_word_tables`` has
the multilingual tables of demonyms, news words and common words that come with isogloss. To support another
language, add a file to these tables. ``_round_ups`` recognises live tickers and summaries by their titles,
``_labels`` turns ids into labels, and ``_search_terms`` has the terms that the search of the service looks
up.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
