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

from isogloss.lexicon.building import CheckedSpace, build_space
from isogloss.lexicon.chance import ChanceTest, chance_test
from isogloss.lexicon.concepts import concept_table, concept_views
from isogloss.lexicon.csls import csls_both, csls_means, csls_top_k, unit_rows
from isogloss.lexicon.dictionaries import BilingualDictionary, Coverage, read_dictionary, write_dictionary
from isogloss.lexicon.evaluation import Band, Evaluation, evaluate_induced, evaluate_space
from isogloss.lexicon.explore import Neighbour, Neighbourhood, neighbourhood
from isogloss.lexicon.induction import InducedDictionary, induce, mutual_pairs, read_induced, write_induced
from isogloss.lexicon.normalising import Normaliser, fit_normaliser
from isogloss.lexicon.procrustes import Procrustes
from isogloss.lexicon.reading import read_vectors, read_vectors_with_report
from isogloss.lexicon.refinement import Refinement, Round, refine
from isogloss.lexicon.retrieval import Matches, retrieve
from isogloss.lexicon.seeds import identical_words, numerals
from isogloss.lexicon.smoothing import smoothed
from isogloss.lexicon.spaces import WordSpace
from isogloss.lexicon.text_vectors import ReadReport
from isogloss.lexicon.vectors import WordVectors
from isogloss.lexicon.writing import write_vectors

__all__ = [
    "Band",
    "BilingualDictionary",
    "ChanceTest",
    "CheckedSpace",
    "Coverage",
    "Evaluation",
    "InducedDictionary",
    "Matches",
    "Neighbour",
    "Neighbourhood",
    "Normaliser",
    "Procrustes",
    "ReadReport",
    "Refinement",
    "Round",
    "WordSpace",
    "WordVectors",
    "build_space",
    "chance_test",
    "concept_table",
    "concept_views",
    "csls_both",
    "csls_means",
    "csls_top_k",
    "evaluate_induced",
    "evaluate_space",
    "fit_normaliser",
    "identical_words",
    "induce",
    "mutual_pairs",
    "neighbourhood",
    "numerals",
    "read_dictionary",
    "read_induced",
    "read_vectors",
    "read_vectors_with_report",
    "refine",
    "retrieve",
    "smoothed",
    "unit_rows",
    "write_dictionary",
    "write_induced",
    "write_vectors",
]
