from ._duplicates import DuplicateIndex as DuplicateIndex
from ._duplicates import fingerprint as fingerprint
from ._quarantine import Quarantine as Quarantine
from ._readers import ArticleReader as ArticleReader
from ._samples import SampleNews as SampleNews
from ._samples import sample_corpus as sample_corpus
from ._samples import sample_news as sample_news
from ._samples import sample_pairs as sample_pairs
