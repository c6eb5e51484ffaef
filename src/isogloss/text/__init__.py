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

from isogloss.text.counting import count_frequencies, count_words
from isogloss.text.frequencies import DocumentFrequencies, FrequencyWindow
from isogloss.text.gazetteer import Gazetteer, Mention, Place
from isogloss.text.identification import identify
from isogloss.text.languages import Language, known_languages, language, stopwords
from isogloss.text.tokens import Tokeniser
from isogloss.text.vectoriser import TextVectoriser
from isogloss.text.vocabulary import Vocabulary
from isogloss.text.weighting import TermWeighting

__all__ = [
    "DocumentFrequencies",
    "FrequencyWindow",
    "Gazetteer",
    "Language",
    "Mention",
    "Place",
    "TermWeighting",
    "TextVectoriser",
    "Tokeniser",
    "Vocabulary",
    "count_frequencies",
    "count_words",
    "identify",
    "known_languages",
    "language",
    "stopwords",
]
