"""Text: languages, tokenisation, word frequencies and vectors.

:class:`Tokeniser` turns text of any language into words, :func:`identify` detects the language, and
:class:`TextVectoriser` turns texts into weighted vectors (TF-IDF, BM25). :class:`DocumentFrequencies`
merge, and :class:`FrequencyWindow` forgets old days. :func:`split_words` and :func:`word_offsets` find the
words of raw sentences. :class:`StemModel` learns stems and suffixes from a list of words.
:func:`known_languages` lists the languages; their data is in ``_languages``, ``_segment`` (scripts without
spaces) and ``_stems``.

- ``gazetteer``: :class:`Gazetteer` finds countries and cities in text.
- ``raw``: scripts, spelling, paragraphs and sentences of raw text.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
