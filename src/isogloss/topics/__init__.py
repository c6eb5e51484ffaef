"""Topic models: documents as mixtures of topics, topics as distributions over words.

:class:`LatentDirichletAllocation` takes counts of words in one language, :class:`PolylingualTopicModel`
counts in any number of languages, any of which may be missing. Both learn by variational inference (in
full, or online from batches), by sampling, or by EM for point estimates. :func:`topic_coherence` judges
topics by the documents of a reference corpus, and :func:`completion_perplexity` by the second halves of
documents.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
