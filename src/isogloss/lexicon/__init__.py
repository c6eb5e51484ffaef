"""Bilingual dictionaries from word vectors: join dictionaries, map languages, find translations.

==================  ==========================================================================
``vectors``         the words of a language and their vectors
``reading``         text, binary and NumPy files of vectors; ``writing`` writes them
``dictionaries``    pairs of words: MUSE files, tables, splits, coverage
``seeds``           a seed where there is no dictionary
``concepts``        many dictionaries joined to one table with gaps
``normalising``     unit length and mean zero, before anything else
``smoothing``       rows of noise, a ridge for any model
``spaces``          models that put all languages into one space; ``procrustes`` is one of them
``refinement``      self-learning with mutual nearest neighbours
``chance``          whether a space is better than chance, on words it has not seen
``building``        all of these in one call
``csls``            the corrected cosine, exact; ``retrieval`` has the other rules
``induction``       translations with score, rank and margin
``evaluation``      precision, reciprocal rank, coverage
``explore``         the neighbourhood of a word in all languages
==================  ==========================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
