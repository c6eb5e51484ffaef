"""Readers of text in several languages, and comparable corpora made from it.

==============  ===================================================================
``parallel``    two files, columns, fast_align's bars, zip archives
``tmx``         translation memories
``records``     documents: JSON lines, line-aligned text
``wikipedia``   documents: dumps of Wikipedia
``langlinks``   which articles are about the same thing
``building``    from documents to a comparable corpus on disk
``comparable``  comparable corpora in memory and on disk
``checking``    what makes a pair bad, and an account of the bad ones
==============  ===================================================================

A name is imported when it is first asked for: readers of files need nothing of what makes corpora.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isogloss.corpora.base import Corpus
    from isogloss.corpora.building import build_corpus
    from isogloss.corpora.checking import PairReport, ParallelText, SentencePair
    from isogloss.corpora.comparable import ComparableCorpus, InMemoryCorpus, save_corpus
    from isogloss.corpora.langlinks import Concepts, LanguageLinks, PageIndex, read_langlinks
    from isogloss.corpora.parallel import BarPairs, ColumnPairs, LinePairs, ZipPairs
    from isogloss.corpora.records import AlignedLines, Document, DocumentReader, JsonLines
    from isogloss.corpora.summary import CorpusSummary
    from isogloss.corpora.tmx import TmxPairs
    from isogloss.corpora.wikipedia import WikipediaDump

__all__ = [
    "AlignedLines",
    "BarPairs",
    "ColumnPairs",
    "ComparableCorpus",
    "Concepts",
    "Corpus",
    "CorpusSummary",
    "Document",
    "DocumentReader",
    "InMemoryCorpus",
    "JsonLines",
    "LanguageLinks",
    "LinePairs",
    "PageIndex",
    "PairReport",
    "ParallelText",
    "SentencePair",
    "TmxPairs",
    "WikipediaDump",
    "ZipPairs",
    "build_corpus",
    "read_langlinks",
    "save_corpus",
]

_MODULES = {
    "AlignedLines": "records",
    "BarPairs": "parallel",
    "ColumnPairs": "parallel",
    "ComparableCorpus": "comparable",
    "Concepts": "langlinks",
    "Corpus": "base",
    "CorpusSummary": "summary",
    "Document": "records",
    "DocumentReader": "records",
    "InMemoryCorpus": "comparable",
    "JsonLines": "records",
    "LanguageLinks": "langlinks",
    "LinePairs": "parallel",
    "PageIndex": "langlinks",
    "PairReport": "checking",
    "ParallelText": "checking",
    "SentencePair": "checking",
    "TmxPairs": "tmx",
    "WikipediaDump": "wikipedia",
    "ZipPairs": "parallel",
    "build_corpus": "building",
    "read_langlinks": "langlinks",
    "save_corpus": "comparable",
}
"""The modules of the names."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
