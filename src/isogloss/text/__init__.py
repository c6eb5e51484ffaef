"""Text: languages, words, frequencies of words, vectors.

==================  ==================================================================
``languages``       codes, names, scripts, directions, stop words
``identification``  which language a text is in
``tokens``          from a text to its words
``segment``         words of scripts without blanks
``stems``           stems of words
``gazetteer``       places that a text names
``frequencies``     in how many documents a word occurs; sums that merge and forget
``vocabulary``      the words that get a column
``counting``        counts of words in many texts, on one core or on all
``weighting``       TF-IDF, its logarithmic variant, BM25
``vectoriser``      all of it as one estimator
``extras``          packages that some languages need
==================  ==================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
