from ._analyser import AnalysedArticle as AnalysedArticle
from ._analyser import AnalyserDiedError as AnalyserDiedError
from ._analyser import ArticleAnalyser as ArticleAnalyser
