from ._analysed_article import AnalysedArticle as AnalysedArticle
from ._analyser import AnalyserDiedError as AnalyserDiedError
from ._analyser import ArticleAnalyser as ArticleAnalyser
