from ._channels import CHANNELS as CHANNELS
from ._channels import ComparedArticle as ComparedArticle
from ._similarity import ArticleComparison as ArticleComparison
from ._similarity import ArticleSimilarity as ArticleSimilarity
