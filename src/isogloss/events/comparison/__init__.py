"""Comparison of two articles: how probably they tell the same story, and by what evidence.

:class:`ArticleSimilarity` compares articles, or texts, that belong to no stream. A :class:`ComparedArticle`
holds what is compared of an article, :data:`CHANNELS` are the kinds of evidence, and an
:class:`ArticleComparison` is the result.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
