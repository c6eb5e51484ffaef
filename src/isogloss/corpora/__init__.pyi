from .base import Corpus as Corpus
from .building import build_corpus as build_corpus
from .checking import PairReport as PairReport
from .checking import ParallelText as ParallelText
from .checking import SentencePair as SentencePair
from .comparable import (
    ComparableCorpus as ComparableCorpus,
)
from .comparable import (
    InMemoryCorpus as InMemoryCorpus,
)
from .comparable import (
    save_corpus as save_corpus,
)
from .langlinks import (
    Concepts as Concepts,
)
from .langlinks import (
    LanguageLinks as LanguageLinks,
)
from .langlinks import (
    PageIndex as PageIndex,
)
from .langlinks import (
    read_langlinks as read_langlinks,
)
from .parallel import (
    BarPairs as BarPairs,
)
from .parallel import (
    ColumnPairs as ColumnPairs,
)
from .parallel import (
    LinePairs as LinePairs,
)
from .parallel import (
    ZipPairs as ZipPairs,
)
from .records import (
    AlignedLines as AlignedLines,
)
from .records import (
    Document as Document,
)
from .records import (
    DocumentReader as DocumentReader,
)
from .records import (
    JsonLines as JsonLines,
)
from .summary import CorpusSummary as CorpusSummary
from .tmx import TmxPairs as TmxPairs
from .wikipedia import WikipediaDump as WikipediaDump
