from ._analyser import AnalysedArticle as AnalysedArticle
from ._analyser import AnalyserDiedError as AnalyserDiedError
from ._analyser import ArticleAnalyser as ArticleAnalyser
from ._prepared_bytes import from_bytes as from_bytes
from ._prepared_bytes import to_bytes as to_bytes
