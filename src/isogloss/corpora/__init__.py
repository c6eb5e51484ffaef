"""Readers of parallel text: sentence pairs from plain files, tables, archives and translation memories.

=============  ===================================================================
``parallel``   two files, columns, fast_align's bars, zip archives
``tmx``        translation memories
``checking``   what makes a pair bad, and an account of the bad ones
``files``      opening packed files, and writing files whole or not at all
=============  ===================================================================
"""

from isogloss.corpora.checking import PairReport, ParallelText, SentencePair
from isogloss.corpora.parallel import BarPairs, ColumnPairs, LinePairs, ZipPairs
from isogloss.corpora.tmx import TmxPairs

__all__ = [
    "BarPairs",
    "ColumnPairs",
    "LinePairs",
    "PairReport",
    "ParallelText",
    "SentencePair",
    "TmxPairs",
    "ZipPairs",
]
