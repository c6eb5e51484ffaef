"""Analysis: everything that depends on one article alone, computed ahead of the stream.

An :class:`AnalysedArticle` holds the fingerprint, the clustering terms, the unweighted profile and the latent
point of an article. :class:`ArticleAnalyser` computes them in batches, in this process or in a process pool,
with the same results; it isolates articles that kill a worker process (:class:`AnalyserDiedError`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
